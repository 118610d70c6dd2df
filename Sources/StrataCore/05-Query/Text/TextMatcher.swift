import Foundation

/// A text comparison whose right side is known: prepared once, then asked for each row.
///
/// Rows are tested on their UTF-8 bytes. Texts of ASCII letters need no memory; others are folded into memory of the call's own.
/// `MATCHES` makes a string of each text.
struct TextMatcher: Sendable {
  /// The longest pattern of `LIKE` and `MATCHES`, in UTF-8 bytes.
  static let longestPattern = ValidationPattern.maximumLength

  private enum Test: Sendable {
    /// The folded right side.
    case bytes(ComparisonOperator, [UInt8])
    /// A part that folding leaves nothing of: no text has it, as with Foundation's search for texts.
    case nothing
    case like(LikePattern)
    case matches(ValidationPattern, String)
    /// The folded right sides, ascending.
    case oneOf([[UInt8]])
  }

  private let test: Test
  private let folding: TextFolding

  /// Prepares `subject operation pattern`, for every operator but `in` and `between`.
  ///
  /// - Throws: ``TextMatchError`` for a regular expression that is none, or for a pattern that is too long.
  init(
    _ operation: ComparisonOperator, _ pattern: String, options: FetchComparison.StringOptions = []
  ) throws(TextMatchError) {
    folding = TextFolding(options)
    switch operation {
    case .like:
      guard pattern.utf8.count <= Self.longestPattern else { throw TextMatchError(.tooLong, pattern) }
      test = .like(LikePattern(pattern, folding))
    case .matches: test = try Self.expression(pattern, folding)
    case .in, .between: trap("\(operation) has more than one right side; prepare one matcher for each.")
    default:
      let folded = folding.folded(pattern)
      test = folded.isEmpty && operation.isForParts ? .nothing : .bytes(operation, folded)
    }
  }

  /// Prepares the question whether a text is one of several.
  init(oneOf texts: [String], options: FetchComparison.StringOptions) {
    let folding = TextFolding(options)
    self.folding = folding
    test = .oneOf(texts.map { folding.folded($0) }.sorted { $0.lexicographicallyPrecedes($1) })
  }

  private static func expression(_ pattern: String, _ folding: TextFolding) throws(TextMatchError) -> Test {
    // An empty expression matches the empty text only, as an equal one does.
    if pattern.isEmpty { return .bytes(.equal, []) }
    guard pattern.utf8.count <= longestPattern else { throw TextMatchError(.tooLong, pattern) }
    // The letters of a pattern lose their marks like those of texts. Their case must stay: \s is not \S.
    let folded = TextFolding(folding.options.intersection(.diacriticInsensitive)).folded(pattern)
    guard
      let expression = ValidationPattern(
        String(decoding: folded, as: UTF8.self),
        isCaseInsensitive: folding.options.contains(.caseInsensitive))
    else { throw TextMatchError(.invalidExpression, pattern) }
    return .matches(expression, pattern)
  }

  /// Whether `subject`, UTF-8, satisfies the comparison.
  ///
  /// - Throws: ``TextMatchError`` when a regular expression came to no decision within its bounds.
  @inline(__always)
  func matches(_ subject: UnsafeRawBufferPointer) throws(TextMatchError) -> Bool {
    switch test {
    case .bytes(let operation, let pattern):
      pattern.withUnsafeBytes { matches(operation, subject, $0) }
    case .like(let pattern): pattern.matches(subject)
    case .matches(let expression, let pattern): try matches(expression, pattern, subject)
    case .oneOf(let texts): isOne(of: texts, subject)
    case .nothing: false
    }
  }

  /// Looks at as many texts as their number has binary digits.
  private func isOne(of texts: [[UInt8]], _ subject: UnsafeRawBufferPointer) -> Bool {
    folding.withFolded(subject) { folded in
      CompiledPredicate.search(count: texts.count) { place in
        texts[place].withUnsafeBytes { AttributeValue.orderBytes(folded, $0) }
      }
    }
  }

  /// Whether `subject` satisfies the comparison.
  ///
  /// - Throws: ``TextMatchError`` when a regular expression came to no decision within its bounds.
  func matches(_ subject: String) throws(TextMatchError) -> Bool {
    var subject = subject
    let answer = subject.withUTF8 { bytes -> Result<Bool, TextMatchError> in
      do throws(TextMatchError) {
        return .success(try matches(UnsafeRawBufferPointer(bytes)))
      } catch {
        return .failure(error)
      }
    }
    return try answer.get()
  }

  private func matches(
    _ operation: ComparisonOperator, _ subject: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer
  ) -> Bool {
    switch operation {
    case .beginsWith: begins(subject, pattern, isWhole: false)
    case .equal: begins(subject, pattern, isWhole: true)
    case .notEqual: !begins(subject, pattern, isWhole: true)
    case .endsWith: ends(subject, pattern)
    case .contains: folding.withFolded(subject) { TextSearch.find(pattern, in: $0) != nil }
    case .less: order(subject, pattern) < 0
    case .lessOrEqual: order(subject, pattern) <= 0
    case .greater: order(subject, pattern) > 0
    case .greaterOrEqual: order(subject, pattern) >= 0
    case .like, .matches, .in, .between: false
    }
  }

  private func order(_ subject: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer) -> Int {
    folding.withFolded(subject) { AttributeValue.orderBytes($0, pattern) }
  }

  /// Looks at ASCII bytes as they come. Since folding looks at single scalars, a byte that differs decides, and only a byte
  /// beyond ASCII makes it necessary to fold the text.
  private func begins(
    _ subject: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, isWhole: Bool
  ) -> Bool {
    let isCaseFolded = folding.options.contains(.caseInsensitive)
    for place in 0..<min(subject.count, pattern.count) {
      let byte = subject[place]
      if byte >= 0x80, !folding.isIdentity {
        return folding.withFolded(subject) { Self.holds(pattern, $0, isWhole: isWhole, atEnd: false) }
      }
      if (isCaseFolded ? TextFolding.lower(byte) : byte) != pattern[place] { return false }
    }
    if subject.count > pattern.count {
      guard isWhole else { return true }
      // What follows may be marks only, which fold to nothing.
      if folding.isIdentity || subject[pattern.count] < 0x80 { return false }
      return folding.withFolded(subject) { $0.count == pattern.count }
    }
    return subject.count == pattern.count
  }

  private func ends(_ subject: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer) -> Bool {
    let isCaseFolded = folding.options.contains(.caseInsensitive)
    for back in 0..<min(subject.count, pattern.count) {
      let byte = subject[subject.count - 1 - back]
      if byte >= 0x80, !folding.isIdentity {
        return folding.withFolded(subject) { Self.holds(pattern, $0, isWhole: false, atEnd: true) }
      }
      if (isCaseFolded ? TextFolding.lower(byte) : byte) != pattern[pattern.count - 1 - back] { return false }
    }
    return subject.count >= pattern.count
  }

  private static func holds(
    _ part: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer, isWhole: Bool, atEnd: Bool
  ) -> Bool {
    guard isWhole ? text.count == part.count : text.count >= part.count else { return false }
    let start = atEnd ? text.count - part.count : 0
    return AttributeValue.orderBytes(
      UnsafeRawBufferPointer(rebasing: text[start..<(start + part.count)]), part) == 0
  }

  @inline(never)
  private func matches(
    _ expression: ValidationPattern, _ pattern: String, _ subject: UnsafeRawBufferPointer
  ) throws(TextMatchError) -> Bool {
    let marksGone = TextFolding(folding.options.intersection(.diacriticInsensitive))
    let text = marksGone.withFolded(subject) { String(decoding: $0, as: UTF8.self) }
    switch expression.compare(text) {
    case .matches: return true
    case .differs: return false
    case .undecided: throw TextMatchError(.undecided, pattern)
    }
  }
}
