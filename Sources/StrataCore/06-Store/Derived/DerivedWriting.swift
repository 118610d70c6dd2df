import Foundation

/// Computes derived attributes: the last step of writing a change set, when rows and edges are as they will be.
///
/// ```
///   which rows    new and changed ones of entities with derived attributes          · theirs
///                 owners of relationships that have other members now               · others'
///                 those that look, through a relationship, at a value that changed  · others'
///   for each      read it, compute, and where something differs write it again, with its index entries and large values
/// ```
///
/// Being part of the transaction, it sees what every earlier writer has left: two contexts that each add a child give two. Rows of
/// others get a new version, so that merging finds out which is newer, and remember the version that saves may still be
/// based on (`EntitySchema.baselineSlot`): a row that changed in derived values alone causes no conflict.
struct DerivedWriting: ~Copyable {
  private let writer: ChangeSetWriter
  private let sources: DerivedSources
  private let edges: EdgeChanges
  private let now = Date()
  /// The rows to look at; true when the change set writes them.
  private var affected: [RowAddress: Bool] = [:]
  private var places: [RowAddress: RowChange] = [:]
  private var indexChanges: [Int: IndexChanges] = [:]
  private var rowWriter = RowSlabWriter()
  /// The rows written again, as they are now.
  private var result: [RowChange] = []

  private var parts: StoreParts { writer.parts }
  private var catalogue: StoreCatalogue { writer.catalogue }

  init(_ writer: ChangeSetWriter, _ sources: DerivedSources, edges: EdgeChanges) {
    self.writer = writer
    self.sources = sources
    self.edges = edges
  }

  mutating func run(_ transaction: borrowing WriteTransaction) throws -> [RowChange] {
    collectOwn()
    collectOwners()
    try collectWatchers(transaction.read)
    let addresses = affected.keys.sorted { ($0.hierarchy, $0.key) < ($1.hierarchy, $1.key) }
    for address in addresses {
      try write(address, isOwn: affected[address] == true, transaction)
    }
    for (number, changes) in indexChanges {
      guard let keyspace = catalogue.indexes.keyspaces[number] else { continue }
      changes.sort()
      try changes.write(keyspace, transaction)
    }
    return result
  }

  // MARK: Which rows

  private mutating func collectOwn() {
    for changes in [writer.changeSet.inserts, writer.changeSet.updates] {
      for change in changes where parts.schema.entities[change.entity].baselineSlot != nil {
        let address = RowAddress(
          hierarchy: writer.hierarchy(ofEntity: change.entity), key: change.primaryKey)
        affected[address] = true
        places[address] = change
      }
    }
  }

  private mutating func add(_ relationship: Int, _ key: UInt64) {
    let owner = parts.schema.relationships[relationship].owner
    let address = RowAddress(hierarchy: writer.hierarchy(ofEntity: owner), key: key)
    if affected[address] == nil { affected[address] = false }
  }

  private mutating func collectOwners() {
    func collect(_ prefix: UInt64) -> Int? {
      if EdgeKey.code(prefix) & EdgeKey.hiddenInverse != 0 { return nil }
      let number = catalogue.relationships.relationship(code: EdgeKey.code(prefix))
      return number.flatMap { sources.countsMembers[$0] ? $0 : nil }
    }
    var last = UInt64.max
    for edge in edges.removals where edge.prefix != last {
      last = edge.prefix
      if let number = collect(last) { add(number, EdgeKey.owner(last)) }
    }
    last = .max
    for edge in edges.additions where edge.prefix != last {
      last = edge.prefix
      if let number = collect(last) { add(number, EdgeKey.owner(last)) }
    }
    last = .max
    for edge in edges.placements where edge.prefix != last {
      last = edge.prefix
      if let number = collect(last) { add(number, EdgeKey.owner(last)) }
    }
  }

  private mutating func collectWatchers(_ transaction: borrowing ReadTransaction) throws {
    for change in writer.changeSet.updates {
      for watch in sources.watches[change.entity] where change.changedSlots.contains(watch.slot) {
        try addWatchers(watch.relationship, change.primaryKey, row: change.row, change.entity, transaction)
      }
    }
    for change in writer.changeSet.inserts {
      // Others refer to a row that is new only when it was there before, or is salvaged behind them.
      if writer.changeSet.checksReferences, change.row.version == 1 { continue }
      for watch in sources.watches[change.entity] {
        try addWatchers(watch.relationship, change.primaryKey, row: change.row, change.entity, transaction)
      }
    }
    for deletion in writer.changeSet.deletes {
      for watch in sources.watches[deletion.entity] {
        try addWatchers(watch.relationship, deletion.primaryKey, row: nil, deletion.entity, transaction)
      }
    }
  }

  /// The rows that have the row of that key in `relationship`.
  private mutating func addWatchers(
    _ relationship: Int, _ key: UInt64, row: RowSnapshot?, _ entity: Int,
    _ transaction: borrowing ReadTransaction
  ) throws {
    let schema = parts.schema
    if let inverse = schema.relationships[relationship].inverse, !schema.relationships[inverse].isToMany {
      let layout = schema.entities[entity].layout
      if case .reference(let bits)? = row?.value(schema.relationships[inverse].slot, layout) {
        add(relationship, Reference.primaryKey(bits))
      }
      return
    }
    let back = RelationshipCodes.twin(of: schema.relationships[relationship])
    for member in try writer.reader.members(back, of: key, transaction) {
      add(relationship, Reference.primaryKey(member))
    }
  }

  // MARK: Writing

  private mutating func write(_ address: RowAddress, isOwn: Bool, _ transaction: borrowing WriteTransaction)
    throws
  {
    let keyspace = try writer.rows(address.hierarchy)
    let reader = writer.reader
    let stored = try transaction.read.get(keyspace, address.key).map {
      try reader.row($0, primaryKey: address.key)
    }
    guard let stored, let baseline = parts.schema.entities[stored.entity].baselineSlot else { return }
    let entity = parts.schema.entities[stored.entity]
    let row = stored.keeper ?? RowSnapshot(copying: stored.bytes)
    let old = StoredRow(base: row.base, count: Int(row.count), entity: stored.entity, keeper: row)
    let values = DerivedValues(
      reader: reader, row: old, primaryKey: address.key,
      now: isOwn && !writer.changeSet.keepsTimes ? now : nil)
    let draft = RowDraft.make(entity.layout)
    for derived in entity.derived {
      guard let value = try values.value(of: derived, transaction.read) else { continue }
      // A large value of a row that was sent may be one that others have replaced.
      if isOwn, old.isExternal(derived.slot, entity.layout) {
        draft[derived.slot] = value
      } else if try reader.value(old, derived.slot, primaryKey: address.key, externals: [], transaction.read)
        != value
      {
        draft[derived.slot] = value
      }
    }
    var version = row.version
    if isOwn {
      let replaced = writer.replacedVersions[address] ?? 0
      if version <= replaced { version = replaced &+ 1 }
      if !row.isNil(baseline, entity.layout) { draft[baseline] = .null }
    } else if !draft.changed.isEmpty {
      if row.isNil(baseline, entity.layout) { draft[baseline] = .integer(Int64(version)) }
      version = version &+ 1
    }
    if draft.changed.isEmpty, version == row.version {
      if isOwn { try collectIndexChanges(address, nil, old, [], entity, transaction.read) }
      return
    }
    try put(address, old, draft, version: version, entity, keyspace, transaction)
  }

  private mutating func put(
    _ address: RowAddress, _ old: StoredRow, _ draft: RowDraft, version: UInt32, _ entity: EntitySchema,
    _ keyspace: Keyspace, _ transaction: borrowing WriteTransaction
  ) throws {
    let stamp = RowStamp(
      layoutNumber: catalogue.layoutNumbers[entity.number], entityCode: catalogue.entityCodes[entity.number])
    let (row, externals): (RowSnapshot, [ExternalValue])
    do {
      (row, externals) = try RowEncoder.encode(
        layout: entity.layout, stamp: stamp, primaryKey: address.key, version: version, base: old.keeper,
        draft: draft, into: &rowWriter)
    } catch {
      throw StorageError(
        .tooLarge, operation: "save", path: parts.environment.path,
        detail:
          "A derived value of \(entity.name)/p\(address.key) cannot be stored: \(error.words(in: entity))")
    }
    let new = StoredRow(base: row.base, count: Int(row.count), entity: entity.number, keeper: row)
    try collectIndexChanges(
      address, places[address] == nil ? old : nil, new, externals, entity, transaction.read)
    try PrimaryKeyBytes.with(address.key) { key in
      try row.withBytes { try transaction.put(keyspace, key, $0) }
    }
    try writeLargeValues(address, old, new, externals, entity, transaction)
    let sent = places[address]
    result.append(
      RowChange(
        entity: entity.number, primaryKey: address.key, baseVersion: sent?.baseVersion ?? old.version,
        row: row, externals: (sent?.externals ?? []) + externals,
        changedSlots: draft.changed.union(sent?.changedSlots ?? SlotBitmap())))
  }

  /// The new entry comes, in the place of the old one. Of rows that the change set writes the old one has gone already.
  private mutating func collectIndexChanges(
    _ address: RowAddress, _ old: StoredRow?, _ new: StoredRow, _ externals: [ExternalValue],
    _ entity: EntitySchema, _ transaction: borrowing ReadTransaction
  ) throws {
    for index in catalogue.indexes.maintained
    where index.slots.intersects(entity.derivedSlots)
      && parts.schema.entities[index.owner].subtree.contains(entity.number)
    {
      let changes = indexChanges[index.number] ?? IndexChanges()
      indexChanges[index.number] = changes
      var keys = IndexKeyMaker(index: index, reader: writer.reader)
      if let old {
        try keys.make(old, address.key, externals: [], transaction)
        keys.append(to: &changes.removals)
      }
      try keys.make(new, address.key, externals: externals, transaction)
      keys.append(to: &changes.insertions)
    }
  }

  /// Large values of the row come and go with the references to them.
  private func writeLargeValues(
    _ address: RowAddress, _ old: StoredRow, _ new: StoredRow, _ externals: [ExternalValue],
    _ entity: EntitySchema, _ transaction: borrowing WriteTransaction
  ) throws {
    guard let large = parts.large else { return }
    let reader = writer.reader
    func key(_ slot: Int, _ version: UInt32) -> LargeValueKey {
      reader.largeValueKey(entity: new.entity, slot, primaryKey: address.key, version: version)
    }
    for derived in entity.derived {
      guard let reference = old.externalReference(derived.slot, entity.layout),
        reference.version != new.externalReference(derived.slot, entity.layout)?.version
      else { continue }
      _ = try key(derived.slot, reference.version).withBytes { try transaction.delete(large, $0) }
    }
    for value in externals {
      guard let reference = new.externalReference(value.slot, entity.layout) else {
        throw parts.damaged("A row of \(entity.name) lacks the reference to a large value.")
      }
      try key(value.slot, reference.version).withBytes { key in
        try value.bytes.withUnsafeBytes { try transaction.put(large, key, $0) }
      }
    }
  }
}
