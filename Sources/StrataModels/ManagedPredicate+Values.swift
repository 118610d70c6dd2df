import Foundation

// Fetches of values that take a `#Predicate`; each is what the one with a FetchPredicate is.
extension ManagedObjectContext {
  /// The values of the objects of a class that satisfy a `#Predicate`, unsaved changes included.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<Value: ManagedValue>(
    _ type: Value.Type, where condition: ManagedPredicate<Value.Object>,
    sortedBy order: FetchOrder<Value.Object> = [],
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try fetch(type, where: FetchPredicate(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<Value: ManagedValue>(
    _ type: Value.Type, where condition: ManagedPredicate<Value.Object>,
    sortedBy order: [SortDescriptor<Value.Object>],
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try fetch(type, where: FetchPredicate(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<Value: ManagedValue, Key>(
    _ type: Value.Type, where condition: ManagedPredicate<Value.Object>,
    sortedBy order: KeyPath<Value.Object, Key> & Sendable,
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try fetch(type, where: FetchPredicate(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// What a function makes of chosen values of the objects of a class that satisfy a `#Predicate`.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: ManagedPredicate<T>, sortedBy order: FetchOrder<T> = [], limit: Int? = nil,
    offset: Int = 0,
    distinct: Bool = false
  ) throws -> [Row] {
    try fetch(
      type, values: first, repeat each others, as: make, where: FetchPredicate(condition), sortedBy: order,
      limit: limit,
      offset: offset, distinct: distinct)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: ManagedPredicate<T>, sortedBy order: [SortDescriptor<T>], limit: Int? = nil,
    offset: Int = 0,
    distinct: Bool = false
  ) throws -> [Row] {
    try fetch(
      type, values: first, repeat each others, as: make, where: FetchPredicate(condition), sortedBy: order,
      limit: limit,
      offset: offset, distinct: distinct)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, Key, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: ManagedPredicate<T>, sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil,
    offset: Int = 0,
    distinct: Bool = false
  ) throws -> [Row] {
    try fetch(
      type, values: first, repeat each others, as: make, where: FetchPredicate(condition), sortedBy: order,
      limit: limit,
      offset: offset, distinct: distinct)
  }
}
