import CoreData
import Testing

/// What programs note in a store's metadata, in migrations by a mapping model, by Apple's names.
@Suite("Stories: metadata of mapping migrations")
struct MappingMetadataTests {
  private final class NotingPolicy: NSEntityMigrationPolicy {
    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
      let coordinator = try #require(manager.destinationContext.persistentStoreCoordinator)
      let store = try #require(coordinator.persistentStores.first)
      var metadata = coordinator.metadata(for: store)
      #expect(metadata["account"] as? String == "blue")
      metadata["step"] = 2
      coordinator.setMetadata(metadata, for: store)
    }
  }

  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("noted-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private static func model() -> NSManagedObjectModel {
    let name = NSAttributeDescription()
    name.name = "name"
    name.attributeType = .stringAttributeType
    name.isOptional = true
    let bird = NSEntityDescription()
    bird.name = "Bird"
    bird.properties = [name]
    let model = NSManagedObjectModel()
    model.entities = [bird]
    return model
  }

  /// A new store with one bird and these metadata.
  private func makeStore(_ name: String, noting notes: [String: Any]) throws -> URL {
    let url = folder.appendingPathComponent(name)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let bird = NSEntityDescription.insertNewObject(forEntityName: "Bird", into: context)
      bird.setValue(name, forKey: "name")
      coordinator.setMetadata(
        coordinator.metadata(for: store).merging(notes) { _, new in new }, for: store)
      try context.save()
    }
    try coordinator.remove(store)
    return url
  }

  private func metadata(_ url: URL) throws -> [String: Any] {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
  }

  private func migrate(
    _ source: URL, to destination: URL, policy: NSEntityMigrationPolicy.Type? = nil, isInferred: Bool = false
  ) throws {
    let (old, new) = (Self.model(), Self.model())
    let bird = NSEntityMapping()
    bird.name = "Bird"
    bird.mappingType = .copyEntityMappingType
    bird.sourceEntityName = "Bird"
    bird.destinationEntityName = "Bird"
    bird.policyClass = policy
    let made = NSMappingModel()
    made.entityMappings = [bird]
    let mappings =
      isInferred
      ? try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new) : made
    try NSMigrationManager(sourceModel: old, destinationModel: new).migrateStore(
      from: source, sourceType: NSSQLiteStoreType, with: mappings, toDestinationURL: destination,
      destinationType: NSSQLiteStoreType)
  }

  @Test("a new destination has the source's own metadata, and its own UUID", arguments: [false, true])
  func made(isInferred: Bool) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = try makeStore("Old.sqlite", noting: ["account": "blue", "step": 1])
    let destination = folder.appendingPathComponent("New.sqlite")
    try migrate(source, to: destination, isInferred: isInferred)
    let (before, after) = (try metadata(source), try metadata(destination))
    #expect(after["account"] as? String == "blue" && after["step"] as? Int == 1)
    #expect(before["account"] as? String == "blue")
    if !isInferred { #expect(after[NSStoreUUIDKey] as? String != before[NSStoreUUIDKey] as? String) }
  }

  @Test("rule 313: a destination that exists keeps its own values, and gets the others")
  func existing() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = try makeStore("Old.sqlite", noting: ["account": "blue", "step": 1])
    let destination = try makeStore("New.sqlite", noting: ["step": 7, "colour": "red"])
    let identifier = try metadata(destination)[NSStoreUUIDKey] as? String
    try migrate(source, to: destination)
    let after = try metadata(destination)
    #expect(after["account"] as? String == "blue" && after["step"] as? Int == 7)
    #expect(after["colour"] as? String == "red" && after[NSStoreUUIDKey] as? String == identifier)
  }

  @Test("rule 310: a policy sees them, and can change them")
  func changed() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = try makeStore("Old.sqlite", noting: ["account": "blue", "step": 1])
    let destination = folder.appendingPathComponent("New.sqlite")
    try migrate(source, to: destination, policy: NotingPolicy.self)
    let after = try metadata(destination)
    #expect(after["account"] as? String == "blue" && after["step"] as? Int == 2)
    #expect(try metadata(source)["step"] as? Int == 1)
  }
}
