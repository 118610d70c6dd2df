import Foundation
import StrataCore

/// Requests that an incremental store carries out as they are, since only its class knows how.
extension NSManagedObjectContext {
  /// What the incremental store that holds the entity answers; nil where Strata's own stores do. On the context's queue.
  ///
  /// - Throws: what the class throws; `CoreDataError` 134091 when atomic stores are concerned, which carry out no batches, or stores of several kinds.
  func programAnswer(_ request: NSPersistentStoreRequest, entityName: String) throws -> Any? {
    guard let coordinator = persistentStoreCoordinator else { return nil }
    let engines = coordinator.engines
    if !engines.contains(where: { $0 is ProgramEngine }) { return nil }
    let holders = coordinator.holders(of: entityName, among: request.affectedStoreIdentifiers)
    let own = holders.compactMap { $0 as? ProgramEngine }
    guard let engine = own.first else { return nil }
    guard holders.count == 1, let store = engine.program as? NSIncrementalStore else {
      throw CoreDataError(
        .persistentStoreUnsupportedRequestType,
        holders.count == 1
          ? "Stores of type \(engine.storeType) carry out no batch requests; change the objects in a context and save it."
          : "\(entityName) is in several stores, one of them of a class of the program's own: name the one that is meant in affectedStores."
      )
    }
    return try engine.lock.withLock {
      try engine.requireOpen()
      return try store.execute(request, with: self)
    }
  }

  /// The same for a batch: the answer is a result.
  func programResult(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult? {
    let name: String? =
      switch request {
      case let insert as NSBatchInsertRequest: insert.entityName
      case let update as NSBatchUpdateRequest: update.entityName
      case let delete as NSBatchDeleteRequest: delete.fetchRequest.entityName
      default: nil
      }
    if let delete = request as? NSBatchDeleteRequest, delete.fetchRequest.entity == nil, let name {
      delete.fetchRequest.entity = fetchedModel?.entitiesByName[name]
    }
    guard let name, let answer = try programAnswer(request, entityName: name) else { return nil }
    guard let result = answer as? NSPersistentStoreResult else {
      throw CoreDataError(
        .persistentStoreOperation,
        "The store of \(name) answers a batch request with \(type(of: answer)), where an NSPersistentStoreResult belongs."
      )
    }
    return result
  }

  /// Rows of values of an incremental store, which makes them itself; nil where Strata makes them.
  func programDictionaries(_ request: NSFetchRequestDescription) throws -> [Any]? {
    guard let name = request.entityName, let coordinator = persistentStoreCoordinator,
      coordinator.engines.contains(where: { ($0 as? ProgramEngine)?.program is NSIncrementalStore })
    else { return nil }
    let spelled = NSFetchRequest<any NSFetchRequestResult>(request)
    if spelled.entity == nil { spelled.entity = fetchedModel?.entitiesByName[name] }
    guard let answer = try programAnswer(spelled, entityName: name) else { return nil }
    guard
      let rows = answer as? [NSDictionary]
        ?? (answer as? [[String: Any]])?.map({ NSDictionary(dictionary: $0) })
    else {
      throw CoreDataError(
        .persistentStoreOperation,
        "The store of \(name) answers a request for dictionaries with \(type(of: answer)), where an array of dictionaries belongs."
      )
    }
    return rows
  }
}

extension NSPersistentStoreCoordinator {
  /// The stores that hold an entity.
  /// - Parameter affected: Which stores are asked; nil for all.
  func holders(of entityName: String, among affected: Set<UUID>?) -> [any StoreEngine] {
    engines.filter { engine in
      guard affected?.contains(engine.identifier) ?? true else { return false }
      guard let name = engine.configurationName else { return true }
      let entities = managedObjectModel.entities(forConfigurationName: name)
      return entities?.contains { $0.name == entityName } ?? false
    }
  }
}
