import Foundation

// Requests in one line. Each is what the request that it makes would be: where a class is named, its entity is looked up in the context's own model,
// and a condition is a tree of predicates or a `#Predicate`. All are called on the context's queue.

extension ManagedObjectContext {
  // MARK: Objects

  /// The objects of a class that satisfy a condition, in an order; unsaved changes included.
  ///
  ///     let long = try context.fetch(Book.self, where: Attribute("pages") > 300, sortedBy: .reverse(\.published), limit: 20)
  ///
  /// - Parameters:
  ///   - type: The class, which one entity of the model has.
  ///   - condition: What is true of the objects; nil for all objects.
  ///   - order: The sort keys. Without any, the order is unspecified.
  ///   - limit: At most this many objects; nil for no limit, 0 for none.
  ///   - offset: How many matching objects are left out before the first.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a key path that leads to no stored property.
  public func fetch<T: ManagedObject>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: FetchOrder<T> = [],
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try asked(condition, order.sorts, limit, offset)
  }

  /// The same with a `#Predicate`:
  ///
  ///     let long = try context.fetch(Book.self, where: #Predicate<Book> { $0.pages > 300 }, sortedBy: .forward(\.title))
  ///
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: FetchOrder<T> = [], limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try asked(condition.map { FetchPredicate($0) }, order.sorts, limit, offset)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a sort descriptor that no store knows.
  public func fetch<T: ManagedObject>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: [SortDescriptor<T>],
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try asked(condition, FetchOrder(order).sorts, limit, offset)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: [SortDescriptor<T>], limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try asked(condition.map { FetchPredicate($0) }, FetchOrder(order).sorts, limit, offset)
  }

  /// The same in the order of one attribute, small values first: `sortedBy: \.title`.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a key path that leads to no stored property.
  public func fetch<T: ManagedObject, V>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: KeyPath<T, V> & Sendable,
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try asked(condition, [FetchSort(order)], limit, offset)
  }

  /// The same with a `#Predicate`, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, V>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: KeyPath<T, V> & Sendable,
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try asked(condition.map { FetchPredicate($0) }, [FetchSort(order)], limit, offset)
  }

  // MARK: The first one

  /// The first object of a class that satisfies a condition, in an order; nil when there is none. Unsaved changes included.
  ///
  /// Reads one row where an index has the order, or when there is none.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a key path that leads to no stored property.
  public func first<T: ManagedObject>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: FetchOrder<T> = []
  ) throws -> T? {
    try firstAsked(condition, order.sorts)
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func first<T: ManagedObject>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: FetchOrder<T> = []
  ) throws -> T? {
    try firstAsked(condition.map { FetchPredicate($0) }, order.sorts)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a sort descriptor that no store knows.
  public func first<T: ManagedObject>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: [SortDescriptor<T>]
  ) throws -> T? {
    try firstAsked(condition, FetchOrder(order).sorts)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func first<T: ManagedObject>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: [SortDescriptor<T>]
  ) throws -> T? {
    try firstAsked(condition.map { FetchPredicate($0) }, FetchOrder(order).sorts)
  }

  /// The same in the order of one attribute, small values first: `sortedBy: \.title`.
  /// - Throws: what `fetch(_:)` throws; ``PredicateTranslationError`` for a key path that leads to no stored property.
  public func first<T: ManagedObject, V>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: KeyPath<T, V> & Sendable
  ) throws -> T? {
    try firstAsked(condition, [FetchSort(order)])
  }

  /// The same with a `#Predicate`, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func first<T: ManagedObject, V>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: KeyPath<T, V> & Sendable
  ) throws -> T? {
    try firstAsked(condition.map { FetchPredicate($0) }, [FetchSort(order)])
  }

  private func firstAsked<T: ManagedObject>(_ condition: FetchPredicate?, _ order: [FetchSort]) throws -> T? {
    let found: [T] = try asked(condition, order, 1, 0)
    return found.first
  }

  private func asked<T: ManagedObject>(
    _ condition: FetchPredicate?, _ order: [FetchSort], _ limit: Int?, _ offset: Int
  ) throws -> [T] {
    var request = FetchRequest<T>(predicate: condition, sortDescriptors: order, fetchOffset: offset)
    request.fetchLimit = limit ?? 0
    if limit == 0 {
      // Whatever is wrong with the request is told all the same.
      _ = try resolved(specification(of: request))
      return []
    }
    return try fetch(request)
  }
}
