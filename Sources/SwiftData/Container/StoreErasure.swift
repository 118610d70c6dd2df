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
      if let failure, refused.count == waiting.count {
        guard Self.isOfRules(failure) else { throw FoundationErrors.error(for: failure) }
        return try deleteTogether(waiting)
      }
      waiting = refused
    }
  }

  /// Whether it is a delete rule, or a relationship that must lead somewhere, that keeps models.
  private static func isOfRules(_ error: any Error) -> Bool {
    let code = (error as? CoreDataError)?.code
    return code == .validationRelationshipDeniedDelete || code == .validationMissingMandatoryProperty
  }

  /// Models that protect each other go together: the rules of a save see that none of them stays.
  private func deleteTogether(_ names: [String]) throws {
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let rows = context.rows
    do {
      for name in names {
        for row in try rows.fetch(FetchRequest<ManagedObject>(entityName: name)) where !row.isDeleted {
          rows.delete(row)
        }
      }
      rows.processPendingChanges()
      try rows.save()
    } catch {
      throw FoundationErrors.error(for: error)
    }
  }
}
