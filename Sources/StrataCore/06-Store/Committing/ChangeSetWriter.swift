import CLMDBShim
import Foundation

/// Writes one change set in two phases, so that one that fails leaves the transaction as it was.
///
/// ```
///   prepare   reads only: versions, constraints, ends of references; collects index entries, large values, edges
///   write     rows, indexes, large values, edges: sorted, through one cursor per keyspace; then what is derived from them
/// ```
///
/// Lives for one run of a transaction's body, on the writer's thread. Costs, for inserts in ascending order,
/// one append per row and one put per index entry; for updates and deletes one get per row besides.
final class ChangeSetWriter {
  let changeSet: ChangeSet
  let parts: StoreParts
  let catalogue: StoreCatalogue
  let reader: RowReader
  /// Records for other processes which rows have changed.
  let journal: JournalRecorder?
  /// Records for the store's history what has changed.
  private let history: HistoryWriter?
  /// The rows that go in the same transaction, with this change set or another, by hierarchy: what becomes of them until then is nothing to record.
  private let going: [ReferenceSet]
  // `@exclusivity(unchecked)`: one frame on the writer's thread uses it at a time, and there are no calls back.
  /// The stored rows that updates replace, in their order; in the schema's layout. Valid until the first write.
  @exclusivity(unchecked) var replaced: [StoredRow] = []
  /// The stored rows that go, in the order of the deletes, with their keys.
  @exclusivity(unchecked) var deleted: ContiguousArray<(key: UInt64, row: StoredRow)> = []
  /// The entities of the rows that change.
  @exclusivity(unchecked) private(set) var changedEntities = SlotBitmap()
  /// What happens to relationships.
  @exclusivity(unchecked) private(set) var edges = EdgeChanges()
  /// What is done to the rows of each hierarchy, by ascending key.
  @exclusivity(unchecked) private var operations: [(hierarchy: Int, list: Operations)] = []
  /// Index changes by index number.
  @exclusivity(unchecked) var indexChanges: [(index: IndexSchema, changes: IndexChanges)] = []
  /// Whether some new row has values outside it.
  @exclusivity(unchecked) private var hasLargeValues = false
  /// Indexes whose entries another thread is making meanwhile.
  @exclusivity(unchecked) var awaitedIndexes: [IndexSchema] = []
  /// Large values that no row refers to any more.
  @exclusivity(unchecked) var staleLargeValues: [LargeValueKey] = []
  /// The versions of replaced rows that have derived attributes.
  private(set) var replacedVersions: [RowAddress: UInt32] = [:]
  /// The rows as they are stored that were written again, or for the first time, with other derived values.
  private(set) var derivedRows: [RowChange] = []
  /// Rows that lose a relationship because another row goes, of which the change set says nothing: the saving context did not know of it.
  private(set) var unsaidTouches: [RowTouch] = []
  /// Inserts and updates by key; made only when a constraint has to be looked at closely.
  var changedRows: [RowAddress: RowChange]?

  init(
    changeSet: ChangeSet, parts: StoreParts, catalogue: StoreCatalogue, journal: JournalRecorder? = nil,
    history: HistoryWriter? = nil, going: [ReferenceSet] = []
  ) {
    self.going = going
    self.journal = journal
    self.history = history
    self.changeSet = changeSet
    self.parts = parts
    self.catalogue = catalogue
    reader = RowReader(parts: parts, catalogue: catalogue)
  }

  /// Whether the row goes with the batch that the change set is a part of.
  func goes(_ row: RowAddress) -> Bool { going.goes(row) }

  /// Whether there is anything to write in rows and edges.
  var hasChanges: Bool {
    !(changeSet.inserts.isEmpty && changeSet.updates.isEmpty && changeSet.deletes.isEmpty
      && changeSet.edges.isEmpty)
  }

  /// Everything that can go wrong with the change set itself; nil when it can be written.
  ///
  /// - Parameter isUnchanged: the transaction has written nothing yet.
  func prepare(_ transaction: borrowing ReadTransaction, isUnchanged: Bool = false) throws -> (any Error)? {
    if let error = foreignEntity() { return error }
    operations = try makeOperations()
    if let conflict = try findConflicts(transaction, isUnchanged) { return conflict }
    collectStaleLargeValues()
    if parts.schema.derivedSources != nil { collectReplacedVersions() }
    try collectIndexChanges(transaction, isUnchanged)
    if changeSet.checksUniqueness {
      let violations = try findViolations(transaction)
      if !violations.isEmpty { return UniquenessViolation(violations: violations) }
    }
    return touchesRelationships ? try collectEdges(transaction) : nil
  }

  /// Finds the stored rows that change, for a thread that makes their index entries ahead of the transaction that writes; false when one is
  /// not of the version that the change set knows: what it is then, that transaction finds out.
  func findStored(ahead transaction: borrowing ReadTransaction) throws -> Bool {
    if foreignEntity() != nil { return false }
    operations = try makeOperations()
    return try findConflicts(transaction, true) == nil
  }

  /// Whether there may be edges to change or references to check.
  private var touchesRelationships: Bool {
    if !changeSet.edges.isEmpty { return true }
    let relationships = catalogue.relationships
    var isTouched = false
    changedEntities.forEach { entity in
      if !relationships.referenceSlots[entity].isEmpty
        || !deleted.isEmpty && !relationships.ownedEdges[hierarchy(ofEntity: entity)].isEmpty
      {
        isTouched = true
      }
    }
    return isTouched && (!deleted.isEmpty || changesReferences || lacksRoomForEdges)
  }

  /// Whether a row that is new refers to something, or one that is replaced to something else. Ends with the first one that does.
  private var changesReferences: Bool {
    let referenceSlots = catalogue.relationships.referenceSlots
    let isReferring = changeSet.inserts.withUnsafeBufferPointer { inserts in
      inserts.indices.contains { place in
        // `inserts` keeps the row alive. The bytes of a nil reference are 0.
        let base = inserts[place].row.base
        return referenceSlots[inserts[place].entity].contains { RowBytes.reference(base, $0.entry) != 0 }
      }
    }
    if isReferring { return true }
    return changeSet.updates.withUnsafeBufferPointer { updates in
      updates.indices.contains { place in
        referenceSlots[updates[place].entity].contains { updates[place].changedSlots.contains($0.slot) }
      }
    }
  }

  /// Whether the store could not keep the edges of what changes: that is refused whatever is written.
  private var lacksRoomForEdges: Bool {
    if parts.edges == nil { return true }
    let codes = catalogue.relationships.codes
    var isLacking = false
    changedEntities.forEach { entity in
      for relationship in parts.schema.entities[entity].relationships
      where !relationship.isTransient && codes[relationship.number] == 0 {
        isLacking = true
      }
    }
    return isLacking
  }

  private func collectEdges(_ transaction: borrowing ReadTransaction) throws -> (any Error)? {
    var collection = EdgeCollection(self)
    let failure = try collection.run(transaction)
    edges = collection.changes
    if failure == nil { unsaidTouches = collection.untoldTouches() }
    return failure
  }

  /// Writes what was prepared.
  func write(_ transaction: borrowing WriteTransaction) throws {
    let history = try history.map { try HistoryOfChanges(self, $0, transaction.read) }
    try writeRows(transaction)
    for (index, changes) in indexChanges { try write(index, changes, transaction) }
    if !awaitedIndexes.isEmpty {
      let early = changeSet.earlyEntries?.wait()
      for index in awaitedIndexes {
        try write(
          index, early?.changes[index.number] ?? collectIndexChanges(index, transaction.read), transaction)
      }
    }
    try writeLargeValues(transaction)
    if let keyspace = parts.edges, !edges.isEmpty {
      try edges.write(keyspace, parts, catalogue.relationships, transaction)
    }
    if let sources = parts.schema.derivedSources {
      var writing = DerivedWriting(self, sources, edges: edges)
      derivedRows = try writing.run(transaction)
    }
    if let journal {
      for row in derivedRows
      where !goes(RowAddress(hierarchy: hierarchy(ofEntity: row.entity), key: row.primaryKey)) {
        journal.note(row.primaryKey, of: row.entity, .updated)
      }
      for touch in changeSet.touched + unsaidTouches {
        journal.note(touch.primaryKey, of: touch.entity, .related)
      }
    }
    try history?.record(transaction)
  }

  private func collectReplacedVersions() {
    for (place, change) in changeSet.updates.enumerated()
    where parts.schema.entities[change.entity].baselineSlot != nil {
      let address = RowAddress(hierarchy: hierarchy(ofEntity: change.entity), key: change.primaryKey)
      replacedVersions[address] = replaced[place].version
    }
  }

  private func write(
    _ index: IndexSchema, _ changes: IndexChanges, _ transaction: borrowing WriteTransaction
  ) throws {
    guard let keyspace = catalogue.indexes.keyspaces[index.number], !changes.isEmpty else { return }
    try changes.write(keyspace, transaction)
  }

  /// Looks over the changes once: of which entities they are, and whether there are large values.
  private func foreignEntity() -> (any Error)? {
    var entities = SlotBitmap()
    var last = -1
    for changes in [changeSet.inserts, changeSet.updates] {
      changes.withUnsafeBufferPointer { changes in
        for place in changes.indices {
          if changes[place].entity != last {
            last = changes[place].entity
            entities.insert(last)
          }
          if !changes[place].externals.isEmpty { hasLargeValues = true }
        }
      }
    }
    for deletion in changeSet.deletes { entities.insert(deletion.entity) }
    changedEntities = entities
    var foreign: Int?
    entities.forEach { if foreign == nil && !parts.held[$0] { foreign = $0 } }
    return foreign.map {
      StorageError(
        .invalid, operation: "commit", path: parts.environment.path,
        detail: "The store's configuration does not hold the entity \(parts.schema.entities[$0].name).")
    }
  }

  func hierarchy(ofEntity number: Int) -> Int { parts.schema.entities[number].hierarchyNumber }

  /// The keyspace of a hierarchy's rows.
  func rows(_ hierarchy: Int) throws -> Keyspace {
    guard let keyspace = parts.rows[hierarchy] else {
      throw parts.damaged("The store has no keyspace for \(parts.schema.hierarchies[hierarchy].rootName).")
    }
    return keyspace
  }
}

// MARK: Conflicts

extension ChangeSetWriter {
  /// Compares the versions the changes are based on with those stored (rule 189).
  private func findConflicts(_ transaction: borrowing ReadTransaction, _ isUnchanged: Bool) throws
    -> CommitConflict?
  {
    let (updates, deletes) = (changeSet.updates, changeSet.deletes)
    var found = ContiguousArray<StoredRow?>(repeating: nil, count: updates.count + deletes.count)
    var conflicts: [(place: Int, conflict: RowConflict)] = []
    if !found.isEmpty {
      for (hierarchy, list) in operations {
        try forEachStored(list, try rows(hierarchy), transaction, isUnchanged) { place, key, bytes in
          let base =
            place < updates.count ? updates[place].baseVersion : deletes[place - updates.count].baseVersion
          let (row, conflict) = try stored(bytes, hierarchy, key, base: base)
          found[place] = row
          if let conflict { conflicts.append((place, conflict)) }
        }
      }
    }
    if !updates.isEmpty { replaced = found[..<updates.count].compactMap { $0 } }
    if !deletes.isEmpty { deleted.reserveCapacity(deletes.count) }
    for place in deletes.indices {
      if let row = found[updates.count + place] { deleted.append((deletes[place].primaryKey, row)) }
    }
    // In the order of the changes.
    var all = conflicts.isEmpty ? [] : conflicts.sorted { $0.place < $1.place }.map(\.conflict)
    for check in changeSet.checks {
      let rows = try rows(check.hierarchy)
      let bytes = try transaction.get(rows, check.primaryKey)
      let (_, conflict) = try stored(bytes, check.hierarchy, check.primaryKey, base: check.baseVersion)
      if let conflict { all.append(conflict) }
    }
    try findExistingInserts(transaction, &all)
    return all.isEmpty ? nil : CommitConflict(conflicts: all)
  }

  /// Calls `body` with the place of each update and delete, those of the deletes behind those of the updates, with its key and the stored
  /// bytes of its row. By ascending key; many are looked up at a time where nothing has been written.
  private func forEachStored(
    _ list: Operations, _ rows: Keyspace, _ transaction: borrowing ReadTransaction, _ isUnchanged: Bool,
    _ body: (Int, UInt64, UnsafeRawBufferPointer?) throws -> Void
  ) throws {
    let deletesBegin = changeSet.updates.count
    if list.count < Self.fewestAtATime {
      return try transaction.withCursor(rows) { cursor in
        for (key, operation) in list {
          guard let place = operation.storedPlace(deletesBegin: deletesBegin) else { continue }
          try body(place, key, PrimaryKeyBytes.with(key) { try cursor.seek(exactly: $0)?.value })
        }
      }
    }
    var (keys, places): ([UInt64], [Int]) = ([], [])
    for (key, operation) in list {
      guard let place = operation.storedPlace(deletesBegin: deletesBegin) else { continue }
      places.append(place)
      keys.append(key)
    }
    if isUnchanged, keys.count >= Self.fewestAtATime {
      var number = 0
      try transaction.forEachValue(of: keys, in: rows, isUnchanged: true) { key, bytes in
        try body(places[number], key, bytes)
        number += 1
        return true
      }
    } else {
      // The cursor looks in the page it stands in first, where the next key mostly is.
      try transaction.withCursor(rows) { cursor in
        for (key, place) in zip(keys, places) {
          try body(place, key, PrimaryKeyBytes.with(key) { try cursor.seek(exactly: $0)?.value })
        }
      }
    }
  }

  /// Fewer are found before the tree has been looked at.
  private static let fewestAtATime = 16

  /// The stored row when it is of the version expected, otherwise a conflict. `RowDeletion.anyVersion` expects nothing.
  private func stored(_ bytes: UnsafeRawBufferPointer?, _ hierarchy: Int, _ key: UInt64, base: UInt32) throws
    -> (StoredRow?, RowConflict?)
  {
    guard let bytes else {
      let isExpected = base != RowDeletion.anyVersion
      return (nil, isExpected ? RowConflict(hierarchy: hierarchy, primaryKey: key, stored: nil) : nil)
    }
    let row = try reader.row(bytes, primaryKey: key)
    if row.version == base || base == RowDeletion.anyVersion || isBase(base, of: row) { return (row, nil) }
    return (
      nil, RowConflict(hierarchy: hierarchy, primaryKey: key, stored: reader.fetchedRow(row, primaryKey: key))
    )
  }

  /// Whether only derived values have changed in the row since that version.
  private func isBase(_ version: UInt32, of row: StoredRow) -> Bool {
    let entity = parts.schema.entities[row.entity]
    guard let slot = entity.baselineSlot, version < row.version, !RowBytes.isNil(row.base, slot) else {
      return false
    }
    return RowBytes.integer(row.base, entity.layout.entry(of: slot)) <= Int64(version)
  }

  /// Keys that should be new but are not.
  private func findExistingInserts(
    _ transaction: borrowing ReadTransaction, _ conflicts: inout [RowConflict]
  ) throws {
    var lastHierarchy = -1
    var last: UInt64?
    var keyspace: Keyspace?
    for place in changeSet.inserts.indices {
      let key = changeSet.inserts[place].primaryKey
      let hierarchy = hierarchy(ofEntity: changeSet.inserts[place].entity)
      if hierarchy != lastHierarchy {
        lastHierarchy = hierarchy
        keyspace = try rows(hierarchy)
        last = try parts.lastKey(hierarchy, transaction)
      }
      guard let last, key <= last, let keyspace else { continue }
      if let bytes = try transaction.get(keyspace, key) {
        let row = try reader.row(bytes, primaryKey: key)
        conflicts.append(
          RowConflict(hierarchy: hierarchy, primaryKey: key, stored: reader.fetchedRow(row, primaryKey: key)))
      }
    }
  }
}

// MARK: Rows and large values

extension ChangeSetWriter {
  fileprivate enum Operation {
    case insert(Int)
    case update(Int)
    case delete(Int)

    /// Its place among the updates and the deletes behind them; nil for an insert.
    @inline(__always)
    func storedPlace(deletesBegin: Int) -> Int? {
      switch self {
      case .insert: nil
      case .update(let place): place
      case .delete(let place): deletesBegin + place
      }
    }
  }

  /// By ascending key.
  fileprivate typealias Operations = ContiguousArray<(key: UInt64, operation: Operation)>

  private func makeOperations() throws -> [(hierarchy: Int, list: Operations)] {
    var result: [(hierarchy: Int, list: Operations)] = []
    // Of those that the changed entities are of, and no others: a model may have thousands.
    var hierarchies: [Int] = []
    changedEntities.forEach { entity in
      let hierarchy = self.hierarchy(ofEntity: entity)
      if !hierarchies.contains(hierarchy) { hierarchies.append(hierarchy) }
    }
    hierarchies.sort()
    for hierarchy in hierarchies {
      var operations: Operations = []
      collect(changeSet.inserts.count, hierarchy, &operations) {
        (changeSet.inserts[$0].entity, changeSet.inserts[$0].primaryKey, .insert($0))
      }
      collect(changeSet.updates.count, hierarchy, &operations) {
        (changeSet.updates[$0].entity, changeSet.updates[$0].primaryKey, .update($0))
      }
      collect(changeSet.deletes.count, hierarchy, &operations) {
        (changeSet.deletes[$0].entity, changeSet.deletes[$0].primaryKey, .delete($0))
      }
      if operations.isEmpty { continue }
      try sort(&operations)
      result.append((hierarchy, operations))
    }
    return result
  }

  /// By ascending key.
  private func sort(_ operations: inout Operations) throws {
    if operations.count < 2 { return }
    if !zip(operations, operations.dropFirst()).allSatisfy({ $0.key < $1.key }) {
      operations.sort { $0.key < $1.key }
    }
    for (operation, next) in zip(operations, operations.dropFirst()) where operation.key == next.key {
      throw StorageError(
        .invalid, operation: "commit", path: parts.environment.path,
        detail: "A change set holds two changes of one row: p\(operation.key).")
    }
  }

  private func writeRows(_ transaction: borrowing WriteTransaction) throws {
    for (hierarchy, list) in operations { try write(list, try rows(hierarchy), transaction) }
  }

  /// Calls `body` with the rows that go and their keys, those of a hierarchy by ascending keys unless some were deleted already.
  func forEachDeleted(_ body: (UInt64, StoredRow) -> Void) {
    guard deleted.count == changeSet.deletes.count else {
      for (key, row) in deleted { body(key, row) }
      return
    }
    for (_, list) in operations {
      for (key, operation) in list {
        if case .delete(let place) = operation { body(key, deleted[place].row) }
      }
    }
  }

  @inline(__always)
  private func collect(
    _ count: Int, _ hierarchy: Int, _ operations: inout Operations,
    _ change: (Int) -> (entity: Int, key: UInt64, operation: Operation)
  ) {
    operations.reserveCapacity(operations.count + count)
    for place in 0..<count {
      let change = change(place)
      if self.hierarchy(ofEntity: change.entity) == hierarchy {
        operations.append((change.key, change.operation))
      }
    }
  }

  private func write(
    _ operations: Operations, _ keyspace: Keyspace, _ transaction: borrowing WriteTransaction
  ) throws {
    try transaction.withCursor(keyspace) { cursor in
      var last = try cursor.last().flatMap { PrimaryKeyBytes.whole($0.key) }
      var ahead = PageAhead()
      for (number, (key, operation)) in operations.enumerated() {
        if number + Self.pagesAhead < operations.count {
          ahead.prefetch(storedRow(operations[number + Self.pagesAhead].operation))
        }
        switch operation {
        case .insert(let place):
          try put(changeSet.inserts[place].rowBytes, key, &last, &cursor)
          journal?.note(key, of: changeSet.inserts[place].entity, .inserted)
        case .update(let place):
          try put(changeSet.updates[place].rowBytes, key, &last, &cursor)
          journal?.note(key, of: changeSet.updates[place].entity, .updated)
        case .delete(let place):
          journal?.note(key, of: changeSet.deletes[place].entity, .deleted)
          try PrimaryKeyBytes.with(key) { if try cursor.seek(exactly: $0) != nil { try cursor.delete($0) } }
        // What is last now does not matter: later keys are put, not appended, up to the old last one.
        }
      }
    }
  }

  /// How many operations ahead their pages are asked for.
  private static let pagesAhead = 4

  /// Where the row that an operation replaces or deletes lies in the file; nil for one that had to be transcoded.
  @inline(__always)
  private func storedRow(_ operation: Operation) -> UnsafeRawPointer? {
    func place(_ row: StoredRow) -> UnsafeRawPointer? { row.keeper == nil ? row.base : nil }
    return switch operation {
    case .insert: nil
    case .update(let number): place(replaced[number])
    // Rows that were deleted already are left out.
    case .delete(let number):
      deleted.count == changeSet.deletes.count ? place(deleted[number].row) : nil
    }
  }

  @inline(__always)
  private func put(
    _ row: UnsafeRawBufferPointer, _ key: UInt64, _ last: inout UInt64?, _ cursor: inout Cursor
  ) throws {
    let isLater = last.map { key > $0 } ?? true
    try PrimaryKeyBytes.with(key) { key in try cursor.put(key, row, append: isLater) }
    if isLater { last = key }
  }

  /// Large values of deleted rows, and of updated rows those the new row does not refer to.
  private func collectStaleLargeValues() {
    for (key, row) in deleted {
      reader.forEachReference(row, primaryKey: key) { _, key in staleLargeValues.append(key) }
    }
    for (place, row) in replaced.enumerated() where row.hasExternalValues {
      let change = changeSet.updates[place]
      let layout = parts.schema.entities[change.entity].layout
      reader.forEachReference(row, primaryKey: change.primaryKey) { slot, key in
        let reference = change.row.externalReference(slot, layout)
        if reference?.version != key.version { staleLargeValues.append(key) }
      }
    }
  }

  private func writeLargeValues(_ transaction: borrowing WriteTransaction) throws {
    guard let large = parts.large else { return }
    for key in staleLargeValues {
      _ = try key.withBytes { try transaction.delete(large, $0) }
    }
    guard hasLargeValues else { return }
    for changes in [changeSet.inserts, changeSet.updates] {
      for place in changes.indices where !changes[place].externals.isEmpty {
        let change = changes[place]
        let entity = parts.schema.entities[change.entity]
        for value in change.externals {
          guard let reference = change.row.externalReference(value.slot, entity.layout) else {
            throw parts.damaged("A row of \(entity.name) lacks the reference to a large value.")
          }
          let key = reader.largeValueKey(
            entity: change.entity, value.slot, primaryKey: change.primaryKey, version: reference.version)
          try key.withBytes { key in
            try value.bytes.withUnsafeBytes { try transaction.put(large, key, $0) }
          }
        }
      }
    }
  }
}

/// Asks for the pages of the file that are about to be searched and copied, each once: their memory mostly lies apart.
private struct PageAhead {
  private var last: UInt = 0
  private static let pageSize: UInt = 4_096

  @inline(__always)
  mutating func prefetch(_ row: UnsafeRawPointer?) {
    guard let row else { return }
    // Whatever the size of a page, this is a part of it.
    let page = UInt(bitPattern: row) & ~(Self.pageSize - 1)
    if page == last { return }
    last = page
    guard let start = UnsafeRawPointer(bitPattern: page) else { return }
    for line in 0..<Int(Self.pageSize / 64) { strata_prefetch(start + line * 64) }
  }
}
