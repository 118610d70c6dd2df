import Foundation
import StrataCore

/// Hands out primary keys of one hierarchy from blocks that the server's sequence reserves: no key is ever given twice, in whatever process.
/// May be used from any thread.
final class KeyBlocks: Sendable {
  /// How many keys a step of the sequence reserves.
  static let blockLength = 256
  /// The most blocks that are reserved at once.
  private static let mostBlocks = 256

  private struct State {
    var ranges: [Range<UInt64>] = []
    /// How many blocks the next reservation asks for: more each time, since a burst goes on.
    var blocks = 1
  }

  private let state = Mutex(State())
  /// Held while keys are reserved, so that threads that run dry together reserve once.
  private let refill = NSLock()

  /// A key; `reserve` gets the first keys of a number of new blocks when none is left.
  /// - Throws: what `reserve` throws; ``StorageError`` `.tooLarge` when the hierarchy has had all keys there are.
  func next(_ reserve: (Int) throws -> [UInt64]) throws -> UInt64 {
    if let key = take() { return key }
    refill.lock()
    defer { refill.unlock() }
    if let key = take() { return key }
    let count = state.withLock { state in
      let count = state.blocks
      state.blocks = min(count * 4, Self.mostBlocks)
      return count
    }
    for first in try reserve(count) {
      guard first > 0, first + UInt64(Self.blockLength) <= StoreReference.keyLimit else {
        throw StorageError(
          .tooLarge, operation: "make key", path: "",
          detail: "All 2^48 primary keys of the hierarchy have been used.")
      }
      state.withLock { $0.ranges.append(first..<first + UInt64(Self.blockLength)) }
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
