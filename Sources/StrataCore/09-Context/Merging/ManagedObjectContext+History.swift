import Foundation

extension PersistentHistoryRequest: PersistentStoreRequest {
  /// Always ``PersistentStoreRequestType/history``.
  public var requestType: PersistentStoreRequestType { .history }

  /// Carries the request out: called by `context.execute(_:)`. See `PersistentStoreCoordinator.history(_:)`.
  /// - Throws: what `PersistentStoreCoordinator.history(_:)` throws.
  public func outcome(in context: ManagedObjectContext) throws -> PersistentHistoryResult {
    try context.coordinator.history(self)
  }
}

extension PersistentHistoryTransaction {
  /// A notification as a save of these changes posts it: a context takes it with `mergeChanges(fromContextDidSave:)` (rules 187, 286).
  ///
  /// It has sets of IDs, each object in the one that says most: deleted, then inserted, then updated. Without changes they are empty.
  public func objectIDNotification() -> Notification {
    typealias Key = ManagedObjectContext.NotificationKey
    var sets: [PersistentHistoryChangeType: Set<ManagedObjectID>] = [:]
    for change in changes ?? [] { sets[change.changeType, default: []].insert(change.changedObjectID) }
    let deleted = sets[.delete] ?? []
    let inserted = (sets[.insert] ?? []).subtracting(deleted)
    let updated = (sets[.update] ?? []).subtracting(deleted).subtracting(inserted)
    return Notification(
      name: ManagedObjectContext.didSaveObjectIDsNotification, object: nil,
      userInfo: [
        Key.insertedObjectIDs.rawValue: inserted, Key.updatedObjectIDs.rawValue: updated,
        Key.deletedObjectIDs.rawValue: deleted,
        PersistentStoreCoordinator.RemoteChangeKey.historyToken.rawValue: token,
      ])
  }
}
