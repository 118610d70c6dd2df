import CoreData
import Testing

/// Default values of transformable attributes: objects of the transformed class.
@Suite("Default values of transformable attributes")
struct TransformableDefaultTests {
  final class Colour: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    let hue: Int
    init(_ hue: Int) { self.hue = hue }
    init?(coder: NSCoder) { hue = coder.decodeInteger(forKey: "hue") }
    func encode(with coder: NSCoder) { coder.encode(hue, forKey: "hue") }
    override func isEqual(_ object: Any?) -> Bool { (object as? Colour)?.hue == hue }
    override var hash: Int { hue }
  }

  /// Bytes of one letter; refuses a hue beyond 255.
  final class ColourTransformer: ValueTransformer {
    override func transformedValue(_ value: Any?) -> Any? {
      (value as? Colour).flatMap { UInt8(exactly: $0.hue) }.map { Data([$0]) }
    }
    override func reverseTransformedValue(_ value: Any?) -> Any? {
      (value as? Data)?.first.map { Colour(Int($0)) }
    }
  }

  private static let name: NSValueTransformerName = {
    let name = NSValueTransformerName("DefaultColourTransformer")
    ValueTransformer.setValueTransformer(ColourTransformer(), forName: name)
    return name
  }()

  private static func add(_ key: String, _ value: Any?, to model: NSManagedObjectModel, isPlain: Bool = false)
  {
    let attribute = NSAttributeDescription()
    attribute.name = key
    attribute.attributeType = .transformableAttributeType
    if !isPlain { attribute.valueTransformerName = name.rawValue }
    attribute.defaultValue = value
    model.entitiesByName["Bird"]?.properties.append(attribute)
  }

  @Test("A new object has the default value, which is saved, found elsewhere and no change of its own")
  func insertion() throws {
    let stand = try BirdStand { model in
      Self.add("plumage", Colour(7), to: model)
      Self.add("calls", ["chirp", "tweet"], to: model, isPlain: true)
    }
    let context = stand.context()
    let bird = BirdStand.bird("wren", 1, 1, nil, context)
    #expect(bird.value(forKey: "plumage") as? Colour == Colour(7))
    #expect(bird.value(forKey: "calls") as? [String] == ["chirp", "tweet"])
    #expect(bird.entity.attributesByName["plumage"]?.defaultValue as? Colour == Colour(7))
    let bare = BirdStand.bird("gull", 1, 1, nil, context)
    bare.setValue(nil, forKey: "plumage")
    try context.save()
    let other = stand.context()
    let found = try #require(try other.existingObject(with: bird.objectID) as? Bird)
    #expect(found.value(forKey: "plumage") as? Colour == Colour(7))
    #expect(found.value(forKey: "calls") as? [String] == ["chirp", "tweet"])
    #expect(try other.existingObject(with: bare.objectID).value(forKey: "plumage") == nil)
    let insert = NSBatchInsertRequest(entityName: "Bird", objects: [["name": "swan"]])
    try context.execute(insert)
    let swan = try context.fetch(Bird.fetchRequest() as NSFetchRequest<Bird>).first { $0.name == "swan" }
    #expect(swan?.value(forKey: "plumage") as? Colour == Colour(7))
  }

  @Test("A default value is not part of version hashes, and each object has its own instance")
  func hashes() throws {
    func hash(_ value: Any?) throws -> Data {
      let model = BirdStand.model()
      Self.add("plumage", value, to: model)
      return try #require(model.entityVersionHashesByName["Bird"])
    }
    #expect(try hash(nil) == hash(Colour(1)))
    #expect(try hash(Colour(2)) == hash(Colour(1)))
    let stand = try BirdStand { Self.add("plumage", Colour(7), to: $0) }
    let context = stand.context()
    let (one, two) = (Bird(context: context), Bird(context: context))
    #expect(one.value(forKey: "plumage") as? Colour !== two.value(forKey: "plumage") as? Colour)
  }

  @Test("A default value that the transformer refuses is found when the model is taken into use")
  func refused() throws {
    let error = #expect(throws: (any Error).self) {
      _ = try BirdStand { Self.add("plumage", Colour(1000), to: $0) }
    }
    #expect("\(String(describing: error))".contains("Bird.plumage"))
  }

  @Test("Lightweight migration gives old records the default value of a mandatory attribute that is new")
  func migration() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "defaults-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("Birds.store")
    func context(_ model: NSManagedObjectModel) throws -> NSManagedObjectContext {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        ])
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      return context
    }
    func close(_ context: NSManagedObjectContext) throws {
      for store in context.persistentStoreCoordinator?.persistentStores ?? [] {
        try context.persistentStoreCoordinator?.remove(store)
      }
    }
    let old = try context(BirdStand.model())
    BirdStand.bird("wren", 1, 1, nil, old)
    try old.save()
    try close(old)
    let model = BirdStand.model()
    Self.add("plumage", Colour(9), to: model)
    model.entitiesByName["Bird"]?.attributesByName["plumage"]?.isOptional = false
    let new = try context(model)
    let bird = try #require(try new.fetch(Bird.fetchRequest() as NSFetchRequest<Bird>).first)
    #expect(bird.value(forKey: "plumage") as? Colour == Colour(9))
    try close(new)
  }
}
