import Foundation

extension ManagedObjectContext {
  // MARK: How many

  /// How many objects of a class satisfy a condition, unsaved changes included; makes no objects.
  ///
  ///     try context.count(Book.self, where: Attribute("pages") > 300)
  ///
  /// On the context's queue.
  /// - Throws: what `count(for:)` throws.
  public func count<T: ManagedObject>(_ type: T.Type, where condition: FetchPredicate? = nil) throws -> Int {
    try count(for: FetchRequest<T>(predicate: condition))
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `count(for:)` throws.
  @_disfavoredOverload
  public func count<T: ManagedObject>(_ type: T.Type, where condition: Predicate<T>?) throws -> Int {
    try count(type, where: condition.map { FetchPredicate($0) } as FetchPredicate?)
  }

  /// Whether an object of a class satisfies a condition, unsaved changes included. Stops at the first one, and makes no objects.
  ///
  ///     if try context.exists(Book.self, where: Attribute("isbn") == isbn) { return }
  ///
  /// On the context's queue.
  /// - Throws: what `fetch(_:)` throws.
  public func exists<T: ManagedObject>(_ type: T.Type, where condition: FetchPredicate? = nil) throws -> Bool
  {
    let request = FetchRequest<T>(predicate: condition, fetchLimit: 1)
    return try !fetch(request.returning(ManagedObjectID.self)).isEmpty
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func exists<T: ManagedObject>(_ type: T.Type, where condition: Predicate<T>?) throws -> Bool {
    try exists(type, where: condition.map { FetchPredicate($0) } as FetchPredicate?)
  }

  // MARK: Deleting

  /// Deletes the objects of a class that satisfy a condition, unsaved ones included, as `delete(_:)` deletes each: with delete rules and
  /// `prepareForDeletion()`, in this context only until it is saved, and it can be undone.
  ///
  ///     try context.delete(Book.self, where: Attribute("isBorrowed") == false)
  ///     try context.delete(Book.self, where: .everything)
  ///
  /// Fetches the objects: that costs memory and time for each of them, and for those that delete rules lead to. A ``BatchDeleteRequest`` deletes in the store, without
  /// objects and at once. On the context's queue.
  ///
  /// - Returns: how many objects satisfied the condition; those that delete rules have taken along are not counted.
  /// - Throws: what `fetch(_:)` throws; nothing is deleted then.
  @discardableResult
  public func delete<T: ManagedObject>(_ type: T.Type, where condition: FetchPredicate) throws -> Int {
    let objects = try fetch(FetchRequest<T>(predicate: condition))
    for object in objects { delete(object) }
    return objects.count
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; what `fetch(_:)` throws. Nothing is deleted then.
  @discardableResult
  @_disfavoredOverload
  public func delete<T: ManagedObject>(_ type: T.Type, where condition: Predicate<T>) throws -> Int {
    try delete(type, where: FetchPredicate(condition))
  }
}
