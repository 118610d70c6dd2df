import CoreData

private func globalsHistory() {
  _ = NSPersistentHistoryChange.self
  _ = NSPersistentHistoryChangeRequest.self
  _ = NSPersistentHistoryChangeType.self
  _ = NSPersistentHistoryResult.self
  _ = NSPersistentHistoryResultType.self
  _ = NSPersistentHistoryToken.self
  _ = NSPersistentHistoryTransaction.self
  let _: String = NSPersistentHistoryTokenKey
  let _: String = NSPersistentHistoryTrackingKey
}

private func useNSPersistentHistoryChange(_ it: NSPersistentHistoryChange) {
  _ = NSPersistentHistoryChange.entityDescription(with:)
  let _: Int64 = it.changeID
  let _: NSEntityDescription? = NSPersistentHistoryChange.entityDescription
  let _: NSFetchRequest<any NSFetchRequestResult>? = NSPersistentHistoryChange.fetchRequest
  let _: NSManagedObjectID = it.changedObjectID
  let _: NSPersistentHistoryChangeType = it.changeType
  let _: NSPersistentHistoryTransaction? = it.transaction
  let _: Set<NSPropertyDescription>? = it.updatedProperties
  let _: [AnyHashable: Any]? = it.tombstone
}

private func useNSPersistentHistoryChangeRequest(_ it: NSPersistentHistoryChangeRequest) {
  _ = NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)
  let _: NSFetchRequest<any NSFetchRequestResult>? = it.fetchRequest
  let _: NSPersistentHistoryChangeRequest = .deleteHistory(before: Date())
  let _: NSPersistentHistoryChangeRequest = .deleteHistory(before: nil as NSPersistentHistoryToken?)
  let _: NSPersistentHistoryChangeRequest = .deleteHistory(before: nil as NSPersistentHistoryTransaction?)
  let _: NSPersistentHistoryChangeRequest = .fetchHistory(after: Date())
  let _: NSPersistentHistoryChangeRequest = .fetchHistory(after: nil as NSPersistentHistoryToken?)
  let _: NSPersistentHistoryChangeRequest = .fetchHistory(after: nil as NSPersistentHistoryTransaction?)
  let _: NSPersistentHistoryResultType = it.resultType
  let _: NSPersistentHistoryToken? = it.token
}

private func useNSPersistentHistoryChangeType() {
  _ = NSPersistentHistoryChangeType.delete
  _ = NSPersistentHistoryChangeType.init(rawValue:)
  _ = NSPersistentHistoryChangeType.insert
  _ = NSPersistentHistoryChangeType.update
}

private func useNSPersistentHistoryResult(_ it: NSPersistentHistoryResult) {
  let _: Any? = it.result
  let _: NSPersistentHistoryResultType = it.resultType
}

private func useNSPersistentHistoryResultType() {
  _ = NSPersistentHistoryResultType.changesOnly
  _ = NSPersistentHistoryResultType.count
  _ = NSPersistentHistoryResultType.init(rawValue:)
  _ = NSPersistentHistoryResultType.objectIDs
  _ = NSPersistentHistoryResultType.statusOnly
  _ = NSPersistentHistoryResultType.transactionsAndChanges
  _ = NSPersistentHistoryResultType.transactionsOnly
}

private func useNSPersistentHistoryTransaction(_ it: NSPersistentHistoryTransaction) {
  _ = NSPersistentHistoryTransaction.entityDescription(with:)
  _ = NSPersistentHistoryTransaction.objectIDNotification
  let _: Date = it.timestamp
  let _: Int64 = it.transactionNumber
  let _: NSEntityDescription? = NSPersistentHistoryTransaction.entityDescription
  let _: NSFetchRequest<any NSFetchRequestResult>? = NSPersistentHistoryTransaction.fetchRequest
  let _: NSPersistentHistoryToken = it.token
  let _: String = it.bundleID
  let _: String = it.processID
  let _: String = it.storeID
  let _: String? = it.author
  let _: String? = it.contextName
  let _: [NSPersistentHistoryChange]? = it.changes
}
