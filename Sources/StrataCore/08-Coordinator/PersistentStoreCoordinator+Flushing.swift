extension PersistentStoreCoordinator {
  /// Makes every save durable that has returned, in all stores, also where ``Durability/relaxed`` has not flushed it: none is lost when the power fails
  /// afterwards. All stores are tried; stores in memory and read-only ones have nothing to flush.
  ///
  /// May be called from any thread, but not from a context's or the coordinator's own callbacks. Waits for writers as a save does.
  /// - Throws: the first store's error: ``StorageError`` as ``LMDBStore/flush()`` throws it.
  public func flush() throws {
    var failure: (any Error)?
    for store in persistentStores {
      do {
        try (store as? LMDBStore)?.flush()
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }
}
