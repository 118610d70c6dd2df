import StrataCore

extension NSFetchRequestDescription {
  /// The request as a value, for a context's model; and the order to bring the results into, where a store cannot.
  ///
  /// - Throws: `FetchError`, `CoreDataError` for what cannot be fetched.
  func lowered(for context: NSManagedObjectContext) throws -> LoweredFetch {
    try lowered(entityName: try resolvedEntityName(in: context), context)
  }

  /// The request as a model keeps it.
  func template() throws -> FetchRequest<ManagedObjectID> {
    guard let entityName else { throw CoreDataError(.coreData, "the request has no entity") }
    let lowered = try lowered(entityName: entityName, nil)
    if lowered.isSortedHere { throw CoreDataError(.coreData, "it sorts texts by a SortDescriptor") }
    return lowered.request
  }

  private func lowered(entityName name: String, _ context: NSManagedObjectContext?) throws -> LoweredFetch {
    let lowering = FetchLowering(context: context)
    var request = FetchRequest<ManagedObjectID>(entityName: name)
    request.predicate = try predicate.map(lowering.predicate)
    request.includesSubentities = includesSubentities
    request.includesPropertyValues = includesPropertyValues
    request.returnsObjectsAsFaults = returnsObjectsAsFaults
    request.includesPendingChanges = includesPendingChanges
    request.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
    request.returnsDistinctResults = returnsDistinctResults
    request.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching ?? []
    request.fetchBatchSize = fetchBatchSize
    request.affectedStores = affectedStoreIdentifiers
    request.propertiesToFetch = try (propertiesToFetch ?? []).map { try column($0, lowering) }
    request.propertiesToGroupBy = try (propertiesToGroupBy ?? []).map { try column($0, lowering) }
    request.havingPredicate = try havingPredicate.map(lowering.predicate)
    let sorts = try (sortDescriptors ?? []).map { try $0.lowered(for: context, entityName: name) }
    request.sortDescriptors = sorts.map(\.sort)
    let isSortedHere = sorts.contains { !$0.isExact }
    if !isSortedHere {
      request.fetchLimit = fetchLimit
      request.fetchOffset = fetchOffset
    }
    return LoweredFetch(
      request: request, descriptors: isSortedHere ? sortDescriptors ?? [] : [], limit: fetchLimit,
      offset: fetchOffset)
  }

  private func resolvedEntityName(in context: NSManagedObjectContext) throws -> String {
    if context.persistentStoreCoordinator == nil {
      throw CoreDataError(
        .coreData,
        "A fetch request cannot be executed: the context has no coordinator; set persistentStoreCoordinator or parent."
      )
    }
    let name: String
    if let givenName {
      name = givenName
    } else if let objectClass {
      name = try context.nameOfEntity(ofClass: objectClass)
    } else {
      throw CoreDataError(.coreData, "A fetch request without an entity cannot be executed.")
    }
    if entity == nil, let found = context.fetchedModel?.entitiesByName[name] { entity = found }
    return name
  }

  private func column(_ property: Any, _ lowering: FetchLowering) throws -> FetchColumn {
    switch property {
    case let name as String: return .property(name)
    case let description as NSExpressionDescription:
      guard let expression = description.expression else {
        throw CoreDataError(.coreData, "The column “\(description.name)” has no expression.")
      }
      return .expression(
        description.name, try lowering.expression(expression), description.StrataCore::expressionResultType)
    case let description as PropertyDescription: return .property(description.name)
    default:
      throw CoreDataError(
        .coreData,
        "A column is the name of a property, an NSPropertyDescription or an NSExpressionDescription, no \(type(of: property))."
      )
    }
  }
}

/// A fetch request as a value.
struct LoweredFetch {
  let request: FetchRequest<ManagedObjectID>
  /// Not empty when the store's order is not the one that is asked for: then the store cuts no window either.
  let descriptors: [NSSortDescriptor]
  let limit: Int
  let offset: Int

  var isSortedHere: Bool { !descriptors.isEmpty }

  /// A window of an order that the store cannot make is known only when all objects have been sorted.
  /// - Throws: `CoreDataError` 134060 when there is such a window: without it, `what` would take all.
  func requireStoresWindow(_ what: String) throws {
    guard isSortedHere, limit > 0 || offset > 0 else { return }
    throw CoreDataError(
      .coreData,
      "The window of \(what) is in an order that no store can make: it sorts texts by a SortDescriptor. "
        + "Use NSSortDescriptor(key:ascending:selector:), or fetch the IDs first. Nothing was done.")
  }

  /// What must come from the store in order, since it is not all at hand or no objects: `what`.
  /// - Throws: `CoreDataError` 134060.
  func requireStoresOrder(_ what: String) throws {
    guard isSortedHere else { return }
    throw CoreDataError(
      .coreData,
      "\(what) cannot sort texts by a SortDescriptor: no store has its order. "
        + "Use NSSortDescriptor(key:ascending:selector:).")
  }

  /// All that the store has found, in the order that is asked for, and the window of it.
  func window<Element>(_ elements: [Element]) -> [Element] {
    guard isSortedHere else { return elements }
    let sorted = SortedElements.sorted(elements, by: descriptors).dropFirst(offset)
    return Array(limit > 0 ? sorted.prefix(limit) : sorted)
  }
}

extension ManagedObjectContext {
  /// The model that fetches of the context are about.
  var fetchedModel: NSManagedObjectModel? { persistentStoreCoordinator?.managedObjectModel }
}
