import StrataCore

extension ManagedObjectContext {
  /// What `request` finds, in its order, unsaved changes included (rules 86–93). On the context's queue.
  ///
  /// - Throws: 134060 for an unknown entity or key or a value of the wrong type, with the sentence, and when the results are not of type `T`, and for a
  ///   predicate that no store can look up; `StorageError` when the store cannot be read.
  public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] {
    try cocoa {
      if request.resultType == .managedObjectResultType, let objects = try objects(request).typed(T.self) {
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

  func counted(_ request: NSFetchRequestDescription) throws -> Int {
    let lowered = try request.lowered(for: self)
    var plain = lowered.request
    if lowered.isSortedHere {
      plain.fetchLimit = lowered.limit
      plain.fetchOffset = lowered.offset
    }
    if request.resultType == .dictionaryResultType {
      return try count(for: plain.returning(FetchedDictionary.self))
    }
    return try count(for: plain)
  }

  /// What a request for objects finds.
  private func objects(_ request: NSFetchRequestDescription) throws -> [NSManagedObject] {
    let lowered = try request.lowered(for: self)
    return lowered.window(try fetch(lowered.request.returning(ManagedObject.self)))
  }

  func found(_ request: NSFetchRequestDescription) throws -> [Any] {
    if request.resultType == .managedObjectResultType { return try objects(request) }
    let lowered = try request.lowered(for: self)
    switch request.resultType {
    case .managedObjectIDResultType:
      if lowered.isSortedHere {
        return lowered.window(try fetch(lowered.request.returning(ManagedObject.self))).map(\.objectID)
      }
      return try fetch(lowered.request)
    case .dictionaryResultType:
      if let rows = try programDictionaries(request) { return rows }
      try lowered.requireStoresOrder("A request for dictionaries")
      let rows = try fetch(lowered.request.returning(FetchedDictionary.self))
      return rows.map { NSDictionary(dictionary: $0.dictionary) }
    case .countResultType: return [NSNumber(value: try counted(request))]
    default:
      throw CoreDataError(.coreData, "There is no result type \(request.resultType.rawValue).")
    }
  }
}
