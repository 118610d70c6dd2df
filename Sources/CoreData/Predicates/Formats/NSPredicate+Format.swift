import StrataCore

/// What lets an initialiser decide which class it makes an object of: an initialiser of a class cannot, one of a protocol can.
public protocol FormatReadable {}

extension NSPredicate: FormatReadable {}

extension FormatReadable where Self: NSPredicate {
  /// A predicate written as text, with arguments for its `%@`, `%K` and `%d`: an `NSComparisonPredicate`, an `NSCompoundPredicate`, or one
  /// that is always true or false. The grammar is that of Docs/Queries.md.
  ///
  /// A text that is no predicate, and arguments that do not fit, trap and name the place, where Core Data raises an exception;
  /// `FetchPredicate(format:)` throws instead. For a subclass of `NSPredicate` this is no initialiser.
  public init(format predicateFormat: String, _ args: Any?...) {
    self = Self.read(predicateFormat, args)
  }

  /// The same with its arguments in an array.
  public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    self = Self.read(predicateFormat, arguments ?? [])
  }

  /// The predicate that a `#Predicate` on a class of managed objects says, for fetches and for memory.
  public init?<Input: NSManagedObject>(_ predicate: Predicate<Input>) {
    let made = SwiftPredicate(predicate) { try FetchPredicate(predicate, model: $0) }
    guard let made = made as? Self else { return nil }
    self = made
  }

  /// The predicate that a `#Predicate` says, for memory.
  public init?<Input: NSObject>(_ predicate: Predicate<Input>) {
    guard let made = SwiftPredicate(predicate, lowered: nil) as? Self else { return nil }
    self = made
  }

  private static func read(_ format: String, _ arguments: [Any?]) -> Self {
    var opaque = OpaqueArguments()
    let readable = opaque.readable(arguments)
    let tree: FetchPredicate
    do { tree = try FetchPredicate(memoryFormat: format, readable) } catch {
      stop("NSPredicate(format:): \(error)")
    }
    guard let predicate = opaque.predicate(tree) as? Self else {
      stop("NSPredicate(format:) makes predicates of its own classes, no \(Self.self).")
    }
    return predicate
  }
}

extension NSPredicate {
  /// Does nothing: predicates are not read from archives here, so none has to be allowed.
  public func allowEvaluation() {}

  /// The predicate with values in place of its variables (`$name`, here without the sign). Variables without a value stay. Predicates made of
  /// blocks stay what they are.
  public func withSubstitutionVariables(_ variables: [String: Any]) -> Self {
    guard let result = VariableReplacement(variables).replaced(self) as? Self else { return self }
    return result
  }
}

/// A value without the optionals around it; nil for none, and for `NSNull`.
func plain(_ value: Any?) -> Any? {
  guard let value else { return nil }
  if let optional = value as? any Unwrappable { return plain(optional.wrapped) }
  if let reference = value as? NSManagedObjectIDReference { return reference.objectID }
  return value is NSNull ? nil : value
}

private protocol Unwrappable { var wrapped: Any? { get } }
extension Optional: Unwrappable { fileprivate var wrapped: Any? { map { $0 } } }
