import Foundation
import Strata
import Testing

/// What opening a store with another version of its model does (rules 304, 306–309, 316).
struct LightweightMigrationTests {
  let stand: MigrationStand

  init() throws { stand = try MigrationStand() }

  /// A program that knows the first version.
  private static var permission: MigrationPermission { MigrationPermission(knownModels: [first()]) }

  // MARK: Models

  /// Books and their authors, as they were first.
  static func first() -> ManagedObjectModel {
    let book = EntityDescription(
      "Book",
      properties: [
        AttributeDescription("name", .string), AttributeDescription("pages", .integer32, defaultValue: 1),
        AttributeDescription("blurb", .string), AttributeDescription("cover", .binaryData),
        AttributeDescription("extras", .transformable),
      ])
    let author = EntityDescription("Author", properties: [AttributeDescription("name", .string)])
    relateInMigration(
      RelationshipDescription("author", to: author, maxCount: 1), of: book,
      RelationshipDescription("books", to: book, maxCount: 0, isOrdered: true), of: author)
    let shelf = EntityDescription("Shelf", properties: [AttributeDescription("name", .string)])
    shelf.properties.append(RelationshipDescription("books", to: book, maxCount: 0))
    return ManagedObjectModel(entities: [book, author, shelf])
  }

  /// Books are called works, their name is a title, they have a year, and no blurb.
  static func second() -> ManagedObjectModel {
    let book = EntityDescription(
      "Work",
      properties: [
        AttributeDescription("title", .string).renamed(from: "name"),
        AttributeDescription("pages", .integer32, isOptional: false, defaultValue: 1),
        AttributeDescription("year", .integer16, isOptional: false, defaultValue: 1900),
        AttributeDescription("cover", .binaryData), AttributeDescription("extras", .transformable),
      ])
    book.renamingIdentifier = "Book"
    book.indexes = [FetchIndexDescription(name: "byTitle", attributes: ["title"])]
    let author = EntityDescription("Author", properties: [AttributeDescription("name", .string)])
    relateInMigration(
      RelationshipDescription("authors", to: author, maxCount: 0).renamed(from: "author"), of: book,
      RelationshipDescription("works", to: book, maxCount: 0, isOrdered: true).renamed(from: "books"),
      of: author)
    author.properties.append(
      DerivedAttributeDescription("workCount", .integer64, derivationExpression: "works.@count"))
    let shelf = EntityDescription("Shelf", properties: [AttributeDescription("name", .string)])
    shelf.properties.append(RelationshipDescription("books", to: book, maxCount: 0))
    let label = EntityDescription("Label", properties: [AttributeDescription("name", .string)])
    return ManagedObjectModel(entities: [book, author, shelf, label])
  }

  /// Three books of two authors on a shelf; the IDs by name.
  @discardableResult
  private func fill() throws -> [String: URL] {
    let context = try stand.open(Self.first())
    return try context.performAndWait {
      let ann = context.newObject("Author", ["name": "Ann"])
      context.newObject("Author", ["name": "Bob"])
      let long = String(repeating: "long ", count: 1_000)
      let books = ["c", "a", "b"].map {
        context.newObject(
          "Book",
          [
            "name": $0, "pages": 7, "blurb": long, "cover": Data(repeating: 9, count: 5_000),
            "extras": [1, 2],
          ])
      }
      books[1].setValue(nil, forKey: "pages")
      ann.setValue(books, forKey: "books")
      context.newObject("Shelf", ["name": "top"]).setValue(Set(books.prefix(2)), forKey: "books")
      try context.save()
      var ids = Dictionary(
        uniqueKeysWithValues: books.map { ($0.textValue("name")!, $0.objectID.uriRepresentation()) })
      ids["Ann"] = ann.objectID.uriRepresentation()
      return ids
    }
  }

  // MARK: What stays and what changes

  @Test(
    "rules 306, 307, 308: a store of an earlier version is migrated when it is opened; what stays stays, IDs too"
  )
  func migratesOnOpening() throws {
    let ids = try fill()
    let uuid = try #require(stand.coordinator?.persistentStores.first?.identifier)
    let context = try stand.open(Self.second()) { $0.knownModels = [Self.first()] }
    #expect(stand.coordinator?.persistentStores.first?.identifier == uuid)
    try context.performAndWait {
      let works = try context.objectsByName("Work", by: "title")
      #expect(works.keys.sorted() == ["a", "b", "c"])
      #expect(works["c"]?.value(forKey: "pages") as? Int64 == 7)
      #expect(
        works["a"]?.value(forKey: "pages") as? Int64 == 1, "a mandatory value that was missing is the default"
      )
      #expect(works["b"]?.value(forKey: "year") as? Int64 == 1900)
      #expect(works["c"]?.value(forKey: "cover") as? Data == Data(repeating: 9, count: 5_000))
      #expect(works["c"]?.value(forKey: "extras") as? [Int] == [1, 2])
      let authors = try context.objectsByName("Author")
      #expect(authors["Ann"]?.memberNames("works", of: "title") == ["c", "a", "b"], "the order stays")
      #expect(authors["Ann"]?.value(forKey: "workCount") as? Int64 == 3)
      #expect(works["a"]?.memberNames("authors") == ["Ann"], "to-one has become to-many")
      #expect(try context.objectsByName("Shelf")["top"]?.memberNames("books", of: "title") == ["a", "c"])
      #expect(try context.objectsByName("Label").isEmpty)
      let path = try #require(ids["a"]).path
      #expect(
        works["a"]?.objectID.uriRepresentation().path == path.replacingOccurrences(of: "Book", with: "Work"))
      #expect(authors["Ann"]?.objectID.uriRepresentation() == ids["Ann"])
      context.newObject("Work", ["title": "d"])
      try context.save()
      #expect(try context.objectsByName("Work", by: "title").count == 4, "no key is given twice")
    }
    #expect(try stand.problems() == [])
    #expect(try stand.files().filter { $0.contains("migration") }.isEmpty)
  }

  @Test("a migrated store is opened next time as it is, and keeps its metadata")
  func migratesOnce() throws {
    let context = try stand.open(Self.first())
    let store = try #require(stand.coordinator?.persistentStores.first)
    try stand.coordinator?.setMetadata(["colour": "red"], for: store)
    try context.performAndWait {
      context.newObject("Author", ["name": "Ann"])
      try context.save()
    }
    try stand.open(Self.second())
    try stand.close()
    try stand.open(Self.second()) { $0.migratesAutomatically = false }
    let again = try #require(stand.coordinator?.persistentStores.first)
    #expect(stand.coordinator?.metadata(for: again)["colour"] as? String == "red")
  }

  // MARK: Refusals

  /// Expects that opening fails, and that the store is what it was.
  private func expectRefusal(
    _ model: ManagedObjectModel, _ code: CoreDataError.Code, says words: [String],
    _ configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws {
    try stand.close()
    let before = try LMDBStore.model(at: stand.url).versionChecksum
    let error = #expect(throws: CoreDataError.self) { try stand.open(model, configure) }
    #expect(error?.code == code)
    for word in words {
      #expect(error?.description.contains(word) == true, "no “\(word)” in \(error?.description ?? "")")
    }
    #expect(try LMDBStore.model(at: stand.url).versionChecksum == before)
    #expect(try stand.files() == ["Shop.strata", "Shop.strata-lock"])
    let context = try stand.open(Self.first())
    #expect(try stand.problems() == [])
    let count = try context.performAndWait { try context.objectsByName("Book").count }
    #expect(count == 3)
  }

  @Test(
    "rules 304, 306, 316: without the options the store is refused with 134100 and what differs, or with 134140"
  )
  func withoutOptions() throws {
    try fill()
    try expectRefusal(
      Self.second(), .persistentStoreIncompatibleVersionHash,
      says: ["it was Book", "title was name", "year is new", "blurb is gone", "Label is only in the model"]
    ) { $0.migratesAutomatically = false }
    try expectRefusal(Self.second(), .migrationMissingMappingModel, says: []) {
      $0.infersMappingModel = false
    }
    try expectRefusal(Self.second(), .persistentStoreIncompatibleVersionHash, says: ["title was name"]) {
      $0.isReadOnly = true
    }
  }

  @Test("rule 309: what cannot be inferred is refused with 134190 and every reason; the store stays")
  func notInferable() throws {
    try fill()
    let model = Self.first()
    let book = try #require(model.entitiesByName["Book"])
    book.attributesByName["pages"]?.attributeType = .string
    book.attributesByName["pages"]?.defaultValue = nil
    book.properties.append(AttributeDescription("isbn", .string, isOptional: false))
    book.attributesByName["blurb"]?.isOptional = false
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.maxCount = 1
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.isOrdered = false
    try expectRefusal(
      model, .inferredMappingModel,
      says: [
        "Book.pages has another type", "Book.isbn is new and mandatory", "Book.blurb becomes mandatory",
        "Author.books was to-many",
      ])
  }

  @Test("rule 307: two hierarchies do not become one")
  func mergedHierarchies() throws {
    try fill()
    let model = Self.first()
    let (book, author) = (model.entitiesByName["Book"]!, model.entitiesByName["Author"]!)
    for entity in [book, author] {
      entity.properties.removeAll { $0.name == "name" }
    }
    let parent = EntityDescription("Thing", properties: [AttributeDescription("name", .string)])
    parent.subentities = [book, author]
    model.entities.append(parent)
    try expectRefusal(
      model, .inferredMappingModel, says: ["the hierarchies of", "become one, that of Thing"])
  }

  @Test("rule 309: values that must be unique now and are not: 134111, and the store stays")
  func constraintViolation() throws {
    try fill()
    let model = Self.first()
    model.entitiesByName["Book"]?.uniquenessConstraints = [["blurb"]]
    try expectRefusal(model, .migrationConstraintViolation, says: ["Book", "blurb", "in the store"])
  }

  @Test("rule 307: a relationship that becomes one-to-one is refused where several lead to one object")
  func crowdedInverse() throws {
    let context = try stand.open(Self.first())
    try context.performAndWait {
      let book = context.newObject("Book", ["name": "a"])
      for name in ["b", "c"] { context.newObject("Book", ["name": name]) }
      for name in ["top", "bottom"] {
        context.newObject("Shelf", ["name": name]).setValue(Set([book]), forKey: "books")
      }
      try context.save()
    }
    let model = Self.first()
    let (book, shelf) = (model.entitiesByName["Book"]!, model.entitiesByName["Shelf"]!)
    let back = RelationshipDescription("shelf", to: shelf, maxCount: 1)
    back.inverseRelationship = shelf.relationshipsByName["books"]
    shelf.relationshipsByName["books"]?.inverseRelationship = back
    book.properties.append(back)
    try expectRefusal(model, .migration, says: ["Book.shelf becomes to-one", "2 members"])
  }

  @Test("a store that this process has open is not migrated")
  func openElsewhere() throws {
    try fill()
    let error = #expect(throws: StorageError.self) {
      try LMDBStore.migrate(at: stand.url, to: Self.second())
    }
    #expect(error?.kind == .busy)
    try stand.close()
    try LMDBStore.migrate(at: stand.url, to: Self.second(), permission: Self.permission)
    try stand.open(Self.second()) { $0.migratesAutomatically = false }
  }

  @Test("rule 309: a cancelled migration ends with 134120 and leaves nothing behind")
  func cancelled() throws {
    try fill()
    try stand.close()
    let progress = BatchProgress()
    progress.cancel()
    let error = #expect(throws: CoreDataError.self) {
      try LMDBStore.migrate(at: stand.url, to: Self.second(), permission: Self.permission, progress: progress)
    }
    #expect(error?.code == .migrationCancelled)
    #expect(try stand.files() == ["Shop.strata", "Shop.strata-lock"])
    try stand.open(Self.first())
    #expect(try stand.problems() == [])
  }

  @Test("progress counts to its total")
  func progress() throws {
    try fill()
    try stand.close()
    let progress = BatchProgress()
    try LMDBStore.migrate(at: stand.url, to: Self.second(), permission: Self.permission, progress: progress)
    #expect(progress.totalCount == 12 && progress.completedCount == 12)
  }

  // MARK: Single changes

  @Test("rule 307: a new inverse leads back from what the relationship led to")
  func newInverse() throws {
    try fill()
    let model = Self.first()
    let (book, shelf) = (model.entitiesByName["Book"]!, model.entitiesByName["Shelf"]!)
    let back = RelationshipDescription("shelves", to: shelf, maxCount: 0)
    back.inverseRelationship = shelf.relationshipsByName["books"]
    shelf.relationshipsByName["books"]?.inverseRelationship = back
    shelf.relationshipsByName["books"]?.isOrdered = true
    book.properties.append(back)
    let context = try stand.open(model)
    try context.performAndWait {
      let books = try context.objectsByName("Book")
      #expect(books["a"]?.memberNames("shelves") == ["top"] && books["b"]?.memberNames("shelves") == [])
      #expect(try context.objectsByName("Shelf")["top"]?.memberNames("books").sorted() == ["a", "c"])
    }
    #expect(try stand.problems() == [])
  }

  @Test(
    "rule 307: properties move up to a new parent; removing an entity removes its objects and the references to them"
  )
  func hierarchyAndRemoval() throws {
    try fill()
    let model = Self.first()
    let book = model.entitiesByName["Book"]!
    book.properties.removeAll { $0.name == "name" || $0.name == "author" }
    let thing = EntityDescription(
      "Thing", isAbstract: true, properties: [AttributeDescription("name", .string)])
    thing.subentities = [book]
    model.entities = [thing, book, model.entitiesByName["Shelf"]!]
    let context = try stand.open(model) { $0.knownModels = [Self.first()] }
    try context.performAndWait {
      let things = try context.objectsByName("Thing")
      #expect(things.keys.sorted() == ["a", "b", "c"])
      #expect(things["a"]?.entity.name == "Book")
      #expect(try context.objectsByName("Shelf")["top"]?.memberNames("books") == ["a", "c"])
    }
    #expect(try stand.problems() == [])
  }

  @Test("rule 308: renaming identifiers are the names that things had first, over several versions")
  func chain() throws {
    func model(_ name: String, _ identifier: String?, also: [String] = []) -> ManagedObjectModel {
      let attribute = AttributeDescription(name, .string)
      if let identifier { attribute.renamingIdentifier = identifier }
      return ManagedObjectModel(entities: [
        EntityDescription("Spot", properties: [attribute] + also.map { AttributeDescription($0, .string) })
      ])
    }
    func source(_ old: ManagedObjectModel, _ new: ManagedObjectModel, _ name: String) throws -> String? {
      try InferredMappingModel(from: old, to: new).entities[0].attributes.first { $0.name == name }?
        .sourceName
    }
    let (one, two, three) = (model("a", nil), model("b", "a"), model("c", "a"))
    #expect(try source(one, two, "b") == "a")
    #expect(try source(two, three, "c") == "b")
    #expect(try source(one, three, "c") == "a")
    #expect(try source(two, model("b", "a", also: ["a"]), "b") == "b")
    #expect(try source(two, model("b", "a", also: ["a"]), "a") == nil, "a name that was given up is free")
    #expect(try source(two, model("c", "b"), "c") == "b", "the name in the version before")
    #expect(try source(two, one, "a") == "b", "and back")
  }

  @Test("indexes that were added to the store stay, under the names that their attributes have now")
  func addedIndexes() async throws {
    try fill()
    var coordinator = try #require(stand.coordinator)
    try await coordinator.addIndex(
      FetchIndexDescription(name: "byName", attributes: ["name", "pages"]), toEntityNamed: "Book",
      in: coordinator.persistentStores[0])
    try await coordinator.addIndex(
      FetchIndexDescription(name: "byBlurb", attributes: ["blurb"]), toEntityNamed: "Book",
      in: coordinator.persistentStores[0])
    try stand.open(Self.second()) { $0.permittedLosses = ["Book.blurb"] }
    coordinator = try #require(stand.coordinator)
    let indexes = try coordinator.indexes(in: coordinator.persistentStores[0]).filter(\.isAdded)
    #expect(indexes.map(\.entityName) == ["Work"] && indexes.map(\.name) == ["byName"])
    #expect(indexes.first?.attributes.map(\.name) == ["title", "pages"])
    #expect(indexes.first?.isComplete == true && indexes.first?.entryCount == 3)
    #expect(try stand.problems() == [])
  }

  @Test(
    "rules 304, 307: a store that holds the entities of a configuration is migrated, in place or anew",
    arguments: [false, true])
  func configuration(anew: Bool) throws {
    func model(_ names: [String]) -> ManagedObjectModel {
      let own = EntityDescription("Own", properties: names.map { AttributeDescription($0, .string) })
      let model = ManagedObjectModel(entities: [
        own, EntityDescription("Other", properties: names.map { AttributeDescription($0, .string) }),
      ])
      model.setEntities([own], forConfigurationName: "Part")
      return model
    }
    let context = try stand.open(model(["name"])) { $0.configuration = "Part" }
    try context.performAndWait {
      context.newObject("Own", ["name": "a"])
      try context.save()
    }
    let after = try stand.open(model(["name", "note"])) { description in
      description.configuration = "Part"
      description.migratesAllRows = anew
    }
    try after.performAndWait {
      let object = try #require(try after.fetch(FetchRequest<ManagedObject>(entityName: "Own")).first)
      #expect(object.value(forKey: "name") as? String == "a")
      object.setValue("n", forKey: "note")
      try after.save()
    }
    #expect(try stand.problems() == [])
  }

  // MARK: Configurations and the model in the store

  /// Two entities, and a configuration that has the first.
  private static func parts(_ names: [String]) -> ManagedObjectModel {
    let own = EntityDescription("Own", properties: names.map { AttributeDescription($0, .string) })
    let model = ManagedObjectModel(entities: [
      own, EntityDescription("Other", properties: names.map { AttributeDescription($0, .string) }),
    ])
    model.setEntities([own], forConfigurationName: "Part")
    return model
  }

  @Test("a salvaged store of one configuration is opened with that configuration again")
  func salvagedConfiguration() throws {
    let context = try stand.open(Self.parts(["name"])) { $0.configuration = "Part" }
    try context.performAndWait {
      context.newObject("Own", ["name": "a"])
      try context.save()
    }
    try stand.close()
    let saved = stand.folder.url.appendingPathComponent("Saved.strata")
    let report = try LMDBStore.salvage(from: stand.url, to: saved)
    #expect(report.rowCount == 1)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.parts(["name"]))
    var description = PersistentStoreDescription(url: saved)
    description.configuration = "Part"
    description.migratesAutomatically = false
    let store = try coordinator.addPersistentStore(description)
    let reading = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let names = try reading.performAndWait { try reading.objectsByName("Own").keys.sorted() }
    #expect(names == ["a"])
    try coordinator.remove(store)
  }

  @Test(
    "rules 304, 307: what a configuration does not hold keeps no store from being migrated, unless there are objects",
    arguments: [false, true])
  func smallerConfiguration(hasOthers: Bool) throws {
    let context = try stand.open(Self.parts(["name"]))
    try context.performAndWait {
      context.newObject("Own", ["name": "a"])
      if hasOthers { context.newObject("Other", ["name": "b"]) }
      try context.save()
    }
    func open() throws -> ManagedObjectContext {
      try stand.open(Self.parts(["name", "note"])) { $0.configuration = "Part" }
    }
    if hasOthers {
      let error = #expect(throws: CoreDataError.self) { try open() }
      #expect(error?.code == .migration && error?.description.contains("objects of Other") == true)
      let again = try stand.open(Self.parts(["name"]))
      let names = try again.performAndWait { try again.objectsByName("Other").keys.sorted() }
      #expect(names == ["b"])
    } else {
      let after = try open()
      let names = try after.performAndWait { try after.objectsByName("Own").keys.sorted() }
      #expect(names == ["a"])
    }
    #expect(try stand.problems() == [])
  }

  @Test("rule 303: the model in a store is the last one that it was opened with, also of the same version")
  func modelInStore() throws {
    func model(_ pages: Int) -> ManagedObjectModel {
      let model = Self.first()
      model.entitiesByName["Book"]?.attributesByName["pages"]?.defaultValue = pages
      return model
    }
    func stored() throws -> String? {
      try stand.close()
      let pages = try LMDBStore.model(at: stand.url).entitiesByName["Book"]?.attributesByName["pages"]
      return pages?.defaultValue.map { "\($0)" }
    }
    for pages in [5, 6, 5] {
      try stand.open(model(pages)) { $0.migratesAutomatically = false }
      #expect(try stored() == "\(pages)")
    }
    try stand.open(model(7)) { $0.ignoresModelVersion = true }
    #expect(try stored() == "5")
    try stand.open(model(8)) { $0.isReadOnly = true }
    #expect(try stored() == "5")
  }
}
