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

  /// The same for what is the same. Of what no store understands only the kind counts: equal constants may have different texts.
  static func hash(_ predicate: NSPredicate) -> Int {
    if let tree = try? FetchLowering().predicate(predicate) { return tree.predicateFormat.hashValue }
    switch predicate {
    case let comparison as NSComparisonPredicate: return Int(comparison.predicateOperatorType.rawValue)
    case let compound as NSCompoundPredicate: return compound.subpredicates.count
    default: return ObjectIdentifier(predicate).hashValue
    }
  }

  /// The same for what is the same.
  static func hash(_ expression: NSExpression) -> Int {
    if let tree = try? FetchLowering().expression(expression) { return "\(tree)".hashValue }
    return Int(expression.expressionType.rawValue)
  }

  /// Whether both say the same. Of those that no store understands the parts are compared; blocks are the same only when they are one object.
  static func isSame(_ left: NSPredicate, _ right: NSPredicate) -> Bool {
    if left === right { return true }
    let lowered = (try? FetchLowering().predicate(left), try? FetchLowering().predicate(right))
    if case (let left?, let right?) = lowered { return left == right }
    guard case (nil, nil) = lowered else { return false }
    switch (left, right) {
    case (let left as NSComparisonPredicate, let right as NSComparisonPredicate):
      return left.predicateOperatorType == right.predicateOperatorType && left.options == right.options
        && left.comparisonPredicateModifier == right.comparisonPredicateModifier
        && isSame(left.leftExpression, right.leftExpression)
        && isSame(left.rightExpression, right.rightExpression)
    case (let left as NSCompoundPredicate, let right as NSCompoundPredicate):
      return left.compoundPredicateType == right.compoundPredicateType
        && left.subpredicates.elementsEqual(right.subpredicates, by: isSame)
    default: return false
    }
  }

  static func isSame(_ left: NSExpression, _ right: NSExpression) -> Bool {
    if left === right { return true }
    let lowered = (try? FetchLowering().expression(left), try? FetchLowering().expression(right))
    if case (let left?, let right?) = lowered { return left == right }
    guard case (nil, nil) = lowered else { return false }
    switch (left.kind, right.kind) {
    case (.constant(let left), .constant(let right)): return isSameConstant(left, right)
    case (.evaluatedObject, .evaluatedObject), (.anyKey, .anyKey): return true
    case (.variable(let left), .variable(let right)): return left == right
    case (.keyPath(let left, let path), .keyPath(let right, let other)):
      return path == other && isSameOperand(left, right)
    case (.swiftKeyPath(let left), .swiftKeyPath(let right)): return left == right
    case (.function(let left, let name, let arguments), .function(let right, let other, let others)):
      return name == other && isSameOperand(left, right) && arguments.elementsEqual(others, by: isSame)
    case (.set(let type, let left, let right), .set(let other, let first, let second)):
      return type == other && isSame(left, first) && isSame(right, second)
    case (.subquery(let left, let name, let predicate), .subquery(let right, let other, let condition)):
      return name == other && isSame(left, right) && isSame(predicate, condition)
    case (.aggregate(let left), .aggregate(let right)): return left.elementsEqual(right, by: isSame)
    case (.conditional(let predicate, let left, let right), .conditional(let other, let first, let second)):
      return isSame(predicate, other) && isSame(left, first) && isSame(right, second)
    case (.fetch(let left, let context, let isCount), .fetch(let right, let other, let countsOnly)):
      return isCount == countsOnly && isSame(left, right) && isSame(context, other)
    default: return false
    }
  }

  private static func isSameOperand(_ left: NSExpression?, _ right: NSExpression?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return isSame(left, right)
  }

  /// Of constants that no store has.
  private static func isSameConstant(_ left: Any?, _ right: Any?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    if let left = left as? AnyHashable, let right = right as? AnyHashable { return left == right }
    guard type(of: left) is AnyClass, type(of: right) is AnyClass else { return false }
    return left as AnyObject === right as AnyObject
  }
}
