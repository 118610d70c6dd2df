/// Cuts a Swift file into tokens: comments are left out, conditional compilation is kept. The code in a text belongs to the text's token.
///
/// Only as exact as finding declarations needs: operators come sign by sign, numbers and strings as literals without text. One pass,
/// no copy of the file.
struct Lexer {
  private let bytes: [UInt8]
  private var at = 0
  private var line = 1
  private var lineStart = 0
  private var sawSpace = false
  private var tokens: [Token] = []

  /// The tokens of `bytes`, the last one being the end.
  static func tokens(of bytes: [UInt8]) -> [Token] {
    var lexer = Lexer(bytes)
    lexer.run()
    return lexer.tokens
  }

  private init(_ bytes: [UInt8]) {
    self.bytes = bytes
    tokens.reserveCapacity(bytes.count / 5)
  }

  private mutating func run() {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
    // A script's first line.
    if peek(0) == UInt8(ascii: "#"), peek(1) == UInt8(ascii: "!") { skipLine() }
    scan(nil)
    add(.end, "", from: at)
  }

  /// A string whose interpolation is read.
  private struct Outer {
    /// A comment to the end of the line can stand in interpolations of texts of several lines only.
    let isLong: Bool
  }

  /// Reads to the end, or to the bracket that closes an interpolation.
  private mutating func scan(_ outer: Outer?) {
    var depth = 0
    while at < bytes.count {
      let byte = bytes[at]
      switch byte {
      case UInt8(ascii: "(") where outer != nil:
        depth += 1
        add(.sign, "(", from: at)
        at += 1
      case UInt8(ascii: ")") where outer != nil:
        if depth == 0 { return }
        depth -= 1
        add(.sign, ")", from: at)
        at += 1
      case UInt8(ascii: "\n"): newLine()
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), 0x0B, 0x0C, 0:
        at += 1
        sawSpace = true
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/") && outer?.isLong != false: lineComment()
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): blockComment()
      case UInt8(ascii: "/") where startsRegex(): regex()
      case UInt8(ascii: "\""): string(pounds: 0)
      case UInt8(ascii: "#"): pound()
      case UInt8(ascii: "`"): quotedWord()
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number()
      default:
        if Self.isWordByte(byte) {
          word()
        } else {
          add(.sign, String(UnicodeScalar(byte)), from: at)
          at += 1
        }
      }
    }
  }

  // MARK: Steps

  private func peek(_ offset: Int) -> UInt8 { at + offset < bytes.count ? bytes[at + offset] : 0 }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
      UInt8(ascii: "$"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
      true
    default: false
    }
  }

  private mutating func add(
    _ kind: Token.Kind, _ text: String, from start: Int, line: Int? = nil, _ parts: [Interpolation] = []
  ) {
    tokens.append(
      Token(
        kind: kind, text: text, line: line ?? self.line, column: max(start - lineStart, 0) + 1,
        // A sign is noted before it is passed over.
        range: start..<(kind == .sign ? start + 1 : at),
        followsSpace: sawSpace, interpolations: parts))
    sawSpace = false
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private mutating func newLine() {
    at += 1
    line += 1
    lineStart = at
    sawSpace = true
  }

  private mutating func skipLine() {
    while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
  }

  private mutating func word() {
    let start = at
    while at < bytes.count, Self.isWordByte(bytes[at]) { at += 1 }
    add(.word, text(start..<at), from: start)
  }

  private mutating func quotedWord() {
    let start = at
    at += 1
    while at < bytes.count, bytes[at] != UInt8(ascii: "`"), bytes[at] != UInt8(ascii: "\n") { at += 1 }
    let text = text(start + 1..<at)
    if peek(0) == UInt8(ascii: "`") { at += 1 }
    add(.quotedWord, text, from: start)
  }

  private mutating func number() {
    let start = at
    while at < bytes.count {
      if Self.isWordByte(bytes[at]) {
        at += 1
      } else if bytes[at] == UInt8(ascii: "."), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(peek(1)) {
        at += 1
      } else {
        break
      }
    }
    add(.literal, "", from: start)
  }

  // MARK: Comments

  private mutating func lineComment() {
    let start = at
    skipLine()
    sawSpace = true
    let prefix = "NSManaged:"
    var from = start + 2
    while from < at, bytes[from] == UInt8(ascii: " ") { from += 1 }
    if bytes[from..<at].starts(with: prefix.utf8) {
      add(.hint, text(from + prefix.utf8.count..<at), from: start)
      sawSpace = true
    }
  }

  private mutating func blockComment() {
    var depth = 0
    sawSpace = true
    while at < bytes.count {
      if peek(0) == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
        depth += 1
        at += 2
      } else if peek(0) == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
        depth -= 1
        at += 2
        if depth == 0 { return }
      } else if bytes[at] == UInt8(ascii: "\n") {
        newLine()
      } else {
        at += 1
      }
    }
  }

  // MARK: Literals

  /// A string. Code in it has tokens of its own.
  private mutating func string(pounds: Int) {
    let (start, firstLine, space) = (at, line, sawSpace)
    var parts: [Interpolation] = []
    let quote = UInt8(ascii: "\"")
    let isLong = peek(1) == quote && peek(2) == quote
    at += isLong ? 3 : 1
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\\"), hasPounds(pounds, after: at) {
        let place = at
        at += 1 + pounds
        if peek(0) == UInt8(ascii: "(") {
          parts.append(interpolation(from: place, Outer(isLong: isLong)))
        } else if peek(0) == UInt8(ascii: "\n") {
          newLine()
        } else {
          at += 1
        }
      } else if byte == quote {
        if !isLong, hasPounds(pounds, after: at) {
          at += 1 + pounds
          break
        }
        if isLong, peek(1) == quote, peek(2) == quote, hasPounds(pounds, after: at + 2) {
          at += 3 + pounds
          break
        }
        at += 1
      } else if byte == UInt8(ascii: "\n") {
        // A string that is not closed is the compiler's to report.
        if !isLong { break }
        newLine()
      } else {
        at += 1
      }
    }
    sawSpace = space
    add(.literal, "", from: start, line: firstLine, parts)
  }

  private func hasPounds(_ count: Int, after index: Int) -> Bool {
    guard index + count < bytes.count || count == 0 else { return false }
    return bytes[(index + 1)..<min(index + 1 + count, bytes.count)].allSatisfy { $0 == UInt8(ascii: "#") }
  }

  private mutating func interpolation(from start: Int, _ outer: Outer) -> Interpolation {
    var others: [Token] = []
    swap(&others, &tokens)
    add(.sign, "(", from: at)
    at += 1
    scan(outer)
    if at < bytes.count {
      add(.sign, ")", from: at)
      at += 1
    }
    add(.end, "", from: at)
    swap(&others, &tokens)
    return Interpolation(range: start..<at, tokens: others)
  }

  /// Whether the slash here begins `/…/`: nothing that could be divided stands before it, and it ends on the same line.
  private func startsRegex() -> Bool {
    let next = peek(1)
    if next == UInt8(ascii: " ") || next == UInt8(ascii: "\t") || next == UInt8(ascii: "=") || next == 0 {
      return false
    }
    if let last = tokens.last {
      switch last.kind {
      case .literal, .quotedWord: return false
      case .word
      where !["return", "case", "in", "try", "await", "where", "if", "guard", "while"].contains(last.text):
        return false
      case .sign where [")", "]", "}", "/"].contains(last.text): return false
      case .sign where !sawSpace && !["(", "[", ",", ":"].contains(last.text): return false
      default: break
      }
    }
    var index = at + 1
    while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
      if bytes[index] == UInt8(ascii: "\\") {
        index += 2
      } else if bytes[index] == UInt8(ascii: "/") {
        return bytes[index - 1] != UInt8(ascii: " ")
      } else {
        index += 1
      }
    }
    return false
  }

  private mutating func regex() {
    let start = at
    at += 1
    while at < bytes.count, bytes[at] != UInt8(ascii: "/") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
    at = min(at + 1, bytes.count)
    add(.literal, "", from: start)
  }

  // MARK: What begins with #

  private mutating func pound() {
    let start = at
    var pounds = 0
    while peek(pounds) == UInt8(ascii: "#") { pounds += 1 }
    if peek(pounds) == UInt8(ascii: "\"") {
      at += pounds
      string(pounds: pounds)
      return
    }
    if peek(pounds) == UInt8(ascii: "/") {
      longRegex(pounds: pounds)
      return
    }
    var end = at + 1
    while end < bytes.count, Self.isWordByte(bytes[end]) { end += 1 }
    let name = text(at + 1..<end)
    guard ["if", "elseif", "else", "endif"].contains(name) else {
      add(.sign, "#", from: start)
      at += 1
      return
    }
    directive(from: start)
  }

  private mutating func longRegex(pounds: Int) {
    let (start, firstLine) = (at, line)
    at += pounds + 1
    while at < bytes.count {
      if bytes[at] == UInt8(ascii: "/"), hasPounds(pounds, after: at) {
        at += 1 + pounds
        break
      }
      if bytes[at] == UInt8(ascii: "\n") {
        newLine()
      } else {
        at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
      }
    }
    at = min(at, bytes.count)
    add(.literal, "", from: start, line: firstLine)
  }

  /// The rest of the line, and of further lines while brackets are open.
  private mutating func directive(from start: Int) {
    let firstLine = line
    var words: [UInt8] = []
    var depth = 0
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\n") {
        if depth <= 0 { break }
        words.append(UInt8(ascii: " "))
        newLine()
      } else if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "/") {
        skipLine()
      } else if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
        blockComment()
      } else {
        if byte == UInt8(ascii: "(") { depth += 1 }
        if byte == UInt8(ascii: ")") { depth -= 1 }
        if byte != UInt8(ascii: "\r") { words.append(byte) }
        at += 1
      }
    }
    add(.directive, String(decoding: words, as: UTF8.self), from: start, line: firstLine)
  }
}
