import StrataCore

// Templates are kept by the model as values (rule 110): what stands in a model cannot be changed through a request that was handed out.

extension ManagedObjectModel {
  /// The fetch request of that name, its variables unbound; nil when there is none (rule 110).
  public func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? {
    fetchRequestTemplate(forName: name, returning: ManagedObjectID.self).map { spelled($0) }
  }

  /// A copy of the fetch request of that name with its variables bound; nil when there is none (rule 110). A value that cannot stand in a
  /// predicate traps.
  public func fetchRequestFromTemplate(withName name: String, substitutionVariables variables: [String: Any])
    -> NSFetchRequest<any NSFetchRequestResult>?
  {
    guard let template = fetchRequestTemplate(forName: name) else { return nil }
    template.predicate = template.predicate?.withSubstitutionVariables(variables)
    template.havingPredicate = template.havingPredicate?.withSubstitutionVariables(variables)
    return template
  }

  /// Keeps a fetch request under a name; nil removes the one of that name. Traps when the model is in use (rule 298), and for a request that
  /// no store could execute.
  public func setFetchRequestTemplate(
    _ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String
  ) {
    guard let fetchRequestTemplate else { return removeFetchRequestTemplate(forName: name) }
    do { setFetchRequestTemplate(try fetchRequestTemplate.template(), forName: name) } catch {
      stop("the fetch request template “\(name)” cannot be kept: \(error)")
    }
  }

  /// All templates by name.
  public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] {
    self.StrataCore::fetchRequestTemplatesByName.mapValues { spelled($0) }
  }

  private func spelled(_ request: FetchRequest<ManagedObjectID>) -> NSFetchRequest<any NSFetchRequestResult> {
    let result = NSFetchRequest<any NSFetchRequestResult>(request)
    result.entity = entitiesByName[request.entityName]
    return result
  }
}

/// A property whose value is what a fetch request finds (rule 111).
public typealias NSFetchedPropertyDescription = FetchedPropertyDescription

extension FetchedPropertyDescription {
  /// What is fetched, as managed objects (rule 111). Traps for a request that no store could execute, and when the model is in use (rule 298).
  public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    get {
      self.StrataCore::fetchRequest.map { NSFetchRequest<any NSFetchRequestResult>($0) }
    }
    set {
      do {
        self.StrataCore::fetchRequest = try newValue?.template()
      } catch { stop("the fetched property “\(name)” cannot have the request: \(error)") }
    }
  }
}

extension NSFetchRequest {
  /// A request that says what a value says.
  convenience init(_ value: FetchRequest<ManagedObjectID>) {
    self.init()
    storedName = value.entityName
    let reader = OpaqueArguments()
    predicate = value.predicate.map(reader.predicate)
    sortDescriptors =
      value.sortDescriptors.isEmpty
      ? nil : value.sortDescriptors.map { KeyedSortDescriptor($0) }
    fetchLimit = value.fetchLimit
    fetchOffset = value.fetchOffset
    fetchBatchSize = value.fetchBatchSize
    includesSubentities = value.includesSubentities
    includesPropertyValues = value.includesPropertyValues
    returnsObjectsAsFaults = value.returnsObjectsAsFaults
    includesPendingChanges = value.includesPendingChanges
    shouldRefreshRefetchedObjects = value.shouldRefreshRefetchedObjects
    returnsDistinctResults = value.returnsDistinctResults
    relationshipKeyPathsForPrefetching =
      value.relationshipKeyPathsForPrefetching.isEmpty ? nil : value.relationshipKeyPathsForPrefetching
    propertiesToFetch = value.propertiesToFetch.isEmpty ? nil : value.propertiesToFetch.map(Self.column)
    propertiesToGroupBy = value.propertiesToGroupBy.isEmpty ? nil : value.propertiesToGroupBy.map(Self.column)
    havingPredicate = value.havingPredicate.map(reader.predicate)
    // A model does not keep the type of the results: what only dictionaries have tells it.
    if !value.propertiesToGroupBy.isEmpty || value.havingPredicate != nil || value.returnsDistinctResults
      || value.propertiesToFetch.contains(where: { if case .expression = $0 { true } else { false } })
    {
      resultType = .dictionaryResultType
    }
  }

  private static func column(_ column: FetchColumn) -> Any {
    switch column {
    case .property(let name): return name
    case .expression(let computed):
      let description = NSExpressionDescription()
      description.name = computed.name
      description.expression = OpaqueArguments().expression(computed.expression)
      description.StrataCore::expressionResultType = computed.expressionResultType
      return description
    }
  }
}
