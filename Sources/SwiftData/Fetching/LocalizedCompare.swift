// A question to texts that Foundation answers on Apple's systems only, though `#Predicate` writes a call of the function that makes it everywhere:
//
//     $0.title.localizedCompare(text) == same          with let same = ComparisonResult.orderedAscending
//
// No store knows the user's language: models answer it, one by one.

extension PredicateExpressions {
  /// How two texts are ordered in the user's language: `$0.title.localizedCompare(text)`.
  public struct StringLocalizedCompare<Root: PredicateExpression, Other: PredicateExpression>:
    PredicateExpression
  where Root.Output: StringProtocol, Other.Output: StringProtocol {
    public typealias Output = ComparisonResult

    /// The text on the left.
    public let root: Root
    /// The text on the right.
    public let other: Other

    public init(root: Root, other: Other) {
      self.root = root
      self.other = other
    }

    /// What Foundation's `localizedCompare(_:)` says of the two texts.
    /// - Throws: what evaluating the two texts throws.
    public func evaluate(_ bindings: PredicateBindings) throws -> ComparisonResult {
      try root.evaluate(bindings).localizedCompare(other.evaluate(bindings))
    }
  }

  /// Called by the code that `#Predicate` writes.
  public static func build_localizedCompare<Root, Other>(_ root: Root, _ other: Other)
    -> StringLocalizedCompare<Root, Other>
  { StringLocalizedCompare(root: root, other: other) }
}

extension PredicateExpressions.StringLocalizedCompare: Sendable where Root: Sendable, Other: Sendable {}

extension PredicateExpressions.StringLocalizedCompare: Codable where Root: Codable, Other: Codable {
  /// - Throws: what encoding the two texts throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(root)
    try container.encode(other)
  }

  /// - Throws: what decoding the two texts throws.
  public init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    root = try container.decode(Root.self)
    other = try container.decode(Other.self)
  }
}

extension PredicateExpressions.StringLocalizedCompare: StandardPredicateExpression
where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}
