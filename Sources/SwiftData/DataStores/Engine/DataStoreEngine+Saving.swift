import StrataCore

extension DataStoreEngine {
  /// The rows that a save is about: those that are new, changed or deleted, and those whose relationships have changed.
  func savedRows(_ changes: ChangeSet, _ context: ManagedObjectContext) -> SavedRows {
    var seen: Set<ManagedObjectID> = []
    func row(_ entity: Int, _ key: UInt64) -> ModelRow? {
      let id = objectID(entity, key)
      return seen.insert(id).inserted ? context.object(with: id) as? ModelRow : nil
    }
    var rows = SavedRows()
    rows.inserted = changes.inserts.compactMap { row($0.entity, $0.primaryKey) }
    rows.deleted = changes.deletes.compactMap { row($0.entity, $0.primaryKey) }
    rows.updated = changes.updates.compactMap { row($0.entity, $0.primaryKey) }
    for touch in changes.touched {
      guard let row = row(touch.entity, touch.primaryKey) else { continue }
      // Undo may relate others to a model that has gone, and of which nothing is known any more: the store would take it for a new one.
      if row.rowVersion == nil, versions.isGone(row.objectID) { continue }
      rows.updated.append(row)
    }
    for edge in changes.edges {
      let owner = schema.entities[schema.relationships[edge.relationship].owner]
      let address = Address(hierarchy: owner.hierarchyNumber, key: edge.owner)
      guard let record = records[address] else { continue }
      if let row = row(record.entity, edge.owner) { rows.updated.append(row) }
    }
    // Of what was saved with the values that it had, those that another context has saved meanwhile are left out: older values would be
    // written over newer ones.
    for touch in changes.resaved {
      guard let row = row(touch.entity, touch.primaryKey) else { continue }
      if let version = row.rowVersion, versions.isNewer(row.objectID, than: version) { continue }
      rows.updated.append(row)
    }
    return rows
  }

  /// That nobody has handed out a newer version of what is written since.
  /// - Throws: `CommitConflict`, about which the context's merge policy is asked.
  func requireVersions(_ changes: ChangeSet, _ rows: SavedRows, _ context: ManagedObjectContext) throws {
    var conflicts: [RowConflict] = []
    let reading = DataStoreReading(self, context)
    func check(_ entity: Int, _ key: UInt64, _ version: UInt32) throws {
      guard versions.isNewer(objectID(entity, key), than: version) else { return }
      let hierarchy = schema.entities[entity].hierarchyNumber
      conflicts.append(
        RowConflict(
          hierarchy: hierarchy, primaryKey: key,
          stored: try reading.row(hierarchy: hierarchy, primaryKey: key)))
    }
    for change in changes.updates { try check(change.entity, change.primaryKey, change.baseVersion) }
    for deletion in changes.deletes where deletion.baseVersion != RowDeletion.anyVersion {
      try check(deletion.entity, deletion.primaryKey, deletion.baseVersion)
    }
    for row in changes.checks {
      guard let record = records[Address(hierarchy: row.hierarchy, key: row.primaryKey)] else { continue }
      try check(record.entity, row.primaryKey, row.baseVersion)
    }
    // A model of which only relationships have changed is handed to the store whole, too.
    let written = Set(changes.updates.map { objectID($0.entity, $0.primaryKey) })
    for row in rows.updated where !written.contains(row.objectID) {
      guard let version = row.rowVersion, let entity = schema.entity(named: row.objectID.entityName) else {
        continue
      }
      try check(entity.number, row.objectID.recordKey, version)
    }
    if !conflicts.isEmpty { throw CommitConflict(conflicts: conflicts, newestVersion: versions.newest) }
  }

  /// That what is written refers to no model that has been deleted, as far as is known here: the store would keep the reference, and it would lead to a model without values.
  /// - Throws: `DanglingReferences`, of which the context brings its objects in line.
  func requireTargets(_ changes: ChangeSet) throws {
    var dangling: [DanglingReferences.Reference] = []
    // Undo may bring back what was deleted.
    let new = Set(changes.inserts.map { objectID($0.entity, $0.primaryKey) })
    for change in changes.inserts + changes.updates {
      let entity = schema.entities[change.entity]
      for relationship in entity.relationships
      where !relationship.isToMany && !relationship.isTransient
        && change.changedSlots.contains(relationship.slot)
      {
        let bits = change.row.reference(relationship.slot, of: entity)
        if bits == 0 { continue }
        let key = StoreReference.primaryKey(bits)
        let target = objectID(Int(StoreReference.entityCode(bits)) - 1, key)
        guard versions.isGone(target), !new.contains(target) else { continue }
        dangling.append(
          DanglingReferences.Reference(
            relationship: relationship.number, source: change.primaryKey, target: key, isLeftBehind: false))
      }
    }
    if !dangling.isEmpty { throw DanglingReferences(references: dangling) }
  }

  /// Gives new models the identifiers that the store has for them.
  /// - Throws: `CoreDataError` 134030 when the store has none, or that of another model. The store has written by then.
  func name(_ inserts: [RowChange], _ temporary: [PersistentIdentifier?], _ outcome: SaveOutcome) throws {
    func fault(_ entity: EntitySchema, _ reason: String) -> CoreDataError {
      CoreDataError(
        .persistentStoreSave,
        "The store “\(box.name)” has saved a new \(entity.name) and \(reason). DataStoreSaveChangesResult needs an identifier for each new model in remappedIdentifiers, made by PersistentIdentifier.identifier(for:entityName:primaryKey:) with the store's identifier and a key that no other model has."
      )
    }
    var all: Set<PersistentIdentifier> = []
    for (change, temporary) in zip(inserts, temporary) {
      let entity = schema.entities[change.entity]
      let root = root(entity)
      guard let temporary, let given = outcome.remapped[temporary] else {
        throw fault(entity, "says no identifier for it")
      }
      guard all.insert(given).inserted else {
        throw fault(entity, "gives it the identifier \(given), which another new model has")
      }
      guard !given.isTemporary, given.storeIdentifier == box.name, given.entityName == entity.name else {
        throw fault(entity, "gives it the identifier \(given), which is not one of its own for that class")
      }
      if let known = table.knownKey(of: given, root: root), known != change.primaryKey {
        // Somebody has asked for that model before it was there; or there is one.
        guard records[Address(hierarchy: entity.hierarchyNumber, key: known)] == nil else {
          throw fault(entity, "gives it the identifier \(given), which another model has")
        }
        table.release(known, root: root)
      }
      _ = table.key(of: given, entityName: entity.name, root: root) { change.primaryKey }
    }
  }

  /// Remembers what was written.
  func note(_ changes: ChangeSet) {
    for change in changes.inserts + changes.updates {
      let id = objectID(change.entity, change.primaryKey)
      versions.noteSaved(id, change.row.version)
      versions.keep(change.externals, of: id, version: change.row.version)
      let address = address(change.entity, change.primaryKey)
      records[address] = Record(
        entity: change.entity, row: change.row, members: records[address]?.members ?? [:])
    }
    for deletion in changes.deletes {
      let entity = schema.entities[deletion.entity]
      versions.noteGone(objectID(deletion.entity, deletion.primaryKey))
      records[address(deletion.entity, deletion.primaryKey)] = nil
      table.release(deletion.primaryKey, root: root(entity))
    }
  }

  private func address(_ entity: Int, _ key: UInt64) -> Address {
    Address(hierarchy: schema.entities[entity].hierarchyNumber, key: key)
  }

  /// Remembers the members of relationships that the store was given.
  /// - Throws: as `take(_:)`.
  func noteMembers(_ outcome: SaveOutcome) throws {
    for content in outcome.sent {
      let named = named(content, outcome)
      let (entity, key) = try place(named.identifier, "a saved")
      records[address(entity.number, key)]?.members = try members(in: named, entity)
      versions.noteStored(objectID(entity.number, key), digest(try values(of: named, entity)))
    }
  }

  /// The content with the identifiers that there are after the save.
  private func named(_ content: SnapshotContent, _ outcome: SaveOutcome) -> SnapshotContent {
    func name(_ identifier: PersistentIdentifier) -> PersistentIdentifier {
      outcome.remapped[identifier] ?? identifier
    }
    return SnapshotContent(
      identifier: name(content.identifier),
      values: content.values.mapValues { value in
        if let one = value as? PersistentIdentifier { return name(one) }
        if let many = value as? [PersistentIdentifier] { return many.map(name) }
        return value
      })
  }

  /// Models that have other values now than those that were to be saved: as rows that contexts take over.
  /// - Throws: as `take(_:)`.
  func derivedRows(_ outcome: SaveOutcome, _ changes: ChangeSet) throws -> [RowChange] {
    if outcome.reregistered.isEmpty { return [] }
    struct Key: Hashable {
      let entity: Int
      let key: UInt64
    }
    let written = Dictionary(
      (changes.inserts + changes.updates).map { (Key(entity: $0.entity, key: $0.primaryKey), $0) },
      uniquingKeysWith: { $1 })
    return try outcome.reregistered.map { content in
      let content = named(content, outcome)
      let (entity, key) = try place(content.identifier, "a snapshot of")
      let address = address(entity.number, key)
      let change = written[Key(entity: entity.number, key: key)]
      let base = change?.baseVersion ?? records[address]?.row.version ?? 0
      let values = try values(of: content, entity)
      let (row, externals) = try assemble(entity, key, base + 1, values)
      let id = objectID(entity.number, key)
      versions.noteSaved(id, row.version)
      versions.noteStored(id, digest(values))
      versions.keep(externals, of: id, version: row.version)
      records[address] = Record(
        entity: entity.number, row: row, members: try members(in: content, entity))
      var slots = SlotBitmap()
      for attribute in entity.attributes where !attribute.isTransient { slots.insert(attribute.slot) }
      return RowChange(
        entity: entity.number, primaryKey: key, baseVersion: base, row: row, externals: externals,
        changedSlots: slots)
    }
  }
}
