import StrataCore

/// Predicates and expressions as format strings. What a store understands is read back as the same; of the rest the text says what it is.
enum PredicateText {
  static func text(_ predicate: NSPredicate) -> String {
    if let tree = try? FetchLowering().predicate(predicate) { return tree.predicateFormat }
    switch predicate {
    case let comparison as NSComparisonPredicate:
      let modifier =
        switch comparison.comparisonPredicateModifier {
        case .direct: ""
        case .any: "ANY "
        case .all: "ALL "
        }
      let sign = comparison.predicateOperatorType.comparison.map { "\($0)" } ?? "CUSTOM"
      let options = comparison.options.isEmpty ? "" : "[\(comparison.options.stringOptions)]"
      return
        "\(modifier)\(text(comparison.leftExpression)) \(sign)\(options) \(text(comparison.rightExpression))"
    case let compound as NSCompoundPredicate:
      let parts = compound.subpredicates.map { "(\(text($0)))" }
      switch compound.compoundPredicateType {
      case .and: return parts.isEmpty ? "TRUEPREDICATE" : parts.joined(separator: " AND ")
      case .or: return parts.isEmpty ? "FALSEPREDICATE" : parts.joined(separator: " OR ")
      case .not: return "NOT " + parts.joined()
      }
    case is SwiftPredicate: return "#Predicate(\(ObjectIdentifier(predicate)))"
    default: return "BLOCKPREDICATE(\(ObjectIdentifier(predicate)))"
    }
  }

  static func text(_ expression: NSExpression) -> String {
    if let tree = try? FetchLowering().expression(expression) { return "\(tree)" }
    switch expression.kind {
    case .constant(let value): return value.map { "\($0)" } ?? "nil"
    case .evaluatedObject: return "SELF"
    case .variable(let name): return "$" + name
    case .keyPath(let operand, let path): return operand.map { text($0) + "." + path } ?? path
    case .swiftKeyPath(let path): return "\(path)"
    case .function(let target, let name, let arguments):
      let parts = (target.map { [text($0)] } ?? []) + ["\"\(name)\""] + arguments.map(text)
      return "FUNCTION(\(parts.joined(separator: ", ")))"
    case .set(let type, let left, let right):
      let word =
        switch type {
        case .unionSet: "UNION"
        case .intersectSet: "INTERSECT"
        default: "MINUS"
        }
      return "\(text(left)) \(word) \(text(right))"
    case .subquery(let members, let variable, let predicate):
      return "SUBQUERY(\(text(members)), $\(variable), \(text(predicate)))"
    case .aggregate(let parts): return "{\(parts.map(text).joined(separator: ", "))}"
    case .anyKey: return "ANYKEY"
    case .block(_, let arguments): return "BLOCK(\(arguments.map(text).joined(separator: ", ")))"
    case .conditional(let predicate, let first, let second):
      return "TERNARY(\(text(predicate)), \(text(first)), \(text(second)))"
    case .fetch(let request, let context, let isCount):
      return "FETCH(\(text(request)), \(text(context)), \(isCount))"
    }
  }

  /// Whether both say the same. Those that no store understands are the same only when they are one object.
  static func isSame(_ left: NSPredicate, _ right: NSPredicate) -> Bool {
    guard let left = try? FetchLowering().predicate(left), let right = try? FetchLowering().predicate(right)
    else { return false }
    return left == right
  }

  static func isSame(_ left: NSExpression, _ right: NSExpression) -> Bool {
    guard let left = try? FetchLowering().expression(left), let right = try? FetchLowering().expression(right)
    else { return false }
    return left == right
  }
}
