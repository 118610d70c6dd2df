import StrataCore

/// Makes of predicates and expressions the tree of values that fetches execute. What it refuses, `MemoryDivision` leaves to the context where the stores are in memory.
struct FetchLowering {
  /// The context of the fetch, whose model knows what Swift key paths read; nil where there is none.
  var context: NSManagedObjectContext?
  /// Whether a `#Predicate` without a context is read by the model that `entity()` finds, among those in use.
  var takesModelsInUse = true

  /// - Throws: `CoreDataError` 134060 for a predicate that no store can look up: one made of a block, or of a class of the application.
  func predicate(_ predicate: NSPredicate) throws -> FetchPredicate {
    switch predicate {
    case let comparison as NSComparisonPredicate: return try self.comparison(comparison)
    case let compound as NSCompoundPredicate:
      let parts = try compound.subpredicates.map(self.predicate)
      switch compound.compoundPredicateType {
      case .and: return .and(parts)
      case .or: return .or(parts)
      case .not: return .not(parts.count == 1 ? parts[0] : .and(parts))
      }
    case let swift as SwiftPredicate:
      return try swift.lowered(for: context?.fetchedModel, orInUse: takesModelsInUse)
    case let constant as ReadConstantPredicate: return constant.value ? .everything : .nothing
    default:
      // Foundation tells its constant predicates by comparing them with others.
      if predicate.isEqual(NSPredicate(value: true)) { return .everything }
      if predicate.isEqual(NSPredicate(value: false)) { return .nothing }
      throw refused(
        "a predicate made of a block, or of a class of your own, can be evaluated in memory but not by a store; write it with "
          + "NSPredicate(format:), or filter what a fetch without it returns")
    }
  }

  private func comparison(_ comparison: NSComparisonPredicate) throws -> FetchPredicate {
    guard let operation = comparison.predicateOperatorType.comparison else {
      throw refused("a comparison by a selector needs the Objective-C runtime")
    }
    return .compare(
      FetchComparison(
        try side(comparison.leftExpression, isList: operation == .contains), operation,
        try side(comparison.rightExpression, isList: operation == .in),
        quantifier: comparison.comparisonPredicateModifier.quantifier,
        options: comparison.options.stringOptions))
  }

  /// One side of a comparison; where a list stands, a dictionary means its values.
  private func side(_ expression: NSExpression, isList: Bool) throws -> FetchExpression {
    guard isList, case .constant(let value) = expression.kind,
      let values = KeyedAccess.dictionaryValues(value)
    else { return try self.expression(expression) }
    return try FetchExpression(argument: values.map { $0 ?? NSNull() })
  }

  /// - Throws: `CoreDataError` 134060 for what can be evaluated in memory only; `PredicateArgumentError` for a constant that no attribute
  ///   holds.
  func expression(_ expression: NSExpression) throws -> FetchExpression {
    switch expression.kind {
    case .constant(let value):
      if let expression = value as? NSExpression { return try self.expression(expression) }
      return try FetchExpression(argument: value)
    case .evaluatedObject: return .evaluatedObject
    case .variable(let name): return .variable(name)
    case .keyPath(let operand, let path): return try keyPath(path, operand)
    case .swiftKeyPath(let path): return try keyPath(try name(of: path), nil)
    case .function(let target, let name, let arguments): return try function(target, name, arguments)
    case .aggregate(let parts): return try list(parts)
    case .subquery(let members, let variable, let predicate):
      return .subquery(
        try self.expression(members), variable: variable, try self.predicate(predicate))
    case .conditional(let predicate, let first, let second):
      return .conditional(
        try self.predicate(predicate), try self.expression(first), try self.expression(second))
    case .set: throw refused("union, intersection and difference of sets are evaluated in memory only")
    case .block: throw refused("a block in an expression is evaluated in memory only")
    case .anyKey: throw refused("ANYKEY stands for all keys at once, which are not compared")
    case .fetch: throw refused("a fetch in an expression is evaluated in memory only")
    }
  }

  private func list(_ parts: [NSExpression]) throws -> FetchExpression {
    .list(of: try parts.map(expression))
  }

  private func keyPath(_ path: String, _ operand: NSExpression?) throws -> FetchExpression {
    // As an argument, the path is no syntax.
    let tree = try FetchExpression(format: "%K", path)
    guard let operand else { return tree }
    let base = try expression(operand)
    return base == .evaluatedObject ? tree : rebased(tree, base)
  }

  /// The names of what a Swift key path reads; without a context in the newest model in use that has its class.
  func name(of path: AnyKeyPath) throws -> String {
    guard let root = type(of: path).rootType as? NSManagedObject.Type else {
      throw refused("a Swift key path begins at a class of managed objects")
    }
    if let context { return try context.name(of: path, fromEntity: try context.nameOfEntity(ofClass: root)) }
    for coordinator in LivingCoordinators.all {
      // Asked for its model only.
      let asked = NSManagedObjectContext(.confinement, coordinator: coordinator)
      guard let name = try? asked.nameOfEntity(ofClass: root) else { continue }
      return try asked.name(of: path, fromEntity: name)
    }
    throw refused("no model in use has objects of class \(root)")
  }

  private func rebased(_ tree: FetchExpression, _ base: FetchExpression) -> FetchExpression {
    switch tree {
    case .evaluatedObject: base
    case .keyPath(.evaluatedObject, let keys):
      if case .keyPath(let root, let first) = base {
        .keyPath(base: root, keys: first + keys)
      } else {
        .keyPath(base: base, keys: keys)
      }
    case .aggregate(let aggregate, let part): .aggregate(aggregate, rebased(part, base))
    default: tree
    }
  }

  private func function(_ target: NSExpression?, _ name: String, _ arguments: [NSExpression]) throws
    -> FetchExpression
  {
    if let path = Self.keyPathArgument(name, arguments) { return try keyPath(path, target) }
    if target != nil { throw refused("“\(name)” of an object needs the Objective-C runtime") }
    if let reason = MemoryCall.refusal(name) {
      throw refused("“\(name)” is evaluated in memory only, because \(reason)")
    }
    guard name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == ":" }) else {
      throw refused("“\(name)” is no function")
    }
    // The reader knows the functions, how many arguments each has, and why some are missing.
    let places = arguments.map { _ in ", %@" }.joined()
    return try FetchExpression(
      format: "FUNCTION('\(name)'\(places))", argumentArray: try arguments.map(expression))
  }

  /// The key path that a call of key-value coding asks for.
  static func keyPathArgument(_ name: String, _ arguments: [NSExpression]) -> String? {
    guard name == "valueForKey:" || name == "valueForKeyPath:", arguments.count == 1 else { return nil }
    switch arguments[0].kind {
    case .constant(let value): return value as? String
    case .keyPath(nil, let path): return path
    default: return nil
    }
  }

  private func refused(_ reason: String) -> CoreDataError {
    CoreDataError(.coreData, "A fetch cannot use the predicate: \(reason).")
  }
}
