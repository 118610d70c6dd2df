import Foundation
import StrataCore

/// Writes a batch inside its transaction, a change set of some thousand rows at a time, or with one statement where that does.
///
/// A batch is written by the code that writes a save, with its checks and links; except that no object keeps what has been written. What stays for the whole batch
/// are eight bytes for each row, the keys. Lives for one attempt, on the thread that writes.
final class BatchWriting {
  let mapping: StoreMapping
  let reading: PostgresReading
  let identifier: UUID
  let progress: BatchProgress
  let preserved: [Int: [Int]]
  private let held: [Bool]
  private let number: () throws -> UInt64
  private let send: ChangeSetWork.Ask
  private let leastCopied: Int?
  private let disturbed: (SQLError) -> any Error
  /// Whether rows under the keys of new rows are looked for: the server has refused one in an earlier attempt.
  private let looksForInserts: Bool
  /// What has been done so far.
  var outcome: BatchChanges
  private(set) var notes: [NotedChange] = []
  private(set) var hasWritten = false
  private let reviser: RowReviser

  var schema: Schema { mapping.schema }

  /// The most rows of an update that are written at once.
  let step: Int

  init(
    _ run: CommitRun, reading: PostgresReading, progress: BatchProgress,
    number: @escaping () throws -> UInt64,
    send: @escaping ChangeSetWork.Ask
  ) {
    mapping = run.mapping
    identifier = run.identifier
    held = run.held
    preserved = run.keeping.preservedSlots
    disturbed = run.disturbed
    step = run.settings.batchStep
    leastCopied = run.settings.leastCopied
    looksForInserts = run.disturbances > 0
    self.reading = reading
    self.progress = progress
    self.number = number
    self.send = send
    outcome = BatchChanges(entityCount: run.mapping.schema.entities.count)
    reviser = RowReviser(run.mapping)
  }

  /// Asks the server, or has it do something.
  func ask(_ statements: [SQLStatement]) throws -> [SQLResult] { try send(statements) }

  /// Writes rows, with all that follows from it.
  /// - Parameters:
  ///   - known: Those of the rows that have been read.
  ///   - going: Rows that go with the batch: what becomes of them meanwhile is nothing to note.
  ///   - areLocked: Whether ``lock(_:)`` was called for the rows that are changed.
  /// - Throws: `UniquenessViolation`, `DanglingReferences`, `CommitConflict`; `CancellationError`; ``SQLError``, `StorageError`; ``CommitRun/Disturbed``.
  func write(
    _ set: ChangeSet, known: [RowAddress: FetchedRow] = [:], going: Set<RowAddress> = [],
    areLocked: Bool = false
  ) throws {
    try progress.stopIfCancelled()
    if !areLocked { try lock(set.updates) }
    let work = ChangeSetWork(
      set, mapping, looksForInserts: looksForInserts, known: known, leastCopied: leastCopied,
      locksRows: mapping.callsTriggers)
    let result = try work.prepare(held: held, preserved: preserved, number: number, send)
    let derived: DerivedWriting.Outcome
    do {
      derived = try result.derived(send)
      _ = try send(derived.statements)
    } catch let error as SQLError
      where error.state == RowStatements.guardState || error.state == CommitRun.duplicateState
    {
      throw disturbed(error)
    }
    hasWritten = true
    for change in set.inserts + set.updates {
      outcome.changedSlots[change.entity, default: SlotBitmap()].formUnion(change.changedSlots)
    }
    for row in derived.rows where !going.contains(address(row)) {
      outcome.touched.append(row.primaryKey, of: row.entity)
      outcome.changedSlots[row.entity, default: SlotBitmap()].formUnion(row.changedSlots)
    }
    for change in result.notes.changes(derived: derived.others) { try note(change, going) }
    progress.complete(outcome.inserted.count + outcome.updated.count + outcome.deleted.count)
  }

  /// Where triggers of somebody else's are called: has nobody but these change rows until they are written. Their versions say nothing any more, then: what is written earlier may
  /// make a trigger change them.
  /// - Throws: ``CommitRun/Disturbed`` where somebody has changed one since it was read; ``SQLError``, `StorageError`.
  func lock(_ updates: [RowChange]) throws {
    guard mapping.callsTriggers, !updates.isEmpty else { return }
    let rows = Dictionary(grouping: updates) { schema.entities[$0.entity].hierarchyNumber }
    for (hierarchy, changes) in rows.sorted(by: { $0.key < $1.key }) {
      var statement = SQLStatement("SELECT t.pk, t.version FROM \(mapping.tables[hierarchy].name) t WHERE ")
      statement.add("t.pk", isAnyOf: changes.map(\.primaryKey).sorted())
      statement += " ORDER BY t.pk FOR NO KEY UPDATE"
      let found = try ask([statement])[0]
      var versions: [UInt64: UInt32] = [:]
      for row in 0..<found.rowCount {
        versions[try found.key(row, 0)] = UInt32(truncatingIfNeeded: try found.integer(row, 1))
      }
      if changes.contains(where: { versions[$0.primaryKey] != $0.baseVersion }) {
        throw CommitRun.Disturbed()
      }
    }
  }

  private func address(_ row: RowChange) -> RowAddress {
    RowAddress(hierarchy: schema.entities[row.entity].hierarchyNumber, key: row.primaryKey)
  }

  /// What becomes of the attempt when a statement has found a row that it should have changed or deleted, and has not: a trigger has kept it, or somebody has taken it away.
  func keptRow() -> any Error {
    disturbed(SQLError(state: RowStatements.guardState, message: "a row was not written"))
  }

  /// Notes what a statement has done by itself.
  func note(_ change: NotedChange) {
    hasWritten = true
    notes.append(change)
  }

  private func note(_ change: NotedChange, _ going: Set<RowAddress>) throws {
    let isOthers = change.kind == .related || change.kind == .updated && !going.isEmpty
    guard isOthers, let entity = schema.entity(named: change.entity) else { return notes.append(change) }
    var keys: [UInt64] = []
    for run in try change.ranges() {
      for key in run where !going.contains(RowAddress(hierarchy: entity.hierarchyNumber, key: key)) {
        keys.append(key)
        if change.kind == .related { outcome.related.append(key, of: entity.number) }
      }
    }
    if !keys.isEmpty {
      notes.append(NotedChange(change.kind, change.entity, keys: keys, properties: change.properties))
    }
  }

  /// A stored row with other values; nil when they are those that it has.
  func changed(_ row: FetchedRow, _ values: [(slot: Int, value: AttributeValue)]) throws -> RowChange? {
    guard let snapshot = row.snapshot else { return nil }
    let entity = schema.entities[row.entity]
    var slots = SlotBitmap()
    for (slot, value) in values {
      switch snapshot.content(slot, of: entity) {
      case .value(let old): if old != value { slots.insert(slot) }
      case .outside(let old):
        // A text that is as long may still be another one.
        let stored = try reading.externalValue(
          entity: row.entity, primaryKey: row.primaryKey, slot: slot, version: old.version)
        if RowReviser.bytes(value) != stored { slots.insert(slot) }
      }
    }
    if slots.isEmpty { return nil }
    return try encoded(
      entity, row.primaryKey, snapshot, snapshot.version + 1, slots, values, externals: [])
  }

  /// A new row with other values.
  func recoded(_ change: RowChange, _ values: [(slot: Int, value: AttributeValue)]) throws -> RowChange {
    let new = try encoded(
      schema.entities[change.entity], change.primaryKey, change.row, change.row.version, change.changedSlots,
      values,
      externals: change.externals)
    return RowChange(
      entity: change.entity, primaryKey: change.primaryKey, baseVersion: change.baseVersion, row: new.row,
      externals: new.externals, changedSlots: change.changedSlots)
  }

  private func encoded(
    _ entity: EntitySchema, _ key: UInt64, _ base: RowSnapshot, _ version: UInt32, _ slots: SlotBitmap,
    _ values: [(slot: Int, value: AttributeValue)], externals old: [ExternalValue]
  ) throws -> RowChange {
    let (row, externals) = try reviser.revised(
      base, of: entity, primaryKey: key, version: version,
      Dictionary(values.map { ($0.slot, $0.value) }, uniquingKeysWith: { $1 }), externals: old)
    return RowChange(
      entity: entity.number, primaryKey: key, baseVersion: version - 1, row: row, externals: externals,
      changedSlots: slots)
  }

  /// What has been done in all.
  func finish() -> BatchChanges {
    outcome.touched.settle()
    outcome.related.settle()
    return outcome
  }
}
