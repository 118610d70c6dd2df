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

  /// - Throws: `PredicateTranslationError` for what no store can look up; `CoreDataError` 134060 without a model, and for a class that is
  ///   none of managed objects.
  func lowered(for model: NSManagedObjectModel?) throws -> FetchPredicate {
    guard let model, let lower else {
      throw CoreDataError(
        .coreData,
        "A #Predicate can be looked up in the model of a context only, and when it is about a class of managed objects."
      )
    }
    return try lower(model)
  }

  override func evaluate(with object: Any?) -> Bool { evaluate(with: object, substitutionVariables: nil) }

  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    guard let object = plain(object) else { return false }
    do { return try isTrue(object) } catch { stop("a #Predicate could not be evaluated: \(error)") }
  }

  override func copy(with zone: NSZone? = nil) -> Any { self }
  override func copy() -> Any { self }
  override func isEqual(_ object: Any?) -> Bool { (object as AnyObject?) === self }
  override var hash: Int { ObjectIdentifier(self).hashValue }
}
