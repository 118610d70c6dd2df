import Foundation

extension ManagedObjectContext {
  /// Chosen values of the objects of a class that satisfy a condition, as a type of one's own: what a function makes of them, an initialiser for instance.
  ///
  ///     struct Row { let title: String, pages: Int64 }
  ///     let rows = try context.fetch(Book.self, values: \.title, \.pages, as: Row.init, sortedBy: \.title)
  ///
  /// The values are those of the fetch without `as:`, handed over in their order after all rows have been read. No object is made or registered, and unsaved changes
  /// take no part. On the context's queue.
  ///
  /// - Parameters:
  ///   - type: The class, which one entity of the model has.
  ///   - first: The first value.
  ///   - others: The other values, in their order.
  ///   - make: What is called with the values of each object.
  ///   - condition: What is true of the objects; nil for all objects.
  ///   - order: The sort keys. Without any, the order is unspecified.
  ///   - limit: At most this many; nil for no limit, 0 for none.
  ///   - offset: How many are left out before the first.
  ///   - distinct: Whether equal stored values come once.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for a key path that leads to no value; what `fetch(_:)` throws for rows of values.
  public func fetch<T: ManagedObject, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: FetchPredicate? = nil, sortedBy order: FetchOrder<T> = [], limit: Int? = nil,
    offset: Int = 0, distinct: Bool = false
  ) throws -> [Row] {
    try values(
      condition, order.sorts, limit, offset, distinct, first, repeat each others, as: make)
  }

  /// The same with a `#Predicate`.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: Predicate<T>?, sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0,
    distinct: Bool = false
  ) throws -> [Row] {
    try values(
      condition.map { FetchPredicate($0) }, order.sorts, limit, offset, distinct, first, repeat each others,
      as: make)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  public func fetch<T: ManagedObject, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: FetchPredicate? = nil, sortedBy order: [SortDescriptor<T>], limit: Int? = nil,
    offset: Int = 0, distinct: Bool = false
  ) throws -> [Row] {
    try values(
      condition, FetchOrder(order).sorts, limit, offset, distinct, first, repeat each others, as: make)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: Predicate<T>?, sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0,
    distinct: Bool = false
  ) throws -> [Row] {
    try values(
      condition.map { FetchPredicate($0) }, FetchOrder(order).sorts, limit, offset, distinct, first,
      repeat each others, as: make)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  public func fetch<T: ManagedObject, Key, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: FetchPredicate? = nil, sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil,
    offset: Int = 0, distinct: Bool = false
  ) throws -> [Row] {
    try values(
      condition, [FetchSort(order)], limit, offset, distinct, first, repeat each others, as: make)
  }

  /// The same with a `#Predicate`, in the order of one attribute, small values first.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, Key, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: Predicate<T>?, sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil,
    offset: Int = 0, distinct: Bool = false
  ) throws -> [Row] {
    try values(
      condition.map { FetchPredicate($0) }, [FetchSort(order)], limit, offset, distinct, first,
      repeat each others, as: make)
  }
}
