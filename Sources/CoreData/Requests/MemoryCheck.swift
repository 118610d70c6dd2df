import StrataCore

/// Looks through what a store refuses: whether memory can work it out. What would stop the process there, a key that nothing has say, is an error of the fetch.
struct MemoryCheck {
  private let context: NSManagedObjectContext
  private let entity: NSEntityDescription
  /// What sub-queries look at, by their variables; nil where that is not known.
  private var elements: [String: NSEntityDescription?] = [:]

  /// - Parameter entity: That of the objects that are asked.
  init(_ context: NSManagedObjectContext, _ entity: NSEntityDescription) {
    self.context = context
    self.entity = entity
  }

  /// Whether the predicate says something that memory alone evaluates.
  /// - Throws: `FetchError` for unknown and transient keys; `CoreDataError` 134060 for what memory does not evaluate either.
  func needsMemory(_ predicate: NSPredicate) throws -> Bool {
    switch predicate {
    case let comparison as NSComparisonPredicate: return try needsMemory(comparison)
    case let compound as NSCompoundPredicate: return try any(compound.subpredicates) { try needsMemory($0) }
    case is ReadConstantPredicate: return false
    case is SwiftPredicate:
      do {
        try resolve(try FetchLowering(context: context).predicate(predicate), entity)
        return false
      } catch let error as FetchError where error.reason == .transformableKey { return true }
    default: return true
    }
  }

  private func needsMemory(_ comparison: NSComparisonPredicate) throws -> Bool {
    guard let operation = comparison.predicateOperatorType.comparison else {
      throw refused("a comparison by a selector needs the Objective-C runtime")
    }
    let right = comparison.rightExpression
    switch operation {
    case .between:
      if let count = count(right), count != 2 { throw refused("BETWEEN needs two values on its right side") }
    case .like, .matches:
      // The pattern has to be one.
      if case .constant(let value) = right.kind, let pattern = value as? String {
        _ = try ComparedValues.isTrue(
          .string(""), operation, .string(pattern), comparison.options.stringOptions)
      }
    default: break
    }
    return try any([comparison.leftExpression, right]) { try needsMemory($0) }
  }

  /// How many elements a list has that is written down.
  private func count(_ expression: NSExpression) -> Int? {
    switch expression.kind {
    case .aggregate(let parts): parts.count
    case .constant(let value): value is any RangeExpression ? nil : KeyedAccess.elements(value)?.count
    default: nil
    }
  }

  // MARK: Expressions

  private func needsMemory(_ expression: NSExpression) throws -> Bool {
    switch expression.kind {
    case .constant(let value): return try needsMemory(constant: value)
    case .evaluatedObject: return false
    case .variable(let name):
      if elements[name] == nil { throw refused("the variable $\(name) has no value") }
      return false
    case .keyPath(let operand, let path): return try needsMemory(path, operand)
    case .swiftKeyPath(let path):
      return try needsMemory(try FetchLowering(context: context).name(of: path), nil)
    case .function(let target, let name, let arguments): return try needsMemory(target, name, arguments)
    case .set(_, let left, let right):
      _ = try any([left, right]) { try needsMemory($0) }
      return true
    case .subquery(let members, let variable, let predicate):
      var inner = self
      inner.elements[variable] = .some(try destination(members))
      let parts = [try needsMemory(members), try inner.needsMemory(predicate)]
      return parts.contains(true)
    case .aggregate(let parts): return try any(parts) { try needsMemory($0) }
    case .conditional(let predicate, let first, let second):
      let parts = [try needsMemory(predicate), try needsMemory(first), try needsMemory(second)]
      return parts.contains(true)
    case .anyKey: throw refused("ANYKEY stands for all keys at once, which are not compared")
    // Blocks read their arguments themselves.
    case .block, .fetch: return true
    }
  }

  private func needsMemory(constant value: Any?) throws -> Bool {
    if let expression = value as? NSExpression { return try needsMemory(expression) }
    do { _ = try FetchExpression(argument: value) } catch {
      // An object of any class can be a value of a transformable attribute; a range is nothing to compare with.
      if value is any RangeExpression { throw error }
      return true
    }
    return false
  }

  private func needsMemory(_ path: String, _ operand: NSExpression?) throws -> Bool {
    guard let operand else {
      let isForMemory = try walk(path, from: entity).isForMemory
      if !isForMemory, path.contains("@"), !leadsToMany(path) { throw refusedAggregate() }
      return isForMemory
    }
    try requireOperators(path)
    let isForMemory = try needsMemory(operand)
    guard let start = try destination(operand) else { return isForMemory }
    return try walk(path, from: start).isForMemory || isForMemory
  }

  private func needsMemory(_ target: NSExpression?, _ name: String, _ arguments: [NSExpression]) throws
    -> Bool
  {
    if let path = FetchLowering.keyPathArgument(name, arguments) { return try needsMemory(path, target) }
    if target != nil { throw refused("“\(name)” of an object needs the Objective-C runtime") }
    let isForMemory = try any(arguments) { try needsMemory($0) }
    if MemoryCall.refusal(name) != nil { return true }
    if !isForMemory, FetchAggregate(selector: name) != nil, arguments.contains(where: isOfOneObject) {
      throw refusedAggregate()
    }
    guard
      FetchFunction(selector: name) != nil || FetchAggregate(selector: name) != nil
        || MemoryFunction(selector: name) != nil
    else { throw refused("“\(name)” is no function") }
    return isForMemory
  }

  /// Whether an expression is one value of the object that is asked: an aggregate of it is that of all objects, which memory does not have at hand.
  private func isOfOneObject(_ expression: NSExpression) -> Bool {
    switch expression.kind {
    case .keyPath(nil, let path): !leadsToMany(path)
    case .keyPath(let operand?, let path):
      if case .evaluatedObject = operand.kind { !leadsToMany(path) } else { false }
    case .swiftKeyPath: true
    case .function(nil, let name, let arguments):
      FetchAggregate(selector: name) == nil && arguments.contains(where: isOfOneObject)
    default: false
    }
  }

  private func leadsToMany(_ path: String) -> Bool {
    var next: NSEntityDescription? = entity
    for key in path.split(separator: ".") where key.first != "@" && key != "self" && key != "SELF" {
      guard let relationship = next?.relationshipsByName[String(key)] else { return false }
      if relationship.isToMany { return true }
      next = relationship.destinationEntity
    }
    return false
  }

  private func refusedAggregate() -> CoreDataError {
    refused("an aggregate of all objects cannot stand beside what is evaluated in memory; fetch it first")
  }

  /// The entity of the objects that an expression stands for; nil where that is not known.
  private func destination(_ expression: NSExpression) throws -> NSEntityDescription? {
    switch expression.kind {
    case .evaluatedObject: return entity
    case .variable(let name): return elements[name] ?? nil
    case .keyPath(let operand, let path):
      guard let start = try operand.map(destination) ?? entity else { return nil }
      return try walk(path, from: start).end
    case .subquery(let members, _, _): return try destination(members)
    case .set(_, let left, _): return try destination(left)
    case .function(let target, let name, let arguments):
      // One of them, or some, are of the same entity.
      if target == nil, let function = MemoryFunction(selector: name), let members = arguments.first,
        [.element, .distinct, .withoutIndex].contains(function)
      {
        return try destination(members)
      }
      guard let path = FetchLowering.keyPathArgument(name, arguments) else { return nil }
      guard let start = try target.map(destination) ?? entity else { return nil }
      return try walk(path, from: start).end
    default: return nil
    }
  }

  // MARK: Keys

  /// What a key path leads to: whether through a transformable attribute, behind which no store can look, and to objects of which entity.
  /// - Throws: `FetchError` for a key that the entity does not have, or a store does not know; `CoreDataError` 134060 for a collection operator that there is not.
  func walk(_ path: String, from start: NSEntityDescription) throws -> (
    isForMemory: Bool, end: NSEntityDescription?
  ) {
    try requireOperators(path)
    let keys = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    var entity = start
    for (place, key) in keys.enumerated() {
      switch key {
      case "self", "SELF": continue
      case "objectID", "entity": return (false, nil)
      case _ where key.first == "@": continue
      default: break
      }
      if let relationship = entity.relationshipsByName[key], !relationship.isTransient,
        let destination = relationship.destinationEntity
      {
        entity = destination
        continue
      }
      if let attribute = entity.attributesByName[key], !attribute.isTransient,
        attribute.attributeType == .transformableAttributeType
      {
        return (true, nil)
      }
      // A store knows which other keys there are.
      let rest = keys[place...].prefix { $0.first != "@" }
      try resolve(
        .compare(
          FetchComparison(.keyPath(base: .evaluatedObject, keys: Array(rest)), .equal, .constant(.null))),
        entity)
      return (false, nil)
    }
    return (false, entity)
  }

  /// Behind a transformable attribute, too.
  private func requireOperators(_ path: String) throws {
    for key in path.split(separator: ".") where key.first == "@" && !Self.operators.contains(String(key)) {
      throw refused(
        "the collection operator \(key) is not evaluated; there are @count, @sum, @avg, @min and @max")
    }
  }

  private static let operators: Set = ["@count", "@sum", "@avg", "@average", "@min", "@max"]

  private func resolve(_ predicate: FetchPredicate, _ entity: NSEntityDescription) throws {
    try context.requireNames(
      of: FetchRequest<ManagedObjectID>(entityName: entity.name ?? "", predicate: predicate))
  }

  /// Whether one of the parts is so; all are looked at.
  private func any<Part>(_ parts: [Part], _ isSo: (Part) throws -> Bool) rethrows -> Bool {
    var result = false
    for part in parts where try isSo(part) { result = true }
    return result
  }

  private func refused(_ reason: String) -> CoreDataError {
    CoreDataError(.coreData, "A fetch cannot use the predicate: \(reason).")
  }
}
