import Foundation

extension ManagedObjectContext {
  /// The values of the objects of a class that satisfy a condition, in an order; unsaved changes included.
  ///
  ///     let books = try context.fetch(Book.Value.self, where: Attribute("pages") > 300, sortedBy: .reverse(\.published), limit: 20)
  ///
  /// They are what ``ManagedValue/init(_:)`` makes of the objects, which are not made: what the context has objects of shows their values of now, every other value
  /// is read from its row. `awakeFromFetch()` is called for none of these. Only of what other contexts of the family have not saved to the store objects are
  /// made. Members of relationships are read for a thousand rows at once, of the commit that the rows are of; in a context with a parent, or whose children have
  /// saved into it, owner by owner, of the newest commit. A stored value that cannot be read, or is none of its property's type, is told to
  /// ``readFailureHandler``, as it is for objects. On the context's queue.
  ///
  /// - Parameters:
  ///   - type: The value of a class, which one entity of the model has.
  ///   - condition: What is true of the objects; nil for all objects.
  ///   - order: The sort keys. Without any, the order is unspecified.
  ///   - limit: At most this many values; nil for no limit, 0 for none.
  ///   - offset: How many matching objects are left out before the first.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a key path that leads to no stored property.
  public func fetch<Value: ManagedValue>(
    _ type: Value.Type, where condition: FetchPredicate? = nil, sortedBy order: FetchOrder<Value.Object> = [],
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try values(condition, order.sorts, limit, offset)
  }

  private func values<Value: ManagedValue>(
    _ condition: FetchPredicate?, _ order: [FetchSort], _ limit: Int?, _ offset: Int
  ) throws -> [Value] {
    var request = FetchRequest<Value.Object>(
      predicate: condition, sortDescriptors: order, fetchOffset: offset)
    request.fetchLimit = limit ?? 0
    let specification = try specification(of: request)
    try checkResultType(Value.Object.self, specification.entityName)
    if limit == 0 {
      // Whatever is wrong with the request is told all the same.
      _ = try resolved(specification)
      return []
    }
    return try ContextFetch(specification, in: self).values(of: Value.self)
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<Value: ManagedValue>(
    _ type: Value.Type, where condition: Predicate<Value.Object>?,
    sortedBy order: FetchOrder<Value.Object> = [], limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try values(condition.map { FetchPredicate($0) }, order.sorts, limit, offset)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a sort descriptor that no store knows.
  public func fetch<Value: ManagedValue>(
    _ type: Value.Type, where condition: FetchPredicate? = nil,
    sortedBy order: [SortDescriptor<Value.Object>], limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try values(condition, FetchOrder(order).sorts, limit, offset)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<Value: ManagedValue>(
    _ type: Value.Type, where condition: Predicate<Value.Object>?,
    sortedBy order: [SortDescriptor<Value.Object>], limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try values(condition.map { FetchPredicate($0) }, FetchOrder(order).sorts, limit, offset)
  }

  /// The same in the order of one attribute, small values first: `sortedBy: \.title`.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a key path that leads to no stored property.
  public func fetch<Value: ManagedValue, Key>(
    _ type: Value.Type, where condition: FetchPredicate? = nil,
    sortedBy order: KeyPath<Value.Object, Key> & Sendable, limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try values(condition, [FetchSort(order)], limit, offset)
  }

  /// The same with a `#Predicate`, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<Value: ManagedValue, Key>(
    _ type: Value.Type, where condition: Predicate<Value.Object>?,
    sortedBy order: KeyPath<Value.Object, Key> & Sendable, limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try values(condition.map { FetchPredicate($0) }, [FetchSort(order)], limit, offset)
  }
}
