import StrataCore

/// Deletes many models of stores of the program's own, in a context that nobody sees: siblings learn of it as they do of any save.
struct OwnDeletions {
  private let context: ModelContext

  init(_ container: ModelContainer, author: String? = nil) {
    context = ModelContext(container)
    context.autosaveEnabled = false
    context.author = author
  }

  /// Deletes the models that match, with their delete rules.
  /// - Throws: what the store throws; ``SwiftDataError/unsupportedPredicate``.
  func delete<T: PersistentModel>(_ model: T.Type, _ predicate: Predicate<T>?, includeSubclasses: Bool) throws
  {
    let found = try context.fetch(FetchDescriptor<T>(predicate: predicate)).filter {
      includeSubclasses || Swift.type(of: $0) == model
    }
    if found.isEmpty { return }
    let matched = Set(found.compactMap { $0.modelRow?.objectID })
    context.rows.deletion = .batch(
      Batch<T>(predicate: predicate, includeSubclasses: includeSubclasses), matched: matched)
    try delete(found)
  }

  /// Deletes everything that a store has.
  /// - Throws: what the store throws.
  func erase(_ store: DataStoreEngine) throws {
    var found: [any PersistentModel] = []
    func add<T: PersistentModel>(_ type: T.Type) throws {
      found += try context.fetch(FetchDescriptor<T>()) as [any PersistentModel]
    }
    for entity in store.models.entities where entity.superentityName == nil && store.holds(entity.name) {
      if let type = entity.modelType { try add(type) }
    }
    if found.isEmpty {
      // There may be something in it that is no model of this container.
      do { try store.calling { try store.box.erase() } } catch DataStoreError.unsupportedFeature {}
      return
    }
    context.rows.deletion = .everything
    try delete(found)
  }

  private func delete(_ models: [any PersistentModel]) throws {
    for model in models { context.delete(model) }
    context.rows.processPendingChanges()
    do { try context.rows.save() } catch { throw FoundationErrors.error(for: error) }
  }

  private struct Batch<T: PersistentModel>: BatchDeletion {
    let predicate: Predicate<T>?
    let includeSubclasses: Bool

    func run(_ store: any DataStoreBatching, _ state: EditingState) throws {
      try store.delete(
        DataStoreBatchDeleteRequest<T>(
          editingState: state, predicate: predicate, includeSubclasses: includeSubclasses))
    }
  }
}
