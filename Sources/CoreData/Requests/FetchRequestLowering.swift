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
    let condition = try predicate.map(lowering.predicate)
    let sorts = try (sortDescriptors ?? []).map { try $0.lowered(for: context, entityName: name) }
    let isSortedHere = sorts.contains { !$0.isExact }
    return try lowered(
      name, lowering,
      StoresShare(
        predicate: condition, sorts: sorts.map(\.sort), descriptors: isSortedHere ? sortDescriptors ?? [] : []
      ))
  }

  /// The same where a part of the predicate or the order is left to the context: nothing but memory can work it out. Nil when nothing has to be, or when
  /// a store that is asked is neither in memory nor atomic.
  ///
  /// - Parameter affected: The stores that are asked; nil for all that hold the entity.
  /// - Throws: `FetchError`, `CoreDataError` for what cannot be worked out in memory either, unknown keys among it.
  func loweredForMemory(in context: NSManagedObjectContext, affected: Set<UUID>?) throws -> LoweredFetch? {
    let name = try resolvedEntityName(in: context)
    guard context.asksMemoryOnly(name, affected), let entity = context.fetchedModel?.entitiesByName[name]
    else { return nil }
    let division = MemoryDivision(context, entity)
    var share = StoresShare(isForMemory: true)
    var (stored, rest) = ([FetchPredicate](), [NSPredicate]())
    for part in predicate?.conjuncts ?? [] {
      if let tree = try division.stored(part) { stored.append(tree) } else { rest.append(part) }
    }
    share.predicate = stored.isEmpty ? nil : .and(stored)
    share.filter = rest.count > 1 ? NSCompoundPredicate(andPredicateWithSubpredicates: rest) : rest.first
    for descriptor in sortDescriptors ?? [] {
      if let sort = try division.stored(descriptor) {
        share.sorts.append(sort)
      } else {
        share.descriptors = sortDescriptors ?? []
      }
    }
    if share.filter == nil, share.descriptors.isEmpty { return nil }
    if !share.descriptors.isEmpty { share.sorts = [] }
    return try lowered(name, FetchLowering(context: context), share)
  }

  private func lowered(_ name: String, _ lowering: FetchLowering, _ share: StoresShare) throws -> LoweredFetch
  {
    var request = FetchRequest<ManagedObjectID>(entityName: name)
    request.predicate = share.predicate
    request.includesSubentities = includesSubentities
    request.includesPropertyValues = includesPropertyValues
    request.returnsObjectsAsFaults = returnsObjectsAsFaults
    request.includesPendingChanges = includesPendingChanges
    request.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
    request.returnsDistinctResults = returnsDistinctResults
    request.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching ?? []
    // The context looks at all of them.
    request.fetchBatchSize = share.isForMemory ? min(fetchBatchSize, 0) : fetchBatchSize
    request.affectedStores = affectedStoreIdentifiers
    request.propertiesToFetch = try (propertiesToFetch ?? []).map { try column($0, lowering) }
    request.propertiesToGroupBy = try (propertiesToGroupBy ?? []).map { try column($0, lowering) }
    request.havingPredicate = try havingPredicate.map(lowering.predicate)
    request.sortDescriptors = share.sorts
    let isWindowedHere = share.filter != nil || !share.descriptors.isEmpty
    // A window that is none is refused by the store, whoever cuts it.
    if !isWindowedHere || fetchLimit < 0 || fetchOffset < 0 {
      request.fetchLimit = fetchLimit
      request.fetchOffset = fetchOffset
    }
    return LoweredFetch(
      request: request, filter: share.filter, descriptors: share.descriptors, limit: fetchLimit,
      offset: fetchOffset, isForMemory: share.isForMemory)
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

/// What of a request is left to its stores, and what to the context.
private struct StoresShare {
  var predicate: FetchPredicate?
  var sorts: [FetchSort] = []
  var filter: NSPredicate?
  var descriptors: [NSSortDescriptor] = []
  var isForMemory = false
}

/// A fetch request as a value.
struct LoweredFetch {
  var request: FetchRequest<ManagedObjectID>
  /// What the context asks the objects that the stores find; nil when the stores decide it all.
  let filter: NSPredicate?
  /// Not empty when the store's order is not the one that is asked for: then the store cuts no window either.
  let descriptors: [NSSortDescriptor]
  private(set) var limit: Int
  private(set) var offset: Int
  /// Whether all stores that are asked are in memory or atomic, and the context does what they cannot.
  let isForMemory: Bool

  var isSortedHere: Bool { !descriptors.isEmpty }
  private var isWindowedHere: Bool { isSortedHere || filter != nil }

  /// The objects behind rows of values, all of them, by what is stored: rows show nothing else (rule 88).
  var objectsOfRows: LoweredFetch {
    var copy = self
    (copy.limit, copy.offset) = (0, 0)
    copy.request.includesPendingChanges = false
    copy.request.propertiesToFetch = []
    copy.request.propertiesToGroupBy = []
    copy.request.havingPredicate = nil
    copy.request.returnsDistinctResults = false
    return copy
  }

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
      "\(what) cannot sort texts by a SortDescriptor, nor by a function of your own: no store has its order. "
        + "Use NSSortDescriptor(key:ascending:selector:).")
  }

  /// Of all that the stores have found what the filter leaves, in the order that is asked for, and the window of it.
  /// - Throws: `CoreDataError` 134060 for what would stop the process in `evaluate(with:)`.
  func window<Element>(_ elements: [Element]) throws -> [Element] {
    guard isWindowedHere else { return elements }
    let found = try ValueReading.reading { reading in
      let matching = try left(elements, reading)
      return isSortedHere ? SortedElements.sorted(matching, by: descriptors) : matching
    }
    let rest = found.dropFirst(offset)
    return Array(limit > 0 ? rest.prefix(limit) : rest)
  }

  /// What the filter leaves.
  private func left<Element>(_ elements: [Element], _ reading: ValueReading) throws -> [Element] {
    guard let filter else { return elements }
    return try elements.filter { element in
      let isTrue = filter.evaluate(with: element)
      try reading.check()
      return isTrue
    }
  }
}

extension ManagedObjectContext {
  /// The model that fetches of the context are about.
  var fetchedModel: NSManagedObjectModel? { persistentStoreCoordinator?.managedObjectModel }
}
