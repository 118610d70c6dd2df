import StrataCore

/// A `#Predicate` as an `NSPredicate`.
final class SwiftPredicate: NSPredicate {
  private let isTrue: (Any) throws -> Bool
  private let lower: ((NSManagedObjectModel) throws -> FetchPredicate)?

  init<Input>(_ predicate: Predicate<Input>, lowered: ((NSManagedObjectModel) throws -> FetchPredicate)?) {
    isTrue = { object in
      guard let input = object as? Input else { return false }
      return try predicate.evaluate(input)
    }
    lower = lowered
    // Foundation's own evaluation is never asked: both of its methods are overridden.
    super.init(value: false)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) { stop("predicates are not archived; keep their predicateFormat.") }

  /// What the predicate says by names: those of `model`, or without one, where `orInUse` says so, those of the newest model in use that has the
  /// class, as `entity()` finds it.
  ///
  /// - Throws: `PredicateTranslationError` for what no store can look up; `CoreDataError` 134060 where no model in use has the class, and for a class that
  ///   is none of managed objects.
  func lowered(for model: NSManagedObjectModel?, orInUse: Bool = true) throws -> FetchPredicate {
    if let lower {
      if let model { return try lower(model) }
      for coordinator in orInUse ? LivingCoordinators.all : [] {
        if let found = try? lower(coordinator.managedObjectModel) { return found }
      }
    }
    throw CoreDataError(
      .coreData,
      "A #Predicate can be looked up in a model that is in use only, and when it is about a class of managed objects."
    )
  }

  override func evaluate(with object: Any?) -> Bool { evaluate(with: object, substitutionVariables: nil) }

  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    guard let object = plain(object) else { return false }
    do { return try isTrue(object) } catch {
      // Swift throws for a nil that is forced, in whichever part of the predicate. By names that part is false, as in a fetch.
      let model = (object as? ManagedObject)?.managedObjectContext?.fetchedModel
      guard let tree = try? lowered(for: model) else {
        if error as? PredicateError == .forceUnwrapFailure { return false }
        refuse("a #Predicate could not be evaluated: \(error)")
        return false
      }
      return OpaqueArguments().predicate(tree).evaluate(with: object, substitutionVariables: bindings)
    }
  }

  /// What the predicate says by names, in the model that `entity()` asks; where no model in use can say it, a text that is no format string.
  override var predicateFormat: String { PredicateText.text(self) }
  override var description: String { PredicateText.text(self) }

  override func copy(with zone: NSZone? = nil) -> Any { self }
  override func copy() -> Any { self }
  override func isEqual(_ object: Any?) -> Bool { (object as AnyObject?) === self }
  override var hash: Int { ObjectIdentifier(self).hashValue }
}
