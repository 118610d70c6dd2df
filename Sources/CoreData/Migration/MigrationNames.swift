import StrataCore

// Migration by Apple's names.

/// How the objects of one entity become objects of another.
public typealias NSEntityMapping = EntityMapping
/// How one property of an object gets its value.
public typealias NSPropertyMapping = PropertyMapping
/// What is done for one entity while a store is migrated: subclass it.
public typealias NSEntityMigrationPolicy = EntityMigrationPolicy
/// How a store of one model becomes a store of another.
public typealias NSMappingModel = MappingModel
/// Migrates a store by a mapping model.
public typealias NSMigrationManager = MigrationManager
/// A version of a model that is looked up when a migration needs it.
public typealias NSManagedObjectModelReference = ManagedObjectModelReference
/// One step of a staged migration.
public typealias NSMigrationStage = MigrationStage
/// Versions that follow from each other by what can be inferred.
public typealias NSLightweightMigrationStage = LightweightMigrationStage
/// A step from one version to the next, with code before and behind it.
public typealias NSCustomMigrationStage = CustomMigrationStage
/// The steps by which a store of any earlier version becomes one of the newest.
public typealias NSStagedMigrationManager = StagedMigrationManager

// The variables of expressions in mappings: `$source.name` is what the source object has under “name”.

/// The migration manager.
public let NSMigrationManagerKey = "manager"
/// The object that is migrated.
public let NSMigrationSourceObjectKey = "source"
/// The object that it becomes.
public let NSMigrationDestinationObjectKey = "destination"
/// The entity mapping.
public let NSMigrationEntityMappingKey = "entityMapping"
/// The property mapping.
public let NSMigrationPropertyMappingKey = "propertyMapping"
/// The entity's migration policy.
public let NSMigrationEntityPolicyKey = "entityPolicy"

extension NSMappingModel {
  /// What the two models tell by themselves.
  /// - Throws: `CocoaError` 134190 with the reasons.
  public static func inferredMappingModel(
    forSourceModel sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel
  ) throws -> NSMappingModel {
    try cocoa(.inferredMappingModel) {
      try Self.StrataCore::inferredMappingModel(
        forSourceModel: sourceModel, destinationModel: destinationModel)
    }
  }
}

extension NSStagedMigrationManager {
  /// While a handler runs, a container that has the store open with the model of that moment; nil otherwise. It is closed when the
  /// handler returns.
  public var container: NSPersistentContainer? {
    guard let opening else { return nil }
    if let known = opened?.container as? NSPersistentContainer { return known }
    let container = NSPersistentContainer(name: "Migration", managedObjectModel: opening.model)
    let coordinator = container.persistentStoreCoordinator
    do {
      try coordinator.addPersistentStore(opening.description)
    } catch {
      stop("the store of a staged migration cannot be opened: \(error)")
    }
    opened = (
      container,
      {
        for store in coordinator.StrataCore::persistentStores { try? coordinator.remove(store) }
      }
    )
    return container
  }
}
