import Foundation
import Strata
import Testing

/// Values that objects must have from one version of a model on, and that no default value gives them (rules 307, 309).
struct NeededValueTests {
  let stand: MigrationStand

  init() throws { stand = try MigrationStand() }

  /// Pets, dogs among them, and labels.
  private static func model(feedIsOptional: Bool? = true, tagIsThere: Bool = false) -> ManagedObjectModel {
    var properties = [AttributeDescription("name", .string)]
    if let feedIsOptional {
      properties.append(AttributeDescription("feed", .string, isOptional: feedIsOptional))
    }
    let pet = EntityDescription("Pet", properties: properties)
    let dog = EntityDescription("Dog", properties: [AttributeDescription("trick", .string)])
    pet.subentities = [dog]
    var label = [AttributeDescription("text", .string)]
    if tagIsThere { label.append(AttributeDescription("tag", .integer64, isOptional: false)) }
    return ManagedObjectModel(entities: [pet, dog, EntityDescription("Label", properties: label)])
  }

  private func fill(_ feeds: [(entity: String, feed: String?)]) throws {
    let context = try stand.open(Self.model())
    try context.performAndWait {
      for (place, pet) in feeds.enumerated() {
        let object = context.newObject(pet.entity, ["name": "\(place)"])
        if let feed = pet.feed { object.setValue(feed, forKey: "feed") }
      }
      try context.save()
    }
    try stand.close()
  }

  private func feeds(_ model: ManagedObjectModel) throws -> [String?] {
    let context = try stand.open(model)
    defer { try? stand.close() }
    return try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Pet", sortDescriptors: [FetchSort("name")]))
        .map { $0.textValue("feed") }
    }
  }

  @Test("rule 307: an attribute becomes mandatory without a default value where no row lacks a value")
  func nothingIsMissing() throws {
    try fill([("Pet", "am"), ("Dog", "pm")])
    let new = Self.model(feedIsOptional: false)
    #expect(try feeds(new) == ["am", "pm"])
    let context = try stand.open(Self.model(feedIsOptional: false))
    context.performAndWait {
      context.newObject("Pet", ["name": "late"])
      #expect(throws: CoreDataError.self) { try context.save() }
    }
    #expect(try stand.problems() == [])
    try stand.close()
  }

  @Test("rule 309: rows that lack the value are 134110 with attribute, number and first object")
  func somethingIsMissing() throws {
    try fill([("Pet", "am"), ("Dog", nil), ("Dog", nil)])
    let error = #expect(throws: CoreDataError.self) { try stand.open(Self.model(feedIsOptional: false)) }
    #expect(error?.code == .migration)
    let reasons = error?.userInfo[InferredMappingModel.reasonsKey] as? [String] ?? []
    #expect(reasons.count == 1)
    let sentence =
      "Pet.feed becomes mandatory, and has no default value: 2 objects have none, the first is Dog/p"
    #expect(reasons.first?.hasPrefix(sentence) == true, "\(reasons)")
    #expect(error?.userInfo["attribute"] as? String == "feed")
    #expect(error?.userInfo["entity"] as? String == "Dog")
    #expect(try stand.files() == ["Shop.strata", "Shop.strata-lock"])
    #expect(try feeds(Self.model()) == ["am", nil, nil])
  }

  @Test("rule 307: a mandatory attribute comes without a default value to an entity without objects")
  func nobodyIsThere() throws {
    try fill([("Pet", "am")])
    let context = try stand.open(Self.model(tagIsThere: true))
    try context.performAndWait {
      context.newObject("Label", ["text": "a", "tag": Int64(1)])
      try context.save()
    }
    try stand.close()
    // The same where there is one.
    let other = try MigrationStand()
    let labels = try other.open(Self.model())
    try labels.performAndWait {
      labels.newObject("Label", ["text": "a"])
      try labels.save()
    }
    let error = #expect(throws: CoreDataError.self) { try other.open(Self.model(tagIsThere: true)) }
    #expect(error?.code == .migration)
    #expect(error?.description.contains("Label.tag is new and mandatory") == true)
    #expect(error?.description.contains("1 object has none, Label/p") == true)
  }

  @Test("rule 307: models alone tell that rows may lack a value; a mapping model is made all the same")
  func withoutAStore() throws {
    let (old, new) = (Self.model(), Self.model(feedIsOptional: false))
    let error = #expect(throws: CoreDataError.self) { try InferredMappingModel(from: old, to: new) }
    #expect(error?.code == .inferredMappingModel)
    let mappings = try MappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    for (feed, isFast) in [("am", true), ("am", false), (nil, true), (nil, false)] as [(String?, Bool)] {
      let from = try MigrationStand()
      let context = try from.open(Self.model())
      try context.performAndWait {
        context.newObject("Dog", feed.map { ["name": "a", "feed": $0] } ?? ["name": "a"])
        try context.save()
      }
      try from.close()
      let manager = MigrationManager(sourceModel: Self.model(), destinationModel: new)
      manager.usesStoreSpecificMigrationManager = isFast
      let later = from.folder.url.appendingPathComponent("Later.strata")
      func migrate() throws {
        try manager.migrateStore(
          from: PersistentStoreDescription(url: from.url), with: mappings,
          to: PersistentStoreDescription(url: later))
      }
      if feed == nil {
        #expect(throws: CoreDataError.self) { try migrate() }
      } else {
        try migrate()
      }
      #expect(FileManager.default.fileExists(atPath: later.path) == (feed != nil))
    }
  }

  @Test("rule 307: an element is needed where there is what it is part of")
  func elements() throws {
    func spot(_ isMandatory: Bool, placeIsOptional: Bool = true) -> ManagedObjectModel {
      let elements = [
        AttributeDescription("x", .double), AttributeDescription("y", .double, isOptional: !isMandatory),
      ]
      return ManagedObjectModel(entities: [
        EntityDescription(
          "Spot",
          properties: [
            AttributeDescription("name", .string),
            CompositeAttributeDescription("place", elements: elements, isOptional: placeIsOptional),
          ])
      ])
    }
    func open(_ places: [[String: Double]?], _ model: ManagedObjectModel) throws -> [String] {
      let stand = try MigrationStand()
      let context = try stand.open(spot(false))
      try context.performAndWait {
        for (number, place) in places.enumerated() {
          context.newObject("Spot", ["name": "\(number)"]).setValue(place, forKey: "place")
        }
        try context.save()
      }
      do {
        let migrated = try stand.open(model)
        try migrated.performAndWait { () throws in
          #expect(
            try migrated.objectsByName("Spot").mapValues { $0.value(forKey: "place") as? [String: Double] }
              == Dictionary(uniqueKeysWithValues: places.enumerated().map { ("\($0)", $1) }))
        }
        try stand.close()
        return []
      } catch let error as CoreDataError where error.code == .migration {
        return error.userInfo[InferredMappingModel.reasonsKey] as? [String] ?? []
      }
    }
    #expect(try open([["x": 1, "y": 2], nil], spot(true)) == [])
    let end = " becomes mandatory, and has no default value: 1 object has none, Spot/p"
    let missing = try open([["x": 1], nil, ["x": 1, "y": 2]], spot(true))
    #expect(missing.count == 1 && missing[0].hasPrefix("Spot.place.y" + end), "\(missing)")
    #expect(try open([["x": 1]], spot(false, placeIsOptional: false)) == [])
    let none = try open([["x": 1], nil], spot(false, placeIsOptional: false))
    #expect(none.count == 1 && none[0].hasPrefix("Spot.place" + end), "\(none)")
  }
}
