import CoreData

private func globalsMigration() {
  _ = NSCustomMigrationStage.self
  _ = NSEntityMapping.self
  _ = NSEntityMappingType.self
  _ = NSEntityMigrationPolicy.self
  _ = NSLightweightMigrationStage.self
  _ = NSMappingModel.self
  _ = NSMigrationManager.self
  _ = NSMigrationStage.self
  _ = NSPropertyMapping.self
  _ = NSStagedMigrationManager.self
  let _: String = NSInferMappingModelAutomaticallyOption
  let _: String = NSMigratePersistentStoresAutomaticallyOption
  let _: String = NSMigrationDestinationObjectKey
  let _: String = NSMigrationEntityMappingKey
  let _: String = NSMigrationEntityPolicyKey
  let _: String = NSMigrationManagerKey
  let _: String = NSMigrationPropertyMappingKey
  let _: String = NSMigrationSourceObjectKey
  let _: String = NSPersistentStoreDeferredLightweightMigrationOptionKey
  let _: String = NSPersistentStoreStagedMigrationManagerOptionKey
}

private func useNSCustomMigrationStage(_ it: NSCustomMigrationStage) {
  _ = NSCustomMigrationStage.init(migratingFrom:to:)
  let _: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)? = it.didMigrateHandler
  let _: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)? = it.willMigrateHandler
  let _: NSManagedObjectModelReference = it.currentModel
  let _: NSManagedObjectModelReference = it.nextModel
}

private func useNSEntityMapping(_ it: NSEntityMapping) {
  let _: Data? = it.destinationEntityVersionHash
  let _: Data? = it.sourceEntityVersionHash
  let _: NSEntityMappingType = it.mappingType
  let _: NSExpression? = it.sourceExpression
  let _: String! = it.name
  let _: String? = it.destinationEntityName
  let _: String? = it.entityMigrationPolicyClassName
  let _: String? = it.sourceEntityName
  let _: [AnyHashable: Any]? = it.userInfo
  let _: [NSPropertyMapping]? = it.attributeMappings
  let _: [NSPropertyMapping]? = it.relationshipMappings
}

private func useNSEntityMappingType() {
  _ = NSEntityMappingType.addEntityMappingType
  _ = NSEntityMappingType.copyEntityMappingType
  _ = NSEntityMappingType.customEntityMappingType
  _ = NSEntityMappingType.init(rawValue:)
  _ = NSEntityMappingType.removeEntityMappingType
  _ = NSEntityMappingType.transformEntityMappingType
  _ = NSEntityMappingType.undefinedEntityMappingType
}

private func useNSEntityMigrationPolicy() {
  _ = NSEntityMigrationPolicy.begin(_:with:)
  _ = NSEntityMigrationPolicy.createDestinationInstances(forSource:in:manager:)
  _ = NSEntityMigrationPolicy.createRelationships(forDestination:in:manager:)
  _ = NSEntityMigrationPolicy.end(_:manager:)
  _ = NSEntityMigrationPolicy.endInstanceCreation(forMapping:manager:)
  _ = NSEntityMigrationPolicy.endRelationshipCreation(forMapping:manager:)
  _ = NSEntityMigrationPolicy.performCustomValidation(forMapping:manager:)
}

private func useNSLightweightMigrationStage(_ it: NSLightweightMigrationStage) {
  _ = NSLightweightMigrationStage.init(_:)
  let _: [String] = it.versionChecksums
}

private func useNSMappingModel(_ it: NSMappingModel) {
  _ = NSMappingModel.inferredMappingModel(forSourceModel:destinationModel:)
  _ = NSMappingModel.init(contentsOf:)
  _ = NSMappingModel.init(from:forSourceModel:destinationModel:)
  let _: [NSEntityMapping]! = it.entityMappings
  let _: [String: NSEntityMapping] = it.entityMappingsByName
}

private func useNSMigrationManager(_ it: NSMigrationManager) {
  _ = NSMigrationManager.associate(sourceInstance:withDestinationInstance:for:)
  _ = NSMigrationManager.cancelMigrationWithError(_:)
  _ = NSMigrationManager.destinationEntity(for:)
  _ = NSMigrationManager.destinationInstances(forEntityMappingName:sourceInstances:)
  _ = NSMigrationManager.init(sourceModel:destinationModel:)
  _ =
    NSMigrationManager.migrateStore(
      from:sourceType:options:with:toDestinationURL:destinationType:destinationOptions:)
  _ = NSMigrationManager.migrateStore(from:type:options:mapping:to:type:options:)
  _ = NSMigrationManager.reset
  _ = NSMigrationManager.sourceEntity(for:)
  _ = NSMigrationManager.sourceInstances(forEntityMappingName:destinationInstances:)
  let _: Bool = it.usesStoreSpecificMigrationManager
  let _: Float = it.migrationProgress
  let _: NSEntityMapping = it.currentEntityMapping
  let _: NSManagedObjectContext = it.destinationContext
  let _: NSManagedObjectContext = it.sourceContext
  let _: NSManagedObjectModel = it.destinationModel
  let _: NSManagedObjectModel = it.sourceModel
  let _: NSMappingModel = it.mappingModel
  let _: [AnyHashable: Any]? = it.userInfo
}

private func useNSMigrationStage(_ it: NSMigrationStage) {
  let _: String! = it.label
}

private func useNSPropertyMapping(_ it: NSPropertyMapping) {
  let _: NSExpression? = it.valueExpression
  let _: String? = it.name
  let _: [AnyHashable: Any]? = it.userInfo
}

private func useNSStagedMigrationManager(_ it: NSStagedMigrationManager) {
  _ = NSStagedMigrationManager.init(_:)
  let _: NSPersistentContainer? = it.container
  let _: [NSMigrationStage] = it.stages
}
