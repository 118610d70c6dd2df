/// What format strings are made of.
enum FormatToken: Hashable {
  /// There is nothing more.
  case end
  /// A word: a keyword or the first name of a key path.
  case name(String)
  /// A word that is a key for certain: `#size`, `#"any text"`.
  case key(String)
  /// The name of a function with its colons: `add:to:`.
  case selector(String)
  /// A whole number without sign.
  case integer(UInt64)
  case double(Double)
  case string(String)
  /// `$name`, without the sign.
  case variable(String)
  /// `@count`, without the sign.
  case collectionOperator(String)
  /// `%@` and its like; the number is that of `%2$@`.
  case argument(FormatArgumentKind, number: Int?)
  case sign(FormatSign)
}

/// The signs of format strings. Of several spellings the raw value is the usual one.
enum FormatSign: String {
  case openParenthesis = "("
  case closeParenthesis = ")"
  case openBrace = "{"
  case closeBrace = "}"
  case openBracket = "["
  case closeBracket = "]"
  case comma = ","
  case dot = "."
  case plus = "+"
  case minus = "-"
  case times = "*"
  case power = "**"
  case divided = "/"
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
  case and = "&&"
  case or = "||"
  case not = "!"
  case bitAnd = "&"
  case bitOr = "|"
  case bitXor = "^"
  case complement = "~"
  case shiftLeft = "<<"
  case shiftRight = ">>"
}

/// What an argument of a format string stands for.
enum FormatArgumentKind: Hashable {
  /// `%@`: any value.
  case value
  /// `%K`: a key path.
  case keyPath
  /// `%d`, `%ld`, `%u` …: a whole number.
  case integer
  /// `%f`, `%g` …: a number.
  case double
  /// `%s`: a text.
  case string
}

/// The words of the grammar. They are written in any case; as a key, a word is written with `#` before it.
enum FormatWord {
  static let reserved: Set<String> = [
    "AND", "OR", "NOT", "IN", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH", "ENDSWITH", "BETWEEN", "ANY",
    "SOME",
    "ALL", "NONE", "SELF", "TRUE", "YES", "FALSE", "NO", "NULL", "NIL", "TRUEPREDICATE", "FALSEPREDICATE",
    "ANYKEY",
  ]
  /// Words with a meaning before a parenthesis, in brackets or after an operator only; elsewhere they are keys.
  static let contextual: Set<String> = [
    "SUBQUERY", "CAST", "TERNARY", "FUNCTION", "FETCH", "OBJECTS", "FIRST", "LAST", "SIZE", "CI",
    "CASEINSENSITIVE",
  ]

  /// Whether `text` can stand in a key path as it is, apart from the words above.
  static func isName(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, isNameStart(first) else { return false }
    return text.unicodeScalars.allSatisfy(isNamePart)
  }

  static func isNameStart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x41...0x5A, 0x61...0x7A, 0x5F: true
    case 0..<0x80: false
    default: scalar.properties.isXIDStart
    }
  }

  static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x30...0x39: true
    case 0..<0x80: isNameStart(scalar)
    default: scalar.properties.isXIDContinue
    }
  }
}
