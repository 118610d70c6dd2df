import Foundation

/// A condition on objects, as a value.
///
/// Predicates are two-valued: each is true or false for an object, and `not` is the exact negation.
/// All comparisons use ``AttributeValue/compare(_:_:)``: numbers numerically, strings by their UTF-8 bytes.
///
/// - `== nil` matches nil, `!=` is the negation of `==` (so `!= 3` matches nil);
/// - `<`, `<=`, `>`, `>=`, `between` and the string operators are false when either side is nil.
///
/// Keys and the types of values are checked when the predicate is used: an unknown key or a value of another
/// kind is a thrown ``FetchError``. But a constant text beside numbers is the number that it spells, which is none of them when it spells none, and a constant number beside texts is
/// written as one, in every comparison but those of parts of texts.
public indirect enum FetchPredicate: Sendable, Hashable {
  /// Two expressions, compared.
  case compare(FetchComparison)
  /// All of the predicates are true. True when there are none.
  case and([FetchPredicate])
  /// One of the predicates is true. False when there are none.
  case or([FetchPredicate])
  /// The predicate is false.
  case not(FetchPredicate)
  /// True for every object.
  case everything
  /// True for no object.
  case nothing
  /// What a `#Predicate` says, see `FetchPredicate.init(_:)`.
  case foundation(FoundationPredicate)
}

/// Two expressions and how they are compared.
public struct FetchComparison: Sendable, Hashable {
  /// What is compared.
  public var left: FetchExpression
  /// How.
  public var operation: ComparisonOperator
  /// With what.
  public var right: FetchExpression
  /// Which of the left side's values must compare so, when they are the values of many objects.
  public var quantifier: Quantifier
  /// How the texts of both sides are compared.
  public var options: StringOptions

  /// Which of several values must satisfy a comparison.
  public enum Quantifier: UInt8, Sendable, Hashable, CaseIterable {
    /// The one value there is.
    case direct
    /// At least one. False when there are none. Of a side that is one value it is that value.
    case any
    /// Each of them. True when there are none. A side that is one value is refused.
    case all
  }

  /// How texts are compared: `[c]`, `[d]`, `[cd]`, `[n]`.
  public struct StringOptions: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Regardless of case: after Unicode's full case folding.
    public static let caseInsensitive = StringOptions(rawValue: 1)
    /// Regardless of marks: after canonical decomposition and without nonspacing marks.
    public static let diacriticInsensitive = StringOptions(rawValue: 2)
    /// By bytes, as they are: what a comparison without options does too. Kept so that the text of a predicate is kept.
    public static let normalized = StringOptions(rawValue: 4)
  }

  /// A comparison of two expressions.
  public init(
    _ left: FetchExpression, _ operation: ComparisonOperator, _ right: FetchExpression,
    quantifier: Quantifier = .direct, options: StringOptions = []
  ) {
    self.left = left
    self.operation = operation
    self.right = right
    self.quantifier = quantifier
    self.options = options
  }
}

/// How a predicate compares two values.
public enum ComparisonOperator: UInt8, Sendable, Hashable, CaseIterable {
  case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  /// For strings only.
  case beginsWith, contains, endsWith
  /// For strings only: a pattern of `*` and `?`; a regular expression that must match the whole text.
  case like, matches
  /// The left value is one of the right side's; both ends are included (rule 108).
  case `in`, between
}

extension FetchPredicate {
  /// The attribute `key`, compared with a value.
  public static func comparison(
    key: String, _ operation: ComparisonOperator, _ value: AttributeValue
  ) -> FetchPredicate {
    .compare(FetchComparison(.key(key), operation, .constant(value)))
  }

  /// The attribute `key` equals one of the values.
  public static func `in`(key: String, _ values: [AttributeValue]) -> FetchPredicate {
    .compare(FetchComparison(.key(key), .in, .list(values.map(FetchExpression.constant))))
  }

  /// The attribute `key` lies between the two values, both included (rule 108).
  public static func between(key: String, low: AttributeValue, high: AttributeValue) -> FetchPredicate {
    .compare(FetchComparison(.key(key), .between, .list([.constant(low), .constant(high)])))
  }

  /// The object itself is one of those identified (rule 107).
  public static func selfIn(_ identifiers: [ManagedObjectID]) -> FetchPredicate {
    .compare(FetchComparison(.evaluatedObject, .in, .objects(identifiers)))
  }
}

extension FetchExpression {
  /// The value of `keyPath`, names joined by dots, of the object the expression is evaluated for.
  public static func key(_ keyPath: String) -> FetchExpression {
    .keyPath(
      base: .evaluatedObject,
      keys: keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
  }
}

extension FetchComparison.StringOptions: CustomStringConvertible {
  public var description: String {
    (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
      + (contains(.normalized) ? "n" : "")
  }
}

extension ComparisonOperator: CustomStringConvertible {
  public var description: String {
    switch self {
    case .equal: "=="
    case .notEqual: "!="
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    case .beginsWith: "BEGINSWITH"
    case .contains: "CONTAINS"
    case .endsWith: "ENDSWITH"
    case .like: "LIKE"
    case .matches: "MATCHES"
    case .in: "IN"
    case .between: "BETWEEN"
    }
  }
}
