import StrataCore

/// A descriptor as a request to the rows.
struct LoweredFetch<T: PersistentModel> {
  /// Without a window when the rows are filtered here.
  private(set) var request: FetchRequest<ManagedObject>
  /// What it was made of.
  let descriptor: FetchDescriptor<T>
  /// What stores of the program's own are asked; nil where there are none.
  let asked: AskedFetch?
  /// A predicate that no store can look up, and that models can answer.
  private let condition: Predicate<T>?
  private let limit: Int?
  private let offset: Int

  /// Whether the rows have to be looked at one by one.
  var isFinishedHere: Bool { condition != nil }
  /// Whether no row is wanted at all.
  let isEmpty: Bool

  /// - Throws: ``SwiftDataError``: `unsupportedSortDescriptor`, `unsupportedKeyPath`, `unknownSchema` for a class that the container does not have.
  init(_ descriptor: FetchDescriptor<T>, _ context: ModelContext, inMemory condition: Predicate<T>? = nil)
    throws
  {
    let model = ModelDescriptor.of(T.self)
    let rows = context.rows
    // K17: the rows of the entity are of the class that the schema has for it.
    guard context.core.holds(T.self) else {
      let known = context.core.schema.type(forEntity: model.entityName)
      throw SwiftDataError(
        .unknownSchema,
        "\(String(reflecting: T.self)) is in no schema of the container"
          + (known.map { ", whose models \(model.entityName) are of the class \(String(reflecting: $0))" }
            ?? ""))
    }
    request = FetchRequest(entityName: model.entityName)
    self.descriptor = descriptor
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
    request.sortDescriptors = try descriptor.sortBy.map { try SortLowering.lowered($0, model, rows) }
    // What identifiers stand for is known here.
    let written = request
    request = try IdentifierScope.with(context) { try rows.spelledOut(written) }
    if context.core.ownStores.isEmpty {
      asked = nil
    } else {
      var plain = descriptor
      if condition != nil { plain.predicate = nil }
      asked = AskedFetch(plain, as: request)
      // What others have written to such a store nobody has told the context.
      request.shouldRefreshRefetchedObjects = true
    }
    request.relationshipKeyPathsForPrefetching = try descriptor.relationshipKeyPathsForPrefetching.map {
      try Names.name(of: $0, model, rows, in: .prefetching)
    }
    if condition == nil {
      request.fetchLimit = limit ?? 0
      request.fetchOffset = offset
    }
  }

  /// What the rows that were found come to, as models.
  ///
  /// - Throws: what evaluating the predicate throws.
  func finish(_ models: [T]) throws -> [T] {
    guard let condition else { return models }
    let rest = try models.filter { try condition.evaluate($0) }.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }
}

/// The names of properties that key paths of models lead to.
enum Names {
  /// - Parameter place: Where in a fetch the key path stands.
  /// - Throws: ``SwiftDataError/unsupportedKeyPath`` for a key path that leads to no stored property.
  static func name(
    of keyPath: AnyKeyPath, _ model: ModelDescriptor, _ rows: RowContext,
    in place: PredicateTranslationError.Place
  ) throws -> String {
    if let name = model.path(for: keyPath) { return name }
    do {
      return try PredicateTranslationError.naming(place) {
        try rows.name(of: keyPath, fromEntity: model.entityName)
      }
    } catch {
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
