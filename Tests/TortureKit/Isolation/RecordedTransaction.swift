import Foundation
import Strata
import StrataCore

/// One transaction of a session: reads in a context of its own, changes, and a save; and the record of it. Used on one thread.
public final class RecordedTransaction {
  /// How a transaction reads.
  public enum Reading: String, CaseIterable, Sendable {
    /// Each object with a fetch of its own, from the newest state.
    case separate
    /// All objects with one fetch.
    case together
    /// Each with a fetch of its own, in a context that is pinned to a generation.
    case pinned
  }

  /// How a session's transactions read and save.
  public struct Manner: Sendable {
    public var reading = Reading.together
    /// Whether the save checks everything that was read, not only what is written.
    public var checksReads = false
    /// Whether conflicts are overwritten: a fault that is made on purpose.
    public var ignoresConflicts = false

    public init() {}

    public init(_ reading: Reading, checksReads: Bool = false) {
      self.reading = reading
      self.checksReads = checksReads
    }

    /// What it is promised.
    public var isolation: Isolation {
      if reading == .separate { return .separateReads }
      return checksReads ? .checkedReads : .oneState
    }
  }

  public private(set) var record: TransactionRecord
  private let context: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator
  private let manner: Manner
  private var cells: [String: ManagedObject] = [:]
  private var writes = false
  private let unread = Unread()

  /// What could not be read where nothing can be thrown: a large value, say. The value is nil then, and must not be taken for one.
  private final class Unread {
    var error: (any Error)?
  }

  public init(_ coordinator: PersistentStoreCoordinator, _ manner: Manner, session: Int, number: Int) throws {
    let now = TransactionRecord.now()
    record = TransactionRecord(session: session, number: number, begin: now, end: now, operations: [])
    self.coordinator = coordinator
    self.manner = manner
    context = ManagedObjectContext(.confinement, coordinator: coordinator)
    context.readFailureHandler = { [unread] in unread.error = $0.error }
    if manner.ignoresConflicts { context.mergePolicy = MergePolicy.overwrite }
    if manner.reading == .pinned { try context.setQueryGenerationFrom(.current) }
  }

  private func load(_ names: [String]) throws {
    let missing = names.filter { cells[$0] == nil }
    let groups = manner.reading == .together ? [missing] : missing.map { [$0] }
    for group in groups where !group.isEmpty {
      let request = FetchRequest<ManagedObject>(
        entityName: RecordedModel.cellEntity, predicate: Attribute("name").isIn(group))
      for object in try context.fetch(request) {
        guard let name = object.value(forKey: "name") as? String else { continue }
        cells[name] = object
        if manner.checksReads { context.detectConflicts(for: object) }
      }
    }
  }

  private func cell(_ name: String) throws -> ManagedObject {
    try load([name])
    guard let cell = cells[name] else { throw TortureViolation("\(name) is gone") }
    _ = cell.value(forKey: "entries")
    if let error = unread.error { throw error }
    return cell
  }

  /// Fetches lists without looking at them.
  public func fetch(lists: [Int]) throws { try load(lists.map(RecordedModel.list)) }

  /// Reads lists, and all `accounts` when there are some; in one fetch where the manner says so.
  public func read(lists: [Int], accounts: Int = 0, counters: [Int] = []) throws {
    try load(
      lists.map(RecordedModel.list) + (0..<accounts).map(RecordedModel.account)
        + counters.map(RecordedModel.counter))
    for list in lists {
      let elements = RecordedModel.elements(try cell(RecordedModel.list(list)))
      record.operations.append(.read(list: list, elements: elements))
    }
    if accounts > 0 {
      record.operations.append(
        .balances(
          try (0..<accounts).map { RecordedModel.value(try cell(RecordedModel.account($0))) }))
    }
  }

  /// Appends to a list that was read.
  public func append(_ element: Int, to list: Int) throws {
    let cell = try cell(RecordedModel.list(list))
    let text = cell.value(forKey: "entries") as? String ?? ""
    cell.setValue(text.isEmpty ? "\(element)" : "\(text) \(element)", forKey: "entries")
    record.operations.append(.append(list: list, element: element))
    writes = true
  }

  public func make(_ transfer: TransactionRecord.Transfer) throws {
    for (account, amount) in [(transfer.from, -transfer.amount), (transfer.to, transfer.amount)] {
      let cell = try cell(RecordedModel.account(account))
      cell.setValue(Int64(RecordedModel.value(cell) + amount), forKey: "value")
    }
    let note = ManagedObject(
      entity: try RecordedModel.entity(RecordedModel.noteEntity, coordinator), insertInto: context)
    for (key, value) in [
      ("serial", transfer.serial), ("from", transfer.from), ("to", transfer.to),
      ("amount", transfer.amount),
    ] { note.setValue(Int64(value), forKey: key) }
    record.operations.append(.transfer(transfer))
    writes = true
  }

  public func increment(_ counter: Int) throws {
    let cell = try cell(RecordedModel.counter(counter))
    let value = RecordedModel.value(cell) + 1
    cell.setValue(Int64(value), forKey: "value")
    record.operations.append(.increment(counter: counter, becomes: value))
    writes = true
  }

  /// Saves, when something was changed, and returns what is known of it.
  public func finish() -> TransactionRecord {
    defer { try? context.setQueryGenerationFrom(nil) }
    do {
      if writes { try context.save() }
    } catch { note(error) }
    record.end = TransactionRecord.now()
    return record
  }

  /// Ends it without a save: a read has failed.
  public func giveUp(_ error: any Error) -> TransactionRecord {
    note(error)
    try? context.setQueryGenerationFrom(nil)
    record.end = TransactionRecord.now()
    return record
  }

  private func note(_ error: any Error) {
    if let error = error as? StorageError, error.isOutcomeUnknown {
      record.outcome = .unknown
    } else {
      record.outcome = .failed
    }
    if let error = error as? CoreDataError, error.code == .managedObjectMerge {
      record.refusal = "conflict"
    } else {
      record.refusal = "\(error)"
    }
  }
}
