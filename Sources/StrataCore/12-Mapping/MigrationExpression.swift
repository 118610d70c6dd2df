import Foundation

/// What an expression of a mapping may look at.
public struct MigrationInput {
  /// The migration manager.
  public let manager: MigrationManager
  /// The object that is being migrated, or nil.
  public let source: ManagedObject?
  /// The object that it becomes; nil before there is one.
  public let destination: ManagedObject?
  /// The mapping of the entity.
  public let entityMapping: EntityMapping
  /// The mapping of the property; nil for the expression that finds source objects.
  public let propertyMapping: PropertyMapping?
  /// The policy of the entity.
  public let policy: EntityMigrationPolicy
}

/// Something that makes a value while a store is migrated.
public protocol MigrationExpression {
  func value(_ input: MigrationInput) throws -> Any?
}

/// An expression that can be compared with others, so that mappings can.
package protocol ComparableMigrationExpression: MigrationExpression {
  /// Whether the other one always makes the same value, as far as that shows.
  func isSame(as other: any MigrationExpression) -> Bool
}

enum MigrationExpressions {
  /// Expressions that say nothing of it are the same when they are one object, or equal values.
  static func areSame(_ first: (any MigrationExpression)?, _ second: (any MigrationExpression)?) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    if let first = first as? any ComparableMigrationExpression, first.isSame(as: second) { return true }
    if let second = second as? any ComparableMigrationExpression, second.isSame(as: first) { return true }
    if type(of: first) is AnyClass, type(of: second) is AnyClass {
      return first as AnyObject === second as AnyObject
    }
    guard let first = first as? any Equatable else { return false }
    return areEqual(first, second)
  }

  private static func areEqual<Value: Equatable>(_ first: Value, _ second: Any) -> Bool {
    first == second as? Value
  }
}

/// Code as an expression: the same as itself only.
final class MigrationClosure: MigrationExpression {
  let body: (MigrationInput) throws -> Any?

  init(_ body: @escaping (MigrationInput) throws -> Any?) { self.body = body }

  func value(_ input: MigrationInput) throws -> Any? { try body(input) }
}

/// What a key path of the source leads to.
package struct SourceKeyPath: MigrationExpression, Hashable {
  package let path: String

  package func value(_ input: MigrationInput) throws -> Any? {
    guard let source = input.source else { return nil }
    return path.contains(".") ? source.value(forKeyPath: path) : source.value(forKey: path)
  }
}

/// What has become of the members of a relationship of the source, by whatever mapping. Where they have become several things, those that the relationship
/// which gets them leads to.
package struct MigratedMembers: MigrationExpression, Hashable {
  package let relationship: String

  package func value(_ input: MigrationInput) throws -> Any? {
    guard let source = input.source else { return nil }
    let origins = MigrationManager.objects(source.value(forKey: relationship))
    let members = input.manager.destinationInstances(of: origins)
    let name = input.propertyMapping?.name
    guard let name, let wanted = input.destination?.entity.relationshipsByName[name]?.destinationEntity else {
      return members
    }
    func fits(_ member: ManagedObject) -> Bool { member.entity.isKindOf(entity: wanted) }
    // A member that has become nothing that fits would be left out in silence: the policy refuses what does not fit.
    let areAllKept = origins.allSatisfy { origin in
      let own = input.manager.destinationInstances(of: [origin])
      return own.isEmpty || own.contains(where: fits)
    }
    return areAllKept ? members.filter(fits) : members
  }
}
