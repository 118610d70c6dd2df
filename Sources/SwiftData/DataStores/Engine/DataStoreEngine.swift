import StrataCore

/// What Strata has below a store of the program's own: an engine whose answers are the store's snapshots.
///
///     context ── rows ──▶ DataStoreEngine ── descriptors, snapshots ──▶ the program's DataStore
///
/// Keys stay numbers: a `ReferenceTable` leads from the store's identifiers to keys and back. The engine keeps the newest row of each model that it was given, and no second
/// copy of values: contexts that have read a row share it. Calls to the store come one at a time.
final class DataStoreEngine: ContextualStore, @unchecked Sendable {
  // @unchecked Sendable: what changes is behind `lock`; `isClosed` is atomic.

  let box: AnyStoreBox
  let schema: StrataCore.Schema
  /// The container's models.
  let models: Schema
  let identifier: UUID
  let configurationName: String?
  let table: ReferenceTable
  /// Held while the store is called. Recursive: what it calls may come back here.
  let lock = NSRecursiveLock()
  private let isClosed = Mutex(false)

  // Behind the lock.
  var records: [Address: Record] = [:]
  var versions = RecordVersions()
  private var plans: [Int: SnapshotPlan] = [:]
  private var commits: UInt64 = 0
  private var editing: Set<UUID> = []

  struct Address: Hashable {
    let hierarchy: Int
    let key: UInt64
  }

  /// The newest that is known of a model.
  struct Record {
    let entity: Int
    var row: RowSnapshot
    /// References to the members of to-many relationships, by number; of one that is not there the other end tells.
    var members: [Int: [UInt64]]
  }

  init(_ box: AnyStoreBox, _ schema: StrataCore.Schema, _ models: Schema, configurationName: String?) {
    self.box = box
    self.schema = schema
    self.models = models
    self.configurationName = configurationName
    // Not the UUID that the name may be: a store of Strata's that the program's store asks in its turn may be called so.
    identifier = ReferenceTable.storeUUID(of: "DataStore \(box.name)")
    table = ReferenceTable.of(identifier, schema)
    ForeignStores.note(identifier, table)
  }

  var url: URL? { nil }
  var isReadOnly: Bool { false }
  var storeType: String { box.typeName }
  var contextualStore: (any ContextualStore)? { self }

  var metadata: StoreMetadata {
    StoreMetadata().withStandardKeys(
      identifier: identifier, type: storeType, versionHashes: schema.model.entityVersionHashesByName,
      versionIdentifiers: [])
  }

  func close() { isClosed.withLock { $0 = true } }

  /// Whether the store keeps models of the entity.
  func holds(_ entityName: String) -> Bool {
    guard let configurationName else { return true }
    let entities = schema.model.entities(forConfigurationName: configurationName)
    return entities?.contains { $0.name == entityName } ?? false
  }

  /// Calls the store, when no other thread does.
  func calling<R>(_ body: () throws -> R) throws -> R {
    try lock.withLock {
      if isClosed.withLock({ $0 }) {
        throw CoreDataError(.persistentStoreOperation, "The store “\(box.name)” has been closed.")
      }
      return try DataStoreModels.calling(models, body)
    }
  }

  // MARK: Who asks

  /// The context as the store knows it. Inside the lock.
  func state(_ context: ManagedObjectContext?) -> EditingState {
    // Children ask for their parent, and rows may be read by contexts that no program sees.
    let rows = context as? RowContext
    let state = EditingState(id: rows?.editingState.id ?? identifier, author: context?.transactionAuthor)
    if editing.insert(state.id).inserted { box.begin(state) }
    return state
  }

  /// A context is gone.
  func end(_ state: EditingState) {
    lock.withLock { if editing.remove(state.id) != nil { box.end(state) } }
  }

  // MARK: Keys

  func makePrimaryKey(hierarchy: Int) throws -> UInt64 {
    table.makeKey(root: schema.hierarchies[hierarchy].rootName)
  }

  func rowStamp(entity: Int) -> RowStamp {
    // A model has at most 10,000 entities.
    RowStamp(layoutNumber: 0, entityCode: UInt16(entity + 1))
  }

  func root(_ entity: EntitySchema) -> String { schema.hierarchies[entity.hierarchyNumber].rootName }

  func bits(_ key: UInt64, _ entity: EntitySchema) -> UInt64 {
    StoreReference.bits(key, entityCode: rowStamp(entity: entity.number).entityCode)
  }

  func objectID(_ entity: Int, _ key: UInt64) -> ManagedObjectID {
    schema.identifier(entity: entity, primaryKey: key, storeIdentifier: identifier)
  }

  /// The row of a model of this store, whether there is one or not; nil for a model of another store.
  func objectID(of identifier: PersistentIdentifier) -> ManagedObjectID? {
    guard identifier.storeIdentifier == box.name, let entity = schema.entity(named: identifier.entityName)
    else { return nil }
    return objectID(
      entity.number, table.key(of: identifier, entityName: entity.name, root: root(entity)))
  }

  /// How the store calls the model with that key; nil for one that it has not named.
  private func identifier(_ address: Address) -> PersistentIdentifier? {
    table.entry(address.key, root: schema.hierarchies[address.hierarchy].rootName)?.reference
      as? PersistentIdentifier
  }

  /// The entity and key of a model that the store speaks of.
  /// - Throws: `CoreDataError` 134070 for a temporary identifier, and for one of another store.
  func place(_ identifier: PersistentIdentifier, _ use: @autoclosure () -> String) throws -> (
    entity: EntitySchema, key: UInt64
  ) {
    func fault(_ reason: String) -> CoreDataError {
      CoreDataError(
        .persistentStoreOperation, "The store “\(box.name)” gives \(use()) \(identifier), \(reason).")
    }
    if identifier.isTemporary {
      throw fault(
        "which is temporary: make an identifier with PersistentIdentifier.identifier(for:entityName:primaryKey:), and give snapshots that are saved the new ones with copy(persistentIdentifier:remappedIdentifiers:)"
      )
    }
    guard identifier.storeIdentifier == box.name else { throw fault("which is of another store") }
    guard let entity = schema.entity(named: identifier.entityName) else {
      throw fault("whose class is not among the container's models")
    }
    return (entity, table.key(of: identifier, entityName: entity.name, root: root(entity)))
  }

  // MARK: Rows of snapshots

  private func plan(_ entity: EntitySchema) throws -> SnapshotPlan {
    if let known = plans[entity.number] { return known }
    guard let type = models.type(forEntity: entity.name) else {
      throw CoreDataError(.persistentStoreOperation, "The container has no class for \(entity.name).")
    }
    let made = SnapshotPlan(entity, ModelDescriptor.of(type))
    plans[entity.number] = made
    return made
  }

  /// What tells the values of a record from others.
  func digest(_ values: [AttributeValue]) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(values)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  /// Takes what the store says of a model. Inside the lock.
  /// - Throws: `CoreDataError` for an identifier or a value that cannot be.
  func take(_ content: SnapshotContent) throws -> FetchedRow {
    let (entity, key) = try place(content.identifier, "a snapshot of")
    let values = try self.values(of: content, entity)
    let id = objectID(entity.number, key)
    let version = versions.version(id, stored: digest(values))
    let (row, externals) = try assemble(entity, key, version, values)
    versions.keep(externals, of: id, version: version)
    records[Address(hierarchy: entity.hierarchyNumber, key: key)] = Record(
      entity: entity.number, row: row, members: try members(in: content, entity))
    return FetchedRow(primaryKey: key, entity: entity.number, snapshot: row)
  }

  func values(of content: SnapshotContent, _ entity: EntitySchema) throws -> [AttributeValue] {
    try plan(entity).values(of: content) { name, identifier in
      let (other, key) = try place(identifier, "\(entity.name).\(name) of \(content.identifier) as")
      return bits(key, other)
    }
  }

  func members(in content: SnapshotContent, _ entity: EntitySchema) throws -> [Int: [UInt64]] {
    var members: [Int: [UInt64]] = [:]
    for relationship in entity.relationships where relationship.isToMany && !relationship.isTransient {
      guard let list = content.values[relationship.name] as? [PersistentIdentifier] else { continue }
      members[relationship.number] = try list.map {
        let (other, key) = try place($0, "a member of \(entity.name).\(relationship.name)")
        return bits(key, other)
      }
    }
    return members
  }

  func assemble(_ entity: EntitySchema, _ key: UInt64, _ version: UInt32, _ values: [AttributeValue])
    throws -> (row: RowSnapshot, externals: [ExternalValue])
  {
    var assembler = RowAssembler()
    return try assembler.row(
      of: entity, stamp: rowStamp(entity: entity.number), primaryKey: key, version: version
    ) { values[$0] }
  }

  /// The store has given all models of a class: what else was known of them has gone. Inside the lock.
  private func forgetOthers<T: PersistentModel>(_ type: T.Type, than rows: [FetchedRow]) {
    guard let entity = schema.entity(named: ModelDescriptor.of(type).entityName) else { return }
    let (members, keys) = (Set(entity.subtree), Set(rows.map(\.primaryKey)))
    let gone = records.filter { address, record in
      members.contains(record.entity) && !keys.contains(address.key)
    }
    for (address, record) in gone {
      records[address] = nil
      versions.noteGone(objectID(record.entity, address.key))
    }
  }

  // MARK: Looking up

  /// Reads the models with these keys that are not known yet: of what the store has at hand, then all others at once. Inside the lock.
  /// - Throws: what the store throws.
  func load(_ addresses: [Address], _ context: ManagedObjectContext?) throws {
    var missing = addresses.filter { records[$0] == nil }
    if missing.isEmpty { return }
    let state = state(context)
    let named = missing.compactMap { identifier($0) }
    if named.isEmpty { return }
    for content in try box.cached(named, state) { _ = try take(content) }
    missing = missing.filter { records[$0] == nil }
    let wanted = missing.compactMap { identifier($0) }
    for (name, identifiers) in Dictionary(grouping: wanted, by: \.entityName) {
      guard let type = models.type(forEntity: name) else { continue }
      func find<T: PersistentModel>(_ type: T.Type) throws {
        let predicate =
          identifiers.count == 1
          ? one(identifiers[0], of: type)
          : #Predicate<T> { identifiers.contains($0.persistentModelID) }
        _ = try ask(FetchDescriptor<T>(predicate: predicate), state)
      }
      try find(type)
    }
  }

  private func one<T: PersistentModel>(_ identifier: PersistentIdentifier, of type: T.Type) -> Predicate<T> {
    #Predicate<T> { $0.persistentModelID == identifier }
  }

  /// What a store says to one descriptor. Inside the lock.
  struct Answer {
    var rows: [FetchedRow]
    /// Whether the store has seen to the predicate and the order.
    var isWhole: Bool
  }

  /// Asks for models; without condition and order where the store leaves those to us.
  /// - Throws: what the store throws.
  func ask<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState) throws -> Answer {
    func rows(_ descriptor: FetchDescriptor<T>) throws -> [FetchedRow] {
      let (found, related) = try box.fetch(descriptor, state)
      for content in related { _ = try take(content) }
      let rows = try found.map(take)
      if descriptor.predicate == nil, descriptor.fetchLimit == nil { forgetOthers(T.self, than: rows) }
      return rows
    }
    do {
      return Answer(rows: try rows(descriptor), isWhole: true)
    } catch DataStoreError.preferInMemorySort where !descriptor.sortBy.isEmpty {
      var plain = descriptor
      plain.sortBy = []
      plain.fetchLimit = nil
      do {
        return Answer(rows: try rows(plain), isWhole: false)
      } catch DataStoreError.preferInMemoryFilter where descriptor.predicate != nil {
        return Answer(rows: try rows(FetchDescriptor<T>()), isWhole: false)
      }
    } catch DataStoreError.preferInMemoryFilter where descriptor.predicate != nil {
      return Answer(rows: try rows(FetchDescriptor<T>()), isWhole: false)
    }
  }

  func externalValue(_ id: ManagedObjectID, _ slot: Int, _ version: UInt32) -> Data? {
    lock.withLock { versions.external(id, slot, version) ?? versions.newestExternal(id, slot) }
  }

  // MARK: Writing

  func reading(for context: AnyObject) -> any StoreReading {
    DataStoreReading(self, context as? ManagedObjectContext)
  }

  /// The store names new models when it saves them.
  /// - Throws: nothing.
  func settleIdentifiers(_ keys: [(entity: Int, primaryKey: UInt64)], for context: AnyObject) throws {}

  func commit(_ changes: ChangeSet, for context: AnyObject?, committed: (CommitResult) -> Void) throws
    -> CommitResult
  {
    guard let context = context as? ManagedObjectContext else { throw foreignWriter }
    return try calling {
      let rows = savedRows(changes, context)
      try requireVersions(changes, rows, context)
      try requireTargets(changes)
      let temporary = rows.inserted.map(\.rowIdentifier)
      let outcome = try write(rows, changes, context)
      try name(changes.inserts, temporary, outcome)
      note(changes)
      try noteMembers(outcome)
      commits += 1
      let result = CommitResult(
        commitNumber: commits, derivedRows: try derivedRows(outcome, changes))
      committed(result)
      return result
    }
  }

  /// Has the store write, in the way that the context has asked for.
  private func write(_ rows: SavedRows, _ changes: ChangeSet, _ context: ManagedObjectContext) throws
    -> SaveOutcome
  {
    let state = state(context)
    switch (context as? RowContext)?.deletion {
    case .everything?:
      do {
        try box.erase()
        return SaveOutcome()
      } catch DataStoreError.unsupportedFeature {
        // Then model by model.
      }
    case .batch(let batch, let matched)?:
      // Together with what follows for other models it is one save: all of it is written then, or nothing.
      if let store = box.store as? any DataStoreBatching, rows.inserted.isEmpty, rows.updated.isEmpty,
        rows.deleted.allSatisfy({ matched.contains($0.objectID) })
      {
        try batch.run(store, state)
        return SaveOutcome()
      }
    case nil: break
    }
    return rows.isEmpty ? SaveOutcome() : try box.save(rows, state)
  }

  private var foreignWriter: CoreDataError {
    CoreDataError(
      .persistentStoreSave, "The store “\(box.name)” is written by the context that saves only.")
  }

  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    completion(changeSets.map { _ in .failure(foreignWriter) })
  }

  func execute(
    _ batch: StoreBatch, deadline: Duration?,
    completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void
  ) {
    completion(
      .failure(
        CoreDataError(
          .persistentStoreUnsupportedRequestType,
          "The store “\(box.name)” carries out no batch requests of Strata's: use delete(model:where:) of a ModelContext."
        )))
  }
}
