import CoreData
import Testing

/// Numbers keep all their digits, whatever way a store is migrated.
@Suite("Stories: digits in migrations")
struct MigratedDigitTests {
  private let folder: URL
  private let url: URL
  private let there: URL

  private static let decimals = [
    "12345678901234567890.123456789", "99999999999999999999999999999999999999",
    "-0.00000000012345678901234567890123456789", "0.1",
  ]
  private static let integers: [Int64] = [.max, .min, (1 << 53) + 1, -(1 << 53) - 1]
  private static let floats: [Float] = [0.1, .greatestFiniteMagnitude, .leastNonzeroMagnitude, -16_777_217.5]
  private static let dates = [0.1, -62_000_000_000.123, 694_224_000.000_001, 1e-9].map(
    Date.init(timeIntervalSinceReferenceDate:))

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("digits-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Old.sqlite")
    there = folder.appendingPathComponent("New.sqlite")
  }

  /// - Parameters:
  ///   - note: Whether there is one attribute more.
  ///   - needsNote: Whether the objects that have none must have one.
  ///   - isRenamed: Whether the numbers have other names.
  private static func model(note: Bool = false, needsNote: Bool = false, isRenamed: Bool = false)
    -> NSManagedObjectModel
  {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.isOptional) = (name, type, true)
      if isRenamed, type != .stringAttributeType, name != "place" {
        attribute.name = "new_" + name
        attribute.renamingIdentifier = name
      }
      return attribute
    }
    let body = attribute("body", .stringAttributeType)
    if needsNote { (body.isOptional, body.defaultValue) = (false, "none") }
    let reading = NSEntityDescription()
    reading.name = "Reading"
    reading.properties = [
      attribute("place", .integer16AttributeType), attribute("amount", .decimalAttributeType),
      attribute("number", .integer64AttributeType), attribute("weight", .floatAttributeType),
      attribute("day", .dateAttributeType), body,
    ]
    if note { reading.properties.append(attribute("note", .stringAttributeType)) }
    let model = NSManagedObjectModel()
    model.entities = [reading]
    return model
  }

  private func open<R>(
    _ model: NSManagedObjectModel, _ url: URL, _ body: (NSManagedObjectContext) throws -> R
  ) throws -> R {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      ])
    defer { try? coordinator.remove(store) }
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait { try body(context) }
  }

  private func fill() throws {
    try open(Self.model(), url) { context in
      for place in 0..<4 {
        let reading = NSEntityDescription.insertNewObject(forEntityName: "Reading", into: context)
        reading.setValue(place, forKey: "place")
        reading.setValue(NSDecimalNumber(string: Self.decimals[place]), forKey: "amount")
        reading.setValue(Self.integers[place], forKey: "number")
        reading.setValue(Self.floats[place], forKey: "weight")
        reading.setValue(Self.dates[place], forKey: "day")
      }
      try context.save()
    }
  }

  private func expectAll(_ model: NSManagedObjectModel, _ url: URL, prefix: String = "") throws {
    try open(model, url) { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Reading")
      request.sortDescriptors = [NSSortDescriptor(key: "place", ascending: true)]
      let found = try context.fetch(request)
      #expect(found.count == 4)
      for (place, reading) in found.enumerated() {
        let amount = reading.value(forKey: prefix + "amount") as? NSDecimalNumber
        #expect(amount == NSDecimalNumber(string: Self.decimals[place]))
        #expect(reading.value(forKey: prefix + "number") as? Int64 == Self.integers[place])
        #expect(reading.value(forKey: prefix + "weight") as? Float == Self.floats[place])
        #expect(reading.value(forKey: prefix + "day") as? Date == Self.dates[place])
      }
    }
  }

  private func file() throws -> Int? {
    let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
    return (attributes[.systemFileNumber] as? NSNumber)?.intValue
  }

  @Test("Inferred: rows that stay as they are, and rows that are written anew", arguments: [true, false])
  func lightweight(isInPlace: Bool) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let before = try file()
    let model = Self.model(note: true, needsNote: !isInPlace)
    try expectAll(model, url)
    #expect(try (file() == before) == isInPlace)
    // Attributes with other names.
    try expectAll(Self.model(note: true, needsNote: !isInPlace, isRenamed: true), url, prefix: "new_")
  }

  @Test(
    "Mapping models: inferred ones, copies, and expressions",
    arguments: ["inferred", "copy", "expressions"])
  func mapped(kind: String) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let (old, new) = (Self.model(), Self.model(note: true, isRenamed: kind == "expressions"))
    var mappings = NSMappingModel()
    if kind == "inferred" {
      mappings = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    } else {
      let reading = NSEntityMapping()
      reading.name = "Reading"
      reading.mappingType = kind == "copy" ? .copyEntityMappingType : .transformEntityMappingType
      reading.sourceEntityName = "Reading"
      reading.destinationEntityName = "Reading"
      if kind == "expressions" {
        reading.attributeMappings = ["place", "amount", "number", "weight", "day"].map { name in
          let mapping = NSPropertyMapping()
          mapping.name = name == "place" ? name : "new_" + name
          mapping.valueExpression = NSExpression(format: "$source.\(name)")
          return mapping
        }
      }
      mappings.entityMappings = [reading]
    }
    try NSMigrationManager(sourceModel: old, destinationModel: new).migrateStore(
      from: url, sourceType: NSSQLiteStoreType, with: mappings, toDestinationURL: there,
      destinationType: NSSQLiteStoreType)
    try expectAll(new, there, prefix: kind == "expressions" ? "new_" : "")
  }
}
