import Foundation

/// A condition on the value of one property. Core Data's validation predicate.
///
/// Asked on the queue of the context whose object is validated, never under a lock and never inside a store transaction.
public protocol ValidationPredicate: Sendable {
  /// Whether `value` is valid.
  ///
  /// `value` is what key-value coding hands out: `Int64` for all integers, `Double`, `String`, `Date` and so on, the object of
  /// a to-one relationship, a `Set<ManagedObject>` or, where ordered, an `[ManagedObject]` of a to-many one. Nil is not asked
  /// about: whether there must be a value is the property's own matter.
  func evaluate(with value: Any?) -> Bool
}

/// A condition that Foundation knows as one of its predicates. Errors name that one where they are Core Data's.
package protocol FoundationCondition {
  /// The condition as Foundation's predicate.
  var foundationPredicate: NSPredicate { get }
}

/// One rule that the values of a property must meet in every save, and what to say when one does not.
///
///     AttributeDescription("month", .integer16, rules: [.minimum(1), .maximum(12, warning: "There are twelve months.")])
///
/// Nil meets every rule. Rules are no part of the version hash (rule 299): they can change without a migration. A rule that
/// does not fit its property is reported when the model is taken into use.
public struct ValidationRule: Sendable {
  /// What a rule demands.
  public enum Condition: Sendable {
    /// Numbers from this one on, or dates from this one on. Errors 1620 and 1640.
    case minimum(AttributeValue)
    /// Numbers up to this one, or dates up to this one. Errors 1610 and 1630.
    case maximum(AttributeValue)
    /// Strings of at least this many UTF-16 code units, as Core Data counts. Error 1670.
    case minimumLength(Int)
    /// Strings of at most this many UTF-16 code units. Error 1660.
    case maximumLength(Int)
    /// Strings that match a regular expression from end to end, in the syntax of `NSRegularExpression`. Error 1680, also when
    /// a decision would take more than some ten million steps.
    case pattern(String)
    /// Whatever the predicate says. Error 1550. The store's copy of the model does not keep it: it is code.
    case predicate(any ValidationPredicate)
  }

  /// What the rule demands.
  public let condition: Condition
  /// The localized description of the error; nil for a sentence made from the condition.
  public let warning: String?

  /// A rule.
  public init(_ condition: Condition, warning: String? = nil) {
    self.condition = condition
    self.warning = warning
  }
}

extension ValidationRule {
  /// Numbers or dates not less than `bound`.
  public static func minimum(_ bound: AttributeValue, warning: String? = nil) -> ValidationRule {
    ValidationRule(.minimum(bound), warning: warning)
  }
  /// Dates not before `bound`.
  public static func minimum(_ bound: Date, warning: String? = nil) -> ValidationRule {
    ValidationRule(.minimum(.date(bound)), warning: warning)
  }
  /// Numbers or dates not greater than `bound`.
  public static func maximum(_ bound: AttributeValue, warning: String? = nil) -> ValidationRule {
    ValidationRule(.maximum(bound), warning: warning)
  }
  /// Dates not after `bound`.
  public static func maximum(_ bound: Date, warning: String? = nil) -> ValidationRule {
    ValidationRule(.maximum(.date(bound)), warning: warning)
  }
  /// Strings of at least `length` UTF-16 code units.
  public static func minimumLength(_ length: Int, warning: String? = nil) -> ValidationRule {
    ValidationRule(.minimumLength(length), warning: warning)
  }
  /// Strings of at most `length` UTF-16 code units.
  public static func maximumLength(_ length: Int, warning: String? = nil) -> ValidationRule {
    ValidationRule(.maximumLength(length), warning: warning)
  }
  /// Strings that match `pattern` from end to end.
  public static func pattern(_ pattern: String, warning: String? = nil) -> ValidationRule {
    ValidationRule(.pattern(pattern), warning: warning)
  }
  /// Values that `predicate` holds for.
  public static func predicate(_ predicate: any ValidationPredicate, warning: String? = nil) -> ValidationRule
  {
    ValidationRule(.predicate(predicate), warning: warning)
  }

  /// The rule as a predicate: the one it was made of, or its condition.
  public var predicate: any ValidationPredicate {
    if case .predicate(let predicate) = condition { return predicate }
    return condition
  }
}

extension ValidationRule.Condition: ValidationPredicate {
  /// Whether `value` meets the condition. A value that the condition does not speak of (a number of a pattern) does not.
  public func evaluate(with value: Any?) -> Bool {
    if case .predicate(let predicate) = self { return predicate.evaluate(with: value) }
    guard let value = AttributeValue(value, type: .undefined), let test = try? CompiledRule.Test(self) else {
      return false
    }
    return value.isNull || test.failure(of: value) == nil
  }
}

extension ValidationRule.Condition: CustomStringConvertible {
  /// The condition as model errors name it: `minimum 1`.
  public var description: String {
    switch self {
    case .minimum(let bound): "minimum \(bound)"
    case .maximum(let bound): "maximum \(bound)"
    case .minimumLength(let length): "minimum length \(length)"
    case .maximumLength(let length): "maximum length \(length)"
    case .pattern(let pattern): "pattern \"\(pattern.prefix(100))\""
    case .predicate(let predicate): "predicate \(type(of: predicate))"
    }
  }
}

// MARK: Core Data's names

extension PropertyDescription {
  /// The conditions of ``validationRules``, in their order. Core Data's name.
  public var validationPredicates: [any ValidationPredicate] { validationRules.map(\.predicate) }

  /// The warnings of ``validationRules``, in their order; nil for a rule without one. Core Data's name.
  public var validationWarnings: [String?] { validationRules.map(\.warning) }

  /// Sets ``validationRules`` from predicates and as many warnings, or no warnings. Core Data's name. Conditions of ready-made
  /// rules stay what they are.
  ///
  /// Traps when there are more or fewer warnings than predicates.
  public func setValidationPredicates(
    _ predicates: [any ValidationPredicate]?, withValidationWarnings warnings: [String]? = nil
  ) {
    let predicates = predicates ?? []
    if let warnings, warnings.count != predicates.count {
      trap(
        "\(name) was given \(predicates.count) validation predicates and \(warnings.count) warnings; give one warning for "
          + "each predicate, or none at all.")
    }
    validationRules = predicates.enumerated().map { place, predicate in
      ValidationRule(
        predicate as? ValidationRule.Condition ?? .predicate(predicate), warning: warnings?[place])
    }
  }
}
