import Foundation

/// What an expression of a mapping may look at.
public struct MigrationInput {
  /// Who migrates.
  public let manager: MigrationManager
  /// The object that is being migrated; nil where there is none.
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

/// Code as an expression.
struct MigrationClosure: MigrationExpression {
  let body: (MigrationInput) throws -> Any?

  init(_ body: @escaping (MigrationInput) throws -> Any?) { self.body = body }

  func value(_ input: MigrationInput) throws -> Any? { try body(input) }
}

/// What a key path of the source leads to.
package struct SourceKeyPath: MigrationExpression {
  package let path: String

  package func value(_ input: MigrationInput) throws -> Any? {
    guard let source = input.source else { return nil }
    return path.contains(".") ? source.value(forKeyPath: path) : source.value(forKey: path)
  }
}

/// What has become of the members of a relationship of the source, by whatever mapping.
package struct MigratedMembers: MigrationExpression {
  package let relationship: String

  package func value(_ input: MigrationInput) throws -> Any? {
    guard let source = input.source else { return nil }
    return input.manager.destinationInstances(
      of: MigrationManager.objects(source.value(forKey: relationship)))
  }
}
