import StrataCore

/// Puts values in the place of variables.
struct VariableReplacement {
  private let values: [String: Any]

  init(_ values: [String: Any]) { self.values = values }

  func replaced(_ predicate: NSPredicate) -> NSPredicate {
    if values.isEmpty { return predicate }
    switch predicate {
    case let comparison as NSComparisonPredicate:
      return NSComparisonPredicate(
        leftExpression: replaced(comparison.leftExpression),
        rightExpression: replaced(comparison.rightExpression),
        modifier: comparison.comparisonPredicateModifier, type: comparison.predicateOperatorType,
        options: comparison.options)
    case let compound as NSCompoundPredicate:
      return ReadCompoundPredicate(
        type: compound.compoundPredicateType, subpredicates: compound.subpredicates.map(replaced))
    default: return predicate
    }
  }

  func replaced(_ expression: NSExpression) -> NSExpression {
    switch expression.kind {
    case .variable(let name): values[name].map { NSExpression(forConstantValue: $0) } ?? expression
    case .keyPath(let operand?, let path): NSExpression(.keyPath(replaced(operand), path))
    case .function(let target, let name, let arguments):
      NSExpression(.function(target.map(replaced), name, arguments.map(replaced)))
    case .set(let type, let left, let right): NSExpression(.set(type, replaced(left), replaced(right)))
    case .subquery(let members, let variable, let predicate):
      NSExpression(
        .subquery(
          replaced(members), variable,
          VariableReplacement(values.filter { $0.key != variable }).replaced(predicate)))
    case .aggregate(let parts): NSExpression(.aggregate(parts.map(replaced)))
    case .conditional(let predicate, let first, let second):
      NSExpression(.conditional(replaced(predicate), replaced(first), replaced(second)))
    case .fetch(let request, let context, let isCount):
      NSExpression(.fetch(replaced(request), replaced(context), isCount))
    case .constant, .evaluatedObject, .keyPath, .swiftKeyPath, .anyKey, .block: expression
    }
  }
}
