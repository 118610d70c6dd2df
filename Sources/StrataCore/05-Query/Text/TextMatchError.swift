import Foundation

/// Why a text cannot be compared with a pattern.
public struct TextMatchError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// What is wrong.
  public enum Reason: Sendable, Hashable {
    /// The right side of `MATCHES` is no regular expression.
    case invalidExpression
    /// The pattern of `LIKE` or `MATCHES` has more than 10,000 bytes.
    case tooLong
    /// The regular expression needed more steps, or more memory, than are allowed for one text.
    case undecided
  }

  /// What is wrong.
  public let reason: Reason
  /// The pattern concerned; of a long one, its beginning.
  public let pattern: String

  init(_ reason: Reason, _ pattern: String) {
    self.reason = reason
    self.pattern = pattern.count > 200 ? pattern.prefix(200) + "…" : pattern
  }

  public var description: String {
    switch reason {
    case .invalidExpression: "“\(pattern)” is no regular expression."
    case .tooLong: "A pattern has more than \(TextMatcher.longestPattern) bytes: “\(pattern)”."
    case .undecided:
      "The regular expression “\(pattern)” takes too many steps on a text: write it so that it backtracks less."
    }
  }

  public var errorDescription: String? { description }
}
