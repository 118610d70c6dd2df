import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// From one version of a model to another: what LMDB's engine makes of the same store, or nothing.
@Suite struct MigrationTests {
  /// The library after years.
  static func newer() -> ManagedObjectModel {
    let model = Library.make()
    func attribute(_ entity: String, _ name: String) throws -> AttributeDescription {
      try #require(model.entitiesByName[entity]?.attributesByName[name])
    }
    // Attributes and entities that come, go, have another name, become mandatory; order and uniqueness.
    model.entitiesByName["Book"]?.properties.append(
      AttributeDescription("rating", .integer16, defaultValue: Int16(3)))
    if let title = try? attribute("Book", "title") {
      title.renamingIdentifier = "title"
      title.name = "heading"
    }
    if let pages = try? attribute("Book", "pages") {
      pages.isOptional = false
      pages.defaultValue = Int32(1)
    }
    if let room = try? attribute("Shelf", "room") {
      room.renamingIdentifier = "room"
      room.name = "place"
    }
    let topic = model.entitiesByName["Subject"]
    topic?.renamingIdentifier = "Subject"
    topic?.name = "Topic"
    let tag = EntityDescription("Tag", properties: [AttributeDescription("word", .string, isOptional: true)])
    model.entities.append(tag)
    model.entitiesByName["Author"]?.relationshipsByName["books"]?.isOrdered = true
    topic?.uniquenessConstraints = [["name"]]
    return model
  }

  private func fill(_ context: ManagedObjectContext) throws {
    let authors = try (0..<3).map { try context.make("Author", ["name": "a\($0)"]) }
    let subjects = try (0..<3).map { try context.make("Subject", ["name": "s\($0)"]) }
    let shelf = try context.make("Shelf", ["room": "r"])
    let list = try context.make("List", ["name": "l"])
    let people = try (0..<3).map { try context.make("Person", ["name": "p\($0)"]) }
    for number in 0..<9 {
      let book = try context.make(
        number % 4 == 0 ? "Novel" : "Book",
        ["title": "\(number)", "code": "c\(number)", "author": authors[number % 3]])
      if number % 2 == 0 { book.setValue(Int32(number), forKey: "pages") }
      book.setValue(String(repeating: "\(number)", count: number * 400), forKey: "text")
      book.setValue(Data(repeating: UInt8(number), count: 2_000), forKey: "cover")
      book.add(
        [
          subjects[number % 3], subjects[(number + 1) % 3],
        ], to: "subjects")
      if number % 2 == 1 { shelf.setValue([book] + shelf.list("books"), forKey: "books") }
      if number % 3 == 0 { list.setValue([book] + list.list("entries"), forKey: "entries") }
      if number < 3 {
        people[number].setValue(book, forKey: "favourite")
        people[number].add([book], to: "wishes")
      }
    }
    people[0].add([people[1], people[2]], to: "friends")
    people[1].setValue(try context.make("Card", ["number": Int64(5)]), forKey: "card")
    try context.save()
  }

  /// Everything in a store, in words.
  private func told(_ context: ManagedObjectContext) throws -> [String] {
    let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
    var lines: [String] = []
    func name(_ object: ManagedObject) -> String {
      let keys = ["name", "heading", "title", "place", "room", "number", "word"]
      let key = keys.first { object.entity.attributesByName[$0] != nil }
      return "\(key.flatMap { object.value(forKey: $0) } ?? "nil")"
    }
    for entity in model.entities.sorted(by: { $0.name ?? "" < $1.name ?? "" }) where entity.superentity == nil
    {
      for object in try context.all(entity.name ?? "") {
        var words: [String] = []
        for key in object.entity.attributesByName.keys.sorted() {
          let value = object.value(forKey: key)
          words.append(
            "\(key)=\((value as? Data).map { "\($0.count) \($0.first ?? 0)" } ?? "\(value ?? "nil")")")
        }
        for (key, relationship) in object.entity.relationshipsByName.sorted(by: { $0.key < $1.key }) {
          if relationship.isOrdered {
            let members = object.list(key)
            // The order of members that had none is the store's choice.
            let names = members.map(name)
            words.append("\(key)=\(entity.name == "Author" ? names.sorted() : names)")
          } else if relationship.isToMany {
            let members = object.set(key)
            words.append("\(key)=\(members.map(name).sorted())")
          } else {
            words.append("\(key)=\((object.value(forKey: key) as? ManagedObject).map(name) ?? "nil")")
          }
        }
        lines.append("\(object.entity.name ?? "") \(words)")
      }
    }
    return lines.sorted()
  }

  private func address() throws -> URL { try TestServer.required().url(TestServer.freshNamespace()) }

  private func open(
    _ url: URL, _ model: ManagedObjectModel,
    _ configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description =
      url.isFileURL
      ? PersistentStoreDescription(url: url) : PersistentStoreDescription(type: .postgres, url: url)
    configure(&description)
    try coordinator.addPersistentStore(description)
    return coordinator
  }

  private func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func context(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    ManagedObjectContext(.confinement, coordinator: coordinator)
  }

  @Test func itMakesOfAStoreWhatLMDBMakesOfIt() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mig-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    var all: [[String]] = []
    for url in [url, folder.appendingPathComponent("Library.strata")] {
      let old = try open(url, Library.make())
      try fill(context(old))
      try close(old)
      let new = try open(url, Self.newer())
      let lines = try told(context(new))
      all.append(lines)
      // The store goes on.
      let later = context(new)
      try later.make("Tag", ["word": "w"])
      let author = try #require(try later.all("Author", by: "name").first)
      let book = try later.make("Book", ["heading": "new", "author": author])
      try later.save()
      #expect(book.value(forKey: "rating") as? Int64 == 3)
      try close(new)
      let again = try open(url, Self.newer())
      #expect(try told(context(again)).count == lines.count + 2)
      try close(again)
    }
    #expect(all[0] == all[1])
    #expect(all[0].count > 20)
  }

  @Test func identitiesStayAndTokensGoOn() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let old = try open(url, Library.make()) { $0.recordsHistory = true }
    try fill(context(old))
    let token = try old.currentHistoryToken()
    let identifiers = try context(old).all("Book", by: "title").map { $0.objectID.uriRepresentation() }
    let store = try #require(old.persistentStores.first).identifier
    try close(old)
    let new = try open(url, Self.newer())
    #expect(new.persistentStores.first?.identifier == store)
    #expect(
      try context(new).all("Book", by: "heading").map { $0.objectID.uriRepresentation() } == identifiers)
    #expect(try new.history(.fetchHistory(after: token)).transactions.isEmpty)
    // Keys go on behind those that were given.
    let later = context(new)
    let known = Set(identifiers)
    for number in 0..<300 {
      let book = try later.make("Book", ["heading": "\(number)"])
      #expect(!known.contains(book.objectID.uriRepresentation()))
    }
    try later.save()
    #expect(try new.history(.fetchHistory(after: token)).transactions.first?.changes?.count == 300)
    try close(new)
  }

  @Test func whatIsLostNeedsPermission() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    func smaller() -> ManagedObjectModel {
      let model = Library.make()
      model.entities.removeAll { $0.name == "List" }
      let book = model.entitiesByName["Book"]
      book?.properties.removeAll { ["code", "lists"].contains($0.name) }
      book?.uniquenessConstraints = []
      let person = model.entitiesByName["Person"]
      person?.properties.removeAll { $0.name == "friends" }
      return model
    }
    let old = try open(url, Library.make())
    try fill(context(old))
    let before = try told(context(old))
    try close(old)
    let error = #expect(throws: CoreDataError.self) { try open(url, smaller()) }
    #expect(error?.code == .migrationMissingSourceModel)
    let losses = error?.userInfo[MigrationPermission.lossesKey] as? [String: Int]
    #expect(losses == ["Book.code": 9, "List": 1, "Person.friends": 3])
    for url in [url] {
      let same = try open(url, Library.make())
      #expect(try told(context(same)) == before)
      try close(same)
    }
    // A part of it permitted is not enough.
    #expect(throws: CoreDataError.self) {
      try open(url, smaller()) { $0.permittedLosses = ["Book.code", "List"] }
    }
    let new = try open(url, smaller()) { $0.permittedLosses = ["Book.code", "List", "Person.friends"] }
    #expect(try context(new).all("Book").count == 9)
    try close(new)
    // Forward again nothing is lost; back, the store has been of that version before.
    let forward = try open(url, Library.make())
    #expect(try context(forward).all("Book").count == 9)
    #expect(try context(forward).all("List").isEmpty)
    try context(forward).make("List", ["name": "l"])
    let writer = context(forward)
    try writer.make("List", ["name": "l"])
    try writer.save()
    try close(forward)
    let downgrade = #expect(throws: CoreDataError.self) {
      try open(url, smaller()) { $0.knownModels = [Library.make()] }
    }
    #expect(downgrade?.code == .migration)
  }

  @Test func valuesThatAreNotUniqueLeaveTheStoreAsItWas() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let old = try open(url, Library.make())
    let writer = context(old)
    for _ in 0..<2 { try writer.make("Subject", ["name": "same"]) }
    try writer.save()
    try close(old)
    let error = #expect(throws: CoreDataError.self) { try open(url, Self.newer()) }
    #expect(error?.code == .migrationConstraintViolation)
    let same = try open(url, Library.make())
    #expect(try context(same).all("Subject").count == 2)
    try close(same)
  }

  @Test func whatCannotBeInferredIsRefused() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let old = try open(url, Library.make())
    try fill(context(old))
    try close(old)
    let other = Library.make()
    other.entitiesByName["Book"]?.attributesByName["pages"]?.attributeType = .string
    let error = #expect(throws: CoreDataError.self) { try open(url, other) }
    #expect(error?.code == .inferredMappingModel)
    let refused = #expect(throws: CoreDataError.self) {
      try open(url, Self.newer()) { $0.migratesAutomatically = false }
    }
    #expect(refused?.code == .persistentStoreIncompatibleVersionHash)
    let same = try open(url, Library.make())
    #expect(try context(same).all("Book").count == 9)
    try close(same)
  }

  @Test func programsWithTheModelOfBeforeAreToldSo() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let old = try open(url, Library.make())
    let writer = context(old)
    try fill(writer)
    let new = try open(url, Self.newer())
    try writer.make("Author", ["name": "late"])
    let error = #expect(throws: CoreDataError.self) { try writer.save() }
    #expect(error?.code == .persistentStoreIncompatibleVersionHash)
    #expect(error?.errorDescription?.contains("Another process has migrated") == true)
    let reading = #expect(throws: CoreDataError.self) { try context(old).all("Author") }
    #expect(reading?.code == .persistentStoreIncompatibleVersionHash)
    func refused(_ body: () throws -> Void) {
      let error = #expect(throws: CoreDataError.self) { try body() }
      #expect(error?.code == .persistentStoreIncompatibleVersionHash)
    }
    refused { _ = try context(old).count(for: FetchRequest<ManagedObject>(entityName: "Author")) }
    refused { _ = try context(old).fetch(FetchRequest<ManagedObjectID>(entityName: "Author")) }
    let store = try #require(old.engines.first as? PostgresStore)
    for relationship in store.mapping.schema.relationships where relationship.isToMany {
      let edges = EdgeSet(relationship: relationship.number)
      refused { _ = try store.memberCount(edges, of: 1) }
      refused { _ = try store.members(edges, of: 1) }
    }
    #expect(try context(new).all("Author").count == 3)
    try close(old)
    try close(new)
  }

  @Test func aPinnedGenerationKeepsTheStoreFromBeingMigrated() throws {
    let stand = try ServerStand(Library.make())
    try fill(stand.context())
    let snapshot = try #require(try stand.store.makeSnapshot())
    let error = kindOfError { timeout in
      var options = PostgresStoreOptions()
      options.timeout = timeout
      try PostgresStores.migrate(at: stand.url, to: Self.newer(), options: options)
    }
    #expect(error == .serverBusy)
    let request = try ResolvedFetchRequest(
      FetchRequest<ManagedObject>(entityName: "Book"), schema: stand.store.mapping.schema)
    #expect(try snapshot.fetch(request, mode: .count).count == 9)
    snapshot.release()
    try PostgresStores.migrate(at: stand.url, to: Self.newer())
    #expect(
      try PostgresStores.metadata(at: stand.url).versionHashes == Self.newer().entityVersionHashesByName)
  }

  @Test func aMigrationThatIsKilledIsDoneOrNotDone() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let old = try open(url, Library.make())
    try fill(context(old))
    let before = try told(context(old))
    try close(old)
    let namespace = try ServerAddress(url).namespace
    let killer = try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    let tables = try #require(
      try killer.runText("SELECT tablename FROM pg_tables WHERE schemaname = '\(namespace)' ORDER BY 1"))
    let address = try ServerAddress(url)
    let schema = try Self.newer().schema()
    let held = Set(Self.newer().entities.compactMap(\.name))
    // Killed where it waits for a table that somebody reads: one after the other, then none.
    var (killed, after) = (0, [String]())
    for row in 0...tables.rowCount {
      let reader = try PostgresConnection(
        address, password: nil, deadline: ContinuousClock.now + .seconds(30))
      if row < tables.rowCount {
        let table = try "\(Identifier.quoted(namespace)).\(Identifier.quoted(tables.text(row, 0)))"
        try reader.hold("LOCK TABLE \(table) IN SHARE MODE")
      }
      let connection = try PostgresConnection(
        address, password: nil, deadline: ContinuousClock.now + .seconds(30))
      let backend = connection.backend
      let isThrough = Mutex<Bool?>(nil)
      Thread {
        let migration = PostgresMigration(
          connection: connection, namespace: namespace, schema: schema, held: held,
          permission: MigrationPermission(), timeout: .seconds(600))
        let result = (try? migration.run()) != nil
        isThrough.withLock { $0 = result }
      }.start()
      while isThrough.withLock({ $0 }) == nil {
        // By the reader, and not by what a session that was killed before still has.
        let waiting = try killer.runText(
          "SELECT count(*) FROM pg_locks WHERE pid = \(backend) AND NOT granted AND locktype = 'relation'")
        if row < tables.rowCount, try waiting?.text(0, 0) == "1" {
          try killer.runText("SELECT pg_terminate_backend(\(backend))")
        }
        Thread.sleep(forTimeInterval: 0.005)
      }
      try reader.runText("ROLLBACK")
      while try killer.runText("SELECT 1 FROM pg_stat_activity WHERE pid = \(backend)")?.rowCount == 1,
        isThrough.withLock({ $0 }) == false
      { Thread.sleep(forTimeInterval: 0.005) }
      let hashes = try PostgresStores.metadata(at: url).versionHashes
      if isThrough.withLock({ $0 }) == false {
        #expect(hashes == Library.make().entityVersionHashesByName)
        killed += 1
        continue
      }
      #expect(hashes == Self.newer().entityVersionHashesByName)
      let new = try open(url, Self.newer())
      after = try told(context(new))
      try close(new)
      break
    }
    #expect(killed > 3)
    #expect(after.count == before.count)
    // Nothing is left of the attempts.
    let left = try #require(
      try killer.runText(
        "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '\(namespace)' AND c.relname LIKE 'strata_old%'"
      ))
    #expect(try left.text(0, 0) == "0")
  }

  @Test func stagesRunTheirCode() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let (one, two) = (Library.make(), Self.newer())
    let old = try open(url, one)
    try fill(context(old))
    try close(old)
    let step = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(model: one, versionChecksum: one.versionChecksum),
      to: ManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum))
    step.willMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for subject in try context.all("Subject") {
          subject.setValue("\(subject.value(forKey: "name") ?? "")!", forKey: "name")
        }
        try context.save()
      }
    }
    let new = try open(url, two) { $0.stagedMigrationManager = StagedMigrationManager([step]) }
    #expect(try context(new).texts("Topic", "name") == ["s0!", "s1!", "s2!"])
    try close(new)
  }

  /// A default that has no room in a row, of rows with and without other large values.
  @Test func largeDefaultsAreThere() throws {
    func newer() -> ManagedObjectModel {
      let model = Library.make()
      model.entitiesByName["Book"]?.properties.append(
        AttributeDescription("blurb", .string, defaultValue: String(repeating: "b", count: 3_000)))
      return model
    }
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let old = try open(url, Library.make())
    try fill(context(old))
    try close(old)
    let new = try open(url, newer())
    let reader = context(new)
    let books = try reader.all("Book")
    #expect(books.count == 9 && reader.registeredObjects.count == 9)
    #expect(books.allSatisfy { ($0.value(forKey: "blurb") as? String)?.count == 3_000 })
    #expect(books.allSatisfy { ($0.value(forKey: "cover") as? Data)?.count == 2_000 })
    // Large values are read when they are asked for: by the context, which must live.
    #expect(!reader.hasChanges)
    try close(new)
  }

  @Test func ownersStayAndWhatWouldBeDroppedIsNamed() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let old = try open(url, Library.make())
    try fill(context(old))
    try close(old)
    let connection = try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    let namespace = Identifier.quoted(try ServerAddress(url).namespace)
    try connection.runText(
      "DO $$ BEGIN CREATE ROLE keeper; EXCEPTION WHEN duplicate_object THEN NULL; END $$; ALTER TABLE \(namespace).book OWNER TO keeper; "
        + "ALTER TABLE \(namespace).book ENABLE ROW LEVEL SECURITY")
    let error = #expect(throws: CoreDataError.self) {
      try PostgresStores.migrate(at: url, to: Self.newer())
    }
    #expect(error?.code == .migration)
    #expect(error?.errorDescription?.contains("“book”") == true)
    try connection.runText("ALTER TABLE \(namespace).book DISABLE ROW LEVEL SECURITY")
    try PostgresStores.migrate(at: url, to: Self.newer())
    let owner = try #require(
      try connection.runText(
        "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = '\(namespace).book'::regclass"))
    #expect(try owner.text(0, 0) == "keeper")
    let new = try open(url, Self.newer())
    #expect(try context(new).all("Book").count == 9)
    try close(new)
  }

  @Test func rightsOfOthersStay() throws {
    let url = try address()
    defer { try? PostgresStores.destroy(at: url) }
    let old = try open(url, Library.make())
    try fill(context(old))
    try close(old)
    let connection = try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    let namespace = Identifier.quoted(try ServerAddress(url).namespace)
    try connection.runText(
      "DO $$ BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$; GRANT SELECT ON \(namespace).book TO reader"
    )
    try PostgresStores.migrate(at: url, to: Self.newer())
    let right = try #require(
      try connection.runText("SELECT has_table_privilege('reader', '\(namespace).book', 'SELECT')"))
    #expect(try right.text(0, 0) == "t")
    // A view that somebody has made of a table keeps it from being made anew, and is not dropped.
    try connection.runText("CREATE VIEW \(namespace).names AS SELECT name FROM \(namespace).author")
    let error = #expect(throws: StorageError.self) {
      try PostgresStores.migrate(
        at: url, to: Library.make(),
        permission: MigrationPermission(permittedLosses: ["Author.books", "Book.rating"]))
    }
    #expect(error?.detail.contains("2BP01") == true)
    let names = try #require(try connection.runText("SELECT count(*) FROM \(namespace).names"))
    #expect(try names.text(0, 0) == "3")
    try connection.runText("DROP VIEW \(namespace).names")
  }
}
