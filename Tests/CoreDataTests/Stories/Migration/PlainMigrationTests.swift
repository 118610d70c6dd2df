import CoreData
import Testing

/// A class that migrations must not use: its values are those of the newest model.
private final class Finch: NSManagedObject {
  override func awakeFromInsert() {
    super.awakeFromInsert()
    setPrimitiveValue("from the class", forKey: "name")
  }
  override func validateForInsert() throws { throw CocoaError(.validationMissingMandatoryProperty) }
}

/// What mapping migrations hand over, how they are cancelled, and when mappings are the same.
@Suite("Stories: mapping migrations, their objects and their equality")
struct PlainMigrationTests {
  private let folder: URL
  private let url: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("plain-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Birds.sqlite")
  }

  private static func model(_ names: String..., type: NSManagedObject.Type? = nil) -> NSManagedObjectModel {
    let bird = NSEntityDescription()
    bird.name = "Bird"
    bird.properties = names.map { name in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = .stringAttributeType
      return attribute
    }
    if let type { bird.managedObjectClass = type }
    let model = NSManagedObjectModel()
    model.entities = [bird]
    return model
  }

  private func open<R>(
    _ model: NSManagedObjectModel, _ url: URL, _ body: (NSManagedObjectContext) throws -> R
  )
    throws -> R
  {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    defer { try? coordinator.remove(store) }
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait { try body(context) }
  }

  private func fill() throws {
    try open(Self.model("name"), url) { context in
      NSEntityDescription.insertNewObject(forEntityName: "Bird", into: context).setValue(
        "Pica", forKey: "name")
      try context.save()
    }
  }

  /// Looks at what it is given.
  private final class LookingPolicy: NSEntityMigrationPolicy {
    nonisolated(unsafe) static var seen: [String] = []  // One test uses it, on one thread.

    override func createDestinationInstances(
      forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      Self.seen.append("\(type(of: sInstance) == NSManagedObject.self)")
      try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
      let made = manager.destinationInstances(
        forEntityMappingName: mapping.name, sourceInstances: [sInstance])
      Self.seen += made.map { "\(type(of: $0) == NSManagedObject.self)" }
      Self.seen.append("\(made.first?.entity === manager.destinationEntity(for: mapping))")
      let entity = NSEntityDescription.entity(forEntityName: "Bird", in: manager.destinationContext)
      let other = NSManagedObject(entity: try #require(entity), insertInto: manager.destinationContext)
      other.setValue("second", forKey: "name")
      Self.seen.append("\(type(of: other) == NSManagedObject.self)")
    }
  }

  @Test(
    "rule 310: objects of mapping migrations are plain managed objects, whatever classes the entities have")
  func plainObjects() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let there = folder.appendingPathComponent("New.sqlite")
    let (old, new) = (Self.model("name", type: Finch.self), Self.model("name", "song", type: Finch.self))
    let mapping = NSEntityMapping()
    mapping.name = "Bird"
    mapping.mappingType = .copyEntityMappingType
    mapping.sourceEntityName = "Bird"
    mapping.destinationEntityName = "Bird"
    mapping.policyClass = LookingPolicy.self
    LookingPolicy.seen = []
    let manager = NSMigrationManager(sourceModel: old, destinationModel: new)
    let mappings = NSMappingModel()
    mappings.entityMappings = [mapping]
    try manager.migrateStore(
      from: url, sourceType: NSSQLiteStoreType, with: mappings, toDestinationURL: there,
      destinationType: NSSQLiteStoreType)
    #expect(LookingPolicy.seen == ["true", "true", "true", "true"])
    let names = try open(Self.model("name", "song"), there) { context in
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Bird")).compactMap {
        $0.value(forKey: "name") as? String
      }.sorted()
    }
    #expect(names == ["Pica", "second"])
    // The classes are the models' as before.
    let kind = try open(new, there) { context in
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Bird")).allSatisfy { $0 is Finch }
    }
    #expect(kind)
  }

  private struct Refusal: Error, Equatable { let reason: String }

  private final class CancellingPolicy: NSEntityMigrationPolicy {
    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
      manager.cancelMigrationWithError(Refusal(reason: "too late"))
    }
  }

  @Test("rule 309: cancelMigrationWithError(_:) makes the migration throw that error")
  func cancelled() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let there = folder.appendingPathComponent("New.sqlite")
    let mapping = NSEntityMapping()
    mapping.name = "Bird"
    mapping.mappingType = .copyEntityMappingType
    mapping.sourceEntityName = "Bird"
    mapping.destinationEntityName = "Bird"
    mapping.policyClass = CancellingPolicy.self
    let mappings = NSMappingModel()
    mappings.entityMappings = [mapping]
    let manager = NSMigrationManager(
      sourceModel: Self.model("name"), destinationModel: Self.model("name", "song"))
    #expect(throws: Refusal(reason: "too late")) {
      try manager.migrateStore(
        from: url, sourceType: NSSQLiteStoreType, with: mappings, toDestinationURL: there,
        destinationType: NSSQLiteStoreType)
    }
    #expect(!FileManager.default.fileExists(atPath: there.path))
  }

  /// Notes the types that it is asked to migrate.
  private final class NotingManager: NSMigrationManager {
    var types: [String] = []

    override func migrateStore(
      from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil,
      with mappings: NSMappingModel?, toDestinationURL dURL: URL, destinationType dStoreType: String,
      destinationOptions dOptions: [AnyHashable: Any]? = nil
    ) throws {
      types += [sStoreType, dStoreType]
      try super.migrateStore(
        from: sourceURL, sourceType: sStoreType, options: sOptions, with: mappings, toDestinationURL: dURL,
        destinationType: dStoreType, destinationOptions: dOptions)
    }
  }

  /// Has models of its own.
  private final class ModelledManager: NSMigrationManager {
    private let (old, new) = (PlainMigrationTests.model("name"), PlainMigrationTests.model("name", "song"))

    override init() { super.init() }
    override var sourceModel: NSManagedObjectModel { old }
    override var destinationModel: NSManagedObjectModel { new }
    override var migrationProgress: Float { 0.5 }
  }

  @Test("A subclass of the manager may override the method that migrates, and the models")
  func subclasses() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let mappings = Self.copying()
    let new = Self.model("name", "song")
    func names(_ url: URL) throws -> [String] {
      try open(new, url) { context in
        try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Bird")).compactMap {
          $0.value(forKey: "name") as? String
        }
      }
    }
    let manager = NotingManager(sourceModel: Self.model("name"), destinationModel: new)
    let (first, second) = (
      folder.appendingPathComponent("First.sqlite"), folder.appendingPathComponent("Second.sqlite")
    )
    try manager.migrateStore(from: url, type: .sqlite, mapping: mappings, to: first, type: .sqlite)
    #expect(manager.types == [NSSQLiteStoreType, NSSQLiteStoreType])
    #expect(try names(first) == ["Pica"])
    let error = #expect(throws: CocoaError.self) {
      try manager.migrateStore(
        from: url, sourceType: NSSQLiteStoreType, with: nil, toDestinationURL: second,
        destinationType: NSSQLiteStoreType)
    }
    #expect(error?.code.rawValue == 134_140)

    let modelled = ModelledManager()
    #expect(modelled.migrationProgress == 0.5)
    try modelled.migrateStore(
      from: url, sourceType: NSSQLiteStoreType, with: mappings, toDestinationURL: second,
      destinationType: NSSQLiteStoreType)
    #expect(try names(second) == ["Pica"])
  }

  @Test("mapping models, entity mappings and property mappings are equal by value")
  func equality() throws {
    func inferred() throws -> NSMappingModel {
      try NSMappingModel.inferredMappingModel(
        forSourceModel: Self.model("name"), destinationModel: Self.model("name", "song"))
    }
    let (first, second) = (try inferred(), try inferred())
    #expect(first == second && first.hash == second.hash)
    #expect(first.isEqual(second.copy()))
    #expect(first.entityMappings == second.entityMappings)
    second.entityMappings[0].attributeMappings?[0].name = "song"
    #expect(first != second)

    func property(_ format: String) -> NSPropertyMapping {
      let mapping = NSPropertyMapping()
      mapping.name = "song"
      mapping.valueExpression = NSExpression(format: format)
      return mapping
    }
    #expect(property("$source.name") == property("$source.name"))
    #expect(property("$source.name").hash == property("$source.name").hash)
    #expect(property("$source.name") != property("$source.song"))
    // However it is spelled.
    #expect(property("$source.name") == NSPropertyMapping("song", from: "name"))
    #expect(NSPropertyMapping("song", from: "name") == property("$source.name"))
    // Code equals itself only.
    let code = NSPropertyMapping("song") { _ in "la" }
    #expect(code == code && code != NSPropertyMapping("song") { _ in "la" })
    let noted = property("$source.name")
    noted.userInfo = ["a": 1]
    #expect(noted != property("$source.name"))

    func entity(_ change: (NSEntityMapping) -> Void = { _ in }) -> NSEntityMapping {
      let mapping = NSEntityMapping()
      mapping.name = "Bird"
      mapping.mappingType = .transformEntityMappingType
      mapping.sourceEntityName = "Bird"
      mapping.destinationEntityName = "Bird"
      mapping.attributeMappings = [property("$source.name")]
      mapping.sourceExpression = NSExpression(format: "$source")
      change(mapping)
      return mapping
    }
    #expect(entity() == entity() && entity().hash == entity().hash)
    #expect(entity() != entity { $0.mappingType = .customEntityMappingType })
    #expect(entity() != entity { $0.sourceEntityVersionHash = Data([1]) })
    #expect(entity() != entity { $0.relationshipMappings = [] })
    #expect(entity() != entity { $0.entityMigrationPolicyClassName = "Some.Policy" })
    #expect(entity() != entity { $0.policyClass = LookingPolicy.self })
    #expect(entity() != entity { $0.sourceExpression = nil })
    #expect(Set([entity(), entity(), entity { $0.name = "other" }]).count == 2)
  }

  @Test("An entity mapping without a name has one of its entities' names, also for its associations")
  func namelessMappings() throws {
    let mapping = NSEntityMapping()
    mapping.sourceEntityName = "Bird"
    mapping.destinationEntityName = "Owl"
    #expect(mapping.name == "Bird->Owl")
    let copy = try #require(mapping.copy() as? NSEntityMapping)
    #expect(copy == mapping && copy.name == "Bird->Owl")
    copy.destinationEntityName = "Hawk"
    #expect(copy.name == "Bird->Hawk" && copy != mapping)
    copy.name = "own"
    copy.destinationEntityName = "Owl"
    #expect(copy.name == "own" && copy != mapping)
    copy.name = nil
    #expect(copy.name == "Bird->Owl" && copy == mapping && copy.hash == mapping.hash)
    let removal = NSEntityMapping()
    removal.sourceEntityName = "Bird"
    let model = NSMappingModel()
    model.entityMappings = [mapping, removal]
    #expect(Set(model.entityMappingsByName.keys) == ["Bird->Owl", "Bird->"])
  }

  // MARK: Cancelled early

  private static func copying() -> NSMappingModel {
    let mapping = NSEntityMapping()
    mapping.name = "Bird"
    mapping.mappingType = .copyEntityMappingType
    mapping.sourceEntityName = "Bird"
    mapping.destinationEntityName = "Bird"
    let mappings = NSMappingModel()
    mappings.entityMappings = [mapping]
    return mappings
  }

  private static func inferred() throws -> NSMappingModel {
    try NSMappingModel.inferredMappingModel(
      forSourceModel: model("name"), destinationModel: model("name", "song"))
  }

  /// Migrates the filled store to a new one. It throws `refusal`, and the folder has the files that it had.
  private func expectCancelled(_ manager: NSMigrationManager, _ mappings: NSMappingModel, _ refusal: Refusal)
    throws
  {
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(throws: refusal) {
      try manager.migrateStore(
        from: url, sourceType: NSSQLiteStoreType, with: mappings,
        toDestinationURL: folder.appendingPathComponent("New.sqlite"), destinationType: NSSQLiteStoreType)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == before)
  }

  @Test(
    "rule 309: cancelled before it begins, a migration throws that error and makes no file",
    arguments: [true, false])
  func cancelledBefore(isInferred: Bool) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let manager = NSMigrationManager(
      sourceModel: Self.model("name"), destinationModel: Self.model("name", "song"))
    manager.cancelMigrationWithError(Refusal(reason: "too early"))
    let mappings = isInferred ? try Self.inferred() : Self.copying()
    try expectCancelled(manager, mappings, Refusal(reason: "too early"))
    // Reset, it migrates.
    manager.reset()
    let there = folder.appendingPathComponent("New.sqlite")
    try manager.migrateStore(
      from: url, sourceType: NSSQLiteStoreType, with: mappings, toDestinationURL: there,
      destinationType: NSSQLiteStoreType)
    let count = try open(Self.model("name", "song"), there) {
      try $0.count(for: NSFetchRequest<NSManagedObject>(entityName: "Bird"))
    }
    #expect(count == 1)
  }

  /// Cancels when it is asked for its model the second time.
  private final class HesitatingManager: NSMigrationManager {
    var asked = 0

    override var destinationModel: NSManagedObjectModel {
      asked += 1
      if asked == 2 { cancelMigrationWithError(Refusal(reason: "on second thoughts")) }
      return super.destinationModel
    }
  }

  @Test("rule 309: cancelled while it infers, a migration throws that error and leaves no file")
  func cancelledMeanwhile() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let manager = HesitatingManager(
      sourceModel: Self.model("name"), destinationModel: Self.model("name", "song"))
    let mappings = try Self.inferred()
    manager.asked = 0
    try expectCancelled(manager, mappings, Refusal(reason: "on second thoughts"))
    #expect(manager.asked >= 2)
  }
}
