import StrataCore

/// Deletes everything from the stores of a coordinator.
struct StoreErasure {
  private let container: ModelContainer
  init(_ container: ModelContainer) { self.container = container }

  /// - Throws: `CocoaError` for a store that cannot be written, and what a store of the program's own throws; what was deleted before stays deleted.
  func run() throws {
    let core = container.core
    for store in core.ownStores { try OwnDeletions(container).erase(store) }
    let context = RowContext(.confinement)
    context.persistentStoreCoordinator = core.coordinator
    var waiting = core.coordinator.managedObjectModel.entities.filter { $0.superentity == nil }
      .compactMap(\.name).filter { name in !core.ownStores.contains { $0.holds(name) } }
    // Rules that deny hold until what they protect has gone itself.
    while !waiting.isEmpty {
      var refused: [String] = []
      var failure: (any Error)?
      for name in waiting {
        do {
          try context.execute(
            BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: name)))
        } catch {
          refused.append(name)
          failure = error
        }
      }
      if let failure, refused.count == waiting.count { throw FoundationErrors.error(for: failure) }
      waiting = refused
    }
  }
}
