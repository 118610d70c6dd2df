import Foundation

extension PersistentContainer {
  /// A list of the objects of a class that satisfy a condition, in an order, which follows the view context.
  ///
  ///     let list = try container.liveList(Book.self, where: #Predicate<Book> { $0.pages > 300 }, sortedBy: .forward(\.title))
  ///
  /// From then on the view context takes over what other contexts save, as `automaticallyMergesChangesFromParent` says: a list that showed only what is
  /// edited here would not be live. Without an order the objects come in that of their primary keys.
  ///
  /// - Throws: `CoreDataError` 134070 while no store is loaded; what `fetch(_:)` throws.
  @MainActor
  public func liveList<T: ManagedObject>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: FetchOrder<T> = []
  ) throws -> LiveList<T> {
    try liveList(condition, order.sorts)
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; otherwise as above.
  @MainActor
  @_disfavoredOverload
  public func liveList<T: ManagedObject>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: FetchOrder<T> = []
  ) throws -> LiveList<T> {
    try liveList(condition.map { FetchPredicate($0) }, order.sorts)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for a sort descriptor that no store knows; otherwise as above.
  @MainActor
  public func liveList<T: ManagedObject>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: [SortDescriptor<T>]
  ) throws -> LiveList<T> {
    try liveList(condition, FetchOrder(order).sorts)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for what no store can look up, naming it; otherwise as above.
  @MainActor
  @_disfavoredOverload
  public func liveList<T: ManagedObject>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: [SortDescriptor<T>]
  ) throws -> LiveList<T> {
    try liveList(condition.map { FetchPredicate($0) }, FetchOrder(order).sorts)
  }

  /// The same in the order of one attribute, small values first: `sortedBy: \.title`.
  /// - Throws: ``PredicateTranslationError`` for a key path that leads to no stored property; otherwise as above.
  @MainActor
  public func liveList<T: ManagedObject, V>(
    _ type: T.Type, where condition: FetchPredicate? = nil, sortedBy order: KeyPath<T, V> & Sendable
  ) throws -> LiveList<T> {
    try liveList(condition, [FetchSort(order)])
  }

  /// The same with a `#Predicate`, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for what no store can look up, naming it; otherwise as above.
  @MainActor
  @_disfavoredOverload
  public func liveList<T: ManagedObject, V>(
    _ type: T.Type, where condition: Predicate<T>?, sortedBy order: KeyPath<T, V> & Sendable
  ) throws -> LiveList<T> {
    try liveList(condition.map { FetchPredicate($0) }, [FetchSort(order)])
  }

  @MainActor private func liveList<T>(_ condition: FetchPredicate?, _ order: [FetchSort]) throws -> LiveList<
    T
  > {
    let context = viewContext
    let list = try LiveList<T>(context, condition, order)
    context.automaticallyMergesChangesFromParent = true
    return list
  }
}
