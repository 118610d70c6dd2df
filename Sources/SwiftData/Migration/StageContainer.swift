import StrataCore

// The store of a migration as the handlers of a stage have it.

extension ModelContainer {
  /// Closes the stores: contexts that are left find nothing.
  func close() {
    for store in coordinator.persistentStores {
      do { try coordinator.remove(store) } catch { report("a store could not be closed: \(error)") }
    }
  }
}
