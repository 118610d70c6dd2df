import Foundation

/// The rules of one property of a compiled entity.
struct PropertyRules: Sendable {
  let slot: Int
  let rules: [CompiledRule]
  /// What all the rules together say, when they are nothing but bounds: most values are told to be valid by it.
  let bounds: ValueBounds?

  init(slot: Int, rules: [CompiledRule]) {
    self.slot = slot
    self.rules = rules
    bounds = ValueBounds(rules.map(\.test))
  }
}

/// A rule made ready for the type of its property.
struct CompiledRule: Sendable {
  let rule: ValidationRule
  let test: Test

  /// A condition whose bound is of the property's type and whose pattern is compiled.
  enum Test: Sendable {
    case minimum(AttributeValue)
    case maximum(AttributeValue)
    case minimumLength(Int)
    case maximumLength(Int)
    case pattern(ValidationPattern)
    case predicate(any ValidationPredicate)
  }

  /// A value that does not meet a rule: Core Data's code, and words to go after the property's name.
  struct Failure {
    let code: CoreDataError.Code
    let words: String
  }

  /// - Throws: `ModelError` with one sentence that names the property and the rule, when the rule does not fit the property.
  init(_ rule: ValidationRule, of property: PropertyDescription) throws(ModelError) {
    self.rule = rule
    let place = "\(property.entity?.name ?? "").\(property.name)"
    func misfit(_ reason: String) -> ModelError {
      ModelError("The rule \(rule.condition) does not fit \(place): \(reason).")
    }
    if let warning = rule.warning, warning.utf8.count > Self.longestWarning {
      throw misfit("its warning is longer than \(Self.longestWarning) bytes")
    }
    if case .predicate(let predicate) = rule.condition {
      test = .predicate(predicate)
      return
    }
    guard let attribute = property as? AttributeDescription else {
      throw ModelError(
        "The rule \(rule.condition) does not fit \(place), which is a relationship; only predicates do.")
    }
    let type = attribute.attributeType
    switch rule.condition {
    case .minimum(let bound), .maximum(let bound):
      guard type.isNumber || type == .date else {
        throw misfit("its type is \(type), and only numbers and dates have bounds")
      }
      guard bound.isNumber == type.isNumber, !bound.isNaN, let bound = bound.converted(to: type) else {
        throw misfit("\(bound) is no \(type)")
      }
      if case .minimum = rule.condition { test = .minimum(bound) } else { test = .maximum(bound) }
    case .minimumLength, .maximumLength, .pattern:
      guard type == .string else { throw misfit("its type is \(type), and only strings have such rules") }
      do { test = try Test(rule.condition) } catch { throw misfit("\(error)") }
    case .predicate(let predicate): test = .predicate(predicate)
    }
  }

  private static let longestWarning = 10_000
}

extension CompiledRule.Test {
  /// The condition for values of any type.
  ///
  /// - Throws: `ModelError` with the reason, for a pattern that is none and for a negative length.
  init(_ condition: ValidationRule.Condition) throws(ModelError) {
    switch condition {
    case .minimum(let bound): self = .minimum(bound)
    case .maximum(let bound): self = .maximum(bound)
    case .minimumLength(let length), .maximumLength(let length):
      guard length >= 0 else { throw ModelError("its length is negative") }
      if case .minimumLength = condition {
        self = .minimumLength(length)
      } else {
        self = .maximumLength(length)
      }
    case .pattern(let text):
      guard let pattern = ValidationPattern(text) else {
        throw ModelError("it is no regular expression of 1 to 10,000 bytes")
      }
      self = .pattern(pattern)
    case .predicate(let predicate): self = .predicate(predicate)
    }
  }

  /// What is wrong with `value`, which is not null; nil when it meets the rule. Allocates nothing for numbers and dates.
  func failure(of value: AttributeValue) -> CompiledRule.Failure? {
    switch self {
    case .minimum(let bound):
      if !value.isNaN, AttributeValue.compare(value, bound) >= 0 { return nil }
      return outOfBounds(
        value, .validationDateTooSoon, .validationNumberTooSmall, "must be at least \(bound)")
    case .maximum(let bound):
      if !value.isNaN, AttributeValue.compare(value, bound) <= 0 { return nil }
      return outOfBounds(value, .validationDateTooLate, .validationNumberTooLarge, "must be at most \(bound)")
    case .minimumLength(let length):
      guard case .string(let text) = value else { return noString(.validationStringTooShort, value) }
      // A code unit takes one to three bytes.
      if text.utf8.count >= length, text.utf8.count / 3 >= length || text.utf16.count >= length { return nil }
      return CompiledRule.Failure(
        code: .validationStringTooShort,
        words: "must have at least \(length) characters and has \(text.utf16.count)")
    case .maximumLength(let length):
      guard case .string(let text) = value else { return noString(.validationStringTooLong, value) }
      if text.utf8.count <= length || text.utf16.count <= length { return nil }
      return CompiledRule.Failure(
        code: .validationStringTooLong,
        words: "must have at most \(length) characters and has \(text.utf16.count)")
    case .pattern(let pattern):
      guard case .string(let text) = value else { return noString(.validationStringPatternMatching, value) }
      switch pattern.compare(text) {
      case .matches: return nil
      case .differs:
        return CompiledRule.Failure(
          code: .validationStringPatternMatching,
          words: "must match the pattern “\(Self.short(pattern.text))” and is “\(Self.short(text))”")
      case .undecided:
        return CompiledRule.Failure(
          code: .validationStringPatternMatching,
          words: "takes too long to compare with the pattern “\(Self.short(pattern.text))”")
      }
    case .predicate: return failure(ofAny: value.anyValue)
    }
  }

  /// The beginning of a text, for a message.
  private static func short(_ text: String) -> String {
    let start = text.prefix(100)
    return start.endIndex == text.endIndex ? text : "\(start)…"
  }

  /// The same for a value that is no attribute value, about which only predicates have something to say.
  func failure(ofAny value: Any?) -> CompiledRule.Failure? {
    guard case .predicate(let predicate) = self, !predicate.evaluate(with: value) else { return nil }
    return CompiledRule.Failure(code: .managedObjectValidation, words: "is not valid")
  }

  private func outOfBounds(
    _ value: AttributeValue, _ dateCode: CoreDataError.Code, _ numberCode: CoreDataError.Code, _ words: String
  ) -> CompiledRule.Failure {
    guard case .date = value else {
      return CompiledRule.Failure(code: numberCode, words: "\(words) and is \(value)")
    }
    return CompiledRule.Failure(
      code: value.isNaN ? .validationInvalidDate : dateCode, words: "\(words) and is \(value)")
  }

  private func noString(_ code: CoreDataError.Code, _ value: AttributeValue) -> CompiledRule.Failure {
    CompiledRule.Failure(code: code, words: "must be a string and is \(value)")
  }
}

extension AttributeValue {
  fileprivate var isNumber: Bool {
    switch self {
    case .integer, .double, .float, .decimal: true
    default: false
    }
  }

  /// Whether this is no number, or a date that is none: it is within no bounds.
  fileprivate var isNaN: Bool {
    switch self {
    case .double(let value): value.isNaN
    case .float(let value): value.isNaN
    case .decimal(let value): value.isNaN
    case .date(let value): value.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }
}
