import CoreData

// Every member of persistent history, written as for Apple's platforms. Type-checked, not run.

private func requests(
  _ context: NSManagedObjectContext, _ token: NSPersistentHistoryToken?,
  _ transaction: NSPersistentHistoryTransaction?,
  _ fetch: NSFetchRequest<any NSFetchRequestResult>
) throws {
  // surface: NSPersistentHistoryChangeRequest
  // surface: NSPersistentHistoryChangeRequest.fetchHistory(after:) | NSPersistentHistoryChangeRequest.fetchHistory(withFetch:)
  var request = NSPersistentHistoryChangeRequest.fetchHistory(after: Date())
  request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
  request = NSPersistentHistoryChangeRequest.fetchHistory(after: transaction)
  request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
  // surface: NSPersistentHistoryChangeRequest.deleteHistory(before:)
  request = NSPersistentHistoryChangeRequest.deleteHistory(before: Date())
  request = NSPersistentHistoryChangeRequest.deleteHistory(before: token)
  request = NSPersistentHistoryChangeRequest.deleteHistory(before: transaction)
  // surface: NSPersistentHistoryChangeRequest.fetchRequest | NSPersistentHistoryChangeRequest.resultType
  // surface: NSPersistentHistoryChangeRequest.token
  request.fetchRequest = fetch
  request.resultType = .transactionsAndChanges
  let known: NSPersistentHistoryToken? = request.token
  // surface: NSPersistentHistoryResult | NSPersistentHistoryResult.result | NSPersistentHistoryResult.resultType
  let answer = try context.execute(request) as? NSPersistentHistoryResult
  let result: Any? = answer?.result
  let type: NSPersistentHistoryResultType? = answer?.resultType
  // surface: NSPersistentHistoryResultType | NSPersistentHistoryResultType.init(rawValue:)
  // surface: NSPersistentHistoryResultType.changesOnly | NSPersistentHistoryResultType.count
  // surface: NSPersistentHistoryResultType.objectIDs | NSPersistentHistoryResultType.statusOnly
  // surface: NSPersistentHistoryResultType.transactionsAndChanges | NSPersistentHistoryResultType.transactionsOnly
  let types: [NSPersistentHistoryResultType?] = [
    .statusOnly, .objectIDs, .count, .transactionsOnly, .changesOnly, .transactionsAndChanges,
    NSPersistentHistoryResultType(rawValue: 1),
  ]
  // surface: NSPersistentStoreCoordinator.currentPersistentHistoryToken(fromStores:)
  let current: NSPersistentHistoryToken? = context.persistentStoreCoordinator?.currentPersistentHistoryToken(
    fromStores: nil)
  _ = (known, result, type, types, current)
}

private func facts(
  _ transaction: NSPersistentHistoryTransaction, _ change: NSPersistentHistoryChange,
  _ context: NSManagedObjectContext
) {
  // surface: NSPersistentHistoryTransaction | NSPersistentHistoryTransaction.timestamp
  // surface: NSPersistentHistoryTransaction.transactionNumber | NSPersistentHistoryTransaction.storeID
  // surface: NSPersistentHistoryTransaction.bundleID | NSPersistentHistoryTransaction.processID
  // surface: NSPersistentHistoryTransaction.contextName | NSPersistentHistoryTransaction.author
  // surface: NSPersistentHistoryTransaction.token | NSPersistentHistoryTransaction.changes
  let timestamp: Date = transaction.timestamp
  let number: Int64 = transaction.transactionNumber
  let texts: [String] = [transaction.storeID, transaction.bundleID, transaction.processID]
  let names: [String?] = [transaction.contextName, transaction.author]
  let token: NSPersistentHistoryToken = transaction.token
  let changes: [NSPersistentHistoryChange]? = transaction.changes
  // surface: NSPersistentHistoryTransaction.objectIDNotification()
  let notification: Notification = transaction.objectIDNotification()
  // surface: NSPersistentHistoryTransaction.entityDescription | NSPersistentHistoryTransaction.entityDescription(with:)
  // surface: NSPersistentHistoryTransaction.fetchRequest
  var entity: NSEntityDescription? = NSPersistentHistoryTransaction.entityDescription
  entity = NSPersistentHistoryTransaction.entityDescription(with: context)
  var fetch: NSFetchRequest<any NSFetchRequestResult>? = NSPersistentHistoryTransaction.fetchRequest
  // surface: NSPersistentHistoryChange | NSPersistentHistoryChange.changeID | NSPersistentHistoryChange.changedObjectID
  // surface: NSPersistentHistoryChange.changeType | NSPersistentHistoryChange.tombstone
  // surface: NSPersistentHistoryChange.transaction | NSPersistentHistoryChange.updatedProperties
  let changeID: Int64 = change.changeID
  let id: NSManagedObjectID = change.changedObjectID
  let type: NSPersistentHistoryChangeType = change.changeType
  let tombstone: [AnyHashable: Any]? = change.tombstone
  let owner: NSPersistentHistoryTransaction? = change.transaction
  let properties: Set<NSPropertyDescription>? = change.updatedProperties
  // surface: NSPersistentHistoryChange.entityDescription | NSPersistentHistoryChange.entityDescription(with:)
  // surface: NSPersistentHistoryChange.fetchRequest
  entity = NSPersistentHistoryChange.entityDescription
  entity = NSPersistentHistoryChange.entityDescription(with: context)
  fetch = NSPersistentHistoryChange.fetchRequest
  // surface: NSPersistentHistoryChangeType | NSPersistentHistoryChangeType.init(rawValue:)
  // surface: NSPersistentHistoryChangeType.delete | NSPersistentHistoryChangeType.insert
  // surface: NSPersistentHistoryChangeType.update
  let kinds: [NSPersistentHistoryChangeType?] = [
    .insert, .update, .delete, NSPersistentHistoryChangeType(rawValue: 0),
  ]
  _ = (timestamp, number, texts, names, token, changes, notification, entity, fetch)
  _ = (changeID, id, type, tombstone, owner, properties, kinds)
}

private func metadata(_ url: URL) throws {
  // surface: NSPersistentStore.metadataForPersistentStore(with:) | NSPersistentStore.setMetadata(_:forPersistentStoreAt:)
  let metadata: [String: Any] = try NSPersistentStore.metadataForPersistentStore(with: url)
  try NSPersistentStore.setMetadata(metadata, forPersistentStoreAt: url)
}
