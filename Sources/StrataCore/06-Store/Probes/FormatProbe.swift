/// Reads bytes as a format string and says whether it is one. What is one must be written back as a text that is read as the same tree.
///
/// Inputs that begin with a byte below 8 are recipes: the rest chooses among the rules of the grammar, so that nearly all of the texts
/// are deep and right, or wrong in one place.
enum FormatProbe {
  static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var text = String(decoding: bytes, as: UTF8.self)
    if let first = bytes.first, first < 8 {
      var recipe = FormatRecipe(bytes: UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
      text = recipe.text(isDamaged: first == 0)
    }
    let pool: [Any?] = ["text", "a.b", 3, 2.5, nil, [1, 2], "x"]
    let arguments = (0..<min(text.utf8.count(where: { $0 == UInt8(ascii: "%") }), 20)).map {
      pool[$0 % pool.count]
    }
    var isRead = false
    do {
      let predicate = try FormatParser.predicate(text, arguments)
      isRead = true
      let written = predicate.description
      precondition((try? FormatParser.predicate(written, [])) == predicate, "what is written is read again")
    } catch { check(error, text) }
    do {
      let expression = try FormatParser.expression(text, arguments)
      isRead = true
      let written = expression.description
      precondition((try? FormatParser.expression(written, [])) == expression, "what is written is read again")
    } catch { check(error, text) }
    return isRead
  }

  private static func check(_ error: any Error, _ text: String) {
    guard let error = error as? PredicateSyntaxError else { preconditionFailure("a syntax error is one") }
    precondition(
      error.position <= text.count && !error.description.isEmpty, "an error has a place and a text")
  }

  static func samples() -> [[UInt8]] {
    let texts = [
      "origin == 'JFK' AND departureDelay > 60", "a BETWEEN {1, 2} || NOT (b IN {'x', \"y\\n\"})",
      "SUBQUERY(flights, $x, $x.delay > 60 AND ANY $x.stops.code LIKE[cd] 'J*').@count >= 2",
      "TERNARY(a == 1, b, c) == add:to:(1, 2) ** -3", "CAST('1.5', 'NSDecimalNumber') < d",
      "NONE a.b == %@ AND %K CONTAINS[cd] %2$@", "@sum.x > 0x1F AND #size != 1.5e3 AND SELF == nil",
      "FUNCTION('abs:', -a) > now() AND x MATCHES '[a-z]+\\\\d'", "a.@avg.b > modulus:by:(c, 2) - .5",
    ]
    var generator = UInt64(0xF0)
    let recipes = (0..<24).map { length -> [UInt8] in
      [UInt8(length % 8)]
        + (0..<(12 + length * 8)).map { _ in
          generator = generator &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          return UInt8(truncatingIfNeeded: generator >> 33)
        }
    }
    return texts.map { Array($0.utf8) } + recipes
  }
}

/// Bytes as choices among the rules of the grammar; the first rule when they run out.
struct FormatRecipe {
  private let bytes: UnsafeRawBufferPointer
  private var place = 0

  init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// A format string; when damaged, with one token too many or too few.
  mutating func text(isDamaged: Bool) -> String {
    let text = predicate(0)
    guard isDamaged else { return text }
    var words = text.split(separator: " ").map(String.init)
    let spot = words.isEmpty ? 0 : byte() % words.count
    if byte() % 2 == 0, !words.isEmpty {
      words.remove(at: spot)
    } else {
      words.insert(pick(Self.tokens), at: spot)
    }
    return words.joined(separator: " ")
  }

  private static let tokens = [
    "(", ")", "{", "}", "[", "]", ",", ".", "AND", "OR", "NOT", "ANY", "==", "-", "**", "%@", "%K", "%", "'",
    "\"", "$", "#",
    "@count", "1", "0x", "a", "SUBQUERY(", "\\", ":", "[cd]", "SELF", "é", "\u{301}", "\0",
  ]

  private mutating func byte() -> Int {
    guard place < bytes.count else { return 0 }
    defer { place += 1 }
    return Int(bytes[place])
  }

  private mutating func pick<T>(_ list: [T]) -> T { list[byte() % list.count] }

  private mutating func predicate(_ depth: Int) -> String {
    if depth > 30 { return "a == 1" }
    switch byte() % 12 {
    case 0, 1, 2, 3: return comparison(depth)
    case 4: return "\(predicate(depth + 1)) \(pick(["AND", "&&", "and"])) \(predicate(depth + 1))"
    case 5: return "\(predicate(depth + 1)) \(pick(["OR", "||"])) \(predicate(depth + 1))"
    case 6: return "\(pick(["NOT", "!"])) \(predicate(depth + 1))"
    case 7: return "( \(predicate(depth + 1)) )"
    case 8: return pick(["TRUEPREDICATE", "FALSEPREDICATE"])
    case 9: return "\(pick(["ANY", "SOME", "ALL", "NONE"])) \(comparison(depth))"
    case 10: return "\(expression(depth + 1)) BETWEEN { \(expression(depth + 1)) , \(expression(depth + 1)) }"
    default: return "\(expression(depth + 1)) IN { \(list(depth)) }"
    }
  }

  private mutating func comparison(_ depth: Int) -> String {
    let sign = pick([
      "==", "=", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>", "BEGINSWITH", "CONTAINS", "ENDSWITH", "LIKE",
      "MATCHES",
      "NOT IN",
    ])
    return "\(expression(depth + 1)) \(sign)\(pick(["", "", "[c]", "[cd]", " [n]"])) \(expression(depth + 1))"
  }

  private mutating func list(_ depth: Int) -> String {
    (0..<(byte() % 4)).map { _ in expression(depth + 1) }.joined(separator: " , ")
  }

  private mutating func key() -> String { pick(["a", "b1", "#size", "größe", "#\"any key\"", "_x", "name"]) }

  private mutating func expression(_ depth: Int) -> String {
    if depth > 30 { return "1" }
    switch byte() % 20 {
    case 0: return key()
    case 1: return "\(key()) . \(key())"
    case 2: return "\(byte())"
    case 3: return "- \(byte()).\(byte())e\(byte() % 20)"
    case 4: return pick(["'x'", "\"\\u00e9\\n\"", "''", "'\\''", "\"J*?\\\\d\""])
    case 5:
      return pick([
        "nil", "TRUE", "no", "SELF", "self.a", "$x", "$\"odd name\".a", "now()", "0x1F", "0b11", ".5",
      ])
    case 6: return "( \(expression(depth + 1)) )"
    case 7: return "\(expression(depth + 1)) \(pick(["+", "-", "*", "/", "**"])) \(expression(depth + 1))"
    case 8: return "- \(expression(depth + 1))"
    case 9:
      return
        "\(pick(["abs:", "sqrt", "length:", "sum:", "count:", "max:", "uppercase"]))( \(expression(depth + 1)) )"
    case 10:
      return
        "\(pick(["add:to:", "modulus:by:", "bitwiseAnd:with:", "coalesce:"]))( \(expression(depth + 1)) , \(expression(depth + 1)) )"
    case 11:
      return "SUBQUERY( \(key()) , $x , \(predicate(depth + 1)) )\(pick(["", ".@count", ".a", ".@sum.b"]))"
    case 12: return "TERNARY( \(predicate(depth + 1)) , \(expression(depth + 1)) , \(expression(depth + 1)) )"
    case 13:
      return
        "CAST( \(expression(depth + 1)) , '\(pick(["NSDate", "string", "decimal", "float", "NSNumber", "int16"]))' )"
    case 14: return "{ \(list(depth)) }"
    case 15: return "\(key()).@\(pick(["count", "sum", "avg", "min", "max"]))"
    case 16: return "\(key()).@\(pick(["sum", "avg", "min", "max"])).\(key())"
    case 17: return pick(["%@", "%K", "%d", "%f", "%1$@"])
    case 18: return "\(key()) [SIZE]"
    default: return "\(expression(depth + 1)).\(key())"
    }
  }
}
