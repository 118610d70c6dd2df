import Foundation
import StrataCore

/// A predicate that the values of a property must meet.
struct ValidatingPredicate: ValidationPredicate, @unchecked Sendable {
  // Safe: predicates are not changed once they are made.
  let predicate: NSPredicate

  func evaluate(with value: Any?) -> Bool { predicate.evaluate(with: value) }
}

extension NSPropertyDescription {
  /// The predicates that the values must meet, as set by `setValidationPredicates(_:withValidationWarnings:)` and by the model's
  /// own rules.
  public var validationPredicates: [NSPredicate] {
    validationRules.map { rule in
      let predicate = rule.predicate
      if let own = predicate as? ValidatingPredicate { return own.predicate }
      return NSPredicate { value, _ in predicate.evaluate(with: value) }
    }
  }

  /// What the errors say, one for each predicate; empty where the library makes the sentence.
  public var validationWarnings: [Any] { validationRules.map { $0.warning ?? "" } }

  /// Sets the predicates that the values must meet in every save, and what the errors say.
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {
    validationRules = (validationPredicates ?? []).enumerated().map { place, predicate in
      let warning = validationWarnings.flatMap { $0.indices.contains(place) ? $0[place] : nil }
      return .predicate(
        ValidatingPredicate(predicate: predicate), warning: warning?.isEmpty == true ? nil : warning)
    }
  }
}
