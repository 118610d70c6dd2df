import StrataCore

extension ManagedObjectContext {
  /// What `request` finds, in its order, unsaved changes included (rules 86–93). On the context's queue.
  ///
  /// - Throws: 134060 for an unknown entity or key or a value of the wrong type, with the sentence, and when the results are not of type `T`, and for a
  ///   predicate or an order that no store can look up, such as a block: unless all stores that are asked are in memory or atomic, where it is worked out with the objects. `StorageError`
  ///   when the store cannot be read.
  public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] {
    try cocoa {
      if request.resultType == .managedObjectResultType,
        let objects = try fetching(request, objects).typed(T.self)
      {
        return objects
      }
      let found = try found(request)
      guard let results = found as? [T] else {
        let kind = found.first.map { "\(type(of: $0))" } ?? "?"
        throw CoreDataError(.coreData, "The fetched values are of type \(kind), not \(T.self).")
      }
      return results
    }
  }

  /// The same for a request that does not say what it returns.
  /// - Throws: as `fetch(_:)` of a typed request.
  public func fetch(_ request: NSFetchRequest<any NSFetchRequestResult>) throws -> [Any] {
    try cocoa { try found(request) }
  }

  /// How many results `fetch` would return (rule 91). On the context's queue.
  /// - Throws: what `fetch` throws.
  public func count<T>(for request: NSFetchRequest<T>) throws -> Int { try cocoa { try counted(request) } }

  /// The same for a request that does not say what it returns.
  /// - Throws: what `fetch` throws.
  public func count(for request: NSFetchRequest<any NSFetchRequestResult>) throws -> Int {
    try cocoa { try counted(request) }
  }

  /// Executes a request: where a store cannot look it up, and all that are asked are in memory or atomic, once more with that part left to the context. Every
  /// kind of fetch begins here.
  ///
  /// - Parameter affected: The stores that are asked; nil for those that the request names.
  func fetching<Found>(
    _ request: NSFetchRequestDescription, affected: Set<UUID>? = nil, _ body: (LoweredFetch) throws -> Found
  ) throws -> Found {
    do { return try body(try request.lowered(for: self)) } catch {
      guard
        error is FetchError || error is PredicateArgumentError
          || (error as? CoreDataError)?.code == .coreData,
        let lowered = try request.loweredForMemory(
          in: self, affected: affected ?? request.affectedStoreIdentifiers)
      else { throw error }
      return try body(lowered)
    }
  }

  func counted(_ request: NSFetchRequestDescription) throws -> Int {
    try fetching(request) { try counted($0, request) }
  }

  private func counted(_ lowered: LoweredFetch, _ request: NSFetchRequestDescription) throws -> Int {
    if request.resultType == .dictionaryResultType { return try count(for: rows(lowered)) }
    if lowered.filter != nil { return try objects(lowered).count }
    var plain = lowered.request
    plain.fetchLimit = lowered.limit
    plain.fetchOffset = lowered.offset
    return try count(for: plain)
  }

  func found(_ request: NSFetchRequestDescription) throws -> [Any] {
    if request.resultType == .countResultType { return [NSNumber(value: try counted(request))] }
    return try fetching(request) { try found($0, request) }
  }

  /// The same for a request whose names are looked up.
  func found(_ lowered: LoweredFetch, _ request: NSFetchRequestDescription) throws -> [Any] {
    switch request.resultType {
    case .managedObjectResultType: return try objects(lowered)
    case .managedObjectIDResultType:
      if lowered.isSortedHere || lowered.filter != nil { return try objects(lowered).map(\.objectID) }
      return try fetch(lowered.request)
    case .dictionaryResultType:
      if let rows = try programDictionaries(request) { return rows }
      try lowered.requireStoresOrder("A request for dictionaries")
      return try fetch(rows(lowered)).map { NSDictionary(dictionary: $0.dictionary) }
    case .countResultType: return [NSNumber(value: try counted(lowered, request))]
    default:
      throw CoreDataError(.coreData, "There is no result type \(request.resultType.rawValue).")
    }
  }

  /// What a request for objects finds.
  private func objects(_ lowered: LoweredFetch) throws -> [NSManagedObject] {
    let request = lowered.request.returning(ManagedObject.self)
    // What is registered may be older than what is stored.
    guard lowered.isForMemory, !request.includesPendingChanges,
      hasChanges || parent != nil || !registeredObjects.isEmpty,
      let coordinator = persistentStoreCoordinator
    else { return try lowered.window(try fetch(request)) }
    return try stored(lowered, request, coordinator)
  }

  /// What is found without unsaved changes: by the values of objects that nobody has changed, in a context of their own.
  private func stored(
    _ lowered: LoweredFetch, _ request: FetchRequest<ManagedObject>,
    _ coordinator: NSPersistentStoreCoordinator
  ) throws -> [NSManagedObject] {
    // One with values as Core Data hands them out.
    let unchanged = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    unchanged.persistentStoreCoordinator = coordinator
    var root = self
    while let next = root.parent { root = next }
    if let generation = root.queryGenerationToken {
      try unchanged.StrataCore::setQueryGenerationFrom(generation)
    }
    // Its objects have values as long as it lives.
    let found = try withExtendedLifetime(unchanged) {
      try lowered.window(try unchanged.fetch(request)).map { object(with: $0.objectID) }
    }
    for object in found where request.shouldRefreshRefetchedObjects && !object.isFault {
      refresh(object, mergeChanges: true)
    }
    return found
  }

  /// A request for rows of values: of the objects that the context has decided on, where it decides.
  private func rows(_ lowered: LoweredFetch) throws -> FetchRequest<FetchedDictionary> {
    var request = lowered.request.returning(FetchedDictionary.self)
    request.fetchLimit = lowered.limit
    request.fetchOffset = lowered.offset
    guard lowered.filter != nil else { return request }
    let identifiers = try objects(lowered.objectsOfRows).map(\.objectID)
    request.predicate =
      identifiers.isEmpty
      ? .nothing : .compare(FetchComparison(.evaluatedObject, .in, .objects(identifiers)))
    return request
  }
}
