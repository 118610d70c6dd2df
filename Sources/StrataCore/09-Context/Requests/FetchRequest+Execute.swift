import Foundation

extension FetchRequest: PersistentStoreRequest {
  /// A fetch.
  public var requestType: PersistentStoreRequestType { .fetch }

  /// What `context.fetch` returns for the request.
  /// - Throws: what `context.fetch(_:)` throws.
  public func outcome(in context: ManagedObjectContext) throws -> [Result] {
    try context.results(of: self)
  }

  /// What `context.fetch` returns for the request, `context` being the one whose `perform` or `performAndWait` block is running
  /// on the calling thread, the innermost one if there are several (rule 104).
  ///
  /// - Throws: `CoreDataError` 134060 outside of such a block; what `context.fetch` throws.
  public func execute() throws -> [Result] {
    guard let context = ThreadScope.current.current else {
      throw CoreDataError(
        .coreData,
        "FetchRequest.execute() was called outside of perform and performAndWait, so it is not known which context is meant; "
          + "call fetch(_:) on the context instead.")
    }
    return try context.results(of: self)
  }
}

extension FetchRequest where Result: ManagedObject {
  /// A request for objects of the class `Result`, of whichever entity has that class in the model of the context that executes
  /// it: `FetchRequest<Flight>()`.
  ///
  /// Executing it throws when no entity, or more than one, has the class; name the entity then.
  public init(
    predicate: FetchPredicate? = nil, sortDescriptors: [FetchSort] = [], fetchLimit: Int = 0,
    fetchOffset: Int = 0
  ) {
    self.init(
      entityName: "", predicate: predicate, sortDescriptors: sortDescriptors, fetchLimit: fetchLimit,
      fetchOffset: fetchOffset)
  }
}

extension ManagedObjectContext {
  /// The context whose `perform` or `performAndWait` block is running on the calling thread, the innermost one (rule 104).
  package static var performing: ManagedObjectContext? { ThreadScope.current.current }

  /// How many objects match `request`, as an array of one number (rule 91).
  /// - Throws: what `fetch(_:)` throws for objects.
  public func fetch(_ request: FetchRequest<Int>) throws -> [Int] { [try count(for: request)] }

  /// What `request` finds, whatever it is for.
  func results<Result: FetchRequestResult>(of request: FetchRequest<Result>) throws -> [Result] {
    let specification = try specification(of: request)
    switch Result.fetchResultType {
    case .managedObject: return try cast(try fetchObjects(specification))
    case .managedObjectID: return try cast(try fetchIdentifiers(specification))
    case .dictionary: return try cast(try fetchDictionaries(specification))
    case .count: return try cast([try count(of: specification, Result.fetchResultType)])
    }
  }

  /// Values under the type a request was made for.
  func cast<Result: FetchRequestResult>(_ values: [some FetchRequestResult]) throws -> [Result] {
    try values.map { value in
      guard let result = value as? Result else {
        throw CoreDataError(
          .coreData, "The fetched values are of type \(type(of: value)), not \(Result.self).")
      }
      return result
    }
  }

  /// The request without its result type, checked for what it asks of results of that type.
  ///
  /// - Throws: `FetchError`; `CoreDataError` 134060 when a class stands for no entity or for several.
  func specification<Result: FetchRequestResult>(
    of request: FetchRequest<Result>
  ) throws -> FetchSpecification {
    var specification = request.specification
    if specification.entityName.isEmpty,
      let type = (request.subject ?? Result.self) as? ManagedObject.Type
    {
      specification.entityName = try entityName(of: type)
    }
    specification = try specification.spelledOut(schema)
    if Result.fetchResultType != .dictionary { try checkColumns(of: specification) }
    return specification
  }

  func entityName(of type: ManagedObject.Type) throws -> String {
    let key = ObjectIdentifier(type)
    if let entity = classes.entities[key] { return entity.name }
    throw CoreDataError(
      .coreData,
      classes.ambiguous.contains(key)
        ? "Several entities of the model have objects of class \(type); make the fetch request with an entity's name."
        : "No entity of the model has objects of class \(type).")
  }

  /// What only rows of values can have (rule 98), and names that must be the entity's (rules 96, 102).
  private func checkColumns(of specification: FetchSpecification) throws {
    func refuse(_ reason: FetchError.Reason, _ key: String?) -> FetchError {
      FetchError(reason: reason, entityName: specification.entityName, key: key)
    }
    if let column = specification.propertiesToGroupBy.first {
      throw refuse(.needsDictionaries("propertiesToGroupBy"), column.name)
    }
    if specification.havingPredicate != nil { throw refuse(.needsDictionaries("havingPredicate"), nil) }
    guard !specification.propertiesToFetch.isEmpty,
      let entity = schema.entity(named: specification.entityName)
    else { return }
    for column in specification.propertiesToFetch {
      guard case .property(let name) = column else {
        throw refuse(.needsDictionaries("an expression in propertiesToFetch"), column.name)
      }
      let first = String(name.prefix { $0 != "." })
      guard let slot = entity.slot(named: name) ?? entity.slot(named: first) else {
        var error = refuse(.unknownKey, name)
        error.similarKey = entity.similarProperty(name)
        throw error
      }
      if entity.relationship(slot: slot)?.isToMany == true { throw refuse(.toManyColumn, name) }
    }
  }
}
