import CoreData
import Testing

/// Code that migrates step by step looks for the model of a store among those that it has read itself.
@Suite("Models, entities and properties are equal by version")
struct ModelEqualityTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("equal-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  /// Writes one version into `Birds.xcdatamodeld`.
  private func write(_ version: String, _ attributes: [String]) throws {
    let url = folder.appendingPathComponent("Birds.xcdatamodeld/\(version).xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let lines = attributes.map { "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>" }
    let text = """
      <model type="com.apple.IDECoreDataModeler.DataModel">
        <entity name="Bird" syncable="YES">\(lines.joined())</entity>
      </model>
      """
    try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
  }

  private func read(_ version: String) throws -> NSManagedObjectModel {
    let url = folder.appendingPathComponent("Birds.momd/\(version).mom")
    return try #require(NSManagedObjectModel(contentsOf: url))
  }

  @Test("The model that is merged for a store is equal to the version that was read from its file")
  func versions() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try write("Birds", ["name"])
    try write("Birds 2", ["name", "song"])
    try write("Birds 3", ["name", "song", "nest"])
    let all = try ["Birds", "Birds 2", "Birds 3"].map { try read($0) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try read("Birds 2"))
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("Birds.sqlite"))
    let metadata = coordinator.metadata(for: store)
    try coordinator.remove(store)
    let bundle = try #require(Bundle(url: folder))
    let found = try #require(NSManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: metadata))
    #expect(all.firstIndex(of: found) == 1)
    #expect(found.isEqual(all[1]) && !found.isEqual(all[0]) && !found.isEqual(all[2]))
    #expect(try all.firstIndex(of: read("Birds 3")) == 2)
    #expect(found.copy() as? NSManagedObjectModel == found && found.hash == all[1].hash)
    #expect(!found.isEqual("Birds 2"))
  }

  @Test("What is no part of a version does not count; types, names and configurations do")
  func differences() throws {
    func model(_ change: (NSManagedObjectModel, NSEntityDescription) throws -> Void) throws
      -> NSManagedObjectModel
    {
      let model = BirdStand.model()
      try change(model, #require(model.entitiesByName["Bird"]))
      return model
    }
    let plain = BirdStand.model()
    let same = try model { model, bird in
      bird.attributesByName["tally"]?.defaultValue = 3
      bird.userInfo = ["kind": "animal"]
      model.versionIdentifiers = ["2"]
      model.entities = model.entities.reversed()
    }
    #expect(plain == same && Set([plain, same]).count == 1)
    let others = [
      try model { $1.attributesByName["tally"]?.attributeType = .stringAttributeType },
      try model { $1.name = "Fowl" },
      try model { $1.versionHashModifier = "2" },
      try model { model, bird in model.setEntities([bird], forConfigurationName: "Birds") },
      try model { model, bird in model.entities = [bird] },
      NSManagedObjectModel(),
    ]
    for other in others { #expect(plain != other) }
    #expect(Set(others).count == others.count)
  }

  @Test("A model in a dictionary is found there after it was changed")
  func key() throws {
    let model = BirdStand.model()
    let titles = [model: "birds"]
    let nest = NSEntityDescription()
    nest.name = "Nest"
    model.entities.append(nest)
    #expect(titles[model] == "birds" && titles[BirdStand.model()] == nil)
  }

  @Test("Entities and properties of equal models are equal; those of the same name in another entity are not")
  func descriptions() throws {
    let (one, other) = (BirdStand.model(), BirdStand.model())
    let (first, second) = (
      try #require(one.entitiesByName["Bird"]), try #require(other.entitiesByName["Bird"])
    )
    let site = try #require(one.entitiesByName["Site"])
    #expect(first == second && first.hash == second.hash && first != site)
    for (name, property) in first.propertiesByName {
      let other = second.propertiesByName[name]
      #expect(property == other && property.hash == other?.hash)
    }
    #expect(first.attributesByName["name"] != site.attributesByName["name"])
    #expect(Set(first.properties + second.properties).count == first.properties.count)
    second.attributesByName["tally"]?.isOptional = false
    #expect(first != second && first.attributesByName["tally"] != second.attributesByName["tally"])
    #expect(first.attributesByName["name"] == second.attributesByName["name"])
    // No version says what these two are.
    let heavy = try #require(site.propertiesByName["heavyBirds"])
    #expect(heavy == heavy && heavy != other.entitiesByName["Site"]?.propertiesByName["heavyBirds"])
    let (count, sum) = (NSExpressionDescription(), NSExpressionDescription())
    #expect(count != sum)
  }

  private func element(
    _ name: String = "name", _ change: (NSFetchIndexElementDescription) -> Void = { _ in }
  ) throws -> NSFetchIndexElementDescription {
    let bird = try #require(BirdStand.model().entitiesByName["Bird"])
    let attribute = try #require(bird.attributesByName[name])
    let element = NSFetchIndexElementDescription(property: attribute, collationType: .binary)
    change(element)
    return element
  }

  @Test("Indexes and their elements are equal by value, in whatever entity and model")
  func indexes() throws {
    func index(
      _ elements: [NSFetchIndexElementDescription], _ predicate: String? = nil, name: String = "byName"
    )
      -> NSFetchIndexDescription
    {
      let index = NSFetchIndexDescription(name: name, elements: elements)
      if let predicate { index.partialIndexPredicate = NSPredicate(format: predicate) }
      return index
    }
    #expect(try element() == element() && element().hash == element().hash)
    #expect(try element() != element("tally") && element() != element { $0.isAscending = false })
    #expect(try element("tally") != element("tally") { $0.collationType = .rTree })
    let plain = try index([element(), element("tally")])
    let same = try index([element(), element("tally")])
    #expect(
      plain == same && Set([plain, same]).count == 1 && plain.copy() as? NSFetchIndexDescription == plain)
    let others = try [
      index([element(), element("tally")], name: "other"), index([element("tally"), element()]),
      index([element()]), index([element(), element("tally")], "tally > 3"),
      index([element(), element("tally")], "tally > 4"), index([element { $0.isAscending = false }]),
    ]
    for (place, other) in others.enumerated() {
      #expect(plain != other && others.firstIndex(of: other) == place && !other.isEqual("byName"))
    }
    #expect(try others[3] == index([element(), element("tally")], "tally > 3"))
    // What entities have, in a model and in its copy.
    let model = BirdStand.model()
    model.entitiesByName["Bird"]?.indexes = [plain]
    let copy = try #require(model.copy() as? NSManagedObjectModel)
    #expect(copy.entitiesByName["Bird"]?.indexes == [plain] && plain.entity != nil && same == plain)
  }
}
