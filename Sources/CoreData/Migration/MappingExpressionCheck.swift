import Foundation
import StrataCore

/// Looks at an expression of a mapping before anything is migrated: evaluating what is wrong would stop the process.
///
/// What values will be is not known yet: a function of a text that gets an object is found when it is evaluated.
extension MappingExpression: CheckedMigrationExpression {
  func objection(_ place: MigrationPlace) -> String? {
    MappingExpressionCheck(place: place).objection(expression)
  }
}

private struct MappingExpressionCheck {
  let place: MigrationPlace
  /// Variables of sub-queries around the expression.
  var bound: Set<String> = []
  /// Whether the evaluated object is the source: not within a sub-query's predicate of its own elements.
  var knowsObject = true

  private static let variables: Set<String> = [
    NSMigrationManagerKey, NSMigrationSourceObjectKey, NSMigrationDestinationObjectKey,
    NSMigrationEntityMappingKey, NSMigrationPropertyMappingKey, NSMigrationEntityPolicyKey,
  ]

  func objection(_ expression: NSExpression) -> String? {
    switch expression.kind {
    case .constant, .evaluatedObject, .swiftKeyPath: return nil
    case .variable(let name):
      return Self.variables.contains(name) || bound.contains(name)
        ? nil : "$\(name) is no variable of a mapping"
    case .keyPath(let operand, let path): return objection(toKeyPath: path, of: operand)
    case .function(let target, let name, let arguments):
      return objection(toCallOf: name, target, arguments)
        ?? first(arguments.filter { !isKeyName($0, of: name) })
    case .set(_, let left, let right): return first([left, right])
    case .subquery(let members, let variable, let predicate):
      var inner = self
      inner.bound.insert(variable)
      return objection(members) ?? inner.objection(predicate)
    case .aggregate(let parts): return first(parts)
    case .conditional(let predicate, let yes, let no): return objection(predicate) ?? first([yes, no])
    case .block(_, let arguments): return first(arguments)
    case .anyKey: return "ANYKEY stands for all keys at once"
    case .fetch(let request, let context, _): return first([request, context])
    }
  }

  private func first(_ expressions: [NSExpression]) -> String? {
    expressions.lazy.compactMap { objection($0) }.first
  }

  private func objection(_ predicate: NSPredicate) -> String? {
    if let comparison = predicate as? NSComparisonPredicate {
      if comparison.predicateOperatorType.comparison == nil {
        return "it compares by a selector: \(comparison)"
      }
      return first([comparison.leftExpression, comparison.rightExpression])
    }
    if let compound = predicate as? NSCompoundPredicate {
      return compound.subpredicates.lazy.compactMap { objection($0) }.first
    }
    return nil
  }

  // MARK: Key paths

  private func objection(toKeyPath path: String, of operand: NSExpression?) -> String? {
    if let detail = operand.flatMap({ objection($0) }) { return detail }
    switch operand?.kind {
    case nil, .evaluatedObject?: return objection(toKeyPath: path, of: place.source)
    case .variable(NSMigrationSourceObjectKey)?: return objection(toKeyPath: path, of: place.source)
    case .variable(NSMigrationDestinationObjectKey)?: return objection(toKeyPath: path, of: place.destination)
    case .variable(NSMigrationManagerKey)?:
      let key = path.prefix { $0 != "." }
      return ["sourceContext", "destinationContext", "userInfo", "self"].contains(key)
        ? nil : "the migration manager has nothing called “\(key)” here"
    case .keyPath(let inner, let start)?:
      // `$source.books.@count` is read as a path of a path.
      if case .variable(NSMigrationManagerKey)? = inner?.kind { return nil }
      return objection(toKeyPath: "\(start).\(path)", of: inner)
    default: return nil
    }
  }

  private func objection(toKeyPath path: String, of entity: NSEntityDescription?) -> String? {
    let operators = path.split(separator: ".").filter { $0.first == "@" }
    let known = ["@count", "@sum", "@avg", "@average", "@min", "@max"]
    if let unknown = operators.first(where: { !known.contains(String($0)) }) {
      return "the collection operator \(unknown) is not evaluated"
    }
    return MigrationPlace.objection(toKeyPath: path, of: entity, followsMany: true)
  }

  // MARK: Functions

  /// Whether the argument is the name of a key, written as a key path.
  private func isKeyName(_ argument: NSExpression, of function: String) -> Bool {
    guard function == "valueForKey:" || function == "valueForKeyPath:" else { return false }
    if case .keyPath(nil, _) = argument.kind { return true }
    return false
  }

  private func objection(toCallOf name: String, _ target: NSExpression?, _ arguments: [NSExpression])
    -> String?
  {
    if let path = FetchLowering.keyPathArgument(name, arguments) {
      return objection(toKeyPath: path, of: target)
    }
    guard let target else {
      if FetchAggregate(selector: name) != nil || FetchFunction(selector: name) != nil { return nil }
      return "there is no function “\(name)”"
    }
    if let detail = objection(target) { return detail }
    switch target.kind {
    case .variable(NSMigrationEntityPolicyKey): return nil
    case .variable(NSMigrationManagerKey): return objection(toManagerCall: name, arguments)
    default: return "“\(name)” of an object needs the Objective-C runtime"
    }
  }

  private func objection(toManagerCall name: String, _ arguments: [NSExpression]) -> String? {
    typealias Functions = MigrationFunctions
    guard
      [Functions.byMapping, Functions.byRelationship, Functions.sources, Functions.request].contains(name)
    else { return "the migration manager has no function “\(name)”" }
    guard arguments.count == 2 else { return "“\(name)” takes two arguments" }
    guard case .constant(let value) = arguments[0].kind else { return nil }
    guard let text = value as? String else { return "the first argument of “\(name)” is no name" }
    switch name {
    case Functions.byMapping, Functions.sources:
      return place.mappingNames.contains(text) ? nil : "there is no entity mapping “\(text)”"
    case Functions.byRelationship:
      guard let source = place.source, source.relationshipsByName[text] == nil,
        MigrationPlace.objection(toKeyPath: text, of: source, followsMany: true) != nil
      else { return nil }
      return "\(source.name ?? "") has no relationship “\(text)”"
    default:
      guard let entity = place.sourceModel.entitiesByName[text] else {
        return "the source model has no entity \(text)"
      }
      guard case .constant(let format) = arguments[1].kind, let format = format as? String else { return nil }
      do { _ = try FetchPredicate(format: format, argumentArray: nil) } catch {
        return "the predicate for \(entity.name ?? "") cannot be read: \(error)"
      }
      return nil
    }
  }
}
