import Foundation
import StrataCore

/// Hands out primary keys of one hierarchy from blocks that the server's sequence reserves: no key is ever given twice, in whatever process.
/// May be used from any thread.
final class KeyBlocks: Sendable {
  /// How many keys a step of the sequence of a store's own table reserves.
  static let blockLength = 256
  /// How many keys a step reserves, and the most steps that are taken at once.
  private let length: UInt64
  private let mostBlocks: Int

  /// So often in a row a reservation may give no key that is free.
  private static let mostReservations = 256

  private struct State {
    var ranges: [Range<UInt64>] = []
    /// How many blocks the next reservation asks for: more each time, since a burst goes on.
    var blocks = 1
  }

  private let state: Mutex<State>
  /// Held while keys are reserved, so that threads that run dry together reserve once.
  private let refill = NSLock()

  /// Keys of a table of the store's own.
  convenience init() { self.init(length: UInt64(Self.blockLength), first: 1, most: 256) }

  /// Keys of a table whose sequence others use, too, and which gives one at a time.
  static func single() -> KeyBlocks { KeyBlocks(length: 1, first: 16, most: 4_096) }

  private init(length: UInt64, first: Int, most: Int) {
    self.length = length
    mostBlocks = most
    state = Mutex(State(blocks: first))
  }

  /// A key; `reserve` gets the first keys of a number of new blocks when none is left, without those that rows have already.
  /// - Throws: what `reserve` throws; ``StorageError`` `.tooLarge` when the hierarchy has had all keys there are.
  func next(_ reserve: (Int) throws -> [UInt64]) throws -> UInt64 {
    if let key = take() { return key }
    refill.lock()
    defer { refill.unlock() }
    if let key = take() { return key }
    var firsts: [UInt64] = []
    for _ in 0..<Self.mostReservations where firsts.isEmpty {
      let count = state.withLock { state in
        let count = state.blocks
        state.blocks = min(count * 4, mostBlocks)
        return count
      }
      firsts = try reserve(count)
    }
    guard !firsts.isEmpty else {
      throw StorageError(
        .refused, operation: "make key", path: "",
        detail:
          "The sequence of keys is so far behind the rows of the table that it gives only keys which they have already. Set it behind them (setval)."
      )
    }
    for first in firsts {
      guard first > 0, first + length <= StoreReference.keyLimit else {
        throw StorageError(
          .tooLarge, operation: "make key", path: "",
          detail: "All 2^48 primary keys of the hierarchy have been used.")
      }
      state.withLock { state in
        if let last = state.ranges.last, last.upperBound == first {
          state.ranges[state.ranges.count - 1] = last.lowerBound..<first + length
        } else {
          state.ranges.append(first..<first + length)
        }
      }
    }
    guard let key = take() else { throw SQLResult.damaged }
    return key
  }

  private func take() -> UInt64? {
    state.withLock { state in
      guard let range = state.ranges.first else { return nil }
      if range.count == 1 {
        state.ranges.removeFirst()
      } else {
        state.ranges[0] = (range.lowerBound + 1)..<range.upperBound
      }
      return range.lowerBound
    }
  }
}
