import Foundation
import StrataCore

/// Turns predicates into SQL that answers as Strata does, or that is true for more rows and leaves the rest to a ``RowFilter``.
///
/// Nothing that can fail on the server is ever sent: no arithmetic, no casts, no patterns of another grammar.
struct PredicateSQL {
  /// A condition, and whether it is true for exactly the rows for which the predicate is.
  struct Condition {
    var text: String
    var isExact: Bool
  }

  private let mapping: StoreMapping
  /// Where parameters go.
  var statement: SQLStatement
  private var aliases = 0

  init(_ mapping: StoreMapping, statement: SQLStatement = SQLStatement()) {
    self.mapping = mapping
    self.statement = statement
  }

  /// A name for a table that no other has in the statement.
  mutating func alias() -> String {
    aliases += 1
    return "t\(aliases)"
  }

  /// The condition for rows of `table` under `alias`, seen as objects of `entity`; nil when nothing can be said.
  mutating func condition(_ predicate: EnginePredicate, _ table: TableMapping, _ entity: Int, _ alias: String)
    -> Condition?
  {
    switch predicate {
    case .all: return Condition(text: "true", isExact: true)
    case .none: return Condition(text: "false", isExact: true)
    case .test(let slot, let operation, let operands):
      return test(column(table, entity, slot), operation, operands, alias)
    case .keys(let keys):
      return Condition(text: "\(alias).pk = ANY(\(statement.bind(keys: keys)))", isExact: true)
    case .references(let slot, let keys):
      guard let column = table.column(entity, slot) else { return nil }
      return Condition(text: "\(alias).\(column.name) = ANY(\(statement.bind(keys: keys)))", isExact: true)
    case .text(let text): return self.text(text, column(table, entity, text.slot), alias)
    case .related(let relationship, let part): return related(relationship, part, alias)
    case .memberCount(let relationship, let operation, let number):
      return memberCount(relationship, operation, number, alias)
    case .opaque: return nil
    case .not(let part):
      guard let inner = condition(part, table, entity, alias), inner.isExact else { return nil }
      // Null would be neither: nil values satisfy what is not true of them.
      return Condition(text: "((\(inner.text)) IS NOT TRUE)", isExact: true)
    case .and(let parts):
      let conditions = parts.map { condition($0, table, entity, alias) }
      let known = conditions.compactMap(\.self)
      if known.isEmpty { return nil }
      return Condition(
        text: known.map { "(\($0.text))" }.joined(separator: " AND "),
        isExact: known.count == conditions.count && known.allSatisfy(\.isExact))
    case .or(let parts):
      var known: [Condition] = []
      for part in parts {
        guard let condition = condition(part, table, entity, alias) else { return nil }
        known.append(condition)
      }
      return Condition(
        text: known.map { "(\($0.text))" }.joined(separator: " OR "), isExact: known.allSatisfy(\.isExact))
    }
  }

  private func column(_ table: TableMapping, _ entity: Int, _ slot: Int) -> ColumnMapping? {
    table.column(entity, slot)
  }

  // MARK: Values

  private mutating func test(
    _ column: ColumnMapping?, _ operation: EnginePredicate.Operation, _ operands: [AttributeValue],
    _ alias: String
  ) -> Condition? {
    guard let column else { return nil }
    let name = "\(alias).\(column.name)"
    if operation == .isNil { return exact("\(name) IS NULL") }
    // References are compared with objects, which are other tests.
    if column.relationship != nil { return nil }
    switch operation {
    case .isNil: return nil
    case .oneOf: return oneOf(column, name, operands)
    case .beginsWith, .contains, .endsWith:
      guard operands.count == 1, column.type == .text, let text = Self.text(operands[0]) else { return nil }
      if Self.holdsNUL(text) { return exact("false") }
      switch operation {
      case .beginsWith: return exact(beginning(column, name, text))
      case .contains: return exact("pg_catalog.strpos(\(name), \(statement.bind(text))) > 0")
      default:
        let count = text.unicodeScalars.count
        return exact("pg_catalog.right(\(name), \(count)) = \(statement.bind(text))")
      }
    case .equal, .less, .lessOrEqual, .greater, .greaterOrEqual:
      guard operands.count == 1, let type = SQLType(comparing: operands[0]), type.isComparable(column.type)
      else {
        return nil
      }
      if let text = Self.text(operands[0]), Self.holdsNUL(text) {
        return operation == .equal ? exact("false") : nil
      }
      guard let words = statement.bind(operands[0], as: type) else { return nil }
      let sign: String
      switch operation {
      case .less: sign = "<"
      case .lessOrEqual: sign = "<="
      case .greater: sign = ">"
      case .greaterOrEqual: sign = ">="
      default:
        guard mapping.hasPrefixIndex(column) else { return exact("\(name) = \(words)") }
        let length = SchemaStatements.prefixLength
        return exact(
          "pg_catalog.left(\(name), \(length)) = pg_catalog.left(\(words), \(length)) AND \(name) = \(words)")
      }
      let order = sign == "=" ? "" : column.order
      return exact("\(name)\(order) \(sign) \(words)")
    }
  }

  private func exact(_ text: String) -> Condition { Condition(text: text, isExact: true) }

  private mutating func oneOf(_ column: ColumnMapping, _ name: String, _ operands: [AttributeValue])
    -> Condition?
  {
    let wanted = operands.filter { operand in
      guard let text = Self.text(operand) else { return true }
      return !Self.holdsNUL(text)
    }
    guard let first = wanted.first else { return exact("false") }
    guard let type = SQLType(comparing: first), type.isComparable(column.type),
      wanted.allSatisfy({ SQLType(comparing: $0) == type }),
      let words = statement.bind(values: wanted, as: type)
    else { return nil }
    return exact("\(name) = ANY(\(words))")
  }

  /// That a text begins with another, which is not empty, and so that an index can find it.
  private mutating func beginning(_ column: ColumnMapping, _ name: String, _ text: String) -> String {
    let lower = statement.bind(text)
    let ordered = name + column.order
    var condition = "\(ordered) >= \(lower)"
    let upper = Self.raised(text).map { statement.bind($0) }
    if let upper { condition += " AND \(ordered) < \(upper)" }
    if mapping.hasPrefixIndex(column), text.unicodeScalars.count <= SchemaStatements.prefixLength {
      let prefix = "pg_catalog.left(\(name), \(SchemaStatements.prefixLength))" + column.order
      condition += " AND \(prefix) >= \(lower)"
      if let upper { condition += " AND \(prefix) < \(upper)" }
    }
    return condition
  }

  /// The first text, by bytes, behind all that begin with `text`; nil when there is none.
  static func raised(_ text: String) -> String? {
    var scalars = Array(text.unicodeScalars)
    while let last = scalars.popLast() {
      var value = last.value + 1
      // Between these there are no characters.
      if (0xD800...0xDFFF).contains(value) { value = 0xE000 }
      if let next = Unicode.Scalar(value) {
        var raised = String.UnicodeScalarView()
        raised.append(contentsOf: scalars)
        raised.append(next)
        return String(raised)
      }
    }
    return nil
  }

  private static func text(_ value: AttributeValue) -> String? {
    switch value {
    case .string(let text): text
    case .url(let url): url.absoluteString
    default: nil
    }
  }

  /// No text on the server holds the character NUL.
  private static func holdsNUL(_ text: String) -> Bool { text.utf8.contains(0) }

  // MARK: Texts

  private mutating func text(_ text: EnginePredicate.Text, _ column: ColumnMapping?, _ alias: String)
    -> Condition?
  {
    guard let column, column.type == .text else { return nil }
    let name = "\(alias).\(column.name)"
    let folds = text.options.intersection([.caseInsensitive, .diacriticInsensitive])
    if text.operation == .matches { return Condition(text: "\(name) IS NOT NULL", isExact: false) }
    if text.operation == .like { return like(text, name, folds) }
    if text.patterns.contains(where: Self.holdsNUL) { return nil }
    if folds.isEmpty { return nil }
    return folded(text, name, folds)
  }

  /// Patterns of asterisks only, as they are; the others are left to the filter but for their literal beginning.
  private mutating func like(
    _ text: EnginePredicate.Text, _ name: String, _ folds: FetchComparison.StringOptions
  )
    -> Condition?
  {
    guard let pattern = text.patterns.first, !Self.holdsNUL(pattern), folds.isEmpty else {
      return Condition(text: "\(name) IS NOT NULL", isExact: false)
    }
    var words = ""
    var (isEscaped, isExact) = (false, true)
    func literal(_ scalar: Unicode.Scalar) {
      if scalar == "%" || scalar == "_" || scalar == "\\" { words += "\\" }
      words.unicodeScalars.append(scalar)
    }
    for scalar in pattern.unicodeScalars {
      switch scalar {
      case "\\" where !isEscaped:
        isEscaped = true
        continue
      case "*" where !isEscaped: words += "%"
      case "?" where !isEscaped:
        // A character of a reader's, which may be several of the server's.
        words += "%"
        isExact = false
      default: literal(scalar)
      }
      isEscaped = false
    }
    if isEscaped { literal("\\") }
    return Condition(text: "\(name) LIKE \(statement.bind(words)) ESCAPE '\\'", isExact: isExact)
  }

  /// Texts of ASCII are decided by the server, all others by the filter. Folding leaves ASCII alone but for its case.
  private mutating func folded(
    _ text: EnginePredicate.Text, _ name: String, _ folds: FetchComparison.StringOptions
  ) -> Condition? {
    let patterns = text.patterns.filter { $0.utf8.allSatisfy { $0 < 0x80 } }
    // A pattern that is not ASCII may fold to one that is: é without its mark.
    guard patterns.count == text.patterns.count else {
      return Condition(text: "\(name) IS NOT NULL", isExact: false)
    }
    let isCaseFolded = folds.contains(.caseInsensitive)
    let wanted = isCaseFolded ? patterns.map { $0.lowercased() } : patterns
    let subject = isCaseFolded ? "pg_catalog.lower(\(name) COLLATE \"C\")" : name
    let test: String
    switch text.operation {
    case .equal: test = "\(subject) = \(statement.bind(wanted[0]))"
    case .beginsWith: test = "pg_catalog.starts_with(\(subject), \(statement.bind(wanted[0])))"
    case .contains: test = "pg_catalog.strpos(\(subject), \(statement.bind(wanted[0]))) > 0"
    case .endsWith:
      test = "pg_catalog.right(\(subject), \(wanted[0].utf8.count)) = \(statement.bind(wanted[0]))"
    case .in:
      guard let words = statement.bind(values: wanted.map { .string($0) }, as: .text) else { return nil }
      test = "\(subject) = ANY(\(words))"
    default: return Condition(text: "\(name) IS NOT NULL", isExact: false)
    }
    return Condition(
      text:
        "\(name) IS NOT NULL AND CASE WHEN pg_catalog.octet_length(\(name)) = pg_catalog.char_length(\(name)) THEN \(test) ELSE true END",
      isExact: false)
  }

  // MARK: Relationships

  private mutating func related(_ number: Int, _ part: EnginePredicate, _ alias: String) -> Condition? {
    let relationship = mapping.schema.relationships[number]
    let target = mapping.tables[relationship.destinationHierarchy]
    let other = self.alias()
    guard let inner = condition(part, target, relationship.destination, other) else { return nil }
    let isAll = inner.text == "true"
    let suffix = isAll ? "" : " AND (\(inner.text))"
    if !relationship.isToMany {
      guard let (_, column) = try? mapping.reference(relationship) else { return nil }
      return Condition(
        text:
          "EXISTS (SELECT 1 FROM \(target.name) \(other) WHERE \(other).pk = \(alias).\(column.name)\(suffix))",
        isExact: inner.isExact)
    }
    switch try? mapping.members(EdgeSet(relationship: number)) {
    case .rows(_, let column, _)?:
      return Condition(
        text:
          "EXISTS (SELECT 1 FROM \(target.name) \(other) WHERE \(other).\(column.name) = \(alias).pk\(suffix))",
        isExact: inner.isExact)
    case .links(let join, let owner, let member, _, _)?:
      let links = self.alias()
      return Condition(
        text:
          "EXISTS (SELECT 1 FROM \(join.name) \(links) JOIN \(target.name) \(other) ON \(other).pk = \(links).\(member) WHERE \(links).\(owner) = \(alias).pk\(suffix))",
        isExact: inner.isExact)
    case .nowhere?, nil: return nil
    }
  }

  private mutating func memberCount(
    _ number: Int, _ operation: ComparisonOperator, _ wanted: Int64, _ alias: String
  ) -> Condition? {
    let sign: String
    switch operation {
    case .equal: sign = "="
    case .notEqual: sign = "<>"
    case .less: sign = "<"
    case .lessOrEqual: sign = "<="
    case .greater: sign = ">"
    case .greaterOrEqual: sign = ">="
    default: return nil
    }
    let other = self.alias()
    switch try? mapping.members(EdgeSet(relationship: number)) {
    case .rows(let table, let column, _)?:
      return exact(
        "(SELECT pg_catalog.count(*) FROM \(table.name) \(other) WHERE \(other).\(column.name) = \(alias).pk) \(sign) \(statement.bind(wanted))"
      )
    case .links(let join, let owner, _, _, _)?:
      return exact(
        "(SELECT pg_catalog.count(*) FROM \(join.name) \(other) WHERE \(other).\(owner) = \(alias).pk) \(sign) \(statement.bind(wanted))"
      )
    case .nowhere?, nil: return nil
    }
  }
}

extension SQLType {
  /// Whether a parameter of the type and a column are compared by the values themselves, without rounding.
  func isComparable(_ column: SQLType) -> Bool {
    switch (self, column) {
    case (.int8, .int2), (.int8, .int4), (.int8, .int8), (.float8, .float4): true
    default: self == column
    }
  }
}
