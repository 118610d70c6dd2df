import Foundation

/// Puts the new rows of a batch update as they are found: one pass over the rows, whose pages both transactions have at hand, in the rows' own places where
/// they keep their length.
///
/// ```
///   row of the snapshot ─▶ new row ─▶ put                    index entries, every 64 K rows: sorted, taken out and put in
/// ```
///
/// Only where the values that change concern the rows and entries of plain indexes: no relationship, no uniqueness constraint, no derived value. Rows with
/// large values go the way of a save.
///
/// Lives for one run of the transaction's body, on the writer's thread.
final class BatchPutting {
  /// The entries of one index.
  private final class Entries {
    let index: IndexSchema
    let entities: Set<Int>
    var old: IndexKeyMaker
    var new: IndexKeyMaker
    var changes = IndexChanges()

    init(_ index: IndexSchema, _ reader: RowReader) {
      self.index = index
      entities = Set(reader.parts.schema.entities[index.owner].subtree)
      old = IndexKeyMaker(index: index, reader: reader)
      new = IndexKeyMaker(index: index, reader: reader)
    }
  }

  private let writing: BatchWriting
  private let slots: SlotBitmap
  private let keyspace: Keyspace
  private let entries: [Entries]
  private var waiting = 0
  /// The page of the snapshot on which the last row lies that was put.
  private var page: UInt = 0
  /// The rows that were put since the last `flush`, where there is a history.
  private var put: BatchKeys

  private var schema: Schema { writing.parts.schema }

  /// Nil when more than rows and entries of plain indexes may change.
  init?(_ update: BatchUpdate, _ slots: SlotBitmap, _ writing: BatchWriting) {
    let schema = writing.parts.schema
    let entities = update.request.entityNumbers.map { schema.entities[$0] }
    let hasReferences = entities.contains { entity in
      entity.relationships.contains { slots.contains($0.slot) }
    }
    let indexes = writing.catalogue.indexes.maintained.filter { $0.slots.intersects(slots) }
    guard schema.derivedSources == nil, !hasReferences, !indexes.contains(where: \.isUnique),
      entities.allSatisfy({ writing.parts.held[$0.number] }),
      let keyspace = writing.parts.rows[update.request.hierarchyNumber]
    else { return nil }
    self.writing = writing
    self.slots = slots
    self.keyspace = keyspace
    entries = indexes.map { Entries($0, writing.reader) }
    put = BatchKeys(entityCount: schema.entities.count)
  }

  /// Gives every row that `search` finds in the snapshot the values that `draft` makes for it.
  func run(
    _ search: BatchSearch, _ snapshot: borrowing ReadTransaction, _ transaction: borrowing WriteTransaction,
    _ draft: (UInt64, StoredRow) throws -> RowDraft
  ) throws {
    try transaction.withCursor(keyspace) { cursor in
      try search.forEachRow(snapshot) { key, row in
        let draft = try draft(key, row)
        writing.noteUpdated(key, of: row.entity)
        guard let new = try writing.encodeAlone(row, key, draft) else {
          return try writing.update(row, key, draft, slots, transaction)
        }
        if writing.isSame(row, new) { return }
        try collect(row, new, key, snapshot)
        try hold(row, transaction)
        try PrimaryKeyBytes.with(key) { key in try new.withBytes { try cursor.put(key, $0) } }
        writing.notePut(key, of: row.entity, slots)
        if writing.history != nil { put.append(key, of: row.entity) }
        waiting += 1
        if waiting >= writing.step { try flush(transaction) }
      }
    }
    try flush(transaction)
  }

  /// A row that lies on another page than the last one changes a page more.
  @inline(__always)
  private func hold(_ row: StoredRow, _ transaction: borrowing WriteTransaction) throws {
    let page = UInt(bitPattern: row.base) / Self.pageLength
    if page == self.page { return }
    self.page = page
    try writing.hold(Int(Self.pageLength), transaction)
  }

  private static let pageLength: UInt = 4_096

  private func collect(
    _ row: StoredRow, _ new: RowSnapshot, _ key: UInt64, _ snapshot: borrowing ReadTransaction
  ) throws {
    for entries in entries where entries.entities.contains(row.entity) {
      let newRow = StoredRow(base: new.base, count: Int(new.count), entity: row.entity)
      try entries.old.make(row, key, externals: [], snapshot)
      try entries.new.make(newRow, key, externals: [], snapshot)
      if entries.old.hasSameKey(as: entries.new) { continue }
      entries.old.append(to: &entries.changes.removals)
      entries.new.append(to: &entries.changes.insertions)
    }
  }

  /// Writes what belongs to the rows that were put.
  private func flush(_ transaction: borrowing WriteTransaction) throws {
    if waiting == 0 { return }
    waiting = 0
    try writing.progress.stopIfCancelled()
    for entries in entries where !entries.changes.isEmpty {
      guard let keyspace = writing.catalogue.indexes.keyspaces[entries.index.number] else { continue }
      entries.changes.sort()
      let count = entries.changes.removals.count + entries.changes.insertions.count
      try writing.hold(entries: count, of: keyspace, transaction)
      try entries.changes.write(keyspace, transaction)
      entries.changes = IndexChanges()
    }
    if let history = writing.history {
      put.settle()
      for (entity, keys) in put.lists.enumerated() {
        for key in keys { try history.note(.updated, key, of: entity, slots, transaction) }
      }
      put = BatchKeys(entityCount: schema.entities.count)
    }
    writing.progress.complete(writing.outcome.updated.count)
  }
}
