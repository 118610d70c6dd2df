import Foundation
import Strata
import Testing

/// Says names loudly. Found by its class's name.
final class LoudPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    for copy in 1...2 {
      let object = try EntityDescription.insertNewObject(
        forEntityName: "Author", into: manager.destinationContext)
      object.setValue("\(sInstance.textValue("name")?.uppercased() ?? "") \(copy)", forKey: "name")
      manager.associate(sourceInstance: sInstance, withDestinationInstance: object, for: mapping)
    }
  }
}

/// Migration by mapping models (rules 309–313).
struct MappingTests {
  let stand: MigrationStand
  let there: URL

  init() throws {
    stand = try MigrationStand()
    there = stand.folder.url.appendingPathComponent("New.strata")
    let context = try stand.open(LightweightMigrationTests.first())
    try context.performAndWait {
      let ann = context.newObject("Author", ["name": "Ann"])
      let books = ["b", "a"].map { context.newObject("Book", ["name": $0, "pages": 3]) }
      ann.setValue(books, forKey: "books")
      try context.save()
    }
    try stand.close()
  }

  private func migrate(_ mappings: [EntityMapping]) throws { try stand.migrate(mappings, to: there) }

  /// What is in the new store.
  private func read<R>(_ body: (ManagedObjectContext) throws -> R) throws -> R {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: LightweightMigrationTests.first())
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: there))
    defer { try? coordinator.remove(store) }
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    return try context.performAndWait { try body(context) }
  }

  @Test(
    "rules 310, 311: closures make values, copies take everything over, policies make as many objects as they like"
  )
  func mapping() throws {
    let author = EntityMapping("authors", from: "Author", to: "Author", type: .custom)
    author.entityMigrationPolicyClassName = "LoudPolicy"
    let book = EntityMapping(
      "books", from: "Book", to: "Book",
      attributes: [
        PropertyMapping("name", from: "name"),
        PropertyMapping("pages") { input in (input.source?.value(forKey: "pages") as? Int64).map { $0 * 2 } },
      ],
      relationships: [
        PropertyMapping("author") { input in
          let authors = MigrationStand.objects(input.source?.value(forKey: "author"))
          return input.manager.destinationInstances(forEntityMappingName: "authors", sourceInstances: authors)
            .last
        }
      ])
    book.entityMigrationPolicyClassName = String(reflecting: EntityMigrationPolicy.self)
    try migrate([author, book])
    try read { context in
      #expect(try context.objectsByName("Author").keys.sorted() == ["ANN 1", "ANN 2"])
      let books = try context.objectsByName("Book")
      #expect(books["a"]?.value(forKey: "pages") as? Int64 == 6)
      #expect(books["a"]?.memberNames("author") == ["ANN 2"])
    }
  }

  @Test(
    "rule 311: a mapping of type copy takes over what has the same names, relationships in their order; one of type remove takes over nothing"
  )
  func copying() throws {
    try migrate([
      EntityMapping("authors", from: "Author", to: "Author", type: .copy),
      EntityMapping("books", from: "Book", to: "Book", type: .copy),
      EntityMapping("shelves", from: "Shelf", to: nil, type: .remove),
    ])
    try read { context in
      let ann = try context.objectsByName("Author")["Ann"]
      #expect(ann?.memberNames("books") == ["b", "a"])
      #expect(try context.objectsByName("Shelf").isEmpty)
    }
  }

  @Test("rule 309: mappings that do not fit are refused with 134110, and nothing is left behind")
  func misfits() throws {
    func refuse(_ mapping: EntityMapping, _ word: String) {
      let error = #expect(throws: CoreDataError.self) { try migrate([mapping]) }
      #expect(error?.code == .migration && error?.description.contains(word) == true)
      #expect(!FileManager.default.fileExists(atPath: there.path))
    }
    refuse(EntityMapping("a", from: "Nobody", to: "Author"), "Nobody")
    let policy = EntityMapping("a", from: "Author", to: "Author")
    policy.entityMigrationPolicyClassName = "NoSuchPolicy"
    refuse(policy, "NoSuchPolicy")
    refuse(
      EntityMapping(
        "a", from: "Author", to: "Author", attributes: [PropertyMapping("nothing", from: "name")]),
      "Author.nothing")
  }

  @Test("rule 309: duplicates that a mapping makes end with 134111")
  func duplicates() throws {
    let model = LightweightMigrationTests.first()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["name"]]
    let manager = MigrationManager(sourceModel: LightweightMigrationTests.first(), destinationModel: model)
    let book = EntityMapping(
      "books", from: "Book", to: "Book", attributes: [PropertyMapping("name") { _ in "same" }],
      relationships: [])
    let error = #expect(throws: CoreDataError.self) {
      try manager.migrateStore(
        from: PersistentStoreDescription(url: stand.url), with: MappingModel(entityMappings: [book]),
        to: PersistentStoreDescription(url: there))
    }
    #expect(error?.code == .migrationConstraintViolation)
  }

  @Test("rules 307, 310: mappings that were inferred and changed since are carried out as they are now")
  func changedInference() throws {
    let (old, new) = (LightweightMigrationTests.first(), LightweightMigrationTests.first())
    let mappings = try MappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new)
    for mapping in try #require(mappings.entityMappings) {
      switch mapping.sourceEntityName {
      case "Book": mapping.attributeMappings = [PropertyMapping("name") { _ in "changed" }]
      case "Author": mapping.policyClass = LoudPolicy.self
      default: break
      }
    }
    try MigrationManager(sourceModel: old, destinationModel: new).migrateStore(
      from: PersistentStoreDescription(url: stand.url), with: mappings,
      to: PersistentStoreDescription(url: there))
    try read { context in
      let books = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
      #expect(books.map { $0.textValue("name") } == ["changed", "changed"])
      #expect(try context.objectsByName("Author").keys.sorted() == ["ANN 1", "ANN 2"])
    }
  }

  @Test("rule 310: where objects become two things, relationships lead to those that they take")
  func splitEntity() throws {
    func model(isSplit: Bool) -> ManagedObjectModel {
      let person = EntityDescription("Person", properties: [AttributeDescription("name", .string)])
      let address = EntityDescription("Address", properties: [AttributeDescription("street", .string)])
      let order = EntityDescription("Order", properties: [AttributeDescription("name", .string)])
      if !isSplit { person.properties.append(AttributeDescription("street", .string)) }
      relateInMigration(
        RelationshipDescription("customer", to: person, maxCount: 1), of: order,
        RelationshipDescription("orders", to: order, maxCount: 0), of: person)
      return ManagedObjectModel(entities: isSplit ? [person, address, order] : [person, order])
    }
    let other = try MigrationStand()
    let old = model(isSplit: false)
    let context = try other.open(old)
    try context.performAndWait {
      let ann = context.newObject("Person", ["name": "Ann", "street": "Elm"])
      context.newObject("Order", ["name": "first"]).setValue(ann, forKey: "customer")
      try context.save()
    }
    try other.close()
    let mappings = [
      EntityMapping(
        "addresses", from: "Person", to: "Address", attributes: [PropertyMapping("street", from: "street")],
        relationships: []),
      EntityMapping(
        "people", from: "Person", to: "Person", attributes: [PropertyMapping("name", from: "name")],
        relationships: [PropertyMapping("orders", fromRelationship: "orders")]),
      EntityMapping(
        "orders", from: "Order", to: "Order", attributes: [PropertyMapping("name", from: "name")],
        relationships: [PropertyMapping("customer", fromRelationship: "customer")]),
    ]
    let later = other.folder.url.appendingPathComponent("Later.strata")
    // A customer that has become nothing that fits is not left out in silence.
    let error = #expect(throws: CoreDataError.self) {
      try MigrationManager(sourceModel: old, destinationModel: model(isSplit: true)).migrateStore(
        from: PersistentStoreDescription(url: other.url),
        with: MappingModel(entityMappings: [mappings[0], mappings[2]]),
        to: PersistentStoreDescription(url: later))
    }
    #expect("\(try #require(error))".contains("takes objects of Person, not of Address"))
    try MigrationManager(sourceModel: old, destinationModel: model(isSplit: true)).migrateStore(
      from: PersistentStoreDescription(url: other.url), with: MappingModel(entityMappings: mappings),
      to: PersistentStoreDescription(url: later))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model(isSplit: true))
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: later))
    defer { try? coordinator.remove(store) }
    let result = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try result.performAndWait { () throws in
      #expect(try result.objectsByName("Order")["first"]?.memberNames("customer") == ["Ann"])
      #expect(try result.objectsByName("Person")["Ann"]?.memberNames("orders") == ["first"])
      #expect(try result.objectsByName("Address", by: "street").keys.sorted() == ["Elm"])
    }
  }

  // MARK: Stages

  @Test(
    "rule 314: a version that no stage knows is 134504, and so is a model that is not what its reference says"
  )
  func unknownVersions() throws {
    let (first, second) = (LightweightMigrationTests.first(), LightweightMigrationTests.second())
    func code(_ stages: [MigrationStage]) throws -> CoreDataError.Code? {
      let error = #expect(throws: CoreDataError.self) {
        try stand.open(LightweightMigrationTests.second()) {
          $0.stagedMigrationManager = StagedMigrationManager(stages)
        }
      }
      return error?.code
    }
    #expect(
      try code([LightweightMigrationStage([second.versionChecksum])]) == .managedObjectModelReferenceNotFound)
    // The stage that leads to the newest version was forgotten.
    #expect(
      try code([LightweightMigrationStage([first.versionChecksum])]) == .managedObjectModelReferenceNotFound)
    let wrong = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(model: first, versionChecksum: first.versionChecksum),
      to: ManagedObjectModelReference(model: first, versionChecksum: second.versionChecksum))
    #expect(try code([wrong]) == .managedObjectModelReferenceNotFound)
    try stand.open(LightweightMigrationTests.first()) { $0.migratesAutomatically = false }
  }

  @Test(
    "rule 314: what a handler throws ends the migration; the store is of the last version that was reached")
  func failingHandler() throws {
    struct Refusal: Error {}
    let (first, second) = (LightweightMigrationTests.first(), LightweightMigrationTests.second())
    let step = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(model: first, versionChecksum: first.versionChecksum),
      to: ManagedObjectModelReference(model: second, versionChecksum: second.versionChecksum))
    step.willMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      let count = try context.performAndWait { try context.objectsByName("Book").count }
      #expect(count == 2)
      throw Refusal()
    }
    let manager = StagedMigrationManager([step])
    #expect(throws: Refusal.self) {
      try stand.open(LightweightMigrationTests.second()) { $0.stagedMigrationManager = manager }
    }
    #expect(try LMDBStore.model(at: stand.url).versionChecksum == first.versionChecksum)
    step.willMigrateHandler = nil
    let context = try stand.open(LightweightMigrationTests.second()) { $0.stagedMigrationManager = manager }
    let count = try context.performAndWait { try context.objectsByName("Work", by: "title").count }
    #expect(count == 2)
  }
}
