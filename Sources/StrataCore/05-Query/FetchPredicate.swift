import Foundation

/// A condition on the attributes of an object, as a value.
///
/// Predicates are two-valued: each is true or false for an object, and `not` is the exact negation.
/// All comparisons use ``AttributeValue/compare(_:_:)``: numbers numerically, strings by their UTF-8 bytes.
///
/// - `== nil` matches nil, `!=` is the negation of `==` (so `!= 3` matches nil);
/// - `<`, `<=`, `>`, `>=`, `between` and the string operators are false when either side is nil.
///
/// Keys and the types of values are checked when the predicate is used: an unknown key or a value of another
/// kind is a thrown ``FetchError``.
public indirect enum FetchPredicate: Sendable, Hashable {
  /// The attribute `key`, compared with a value.
  case comparison(key: String, ComparisonOperator, AttributeValue)
  /// The attribute `key` equals one of the values.
  case `in`(key: String, [AttributeValue])
  /// The attribute `key` lies between the two values, both included (rule 108).
  case between(key: String, low: AttributeValue, high: AttributeValue)
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
  /// The object itself is one of those identified (rule 107).
  case selfIn([ManagedObjectID])
}

/// How a predicate compares an attribute with a value.
public enum ComparisonOperator: UInt8, Sendable, Hashable, CaseIterable {
  case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  /// For strings only: by UTF-8 bytes, case sensitive.
  case beginsWith, contains, endsWith
}

extension FetchPredicate: CustomStringConvertible {
  public var description: String {
    switch self {
    case .comparison(let key, let operation, let value): "\(key) \(operation) \(value)"
    case .in(let key, let values): "\(key) IN {\(values.map { "\($0)" }.joined(separator: ", "))}"
    case .between(let key, let low, let high): "\(key) BETWEEN \(low) AND \(high)"
    case .and(let parts): Self.list(parts, separator: " AND ", empty: "TRUE")
    case .or(let parts): Self.list(parts, separator: " OR ", empty: "FALSE")
    case .not(let part): "NOT (\(part))"
    case .everything: "TRUE"
    case .nothing: "FALSE"
    case .selfIn(let identifiers): "SELF IN {\(identifiers.map { "\($0)" }.joined(separator: ", "))}"
    }
  }

  private static func list(_ parts: [FetchPredicate], separator: String, empty: String) -> String {
    parts.isEmpty ? empty : parts.map { "(\($0))" }.joined(separator: separator)
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
    }
  }
}
