/// Trees as format strings, which are read back as equal trees.
///
/// What has no text is written as what it means: a list of one predicate as that predicate, none as TRUEPREDICATE or FALSEPREDICATE, a
/// list of several objects as these. Empty key paths are left out.
enum FormatText {
  // MARK: Predicates

  static func predicate(_ predicate: FetchPredicate) -> String {
    switch predicate {
    case .everything: "TRUEPREDICATE"
    case .nothing: "FALSEPREDICATE"
    case .foundation(let predicate): "\(predicate)"
    case .and(let parts): list(parts, "AND", empty: "TRUEPREDICATE")
    case .or(let parts): list(parts, "OR", empty: "FALSEPREDICATE")
    case .not(let part): "NOT (\(self.predicate(part)))"
    case .compare(let comparison): self.comparison(comparison)
    }
  }

  private static func list(_ parts: [FetchPredicate], _ word: String, empty: String) -> String {
    if parts.count < 2 { return parts.first.map(predicate) ?? empty }
    return parts.map { part in
      switch part {
      case .and, .or: "(\(predicate(part)))"
      default: predicate(part)
      }
    }.joined(separator: " \(word) ")
  }

  static func comparison(_ comparison: FetchComparison) -> String {
    let quantifier =
      switch comparison.quantifier {
      case .direct: ""
      case .any: "ANY "
      case .all: "ALL "
      }
    let options = comparison.options.isEmpty ? "" : "[\(comparison.options)]"
    return quantifier + expression(comparison.left) + " \(comparison.operation)\(options) "
      + expression(comparison.right)
  }

  // MARK: Expressions

  static func expression(_ expression: FetchExpression) -> String {
    switch expression {
    case .constant(let value): return constant(value)
    case .list(let elements): return "{\(commas(elements))}"
    case .objects(let identifiers):
      return "OBJECTS(\(identifiers.map { quoted($0.description) }.joined(separator: ", ")))"
    case .entity(let name): return "ENTITY(\(quoted(name)))"
    case .evaluatedObject: return "SELF"
    case .variable(let name): return "$" + (FormatWord.isName(name) ? name : quoted(name))
    case .keyPath(let base, let keys): return keyPath(base, keys)
    case .aggregate(.count, let values):
      if case .keyPath = values { return self.expression(values) + ".@count" }
      if case .subquery = values { return self.expression(values) + ".@count" }
      return "count:(\(self.expression(values)))"
    case .aggregate(let aggregate, let values):
      return "\(FormatFunction.name(.aggregate(aggregate)))(\(self.expression(values)))"
    case .subquery(let members, let variable, let predicate):
      return
        "SUBQUERY(\(self.expression(members)), \(self.expression(.variable(variable))), \(self.predicate(predicate)))"
    case .conditional(let predicate, let first, let second):
      return "TERNARY(\(self.predicate(predicate)), \(self.expression(first)), \(self.expression(second)))"
    case .function(let function, let arguments): return self.function(function, arguments)
    }
  }

  private static func commas(_ expressions: [FetchExpression]) -> String {
    expressions.map(expression).joined(separator: ", ")
  }

  private static func constant(_ value: AttributeValue) -> String {
    switch value {
    case .null: "nil"
    case .boolean(let value): value ? "TRUE" : "FALSE"
    case .integer(let value): "\(value)"
    case .string(let value): quoted(value)
    case .double(let value) where value.isFinite: "\(value)"
    default: FormatCast.text(value) ?? "nil"
    }
  }

  private static func keyPath(_ base: FetchExpression, _ keys: [String]) -> String {
    if keys.isEmpty { return expression(base) }
    let path = keys.enumerated().map { key($1, isFirst: $0 == 0 && base == .evaluatedObject) }
      .joined(separator: ".")
    switch base {
    case .evaluatedObject: return path
    case .variable, .subquery: return expression(base) + "." + path
    default: return "(\(expression(base)))." + path
    }
  }

  private static func key(_ key: String, isFirst: Bool) -> String {
    guard FormatWord.isName(key) else { return "#" + quoted(key) }
    let word = key.uppercased()
    return isFirst && (FormatWord.reserved.contains(word) || FormatWord.contextual.contains(word))
      ? "#" + key : key
  }

  // MARK: Functions

  private static func function(_ function: FetchFunction, _ arguments: [FetchExpression]) -> String {
    if arguments.count == 2, let sign = sign(function) {
      return "\(side(arguments[0])) \(sign) \(side(arguments[1]))"
    }
    if function == .negate, arguments.count == 1 { return "-(\(expression(arguments[0])))" }
    if function == .onesComplement, arguments.count == 1 { return "~(\(expression(arguments[0])))" }
    if function == .cast, arguments.count == 2, case .constant(.string) = arguments[1] {
      if case .constant = arguments[0] {} else { return "CAST(\(commas(arguments)))" }
    }
    return "\(FormatFunction.name(.function(function)))(\(commas(arguments)))"
  }

  private static func sign(_ function: FetchFunction) -> String? {
    switch function {
    case .add: "+"
    case .subtract: "-"
    case .multiply: "*"
    case .divide: "/"
    case .power: "**"
    case .bitwiseAnd: "&"
    case .bitwiseOr: "|"
    case .bitwiseXor: "^"
    case .leftShift: "<<"
    case .rightShift: ">>"
    default: nil
    }
  }

  /// A side of an arithmetic operator, in parentheses when it is one itself or begins with a sign.
  private static func side(_ side: FetchExpression) -> String {
    let text = expression(side)
    if case .function(let function, let arguments) = side, sign(function) != nil, arguments.count == 2 {
      return "(\(text))"
    }
    return text.first == "-" || text.first == "~" ? "(\(text))" : text
  }

  // MARK: Texts

  /// A text in quotes, with escapes for what cannot be seen.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\0"..<" ", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        result += "\\x" + (digits.utf8.count < 2 ? "0" : "") + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
