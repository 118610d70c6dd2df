import Foundation

/// Writes a batch inside its transaction, a change set of some thousand rows at a time.
///
/// ```
///   rows, one by one ─▶ [ change set ] ─▶ ChangeSetWriter ─▶ transaction      again and again, then one commit
///                          64 K rows, 8 MB at most
/// ```
///
/// So a batch is written by the same code as a save, with its checks, indexes, edges and derived values; except that no object keeps
/// what has been written. A change set holds each row once at most: to change a row a second time, flush before.
/// What stays for the whole batch are the keys of its rows. The pages that LMDB has changed are handed over again and again.
///
/// Lives for one run of the transaction's body, on the writer's thread.
final class BatchWriting {
  /// Both ends of a one-to-one relationship may come in different change sets.
  private static var emptyChanges: ChangeSet {
    var changes = ChangeSet()
    changes.checksPartners = false
    return changes
  }

  let parts: StoreParts
  let catalogue: StoreCatalogue
  let reader: RowReader
  let progress: BatchProgress
  let journal: JournalRecorder?
  let history: HistoryWriter?
  // `@exclusivity(unchecked)`: everything below is used by one frame on one thread, and there are no calls back.
  /// What has been written so far, and what waits.
  @exclusivity(unchecked) private(set) var outcome: BatchChanges
  @exclusivity(unchecked) private var changes = BatchWriting.emptyChanges
  @exclusivity(unchecked) private var bytes = 0
  @exclusivity(unchecked) private var slab = RowSlabWriter()
  /// The rows that wait to be written, while they are asked for.
  @exclusivity(unchecked) private var waiting: Set<RowAddress> = []
  @exclusivity(unchecked) private var isCancelledNext = 0
  /// About how many bytes of changed pages LMDB holds.
  @exclusivity(unchecked) private var heldBytes = 0
  /// How many it may hold before they are handed over.
  private let heldLength: Int
  /// How many rows are written at a time.
  let step: Int
  /// Whether the waiting rows are asked for.
  private let tracksRows: Bool
  /// Whether values that must be unique are looked for only when everything is written: some may be moved along, or swapped.
  private let defersUniqueness: Bool
  /// Stands for the owner of rows that lie in a transaction and are read at once.
  private let nobody = RowSlab.make(length: 8)
  /// Whether something has been written.
  @exclusivity(unchecked) private(set) var hasWritten = false
  /// The rows that a batch delete takes away, by hierarchy; none of other batches.
  @exclusivity(unchecked) var going: [ReferenceSet] = []

  init(
    parts: StoreParts, catalogue: StoreCatalogue, progress: BatchProgress, step: Int, heldLength: Int,
    tracksRows: Bool, defersUniqueness: Bool = false, history: HistoryWriter?
  ) {
    self.heldLength = heldLength
    self.history = history
    self.parts = parts
    self.catalogue = catalogue
    self.progress = progress
    journal = parts.makeRecorder()
    self.step = step
    self.tracksRows = tracksRows
    self.defersUniqueness = defersUniqueness
    reader = RowReader(parts: parts, catalogue: catalogue)
    outcome = BatchChanges(entityCount: parts.schema.entities.count)
  }

  /// How often a loop that writes nothing looks whether it is to stop.
  private static let stepsBetweenLooks = 4_096

  /// Stops a batch that has been cancelled.
  @inline(__always)
  func look() throws {
    isCancelledNext &+= 1
    if isCancelledNext & (Self.stepsBetweenLooks - 1) == 0 { try progress.stopIfCancelled() }
  }

  // MARK: Memory

  /// What LMDB may hold of changed pages while rows and entries wait in memory as well: see `BatchRows`, `BatchEntries`.
  static let heldLength = 8 << 20
  /// What it may hold when nothing else does. Pages that are handed over and changed again are written twice.
  static let heldLengthOfChanges = 48 << 20
  /// What an entry of a page takes beside its key and value.
  static let entryHeader = 10
  /// A change set is written with that many bytes of rows.
  private static let chunkLength = 8 << 20
  /// What a change of a row anywhere in a store takes: a page of rows. Those of indexes are often the same ones.
  private static let changeLength = 4_096

  /// So many bytes of pages are about to change. Before that, those that have changed are handed over when they are many.
  @inline(__always)
  func hold(_ bytes: Int, _ transaction: borrowing WriteTransaction) throws {
    if heldBytes >= heldLength { try handOver(transaction) }
    heldBytes += bytes
  }

  /// So many entries of an index, which lie anywhere in it, are about to change.
  func hold(entries count: Int, of keyspace: Keyspace, _ transaction: borrowing WriteTransaction) throws {
    let statistics = try transaction.read.statistics(keyspace)
    try hold(min(Int(statistics.ms_leaf_pages), count) * Int(statistics.ms_psize), transaction)
  }

  @inline(never)
  private func handOver(_ transaction: borrowing WriteTransaction) throws {
    heldBytes = 0
    guard let keyspace = parts.rows.lazy.compactMap(\.self).first else { return }
    try transaction.handOver(recordOf: keyspace)
  }

  // MARK: Changes

  /// Rows that are new.
  func insert(
    _ rows: [RowChange], leavesIndexes: Bool = false, _ transaction: borrowing WriteTransaction
  ) throws {
    if rows.isEmpty { return }
    try flush(transaction)
    changes.inserts = rows
    changes.leavesIndexes = leavesIndexes
    for row in rows { outcome.inserted.append(row.primaryKey, of: row.entity) }
    // The slots of all rows are the same: those of the entity.
    if let first = rows.first { note(first.changedSlots, of: first.entity) }
  }

  /// Puts new rows of an entity without references at once, and leaves indexes as they are. No row has a key up to `last` but those that were there
  /// before the batch.
  /// - Throws: `CommitConflict` when there are rows of others under their keys; `CancellationError`; `StorageError`.
  func put(
    _ block: RowBlock, of entity: EntitySchema, slots: SlotBitmap, after last: UInt64?,
    _ transaction: borrowing WriteTransaction
  ) throws {
    try progress.stopIfCancelled()
    guard let keyspace = parts.rows[entity.hierarchyNumber] else {
      throw parts.damaged("The store has no keyspace for \(entity.name).")
    }
    if let last { try requireNew(block, of: entity, keyspace, upTo: last, transaction.read) }
    let pageSize = Int(try transaction.read.statistics(keyspace).ms_psize)
    try transaction.withCursor(keyspace) { cursor in
      var end = try cursor.last().flatMap { PrimaryKeyBytes.whole($0.key) } ?? 0
      for row in block.rows {
        let isBehind = row.key > end
        let length = Int(row.count) + 8 + Self.entryHeader
        try hold(isBehind ? length : max(length, pageSize), transaction)
        try PrimaryKeyBytes.with(row.key) { try cursor.put($0, row.bytes, append: isBehind) }
        end = max(end, row.key)
      }
    }
    for row in block.rows { journal?.note(row.key, of: entity.number, .inserted) }
    if let history {
      for row in block.rows {
        try history.note(.inserted, row.key, of: entity.number, SlotBitmap(), transaction)
      }
    }
    try putLargeValues(of: block, entity, transaction)
    for row in block.rows { outcome.inserted.append(row.key, of: entity.number) }
    note(slots, of: entity.number)
    hasWritten = true
    progress.complete(outcome.inserted.count)
  }

  private func requireNew(
    _ block: RowBlock, of entity: EntitySchema, _ keyspace: Keyspace, upTo last: UInt64,
    _ transaction: borrowing ReadTransaction
  ) throws {
    var conflicts: [RowConflict] = []
    for row in block.rows where row.key <= last {
      guard let bytes = try transaction.get(keyspace, row.key) else { continue }
      let stored = reader.fetchedRow(try reader.row(bytes, primaryKey: row.key), primaryKey: row.key)
      conflicts.append(
        RowConflict(hierarchy: entity.hierarchyNumber, primaryKey: row.key, stored: stored))
    }
    if !conflicts.isEmpty { throw CommitConflict(conflicts: conflicts) }
  }

  private func putLargeValues(
    of block: RowBlock, _ entity: EntitySchema, _ transaction: borrowing WriteTransaction
  ) throws {
    if block.externals.isEmpty { return }
    guard let large = parts.large else { throw parts.damaged("The store has no keyspace for large values.") }
    for (number, values) in block.externals.sorted(by: { $0.key < $1.key }) {
      let row = block.rows[number]
      for value in values {
        let key = reader.largeValueKey(
          entity: entity.number, value.slot, primaryKey: row.key, version: RowBytes.version(row.base))
        try hold(value.bytes.count, transaction)
        try key.withBytes { key in
          try value.bytes.withUnsafeBytes { try transaction.put(large, key, $0) }
        }
      }
    }
  }

  /// Writes new rows at once; or says which of them share values with which others, and then nothing of them has been written.
  func insertUnlessViolated(_ rows: [RowChange], _ transaction: borrowing WriteTransaction) throws
    -> [ConstraintViolation]
  {
    guard let first = rows.first else { return [] }
    try flush(transaction)
    changes.inserts = rows
    if let violation = try attempt(transaction) {
      forgetWaiting()
      return violation.violations
    }
    for row in rows { outcome.inserted.append(row.primaryKey, of: row.entity) }
    note(first.changedSlots, of: first.entity)
    return []
  }

  /// Gives a stored row other values: `slots` of `draft`, which belongs to the row's entity. What changes nothing is not
  /// written.
  /// - Throws: `StorageError` of kind `tooLarge` for a value that no row can hold.
  func update(
    _ row: StoredRow, _ key: UInt64, _ draft: RowDraft, _ slots: SlotBitmap,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let entity = parts.schema.entities[row.entity]
    let address = RowAddress(hierarchy: entity.hierarchyNumber, key: key)
    if tracksRows, waiting.contains(address) { throw parts.damaged("A batch changes the row p\(key) twice.") }
    let version = row.version
    // The row is read here and not kept.
    let base = row.keeper ?? RowSnapshot(owner: nobody, base: row.base, count: Int32(row.count))
    let (new, externals) = try encode(draft, entity, key, version &+ 1, base)
    if externals.isEmpty, isSame(row, new) { return }
    changes.updates.append(
      RowChange(
        entity: row.entity, primaryKey: key, baseVersion: version, row: new, externals: externals,
        changedSlots: slots))
    if tracksRows { waiting.insert(address) }
    note(slots, of: row.entity)
    bytes += Int(new.count)
    for value in externals { bytes += value.bytes.count }
    if isFull { try flush(transaction) }
  }

  private func encode(
    _ draft: RowDraft, _ entity: EntitySchema, _ key: UInt64, _ version: UInt32, _ base: RowSnapshot
  ) throws -> (RowSnapshot, [ExternalValue]) {
    let stamp = RowStamp(
      layoutNumber: catalogue.layoutNumbers[entity.number], entityCode: catalogue.entityCodes[entity.number])
    do {
      return try RowEncoder.encode(
        layout: entity.layout, stamp: stamp, primaryKey: key, version: version, base: base, draft: draft,
        into: &slab)
    } catch {
      throw StorageError(
        .tooLarge, operation: "batch", path: parts.environment.path,
        detail: "The row \(entity.name)/p\(key) cannot take the values: \(error.words(in: entity))")
    }
  }

  /// A new row with what `draft` says of it instead.
  func recoded(_ row: RowChange, _ draft: RowDraft) throws -> RowChange {
    let entity = parts.schema.entities[row.entity]
    let (new, more) = try encode(draft, entity, row.primaryKey, row.row.version, row.row)
    return RowChange(
      entity: row.entity, primaryKey: row.primaryKey, baseVersion: row.baseVersion, row: new,
      externals: row.externals + more, changedSlots: row.changedSlots)
  }

  /// The row with what `draft` says of it instead, when it is all there is to write; nil when large values go along. Valid until much more is encoded.
  /// - Throws: `StorageError` of kind `tooLarge` for a value that no row can hold.
  func encodeAlone(_ row: StoredRow, _ key: UInt64, _ draft: RowDraft) throws -> RowSnapshot? {
    if row.hasExternalValues { return nil }
    let base = row.keeper ?? RowSnapshot(owner: nobody, base: row.base, count: Int32(row.count))
    let (new, externals) = try encode(
      draft, parts.schema.entities[row.entity], key, row.version &+ 1, base)
    return externals.isEmpty ? new : nil
  }

  /// A row has been put in the place of the one there was.
  func notePut(_ key: UInt64, of entity: Int, _ slots: SlotBitmap) {
    journal?.note(key, of: entity, .updated)
    hasWritten = true
    note(slots, of: entity)
  }

  /// Whether both rows have the same values: everything behind the version is the same bytes.
  func isSame(_ old: StoredRow, _ new: RowSnapshot) -> Bool {
    let start = RowFormat.headerLength
    return old.count == Int(new.count) && old.keeper == nil
      && memcmp(old.base + start, new.base + start, old.count - start) == 0
  }

  /// Rows that go, whatever version they have. Who refers to them is looked after.
  func delete(_ references: ArraySlice<UInt64>, _ transaction: borrowing WriteTransaction) throws {
    try flush(transaction)
    changes.checksReferences = false
    changes.deletes.reserveCapacity(references.count)
    for reference in references {
      guard let entity = catalogue.entity(code: Reference.entityCode(reference)) else { continue }
      let key = Reference.primaryKey(reference)
      changes.deletes.append(
        RowDeletion(entity: entity, primaryKey: key, baseVersion: RowDeletion.anyVersion))
      outcome.deleted.append(key, of: entity)
    }
    try flush(transaction)
  }

  /// A row that matched is done.
  @inline(__always)
  func noteUpdated(_ key: UInt64, of entity: Int) { outcome.updated.append(key, of: entity) }

  /// A row that did not match has changed along with others.
  func noteTouched(_ key: UInt64, of entity: Int) { outcome.touched.append(key, of: entity) }

  /// A row that did not change has a member less.
  func noteRelated(_ key: UInt64, of entity: Int) { outcome.related.append(key, of: entity) }

  /// All of those have been noted: each counts once, and other processes must be notified.
  func settleRelated() {
    outcome.related.settle()
    guard let journal else { return }
    for (entity, keys) in outcome.related.lists.enumerated() {
      for key in keys { journal.note(key, of: entity, .related) }
    }
  }

  private func note(_ slots: SlotBitmap, of entity: Int) {
    outcome.changedSlots[entity, default: SlotBitmap()].formUnion(slots)
  }

  // MARK: Writing

  /// Whether the row waits to be written: the transaction shows it as it was.
  func isWaiting(_ address: RowAddress) -> Bool { waiting.contains(address) }

  private var isFull: Bool {
    bytes >= Self.chunkLength || changes.updates.count >= step
  }

  /// Writes what waits. `isAll` when that is all there is: then the change set knows every value that counts.
  /// - Throws: `UniquenessViolation`, `DanglingReferences`, `CommitConflict`; `CancellationError`; `StorageError`.
  func flush(_ transaction: borrowing WriteTransaction, isAll: Bool = false) throws {
    if let violation = try attempt(transaction, isAll: isAll) { throw violation }
  }

  /// Writes what waits, or returns why it must not be written: then it waits still.
  private func attempt(_ transaction: borrowing WriteTransaction, isAll: Bool = false) throws
    -> UniquenessViolation?
  {
    if changes.isEmpty { return nil }
    try progress.stopIfCancelled()
    changes.checksUniqueness = !defersUniqueness || isAll
    // Before rows are looked up: the writer points into their pages, and those that are handed over are freed.
    try hold(changes.count * Self.changeLength, transaction)
    let writer = ChangeSetWriter(
      changeSet: changes, parts: parts, catalogue: catalogue, journal: journal, history: history,
      going: going)
    if let failure = try writer.prepare(transaction.read) {
      if let violation = failure as? UniquenessViolation { return violation }
      throw failure
    }
    try writer.write(transaction)
    hasWritten = true
    for row in writer.derivedRows where !goes(row) {
      outcome.touched.append(row.primaryKey, of: row.entity)
      note(row.changedSlots, of: row.entity)
    }
    progress.complete(outcome.inserted.count + outcome.updated.count + outcome.deleted.count)
    forgetWaiting()
    return nil
  }

  private func goes(_ row: RowChange) -> Bool {
    going.goes(
      RowAddress(hierarchy: parts.schema.entities[row.entity].hierarchyNumber, key: row.primaryKey))
  }

  private func forgetWaiting() {
    changes = Self.emptyChanges
    bytes = 0
    slab = RowSlabWriter()
    waiting = []
  }

  /// Says which records the rows of an insert have become.
  func noteRecords(_ records: [BatchRecord]) { outcome.records = records }

  /// What has been done in all. Only after the last `flush`.
  func finish() -> BatchChanges {
    outcome.touched.settle()
    return outcome
  }

  /// The newest row, as the transaction shows it.
  func row(_ address: RowAddress, _ transaction: borrowing ReadTransaction) throws -> StoredRow? {
    try reader.row(address.key, of: address.hierarchy, transaction)
  }

  /// Clears or sets one reference of a stored row that is not the one the batch is about.
  func setReference(
    _ relationship: RelationshipSchema, of row: StoredRow, _ key: UInt64, to reference: UInt64,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let entity = parts.schema.entities[row.entity]
    if reference == 0, !relationship.isOptional {
      throw CoreDataError(
        .validationMissingMandatoryProperty,
        "\(entity.name).\(relationship.name) of p\(key) would lose its object, and is a required value.",
        userInfo: [CoreDataError.Key.validationKey: relationship.name])
    }
    let draft = RowDraft.make(entity.layout)
    draft[relationship.slot] = reference == 0 ? .null : .reference(reference)
    noteTouched(key, of: row.entity)
    try update(row, key, draft, draft.changed, transaction)
  }
}
