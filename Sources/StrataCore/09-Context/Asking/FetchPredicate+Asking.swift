import Foundation

extension FetchPredicate {
  /// What Foundation's `#Predicate` on a class of managed objects says. The request that uses it translates it, as its model is known then.
  ///
  ///     let late = FetchPredicate(#Predicate<Flight> { $0.delay > 60 }) && Attribute("origin") == "JFK"
  ///
  /// It has no text and cannot be part of a model: use `FetchPredicate.init(_:model:)` for one that has its tree at once. A request that uses it throws
  /// ``PredicateTranslationError`` for an expression that no store can look up, naming it, and when it is about another class than the
  /// request's entity has.
  @_disfavoredOverload
  public init<T: ManagedObject>(_ predicate: Predicate<T>) {
    self = .foundation(
      FoundationPredicate(predicate, about: "\(T.self)") { entity, schema in
        try FetchPredicate(predicate, about: entity, schema: schema)
      })
  }

  /// - Throws: ``PredicateTranslationError``, also for a predicate on objects of another class than those of `entity`.
  init<T: ManagedObject>(_ predicate: Predicate<T>, about entity: EntitySchema, schema: Schema) throws {
    let type = entity.managedObjectClass as? ManagedObject.Type ?? ManagedObject.self
    guard type is T.Type else {
      throw PredicateTranslationError(
        expression: "#Predicate<\(T.self)>",
        reason: "the objects of the request’s entity \(entity.name) are of class \(type)")
    }
    let lowering = PredicateLowering(schema)
    self = try lowering.with(predicate.variable, .object(.evaluatedObject, entity)) {
      try Self.lowered(predicate.expression, lowering)
    }
  }

  static func lowered(_ expression: some PredicateExpression<Bool>, _ lowering: PredicateLowering)
    throws -> FetchPredicate
  {
    try lowering.predicate(expression)
  }
}

/// A fetch request for objects of a class. Gives `predicate` and `sortDescriptors` a second type each, Foundation's:
///
///     request.predicate = #Predicate<Book> { $0.pages > 300 }
///     request.sortDescriptors = [SortDescriptor(\.title)]
///
/// ``FetchRequest`` is the only type that conforms.
public protocol ObjectFetchRequest<Result> {
  /// What is fetched.
  associatedtype Result
  /// The condition objects must satisfy.
  var predicate: FetchPredicate? { get set }
  /// The order of the result.
  var sortDescriptors: [FetchSort] { get set }
}

extension FetchRequest: ObjectFetchRequest {}

extension ObjectFetchRequest where Result: ManagedObject {
  /// The condition as a `#Predicate`. Reading it gives the one that was assigned, and nil when the condition is something else.
  public var predicate: Predicate<Result>? {
    get {
      let tree: FetchPredicate? = predicate
      if case .foundation(let whole)? = tree { return whole.predicate as? Predicate<Result> }
      return nil
    }
    set { predicate = newValue.map { FetchPredicate($0) } as FetchPredicate? }
  }
}

extension FetchRequest where Result: ManagedObject {
  /// A request for objects of the class `Result` that satisfy a condition, of whichever entity has that class in the model of the context that
  /// executes it.
  ///
  ///     let request = FetchRequest<Book>(where: Attribute("pages") > 300, sortedBy: .forward(\.title))
  public init(where condition: FetchPredicate?, sortedBy order: FetchOrder<Result> = []) {
    self.init(predicate: condition, sortDescriptors: order.sorts)
  }

  /// The same with a `#Predicate`: `FetchRequest(where: #Predicate<Book> { $0.pages > 300 })`.
  @_disfavoredOverload
  public init(where condition: Predicate<Result>?, sortedBy order: FetchOrder<Result> = []) {
    self.init(predicate: condition.map { FetchPredicate($0) }, sortDescriptors: order.sorts)
  }

  /// A request for all objects of the class `Result`, in an order: `FetchRequest<Book>(sortedBy: .reverse(\.published))`.
  public init(sortedBy order: FetchOrder<Result>) { self.init(sortDescriptors: order.sorts) }

  /// The same in the order of one attribute, small values first: `FetchRequest<Book>(sortedBy: \.title)`.
  public init<Key>(where condition: FetchPredicate? = nil, sortedBy order: KeyPath<Result, Key> & Sendable) {
    self.init(predicate: condition, sortDescriptors: [FetchSort(order)])
  }

  /// The same with a `#Predicate`, in the order of one attribute.
  @_disfavoredOverload
  public init<Key>(where condition: Predicate<Result>?, sortedBy order: KeyPath<Result, Key> & Sendable) {
    self.init(predicate: condition.map { FetchPredicate($0) }, sortDescriptors: [FetchSort(order)])
  }

  /// The same in the order of Foundation's sort descriptors.
  public init(where condition: FetchPredicate? = nil, sortedBy order: [SortDescriptor<Result>]) {
    self.init(predicate: condition, sortDescriptors: FetchOrder(order).sorts)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  @_disfavoredOverload
  public init(where condition: Predicate<Result>?, sortedBy order: [SortDescriptor<Result>]) {
    self.init(predicate: condition.map { FetchPredicate($0) }, sortDescriptors: FetchOrder(order).sorts)
  }
}
