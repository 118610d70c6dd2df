import Foundation

// Questions to texts that do not look at case and marks. Foundation has these expressions on Apple's systems only, though `#Predicate` writes calls of the
// functions that make them everywhere; so they are here for other systems.
//
//     $0.title.localizedStandardContains(text)                     title CONTAINS[cd] text
//     $0.title.caseInsensitiveCompare(text) == same                title ==[c] text, with let same = ComparisonResult.orderedSame
//
// Stores know no locale: both mean Unicode's folding, whatever the user's language is.

#if !canImport(Darwin)
  extension PredicateExpressions {
    /// Whether a text contains another one, regardless of case and marks: `$0.title.localizedStandardContains(text)`.
    public struct StringLocalizedStandardContains<Root: PredicateExpression, Other: PredicateExpression>:
      PredicateExpression
    where Root.Output: StringProtocol, Other.Output: StringProtocol {
      public typealias Output = Bool

      /// The text that is searched.
      public let root: Root
      /// The text that is looked for.
      public let other: Other

      public init(root: Root, other: Other) {
        self.root = root
        self.other = other
      }

      /// What Foundation's `localizedStandardContains(_:)` says of the two texts.
      /// - Throws: what evaluating the two texts throws.
      public func evaluate(_ bindings: PredicateBindings) throws -> Bool {
        try root.evaluate(bindings).localizedStandardContains(other.evaluate(bindings))
      }
    }

    /// How two texts are ordered regardless of case: `$0.title.caseInsensitiveCompare(text)`.
    public struct StringCaseInsensitiveCompare<Root: PredicateExpression, Other: PredicateExpression>:
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

      /// What Foundation's `caseInsensitiveCompare(_:)` says of the two texts.
      /// - Throws: what evaluating the two texts throws.
      public func evaluate(_ bindings: PredicateBindings) throws -> ComparisonResult {
        try root.evaluate(bindings).caseInsensitiveCompare(other.evaluate(bindings))
      }
    }

    /// Called by the code that `#Predicate` writes.
    public static func build_localizedStandardContains<Root, Other>(_ root: Root, _ other: Other)
      -> StringLocalizedStandardContains<Root, Other>
    { StringLocalizedStandardContains(root: root, other: other) }

    /// Called by the code that `#Predicate` writes.
    public static func build_caseInsensitiveCompare<Root, Other>(_ root: Root, _ other: Other)
      -> StringCaseInsensitiveCompare<Root, Other>
    { StringCaseInsensitiveCompare(root: root, other: other) }
  }

  extension PredicateExpressions.StringLocalizedStandardContains: Sendable
  where Root: Sendable, Other: Sendable {}
  extension PredicateExpressions.StringCaseInsensitiveCompare: Sendable
  where Root: Sendable, Other: Sendable {}

  extension PredicateExpressions.StringLocalizedStandardContains: Codable
  where Root: Codable, Other: Codable {
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

  extension PredicateExpressions.StringCaseInsensitiveCompare: Codable where Root: Codable, Other: Codable {
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

  extension PredicateExpressions.StringLocalizedStandardContains: StandardPredicateExpression
  where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}
  extension PredicateExpressions.StringCaseInsensitiveCompare: StandardPredicateExpression
  where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}
#endif

extension PredicateExpressions.StringLocalizedStandardContains: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .condition(
      .compare(
        FetchComparison(
          try lowering.value(root), .contains, try lowering.value(other),
          options: [.caseInsensitive, .diacriticInsensitive])), guards: [])
  }
}

extension PredicateExpressions.StringCaseInsensitiveCompare: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .order(try lowering.value(root), try lowering.value(other), options: .caseInsensitive)
  }
}
