extension StagedMigrationManager {
  /// While a handler runs, a container that has the store open with the model of that moment; nil otherwise. It is closed when the handler
  /// returns.
  ///
  /// Traps when the store cannot be opened, which it could a moment before.
  @_disfavoredOverload public var container: PersistentContainer? {
    guard let opening else { return nil }
    if let known = opened?.container as? PersistentContainer { return known }
    let container = PersistentContainer(name: "Migration", model: opening.model)
    container.persistentStoreDescriptions = [opening.description]
    do {
      try container.persistentStoreCoordinator.addPersistentStore(opening.description)
    } catch {
      trap("the store of a staged migration cannot be opened: \(error)")
    }
    let coordinator = container.persistentStoreCoordinator
    opened = (
      container,
      { for store in coordinator.persistentStores { try? coordinator.remove(store) } }
    )
    return container
  }
}
