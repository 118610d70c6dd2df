/// A store of the program's own: a file of another format, a server, a dictionary.
///
/// A container makes it of its configuration and asks it for snapshots of models. Two methods must be written, ``fetch(_:)`` and ``save(_:)``; the others have defaults.
/// Calls come one at a time, on the threads of the contexts that ask. What a method throws is thrown by what the program has called.
///
///     final class TripFile: DataStore {
///       typealias Configuration = TripFileConfiguration
///       typealias Snapshot = DefaultSnapshot
///       …
///     }
public protocol DataStore: AnyObject {
  /// What the store is made of.
  associatedtype Configuration: DataStoreConfiguration where Self == Configuration.Store
  /// The values of one model as the store takes and gives them: ``DefaultSnapshot``, or a type of the program's own.
  associatedtype Snapshot: DataStoreSnapshot

  /// What the store is called: the same whenever it is opened, and unlike that of every other store. Part of its models' identifiers.
  var identifier: String { get }
  /// The models that the store keeps.
  var schema: Schema { get }
  /// What the store was made of.
  var configuration: Configuration { get }

  /// Opens the store. The configuration has a schema: the container gives it one where the program did not.
  /// - Throws: why the store cannot be opened; the container throws ``SwiftDataError/loadIssueModelContainer`` with this error in it.
  init(_ configuration: Configuration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws

  /// A context begins to use the store. Does nothing by default.
  func initializeState(for editingState: EditingState)
  /// A context that has used the store is gone. Does nothing by default.
  func invalidateState(for editingState: EditingState)

  /// The snapshots of the models that the request's descriptor asks for, in its order.
  ///
  /// A store that cannot filter or sort throws ``DataStoreError/preferInMemoryFilter`` or ``DataStoreError/preferInMemorySort``, and is asked once more for
  /// all models of the class: predicate and order are then worked out in memory. It may give more models than `fetchLimit` says. `fetchOffset` is not passed on.
  /// - Throws: the two, or what keeps the store from being read, which the fetch of the context throws.
  func fetch<T>(_ request: DataStoreFetchRequest<T>) throws -> DataStoreFetchResult<T, Snapshot>
  where T: PersistentModel
  /// How many models `fetch` would give. The default fetches them.
  /// - Throws: as ``fetch(_:)``.
  func fetchCount<T>(_ request: DataStoreFetchRequest<T>) throws -> Int where T: PersistentModel
  /// The identifiers of the models that `fetch` would give. The default fetches them.
  /// - Throws: as ``fetch(_:)``.
  func fetchIdentifiers<T>(_ request: DataStoreFetchRequest<T>) throws -> [PersistentIdentifier]
  where T: PersistentModel

  /// Writes everything or nothing, and says which identifiers the new models have from now on: one for each, made by
  /// ``PersistentIdentifier/identifier(for:entityName:primaryKey:)``.
  /// - Throws: what keeps the store from being written, which the save of the context throws.
  func save(_ request: DataStoreSaveChangesRequest<Snapshot>) throws -> DataStoreSaveChangesResult<Snapshot>

  /// Snapshots of models that the store has at hand; what is left out is fetched. None by default.
  /// - Throws: what keeps the store from being read.
  func cachedSnapshots(for persistentIdentifiers: [PersistentIdentifier], editingState: EditingState) throws
    -> [PersistentIdentifier: Snapshot]

  /// Deletes everything. The default throws ``DataStoreError/unsupportedFeature``: a container then deletes model by model.
  /// - Throws: what keeps the store from being written.
  func erase() throws
}

extension DataStore {
  public func initializeState(for editingState: EditingState) {}
  public func invalidateState(for editingState: EditingState) {}

  /// Fetches and counts.
  /// - Throws: what ``fetch(_:)`` throws.
  public func fetchCount<T>(_ request: DataStoreFetchRequest<T>) throws -> Int where T: PersistentModel {
    try fetch(request).fetchedSnapshots.count
  }

  /// Fetches, and takes the identifiers.
  /// - Throws: what ``fetch(_:)`` throws.
  public func fetchIdentifiers<T>(_ request: DataStoreFetchRequest<T>) throws -> [PersistentIdentifier]
  where T: PersistentModel {
    try fetch(request).fetchedSnapshots.map(\.persistentIdentifier)
  }

  /// None.
  /// - Throws: nothing here.
  public func cachedSnapshots(for persistentIdentifiers: [PersistentIdentifier], editingState: EditingState)
    throws -> [PersistentIdentifier: Snapshot]
  { [:] }

  /// - Throws: ``DataStoreError/unsupportedFeature``.
  public func erase() throws { throw DataStoreError.unsupportedFeature }
}

/// A store that deletes whatever satisfies a condition by itself.
public protocol DataStoreBatching: DataStore {
  /// Deletes the models that match. Asked only where the delete rules say nothing of other models: with those they are deleted by a save.
  /// - Throws: what keeps the store from being written; nothing is deleted then.
  func delete<T>(_ request: DataStoreBatchDeleteRequest<T>) throws where T: PersistentModel
}

/// What a store is made of: where it is, which models it keeps.
public protocol DataStoreConfiguration: Hashable {
  /// The class of the store.
  associatedtype Store: DataStore where Self == Store.Configuration
  /// The name, unlike that of the container's other configurations.
  var name: String { get }
  /// The models that the store keeps; nil for those that no other configuration of the container names. The container sets it before it makes the store.
  var schema: Schema? { get set }
  /// Whether a store can be made of it. Does nothing by default.
  /// - Throws: what is wrong with it.
  func validate() throws
}

extension DataStoreConfiguration {
  /// - Throws: nothing here.
  public func validate() throws {}
}
