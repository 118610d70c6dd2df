import Foundation

/// A regular expression that decides whether whole strings match, with bounded work.
///
/// `NSRegularExpression` is the same engine (ICU) everywhere Foundation is, is what Core Data's own patterns run on, and reports
/// its progress, so that a pattern that backtracks without end can be stopped. Swift's `Regex` cannot be stopped.
struct ValidationPattern: Sendable {
  /// What came of comparing a string with the pattern.
  enum Outcome {
    case matches
    case differs
    /// The bound was reached, in steps or in memory, before it was decided.
    case undecided
  }

  private let expression: NSRegularExpression
  /// The pattern as it was given.
  let text: String

  /// The longest pattern in UTF-8 bytes.
  static let maximumLength = 10_000
  /// How often the engine, which reports its progress about every 10,000 steps, may do so. A step of a long pattern costs more.
  private let mostReports: Int

  /// Nil when `pattern` is no regular expression, is empty or too long. Regardless of case, letters match by Unicode's case folding.
  init?(_ pattern: String, isCaseInsensitive: Bool = false) {
    guard !pattern.isEmpty, pattern.utf8.count <= Self.maximumLength,
      (try? NSRegularExpression(pattern: pattern)) != nil
    else { return nil }
    // The second form is for patterns that end in a comment.
    for whole in ["\\A(?:\(pattern))\\z", "\\A(?:\(pattern)\n)\\z"] {
      if let expression = try? NSRegularExpression(
        pattern: whole, options: isCaseInsensitive ? .caseInsensitive : [])
      {
        self.expression = expression
        text = pattern
        mostReports = max(20, 100_000 / max(100, pattern.utf8.count))
        return
      }
    }
    return nil
  }

  func compare(_ string: String) -> Outcome {
    var outcome = Outcome.differs
    var steps = 0
    expression.enumerateMatches(
      in: string, options: [.reportProgress, .reportCompletion],
      range: NSRange(location: 0, length: string.utf16.count)
    ) { match, flags, stop in
      steps += 1
      if match != nil {
        outcome = .matches
        stop.pointee = true
      } else if flags.contains(.internalError) || steps > mostReports {
        outcome = .undecided
        stop.pointee = true
      }
    }
    return outcome
  }
}
