import CoreData
import Testing

// Every member of requests and fetched results, written as for Apple's platforms. Type-checked, not run.

private func requests(
  _ context: NSManagedObjectContext, _ entity: NSEntityDescription, _ store: NSPersistentStore
) throws {
  // tsv: (global).NSFetchRequest
  // tsv: (global).NSFetchRequestResult
  let request = NSFetchRequest<NSFetchRequestResult>()  // tsv: NSFetchRequest.init()
  let birds = NSFetchRequest<Bird>(entityName: "Bird")  // tsv: NSFetchRequest.init(entityName:)
  request.entity = entity  // tsv: NSFetchRequest.entity
  let name: String? = request.entityName  // tsv: NSFetchRequest.entityName
  request.affectedStores = [store]  // tsv: NSFetchRequest.affectedStores
  request.fetchBatchSize = 20  // tsv: NSFetchRequest.fetchBatchSize
  request.fetchLimit = 20  // tsv: NSFetchRequest.fetchLimit
  request.fetchOffset = 20  // tsv: NSFetchRequest.fetchOffset
  request.havingPredicate = NSPredicate(value: true)  // tsv: NSFetchRequest.havingPredicate
  request.includesPendingChanges = true  // tsv: NSFetchRequest.includesPendingChanges
  request.includesPropertyValues = true  // tsv: NSFetchRequest.includesPropertyValues
  request.includesSubentities = true  // tsv: NSFetchRequest.includesSubentities
  request.predicate = NSPredicate(value: true)  // tsv: NSFetchRequest.predicate
  request.propertiesToFetch = ["name"]  // tsv: NSFetchRequest.propertiesToFetch
  request.propertiesToGroupBy = ["name"]  // tsv: NSFetchRequest.propertiesToGroupBy
  request.relationshipKeyPathsForPrefetching = ["site"]  // tsv: NSFetchRequest.relationshipKeyPathsForPrefetching
  request.returnsDistinctResults = true  // tsv: NSFetchRequest.returnsDistinctResults
  request.returnsObjectsAsFaults = false  // tsv: NSFetchRequest.returnsObjectsAsFaults
  request.shouldRefreshRefetchedObjects = true  // tsv: NSFetchRequest.shouldRefreshRefetchedObjects
  request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]  // tsv: NSFetchRequest.sortDescriptors
  // tsv: (global).NSFetchRequestResultType
  request.resultType = NSFetchRequestResultType(rawValue: 2)  // tsv: NSFetchRequest.resultType; NSFetchRequestResultType.init(rawValue:)
  request.resultType = .managedObjectResultType  // tsv: NSFetchRequestResultType.managedObjectResultType
  request.resultType = .managedObjectIDResultType  // tsv: NSFetchRequestResultType.managedObjectIDResultType
  request.resultType = .dictionaryResultType  // tsv: NSFetchRequestResultType.dictionaryResultType
  request.resultType = .countResultType  // tsv: NSFetchRequestResultType.countResultType
  let executed: [Bird] = try birds.execute()  // tsv: NSFetchRequest.execute()
  let typed: [Bird] = try context.fetch(birds)  // tsv: NSManagedObjectContext.fetch(_:)
  let untyped: [Any] = try context.fetch(request)  // tsv: NSManagedObjectContext.fetch(_:)
  let count: Int = try context.count(for: birds) + context.count(for: request)  // tsv: NSManagedObjectContext.count(for:)
  let result: NSPersistentStoreResult = try context.execute(birds)  // tsv: NSManagedObjectContext.execute(_:)
  let own: NSFetchRequest<NSFetchRequestResult> = Site.fetchRequest()  // tsv: NSManagedObject.fetchRequest()
  let kinds: [NSFetchRequestResult.Type] = [
    NSDictionary.self,  // tsv: NSDictionary.NSFetchRequestResult
    NSNumber.self,  // tsv: NSNumber.NSFetchRequestResult
    NSManagedObject.self, NSManagedObjectID.self,
  ]
  _ = (name, executed, typed, untyped, count, result, own, kinds)
}

private func columns() {
  let column = NSExpressionDescription()  // tsv: (global).NSExpressionDescription
  column.name = "total"
  column.expression = NSExpression(forKeyPath: "@sum.amount")  // tsv: NSExpressionDescription.expression
  column.expressionResultType = .integer64AttributeType  // tsv: NSExpressionDescription.expressionResultType
  column.resultType = .integer64  // tsv: NSExpressionDescription.resultType
  let property: NSPropertyDescription = column
  let fetched = NSFetchedPropertyDescription()  // tsv: (global).NSFetchedPropertyDescription
  fetched.fetchRequest = NSFetchRequest<NSFetchRequestResult>(entityName: "Bird")  // tsv: NSFetchedPropertyDescription.fetchRequest
  _ = property
}

private func templates(_ model: NSManagedObjectModel, _ request: NSFetchRequest<NSFetchRequestResult>) {
  model.setFetchRequestTemplate(request, forName: "a")  // tsv: NSManagedObjectModel.setFetchRequestTemplate(_:forName:)
  let one = model.fetchRequestTemplate(forName: "a")  // tsv: NSManagedObjectModel.fetchRequestTemplate(forName:)
  // tsv: NSManagedObjectModel.fetchRequestFromTemplate(withName:substitutionVariables:)
  let two = model.fetchRequestFromTemplate(withName: "a", substitutionVariables: ["x": 1])
  // tsv: NSManagedObjectModel.fetchRequestTemplatesByName
  let all: [String: NSFetchRequest<NSFetchRequestResult>] = model.fetchRequestTemplatesByName
  _ = (one?.entityName, two?.entityName, all)
}

private func asynchronous(_ context: NSManagedObjectContext, _ request: NSFetchRequest<Bird>) throws {
  // tsv: (global).NSAsynchronousFetchRequest
  // tsv: (global).NSAsynchronousFetchResult
  // tsv: NSAsynchronousFetchRequest.init(fetchRequest:completionBlock:)
  let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) {
    (result: NSAsynchronousFetchResult<Bird>) in
    _ = result.finalResult?.count  // tsv: NSAsynchronousFetchResult.finalResult
    _ = result.fetchRequest  // tsv: NSAsynchronousFetchResult.fetchRequest
  }
  asynchronous.estimatedResultCount = 10  // tsv: NSAsynchronousFetchRequest.estimatedResultCount
  _ = asynchronous.fetchRequest  // tsv: NSAsynchronousFetchRequest.fetchRequest
  _ = asynchronous.completionBlock  // tsv: NSAsynchronousFetchRequest.completionBlock
  // tsv: (global).NSPersistentStoreAsynchronousFetchResultCompletionBlock
  let completion: NSPersistentStoreAsynchronousFetchResultCompletionBlock = { _ in }
  // tsv: (global).NSPersistentStoreAsynchronousResult
  guard let running = try context.execute(asynchronous) as? NSPersistentStoreAsynchronousResult else {
    return
  }
  _ = running.managedObjectContext  // tsv: NSPersistentStoreAsynchronousResult.managedObjectContext
  _ = running.operationError  // tsv: NSPersistentStoreAsynchronousResult.operationError
  _ = running.progress  // tsv: NSPersistentStoreAsynchronousResult.progress
  running.cancel()  // tsv: NSPersistentStoreAsynchronousResult.cancel()
  let request: NSPersistentStoreRequest = asynchronous  // tsv: (global).NSPersistentStoreRequest
  request.affectedStores = nil  // tsv: NSPersistentStoreRequest.affectedStores
  // tsv: (global).NSPersistentStoreRequestType
  let type: NSPersistentStoreRequestType = request.requestType  // tsv: NSPersistentStoreRequest.requestType
  _ = type == .fetchRequestType  // tsv: NSPersistentStoreRequestType.fetchRequestType
  _ = type == .saveRequestType  // tsv: NSPersistentStoreRequestType.saveRequestType
  _ = type == .batchInsertRequestType  // tsv: NSPersistentStoreRequestType.batchInsertRequestType
  _ = type == .batchUpdateRequestType  // tsv: NSPersistentStoreRequestType.batchUpdateRequestType
  _ = type == .batchDeleteRequestType  // tsv: NSPersistentStoreRequestType.batchDeleteRequestType
  _ = NSPersistentStoreRequestType(rawValue: 1)  // tsv: NSPersistentStoreRequestType.init(rawValue:)
  let result: NSPersistentStoreResult = running  // tsv: (global).NSPersistentStoreResult
  _ = (completion, result)
}

// tsv: (global).NSFetchedResultsControllerDelegate
private final class Everything: NSObject, NSFetchedResultsControllerDelegate {
  // tsv: NSFetchedResultsControllerDelegate.controllerWillChangeContent(_:)
  func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {}
  // tsv: NSFetchedResultsControllerDelegate.controllerDidChangeContent(_:)
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {}
  // tsv: NSFetchedResultsControllerDelegate.controller(_:didChange:at:for:newIndexPath:)
  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    switch type {
    case .insert: break  // tsv: NSFetchedResultsChangeType.insert
    case .delete: break  // tsv: NSFetchedResultsChangeType.delete
    case .move: break  // tsv: NSFetchedResultsChangeType.move
    case .update: break  // tsv: NSFetchedResultsChangeType.update
    @unknown default: break
    }
  }
  // tsv: NSFetchedResultsControllerDelegate.controller(_:didChange:atSectionIndex:for:)
  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>,
    didChange sectionInfo: NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
  ) {
    // tsv: (global).NSFetchedResultsChangeType
    _ = NSFetchedResultsChangeType(rawValue: 1)  // tsv: NSFetchedResultsChangeType.init(rawValue:)
  }
  // tsv: NSFetchedResultsControllerDelegate.controller(_:didChangeContentWith:)
  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {}
  // tsv: NSFetchedResultsControllerDelegate.controller(_:sectionIndexTitleForSectionName:)
  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String? { nil }
}

private func fetchedResults(_ request: NSFetchRequest<Bird>, _ context: NSManagedObjectContext, _ bird: Bird)
  throws
{
  // tsv: (global).NSFetchedResultsController
  // tsv: NSFetchedResultsController.init(fetchRequest:managedObjectContext:sectionNameKeyPath:cacheName:)
  let controller = NSFetchedResultsController(
    fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
  let delegate = Everything()
  controller.delegate = delegate  // tsv: NSFetchedResultsController.delegate
  try controller.performFetch()  // tsv: NSFetchedResultsController.performFetch()
  let objects: [Bird]? = controller.fetchedObjects  // tsv: NSFetchedResultsController.fetchedObjects
  let object: Bird = controller.object(at: IndexPath(row: 0, section: 0))  // tsv: NSFetchedResultsController.object(at:)
  let path: IndexPath? = controller.indexPath(forObject: bird)  // tsv: NSFetchedResultsController.indexPath(forObject:)
  let sections: [NSFetchedResultsSectionInfo]? = controller.sections  // tsv: NSFetchedResultsController.sections; (global).NSFetchedResultsSectionInfo
  let titles: [String] = controller.sectionIndexTitles  // tsv: NSFetchedResultsController.sectionIndexTitles
  let title: String? = controller.sectionIndexTitle(forSectionName: "a")  // tsv: NSFetchedResultsController.sectionIndexTitle(forSectionName:)
  // tsv: NSFetchedResultsController.section(forSectionIndexTitle:at:)
  let section: Int = controller.section(forSectionIndexTitle: "A", at: 0)
  NSFetchedResultsController<Bird>.deleteCache(withName: nil)  // tsv: NSFetchedResultsController.deleteCache(withName:)
  let parts: [Any?] = [
    controller.cacheName,  // tsv: NSFetchedResultsController.cacheName
    controller.fetchRequest,  // tsv: NSFetchedResultsController.fetchRequest
    controller.managedObjectContext,  // tsv: NSFetchedResultsController.managedObjectContext
    controller.sectionNameKeyPath,  // tsv: NSFetchedResultsController.sectionNameKeyPath
    sections?[0].name,  // tsv: NSFetchedResultsSectionInfo.name
    sections?[0].indexTitle,  // tsv: NSFetchedResultsSectionInfo.indexTitle
    sections?[0].numberOfObjects,  // tsv: NSFetchedResultsSectionInfo.numberOfObjects
    sections?[0].objects,  // tsv: NSFetchedResultsSectionInfo.objects
  ]
  _ = (objects, object, path, titles, title, section, parts)
}
