/// Who asks a store: one for each context.
public struct EditingState: Identifiable, Sendable {
  /// The context.
  public let id: UUID
  /// Its ``ModelContext/author``.
  public var author: String?

  init(id: UUID = UUID(), author: String? = nil) {
    self.id = id
    self.author = author
  }
}

/// What a store is asked for.
public struct DataStoreFetchRequest<T> where T: PersistentModel {
  /// The context that asks.
  public let editingState: EditingState
  /// What it asks for.
  public let descriptor: FetchDescriptor<T>

  /// A request to hand on to another store.
  public init(editingState: EditingState, descriptor: FetchDescriptor<T>) {
    self.editingState = editingState
    self.descriptor = descriptor
  }
}

/// What a store has found.
public struct DataStoreFetchResult<ModelType, SnapshotType>
where ModelType: PersistentModel, SnapshotType: DataStoreSnapshot {
  /// What it was asked for.
  public let descriptor: FetchDescriptor<ModelType>
  /// The models, in order.
  public let fetchedSnapshots: [SnapshotType]
  /// Models that were not asked for and may be looked at next, such as those that relationships lead to: they need not be fetched then.
  public let relatedSnapshots: [PersistentIdentifier: SnapshotType]

  /// What was found.
  public init(
    descriptor: FetchDescriptor<ModelType>, fetchedSnapshots: [SnapshotType],
    relatedSnapshots: [PersistentIdentifier: SnapshotType] = [:]
  ) {
    self.descriptor = descriptor
    self.fetchedSnapshots = fetchedSnapshots
    self.relatedSnapshots = relatedSnapshots
  }
}

/// What a save changes.
public struct DataStoreSaveChangesRequest<SnapshotType> where SnapshotType: DataStoreSnapshot {
  /// The context that saves.
  public let editingState: EditingState
  /// New models, with temporary identifiers.
  public let inserted: [SnapshotType]
  /// Changed models, among them those of which only a relationship has changed.
  public let updated: [SnapshotType]
  /// Deleted models, with their last values.
  public let deleted: [SnapshotType]

  /// A request to hand on to another store.
  public init(
    editingState: EditingState, inserted: [SnapshotType], updated: [SnapshotType], deleted: [SnapshotType]
  ) {
    self.editingState = editingState
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }
}

/// What a store has written.
public final class DataStoreSaveChangesResult<T>: Sendable where T: DataStoreSnapshot {
  /// The store.
  public let storeIdentifier: String
  /// The identifiers that new models have from now on, by their temporary ones.
  public let remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier]
  /// Models that have other values now than those that were to be saved. Contexts take them over.
  public let snapshotsToReregister: [PersistentIdentifier: T]

  /// What was written.
  public init(
    for storeIdentifier: String, remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier] = [:],
    snapshotsToReregister: [PersistentIdentifier: T] = [:]
  ) {
    self.storeIdentifier = storeIdentifier
    self.remappedIdentifiers = remappedIdentifiers
    self.snapshotsToReregister = snapshotsToReregister
  }
}

/// Which models a store deletes.
public struct DataStoreBatchDeleteRequest<T> where T: PersistentModel {
  /// The context that asks.
  public let editingState: EditingState
  /// What a model must satisfy; nil for all of them.
  public let predicate: Predicate<T>?
  /// Whether models of classes that inherit from `T` are meant too.
  public let includeSubclasses: Bool

  /// A request to hand on to another store.
  public init(editingState: EditingState, predicate: Predicate<T>? = nil, includeSubclasses: Bool = true) {
    self.editingState = editingState
    self.predicate = predicate
    self.includeSubclasses = includeSubclasses
  }
}

/// What a store cannot do.
public enum DataStoreError: Error, Hashable {
  /// The store does not do this at all.
  case unsupportedFeature
  /// The store cannot filter: it is to be asked for all models, and the predicate to be worked out in memory.
  case preferInMemoryFilter
  /// The store cannot sort: the models are to be sorted in memory.
  case preferInMemorySort
  /// The predicate makes no sense to the store.
  case invalidPredicate
}
