import Foundation

/// A format string that is no predicate, or no expression: where, what stands there and what could.
///
///     Unexpected “>” : expected a value, a key or “(”.
///     age > > 3
///           ^
public struct PredicateSyntaxError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// What is wrong.
  public enum Reason: Sendable, Hashable {
    /// Something else must stand at this place. `found` is the text there, or words such as “the end”.
    case unexpected(found: String, expected: [String])
    /// A number, a text or a sign that is written wrongly, and how.
    case malformed(String)
    /// Core Data's grammar has it, or it looks as if, but it cannot be evaluated here; why.
    case unsupported(String)
    /// There are fewer arguments than the format string asks for.
    case missingArgument(number: Int)
    /// There are more arguments than the format string asks for.
    case unusedArguments(numbers: [Int])
    /// The argument is of a kind that cannot stand at this place; why.
    case argument(number: Int, String)
    /// More than 100 levels.
    case tooDeep
    /// More than a million bytes.
    case tooLong
  }

  /// What is wrong.
  public let reason: Reason
  /// The format string.
  public let format: String
  /// How many characters precede the place.
  public let position: Int
  /// The line of the place, from 1.
  public let line: Int
  /// The place in that line, in characters, from 1.
  public let column: Int

  /// - Parameter offset: The place in UTF-8 bytes.
  init(_ reason: Reason, in format: String, at offset: Int) {
    self.reason = reason
    self.format = format
    var position = 0
    var line = 1
    var column = 1
    var passed = 0
    for character in format {
      passed += character.utf8.count
      if passed > offset { break }
      position += 1
      column = character.isNewline ? 1 : column + 1
      if character.isNewline { line += 1 }
    }
    self.position = position
    self.line = line
    self.column = column
  }

  /// What is wrong, in one sentence, without the place.
  public var message: String {
    switch reason {
    case .unexpected(let found, let expected): "Unexpected \(found): expected \(Self.choice(expected))."
    case .malformed(let text), .unsupported(let text): "\(text)."
    case .missingArgument(let number): "There is no argument \(number) for this place."
    case .unusedArguments(let numbers):
      numbers.count == 1
        ? "The format string does not use argument \(numbers[0])."
        : "The format string does not use the arguments \(numbers.map(String.init).joined(separator: ", "))."
    case .argument(let number, let text): "Argument \(number) does not fit: \(text)."
    case .tooDeep: "The format string is nested too deeply; \(FormatParser.depthLimit) levels are the limit."
    case .tooLong: "The format string has more than \(FormatParser.lengthLimit) bytes."
    }
  }

  /// The message, the line concerned and a mark below the place; of a long line, what is around it.
  public var description: String {
    let lines = format.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    guard lines.indices.contains(line - 1) else { return message }
    let text = lines[line - 1].map { $0 == "\t" ? " " : $0 }
    let start = max(0, column - 1 - 40)
    let end = min(text.count, column - 1 + 40)
    let shown = (start > 0 ? "…" : "") + String(text[min(start, end)..<end]) + (end < text.count ? "…" : "")
    let indent = String(repeating: " ", count: column - 1 - start + (start > 0 ? 1 : 0))
    let place = lines.count > 1 ? "Line \(line): " : ""
    return "\(place)\(message)\n\(shown)\n\(indent)^"
  }

  public var errorDescription: String? { description }

  private static func choice(_ words: [String]) -> String {
    words.count < 2
      ? words.joined() : words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1]
  }
}
