import CoreData

private func globalsRequest() {
  _ = (any NSFetchRequestResult).self
  _ = (any NSFetchedResultsControllerDelegate).self
  _ = (any NSFetchedResultsSectionInfo).self
  _ = NSAsynchronousFetchRequest<NSManagedObject>.self
  _ = NSAsynchronousFetchResult<NSManagedObject>.self
  _ = NSBatchDeleteRequest.self
  _ = NSBatchDeleteRequestResultType.self
  _ = NSBatchDeleteResult.self
  _ = NSBatchInsertRequest.self
  _ = NSBatchInsertRequestResultType.self
  _ = NSBatchInsertResult.self
  _ = NSBatchUpdateRequest.self
  _ = NSBatchUpdateRequestResultType.self
  _ = NSBatchUpdateResult.self
  _ = NSFetchRequest<NSManagedObject>.self
  _ = NSFetchRequestExpression.self
  _ = NSFetchRequestResultType.self
  _ = NSFetchedResultsChangeType.self
  _ = NSFetchedResultsController<NSManagedObject>.self
  _ = NSPersistentStoreAsynchronousFetchResultCompletionBlock.self
  _ = NSPersistentStoreAsynchronousResult.self
  _ = NSPersistentStoreRequest.self
  _ = NSPersistentStoreRequestType.self
  _ = NSPersistentStoreResult.self
  let _: NSExpression.ExpressionType = NSFetchRequestExpressionType
}

private func useNSAsynchronousFetchRequest(_ it: NSAsynchronousFetchRequest<NSManagedObject>) {
  _ = NSAsynchronousFetchRequest<NSManagedObject>.init(fetchRequest:completionBlock:)
  _ = it.completionBlock
  let _: Int = it.estimatedResultCount
  let _: NSFetchRequest<NSManagedObject> = it.fetchRequest
}

private func useNSAsynchronousFetchResult(_ it: NSAsynchronousFetchResult<NSManagedObject>) {
  let _: NSAsynchronousFetchRequest<NSManagedObject> = it.fetchRequest
  let _: [NSManagedObject]? = it.finalResult
}

private func useNSBatchDeleteRequest(_ it: NSBatchDeleteRequest) {
  _ = NSBatchDeleteRequest.init(fetchRequest:)
  _ = NSBatchDeleteRequest.init(objectIDs:)
  let _: NSBatchDeleteRequestResultType = it.resultType
  let _: NSFetchRequest<any NSFetchRequestResult> = it.fetchRequest
}

private func useNSBatchDeleteRequestResultType() {
  _ = NSBatchDeleteRequestResultType.init(rawValue:)
  _ = NSBatchDeleteRequestResultType.resultTypeCount
  _ = NSBatchDeleteRequestResultType.resultTypeObjectIDs
  _ = NSBatchDeleteRequestResultType.resultTypeStatusOnly
}

private func useNSBatchDeleteResult(_ it: NSBatchDeleteResult) {
  let _: Any? = it.result
  let _: NSBatchDeleteRequestResultType = it.resultType
}

private func useNSBatchInsertRequest(_ it: NSBatchInsertRequest) {
  _ = NSBatchInsertRequest()
  _ = NSBatchInsertRequest.init(entity:dictionaryHandler:)
  _ = NSBatchInsertRequest.init(entity:managedObjectHandler:)
  _ = NSBatchInsertRequest.init(entity:objects:)
  _ = NSBatchInsertRequest.init(entityName:dictionaryHandler:)
  _ = NSBatchInsertRequest.init(entityName:managedObjectHandler:)
  _ = NSBatchInsertRequest.init(entityName:objects:)
  let _: ((NSManagedObject) -> Bool)? = it.managedObjectHandler
  let _: ((NSMutableDictionary) -> Bool)? = it.dictionaryHandler
  let _: NSBatchInsertRequestResultType = it.resultType
  let _: NSEntityDescription? = it.entity
  let _: String = it.entityName
  let _: [[String: Any]]? = it.objectsToInsert
}

private func useNSBatchInsertRequestResultType() {
  _ = NSBatchInsertRequestResultType.count
  _ = NSBatchInsertRequestResultType.init(rawValue:)
  _ = NSBatchInsertRequestResultType.objectIDs
  _ = NSBatchInsertRequestResultType.statusOnly
}

private func useNSBatchInsertResult(_ it: NSBatchInsertResult) {
  let _: Any? = it.result
  let _: NSBatchInsertRequestResultType = it.resultType
}

private func useNSBatchUpdateRequest(_ it: NSBatchUpdateRequest) {
  _ = NSBatchUpdateRequest.init(entity:)
  _ = NSBatchUpdateRequest.init(entityName:)
  let _: Bool = it.includesSubentities
  let _: NSBatchUpdateRequestResultType = it.resultType
  let _: NSEntityDescription = it.entity
  let _: NSPredicate? = it.predicate
  let _: String = it.entityName
  let _: [AnyHashable: Any]? = it.propertiesToUpdate
}

private func useNSBatchUpdateRequestResultType() {
  _ = NSBatchUpdateRequestResultType.init(rawValue:)
  _ = NSBatchUpdateRequestResultType.statusOnlyResultType
  _ = NSBatchUpdateRequestResultType.updatedObjectIDsResultType
  _ = NSBatchUpdateRequestResultType.updatedObjectsCountResultType
}

private func useNSBatchUpdateResult(_ it: NSBatchUpdateResult) {
  let _: Any? = it.result
  let _: NSBatchUpdateRequestResultType = it.resultType
}

private func useNSFetchRequest(_ it: NSFetchRequest<NSManagedObject>) {
  _ = NSFetchRequest<NSManagedObject>()
  _ = NSFetchRequest<NSManagedObject>.execute
  _ = NSFetchRequest<NSManagedObject>.init(entityName:)
  let _: Bool = it.includesPendingChanges
  let _: Bool = it.includesPropertyValues
  let _: Bool = it.includesSubentities
  let _: Bool = it.returnsDistinctResults
  let _: Bool = it.returnsObjectsAsFaults
  let _: Bool = it.shouldRefreshRefetchedObjects
  let _: Int = it.fetchBatchSize
  let _: Int = it.fetchLimit
  let _: Int = it.fetchOffset
  let _: NSEntityDescription? = it.entity
  let _: NSFetchRequestResultType = it.resultType
  let _: NSPredicate? = it.havingPredicate
  let _: NSPredicate? = it.predicate
  let _: String? = it.entityName
  let _: [Any]? = it.propertiesToFetch
  let _: [Any]? = it.propertiesToGroupBy
  let _: [NSPersistentStore]? = it.affectedStores
  let _: [NSSortDescriptor]? = it.sortDescriptors
  let _: [String]? = it.relationshipKeyPathsForPrefetching
}

private func useNSFetchRequestExpression(_ it: NSFetchRequestExpression) {
  _ = NSFetchRequestExpression.expression(forFetch:context:countOnly:)
  let _: Bool = it.isCountOnlyRequest
  let _: NSExpression = it.contextExpression
  let _: NSExpression = it.requestExpression
}

private func useNSFetchRequestResultType() {
  _ = NSFetchRequestResultType.init(rawValue:)
  let _: NSFetchRequestResultType = NSFetchRequestResultType.countResultType
  let _: NSFetchRequestResultType = NSFetchRequestResultType.dictionaryResultType
  let _: NSFetchRequestResultType = NSFetchRequestResultType.managedObjectIDResultType
  let _: NSFetchRequestResultType = NSFetchRequestResultType.managedObjectResultType
}

private func useNSFetchedResultsChangeType() {
  _ = NSFetchedResultsChangeType.delete
  _ = NSFetchedResultsChangeType.init(rawValue:)
  _ = NSFetchedResultsChangeType.insert
  _ = NSFetchedResultsChangeType.move
  _ = NSFetchedResultsChangeType.update
}

private func useNSFetchedResultsController(_ it: NSFetchedResultsController<NSManagedObject>) {
  _ = NSFetchedResultsController<NSManagedObject>.deleteCache(withName:)
  _ = NSFetchedResultsController<NSManagedObject>.indexPath(forObject:)
  _ =
    NSFetchedResultsController<NSManagedObject>.init(
      fetchRequest:managedObjectContext:sectionNameKeyPath:cacheName:)
  _ = NSFetchedResultsController<NSManagedObject>.object(at:)
  _ = NSFetchedResultsController<NSManagedObject>.performFetch
  _ = NSFetchedResultsController<NSManagedObject>.section(forSectionIndexTitle:at:)
  _ = NSFetchedResultsController<NSManagedObject>.sectionIndexTitle(forSectionName:)
  let _: (any NSFetchedResultsControllerDelegate)? = it.delegate
  let _: NSFetchRequest<NSManagedObject> = it.fetchRequest
  let _: NSManagedObjectContext = it.managedObjectContext
  let _: String? = it.cacheName
  let _: String? = it.sectionNameKeyPath
  let _: [NSManagedObject]? = it.fetchedObjects
  let _: [String] = it.sectionIndexTitles
  let _: [any NSFetchedResultsSectionInfo]? = it.sections
}

private func useNSFetchedResultsControllerDelegate() {
  _ = NSFetchedResultsControllerDelegate.controller(_:didChange:at:for:newIndexPath:)
  _ = NSFetchedResultsControllerDelegate.controller(_:didChange:atSectionIndex:for:)
  _ = NSFetchedResultsControllerDelegate.controller(_:didChangeContentWith:)
  _ = NSFetchedResultsControllerDelegate.controller(_:sectionIndexTitleForSectionName:)
  _ = NSFetchedResultsControllerDelegate.controllerDidChangeContent(_:)
  _ = NSFetchedResultsControllerDelegate.controllerWillChangeContent(_:)
}

private func useNSFetchedResultsSectionInfo(_ it: any NSFetchedResultsSectionInfo) {
  let _: Int = it.numberOfObjects
  let _: String = it.name
  let _: String? = it.indexTitle
  let _: [Any]? = it.objects
}

private func useNSPersistentStoreAsynchronousResult(_ it: NSPersistentStoreAsynchronousResult) {
  _ = NSPersistentStoreAsynchronousResult.cancel
  let _: (any Error)? = it.operationError
  let _: NSManagedObjectContext = it.managedObjectContext
  let _: Progress? = it.progress
}

private func useNSPersistentStoreRequest(_ it: NSPersistentStoreRequest) {
  let _: NSPersistentStoreRequestType = it.requestType
  let _: [NSPersistentStore]? = it.affectedStores
}

private func useNSPersistentStoreRequestType() {
  _ = NSPersistentStoreRequestType.batchDeleteRequestType
  _ = NSPersistentStoreRequestType.batchInsertRequestType
  _ = NSPersistentStoreRequestType.batchUpdateRequestType
  _ = NSPersistentStoreRequestType.fetchRequestType
  _ = NSPersistentStoreRequestType.init(rawValue:)
  _ = NSPersistentStoreRequestType.saveRequestType
}
