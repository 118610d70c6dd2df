import Foundation

// Indexes that come and go while stores are in use.

extension PersistentStoreCoordinator {
  /// Builds an index in `store` while contexts of this process and of others read and save, and keeps it from then on.
  ///
  /// Fetches use it as soon as it is complete, also those of contexts that are open. It stays in the store, whatever model the store is
  /// opened with, until ``removeIndex(named:ofEntityNamed:in:)``; the model need not know of it. Adding the same index again does
  /// nothing, or goes on with what was interrupted.
  ///
  /// One pass over the rows of the entity's hierarchy, in transactions of some ten thousand rows, between which saves take place.
  /// Takes memory for the keys of one such step, 8 MB at most, and LMDB's dirty pages of one transaction. A save that comes meanwhile
  /// waits for one step and puts one entry more for each row. When the process ends before the index is complete, the next program that opens the store
  /// for writing completes it while opening.
  ///
  /// All this is so on LMDB. On PostgreSQL the server builds it, beside everything else; the page “Engines” of the documentation says how.
  ///
  /// - Parameters:
  ///   - index: The attributes, their order and the rows that it holds, as in a model; it is not kept.
  ///   - name: The entity, whose subentities are covered too.
  ///   - store: A store of this coordinator.
  ///   - progress: Called after each step, on no thread in particular.
  /// - Throws: `ModelError` for names that the model does not have, attributes that cannot be indexed and spatial indexes; `CoreDataError` 134070 when the
  ///   store is not attached here or of another engine, when another index has the name, when the store's engine cannot keep the index, or when it was removed meanwhile, 134030 when it is
  ///   read-only, 134100 when it was migrated meanwhile; `StorageError` of the file or the server; `CancellationError` when the task was cancelled. Then there is no such index, unless it had been
  ///   added before.
  public func addIndex(
    _ index: sending FetchIndexDescription, toEntityNamed name: String, in store: any PersistentStore,
    progress: (@Sendable (IndexProgress) -> Void)? = nil
  ) async throws {
    let target = try requireAttached(store)
    guard let entity = managedObjectModel.entitiesByName[name] else {
      throw ModelError("The model has no entity called “\(name)”, which the index \(index.name) is for.")
    }
    let sentences = ModelValidation.sentences(of: index, for: entity, in: managedObjectModel)
    guard sentences.isEmpty else { throw ModelError(sentences) }
    guard !index.isSpatial else {
      throw ModelError(
        "Index \(name).\(index.name) is spatial. Only models declare such indexes; add one for each of its properties."
      )
    }
    let added = AddedIndex(
      entity: name, name: index.name,
      elements: index.elements.map {
        AddedIndex.Element(property: $0.propertyName, isAscending: $0.isAscending)
      },
      condition: index.condition)
    try await target.addIndex(added, report: progress)
  }

  /// Removes an index that was added to `store`. Fetches find their rows without it from then on.
  ///
  /// An index that the model declares as well stays for the model's sake.
  /// - Throws: `CoreDataError` 134070 when the store is not attached here, when it has no such index, or when only the model declares it,
  ///   134030 when it is read-only, 134100 when it was migrated meanwhile; `StorageError` of the file or the server; `CancellationError` on PostgreSQL: it goes then all the same.
  public func removeIndex(
    named index: String, ofEntityNamed name: String, in store: any PersistentStore
  ) async throws {
    try await requireAttached(store).removeIndex(named: StoredName.ofIndex("\(name).\(index)"))
  }

  /// The indexes that `store` has, also those being built, by entity and name. One look at each; no row is read.
  /// - Throws: `CoreDataError` 134070 when the store is not attached here; `StorageError` of the file.
  public func indexes(in store: any PersistentStore) throws -> [StoredIndex] {
    try requireAttached(store).indexes()
  }

  private func requireAttached(_ store: any PersistentStore) throws -> any IndexingStore {
    let engine = try attachedEngine(store)
    guard let store = engine.indexingStore else {
      throw CoreDataError(
        .persistentStoreOperation,
        "Stores of type \(engine.storeType) keep no indexes that can be added or removed.")
    }
    return store
  }
}
