/// Cuts a format string into tokens, from its UTF-8 bytes. Each byte is looked at a bounded number of times.
struct FormatLexer {
  let format: String
  let bytes: [UInt8]
  /// The next byte to be read.
  private(set) var place = 0
  /// Where the last token began.
  private(set) var start = 0

  init(_ format: String) {
    self.format = format
    bytes = Array(format.utf8)
  }

  /// The next token.
  ///
  /// - Parameter isOperand: Whether a value may stand here. `.5` is a number then, and not a dot and a number.
  mutating func next(isOperand: Bool) throws -> FormatToken {
    skipSpace()
    guard let byte = peek() else { return .end }
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: ".") where isOperand && isDigit(peek(1)): return try number()
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try string())
    case UInt8(ascii: "$"):
      place += 1
      return .variable(try nameOrText("the name of a variable"))
    case UInt8(ascii: "#"):
      place += 1
      return .key(try nameOrText("a key"))
    case UInt8(ascii: "@"):
      place += 1
      return .collectionOperator(try name("the name of a collection operator"))
    case UInt8(ascii: "%"): return try argument()
    default:
      if byte < 0x80, !FormatWord.isNameStart(Unicode.Scalar(byte)), let sign = try sign() {
        return .sign(sign)
      }
      let word = try name(isOperand ? "a value" : "an operator")
      return try peek() == UInt8(ascii: ":") && peek(1) != UInt8(ascii: "=") ? selector(word) : .name(word)
    }
  }

  /// The next token after a dot: a key, whatever word it is, a collection operator or `%K`.
  mutating func nextKey() throws -> FormatToken {
    skipSpace()
    switch peek() {
    case UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "%"): return try next(isOperand: false)
    default: return .name(try name("a key"))
    }
  }

  /// Whether the next token begins with this character, which is read then.
  mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard peek() == UInt8(ascii: character) else { return false }
    place += 1
    return true
  }

  /// Whether the next token begins with this character.
  mutating func sees(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    return peek() == UInt8(ascii: character)
  }

  /// The word or sign at a place, for messages. Knows nothing of errors, which are made of it.
  func words(at offset: Int) -> String {
    var lexer = self
    lexer.place = min(offset, bytes.count)
    lexer.skipSpace()
    let begin = lexer.place
    guard let (first, _) = lexer.scalar() else { return "end" }
    if let (text, _) = Self.signs.first(where: { bytes[begin...].starts(with: $0.0.utf8) }) {
      return "“\(text)”"
    }
    lexer.advance()
    if first == "\"" || first == "'" {
      while let (next, _) = lexer.scalar(), next != first { lexer.advance() }
      lexer.advance()
    } else {
      while let (next, _) = lexer.scalar(), FormatWord.isNamePart(next) { lexer.advance() }
    }
    let text = String(decoding: bytes[begin..<lexer.place], as: UTF8.self)
    return text.count > 40 ? "“\(text.prefix(40))…”" : "“\(text)”"
  }

  func error(_ reason: PredicateSyntaxError.Reason, at offset: Int? = nil) -> PredicateSyntaxError {
    PredicateSyntaxError(reason, in: format, at: offset ?? start)
  }

  func unexpected(at offset: Int, expected: [String]) -> PredicateSyntaxError {
    error(.unexpected(found: words(at: offset), expected: expected), at: offset)
  }

  // MARK: Bytes

  private func peek(_ distance: Int = 0) -> UInt8? {
    place + distance < bytes.count ? bytes[place + distance] : nil
  }

  private func isDigit(_ byte: UInt8?) -> Bool {
    byte.map { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } ?? false
  }

  /// The scalar at the place, and its length.
  private func scalar() -> (Unicode.Scalar, Int)? {
    guard let byte = peek() else { return nil }
    if byte < 0x80 { return (Unicode.Scalar(byte), 1) }
    let end = min(place + 4, bytes.count)
    return bytes[place..<end].withUnsafeBytes { rest in
      var scalars = UTF8Scalars(rest)
      return scalars.next().map { ($0, scalars.place) }
    }
  }

  private mutating func advance() { place += scalar()?.1 ?? 0 }

  private mutating func skipSpace() {
    while let (scalar, length) = scalar(), scalar.properties.isWhitespace { place += length }
    start = place
  }

  // MARK: Names

  private mutating func name(_ expected: String) throws -> String {
    let begin = place
    guard let (first, length) = scalar(), FormatWord.isNameStart(first) else {
      throw unexpected(at: place, expected: [expected])
    }
    place += length
    while let (next, length) = scalar(), FormatWord.isNamePart(next) { place += length }
    return String(decoding: bytes[begin..<place], as: UTF8.self)
  }

  /// A name, or any text in quotes.
  private mutating func nameOrText(_ expected: String) throws -> String {
    switch peek() {
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return try string()
    default: return try name(expected)
    }
  }

  private mutating func selector(_ first: String) throws -> FormatToken {
    let begin = start
    place += 1
    while let (next, _) = scalar(), FormatWord.isNameStart(next) {
      _ = try name("")
      guard peek() == UInt8(ascii: ":") else {
        throw unexpected(at: place, expected: ["“:” of a function's name"])
      }
      place += 1
    }
    return .selector(String(decoding: bytes[begin..<place], as: UTF8.self))
  }

  // MARK: Signs

  private mutating func sign() throws -> FormatSign? {
    for (text, sign) in Self.signs where bytes[place...].starts(with: text.utf8) {
      place += text.utf8.count
      guard let sign else {
        throw error(.unsupported("“\(text)” assigns a variable, which predicates cannot do"))
      }
      return sign
    }
    return nil
  }

  /// Longer ones first.
  private static let signs: [(String, FormatSign?)] = [
    ("<<", .shiftLeft), (">>", .shiftRight), ("==", .equal), ("=>", .greaterOrEqual), ("=<", .lessOrEqual),
    ("=", .equal), ("!=", .notEqual),
    ("<>", .notEqual), ("<=", .lessOrEqual), ("<", .less), (">=", .greaterOrEqual), (">", .greater),
    ("&&", .and), ("||", .or), ("&", .bitAnd), ("|", .bitOr), ("^", .bitXor), ("~", .complement), ("!", .not),
    ("**", .power), ("*", .times), ("+", .plus), ("-", .minus),
    ("/", .divided), ("(", .openParenthesis), (")", .closeParenthesis), ("{", .openBrace), ("}", .closeBrace),
    ("[", .openBracket), ("]", .closeBracket), (",", .comma), (".", .dot), (":=", nil),
  ]

  // MARK: Numbers

  private mutating func number() throws -> FormatToken {
    let begin = place
    if peek() == UInt8(ascii: "0"), let mark = peek(1), let radix = Self.radix(mark) {
      place += 2
      let digits = takeWord()
      guard let value = UInt64(digits, radix: radix) else {
        throw error(.malformed("“\(text(begin))” is no number of 64 bits to the base \(radix)"))
      }
      return .integer(value)
    }
    var isWhole = true
    takeDigits()
    if peek() == UInt8(ascii: "."), isDigit(peek(1)) {
      isWhole = false
      place += 1
      takeDigits()
    }
    if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
      let hasSign = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-")
      if isDigit(peek(hasSign ? 2 : 1)) {
        isWhole = false
        place += hasSign ? 2 : 1
        takeDigits()
      }
    }
    if let (next, _) = scalar(), FormatWord.isNamePart(next) {
      _ = takeWord()
      throw error(.malformed("“\(text(begin))” is no number"))
    }
    if isWhole {
      guard let value = UInt64(text(begin)) else { throw tooLarge(begin) }
      return .integer(value)
    }
    guard let value = Double(text(begin)), value.isFinite else { throw tooLarge(begin) }
    return .double(value)
  }

  private func tooLarge(_ begin: Int) -> PredicateSyntaxError {
    let text = text(begin)
    let shown = text.count > 40 ? text.prefix(40) + "…" : text
    return error(
      .malformed("“\(shown)” does not fit into 64 bits; write CAST('…', 'decimal') for a larger number"))
  }

  private static func radix(_ mark: UInt8) -> Int? {
    switch mark {
    case UInt8(ascii: "x"), UInt8(ascii: "X"): 16
    case UInt8(ascii: "o"), UInt8(ascii: "O"): 8
    case UInt8(ascii: "b"), UInt8(ascii: "B"): 2
    default: nil
    }
  }

  private func text(_ begin: Int) -> String { String(decoding: bytes[begin..<place], as: UTF8.self) }

  private mutating func takeDigits() { while isDigit(peek()) { place += 1 } }

  private mutating func takeWord() -> String {
    let begin = place
    while let (next, length) = scalar(), FormatWord.isNamePart(next) { place += length }
    return text(begin)
  }

  // MARK: Texts

  private mutating func string() throws -> String {
    let quote = bytes[place]
    let begin = place
    place += 1
    var content: [UInt8] = []
    while let byte = peek() {
      place += 1
      if byte == quote { return String(decoding: content, as: UTF8.self) }
      if byte == UInt8(ascii: "\\") { try escape(into: &content) } else { content.append(byte) }
    }
    throw error(
      .malformed("The text that begins here has no closing \(quote == 0x22 ? "\"" : "'")"), at: begin)
  }

  private mutating func escape(into content: inout [UInt8]) throws {
    let begin = place - 1
    guard let letter = peek() else {
      throw error(.malformed("The text that ends here is not closed"), at: begin)
    }
    advance()
    switch letter {
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "a"): content.append(0x07)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "v"): content.append(0x0B)
    case UInt8(ascii: "0"): content.append(0)
    case UInt8(ascii: "\\"), UInt8(ascii: "'"), UInt8(ascii: "\""): content.append(letter)
    case UInt8(ascii: "x"): try code(2, begin, into: &content)
    case UInt8(ascii: "u"): try code(4, begin, into: &content)
    case UInt8(ascii: "U"): try code(8, begin, into: &content)
    default:
      throw error(
        .malformed(
          "\(words(begin, place)) is no escape: there are \\\\ \\' \\\" \\n \\r \\t \\a \\b \\f \\v \\0 \\xHH \\uHHHH \\UHHHHHHHH, "
            + "and a backslash is written \\\\"), at: begin)
    }
  }

  private func words(_ begin: Int, _ end: Int) -> String {
    "“" + String(decoding: bytes[begin..<end], as: UTF8.self) + "”"
  }

  /// A character by its number; two `\u` in a row can be a surrogate pair.
  private mutating func code(_ digits: Int, _ begin: Int, into content: inout [UInt8]) throws {
    var value = try hexadecimal(digits, begin)
    if digits == 4, value & 0xFC00 == 0xD800, peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") {
      place += 2
      let second = try hexadecimal(4, begin)
      guard second & 0xFC00 == 0xDC00 else {
        throw error(.malformed("\(words(begin, place)) is half a character"), at: begin)
      }
      value = 0x10000 + (value & 0x3FF) << 10 + (second & 0x3FF)
    }
    guard let scalar = Unicode.Scalar(value) else {
      throw error(.malformed("\(words(begin, place)) is no character"), at: begin)
    }
    content += Array(String(scalar).utf8)
  }

  private mutating func hexadecimal(_ digits: Int, _ begin: Int) throws -> UInt32 {
    let end = min(place + digits, bytes.count)
    let text = String(decoding: bytes[place..<end], as: UTF8.self)
    guard text.utf8.count == digits,
      text.utf8.allSatisfy({ $0 < 0x80 && Character(Unicode.Scalar($0)).isHexDigit }),
      let value = UInt32(text, radix: 16)
    else { throw error(.malformed("\(digits) hexadecimal digits must follow"), at: begin) }
    place = end
    return value
  }

  // MARK: Arguments

  private mutating func argument() throws -> FormatToken {
    let begin = place
    place += 1
    var number: Int?
    if isDigit(peek()) {
      let first = place
      takeDigits()
      guard peek() == UInt8(ascii: "$"), let value = Int(text(first)), value > 0 else {
        throw error(
          .malformed(
            "After “%” stands the number of an argument and “$”, or a letter; widths have no meaning"))
      }
      number = value
      place += 1
    }
    let modifiers = [
      UInt8(ascii: "l"), UInt8(ascii: "h"), UInt8(ascii: "q"), UInt8(ascii: "z"), UInt8(ascii: "t"),
      UInt8(ascii: "j"), UInt8(ascii: "L"),
    ]
    var count = 0
    while count < 2, let byte = peek(), modifiers.contains(byte) {
      place += 1
      count += 1
    }
    guard let letter = peek(), letter < 0x80 else { throw badArgument(begin) }
    place += 1
    switch letter {
    case UInt8(ascii: "@") where count == 0: return .argument(.value, number: number)
    case UInt8(ascii: "K") where count == 0: return .argument(.keyPath, number: number)
    case UInt8(ascii: "d"), UInt8(ascii: "D"), UInt8(ascii: "i"), UInt8(ascii: "u"), UInt8(ascii: "U"),
      UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "o"), UInt8(ascii: "O"):
      return .argument(.integer, number: number)
    case UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "g"),
      UInt8(ascii: "G"), UInt8(ascii: "a"), UInt8(ascii: "A"):
      return .argument(.double, number: number)
    case UInt8(ascii: "s"), UInt8(ascii: "S"): return .argument(.string, number: number)
    case UInt8(ascii: "%"):
      throw error(
        .unsupported(
          "“%%” stands for a percent sign in printed texts; a predicate has no use for one outside of quotes")
      )
    default: throw badArgument(begin)
    }
  }

  private func badArgument(_ begin: Int) -> PredicateSyntaxError {
    error(.malformed("“%” is followed by none of @, K, d, i, u, x, o, f, e, g, a, s"), at: begin)
  }
}
