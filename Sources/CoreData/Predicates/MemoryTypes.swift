import StrataCore

// What is known of expressions before they have values: as much as a fetch knows, so that both come to the same result.

extension MemoryEvaluation {
  /// Whether the expression is the same for all objects: then, beside an attribute, its number is one of the attribute's type.
  func isConstant(_ expression: NSExpression) -> Bool {
    switch expression.kind {
    case .constant: true
    case .variable(let name): !elementNames.contains(name)
    case .aggregate(let parts): parts.allSatisfy(isConstant)
    case .function(nil, _, let arguments): arguments.allSatisfy(isConstant)
    case .conditional(let predicate, let first, let second):
      isConstant(predicate) && isConstant(first) && isConstant(second)
    default: false
    }
  }

  private func isConstant(_ predicate: NSPredicate) -> Bool {
    switch predicate {
    case let comparison as NSComparisonPredicate:
      isConstant(comparison.leftExpression) && isConstant(comparison.rightExpression)
    case let compound as NSCompoundPredicate: compound.subpredicates.allSatisfy(isConstant)
    default: predicate is ReadConstantPredicate
    }
  }

  /// What becomes of a side of a comparison that is the same for all objects: beside an attribute a value of its type, beside anything that is computed of an object of a model
  /// a text or a number, as that is.
  func adaptation(of side: NSExpression, beside other: NSExpression) -> MemoryComparison.Adaptation {
    guard isConstant(side) else { return [] }
    var result: MemoryComparison.Adaptation = []
    if isKeyPath(other) { result.insert(.type) }
    if looksAtModel, !isConstant(other) { result.insert(.text) }
    return result
  }

  /// Whether the object at hand, or the one that a sub-query looks at, is of an entity, so that a fetch could ask the same.
  private var looksAtModel: Bool {
    object is ManagedObject || elementNames.contains { plain(variables[$0]) is ManagedObject }
  }

  /// Whether the expression is the value of an attribute, those of many objects, or one aggregate of those, and nothing else that is computed from them.
  func isKeyPath(_ expression: NSExpression) -> Bool {
    switch expression.kind {
    case .keyPath(let operand, let path):
      !path.contains("@count") && (operand.map { isObject($0) } ?? true)
    case .swiftKeyPath: true
    case .function(nil, let name, let arguments) where FetchAggregate(selector: name) != nil:
      name != FetchAggregate.count.selector && arguments.count == 1
        && isKeyPath(Self.withoutDistinct(arguments[0]))
    case .function(_, let name, let arguments): FetchLowering.keyPathArgument(name, arguments) != nil
    default: false
    }
  }

  /// What `distinct:` is of; any other expression itself.
  private static func withoutDistinct(_ expression: NSExpression) -> NSExpression {
    guard case .function(nil, let name, let arguments) = expression.kind,
      MemoryFunction(selector: name) == .distinct, arguments.count == 1
    else { return expression }
    return arguments[0]
  }

  private func isObject(_ expression: NSExpression) -> Bool {
    switch expression.kind {
    case .evaluatedObject, .variable, .subquery, .constant: true
    default: isKeyPath(expression)
    }
  }

  // MARK: Sums of nothing

  /// What `@sum` is where there is nothing to add up: of the type of what there could be.
  func zero(_ expression: NSExpression) -> AttributeValue {
    guard case .keyPath(let operand, let path) = expression.kind, path.contains("@sum") else {
      return .integer(0)
    }
    return zero(of: attributeType(path, from: operand.map(entity) ?? (object as? ManagedObject)?.entity))
  }

  func zero(ofSumOf expression: NSExpression) -> AttributeValue { zero(of: attributeType(expression)) }

  private func zero(of type: AttributeType?) -> AttributeValue {
    switch type {
    case .decimal: .decimal(0)
    case .double, .float: .double(0)
    default: .integer(0)
    }
  }

  private func attributeType(_ expression: NSExpression) -> AttributeType? {
    switch Self.withoutDistinct(expression).kind {
    case .keyPath(let operand, let path):
      attributeType(path, from: operand.map(entity) ?? (object as? ManagedObject)?.entity)
    case .aggregate(let parts): parts.lazy.compactMap { attributeType($0) }.first
    default: nil
    }
  }

  private func attributeType(_ path: String, from entity: NSEntityDescription?) -> AttributeType? {
    let (end, rest) = Self.walk(path, from: entity)
    return end?.attributesByName[rest.joined(separator: ".")]?.StrataCore::attributeType
      ?? rest.first.flatMap { Self.element(rest.dropFirst(), of: end?.attributesByName[$0]) }
  }

  private static func element(_ keys: ArraySlice<String>, of attribute: AttributeDescription?)
    -> AttributeType?
  {
    guard let key = keys.first else { return attribute?.StrataCore::attributeType }
    guard let composite = attribute as? CompositeAttributeDescription else { return nil }
    return element(keys.dropFirst(), of: composite.elements.first { $0.name == key })
  }

  /// The entity of the objects that an expression stands for.
  private func entity(_ expression: NSExpression) -> NSEntityDescription? {
    switch expression.kind {
    case .evaluatedObject: (object as? ManagedObject)?.entity
    case .variable(let name): (plain(variables[name]) as? ManagedObject)?.entity
    case .keyPath(let operand, let path):
      Self.walk(path, from: operand.map(entity) ?? (object as? ManagedObject)?.entity).end
    case .subquery(let members, _, _): entity(members)
    default: nil
    }
  }

  /// The entity that the relationships of a path lead to, and the keys behind them; operators are left out.
  private static func walk(_ path: String, from start: NSEntityDescription?) -> (
    end: NSEntityDescription?, rest: ArraySlice<String>
  ) {
    var keys = path.split(separator: ".").map(String.init).filter { $0.first != "@" }[...]
    var entity = start
    while let key = keys.first, let relationship = entity?.relationshipsByName[key] {
      entity = relationship.destinationEntity
      keys = keys.dropFirst()
    }
    return (entity, keys)
  }
}
