import CoreData
import Testing

// Every member of requests and fetched results, written as for Apple's platforms. Type-checked, not run.

private func requests(
  _ context: NSManagedObjectContext, _ entity: NSEntityDescription, _ store: NSPersistentStore
) throws {
  // surface: NSFetchRequest
  // surface: NSFetchRequestResult
  let request = NSFetchRequest<NSFetchRequestResult>()  // surface: NSFetchRequest.init()
  // surface: NSFetchRequest.init(entityName:)
  let birds = NSFetchRequest<Bird>(entityName: "Bird")
  request.entity = entity  // surface: NSFetchRequest.entity
  let name: String? = request.entityName  // surface: NSFetchRequest.entityName
  request.affectedStores = [store]  // surface: NSFetchRequest.affectedStores
  request.fetchBatchSize = 20  // surface: NSFetchRequest.fetchBatchSize
  request.fetchLimit = 20  // surface: NSFetchRequest.fetchLimit
  request.fetchOffset = 20  // surface: NSFetchRequest.fetchOffset
  request.havingPredicate = NSPredicate(value: true)  // surface: NSFetchRequest.havingPredicate
  request.includesPendingChanges = true  // surface: NSFetchRequest.includesPendingChanges
  request.includesPropertyValues = true  // surface: NSFetchRequest.includesPropertyValues
  request.includesSubentities = true  // surface: NSFetchRequest.includesSubentities
  request.predicate = NSPredicate(value: true)  // surface: NSFetchRequest.predicate
  request.propertiesToFetch = ["name"]  // surface: NSFetchRequest.propertiesToFetch
  request.propertiesToGroupBy = ["name"]  // surface: NSFetchRequest.propertiesToGroupBy
  // surface: NSFetchRequest.relationshipKeyPathsForPrefetching
  request.relationshipKeyPathsForPrefetching = ["site"]
  request.returnsDistinctResults = true  // surface: NSFetchRequest.returnsDistinctResults
  request.returnsObjectsAsFaults = false  // surface: NSFetchRequest.returnsObjectsAsFaults
  // surface: NSFetchRequest.shouldRefreshRefetchedObjects
  request.shouldRefreshRefetchedObjects = true
  // surface: NSFetchRequest.sortDescriptors
  request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
  // surface: NSFetchRequestResultType
  // surface: NSFetchRequest.resultType; NSFetchRequestResultType.init(rawValue:)
  request.resultType = NSFetchRequestResultType(rawValue: 2)
  // surface: NSFetchRequestResultType.managedObjectResultType
  request.resultType = .managedObjectResultType
  // surface: NSFetchRequestResultType.managedObjectIDResultType
  request.resultType = .managedObjectIDResultType
  // surface: NSFetchRequestResultType.dictionaryResultType
  request.resultType = .dictionaryResultType
  request.resultType = .countResultType  // surface: NSFetchRequestResultType.countResultType
  let executed: [Bird] = try birds.execute()  // surface: NSFetchRequest.execute()
  let typed: [Bird] = try context.fetch(birds)  // surface: NSManagedObjectContext.fetch(_:)
  let untyped: [Any] = try context.fetch(request)  // surface: NSManagedObjectContext.fetch(_:)
  // surface: NSManagedObjectContext.count(for:)
  let count: Int = try context.count(for: birds) + context.count(for: request)
  // surface: NSManagedObjectContext.execute(_:)
  let result: NSPersistentStoreResult = try context.execute(birds)
  // surface: NSManagedObject.fetchRequest()
  let own: NSFetchRequest<NSFetchRequestResult> = Site.fetchRequest()
  let kinds: [NSFetchRequestResult.Type] = [
    NSDictionary.self,  // surface: NSDictionary.NSFetchRequestResult
    NSNumber.self,  // surface: NSNumber.NSFetchRequestResult
    NSManagedObject.self, NSManagedObjectID.self,
  ]
  _ = (name, executed, typed, untyped, count, result, own, kinds)
}

private func columns() {
  let column = NSExpressionDescription()  // surface: NSExpressionDescription
  column.name = "total"
  // surface: NSExpressionDescription.expression
  column.expression = NSExpression(forKeyPath: "@sum.amount")
  // surface: NSExpressionDescription.expressionResultType
  column.expressionResultType = .integer64AttributeType
  column.resultType = .integer64  // surface: NSExpressionDescription.resultType
  let property: NSPropertyDescription = column
  let fetched = NSFetchedPropertyDescription()  // surface: NSFetchedPropertyDescription
  // surface: NSFetchedPropertyDescription.fetchRequest
  fetched.fetchRequest = NSFetchRequest<NSFetchRequestResult>(entityName: "Bird")
  _ = property
}

private func templates(_ model: NSManagedObjectModel, _ request: NSFetchRequest<NSFetchRequestResult>) {
  // surface: NSManagedObjectModel.setFetchRequestTemplate(_:forName:)
  model.setFetchRequestTemplate(request, forName: "a")
  // surface: NSManagedObjectModel.fetchRequestTemplate(forName:)
  let one = model.fetchRequestTemplate(forName: "a")
  // surface: NSManagedObjectModel.fetchRequestFromTemplate(withName:substitutionVariables:)
  let two = model.fetchRequestFromTemplate(withName: "a", substitutionVariables: ["x": 1])
  // surface: NSManagedObjectModel.fetchRequestTemplatesByName
  let all: [String: NSFetchRequest<NSFetchRequestResult>] = model.fetchRequestTemplatesByName
  _ = (one?.entityName, two?.entityName, all)
}

private func asynchronous(_ context: NSManagedObjectContext, _ request: NSFetchRequest<Bird>) throws {
  // surface: NSAsynchronousFetchRequest
  // surface: NSAsynchronousFetchResult
  // surface: NSAsynchronousFetchRequest.init(fetchRequest:completionBlock:)
  let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) {
    (result: NSAsynchronousFetchResult<Bird>) in
    _ = result.finalResult?.count  // surface: NSAsynchronousFetchResult.finalResult
    _ = result.fetchRequest  // surface: NSAsynchronousFetchResult.fetchRequest
  }
  // surface: NSAsynchronousFetchRequest.estimatedResultCount
  asynchronous.estimatedResultCount = 10
  _ = asynchronous.fetchRequest  // surface: NSAsynchronousFetchRequest.fetchRequest
  _ = asynchronous.completionBlock  // surface: NSAsynchronousFetchRequest.completionBlock
  // surface: NSPersistentStoreAsynchronousFetchResultCompletionBlock
  let completion: NSPersistentStoreAsynchronousFetchResultCompletionBlock = { _ in }
  // surface: NSPersistentStoreAsynchronousResult
  guard let running = try context.execute(asynchronous) as? NSPersistentStoreAsynchronousResult else {
    return
  }
  // surface: NSPersistentStoreAsynchronousResult.managedObjectContext
  _ = running.managedObjectContext
  _ = running.operationError  // surface: NSPersistentStoreAsynchronousResult.operationError
  _ = running.progress  // surface: NSPersistentStoreAsynchronousResult.progress
  running.cancel()  // surface: NSPersistentStoreAsynchronousResult.cancel()
  // surface: NSPersistentStoreRequest
  let request: NSPersistentStoreRequest = asynchronous
  request.affectedStores = nil  // surface: NSPersistentStoreRequest.affectedStores
  // surface: NSPersistentStoreRequestType
  // surface: NSPersistentStoreRequest.requestType
  let type: NSPersistentStoreRequestType = request.requestType
  _ = type == .fetchRequestType  // surface: NSPersistentStoreRequestType.fetchRequestType
  _ = type == .saveRequestType  // surface: NSPersistentStoreRequestType.saveRequestType
  // surface: NSPersistentStoreRequestType.batchInsertRequestType
  _ = type == .batchInsertRequestType
  // surface: NSPersistentStoreRequestType.batchUpdateRequestType
  _ = type == .batchUpdateRequestType
  // surface: NSPersistentStoreRequestType.batchDeleteRequestType
  _ = type == .batchDeleteRequestType
  // surface: NSPersistentStoreRequestType.init(rawValue:)
  _ = NSPersistentStoreRequestType(rawValue: 1)
  let result: NSPersistentStoreResult = running  // surface: NSPersistentStoreResult
  _ = (completion, result)
}

// surface: NSFetchedResultsControllerDelegate
private final class Everything: NSObject, NSFetchedResultsControllerDelegate {
  // surface: NSFetchedResultsControllerDelegate.controllerWillChangeContent(_:)
  func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {}
  // surface: NSFetchedResultsControllerDelegate.controllerDidChangeContent(_:)
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {}
  // surface: NSFetchedResultsControllerDelegate.controller(_:didChange:at:for:newIndexPath:)
  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    switch type {
    case .insert: break  // surface: NSFetchedResultsChangeType.insert
    case .delete: break  // surface: NSFetchedResultsChangeType.delete
    case .move: break  // surface: NSFetchedResultsChangeType.move
    case .update: break  // surface: NSFetchedResultsChangeType.update
    @unknown default: break
    }
  }
  // surface: NSFetchedResultsControllerDelegate.controller(_:didChange:atSectionIndex:for:)
  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>,
    didChange sectionInfo: NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
  ) {
    // surface: NSFetchedResultsChangeType
    // surface: NSFetchedResultsChangeType.init(rawValue:)
    _ = NSFetchedResultsChangeType(rawValue: 1)
  }
  // surface: NSFetchedResultsControllerDelegate.controller(_:didChangeContentWith:)
  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {}
  // surface: NSFetchedResultsControllerDelegate.controller(_:sectionIndexTitleForSectionName:)
  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String? { nil }
}

private func fetchedResults(_ request: NSFetchRequest<Bird>, _ context: NSManagedObjectContext, _ bird: Bird)
  throws
{
  // surface: NSFetchedResultsController
  // surface: NSFetchedResultsController.init(fetchRequest:managedObjectContext:sectionNameKeyPath:cacheName:)
  let controller = NSFetchedResultsController(
    fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
  let delegate = Everything()
  controller.delegate = delegate  // surface: NSFetchedResultsController.delegate
  try controller.performFetch()  // surface: NSFetchedResultsController.performFetch()
  // surface: NSFetchedResultsController.fetchedObjects
  let objects: [Bird]? = controller.fetchedObjects
  // surface: NSFetchedResultsController.object(at:)
  let object: Bird = controller.object(at: IndexPath(row: 0, section: 0))
  // surface: NSFetchedResultsController.indexPath(forObject:)
  let path: IndexPath? = controller.indexPath(forObject: bird)
  // surface: NSFetchedResultsController.sections; NSFetchedResultsSectionInfo
  let sections: [NSFetchedResultsSectionInfo]? = controller.sections
  // surface: NSFetchedResultsController.sectionIndexTitles
  let titles: [String] = controller.sectionIndexTitles
  // surface: NSFetchedResultsController.sectionIndexTitle(forSectionName:)
  let title: String? = controller.sectionIndexTitle(forSectionName: "a")
  // surface: NSFetchedResultsController.section(forSectionIndexTitle:at:)
  let section: Int = controller.section(forSectionIndexTitle: "A", at: 0)
  // surface: NSFetchedResultsController.deleteCache(withName:)
  NSFetchedResultsController<Bird>.deleteCache(withName: nil)
  let parts: [Any?] = [
    controller.cacheName,  // surface: NSFetchedResultsController.cacheName
    controller.fetchRequest,  // surface: NSFetchedResultsController.fetchRequest
    controller.managedObjectContext,  // surface: NSFetchedResultsController.managedObjectContext
    controller.sectionNameKeyPath,  // surface: NSFetchedResultsController.sectionNameKeyPath
    sections?[0].name,  // surface: NSFetchedResultsSectionInfo.name
    sections?[0].indexTitle,  // surface: NSFetchedResultsSectionInfo.indexTitle
    sections?[0].numberOfObjects,  // surface: NSFetchedResultsSectionInfo.numberOfObjects
    sections?[0].objects,  // surface: NSFetchedResultsSectionInfo.objects
  ]
  _ = (objects, object, path, titles, title, section, parts)
}

private func saving(_ context: NSManagedObjectContext) {
  // surface: NSSaveChangesRequest | NSSaveChangesRequest.init(inserted:updated:deleted:locked:)
  let request = NSSaveChangesRequest(
    inserted: context.insertedObjects, updated: context.updatedObjects, deleted: context.deletedObjects,
    locked: nil)
  // surface: NSSaveChangesRequest.insertedObjects | NSSaveChangesRequest.updatedObjects
  // surface: NSSaveChangesRequest.deletedObjects | NSSaveChangesRequest.lockedObjects
  let sets: [Set<NSManagedObject>?] = [
    request.insertedObjects, request.updatedObjects, request.deletedObjects, request.lockedObjects,
  ]
  _ = sets
}
