import Foundation
import StrataCore

extension NSEntityMapping {
  /// Which objects are migrated: an expression for a list of objects, or a fetch. Nil for all of the source entity.
  public var sourceExpression: NSExpression? {
    get { (sourceObjects as? MappingExpression)?.expression }
    set { sourceObjects = newValue.map { MappingExpression(expression: $0) } }
  }
}

extension NSPropertyMapping {
  /// What makes the value. Variables: `$source`, `$destination`, `$manager`, `$entityMapping`, `$propertyMapping`, `$entityPolicy`.
  ///
  /// Nil for a mapping whose value is made by a closure.
  public var valueExpression: NSExpression? {
    get { MappingExpression.expression(for: value) }
    set { value = newValue.map { MappingExpression(expression: $0) } }
  }
}

/// An expression as a mapping evaluates it.
struct MappingExpression: ComparableMigrationExpression {
  let expression: NSExpression

  /// What says the same as `value`; nil for a closure.
  static func expression(for value: (any MigrationExpression)?) -> NSExpression? {
    switch value {
    case let mapping as MappingExpression: mapping.expression
    case let path as SourceKeyPath:
      NSExpression(.keyPath(NSExpression(forVariable: NSMigrationSourceObjectKey), path.path))
    case let members as MigratedMembers:
      NSExpression(
        .function(
          NSExpression(forVariable: NSMigrationManagerKey), MigrationFunctions.byRelationship,
          [
            NSExpression(forConstantValue: members.relationship),
            NSExpression(
              .keyPath(NSExpression(forVariable: NSMigrationSourceObjectKey), members.relationship)),
          ]))
    default: nil
    }
  }

  func isSame(as other: any MigrationExpression) -> Bool { Self.expression(for: other) == expression }

  func value(_ input: MigrationInput) throws -> Any? {
    let failure = MigrationFunctions.Failure()
    let variables: [String: Any] = [
      NSMigrationManagerKey: input.manager, NSMigrationSourceObjectKey: input.source ?? NSNull(),
      NSMigrationDestinationObjectKey: input.destination ?? NSNull(),
      NSMigrationEntityMappingKey: input.entityMapping,
      NSMigrationPropertyMappingKey: input.propertyMapping ?? NSNull(),
      NSMigrationEntityPolicyKey: input.policy, MigrationFunctions.failureKey: failure,
    ]
    let value = MemoryEvaluation(input.source, variables: variables).value(expression)
    if let error = failure.error { throw error }
    if let request = value as? NSFetchRequest<NSManagedObject> {
      return try input.manager.sourceContext.fetch(request)
    }
    if let request = value as? NSFetchRequest<NSFetchRequestResult> {
      return try input.manager.sourceContext.fetch(request)
    }
    return value
  }
}

/// The functions that expressions of mappings call: those of the manager, and what a policy does of its own.
enum MigrationFunctions {
  static let byMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
  static let byRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
  static let sources = "sourceInstancesForEntityMappingNamed:destinationInstances:"
  static let request = "fetchRequestForSourceEntityNamed:predicateString:"
  static let failureKey = "~failure"

  /// Where an error waits until the expression is through.
  final class Failure { var error: (any Error)? }

  /// The value of a function of `target`; nil when that is none of a migration.
  static func value(of target: Any?, _ name: String, _ arguments: [Any?], _ failure: Failure?) -> Any?? {
    if let policy = target as? NSEntityMigrationPolicy {
      do { return .some(try policy.value(ofFunction: name, arguments: arguments)) } catch {
        guard let failure else { stop("\(error)") }
        failure.error = error
        return .some(nil)
      }
    }
    guard let manager = target as? NSMigrationManager, arguments.count == 2,
      let text = arguments[0] as? String
    else {
      return nil
    }
    switch name {
    case byMapping:
      return .some(
        manager.destinationInstances(
          forEntityMappingName: text, sourceInstances: NSMigrationManager.objects(arguments[1])))
    case byRelationship:
      return .some(manager.destinationInstances(of: NSMigrationManager.objects(arguments[1])))
    case sources:
      return .some(
        manager.sourceInstances(
          forEntityMappingName: text, destinationInstances: NSMigrationManager.objects(arguments[1])))
    case request:
      let request = NSFetchRequest<NSManagedObject>(entityName: text)
      request.includesSubentities = false
      if let format = arguments[1] as? String {
        request.predicate = NSPredicate(format: format, argumentArray: nil)
      }
      return .some(request)
    default: return nil
    }
  }

  /// The value of a key of a manager; nil for others.
  static func value(of manager: NSMigrationManager, _ key: String) -> Any?? {
    switch key {
    case "sourceContext": .some(manager.sourceContext)
    case "destinationContext": .some(manager.destinationContext)
    case "userInfo": .some(manager.userInfo)
    default: nil
    }
  }
}
