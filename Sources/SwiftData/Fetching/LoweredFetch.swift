import StrataCore

/// A descriptor as a request to the rows.
struct LoweredFetch<T: PersistentModel> {
  /// Without a window when the rows are filtered or sorted here.
  var request: FetchRequest<ManagedObject>
  /// The order that no store has.
  private let order: ModelOrder<T>?
  /// A predicate that no store can look up, and that models can answer.
  private let condition: Predicate<T>?
  private let limit: Int?
  private let offset: Int

  /// Whether the rows have to be looked at one by one.
  var isFinishedHere: Bool { order != nil || condition != nil }
  /// Whether no row is wanted at all.
  let isEmpty: Bool

  /// - Throws: ``SwiftDataError``: `unsupportedSortDescriptor`, `unsupportedKeyPath`.
  init(_ descriptor: FetchDescriptor<T>, _ context: ModelContext, inMemory condition: Predicate<T>? = nil)
    throws
  {
    let model = ModelDescriptor.of(T.self)
    let rows = context.rows
    request = FetchRequest(entityName: model.entityName)
    self.condition = condition
    limit = descriptor.fetchLimit
    offset = Swift.max(descriptor.fetchOffset ?? 0, 0)
    isEmpty = descriptor.fetchLimit == 0
    if condition == nil {
      request.predicate = descriptor.predicate.map { predicate in
        FetchPredicate(standIn: predicate) { CompositeNames.name(of: $0) }
      }
    }
    request.includesPendingChanges = descriptor.includePendingChanges
    var sorts: [FetchSort] = []
    var isExact = true
    for sort in descriptor.sortBy {
      let lowered = try SortLowering.lowered(sort, model, rows)
      sorts.append(lowered.sort)
      isExact = isExact && lowered.isExact
    }
    request.sortDescriptors = isExact ? sorts : []
    // What identifiers stand for is known here.
    let asked = request
    request = try IdentifierScope.with(context) { try rows.spelledOut(asked) }
    order = isExact ? nil : try ModelOrder(descriptor.sortBy)
    request.relationshipKeyPathsForPrefetching = try descriptor.relationshipKeyPathsForPrefetching.map {
      try Names.name(of: $0, model, rows)
    }
    if order == nil, condition == nil {
      request.fetchLimit = limit ?? 0
      request.fetchOffset = offset
    }
  }

  /// What the rows that were found come to, as models.
  ///
  /// - Throws: what evaluating the predicate throws.
  func finish(_ models: [T]) throws -> [T] {
    guard isFinishedHere else { return models }
    var models = models
    if let condition { models = try models.filter { try condition.evaluate($0) } }
    if let order { models = order.sorted(models) }
    let rest = models.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }
}

/// The names of properties that key paths of models lead to.
enum Names {
  /// - Throws: ``SwiftDataError/unsupportedKeyPath`` for a key path that leads to no stored property.
  static func name(of keyPath: AnyKeyPath, _ model: ModelDescriptor, _ rows: RowContext) throws -> String {
    if let name = model.path(for: keyPath) { return name }
    do { return try rows.name(of: keyPath, fromEntity: model.entityName) } catch {
      throw SwiftDataError(.unsupportedKeyPath, "\(error)", underlying: error)
    }
  }
}

/// The names of fields that key paths of structures lead to which composite attributes hold.
enum CompositeNames {
  static func name(of keyPath: AnyKeyPath) -> String? {
    AttributeStorage.of(type(of: keyPath).rootType).elementName(for: keyPath)
  }
}
