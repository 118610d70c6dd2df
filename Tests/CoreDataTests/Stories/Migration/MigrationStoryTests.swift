import CoreData
import Testing

/// Migration as an application writes it.
@Suite("Stories: migration")
struct MigrationStoryTests {
  private let folder: URL
  private let url: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("migration-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Birds.sqlite")
  }

  // MARK: Models

  private static func attribute(_ name: String, _ type: NSAttributeType, was old: String? = nil)
    -> NSAttributeDescription
  {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    if let old { attribute.renamingIdentifier = old }
    return attribute
  }

  private static func entity(_ name: String, _ properties: [NSPropertyDescription]) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = properties
    return entity
  }

  private static func related(
    _ from: NSEntityDescription, _ name: String, _ to: NSEntityDescription, _ inverse: String
  ) {
    let (many, one) = (NSRelationshipDescription(), NSRelationshipDescription())
    (many.name, many.destinationEntity, many.inverseRelationship) = (name, to, one)
    (one.name, one.destinationEntity, one.inverseRelationship) = (inverse, from, many)
    one.maxCount = 1
    from.properties.append(many)
    to.properties.append(one)
  }

  /// Birds with full names, in nests.
  private static func one() -> NSManagedObjectModel {
    let bird = entity(
      "Bird", [attribute("name", .stringAttributeType), attribute("grams", .integer32AttributeType)])
    let nest = entity("Nest", [attribute("place", .stringAttributeType)])
    related(nest, "birds", bird, "nest")
    let model = NSManagedObjectModel()
    model.entities = [bird, nest]
    return model
  }

  /// The same with another name of an attribute, and a new one.
  private static func two() -> NSManagedObjectModel {
    let bird = entity(
      "Bird",
      [
        attribute("fullName", .stringAttributeType, was: "name"), attribute("grams", .integer32AttributeType),
        attribute("seen", .dateAttributeType),
      ])
    let nest = entity("Nest", [attribute("place", .stringAttributeType)])
    related(nest, "birds", bird, "nest")
    let model = NSManagedObjectModel()
    model.entities = [bird, nest]
    return model
  }

  /// Birds have two names and a weight in kilograms: nothing that could be inferred.
  private static func three() -> NSManagedObjectModel {
    let genus = attribute("genus", .stringAttributeType)
    genus.isOptional = false
    let bird = entity(
      "Bird", [genus, attribute("species", .stringAttributeType), attribute("grams", .doubleAttributeType)])
    let nest = entity("Nest", [attribute("place", .stringAttributeType)])
    related(nest, "birds", bird, "nest")
    let model = NSManagedObjectModel()
    model.entities = [bird, nest]
    return model
  }

  // MARK: Stacks

  private func container(_ model: NSManagedObjectModel, _ url: URL) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Birds", managedObjectModel: model)
    container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return container
  }

  private func close(_ container: NSPersistentContainer) throws {
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }

  /// Fills a store of the first model.
  private func fill() throws {
    let container = try container(Self.one(), url)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let nest = NSEntityDescription.insertNewObject(forEntityName: "Nest", into: context)
      nest.setValue("oak", forKey: "place")
      for (name, grams) in [("Parus major", 18), ("Pica pica", 210)] {
        let bird = NSEntityDescription.insertNewObject(forEntityName: "Bird", into: context)
        bird.setValue(name, forKey: "name")
        bird.setValue(grams, forKey: "grams")
        bird.setValue(nest, forKey: "nest")
      }
      try context.save()
    }
    try close(container)
  }

  private func birds(_ context: NSManagedObjectContext) throws -> [NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Bird")
    request.sortDescriptors = [NSSortDescriptor(key: "grams", ascending: true)]
    return try context.fetch(request)
  }

  // MARK: Stories

  @Test("rule 306: a container opens a store of the version before: descriptions migrate by default")
  func lightweight() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let container = try container(Self.two(), url)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let found = try birds(context)
      #expect(found.map { $0.value(forKey: "fullName") as? String } == ["Parus major", "Pica pica"])
      #expect(found[0].value(forKeyPath: "nest.place") as? String == "oak")
    }
    try close(container)
  }

  @Test(
    "rules 304, 309: without options 134100; no way to infer is 134190, birds without a genus 134110; the store stays"
  )
  func refusals() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.two())
    do {
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
      Issue.record("a store of another version was opened")
    } catch CocoaError.persistentStoreIncompatibleVersionHash {}
    let odd = Self.one()
    odd.entitiesByName["Bird"]?.attributesByName["grams"]?.attributeType = .stringAttributeType
    for (model, code, sentence) in [
      (odd, NSInferredMappingModelError, "Bird.grams has another type"),
      (Self.three(), NSMigrationError, "Bird.genus is new and mandatory"),
    ] {
      do {
        _ = try container(model, url)
        Issue.record("the store was migrated, in spite of: \(sentence)")
      } catch let error as NSError {
        #expect(error.code == code && error.domain == NSCocoaErrorDomain)
        #expect(error.localizedDescription.contains(sentence))
      }
    }
    try close(try container(Self.one(), url))
  }

  /// Splits names, and writes down what it is asked for.
  private final class NamePolicy: NSEntityMigrationPolicy {
    nonisolated(unsafe) static var calls: [String] = []  // One test at a time uses it, on one thread.

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
      Self.calls.append("begin")
      #expect(manager.currentEntityMapping === mapping)
    }
    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      Self.calls.append("create")
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      let made = manager.destinationInstances(
        forEntityMappingName: mapping.name, sourceInstances: [sInstance])
      let names = (sInstance.value(forKey: "name") as? String ?? "").split(separator: " ")
      made.first?.setValue(String(names[0]), forKey: "genus")
      made.first?.setValue(String(names[1]), forKey: "species")
    }
    override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws
    {
      Self.calls.append("endCreation")
    }
    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      Self.calls.append("relate")
      try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    }
    override func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager)
      throws
    {
      Self.calls.append("endRelating")
    }
    override func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager)
      throws
    {
      Self.calls.append("validate")
      if manager.userInfo?["refuse"] != nil { throw CocoaError(.entityMigrationPolicy) }
    }
    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      Self.calls.append("end")
    }
    override func value(ofFunction selector: String, arguments: [Any?]) throws -> Any? {
      guard selector == "kilos:", let grams = arguments[0] as? NSNumber else {
        return try super.value(ofFunction: selector, arguments: arguments)
      }
      return grams.doubleValue / 1_000
    }
  }

  private func mapping(_ function: String) -> NSMappingModel {
    let grams = NSPropertyMapping()
    grams.name = "grams"
    grams.valueExpression = NSExpression(
      forFunction: NSExpression(forVariable: NSMigrationEntityPolicyKey), selectorName: function,
      arguments: [NSExpression(format: "$source.grams")])
    let bird = NSEntityMapping()
    bird.name = "BirdToBird"
    bird.mappingType = .customEntityMappingType
    bird.sourceEntityName = "Bird"
    bird.destinationEntityName = "Bird"
    bird.attributeMappings = [grams]
    bird.relationshipMappings = []
    bird.policyClass = NamePolicy.self
    let place = NSPropertyMapping()
    place.name = "place"
    place.valueExpression = NSExpression(format: "uppercase:($source.place)")
    let birds = NSPropertyMapping()
    birds.name = "birds"
    birds.valueExpression = NSExpression(
      forFunction: NSExpression(forVariable: NSMigrationManagerKey),
      selectorName: "destinationInstancesForEntityMappingNamed:sourceInstances:",
      arguments: [NSExpression(forConstantValue: "BirdToBird"), NSExpression(format: "$source.birds")])
    let nest = NSEntityMapping()
    nest.name = "NestToNest"
    nest.mappingType = .transformEntityMappingType
    nest.sourceEntityName = "Nest"
    nest.destinationEntityName = "Nest"
    nest.attributeMappings = [place]
    nest.relationshipMappings = [birds]
    let mapping = NSMappingModel()
    mapping.entityMappings = [nest, bird]
    return mapping
  }

  @Test(
    "rules 310, 312, 313: a mapping model with a policy of its own: three passes, then one save; what is there is appended to"
  )
  func manual() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let there = folder.appendingPathComponent("Birds 3.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.one(), destinationModel: Self.three())
    func migrate(_ function: String = "kilos:") throws {
      NamePolicy.calls = []
      try manager.migrateStore(
        from: url, sourceType: NSSQLiteStoreType, with: mapping(function), toDestinationURL: there,
        destinationType: NSSQLiteStoreType)
    }
    manager.userInfo = ["refuse": true]
    #expect(throws: CocoaError.self) { try migrate() }
    #expect(!FileManager.default.fileExists(atPath: there.path), "nothing is left of a migration that failed")
    manager.userInfo = nil
    #expect(throws: (any Error).self) { try migrate("tonnes:") }
    try migrate()
    #expect(
      NamePolicy.calls == [
        "begin", "create", "create", "endCreation", "relate", "relate", "endRelating", "validate", "end",
      ])
    #expect(manager.migrationProgress == 0)
    for count in [2, 4] {
      let container = try container(Self.three(), there)
      let context = container.newBackgroundContext()
      try context.performAndWait {
        let found = try birds(context)
        #expect(found.count == count)
        #expect(found[0].value(forKey: "genus") as? String == "Parus")
        #expect(found[0].value(forKey: "species") as? String == "major")
        #expect(found[0].value(forKey: "grams") as? Double == 0.018)
        #expect(found[0].value(forKeyPath: "nest.place") as? String == "OAK")
        let nest = found[0].value(forKey: "nest") as? NSManagedObject
        #expect((nest?.value(forKey: "birds") as? NSSet)?.count == 2)
      }
      try close(container)
      if count == 2 { try migrate() }
    }
  }

  /// Cancels as soon as there is something to cancel.
  private final class CancellingPolicy: NSEntityMigrationPolicy {
    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
      manager.cancelMigrationWithError(CocoaError(.userCancelled))
    }
  }

  @Test(
    "rule 309: a cancelled migration throws what it was cancelled with; missing mappings 134140; no source 134150"
  )
  func failures() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let there = folder.appendingPathComponent("Birds 3.sqlite")
    let manager = NSMigrationManager(sourceModel: Self.one(), destinationModel: Self.three())
    func code(_ mapping: NSMappingModel?, _ url: URL) -> (code: Int, below: NSError?) {
      do {
        try manager.migrateStore(
          from: url, sourceType: NSSQLiteStoreType, with: mapping, toDestinationURL: there,
          destinationType: NSSQLiteStoreType)
        return (0, nil)
      } catch let error as NSError {
        return (error.code, error.userInfo[NSUnderlyingErrorKey] as? NSError)
      }
    }
    let cancelling = mapping("kilos:")
    cancelling.entityMappings[0].policyClass = CancellingPolicy.self
    #expect(code(cancelling, url).code == CocoaError.Code.userCancelled.rawValue)
    manager.reset()
    #expect(code(nil, url).code == NSMigrationMissingMappingModelError)
    #expect(
      code(mapping("kilos:"), folder.appendingPathComponent("none")).code
        == NSMigrationManagerSourceStoreError)
    let wrong = mapping("kilos:")
    wrong.entityMappings[0].destinationEntityVersionHash = Data(repeating: 0, count: 32)
    #expect(code(wrong, url).code == NSMigrationError)
    try FileManager.default.createDirectory(at: there, withIntermediateDirectories: true)
    #expect(code(mapping("kilos:"), url).code == NSMigrationManagerDestinationStoreError)
  }

  @Test("a mapping model that was inferred is carried out with objects, or row by row; both give the same")
  func inferred() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    for isFast in [true, false] {
      let there = folder.appendingPathComponent("Birds \(isFast).sqlite")
      let (one, two) = (Self.one(), Self.two())
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: one, destinationModel: two)
      let names = try #require(
        mapping.entityMappings.first { $0.destinationEntityName == "Bird" }?.attributeMappings)
      #expect(names.first { $0.name == "fullName" }?.valueExpression?.description == "$source.name")
      let manager = NSMigrationManager(sourceModel: one, destinationModel: two)
      manager.usesStoreSpecificMigrationManager = isFast
      try manager.migrateStore(from: url, type: .sqlite, mapping: mapping, to: there, type: .sqlite)
      let container = try container(Self.two(), there)
      let context = container.newBackgroundContext()
      try context.performAndWait {
        let found = try birds(context)
        #expect(found.map { $0.value(forKey: "fullName") as? String } == ["Parus major", "Pica pica"])
        #expect(found[1].value(forKeyPath: "nest.place") as? String == "oak")
      }
      try close(container)
    }
  }

  @Test("rule 314: a staged migration goes through the versions in between, with code around each step")
  func staged() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let (one, two, four) = (Self.one(), Self.two(), Self.two())
    four.entitiesByName["Bird"]?.attributesByName["grams"]?.isOptional = false
    four.entitiesByName["Bird"]?.attributesByName["grams"]?.defaultValue = 1
    let step = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum),
      to: NSManagedObjectModelReference(model: four, versionChecksum: four.versionChecksum))
    step.label = "weigh"
    nonisolated(unsafe) var calls: [String] = []  // The handlers run on this thread.
    step.willMigrateHandler = { manager, stage in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for bird in try birds(context) {
          bird.setValue("\(bird.value(forKey: "fullName") ?? "")!", forKey: "fullName")
        }
        try context.save()
      }
      calls.append("will \(stage.label ?? "")")
    }
    step.didMigrateHandler = { manager, stage in
      let container = try #require(manager.container)
      calls.append("did \(container.managedObjectModel.versionChecksum == four.versionChecksum)")
    }
    let stages = NSStagedMigrationManager([
      NSLightweightMigrationStage([one.versionChecksum, two.versionChecksum]), step,
    ])
    func open(_ model: NSManagedObjectModel) throws {
      let container = NSPersistentContainer(name: "Birds", managedObjectModel: model)
      let description = NSPersistentStoreDescription(url: url)
      description.setOption(stages, forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
      container.persistentStoreDescriptions = [description]
      var failure: (any Error)?
      container.loadPersistentStores { failure = $1 }
      if let failure { throw failure }
      let context = container.newBackgroundContext()
      try context.performAndWait {
        let names = try birds(context).map { $0.value(forKey: "fullName") as? String }
        #expect(names == ["Parus major!", "Pica pica!"])
      }
      try close(container)
    }
    try open(four)
    #expect(calls == ["will weigh", "did true"])
    #expect(stages.container == nil)
    try open(four)
    #expect(calls.count == 2, "what is of the newest version needs no stage")
    // Back: the stages lead the other way.
    do {
      try open(Self.one())
      Issue.record("a store went back to an earlier version")
    } catch let error as NSError {
      #expect(error.code == NSStagedMigrationBackwardMigrationError)
    }
  }
}
