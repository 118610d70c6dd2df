import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Tables of somebody else's as a store: both programs work on the same rows.
@Suite struct AdoptionTests {
  @Test func rowsThatAreThereAreObjects() throws {
    let stand = try AdoptedStand()
    let store = try stand.open()
    let context = stand.context(store)
    let ada = try #require(try context.all("Writer", Attribute("name") == "ada").first)
    #expect(ada.value(forKey: "born") as? Int64 == 1815)
    let titles = ada.set("books").map { ($0.value(forKey: "title") as? String)?.count ?? -1 }.sorted()
    #expect(titles == [5, 5_000])
    let notes = try #require(try context.all("Book", Attribute("title") == "Notes").first)
    #expect(notes.value(forKey: "price") as? Decimal == Decimal(string: "3.5"))
    #expect(notes.value(forKey: "writer") as? ManagedObject === ada)
    notes.setValue(66, forKey: "pages")
    ada.setValue("Ada", forKey: "name")
    try context.delete(#require(try context.all("Book", Attribute("title") == nil).first))
    try context.save()
    #expect(
      try stand.texts("SELECT pages, shelf, writer_id FROM \(stand.shop).\"Book\" ORDER BY nr") == [
        "66 B 1", "1 C 1",
      ])
    // What the model does not name is as it was.
    #expect(
      try stand.texts("SELECT full_name, note FROM \(stand.shop).writer WHERE id = 1") == ["Ada {\"a\": 1}"])
    // A long value that is changed, and one that is new.
    let long = try #require(try context.all("Book", Attribute("pages") == 1).first)
    long.setValue(String(repeating: "longer ", count: 2_000), forKey: "title")
    long.setValue(Data(repeating: 7, count: 5_000), forKey: "cover")
    try context.save()
    let reader = stand.context(try stand.open())
    let again = try #require(try reader.all("Book", Attribute("pages") == 1).first)
    #expect((again.value(forKey: "title") as? String)?.count == 14_000)
    #expect((again.value(forKey: "cover") as? Data)?.count == 5_000)
  }

  @Test func bothProgramsMakeRowsWithoutMeeting() throws {
    let stand = try AdoptedStand()
    let store = try stand.open()
    let context = stand.context(store)
    for number in 0..<40 {
      // A reference to what is new, in the same save.
      let writer = try context.make("Writer", ["name": "w\(number)"])
      try context.make("Book", ["title": "t\(number)", "pages": 1, "writer": writer])
      try context.save()
      try stand.sql(
        "INSERT INTO \(stand.shop).writer (full_name) VALUES ('other \(number)'); INSERT INTO \(stand.shop).\"Book\" (title, writer_id) VALUES ('o\(number)', (SELECT max(id) FROM \(stand.shop).writer))"
      )
    }
    // Many at once.
    for number in 0..<2_000 { try context.make("Book", ["title": "m\(number)"]) }
    try context.save()
    let fresh = stand.context(store)
    #expect(try fresh.all("Writer").count == 83 && fresh.all("Book").count == 2_083)
    let other = try #require(try fresh.all("Book", Attribute("title") == "o7").first)
    #expect((other.value(forKey: "writer") as? ManagedObject)?.value(forKey: "name") as? String != nil)
    other.setValue("changed", forKey: "title")
    try fresh.save()
    fresh.delete(other)
    try fresh.save()
    #expect(try stand.texts("SELECT count(*)::text FROM \(stand.shop).\"Book\"") == ["2082"])
  }

  /// Who changes a row beside the store knows nothing of versions; the server raises them.
  @Test func changesOfTheOtherProgramAreConflicts() throws {
    let stand = try AdoptedStand()
    let store = try stand.open()
    let context = stand.context(store)
    let notes = try #require(try context.all("Book", Attribute("title") == "Notes").first)
    #expect(notes.value(forKey: "pages") as? Int64 == 65)
    try stand.sql("UPDATE \(stand.shop).\"Book\" SET pages = 70 WHERE title = 'Notes'")
    notes.setValue(71, forKey: "pages")
    #expect(throws: CoreDataError.self) { try context.save() }
    context.refresh(notes, mergeChanges: false)
    #expect(notes.value(forKey: "pages") as? Int64 == 70)
    notes.setValue(71, forKey: "pages")
    try context.save()
    // A large value that the other one changes is read as it is now.
    let long = try #require(try context.all("Book", Attribute("pages") == 1).first)
    long.setValue(String(repeating: "x", count: 3_000), forKey: "title")
    try context.save()
    try stand.sql("UPDATE \(stand.shop).\"Book\" SET title = repeat('y', 4000) WHERE pages = 1")
    let reader = stand.context(store)
    let read = try #require(try reader.all("Book", Attribute("pages") == 1).first)
    #expect((read.value(forKey: "title") as? String)?.count == 4_000)
    // And one that goes is gone.
    try stand.sql("DELETE FROM \(stand.shop).\"Book\" WHERE pages = 71")
    notes.setValue(72, forKey: "pages")
    #expect(throws: CoreDataError.self) { try context.save() }
  }

  @Test func textsAreSortedAndComparedByTheirBytesAllTheSame() throws {
    let stand = try AdoptedStand()
    let context = stand.context(try stand.open())
    #expect(try context.texts("Writer", "name") == ["Bob", "ada", "cem"])
    #expect(try context.all("Writer", Attribute("name") < "a").count == 1)
    #expect(try context.all("Writer", Attribute("name").beginsWith("a")).count == 1)
    #expect(try context.all("Writer", Attribute("name") == "Bob").count == 1)
    let books = FetchRequest<ManagedObject>(entityName: "Book", sortDescriptors: [FetchSort("writer.name")])
    #expect(try context.fetch(books).count == 3)
  }

  @Test func rulesOfBothHold() throws {
    let stand = try AdoptedStand()
    let store = try stand.open()
    let context = stand.context(store)
    // A constraint of the model's, and one of the table's that the model does not name.
    let twin = try context.make("Writer", ["name": "twin", "email": "ada@example.org"])
    #expect(throws: CoreDataError.self) { try context.save() }
    context.delete(twin)
    try context.make("Book", ["pages": -1])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("pages") == true)
    context.rollback()
    // Deletion follows the model's rule, and the server's reference to it.
    try context.delete(#require(try context.all("Writer", Attribute("name") == "ada").first))
    try context.save()
    #expect(try stand.texts("SELECT count(*)::text FROM \(stand.shop).\"Book\"") == ["1"])
  }

  @Test func batchesAndHistoryWork() throws {
    let stand = try AdoptedStand()
    let store = try stand.open(history: true)
    let context = stand.context(store)
    _ = try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": 9]))
    let rows: [[String: any Sendable]] = (0..<1_200).map { ["title": "b\($0)", "pages": 3] }
    _ = try context.execute(BatchInsertRequest(entityName: "Book", objects: rows))
    #expect(try stand.context(store).all("Book", Attribute("pages") == 9).count == 3)
    var old = FetchRequest<ManagedObject>(entityName: "Book")
    old.predicate = Attribute("pages") == 3
    _ = try context.execute(BatchDeleteRequest(fetchRequest: old))
    #expect(try stand.context(store).all("Book").count == 3)
    #expect(try store.history(.fetchHistory(after: .beginning)).transactions.count == 3)
    let pinned = ManagedObjectContext(.confinement, coordinator: store)
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.all("Book").count == 3)
    try stand.sql("INSERT INTO \(stand.shop).\"Book\" (title) VALUES ('late')")
    #expect(try pinned.all("Book").count == 3 && stand.context(store).all("Book").count == 4)
  }

  @Test func theNextProgramNeedNotSayIt() throws {
    let stand = try AdoptedStand()
    let first = try stand.open()
    let second = try stand.open(adopts: false)
    let context = stand.context(second)
    try context.make("Writer", ["name": "new"])
    try context.save()
    #expect(try stand.context(first).all("Writer").count == 4)
    #expect(try second.indexes(in: second.persistentStores[0]).map(\.name) == ["unique(email)"])
  }

  /// A role of another program's, which has the rights to the rows of the tables and no others.
  private func makeRole(_ stand: AdoptedStand) throws -> String {
    let role = "clerk_" + UUID().uuidString.prefix(8).lowercased()
    try stand.sql(
      "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(stand.shop) TO \(role); GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(stand.shop) TO \(role)"
    )
    return role
  }

  /// Has the other program take a row of the context's away and put another one in its place; that must be a conflict.
  private func expectConflict(_ stand: AdoptedStand, _ store: PersistentStoreCoordinator, _ change: String)
    throws
  {
    let context = stand.context(store)
    let notes = try #require(try context.all("Book", Attribute("title") == "Notes").first)
    notes.setValue(66, forKey: "pages")
    try context.save()
    try stand.sql(change)
    notes.setValue(67, forKey: "pages")
    #expect(throws: CoreDataError.self, "\(change)") { try context.save() }
    context.refresh(notes, mergeChanges: false)
    #expect(notes.value(forKey: "pages") as? Int64 == 99)
    notes.setValue(67, forKey: "pages")
    try context.save()
    #expect(try stand.texts("SELECT pages::text FROM \(stand.shop).\"Book\" WHERE nr = 1") == ["67"])
  }

  @Test func aRowThatTheOtherProgramReplacesIsAConflict() throws {
    let stand = try AdoptedStand()
    let store = try stand.open()
    let role = try makeRole(stand)
    defer { _ = try? stand.sql("DROP OWNED BY \(role); DROP ROLE \(role)") }
    let book = "\(stand.shop).\"Book\""
    try expectConflict(
      stand, store,
      "SET ROLE \(role); BEGIN; DELETE FROM \(book) WHERE nr = 1; INSERT INTO \(book) (nr, title, pages) VALUES (1, 'Notes', 99); COMMIT"
    )
    // And when another row gets its key.
    try expectConflict(
      stand, store,
      "SET ROLE \(role); BEGIN; DELETE FROM \(book) WHERE nr = 1; UPDATE \(book) SET nr = 1, title = 'Notes', pages = 99 WHERE nr = 2; COMMIT"
    )
  }

  /// Earlier versions gave every row that others inserted the version 1.
  @Test func tablesThatWereTakenOverEarlierAreMended() throws {
    let stand = try AdoptedStand()
    let first = try stand.open()
    for part in first.persistentStores { try first.remove(part) }
    let namespace = Identifier.quoted(try ServerAddress(stand.url).namespace)
    let role = try makeRole(stand)
    defer { _ = try? stand.sql("DROP OWNED BY \(role); DROP ROLE \(role)") }
    try stand.sql(
      """
      GRANT USAGE ON SCHEMA \(namespace) TO \(role); GRANT ALL ON ALL TABLES IN SCHEMA \(namespace) TO \(role);
      ALTER TABLE \(stand.shop)."Book" ALTER COLUMN strata_version SET DEFAULT 1;
      ALTER TABLE \(stand.shop).writer ALTER COLUMN strata_version SET DEFAULT 1;
      """)
    let defaults = """
      SELECT count(*)::text FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
      JOIN pg_class c ON c.oid = d.adrelid WHERE c.relnamespace = '\(stand.shop)'::regnamespace
      AND a.attname = 'strata_version' AND pg_get_expr(d.adbin, d.adrelid) = '1'
      """
    // A role that may not change the tables opens the store all the same.
    var components = try #require(URLComponents(url: stand.url, resolvingAgainstBaseURL: false))
    components.queryItems = components.queryItems?.map {
      $0.name == "user" ? URLQueryItem(name: "user", value: role) : $0
    }
    let clerk = PersistentStoreCoordinator(managedObjectModel: AdoptedStand.model())
    try clerk.addPersistentStore(PersistentStoreDescription(type: .postgres, url: components.url))
    #expect(try stand.context(clerk).all("Book").count == 3)
    for part in clerk.persistentStores { try clerk.remove(part) }
    #expect(try stand.texts(defaults) == ["2"])
    let second = try stand.open(adopts: false)
    #expect(try stand.texts(defaults) == ["0"])
    let book = "\(stand.shop).\"Book\""
    try expectConflict(
      stand, second,
      "BEGIN; DELETE FROM \(book) WHERE nr = 1; INSERT INTO \(book) (nr, title, pages) VALUES (1, 'Notes', 99); COMMIT"
    )
  }
}
