import CoreData
import Testing

// Migration by name: every member is used; MigrationStoryTests show what the members do.

@Suite("Names of migration")
struct MigrationSurface {
  private func model(_ names: String...) -> NSManagedObjectModel {
    let entity = NSEntityDescription()
    entity.name = "Bird"
    entity.properties = names.map { name in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = .stringAttributeType
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [entity]
    return model
  }

  @Test("Mapping models, entity mappings, property mappings")
  func mappings() throws {
    // surface: NSMappingModel | NSMappingModel.entityMappings | NSMappingModel.entityMappingsByName
    // surface: NSMappingModel.inferredMappingModel(forSourceModel:destinationModel:)
    let (old, new) = (model("name"), model("name", "song"))
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    #expect(mapping.entityMappings.count == 1)
    // surface: NSEntityMapping | NSEntityMapping.name | NSEntityMapping.mappingType | NSEntityMapping.userInfo
    let bird = try #require(mapping.entityMappings.first)
    #expect(mapping.entityMappingsByName[bird.name] === bird)
    // surface: NSEntityMappingType | NSEntityMappingType.init(rawValue:) | NSEntityMappingType.undefinedEntityMappingType
    // surface: NSEntityMappingType.customEntityMappingType | NSEntityMappingType.addEntityMappingType
    // surface: NSEntityMappingType.removeEntityMappingType | NSEntityMappingType.copyEntityMappingType
    // surface: NSEntityMappingType.transformEntityMappingType
    let types: [NSEntityMappingType] = [
      .undefinedEntityMappingType, .customEntityMappingType, .addEntityMappingType, .removeEntityMappingType,
      .copyEntityMappingType, .transformEntityMappingType,
    ]
    // Rule 311.
    #expect(types.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    #expect(NSEntityMappingType(rawValue: 5) == .transformEntityMappingType)
    #expect(bird.mappingType == .transformEntityMappingType)
    // surface: NSEntityMapping.sourceEntityName | NSEntityMapping.sourceEntityVersionHash
    // surface: NSEntityMapping.destinationEntityName | NSEntityMapping.destinationEntityVersionHash
    #expect(bird.sourceEntityName == "Bird" && bird.destinationEntityName == "Bird")
    #expect(bird.sourceEntityVersionHash == old.entityVersionHashesByName["Bird"])
    #expect(bird.destinationEntityVersionHash == new.entityVersionHashesByName["Bird"])
    // surface: NSEntityMapping.attributeMappings | NSEntityMapping.relationshipMappings | NSEntityMapping.sourceExpression
    // surface: NSEntityMapping.entityMigrationPolicyClassName
    #expect(bird.attributeMappings?.map(\.name) == ["name"] && bird.relationshipMappings?.isEmpty == true)
    #expect(bird.sourceExpression == nil && bird.entityMigrationPolicyClassName == nil)
    bird.sourceExpression = NSExpression(forConstantValue: [NSManagedObject]())
    #expect(bird.sourceExpression != nil)
    bird.userInfo = ["a": 1]
    #expect(bird.userInfo?["a"] as? Int == 1)
    // surface: NSPropertyMapping | NSPropertyMapping.name | NSPropertyMapping.userInfo | NSPropertyMapping.valueExpression
    let song = NSPropertyMapping()
    song.name = "song"
    song.userInfo = [:]
    song.valueExpression = NSExpression(forConstantValue: "chirp")
    bird.attributeMappings?.append(song)
    #expect(song.valueExpression?.constantValue as? String == "chirp" && song.userInfo?.isEmpty == true)
    // surface: NSMigrationManagerKey | NSMigrationSourceObjectKey | NSMigrationDestinationObjectKey
    // surface: NSMigrationEntityMappingKey | NSMigrationPropertyMappingKey | NSMigrationEntityPolicyKey
    let keys = [
      NSMigrationManagerKey, NSMigrationSourceObjectKey, NSMigrationDestinationObjectKey,
      NSMigrationEntityMappingKey, NSMigrationPropertyMappingKey, NSMigrationEntityPolicyKey,
    ]
    #expect(Set(keys).count == 6)
  }

  // surface: NSEntityMigrationPolicy | NSEntityMigrationPolicy.begin(_:with:) | NSEntityMigrationPolicy.end(_:manager:)
  // surface: NSEntityMigrationPolicy.createDestinationInstances(forSource:in:manager:)
  // surface: NSEntityMigrationPolicy.createRelationships(forDestination:in:manager:)
  // surface: NSEntityMigrationPolicy.endInstanceCreation(forMapping:manager:)
  // surface: NSEntityMigrationPolicy.endRelationshipCreation(forMapping:manager:)
  // surface: NSEntityMigrationPolicy.performCustomValidation(forMapping:manager:)
  final class Policy: NSEntityMigrationPolicy {
    nonisolated(unsafe) static var progress: Float = -1  // One test uses it, on one thread.

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
      try super.begin(mapping, with: manager)
      // surface: NSMigrationManager.mappingModel | NSMigrationManager.currentEntityMapping
      // surface: NSMigrationManager.sourceContext | NSMigrationManager.destinationContext
      #expect(manager.mappingModel.entityMappings.contains { $0 === manager.currentEntityMapping })
      #expect(manager.sourceContext !== manager.destinationContext)
      // surface: NSMigrationManager.sourceEntity(for:) | NSMigrationManager.destinationEntity(for:)
      #expect(manager.sourceEntity(for: mapping)?.name == "Bird")
      #expect(manager.destinationEntity(for: mapping)?.name == "Bird")
    }
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      // surface: NSMigrationManager.associate(sourceInstance:withDestinationInstance:for:)
      let made = NSEntityDescription.insertNewObject(forEntityName: "Bird", into: manager.destinationContext)
      made.setValue(sInstance.value(forKey: "name"), forKey: "song")
      manager.associate(sourceInstance: sInstance, withDestinationInstance: made, for: mapping)
    }
    override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws
    {
      try super.endInstanceCreation(forMapping: mapping, manager: manager)
      // surface: NSMigrationManager.destinationInstances(forEntityMappingName:sourceInstances:)
      // surface: NSMigrationManager.sourceInstances(forEntityMappingName:destinationInstances:)
      let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: nil)
      #expect(made.count == 1)
      #expect(
        manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: made).count == 1)
    }
    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    }
    override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager)
      throws
    {
      try super.endRelationshipCreation(forMapping: mapping, manager: manager)
    }
    override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager)
      throws
    {
      try super.performCustomValidation(forMapping: mapping, manager: manager)
      // surface: NSMigrationManager.migrationProgress
      Self.progress = manager.migrationProgress
    }
    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      try super.end(mapping, manager: manager)
    }
  }

  @Test("Migration managers and policies")
  func manager() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("surface-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (here, there) = (folder.appendingPathComponent("a"), folder.appendingPathComponent("b"))
    let (old, new) = (model("name"), model("song"))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: old)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: here)
    let context = NSManagedObjectContext(.privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      NSEntityDescription.insertNewObject(forEntityName: "Bird", into: context).setValue(
        "Wren", forKey: "name")
      try context.save()
    }
    try coordinator.remove(store)
    let mapping = NSMappingModel()
    let bird = NSEntityMapping()
    bird.name = "Bird"
    bird.sourceEntityName = "Bird"
    bird.destinationEntityName = "Bird"
    bird.entityMigrationPolicyClassName = String(reflecting: Policy.self)
    bird.policyClass = Policy.self
    mapping.entityMappings = [bird]
    // surface: NSMigrationManager | NSMigrationManager.init(sourceModel:destinationModel:)
    // surface: NSMigrationManager.sourceModel | NSMigrationManager.destinationModel | NSMigrationManager.userInfo
    // surface: NSMigrationManager.usesStoreSpecificMigrationManager
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    #expect(manager.sourceModel === old && manager.destinationModel === new)
    manager.userInfo = ["a": 1]
    #expect(manager.usesStoreSpecificMigrationManager)
    // surface: NSMigrationManager.migrateStore(from:type:options:mapping:to:type:options:)
    try manager.migrateStore(from: here, type: .sqlite, mapping: mapping, to: there, type: .sqlite)
    #expect(Policy.progress > 0.6 && manager.migrationProgress == 0)
    // surface: NSMigrationManager.migrateStore(from:sourceType:options:with:toDestinationURL:destinationType:destinationOptions:)
    // surface: NSMigrationManager.cancelMigrationWithError(_:) | NSMigrationManager.reset()
    manager.cancelMigrationWithError(CocoaError(.userCancelled))
    #expect(throws: CocoaError.self) {
      try manager.migrateStore(
        from: here, sourceType: NSSQLiteStoreType, with: mapping, toDestinationURL: there,
        destinationType: NSSQLiteStoreType)
    }
    manager.reset()
  }

  @Test("Stages and references")
  func stages() throws {
    let (old, new) = (model("name"), model("name", "song"))
    // surface: NSManagedObjectModelReference | NSManagedObjectModelReference.init(model:versionChecksum:)
    // surface: NSManagedObjectModelReference.resolvedModel | NSManagedObjectModelReference.versionChecksum
    let first = NSManagedObjectModelReference(model: old, versionChecksum: old.versionChecksum)
    let second = NSManagedObjectModelReference(model: new, versionChecksum: new.versionChecksum)
    #expect(first.resolvedModel === old && second.versionChecksum == new.versionChecksum)
    // surface: NSManagedObjectModelReference.init(fileURL:versionChecksum:)
    // surface: NSManagedObjectModelReference.init(name:in:versionChecksum:)
    // surface: NSManagedObjectModelReference.init(entityVersionHashes:in:versionChecksum:)
    let missing = [
      NSManagedObjectModelReference(fileURL: URL(fileURLWithPath: "/nowhere.momd"), versionChecksum: "x"),
      NSManagedObjectModelReference(name: "NoModelOfThisName", in: nil, versionChecksum: "x"),
      NSManagedObjectModelReference(
        entityVersionHashes: old.entityVersionHashesByName, in: .main, versionChecksum: "x"),
    ]
    // Rule 314: what is not found is 134504.
    for reference in missing {
      let error = #expect(throws: (any Error).self) { try reference.resolve() }
      #expect((error as? any CustomNSError)?.errorCode == NSManagedObjectModelReferenceNotFoundError)
    }
    // surface: NSMigrationStage | NSMigrationStage.label | NSLightweightMigrationStage
    // surface: NSLightweightMigrationStage.init(_:) | NSLightweightMigrationStage.versionChecksums
    let lightweight = NSLightweightMigrationStage([old.versionChecksum])
    lightweight.label = "first"
    #expect((lightweight as NSMigrationStage).label == "first")
    #expect(lightweight.versionChecksums == [old.versionChecksum])
    // surface: NSCustomMigrationStage | NSCustomMigrationStage.init(migratingFrom:to:) | NSCustomMigrationStage.currentModel
    // surface: NSCustomMigrationStage.nextModel | NSCustomMigrationStage.willMigrateHandler | NSCustomMigrationStage.didMigrateHandler
    let custom = NSCustomMigrationStage(migratingFrom: first, to: second)
    #expect(custom.currentModel === first && custom.nextModel === second)
    custom.willMigrateHandler = { _, stage in #expect(stage === custom) }
    custom.didMigrateHandler = nil
    #expect(custom.willMigrateHandler != nil && custom.didMigrateHandler == nil)
    // surface: NSStagedMigrationManager | NSStagedMigrationManager.init(_:) | NSStagedMigrationManager.stages
    // surface: NSStagedMigrationManager.container | NSPersistentStoreStagedMigrationManagerOptionKey
    let manager = NSStagedMigrationManager([lightweight, custom])
    let container: NSPersistentContainer? = manager.container
    #expect(manager.stages.count == 2 && container == nil)
    let description = NSPersistentStoreDescription()
    description.setOption(manager, forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
    #expect(description.options[NSPersistentStoreStagedMigrationManagerOptionKey] === manager)
  }

  @Test("Options of descriptions")
  func options() {
    // Rule 306.
    let description = NSPersistentStoreDescription()
    #expect(description.shouldMigrateStoreAutomatically && description.shouldInferMappingModelAutomatically)
    description.shouldInferMappingModelAutomatically = false
    #expect((description.options[NSInferMappingModelAutomaticallyOption] as? NSNumber)?.boolValue == false)
    #expect(
      (description.options[NSMigratePersistentStoresAutomaticallyOption] as? NSNumber)?.boolValue == true)
  }
}
