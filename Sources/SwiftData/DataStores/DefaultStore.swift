import StrataCore

/// Strata's store as a ``DataStore``: for programs that ask a store without a context, or build one of their own on it.
///
/// A container that is given a ``ModelConfiguration`` opens the same store and needs none of this. May be used from any thread; calls come one at a time. Two of them, or one and
/// a container, may have the same file open.
public final class DefaultStore: DataStore, DataStoreBatching, HistoryProviding, @unchecked Sendable {
  // @unchecked Sendable: constants; contexts are made and used under the lock.

  public typealias Configuration = ModelConfiguration
  public typealias Snapshot = DefaultSnapshot
  public typealias HistoryType = DefaultHistoryTransaction

  /// The UUID of the store, as text.
  public let identifier: String
  public let schema: Schema
  public let configuration: ModelConfiguration
  private let container: ModelContainer
  private let lock = NSLock()

  /// Opens the store, makes it when it is missing, migrates it.
  /// - Throws: ``SwiftDataError/unknownDataStoreSchema`` for a configuration without a schema, and what ``ModelContainer`` throws.
  public init(_ configuration: ModelConfiguration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws {
    guard let schema = configuration.schema else {
      throw SwiftDataError(
        .unknownDataStoreSchema, "the configuration “\(configuration.name)” says no schema")
    }
    self.configuration = configuration
    self.schema = schema
    container = try ModelContainer(
      for: schema, migrationPlan: migrationPlan, configurations: [configuration])
    guard let store = container.coordinator.persistentStores.first else {
      stop("a container has no store")
    }
    identifier = store.identifier.uuidString
    DataStoreModels.note(schema)
  }

  /// Calls `body` with a context that shows the store as it is now.
  private func reading<R>(_ state: EditingState? = nil, _ body: (ModelContext) throws -> R) rethrows -> R {
    try lock.withLock {
      let context = ModelContext(container)
      context.autosaveEnabled = false
      context.author = state?.author
      return try body(context)
    }
  }

  /// The snapshots of the models that match.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public func fetch<T>(_ request: DataStoreFetchRequest<T>) throws -> DataStoreFetchResult<T, DefaultSnapshot>
  where T: PersistentModel {
    try reading { context in
      let rows = try context.fetch(request.descriptor).compactMap(\.modelRow)
      return DataStoreFetchResult(
        descriptor: request.descriptor, fetchedSnapshots: rows.compactMap(Self.snapshot))
    }
  }

  private static func snapshot(_ row: ModelRow) -> DefaultSnapshot? {
    row.rowIdentifier.map { DefaultSnapshot($0, SnapshotValues.values(of: row)) }
  }

  /// How many models match.
  /// - Throws: as ``ModelContext/fetchCount(_:)``.
  public func fetchCount<T>(_ request: DataStoreFetchRequest<T>) throws -> Int where T: PersistentModel {
    try reading { try $0.fetchCount(request.descriptor) }
  }

  /// The identifiers of the models that match.
  /// - Throws: as ``ModelContext/fetchIdentifiers(_:)``.
  public func fetchIdentifiers<T>(_ request: DataStoreFetchRequest<T>) throws -> [PersistentIdentifier]
  where T: PersistentModel {
    try reading { try $0.fetchIdentifiers(request.descriptor) }
  }

  /// Writes everything or nothing.
  /// - Throws: as ``ModelContext/save()``; `CocoaError` 133000 for a snapshot of a model that is not there; ``SwiftDataError/unknownDataStoreSchema`` for one whose class
  ///   the store does not have.
  public func save(_ request: DataStoreSaveChangesRequest<DefaultSnapshot>) throws
    -> DataStoreSaveChangesResult<DefaultSnapshot>
  {
    try reading(request.editingState) { context in
      let writer = SnapshotWriter(context)
      let remapped = try writer.write(request)
      return DataStoreSaveChangesResult(for: identifier, remappedIdentifiers: remapped)
    }
  }

  /// Deletes everything.
  /// - Throws: as ``ModelContainer/erase()``.
  public func erase() throws { try lock.withLock { try container.erase() } }

  /// Deletes the models that match.
  /// - Throws: as ``ModelContext/delete(model:where:includeSubclasses:)``.
  public func delete<T>(_ request: DataStoreBatchDeleteRequest<T>) throws where T: PersistentModel {
    try reading(request.editingState) {
      try $0.delete(model: T.self, where: request.predicate, includeSubclasses: request.includeSubclasses)
    }
  }

  /// The transactions that match, oldest first.
  /// - Throws: as ``ModelContext/fetchHistory(_:)``.
  public func fetchHistory(_ descriptor: HistoryDescriptor<DefaultHistoryTransaction>) throws
    -> [DefaultHistoryTransaction]
  {
    try reading { try $0.fetchHistory(descriptor) }
  }

  /// Deletes the oldest transactions that match.
  /// - Throws: as ``ModelContext/deleteHistory(_:)``.
  public func deleteHistory(_ descriptor: HistoryDescriptor<DefaultHistoryTransaction>) throws {
    try reading { try $0.deleteHistory(descriptor) }
  }
}

/// Writes snapshots into the rows of a context.
private struct SnapshotWriter {
  private let context: ModelContext
  private var schema: Schema { context.core.schema }

  init(_ context: ModelContext) { self.context = context }

  /// - Throws: what the save throws, and what is wrong with the snapshots; nothing is written then.
  func write(_ request: DataStoreSaveChangesRequest<DefaultSnapshot>) throws -> [PersistentIdentifier:
    PersistentIdentifier]
  {
    var made: [PersistentIdentifier: ModelRow] = [:]
    for snapshot in request.inserted {
      made[snapshot.persistentIdentifier] = try newRow(snapshot.persistentIdentifier.entityName)
    }
    func row(_ identifier: PersistentIdentifier) throws -> ModelRow {
      if let row = made[identifier] ?? context.existingRow(for: identifier) { return row }
      throw CoreDataError(
        .managedObjectReferentialIntegrity, "There is no model \(identifier) in the store."
      ).cocoaError
    }
    for snapshot in request.inserted + request.updated {
      try fill(try row(snapshot.persistentIdentifier), snapshot)
    }
    for snapshot in request.inserted + request.updated {
      try relate(try row(snapshot.persistentIdentifier), snapshot, row)
    }
    for snapshot in request.deleted { context.rows.delete(try row(snapshot.persistentIdentifier)) }
    do { try context.rows.save() } catch { throw FoundationErrors.error(for: error) }
    return made.compactMapValues(\.rowIdentifier)
  }

  private func newRow(_ name: String) throws -> ModelRow {
    guard let type = schema.type(forEntity: name) else {
      throw SwiftDataError(.unknownDataStoreSchema, "the store has no models \(name)")
    }
    func make<Model: PersistentModel>(_ type: Model.Type) -> ModelRow {
      context.rows.insertNew(RowBacking<Model>.self, nil)
    }
    return make(type)
  }

  private func fill(_ row: ModelRow, _ snapshot: DefaultSnapshot) throws {
    for property in row.plan.properties {
      guard case .attribute(let storage) = property.descriptor.kind,
        property.descriptor.attribute?.isTransient != true
      else { continue }
      let value = snapshot.values[property.name]
      if case .transformable(let name) = storage.form, let bytes = value as? Data {
        let value = try AttributeTransformers.transformer(forName: name)?.reverse(bytes)
        row.setValue(value, forKey: property.name)
      } else if let value {
        property.codec.writeAny(value, row, property)
      } else if property.codec.readAny(row, property) != nil {
        // What cannot be decoded is in no snapshot, and stays.
        row.setValue(nil, forKey: property.name)
      }
    }
  }

  private func relate(
    _ row: ModelRow, _ snapshot: DefaultSnapshot, _ other: (PersistentIdentifier) throws -> ModelRow
  ) throws {
    for property in row.plan.properties {
      switch property.descriptor.kind {
      case .attribute: continue
      case .toOne:
        let identifier = snapshot.values[property.name] as? PersistentIdentifier
        row.write(try identifier.map(other), slot: property.slot)
      case .toMany:
        // Without it the members are those that refer to the model.
        guard let identifiers = snapshot.values[property.name] as? [PersistentIdentifier] else { continue }
        row.write(try identifiers.map(other) as [ManagedObject], slot: property.slot)
      }
    }
  }
}
