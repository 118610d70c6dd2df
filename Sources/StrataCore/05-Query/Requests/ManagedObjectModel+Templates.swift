// Fetch requests that belong to a model by name (rule 110). They are part of the model in memory: the copy of the model that a
// store keeps does not hold them, and the version hashes of entities do not know of them, so that changing one changes no store.

extension ManagedObjectModel {
  /// Keeps a fetch request under a name, its variables (`$name`) unbound; nil removes the one of that name. Traps when the model
  /// is in use (rule 298).
  public func setFetchRequestTemplate<Result: FetchRequestResult>(
    _ template: FetchRequest<Result>?, forName name: String
  ) {
    templates[name] = template.map { FetchRequestTemplate($0) }
  }

  /// Removes the fetch request of that name. Traps when the model is in use (rule 298).
  public func removeFetchRequestTemplate(forName name: String) { templates[name] = nil }

  /// The fetch request of that name as it was set, variables unbound, for whatever kind of result; nil when there is none (rule 110).
  ///
  ///     let late: FetchRequest<Flight>? = model.fetchRequestTemplate(forName: "Late")
  public func fetchRequestTemplate<Result: FetchRequestResult>(
    forName name: String, returning type: Result.Type = Result.self
  ) -> FetchRequest<Result>? {
    (templates[name] as? FetchRequestTemplate)?.request.returning(type)
  }

  /// A copy of the fetch request of that name with its variables bound, those of its columns, too; nil when there is none (rule 110).
  ///
  /// - Throws: ``PredicateArgumentError`` for a value that cannot stand in a predicate. Variables without a value stay; the fetch throws for
  ///   them.
  public func fetchRequestFromTemplate<Result: FetchRequestResult>(
    withName name: String, substitutionVariables: [String: Any?], returning type: Result.Type = Result.self
  ) throws -> FetchRequest<Result>? {
    guard var request = fetchRequestTemplate(forName: name, returning: type) else { return nil }
    request.predicate = try request.predicate?.withSubstitutionVariables(substitutionVariables)
    request.havingPredicate = try request.havingPredicate?.withSubstitutionVariables(substitutionVariables)
    request.propertiesToFetch = try request.propertiesToFetch.map { try $0.binding(substitutionVariables) }
    request.propertiesToGroupBy = try request.propertiesToGroupBy.map {
      try $0.binding(substitutionVariables)
    }
    return request
  }

  /// All templates by name, as requests for identifiers; `returning(_:)` makes requests for objects of them.
  @_disfavoredOverload public var fetchRequestTemplatesByName: [String: FetchRequest<ManagedObjectID>] {
    templates.compactMapValues { ($0 as? FetchRequestTemplate)?.request }
  }
}

extension FetchColumn {
  /// The column with values in place of its variables.
  fileprivate func binding(_ values: [String: Any?]) throws -> FetchColumn {
    guard case .expression(var description) = self else { return self }
    description.expression = try description.expression.withSubstitutionVariables(values)
    return .expression(description)
  }
}

/// What a model keeps: a request regardless of its kind of result.
private struct FetchRequestTemplate: Sendable {
  let request: FetchRequest<ManagedObjectID>

  init<Result>(_ request: FetchRequest<Result>) { self.request = request.returning(ManagedObjectID.self) }
}
