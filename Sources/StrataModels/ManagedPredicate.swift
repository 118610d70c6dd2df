import Foundation

/// What a `#Predicate` in a request says of the objects of a class. Written where a condition is taken; elsewhere `#Predicate` makes Foundation's `Predicate`.
public struct ManagedPredicate<Root: ManagedObject>: Sendable {
  /// The same as Foundation's.
  public let predicate: Predicate<Root>

  public init(_ predicate: Predicate<Root>) { self.predicate = predicate }
}

extension FetchPredicate {
  /// What a `#Predicate` says, as a part of other predicates: `FetchPredicate(#Predicate<Book> { $0.format == .paper }) && Attribute("pages") > 300`.
  public init<T: ManagedObject>(_ condition: ManagedPredicate<T>) { self.init(condition.predicate) }

  /// What a `#Predicate` says, translated at once.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; ``ModelError`` for a model that is wrong.
  public init<T: ManagedObject>(_ condition: ManagedPredicate<T>, model: ManagedObjectModel) throws {
    try self.init(condition.predicate, model: model)
  }
}

extension FetchRequest where Result: ManagedObject {
  /// A request for objects of a class that satisfy a `#Predicate`.
  public init(where condition: ManagedPredicate<Result>, sortedBy order: FetchOrder<Result> = []) {
    self.init(where: FetchPredicate(condition), sortedBy: order)
  }

  /// The same in the order of Foundation's sort descriptors.
  public init(where condition: ManagedPredicate<Result>, sortedBy order: [SortDescriptor<Result>]) {
    self.init(where: FetchPredicate(condition), sortedBy: order)
  }

  /// The same in the order of one attribute, small values first.
  public init<Key>(where condition: ManagedPredicate<Result>, sortedBy order: KeyPath<Result, Key> & Sendable)
  {
    self.init(where: FetchPredicate(condition), sortedBy: order)
  }
}

// What requests in one line take; each is what the one with a FetchPredicate is.
extension ManagedObjectContext {
  /// The objects of a class that satisfy a `#Predicate`, unsaved changes included, in an order.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: FetchOrder<T> = [],
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try fetch(type, where: FetchPredicate(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The objects of a class that satisfy a `#Predicate`, unsaved changes included, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: [SortDescriptor<T>],
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try fetch(type, where: FetchPredicate(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The objects of a class that satisfy a `#Predicate`, unsaved changes included, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, V>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: KeyPath<T, V> & Sendable,
    limit: Int? = nil,
    offset: Int = 0
  ) throws -> [T] {
    try fetch(type, where: FetchPredicate(condition), sortedBy: order, limit: limit, offset: offset)
  }

  /// The first object of a class that satisfies a `#Predicate`, unsaved changes included, in an order.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func first<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: FetchOrder<T> = []
  ) throws -> T? {
    try first(type, where: FetchPredicate(condition), sortedBy: order)
  }

  /// The first object of a class that satisfies a `#Predicate`, unsaved changes included, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func first<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: [SortDescriptor<T>]
  ) throws -> T? {
    try first(type, where: FetchPredicate(condition), sortedBy: order)
  }

  /// The first object of a class that satisfies a `#Predicate`, unsaved changes included, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func first<T: ManagedObject, V>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: KeyPath<T, V> & Sendable
  ) throws -> T? {
    try first(type, where: FetchPredicate(condition), sortedBy: order)
  }

  /// Chosen values of the objects of a class that satisfy a `#Predicate`, as tuples.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: ManagedPredicate<T>,
    sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try fetch(
      type, values: first, second, repeat each others, where: FetchPredicate(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: ManagedPredicate<T>,
    sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try fetch(
      type, values: first, second, repeat each others, where: FetchPredicate(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, Key, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: ManagedPredicate<T>,
    sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try fetch(
      type, values: first, second, repeat each others, where: FetchPredicate(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// One chosen value of each of the objects of a class that satisfy a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: ManagedPredicate<T>,
    sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try fetch(
      type, values: first, where: FetchPredicate(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: ManagedPredicate<T>,
    sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try fetch(
      type, values: first, where: FetchPredicate(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject, Key, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: ManagedPredicate<T>,
    sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try fetch(
      type, values: first, where: FetchPredicate(condition), sortedBy: order,
      limit: limit, offset: offset, distinct: distinct)
  }

  /// How many objects of a class satisfy a `#Predicate`, unsaved changes included; makes no objects.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `count(for:)` throws.
  public func count<T: ManagedObject>(_ type: T.Type, where condition: ManagedPredicate<T>) throws -> Int {
    try count(type, where: FetchPredicate(condition))
  }

  /// Whether an object of a class satisfies a `#Predicate`, unsaved changes included. Makes no objects.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func exists<T: ManagedObject>(_ type: T.Type, where condition: ManagedPredicate<T>) throws -> Bool {
    try exists(type, where: FetchPredicate(condition))
  }

  /// Deletes the objects of a class that satisfy a `#Predicate`, one by one; see `delete(_:where:)` with a `FetchPredicate`.
  ///
  /// - Returns: how many objects satisfied the condition.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @discardableResult
  public func delete<T: ManagedObject>(_ type: T.Type, where condition: ManagedPredicate<T>) throws -> Int {
    try delete(type, where: FetchPredicate(condition))
  }

  /// The objects of a class that satisfy a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  public func fetch<T: ManagedObject>(
    _ condition: ManagedPredicate<T>, sortDescriptors: [FetchSort] = [], fetchLimit: Int = 0,
    fetchOffset: Int = 0
  ) throws -> [T] {
    try fetch(
      condition.predicate, sortDescriptors: sortDescriptors, fetchLimit: fetchLimit, fetchOffset: fetchOffset)
  }

  /// How many objects of a class satisfy a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `count(for:)` throws.
  public func count<T: ManagedObject>(_ condition: ManagedPredicate<T>) throws -> Int {
    try count(condition.predicate)
  }
}

extension PersistentContainer {
  /// A list of the objects of a class that satisfy a `#Predicate`, in an order, which follows the view context.
  /// - Throws: `CoreDataError` 134070 while no store is loaded; ``PredicateTranslationError`` for what no store can look up; what `fetch(_:)` throws.
  @MainActor
  public func liveList<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: FetchOrder<T> = []
  ) throws -> LiveList<T> {
    try liveList(type, where: FetchPredicate(condition), sortedBy: order)
  }

  /// A list of the objects of a class that satisfy a `#Predicate`, in the order of Foundation's sort descriptors, which follows the view context.
  /// - Throws: `CoreDataError` 134070 while no store is loaded; ``PredicateTranslationError`` for what no store can look up; what `fetch(_:)` throws.
  @MainActor
  public func liveList<T: ManagedObject>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: [SortDescriptor<T>]
  ) throws -> LiveList<T> {
    try liveList(type, where: FetchPredicate(condition), sortedBy: order)
  }

  /// A list of the objects of a class that satisfy a `#Predicate`, in the order of one attribute, which follows the view context.
  /// - Throws: `CoreDataError` 134070 while no store is loaded; ``PredicateTranslationError`` for what no store can look up; what `fetch(_:)` throws.
  @MainActor
  public func liveList<T: ManagedObject, V>(
    _ type: T.Type, where condition: ManagedPredicate<T>, sortedBy order: KeyPath<T, V> & Sendable
  ) throws -> LiveList<T> {
    try liveList(type, where: FetchPredicate(condition), sortedBy: order)
  }
}

extension LiveList {
  /// Shows the objects that satisfy a `#Predicate` from now on.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  public func configure(where condition: ManagedPredicate<Element>, sortedBy order: FetchOrder<Element> = [])
    throws
  {
    try configure(where: FetchPredicate(condition), sortedBy: order)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  public func configure(where condition: ManagedPredicate<Element>, sortedBy order: [SortDescriptor<Element>])
    throws
  {
    try configure(where: FetchPredicate(condition), sortedBy: order)
  }

  /// The same in the order of one attribute, small values first.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  public func configure<Key>(
    where condition: ManagedPredicate<Element>, sortedBy order: KeyPath<Element, Key> & Sendable
  ) throws {
    try configure(where: FetchPredicate(condition), sortedBy: order)
  }
}
