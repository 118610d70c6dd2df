import Foundation

/// A managed object that keeps the values of an object of the program's own, by whose key paths properties are named.
package protocol KeyPathStandIn: ManagedObject {
  /// The property that a key path of the other class names by itself; nil for one that has to be followed.
  static func propertyName(of keyPath: AnyKeyPath) -> String?
  /// The path of names of the element that a key path which reads a composite attribute leads to, joined by dots; an empty one for the whole, nil when it computes something.
  ///
  /// - Parameters:
  ///   - steps: How many properties the key path reads, the attribute included.
  ///   - follow: Follows the key path once more; nil when it reads something else then.
  static func element(
    ofComposite name: String, at keyPath: AnyKeyPath, steps: Int, following follow: () -> Any?
  ) -> String?
  /// Whether a key path that shows every value of an attribute may lead to it: false where it shows something else for nil.
  static func mayLead(_ keyPath: AnyKeyPath, to attribute: String) -> Bool
  /// The class of the other object.
  static var subjectType: Any.Type { get }
  /// The object that key paths are followed on.
  var keyPathSubject: Any { get }
  /// Whether a value is such an object, or its identifier.
  func isSubject(_ value: Any) -> Bool
  /// Whether a value is the identifier of the object itself.
  func isOwnIdentifier(_ value: Any) -> Bool
}

extension FetchPredicate {
  /// What a `#Predicate` on objects says whose values managed objects of `entityName` keep. The request that uses it translates it, as its model is known then.
  ///
  /// - Parameter elementName: The path of names, joined by dots, that a key path of a structure means which a composite attribute holds.
  package init<Subject>(
    standIn predicate: Predicate<Subject>, elementName: @escaping @Sendable (AnyKeyPath) -> String?
  ) {
    self = .foundation(
      FoundationPredicate(predicate, about: "\(Subject.self)") { entity, schema in
        let lowering = PredicateLowering(schema)
        lowering.elementName = elementName
        return try lowering.with(predicate.variable, .object(.evaluatedObject, entity)) {
          try Self.lowered(predicate.expression, lowering)
        }
      })
  }
}

extension ManagedObjectContext {
  /// The request with names in place of key paths, and predicates of the tree in place of Foundation's.
  ///
  /// - Throws: ``PredicateTranslationError`` for what no store can look up; `FetchError` for an unknown entity.
  package final func spelledOut<Result>(_ request: FetchRequest<Result>) throws -> FetchRequest<Result> {
    try request.spelledOut(schema)
  }
}

extension ManagedObject {
  /// The position of the property of that name in the object's entity.
  package final func slot(ofProperty name: String) -> Int? { home.entity.slot(named: name) }

  /// A key path that is followed has come to the attribute.
  package final func noteFollowed(slot: Int) { ProbeRecording.current?.note(slot, of: self) }

  /// Whether the object is one that key paths are followed on to find out what they read.
  package final var isKeyPathProbe: Bool { state.contains(.probe) }
}

extension ManagedObjectID {
  /// The primary key, unique in the store's hierarchy and never reused.
  package var key: UInt64 { primaryKey }
}
