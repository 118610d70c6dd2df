import Foundation
import StrataCore

/// A predicate that the values of a property must meet.
struct ValidatingPredicate: ValidationPredicate, FoundationCondition, @unchecked Sendable {
  // Safe: predicates are not changed once they are made.
  let predicate: NSPredicate

  func evaluate(with value: Any?) -> Bool { predicate.evaluate(with: value) }

  var foundationPredicate: NSPredicate { predicate }
}

extension ValidationRule.Condition: FoundationCondition {
  /// The predicate that Xcode's editor makes of a limit: `SELF >= 1`, `length <= 20`, `SELF MATCHES "[a-z]+"`, of dates
  /// `timeIntervalSinceReferenceDate >= 0`.
  package var foundationPredicate: NSPredicate {
    let (itself, length) = (NSExpression.expressionForEvaluatedObject(), NSExpression(forKeyPath: "length"))
    return switch self {
    case .minimum(.date(let date)):
      LimitPredicate(self, Self.seconds, .greaterThanOrEqualTo, Self.seconds(of: date))
    case .maximum(.date(let date)):
      LimitPredicate(self, Self.seconds, .lessThanOrEqualTo, Self.seconds(of: date))
    case .minimum(let bound): LimitPredicate(self, itself, .greaterThanOrEqualTo, bound)
    case .maximum(let bound): LimitPredicate(self, itself, .lessThanOrEqualTo, bound)
    case .minimumLength(let count):
      LimitPredicate(self, length, .greaterThanOrEqualTo, .integer(Int64(count)))
    case .maximumLength(let count): LimitPredicate(self, length, .lessThanOrEqualTo, .integer(Int64(count)))
    case .pattern(let pattern): LimitPredicate(self, itself, .matches, .string(pattern))
    case .predicate(let predicate):
      (predicate as? any FoundationCondition)?.foundationPredicate
        ?? NSPredicate { value, _ in predicate.evaluate(with: value) }
    }
  }

  private static var seconds: NSExpression { NSExpression(forKeyPath: "timeIntervalSinceReferenceDate") }

  private static func seconds(of date: Date) -> AttributeValue {
    let seconds = date.timeIntervalSinceReferenceDate
    return Int64(exactly: seconds).map { .integer($0) } ?? .double(seconds)
  }

  /// What Core Data has as the warning of a limit of a model: the code of the error, and nothing for a predicate of the application.
  fileprivate var warning: Any {
    let code: Int
    switch self {
    case .minimum(.date): code = NSValidationDateTooSoonError
    case .maximum(.date): code = NSValidationDateTooLateError
    case .minimum: code = NSValidationNumberTooSmallError
    case .maximum: code = NSValidationNumberTooLargeError
    case .minimumLength: code = NSValidationStringTooShortError
    case .maximumLength: code = NSValidationStringTooLongError
    case .pattern: code = NSValidationStringPatternMatchingError
    case .predicate: return ""
    }
    return NSNumber(value: code)
  }
}

/// A limit of a model. It reads as a comparison and decides as the limit does: a length is one of UTF-16 code units.
private final class LimitPredicate: NSComparisonPredicate {
  let condition: ValidationRule.Condition

  init(
    _ condition: ValidationRule.Condition, _ left: NSExpression, _ type: Operator, _ right: AttributeValue
  ) {
    self.condition = condition
    super.init(
      leftExpression: left, rightExpression: NSExpression(forConstantValue: right.anyValue),
      modifier: .direct,
      type: type)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) { stop("predicates are not archived; keep their predicateFormat.") }

  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    condition.evaluate(with: object)
  }
}

extension NSPropertyDescription {
  /// The predicates that the values must meet, as set by `setValidationPredicates(_:withValidationWarnings:)` and by the model's
  /// own rules.
  public var validationPredicates: [NSPredicate] { validationRules.map(\.condition.foundationPredicate) }

  /// What the errors say, one for each predicate. Without a warning of its own a limit of the model has its error's code, as an `NSNumber`, and a
  /// predicate an empty text; the library makes the sentence.
  public var validationWarnings: [Any] {
    validationRules.map { rule -> Any in
      if let warning = rule.warning { return warning }
      return rule.condition.warning
    }
  }

  /// Sets the predicates that the values must meet in every save, and what the errors say.
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {
    validationRules = (validationPredicates ?? []).enumerated().map { place, predicate in
      let warning = validationWarnings.flatMap { $0.indices.contains(place) ? $0[place] : nil }
      // A limit of another property stays what it is, with its code.
      let condition: ValidationRule.Condition =
        (predicate as? LimitPredicate)?.condition ?? .predicate(ValidatingPredicate(predicate: predicate))
      return ValidationRule(condition, warning: warning?.isEmpty == true ? nil : warning)
    }
  }
}
