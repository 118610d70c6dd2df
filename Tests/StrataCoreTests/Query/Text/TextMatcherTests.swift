import Foundation
import Testing

@testable import StrataCore

/// String operators on bytes (rule 108).
@Suite struct TextMatcherTests {
  private static let options: [FetchComparison.StringOptions] = [
    [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
  ]

  private func matches(
    _ subject: String, _ operation: ComparisonOperator, _ pattern: String,
    _ options: FetchComparison.StringOptions = []
  ) throws -> Bool {
    try TextMatcher(operation, pattern, options: options).matches(subject)
  }

  /// Random short texts of few letters: the short ways on bytes say the same as the plain definition on folded texts.
  @Test(arguments: [UInt64(1), 2, 3])
  func operatorsAgreeWithTheDefinition(seed: UInt64) throws {
    print("matcher seed \(seed)")
    var random = RandomValues(seed: seed)
    let letters = ["a", "b", "A", "é", "e\u{301}", "E", "ß", "s", "S", "İ", "i", "\u{301}", "ﬁ", "f"]
    func text() -> String { (0..<random.below(5)).map { _ in letters[random.below(letters.count)] }.joined() }
    for _ in 0..<rounds(1_500, long: 20_000) {
      let (subject, pattern) = (text(), text())
      for options in Self.options {
        let left = TextFolding(options).folded(subject)
        let right = TextFolding(options).folded(pattern)
        // What folding leaves nothing of is found nowhere.
        let isThere = !right.isEmpty
        let isPart = isThere && left.indices.contains { left[$0...].starts(with: right) }
        let expected: [(ComparisonOperator, Bool)] = [
          (.equal, left == right), (.notEqual, left != right),
          (.beginsWith, isThere && left.starts(with: right)),
          (.endsWith, isThere && left.reversed().starts(with: right.reversed())), (.contains, isPart),
          (.less, left.lexicographicallyPrecedes(right)),
          (.greaterOrEqual, !left.lexicographicallyPrecedes(right)),
        ]
        for (operation, answer) in expected where try matches(subject, operation, pattern, options) != answer
        {
          Issue.record("seed \(seed): “\(subject)” \(operation)[\(options)] “\(pattern)” should be \(answer)")
          return
        }
      }
    }
  }

  /// LIKE says the same as trying every way to divide the characters.
  @Test(arguments: [UInt64(1), 2])
  func likeAgreesWithTheDefinition(seed: UInt64) throws {
    print("like seed \(seed)")
    var random = RandomValues(seed: seed)
    func fits(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
      guard let first = pattern.first else { return text.isEmpty }
      if first == "*" { return (0...text.count).contains { fits(text.dropFirst($0), pattern.dropFirst()) } }
      guard let next = text.first, first == "?" || first == next else { return false }
      return fits(text.dropFirst(), pattern.dropFirst())
    }
    for _ in 0..<8_000 {
      let text = (0..<random.below(7)).map { _ in ["a", "b", "é", "🇫🇷"][random.below(4)] }.joined()
      let pattern = (0..<random.below(6)).map { _ in ["a", "b", "é", "*", "?", "*"][random.below(6)] }
        .joined()
      let answer = fits(Array(text)[...], Array(pattern)[...])
      guard try matches(text, .like, pattern) == answer else {
        Issue.record("seed \(seed): “\(text)” LIKE “\(pattern)” should be \(answer)")
        return
      }
    }
  }

  @Test func questionMarkIsOneCharacterAsAReaderSeesIt() throws {
    for character in ["e\u{301}", "👨‍👩‍👧", "🇫🇷", "\r\n", "각", "x"] {
      #expect(try matches(character, .like, "?"), "\(character)")
      #expect(try !matches(character, .like, "??"))
      #expect(try matches("a\(character)b", .like, "a?b"))
    }
    #expect(try matches("Straße", .like, "STRA?E", .caseInsensitive))
    #expect(try matches("STRASSE", .like, "straß*", .caseInsensitive))
  }

  @Test func backslashEscapesInLike() throws {
    #expect(try matches("a*b", .like, #"a\*b"#))
    #expect(try !matches("axb", .like, #"a\*b"#))
    #expect(try matches("a?", .like, #"a\?"#))
    #expect(try matches(#"a\b"#, .like, #"a\\b"#))
    #expect(try matches(#"a\"#, .like, #"a\"#))
  }

  @Test func regularExpressionsMatchTheWholeText() throws {
    #expect(try matches("abc", .matches, "a.c"))
    #expect(try !matches("abcd", .matches, "a.c"))
    #expect(try matches("ABC", .matches, "a.c", .caseInsensitive))
    #expect(try !matches("A C", .matches, #"a\Sc"#, .caseInsensitive))
    #expect(try matches("Crème", .matches, "Creme", .diacriticInsensitive))
    #expect(try matches("", .matches, ""))
    #expect(try !matches("a", .matches, ""))
  }

  @Test func brokenAndEndlessExpressionsAreErrors() throws {
    #expect(throws: TextMatchError.self) { try matches("a", .matches, "(") }
    let long = String(repeating: "a", count: 10_001)
    #expect(throws: TextMatchError.self) { try matches("a", .like, long) }
    let error = #expect(throws: TextMatchError.self) {
      try matches(String(repeating: "a", count: 40) + "b", .matches, "(a+)+")
    }
    #expect(error?.reason == .undecided)
  }

  /// Texts made to be slow: searches stay linear, LIKE within the product of both lengths. Hangs otherwise.
  @Test func costsAreBounded() throws {
    let text = String(repeating: "a", count: 200_000)
    #expect(try !matches(text, .contains, String(repeating: "a", count: 100_000) + "b"))
    #expect(try matches(text + "b", .contains, String(repeating: "a", count: 100_000) + "b"))
    let stars = String(repeating: "*a", count: 200) + "b"
    #expect(try !matches(String(repeating: "a", count: 20_000), .like, stars))
    #expect(try matches(String(repeating: "a", count: 20_000) + "b", .like, stars))
  }
}
