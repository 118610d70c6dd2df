import Foundation
import Strata
import StrataCore

/// Transactions at random, one after the other, as its seed says.
public struct RecordedSession {
  private let coordinator: PersistentStoreCoordinator
  private let manner: RecordedTransaction.Manner
  private let size: RecordedModel.Size
  private let session: Int
  private var random: SeededGenerator
  private var number = 0
  private var serial: Int

  /// - Parameters:
  ///   - session: From 1 on; no two of a record have the same.
  ///   - first: The number of its first transaction: those of later ones append to other lists.
  public init(
    _ coordinator: PersistentStoreCoordinator, _ manner: RecordedTransaction.Manner,
    _ size: RecordedModel.Size, session: Int, seed: UInt64,
    first: Int = 1
  ) {
    self.coordinator = coordinator
    self.manner = manner
    self.size = size
    self.session = session
    serial = session * 1_000_000
    number = first - 1
    random = SeededGenerator(seed: seed &+ UInt64(session) &* 1_000_003)
  }

  /// Makes one.
  /// - Parameter willSave: Is told what is known before the save: nobody may live to tell what came of it.
  public mutating func next(willSave: (TransactionRecord) throws -> Void = { _ in }) throws
    -> TransactionRecord
  {
    number += 1
    let transaction = try RecordedTransaction(coordinator, manner, session: session, number: number)
    do {
      try fill(transaction)
    } catch let violation as TortureViolation {
      throw violation
    } catch { return transaction.giveUp(error) }
    var intent = transaction.record
    intent.outcome = .unknown
    try willSave(intent)
    return transaction.finish()
  }

  /// The lists that are appended to now: they stay under 1,024 bytes, so that their values are read with their rows.
  private var active: Range<Int> {
    let first = min(number / RecordedModel.Size.step, size.lists - RecordedModel.Size.active)
    return first..<first + RecordedModel.Size.active
  }

  private mutating func fill(_ transaction: RecordedTransaction) throws {
    let kind = random.below(100)
    if kind < 15 {
      // Only looks; at an old list, too.
      let old = active.lowerBound > 0 ? [random.below(active.lowerBound)] : []
      return try transaction.read(lists: Array(active) + old, accounts: size.accounts)
    }
    let lists = active.shuffled(using: &random).prefix(1 + random.below(active.count))
    let counter = kind >= 90 ? [random.below(size.counters)] : []
    let isTransfer = (60..<90).contains(kind)
    try transaction.read(lists: Array(lists), accounts: isTransfer ? size.accounts : 0, counters: counter)
    for counter in counter { try transaction.increment(counter) }
    if isTransfer {
      let pair = (0..<size.accounts).shuffled(using: &random)
      try transaction.make(
        TransactionRecord.Transfer(serial: mark(), from: pair[0], to: pair[1], amount: 1 + random.below(9)))
    }
    // A save of one row alone goes another way than one of several: both must be there.
    for list in lists.prefix(random.below(3)) {
      try transaction.append(mark(), to: list)
      if random.chance(20) { try transaction.append(mark(), to: list) }
    }
  }

  private mutating func mark() -> Int {
    serial += 1
    return serial
  }
}
