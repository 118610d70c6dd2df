import Foundation

extension FetchPredicate {
  /// The predicate that Foundation's `#Predicate` on a class of managed objects says, for the store to look up.
  ///
  ///     try FetchPredicate(#Predicate<Flight> { $0.distance > 500 && $0.plane?.seats ?? 0 > 100 }, model: model)
  ///
  /// Key paths lead over stored properties, one at a time, and relationships: each is followed on an object of the class that belongs to
  /// no context, and may read one property and hand out its value as it is. The values of variables that the closure captures become
  /// constants of the predicate. Texts are compared as in ``FetchPredicate``: by their bytes. A nil attribute is nil, whatever value
  /// its accessor makes of it.
  ///
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up, naming it; ``ModelError`` for a model that is wrong.
  @_disfavoredOverload
  public init<T: ManagedObject>(_ predicate: Predicate<T>, model: ManagedObjectModel) throws {
    try self.init(predicate, schema: model.schema())
  }

  init<T: ManagedObject>(_ predicate: Predicate<T>, schema: Schema) throws {
    try self.init(predicate, about: Self.entity(of: T.self, in: schema), schema: schema)
  }

  /// The one entity that has the class.
  static func entity(of type: ManagedObject.Type, in schema: Schema) throws -> EntitySchema {
    let number = try schema.memo.answer(to: ObjectIdentifier(type)) {
      let classes = EntityClasses(schema)
      if let entity = classes.entities[ObjectIdentifier(type)] { return entity.number }
      let words =
        classes.ambiguous.contains(ObjectIdentifier(type)) ? "several entities" : "no entity"
      throw PredicateTranslationError(
        expression: "\(type)", reason: "it is the class of \(words) of the model")
    }
    return schema.entities[number]
  }
}

extension FetchRequest where Result: ManagedObject {
  /// A request for the objects of a class that satisfy a `#Predicate`.
  ///
  ///     let request = try FetchRequest(#Predicate<Flight> { $0.distance > 500 }, model: model)
  ///
  /// - Throws: ``PredicateTranslationError``, ``ModelError``; see `FetchPredicate.init(_:model:)`.
  @_disfavoredOverload
  public init(
    _ predicate: Predicate<Result>, model: ManagedObjectModel, sortDescriptors: [FetchSort] = [],
    fetchLimit: Int = 0, fetchOffset: Int = 0
  ) throws {
    let schema = try model.schema()
    self.init(
      entityName: try FetchPredicate.entity(of: Result.self, in: schema).name,
      predicate: try FetchPredicate(predicate, schema: schema), sortDescriptors: sortDescriptors,
      fetchLimit: fetchLimit, fetchOffset: fetchOffset)
  }
}

extension ManagedObjectContext {
  /// The objects of a class that satisfy a `#Predicate`, unsaved changes included.
  ///
  ///     let late = try context.fetch(#Predicate<Flight> { $0.delay > 60 }, sortDescriptors: [FetchSort("delay")])
  ///
  /// On the context's queue.
  ///
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws.
  @_disfavoredOverload
  public func fetch<T: ManagedObject>(
    _ predicate: Predicate<T>, sortDescriptors: [FetchSort] = [], fetchLimit: Int = 0, fetchOffset: Int = 0
  ) throws -> [T] {
    try fetch(
      FetchRequest(
        predicate, model: coordinator.managedObjectModel, sortDescriptors: sortDescriptors,
        fetchLimit: fetchLimit, fetchOffset: fetchOffset))
  }

  /// How many objects of a class satisfy a `#Predicate`, unsaved changes included. On the context's queue.
  ///
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `count(for:)` throws.
  @_disfavoredOverload
  public func count<T: ManagedObject>(_ predicate: Predicate<T>) throws -> Int {
    try count(for: FetchRequest(predicate, model: coordinator.managedObjectModel))
  }
}

extension ManagedObject: PredicateArgument {
  /// The object, by its identifier (rule 107).
  public final var predicateExpression: FetchExpression { .objects([objectID]) }
}
