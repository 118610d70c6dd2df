import StrataCore

/// Two expressions, compared. `NSPredicate(format:)` makes one of every comparison.
///
/// Foundation on Linux has an unavailable class of the same name; see `NSExpression` for files that import both modules.
open class NSComparisonPredicate: NSPredicate {
  /// How two expressions are compared. The raw values are Apple's.
  public enum Operator: UInt, Sendable {
    case lessThan = 0
    case lessThanOrEqualTo = 1
    case greaterThan = 2
    case greaterThanOrEqualTo = 3
    case equalTo = 4
    case notEqualTo = 5
    case matches = 6
    case like = 7
    case beginsWith = 8
    case endsWith = 9
    case `in` = 10
    /// Needs a selector, and there are no selectors: evaluating it traps, a fetch throws.
    case customSelector = 11
    case contains = 99
    case between = 100
  }

  /// Which of the left side's values must compare so.
  public enum Modifier: UInt, Sendable {
    case direct = 0
    case all = 1
    case any = 2
  }

  /// How texts are compared.
  public struct Options: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// `[c]`
    public static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`
    public static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: by bytes, which is how texts are compared anyway.
    public static let normalized = Options(rawValue: 4)
  }

  /// What is compared.
  public let leftExpression: NSExpression
  /// With what.
  public let rightExpression: NSExpression
  /// Which of the left side's values must compare so.
  public let comparisonPredicateModifier: Modifier
  /// How.
  public let predicateOperatorType: Operator
  /// How texts are compared.
  public let options: Options

  /// A comparison of two expressions.
  public init(
    leftExpression lhs: NSExpression, rightExpression rhs: NSExpression, modifier: Modifier,
    type: Operator, options: Options = []
  ) {
    leftExpression = lhs
    rightExpression = rhs
    comparisonPredicateModifier = modifier
    predicateOperatorType = type
    self.options = options
    // Foundation's own evaluation is never asked: both of its methods are overridden.
    super.init(value: false)
  }

  @available(*, unavailable)
  public required init?(coder: NSCoder) { stop("predicates are not archived; keep their predicateFormat.") }

  open override func evaluate(with object: Any?) -> Bool {
    evaluate(with: object, substitutionVariables: nil)
  }

  open override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    MemoryEvaluation(object, variables: bindings ?? [:]).isTrue(self)
  }

  /// The comparison as a format string.
  open override var predicateFormat: String { PredicateText.text(self) }
  open override var description: String { PredicateText.text(self) }

  open override func copy(with zone: NSZone? = nil) -> Any { self }
  open override func copy() -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPredicate else { return false }
    return self === other || PredicateText.isSame(self, other)
  }

  open override var hash: Int { PredicateText.hash(self) }
}
