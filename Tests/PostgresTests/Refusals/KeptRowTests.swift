import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Triggers, in tables that the store has made, that keep rows from being written without a word: nothing counts as saved that is not there.
@Suite struct KeptRowTests {
  /// Has a trigger keep rows of a table for which the condition holds.
  private func keep(_ stand: ServerStand, _ table: String, _ event: String, when condition: String = "true")
    throws
  {
    let back = event == "DELETE" ? "OLD" : "NEW"
    try stand.sql(
      """
      CREATE FUNCTION \(stand.table("keep"))() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF \(condition) THEN RETURN NULL; END IF; RETURN \(back); END $$;
      CREATE TRIGGER keep BEFORE \(event) ON \(table) FOR EACH ROW EXECUTE FUNCTION \(stand.table("keep"))();
      """)
  }

  private func letGo(_ stand: ServerStand) throws {
    try stand.sql("DROP FUNCTION \(stand.table("keep"))() CASCADE")
  }

  private func expectRefusal(
    _ word: String = "trigger", sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    let thrown = #expect(throws: (any Error).self, sourceLocation: sourceLocation) { try body() }
    // Batches have it under an error of their own.
    let error =
      thrown as? StorageError ?? (thrown as? CoreDataError)?.userInfo[NSUnderlyingErrorKey] as? StorageError
    #expect(error?.kind == .refused, sourceLocation: sourceLocation)
    #expect(error?.detail.contains(word) == true, sourceLocation: sourceLocation)
  }

  private func count(_ stand: ServerStand, _ table: String, _ condition: String = "true") throws -> String {
    let result = try stand.sql("SELECT count(*)::text FROM \(table) WHERE \(condition)")
    return try #require(result).text(0, 0)
  }

  private func links(_ stand: ServerStand, _ entity: String, _ name: String) throws -> String {
    let schema = stand.store.mapping.schema
    let relationship = try #require(schema.relationships.first { $0.qualifiedName == "\(entity).\(name)" })
    return try #require(stand.store.mapping.joins[relationship.number]).name
  }

  // MARK: New rows

  /// One row has a statement of its own, thirty share one, and very many are copied.
  @Test(arguments: [1, 30, RowStatements.leastCopied]) func newRows(count: Int) throws {
    let stand = try ServerStand(Library.make())
    try keep(stand, stand.table("book"), "INSERT", when: "NEW.pages = 0")
    let context = stand.context()
    let books = try (0..<count).map {
      try context.make("Book", ["title": "\($0)", "pages": Int32($0 == count - 1 ? 0 : 1)])
    }
    expectRefusal { try context.save() }
    #expect(context.insertedObjects.count == count)
    #expect(try self.count(stand, stand.table("book")) == "0")
    for book in books { book.setValue(Int32(2), forKey: "pages") }
    try context.save()
    #expect(try self.count(stand, stand.table("book")) == "\(count)")
  }

  @Test(arguments: [1, 30, RowStatements.leastCopied]) func newRowsOfABatch(count: Int) throws {
    let stand = try ServerStand(Library.make())
    try keep(stand, stand.table("book"), "INSERT", when: "NEW.pages = 0")
    func insert(_ pages: Int32) throws {
      let rows: [[String: Any]] = (0..<count).map {
        ["title": "\($0)", "pages": $0 == count - 1 ? pages : 1]
      }
      _ = try stand.context().execute(BatchInsertRequest(entityName: "Book", objects: rows))
    }
    expectRefusal { try insert(0) }
    #expect(try self.count(stand, stand.table("book")) == "0")
    try insert(1)
    #expect(try self.count(stand, stand.table("book")) == "\(count)")
  }

  @Test func aRuleOnATableIsRefused() throws {
    let stand = try ServerStand(Library.make())
    try stand.sql("CREATE RULE keeps AS ON INSERT TO \(stand.table("subject")) DO INSTEAD NOTHING")
    let context = stand.context()
    try context.make("Subject", ["name": "1"])
    expectRefusal("CREATE RULE") { try context.save() }
    #expect(context.hasChanges)
  }

  // MARK: Links

  @Test func newLinks() throws {
    let stand = try ServerStand(Library.make())
    let (context, table) = (stand.context(), try links(stand, "Book", "subjects"))
    let book = try context.make("Book")
    let subjects = try (0..<3).map { try context.make("Subject", ["name": "\($0)"]) }
    book.add([subjects[0]], to: "subjects")
    try context.save()
    try keep(stand, table, "INSERT")
    book.add(subjects, to: "subjects")
    expectRefusal { try context.save() }
    #expect(try count(stand, table) == "1")
    try letGo(stand)
    try context.save()
    #expect(try count(stand, table) == "3")
  }

  @Test func removedLinks() throws {
    let stand = try ServerStand(Library.make())
    let (context, table) = (stand.context(), try links(stand, "Book", "subjects"))
    let book = try context.make("Book")
    book.add(try (0..<3).map { try context.make("Subject", ["name": "\($0)"]) }, to: "subjects")
    try context.save()
    try keep(stand, table, "DELETE")
    book.setValue(Set<ManagedObject>(), forKey: "subjects")
    expectRefusal { try context.save() }
    #expect(try count(stand, table) == "3")
    try letGo(stand)
    try context.save()
    #expect(try count(stand, table) == "0")
  }

  /// A relationship that is its own inverse has each link twice.
  @Test func linksOfARelationshipThatIsItsOwnInverse() throws {
    let stand = try ServerStand(Library.make())
    let (context, table) = (stand.context(), try links(stand, "Person", "friends"))
    let people = try (0..<3).map { try context.make("Person", ["name": "\($0)"]) }
    people[0].add([people[0], people[1]], to: "friends")
    try context.save()
    #expect(try count(stand, table) == "3")
    try keep(stand, table, "INSERT", when: "NEW.src < NEW.dst")
    people[1].add([people[2]], to: "friends")
    expectRefusal { try context.save() }
    #expect(try count(stand, table) == "3")
    try letGo(stand)
    people[0].setValue(Set<ManagedObject>(), forKey: "friends")
    try context.save()
    #expect(try count(stand, table) == "2")
  }

  /// Positions among the members are in the links, or in the rows of the members.
  @Test(arguments: [("List", "entries"), ("Shelf", "books")]) func positions(entity: String, key: String)
    throws
  {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let books = try (0..<3).map { try context.make("Book", ["title": "\($0)"]) }
    let owner = try context.make(entity)
    owner.setValue(books, forKey: key)
    try context.save()
    let table = entity == "List" ? try links(stand, entity, key) : stand.table("book")
    func stored() throws -> [String] {
      let reader = stand.context()
      let owner = try #require(try reader.all(entity).first)
      return owner.list(key).map { $0.value(forKey: "title") as? String ?? "nil" }
    }
    try keep(stand, table, "UPDATE")
    owner.setValue([books[2], books[0], books[1]], forKey: key)
    expectRefusal { try context.save() }
    #expect(try stored() == ["0", "1", "2"])
    try letGo(stand)
    try context.save()
    #expect(try stored() == ["2", "0", "1"])
  }

  /// What is to be done may have been done by somebody else: that is no reason to fail.
  @Test func linksThatAreThereOrGoneAlready() throws {
    let stand = try ServerStand(Library.make())
    let (context, table) = (stand.context(), try links(stand, "Book", "subjects"))
    let book = try context.make("Book")
    let subjects = try (0..<4).map { try context.make("Subject", ["name": "\($0)"]) }
    book.add([subjects[0], subjects[1]], to: "subjects")
    try context.save()
    #expect(book.set("subjects").count == 2)
    func key(_ object: ManagedObject) -> Substring {
      object.objectID.uriRepresentation().lastPathComponent.dropFirst()
    }
    // Which end is under `src` is the store's to choose.
    let source = try count(stand, table, "src = \(key(book)) AND dst = \(key(subjects[0]))") == "1"
    func pair(_ subject: ManagedObject) -> String {
      source ? "(\(key(book)), \(key(subject)))" : "(\(key(subject)), \(key(book)))"
    }
    try stand.sql("DELETE FROM \(table) WHERE (src, dst) = \(pair(subjects[0]))")
    try stand.sql("INSERT INTO \(table) (src, dst) VALUES \(pair(subjects[2]))")
    book.setValue(Set([subjects[2], subjects[3]]), forKey: "subjects")
    try context.save()
    #expect(try count(stand, table) == "2")
    #expect(try count(stand, table, "(src, dst) IN (\(pair(subjects[2])), \(pair(subjects[3])))") == "2")
  }

  // MARK: Batches that are one statement

  private static func notes() -> ManagedObjectModel {
    let note = EntityDescription(
      "Note",
      properties: [
        AttributeDescription("number", .integer64, isOptional: true),
        AttributeDescription("weight", .double, isOptional: true),
      ])
    return ManagedObjectModel(entities: [note])
  }

  @Test(arguments: ["number", "weight"]) func rowsThatABatchUpdates(key: String) throws {
    let stand = try ServerStand(Self.notes())
    let context = stand.context()
    for number in 0..<5 { try context.make("Note", ["number": Int64(number), "weight": Double(number)]) }
    try context.save()
    try keep(stand, stand.table("note"), "UPDATE", when: "OLD.number = 3")
    func update(_ value: any Sendable) throws -> Int? {
      var request = BatchUpdateRequest(entityName: "Note", propertiesToUpdate: [key: value])
      request.resultType = .count
      return try stand.context().execute(request).count
    }
    let (old, new): (any Sendable, any Sendable) = key == "number" ? (Int64(3), Int64(8)) : (3.0, 8.0)
    expectRefusal { _ = try update(new) }
    #expect(try count(stand, stand.table("note"), "\(key) = 8") == "0")
    // The row that the trigger keeps has the value already: nothing has to be written to it.
    #expect(try update(old) == 5)
    #expect(try count(stand, stand.table("note"), "\(key) = 3") == "5")
  }

  @Test func rowsThatABatchDeletes() throws {
    let stand = try ServerStand(Self.notes())
    let context = stand.context()
    for number in 0..<5 { try context.make("Note", ["number": Int64(number)]) }
    try context.save()
    try keep(stand, stand.table("note"), "DELETE", when: "OLD.number = 3")
    expectRefusal {
      _ = try stand.context().execute(
        BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Note")))
    }
    #expect(try count(stand, stand.table("note")) == "5")
  }

  /// In tables of somebody else's as well.
  @Test func rowsOfATableTakenOverThatABatchUpdates() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      CREATE FUNCTION \(stand.shop).keep() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.pages = 7 THEN RETURN NULL; END IF; RETURN NEW; END $$;
      CREATE TRIGGER keeps BEFORE UPDATE ON \(stand.shop)."Book" FOR EACH ROW EXECUTE FUNCTION \(stand.shop).keep();
      """)
    let coordinator = try stand.open()
    func update(_ pages: Int32) throws {
      _ = try stand.context(coordinator).execute(
        BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": pages]))
    }
    expectRefusal { try update(7) }
    #expect(try stand.texts("SELECT count(*)::text FROM \(stand.shop).\"Book\" WHERE pages = 7") == ["0"])
    try update(8)
    #expect(try stand.texts("SELECT count(*)::text FROM \(stand.shop).\"Book\" WHERE pages = 8") == ["3"])
  }

  // MARK: Rows without room

  /// A row has to fit into a page of the server's, but for long texts and data. One row has a statement of its own, others share one.
  @Test(arguments: [1, 10]) func aRowThatIsTooLargeIsNamed(count: Int) throws {
    let names = (0..<1_100).map { "value\($0)" }
    let wide = EntityDescription(
      "Wide", properties: names.map { AttributeDescription($0, .integer64, isOptional: true) })
    let stand = try ServerStand(ManagedObjectModel(entities: [wide]))
    let context = stand.context()
    let objects = try (0..<count).map { _ in try context.make("Wide") }
    for name in names { objects[count - 1].setValue(Int64(1), forKey: name) }
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .tooLarge)
    let name = count == 1 ? "Wide \(objects[0].objectID.uriRepresentation().lastPathComponent)" : "Wide"
    #expect(error?.detail.contains("It is about \(count == 1 ? "" : "an object of ")\(name).") == true)
    // Nil takes no room but a bit.
    for name in names.dropFirst(900) { objects[count - 1].setValue(nil, forKey: name) }
    try context.save()
  }
}
