/// One version of a program's models.
///
///     enum SchemaV1: VersionedSchema {
///       static let versionIdentifier = Schema.Version(1, 0, 0)
///       static var models: [any PersistentModel.Type] { [Note.self] }
///       @Model final class Note { … }
///     }
///
/// Entities are called by the unqualified names of their classes: `SchemaV1.Note` and `SchemaV2.Note` are versions of one entity.
public protocol VersionedSchema {
  /// The classes of the version. Those that they lead to may be left out.
  static var models: [any PersistentModel.Type] { get }
  /// The number of the version, which no other version of the program has.
  static var versionIdentifier: Schema.Version { get }
}

/// How stores of earlier versions become stores of the last.
public protocol SchemaMigrationPlan {
  /// The versions, oldest first.
  static var schemas: [any VersionedSchema.Type] { get }
  /// The steps between them, in order.
  static var stages: [MigrationStage] { get }
}

/// One step of a migration.
public enum MigrationStage: @unchecked Sendable {
  // @unchecked Sendable: metatypes are constants, and the closures are Sendable.

  /// All that can be inferred: properties with initial values, optional ones, ones that go, ones with an original name.
  case lightweight(fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type)
  /// The same, with code before and behind it.
  ///
  /// `willMigrate` has a context of the version before, `didMigrate` one of the version after; each saves what it changes. What they throw ends
  /// the migration, and the store stays of the last version that was reached. Of several stores each that is of an earlier version is migrated by itself, and its
  /// handlers see its models only.
  @preconcurrency
  case custom(
    fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type,
    willMigrate: (@Sendable (ModelContext) throws -> Void)?,
    didMigrate: (@Sendable (ModelContext) throws -> Void)?)
}
