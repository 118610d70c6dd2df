extension PersistentStoreCoordinator {
  /// Makes every save durable that has returned, in all stores, also where ``Durability/relaxed`` or ``Durability/none`` has not flushed it.
  ///
  /// Every store is tried, also after one has failed. Stores in memory and read-only ones have nothing to flush, nor have stores of other kinds than
  /// ``LMDBStore``, whose durability is their own. May be called from any thread; waits for no save.
  /// - Throws: the first store's error: ``StorageError`` as ``LMDBStore/flush()`` throws it.
  public func flush() throws {
    var failure: (any Error)?
    for binding in bindings {
      do {
        try binding.store.flush()
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }
}
