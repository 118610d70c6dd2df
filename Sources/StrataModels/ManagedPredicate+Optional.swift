import Foundation

// Requests take a `#Predicate` that may be nil, for all objects. The compiler prefers the others, which it finds quicker.

private func tree<T: ManagedObject>(_ condition: ManagedPredicate<T>?) -> FetchPredicate? {
  condition.map { FetchPredicate($0) }
}

extension FetchRequest where Result: ManagedObject {
  /// A request for objects of a class that satisfy a `#Predicate`, all of them for nil.
  @_disfavoredOverload
  public init(where condition: ManagedPredicate<Result>?, sortedBy order: FetchOrder<Result> = []) {
    self.init(where: tree(condition), sortedBy: order)
  }

  /// The same in the order of Foundation's sort descriptors.
  @_disfavoredOverload
  public init(where condition: ManagedPredicate<Result>?, sortedBy order: [SortDescriptor<Result>]) {
    self.init(where: tree(condition), sortedBy: order)
  }

  /// The same in the order of one attribute, small values first.
  @_disfavoredOverload
  public init<Key>(
    where condition: ManagedPredicate<Result>?, sortedBy order: KeyPath<Result, Key> & Sendable
  ) {
    self.init(where: tree(condition), sortedBy: order)
  }
}

extension ManagedObjectContext {
  /// The objects of a class that satisfy a `#Predicate`, all of them for nil, unsaved changes included, in an order.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: FetchOrder<T> = [],
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try fetch(type, where: tree(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The objects of a class that satisfy a `#Predicate`, all of them for nil, unsaved changes included, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: [SortDescriptor<T>],
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try fetch(type, where: tree(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The objects of a class that satisfy a `#Predicate`, all of them for nil, unsaved changes included, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, V>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: KeyPath<T, V> & Sendable,
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try fetch(type, where: tree(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The first object of a class that satisfies a `#Predicate`, if there is one, unsaved changes included, in an order.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func first<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: FetchOrder<T> = []
  ) throws -> T? {
    try first(type, where: tree(condition), sortedBy: order)
  }

  /// The first object of a class that satisfies a `#Predicate`, if there is one, unsaved changes included, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func first<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: [SortDescriptor<T>]
  ) throws -> T? {
    try first(type, where: tree(condition), sortedBy: order)
  }

  /// The first object of a class that satisfies a `#Predicate`, if there is one, unsaved changes included, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func first<T: ManagedObject, V>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: KeyPath<T, V> & Sendable
  ) throws -> T? {
    try first(type, where: tree(condition), sortedBy: order)
  }

  /// Chosen values of the objects of a class that satisfy a `#Predicate`, all of them for nil, as tuples.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: ManagedPredicate<T>?,
    sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try fetch(
      type, values: first, second, repeat each others, where: tree(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: ManagedPredicate<T>?,
    sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try fetch(
      type, values: first, second, repeat each others, where: tree(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, Key, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: ManagedPredicate<T>?,
    sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try fetch(
      type, values: first, second, repeat each others, where: tree(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// One chosen value of each of the objects of a class that satisfy a `#Predicate`, all of them for nil.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: ManagedPredicate<T>?,
    sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try fetch(
      type, values: first, where: tree(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: ManagedPredicate<T>?,
    sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try fetch(
      type, values: first, where: tree(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, Key, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: ManagedPredicate<T>?,
    sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try fetch(
      type, values: first, where: tree(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// How many objects of a class satisfy a `#Predicate`, if there is one, unsaved changes included; makes no objects.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `count(for:)` throws.
  @_disfavoredOverload
  public func count<T: ManagedObject>(_ type: T.Type, where condition: ManagedPredicate<T>?) throws -> Int {
    try count(type, where: tree(condition))
  }

  /// Whether an object of a class satisfies a `#Predicate`, if there is one, unsaved changes included. Makes no objects.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func exists<T: ManagedObject>(_ type: T.Type, where condition: ManagedPredicate<T>?) throws -> Bool {
    try exists(type, where: tree(condition))
  }

  /// The same with a `#Predicate` that may be nil.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<Value: ManagedValue>(
    _ type: Value.Type, where condition: ManagedPredicate<Value.Object>?,
    sortedBy order: FetchOrder<Value.Object> = [],
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try fetch(type, where: tree(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The same with a `#Predicate` that may be nil, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<Value: ManagedValue>(
    _ type: Value.Type, where condition: ManagedPredicate<Value.Object>?,
    sortedBy order: [SortDescriptor<Value.Object>],
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try fetch(type, where: tree(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The same with a `#Predicate` that may be nil, in the order of one attribute, small values first.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<Value: ManagedValue, Key>(
    _ type: Value.Type, where condition: ManagedPredicate<Value.Object>?,
    sortedBy order: KeyPath<Value.Object, Key> & Sendable,
    limit: Int? = nil, offset: Int = 0
  ) throws -> [Value] {
    try fetch(type, where: tree(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The same with a `#Predicate` that may be nil.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: ManagedPredicate<T>?, sortedBy order: FetchOrder<T> = [], limit: Int? = nil,
    offset: Int = 0,
    distinct: Bool = false
  ) throws -> [Row] {
    try fetch(
      type, values: first, repeat each others, as: make, where: tree(condition), sortedBy: order,
      limit: limit,
      offset: offset, distinct: distinct)
  }

  /// The same with a `#Predicate` that may be nil, in the order of Foundation's sort descriptors.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: ManagedPredicate<T>?, sortedBy order: [SortDescriptor<T>], limit: Int? = nil,
    offset: Int = 0,
    distinct: Bool = false
  ) throws -> [Row] {
    try fetch(
      type, values: first, repeat each others, as: make, where: tree(condition), sortedBy: order,
      limit: limit,
      offset: offset, distinct: distinct)
  }

  /// The same with a `#Predicate` that may be nil, in the order of one attribute, small values first.
  /// - Throws: what `make` throws; ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, Key, First, each Value, Row>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), as make: (First, repeat each Value) throws -> Row,
    where condition: ManagedPredicate<T>?, sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil,
    offset: Int = 0,
    distinct: Bool = false
  ) throws -> [Row] {
    try fetch(
      type, values: first, repeat each others, as: make, where: tree(condition), sortedBy: order,
      limit: limit,
      offset: offset, distinct: distinct)
  }
}

extension PersistentContainer {
  /// A list of the objects of a class that satisfy a `#Predicate`, all of them for nil, in an order, which follows the view context.
  /// - Throws: `CoreDataError` 134070 while no store is loaded; ``PredicateTranslationError`` for what no store can look up; what `fetch(_:)` throws.
  @MainActor @_disfavoredOverload
  public func liveList<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: FetchOrder<T> = []
  ) throws -> LiveList<T> {
    try liveList(type, where: tree(condition), sortedBy: order)
  }

  /// A list of the objects of a class that satisfy a `#Predicate`, all of them for nil, in the order of Foundation's sort descriptors, which follows the view context.
  /// - Throws: `CoreDataError` 134070 while no store is loaded; ``PredicateTranslationError`` for what no store can look up; what `fetch(_:)` throws.
  @MainActor @_disfavoredOverload
  public func liveList<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: [SortDescriptor<T>]
  ) throws -> LiveList<T> {
    try liveList(type, where: tree(condition), sortedBy: order)
  }

  /// A list of the objects of a class that satisfy a `#Predicate`, all of them for nil, in the order of one attribute, which follows the view context.
  /// - Throws: `CoreDataError` 134070 while no store is loaded; ``PredicateTranslationError`` for what no store can look up; what `fetch(_:)` throws.
  @MainActor @_disfavoredOverload
  public func liveList<T: ManagedObject, V>(
    _ type: T.Type, where condition: ManagedPredicate<T>?, sortedBy order: KeyPath<T, V> & Sendable
  ) throws -> LiveList<T> {
    try liveList(type, where: tree(condition), sortedBy: order)
  }
}

extension LiveList {
  /// Shows the objects that satisfy a `#Predicate`, all of them for nil from now on.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  @_disfavoredOverload
  public func configure(where condition: ManagedPredicate<Element>?, sortedBy order: FetchOrder<Element> = [])
    throws
  {
    try configure(where: tree(condition), sortedBy: order)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  @_disfavoredOverload
  public func configure(
    where condition: ManagedPredicate<Element>?, sortedBy order: [SortDescriptor<Element>]
  )
    throws
  {
    try configure(where: tree(condition), sortedBy: order)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  @_disfavoredOverload
  public func configure<Key>(
    where condition: ManagedPredicate<Element>?, sortedBy order: KeyPath<Element, Key> & Sendable
  ) throws {
    try configure(where: tree(condition), sortedBy: order)
  }
}
