import Foundation
import StrataCore

/// What Strata has below a store of the program's own: an engine whose answers are those of the store's class.
///
/// Calls the class one call at a time, on the queue of the context that asks; the class may ask the context again meanwhile. Keeps no values: it knows what records
/// are called (`ReferenceTable`), and which version of each it has handed out last.
final class ProgramEngine: ContextualStore, @unchecked Sendable {
  // @unchecked Sendable: what changes is behind `lock`, or a Mutex.

  let program: NSPersistentStore
  let source: any ProgramSource
  let schema: Schema
  let identifier: UUID
  let storeType: String
  let configurationName: String?
  let table: ReferenceTable
  /// Held while the class is called. Recursive: what it calls may come back here.
  let lock = NSRecursiveLock()
  private var versions = RecordVersions()
  private var commits: UInt64 = 0
  private let closed = Mutex(false)

  init(
    _ program: NSPersistentStore, type: String, schema: Schema, identifier: UUID, configurationName: String?
  ) {
    self.program = program
    switch program {
    case let atomic as NSAtomicStore: source = AtomicSource(atomic)
    case let incremental as NSIncrementalStore: source = IncrementalSource(incremental)
    default: stop("\(Swift.type(of: program)) is no subclass of NSIncrementalStore or NSAtomicStore.")
    }
    self.schema = schema
    self.identifier = identifier
    self.configurationName = configurationName
    storeType = type
    table = ReferenceTable.of(identifier, schema)
  }

  /// Nil for a store that was added without: no URL leads to it.
  var url: URL? { program.url.flatMap { $0 == ProgramStoreKind.nowhere ? nil : $0 } }
  var isReadOnly: Bool { program.isReadOnly }
  var contextualStore: (any ContextualStore)? { self }

  var metadata: StoreMetadata {
    let values = program.metadata ?? [:]
    return StoreMetadata(values) ?? StoreMetadata(values.filter { MetadataValue($0.value) != nil })
      ?? StoreMetadata()
  }

  func close() {
    closed.withLock { $0 = true }
    program.detach()
  }

  func requireOpen() throws {
    if closed.withLock({ $0 }) {
      throw CoreDataError(.persistentStoreOperation, "The store of type \(storeType) has been closed.")
    }
  }

  // MARK: Keys and IDs

  func makePrimaryKey(hierarchy: Int) throws -> UInt64 {
    table.makeKey(root: schema.hierarchies[hierarchy].rootName)
  }

  func rowStamp(entity: Int) -> RowStamp {
    // A model has at most 10,000 entities.
    RowStamp(layoutNumber: 0, entityCode: UInt16(entity + 1))
  }

  func root(_ entity: EntitySchema) -> String { schema.hierarchies[entity.hierarchyNumber].rootName }

  /// The ID of the record that the store calls `reference`. Traps for an entity of another model.
  func identifier(
    of reference: Any, _ entity: NSEntityDescription, _ claims: NSIncrementalStore.Claims? = nil
  ) -> NSManagedObjectID {
    guard let known = schema.entity(named: entity.name ?? "") else {
      stop("the store's model has no entity “\(entity.name ?? "")”.")
    }
    let key = table.key(of: reference, entityName: known.name, root: root(known)) {
      claims?.take(known.name)
    }
    return schema.identifier(entity: known.number, primaryKey: key, storeIdentifier: identifier)
  }

  /// What the store calls the record with that ID. Traps when it has no name.
  func reference(of id: NSManagedObjectID) -> Any {
    guard id.storeIdentifier == identifier, let entity = schema.entity(named: id.entityName) else {
      stop("\(id) is no ID of the store \(identifier).")
    }
    guard let entry = table.entry(id.recordKey, root: root(entity)) else {
      stop("\(id) has no reference object yet: it is of a new object, whose ID is temporary.")
    }
    return entry.reference
  }

  /// The ID of a key of a hierarchy; nil when the store has no name for it.
  func identifier(_ key: UInt64, hierarchy: Int) -> NSManagedObjectID? {
    guard let entry = table.entry(key, root: schema.hierarchies[hierarchy].rootName),
      let entity = schema.entity(named: entry.entityName)
    else { return nil }
    return schema.identifier(entity: entity.number, primaryKey: key, storeIdentifier: identifier)
  }

  /// The reference to a record, as rows and members have it.
  /// - Throws: `CoreDataError` 133010 for an ID of another store.
  func bits(_ id: NSManagedObjectID) throws -> UInt64 {
    guard id.storeIdentifier == identifier, let entity = schema.entity(named: id.entityName) else {
      throw CoreDataError(
        .managedObjectExternalRelationship,
        "The store of type \(storeType) relates a record to \(id), which is of another store.")
    }
    return StoreReference.bits(id.recordKey, entityCode: rowStamp(entity: entity.number).entityCode)
  }

  // MARK: Versions

  /// The version that Strata has for a record of which the store says its own. Inside the lock.
  func version(_ id: NSManagedObjectID, stored: UInt64) -> UInt32 { versions.version(id, stored: stored) }

  /// Whether nobody has been given a newer version of the record since the object read it. Inside the lock.
  func isNewest(_ object: NSManagedObject) -> Bool {
    object.rowVersion.map { !versions.isNewer(object.objectID, than: $0) } ?? true
  }

  /// The record is not there any more. Inside the lock.
  func noteGone(_ id: NSManagedObjectID) { versions.noteGone(id) }

  /// Remembers values that are too large for the row that Strata makes. Inside the lock.
  func keep(_ externals: [ExternalValue], of id: NSManagedObjectID, version: UInt32) {
    versions.keep(externals, of: id, version: version)
  }

  /// One of them; `reread` makes the newest row again where it is not kept any more.
  func externalValue(_ id: NSManagedObjectID, _ slot: Int, _ version: UInt32, reread: () throws -> Void)
    throws
    -> Data?
  {
    try lock.withLock {
      if let kept = versions.external(id, slot, version) { return kept }
      try reread()
      return versions.newestExternal(id, slot)
    }
  }

  // MARK: Writing

  func reading(for context: AnyObject) -> any StoreReading {
    guard let context = context as? NSManagedObjectContext else {
      stop("a store of type \(storeType) was asked by \(type(of: context)), which is no context.")
    }
    return ProgramReading(self, context)
  }

  func settleIdentifiers(_ keys: [(entity: Int, primaryKey: UInt64)], for context: AnyObject) throws {
    guard let context = context as? NSManagedObjectContext else { return }
    try lock.withLock {
      try requireOpen()
      let unnamed = keys.filter { key in
        table.entry(key.primaryKey, root: root(schema.entities[key.entity])) == nil
      }
      if unnamed.isEmpty { return }
      let ids = unnamed.map {
        schema.identifier(entity: $0.entity, primaryKey: $0.primaryKey, storeIdentifier: identifier)
      }
      let claims = NSIncrementalStore.Claims()
      for id in ids { claims.keys[id.entityName, default: []].append(id.recordKey) }
      let given = try NSIncrementalStore.$claims.withValue(claims) {
        try source.identifiers(for: ids.map { context.object(with: $0) })
      }
      guard given == ids else { throw misfit(given, ids) }
    }
  }

  private func misfit(_ given: [NSManagedObjectID], _ wanted: [NSManagedObjectID]) -> CoreDataError {
    if given.count != wanted.count {
      return CoreDataError(
        .persistentStoreSave,
        "The store of type \(storeType) was asked for \(wanted.count) permanent IDs and gave \(given.count).")
    }
    let place = zip(given, wanted).enumerated().first { $1.0 != $1.1 }?.offset ?? 0
    return CoreDataError(
      .persistentStoreSave,
      "The store of type \(storeType) gave a new \(wanted[place].entityName), number \(place + 1) of \(wanted.count), the ID \(given[place]), "
        + "which is that of another object. A permanent ID is made with newObjectID(for:referenceObject:), in the order of the objects, and with a "
        + "reference that no other record has.")
  }

  func commit(_ changes: ChangeSet, for context: AnyObject?, committed: (CommitResult) -> Void) throws
    -> CommitResult
  {
    guard let context = context as? NSManagedObjectContext else {
      throw CoreDataError(
        .persistentStoreSave, "Stores of type \(storeType) are written by the context that saves only.")
    }
    return try lock.withLock {
      try requireOpen()
      let save = ProgramSave(changes, self, context)
      try requireVersions(changes, context)
      try requireTargets(changes)
      try settleIdentifiers(changes.inserts.map { ($0.entity, $0.primaryKey) }, for: context)
      let metadata = program.metadata
      if let new = changes.metadata { program.metadata = merged(new) }
      do {
        // Of what was saved as it was, perhaps nothing is left.
        if !save.isEmpty || changes.metadata != nil { try source.save(save) }
      } catch {
        if changes.metadata != nil { program.metadata = metadata }
        throw try conflict(in: error, context) ?? error
      }
      note(changes)
      for object in save.resaved { versions.noteSavedAgain(object.objectID) }
      commits += 1
      let result = CommitResult(commitNumber: commits)
      committed(result)
      return result
    }
  }

  /// The user's metadata; the standard keys stay what they are.
  private func merged(_ new: StoreMetadata) -> [String: Any] {
    let standard = [NSStoreTypeKey, NSStoreUUIDKey, NSStoreModelVersionHashesKey]
    var result = appleSpelled(new.dictionary)
    for key in standard { result[key] = program.metadata?[key] }
    return result
  }

  private func id(_ entity: Int, _ key: UInt64) -> NSManagedObjectID {
    schema.identifier(entity: entity, primaryKey: key, storeIdentifier: identifier)
  }

  /// That nobody has handed out a newer version of what is written since (rules 189–192).
  private func requireVersions(_ changes: ChangeSet, _ context: NSManagedObjectContext) throws {
    var conflicts: [RowConflict] = []
    let reading = ProgramReading(self, context)
    func check(_ hierarchy: Int, _ key: UInt64, _ version: UInt32) throws {
      guard let id = identifier(key, hierarchy: hierarchy), versions.isNewer(id, than: version) else {
        return
      }
      conflicts.append(
        RowConflict(
          hierarchy: hierarchy, primaryKey: key,
          stored: try reading.row(hierarchy: hierarchy, primaryKey: key)))
    }
    for change in changes.updates {
      try check(schema.entities[change.entity].hierarchyNumber, change.primaryKey, change.baseVersion)
    }
    for deletion in changes.deletes where deletion.baseVersion != RowDeletion.anyVersion {
      try check(schema.entities[deletion.entity].hierarchyNumber, deletion.primaryKey, deletion.baseVersion)
    }
    for row in changes.checks { try check(row.hierarchy, row.primaryKey, row.baseVersion) }
    if conflicts.isEmpty { return }
    throw CommitConflict(conflicts: conflicts, newestVersion: versions.newest)
  }

  private struct RecordPlace: Hashable {
    let hierarchy: Int
    let key: UInt64
  }

  /// That what is written refers to records that the store has a name for, or gives one now: its class is asked for no other.
  /// - Throws: `CoreDataError` 133000 for a reference to a new object that has gone and was never saved.
  private func requireTargets(_ changes: ChangeSet) throws {
    let new = Set(
      changes.inserts.map {
        RecordPlace(hierarchy: schema.entities[$0.entity].hierarchyNumber, key: $0.primaryKey)
      })
    func check(_ bits: UInt64, _ relationship: RelationshipSchema) throws {
      if bits == 0 { return }
      let key = StoreReference.primaryKey(bits)
      let hierarchy = relationship.destinationHierarchy
      if new.contains(RecordPlace(hierarchy: hierarchy, key: key)) { return }
      if table.entry(key, root: schema.hierarchies[hierarchy].rootName) != nil { return }
      throw CoreDataError(
        .managedObjectReferentialIntegrity,
        "A save to the store of type \(storeType) relates an object by \(relationship.qualifiedName) to a new one that has gone: it was never saved."
      )
    }
    for change in changes.inserts + changes.updates {
      let entity = schema.entities[change.entity]
      for relationship in entity.relationships where !relationship.isToMany && !relationship.isTransient {
        try check(change.row.reference(relationship.slot, of: entity), relationship)
      }
    }
    for edge in changes.edges where edge.kind != .remove {
      try check(edge.member, schema.relationships[edge.relationship])
    }
  }

  /// The conflicts that the class has found, as the context's merge policy is asked about them; nil for any other error.
  private func conflict(in error: any Error, _ context: NSManagedObjectContext) throws -> CommitConflict? {
    let info = (error as NSError).userInfo
    guard
      let found = (info[NSPersistentStoreSaveConflictsErrorKey] ?? info["conflictList"])
        as? [NSMergeConflict],
      !found.isEmpty
    else { return nil }
    let reading = ProgramReading(self, context)
    let conflicts = try found.map { conflict in
      let id = conflict.sourceObject.objectID
      guard let entity = schema.entity(named: id.entityName), id.storeIdentifier == identifier else {
        throw CoreDataError(
          .persistentStoreSave,
          "The store of type \(storeType) reports a conflict of \(id), which is not its own.")
      }
      return RowConflict(
        hierarchy: entity.hierarchyNumber, primaryKey: id.recordKey,
        stored: try reading.row(hierarchy: entity.hierarchyNumber, primaryKey: id.recordKey))
    }
    return CommitConflict(conflicts: conflicts, newestVersion: versions.newest)
  }

  private func note(_ changes: ChangeSet) {
    for change in changes.inserts + changes.updates {
      let id = id(change.entity, change.primaryKey)
      versions.noteSaved(id, change.row.version)
      versions.keep(change.externals, of: id, version: change.row.version)
    }
    for deletion in changes.deletes {
      let entity = schema.entities[deletion.entity]
      versions.noteGone(id(deletion.entity, deletion.primaryKey))
      table.release(deletion.primaryKey, root: root(entity))
    }
  }

  /// Saves of a context come with it: see `commit(_:for:committed:)`.
  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    completion(
      changeSets.map { _ in
        .failure(
          CoreDataError(
            .persistentStoreSave, "Stores of type \(storeType) are written by the context that saves only."))
      })
  }
}
