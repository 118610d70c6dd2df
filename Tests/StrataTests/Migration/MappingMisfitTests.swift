import Foundation
import Strata
import Testing

/// Mapping models that speak of what is not there, or make what does not fit (rules 309, 310).
struct MappingMisfitTests {
  let stand: MigrationStand
  let there: URL

  init() throws {
    stand = try MigrationStand()
    there = stand.folder.url.appendingPathComponent("New.strata")
    let context = try stand.open(LightweightMigrationTests.first())
    try context.performAndWait {
      let ann = context.newObject("Author", ["name": "Ann"])
      let book = context.newObject("Book", ["name": "a", "pages": 3])
      ann.setValue([book], forKey: "books")
      try context.save()
    }
    try stand.close()
  }

  private func migrate(_ mappings: [EntityMapping]) throws { try stand.migrate(mappings, to: there) }

  private let authors = EntityMapping("authors", from: "Author", to: "Author", type: .copy)

  /// 134110 with the words, no destination, and the source as it was.
  private func refuse(
    _ mapping: EntityMapping, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let before = try Data(contentsOf: stand.url)
    let error = #expect(throws: CoreDataError.self, sourceLocation: sourceLocation) {
      try migrate([authors, mapping])
    }
    #expect(error?.code == .migration, "\(String(describing: error))", sourceLocation: sourceLocation)
    for word in words {
      #expect(
        error?.description.contains(word) == true, "\(String(describing: error))",
        sourceLocation: sourceLocation)
    }
    #expect(!FileManager.default.fileExists(atPath: there.path), sourceLocation: sourceLocation)
    #expect(try Data(contentsOf: stand.url) == before, sourceLocation: sourceLocation)
  }

  private func books(_ attribute: PropertyMapping) -> EntityMapping {
    EntityMapping("books", from: "Book", to: "Book", attributes: [attribute], relationships: [])
  }

  private func related(_ relationship: PropertyMapping) -> EntityMapping {
    EntityMapping("books", from: "Book", to: "Book", attributes: [], relationships: [relationship])
  }

  @Test("rules 309, 310: key paths that lead nowhere")
  func keyPaths() throws {
    try refuse(books(PropertyMapping("name", from: "nothing")), "Book.name", "no property “nothing”")
    try refuse(books(PropertyMapping("name", from: "author.nothing")), "no property “nothing”")
    try refuse(books(PropertyMapping("name", from: "pages.half")), "pages.half")
    try refuse(
      EntityMapping(
        "more", from: "Author", to: "Author", attributes: [PropertyMapping("name", from: "books.name")]),
      "to-many")
    try refuse(related(PropertyMapping("author", fromRelationship: "writer")), "no relationship “writer”")
    try migrate([authors, books(PropertyMapping("name", from: "author.name"))])
  }

  @Test("rules 309, 310: properties that the destination does not have, or of the other kind")
  func properties() throws {
    try refuse(books(PropertyMapping("author", from: "author")), "Book.author", "no attribute")
    try refuse(related(PropertyMapping("name", fromRelationship: "author")), "no relationship")
    try refuse(EntityMapping("books", from: "Book", to: nil), "which entity")
  }

  @Test("rules 309, 310: values that the attribute cannot take")
  func values() throws {
    try refuse(books(PropertyMapping("name") { _ in Date() }), "Book.name", "string", "Date")
    try refuse(books(PropertyMapping("pages") { _ in "many" }), "Book.pages", "many")
    try refuse(books(PropertyMapping("pages") { _ in Int64.max }), "Book.pages")
    try refuse(books(PropertyMapping("pages", from: "author")), "Book.pages")
    try migrate([authors, books(PropertyMapping("pages") { _ in NSNumber(value: 7) })])
  }

  @Test("rules 309, 310: values of relationships that are no objects, or none that could be members")
  func members() throws {
    try refuse(related(PropertyMapping("author") { _ in "Ann" }), "Book.author", "Ann")
    try refuse(related(PropertyMapping("author") { _ in ["Ann"] }), "Book.author")
    try refuse(
      related(PropertyMapping("author") { $0.source?.value(forKey: "author") }), "objects of the destination")
    try refuse(related(PropertyMapping("author") { $0.destination }), "not of Book")
    try migrate([authors, related(PropertyMapping("author") { _ in NSNull() })])
  }

  @Test("rules 309, 310: names that no mapping has")
  func names() throws {
    try refuse(
      related(
        PropertyMapping("author") {
          $0.manager.destinationInstances(forEntityMappingName: "nobody", sourceInstances: nil)
        }), "nobody")
    try refuse(
      books(
        PropertyMapping("name") {
          "\($0.manager.sourceInstances(forEntityMappingName: "nobody", destinationInstances: nil).count)"
        }), "nobody")
  }

  @Test("rules 309, 310: source objects that are no objects")
  func sourceObjects() throws {
    struct Text: MigrationExpression {
      func value(_ input: MigrationInput) throws -> Any? { "all" }
    }
    let mapping = books(PropertyMapping("name", from: "name"))
    mapping.sourceObjects = Text()
    try refuse(mapping, "source objects", "all")
  }

  @Test(
    "rules 307, 310: what was nil and is mandatory now has its default value, with objects as without",
    arguments: [true, false])
  func defaults(isFast: Bool) throws {
    func model(isOptional: Bool) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        EntityDescription(
          "Spot",
          properties: [
            AttributeDescription("name", .string),
            AttributeDescription("size", .integer32, isOptional: isOptional, defaultValue: 4),
          ])
      ])
    }
    let (old, new) = (model(isOptional: true), model(isOptional: false))
    let context = try stand.open(LightweightMigrationTests.first())
    try context.performAndWait { try context.save() }
    try stand.close()
    let other = try MigrationStand()
    let spots = try other.open(old)
    try spots.performAndWait {
      spots.newObject("Spot", ["name": "a", "size": 9])
      spots.newObject("Spot", ["name": "b"]).setValue(nil, forKey: "size")
      try spots.save()
    }
    try other.close()
    let manager = MigrationManager(sourceModel: old, destinationModel: new)
    manager.usesStoreSpecificMigrationManager = isFast
    let destination = other.folder.url.appendingPathComponent("Later.strata")
    try manager.migrateStore(
      from: PersistentStoreDescription(url: other.url),
      with: MappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new),
      to: PersistentStoreDescription(url: destination))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model(isOptional: false))
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: destination))
    defer { try? coordinator.remove(store) }
    let result = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try result.performAndWait {
      let found = try result.objectsByName("Spot")
      #expect(found["a"]?.value(forKey: "size") as? Int64 == 9)
      #expect(found["b"]?.value(forKey: "size") as? Int64 == 4)
    }
  }
}
