import CoreData
import Testing

/// An attribute that becomes mandatory, as the documentation of `NSCustomMigrationStage` has it.
@Suite("Stories: an attribute becomes mandatory")
struct MandatoryMigrationTests {
  private let folder: URL
  private let url: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("mandatory-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Pets.sqlite")
  }

  private static func model(isOptional: Bool) -> NSManagedObjectModel {
    let pet = NSEntityDescription()
    pet.name = "Pet"
    pet.properties = [("name", true), ("feed", isOptional)].map { name, isOptional in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = .stringAttributeType
      attribute.isOptional = isOptional
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [pet]
    return model
  }

  /// Opens the store, and does something with its pets, by name.
  private func open<R>(
    isOptional: Bool, _ options: [AnyHashable: Any]? = nil, _ body: (NSManagedObjectContext) throws -> R
  ) throws -> R {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model(isOptional: isOptional))
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
    defer { try? coordinator.remove(store) }
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait { try body(context) }
  }

  private static func pets(_ context: NSManagedObjectContext) throws -> [NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Pet")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return try context.fetch(request)
  }

  private func fill(_ feeds: [String?]) throws {
    try open(isOptional: true) { context in
      for (number, feed) in feeds.enumerated() {
        let pet = NSEntityDescription.insertNewObject(forEntityName: "Pet", into: context)
        pet.setValue("\(number)", forKey: "name")
        pet.setValue(feed, forKey: "feed")
      }
      try context.save()
    }
  }

  @Test("rule 314: the handler before the step fills what is nil")
  func filled() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill([nil, "am"])
    let (old, new) = (Self.model(isOptional: true), Self.model(isOptional: false))
    let stage = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(model: old, versionChecksum: old.versionChecksum),
      to: NSManagedObjectModelReference(model: new, versionChecksum: new.versionChecksum))
    stage.willMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for pet in try Self.pets(context) where pet.value(forKey: "feed") == nil {
          pet.setValue("both", forKey: "feed")
        }
        try context.save()
      }
    }
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager([stage]),
    ]
    let feeds = try open(isOptional: false, options) { context in
      try Self.pets(context).map { $0.value(forKey: "feed") as? String }
    }
    #expect(feeds == ["both", "am"])
  }

  @Test("rules 307, 309: without a handler the rows decide; the error is 134110 with entity and attribute")
  func rowsDecide() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill([nil, "am"])
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    ]
    do {
      try open(isOptional: false, options) { _ in }
      Issue.record("a pet without a feed was migrated")
    } catch let error as NSError {
      #expect(error.domain == NSCocoaErrorDomain && error.code == NSMigrationError)
      #expect(error.userInfo["entity"] as? String == "Pet")
      #expect(error.userInfo["attribute"] as? String == "feed")
      #expect(error.localizedDescription.contains("Pet.feed becomes mandatory"))
    }
    try open(isOptional: true) { context in
      for pet in try Self.pets(context) { pet.setValue("pm", forKey: "feed") }
      try context.save()
    }
    let feeds = try open(isOptional: false, options) { context in
      try Self.pets(context).map { $0.value(forKey: "feed") as? String }
    }
    #expect(feeds == ["pm", "pm"])
  }
}
