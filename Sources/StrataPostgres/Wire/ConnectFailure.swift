import Foundation
import StrataCore

/// What libpq says of a connection that cannot be made, to one host or to several.
///
/// ```
///   connection to server at "a", port 5432 failed: FATAL:  53300: sorry, too many clients already
///   LOCATION:  InitProcess, proc.c:353
/// ```
///
/// What it means is told by the codes, since the words are in the server's language.
struct ConnectFailure {
  /// The SQLSTATEs of all hosts that have answered.
  let states: [String]
  /// What is said to people.
  let words: String
  private let needsPassword: Bool

  init(_ message: String, needsPassword: Bool) {
    self.needsPassword = needsPassword
    var states: [String] = []
    var words: [String] = []
    /// To whom the last one of `states` belongs.
    var server: Substring?
    for line in message.split(separator: "\n") where !line.hasPrefix("LOCATION:") {
      var text = line.trimmingCharacters(in: .whitespaces)
      if let range = Self.state(in: text) {
        // A server may be asked twice, with encryption and without: what it said last counts.
        let asked = text.firstRange(of: " failed: ").map { text[..<$0.lowerBound] }
        if asked != nil, asked == server { states.removeLast() }
        server = asked
        states.append(String(text[range].prefix(5)))
        text.removeSubrange(range)
      }
      words.append(text)
    }
    var sentence = words.isEmpty ? "no reason given" : words.joined(separator: " ")
    if !states.isEmpty { sentence += " (SQLSTATE \(states.joined(separator: ", ")))" }
    self.words = sentence.hasSuffix(".") || sentence.hasSuffix("?") ? sentence : sentence + "."
    self.states = states
  }

  /// Where a code stands with the colon and the space behind it: after a severity, whose word is in the server's language, a colon and two spaces.
  private static func state(in line: String) -> Range<String.Index>? {
    var rest = line[...]
    while let mark = rest.firstRange(of: ":  ") {
      rest = rest[mark.upperBound...]
      let code = rest.prefix(5)
      let isCode =
        code.utf8.count == 5 && code.utf8.allSatisfy { (48...57).contains($0) || (65...90).contains($0) }
      guard isCode, rest.dropFirst(5).hasPrefix(": ") else { continue }
      return rest.startIndex..<rest.index(rest.startIndex, offsetBy: 7)
    }
    return nil
  }

  /// The part of a message that has come to an end: libpq says whom it asks before it knows the answer.
  static func wholeLines(_ message: String) -> String {
    message.lastIndex(of: "\n").map { String(message[...$0]) } ?? ""
  }

  /// What it means for a program. When one of several hosts refuses whoever asks, asking again does not help, and may have the role locked.
  var kind: StorageError.Kind {
    let kinds = states.map { SQLError(state: $0, message: "").kind }
    if needsPassword || kinds.contains(.refused) { return .refused }
    return kinds.first { [.missing, .serverBusy].contains($0) } ?? .unreachable
  }
}
