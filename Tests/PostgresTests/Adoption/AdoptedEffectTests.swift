import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What triggers of somebody else's do to other rows than those that are saved, and what they do at the commit only.
@Suite struct AdoptedEffectTests {
  /// Adds a trigger whose function runs `body`.
  private func add(_ stand: AdoptedStand, _ event: String, _ body: String) throws {
    let name = "f" + UUID().uuidString.prefix(8).lowercased()
    try stand.sql(
      """
      CREATE FUNCTION \(stand.shop).\(name)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(body) RETURN NULL; END $$;
      CREATE TRIGGER \(name) \(event.replacing("@", with: stand.shop)) FOR EACH ROW EXECUTE FUNCTION \(stand.shop).\(name)();
      """)
  }

  private func born(_ object: ManagedObject) -> Int64? { object.value(forKey: "born") as? Int64 }
  private func ada(_ context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.all("Writer", Attribute("name") == "ada").first)
  }
  private func notes(_ context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.all("Book", Attribute("title") == "Notes").first)
  }
  private func stored(_ stand: AdoptedStand) throws -> [String] {
    try stand.texts("SELECT full_name, born FROM \(stand.shop).writer WHERE id = 1")
  }

  /// Saves of the books change writers: later saves of these are conflicts, as after changes of the other program.
  @Test(arguments: ["UPDATE", "INSERT", "DELETE"])
  func aRowThatATriggerChangesIsAConflict(event: String) throws {
    let stand = try AdoptedStand()
    try add(
      stand, "AFTER \(event) ON @.\"Book\"",
      "UPDATE writer SET born = 1900 WHERE id = \(event == "DELETE" ? "OLD" : "NEW").writer_id;")
    let context = stand.context(try stand.open())
    let (ada, notes) = (try ada(context), try notes(context))
    #expect(born(ada) == 1815)
    switch event {
    case "UPDATE": notes.setValue(Int32(66), forKey: "pages")
    case "INSERT": try context.make("Book", ["title": "new", "writer": ada])
    default: context.delete(notes)
    }
    try context.save()
    ada.setValue(Int32(1816), forKey: "born")
    #expect(throws: CoreDataError.self) { try context.save() }
    #expect(try stored(stand) == ["ada 1900"])
    context.refresh(ada, mergeChanges: false)
    #expect(born(ada) == 1900)
    ada.setValue(Int32(1816), forKey: "born")
    try context.save()
    #expect(try stored(stand) == ["ada 1816"])
  }

  /// What foreign keys do by themselves is read back, and neither a batch nor a later save takes it for somebody else's change.
  @Test func actionsOfForeignKeysAreNoConflict() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      CREATE TABLE \(stand.shop).emp (id serial PRIMARY KEY, name text, code integer UNIQUE,
        boss integer REFERENCES \(stand.shop).emp (code) ON UPDATE CASCADE);
      INSERT INTO \(stand.shop).emp (name, code, boss) VALUES ('a', 1, NULL), ('b', 2, 1), ('c', 3, 2), ('d', 4, 3);
      """)
    let numbers = ["code", "boss"].map { AttributeDescription($0, .integer32, isOptional: true) }
    let emp = EntityDescription(
      "Emp", properties: [AttributeDescription("name", .string, isOptional: true)] + numbers,
      uniquenessConstraints: [["code"]])
    let context = stand.context(try stand.open(ManagedObjectModel(entities: [emp])))
    let more = try FetchExpression(format: "code + 100")
    _ = try context.execute(BatchUpdateRequest(entityName: "Emp", propertiesToUpdate: ["code": more]))
    let all = "SELECT code, boss FROM \(stand.shop).emp ORDER BY id"
    #expect(try stand.texts(all) == ["101 –", "102 101", "103 102", "104 103"])
    func code(_ emp: ManagedObject) -> Int64 { emp.value(forKey: "code") as? Int64 ?? 0 }
    let emps = try context.all("Emp").sorted { code($0) < code($1) }
    for (place, emp) in emps.enumerated() { emp.setValue(Int32(201 + place), forKey: "code") }
    try context.save()
    #expect(emps.map { $0.value(forKey: "boss") as? Int64 } == [nil, 201, 202, 203])
    for emp in emps { emp.setValue("z", forKey: "name") }
    try context.save()
    #expect(try stand.texts(all) == ["201 –", "202 201", "203 202", "204 203"])
  }

  /// What the model does not name is nobody's conflict.
  @Test func aColumnBesideTheModelIsNoConflict() throws {
    let stand = try AdoptedStand()
    try add(
      stand, "AFTER UPDATE ON @.\"Book\"",
      "UPDATE writer SET note = '[1]', born = born WHERE id = NEW.writer_id;")
    let context = stand.context(try stand.open())
    let (ada, notes) = (try ada(context), try notes(context))
    #expect(born(ada) == 1815)
    notes.setValue(Int32(66), forKey: "pages")
    try context.save()
    ada.setValue(Int32(1816), forKey: "born")
    try context.save()
    #expect(try stored(stand) == ["ada 1816"])
    #expect(try stand.texts("SELECT note::text FROM \(stand.shop).writer WHERE id = 1") == ["[1]"])
  }

  /// One save changes rows and, by triggers, each other's. One row has a statement of its own, many share one.
  @Test(arguments: [1, 30], ["writer", "Book"])
  func rowsOfTheSameSaveAreNoConflict(count: Int, table: String) throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      INSERT INTO \(stand.shop).writer (full_name) SELECT 'w' || n FROM generate_series(1, \(count)) n;
      INSERT INTO \(stand.shop)."Book" (title, pages, writer_id) SELECT 'w', 1, id FROM \(stand.shop).writer WHERE full_name LIKE 'w%';
      """)
    try add(
      stand, "AFTER UPDATE ON @.\"\(table)\"",
      table == "writer"
        ? "UPDATE \"Book\" SET pages = pages + 100 WHERE writer_id = NEW.id;"
        : "UPDATE writer SET born = COALESCE(born, 0) + 100 WHERE id = NEW.writer_id;")
    let context = stand.context(try stand.open())
    let books = try context.all("Book", Attribute("title") == "w")
    let writers = try books.map { try #require($0.value(forKey: "writer") as? ManagedObject) }
    #expect(writers.count == count && writers.allSatisfy { born($0) == nil })
    for round in 1...3 {
      for object in books { object.setValue(Decimal(round), forKey: "price") }
      for object in writers { object.setValue("v\(round)", forKey: "name") }
      try context.save()
      for (book, writer) in zip(books, writers) {
        if table == "writer" {
          #expect(book.value(forKey: "pages") as? Int64 == Int64(1 + 100 * round) && born(writer) == nil)
        } else {
          #expect(born(writer) == Int64(100 * round) && book.value(forKey: "pages") as? Int64 == 1)
        }
        #expect(book.value(forKey: "price") as? Decimal == Decimal(round))
        #expect(writer.value(forKey: "name") as? String == "v\(round)")
      }
    }
    #expect(!context.hasChanges)
  }

  /// What others change meanwhile stays a conflict in a save whose triggers change the same row.
  @Test func whatOthersHaveChangedIsAConflictAllTheSame() throws {
    let stand = try AdoptedStand()
    try add(
      stand, "AFTER UPDATE ON @.\"Book\"", "UPDATE writer SET born = 1900 WHERE id = NEW.writer_id;")
    let context = stand.context(try stand.open())
    let (ada, notes) = (try ada(context), try notes(context))
    #expect(born(ada) == 1815)
    try stand.sql("UPDATE \(stand.shop).writer SET email = 'other' WHERE id = 1")
    notes.setValue(Int32(66), forKey: "pages")
    ada.setValue("Ada", forKey: "name")
    #expect(throws: CoreDataError.self) { try context.save() }
    #expect(try stored(stand) == ["ada 1815"])
  }

  /// A trigger that changes the row once more that was saved.
  @Test(arguments: ["TRIGGER $ AFTER", "CONSTRAINT TRIGGER $ AFTER"], ["", "DEFERRABLE INITIALLY DEFERRED"])
  func aSecondChangeOfTheSameRowIsSeen(kind: String, timing: String) throws {
    if kind.hasPrefix("TRIGGER"), !timing.isEmpty { return }
    let stand = try AdoptedStand()
    try stand.sql(
      """
      CREATE FUNCTION \(stand.shop).second() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN UPDATE writer SET born = length(NEW.full_name) WHERE id = NEW.id AND born IS DISTINCT FROM length(NEW.full_name); RETURN NULL; END $$;
      CREATE \(kind.replacing("$", with: "seconds")) INSERT OR UPDATE ON \(stand.shop).writer \(timing) FOR EACH ROW EXECUTE FUNCTION \(stand.shop).second();
      """)
    let context = stand.context(try stand.open())
    let writers = try (1...20).map { try context.make("Writer", ["name": String(repeating: "x", count: $0)]) }
    try context.save()
    for (place, writer) in writers.enumerated() { #expect(born(writer) == Int64(place + 1)) }
    for writer in writers {
      writer.setValue((writer.value(forKey: "name") as? String ?? "") + "y", forKey: "name")
    }
    try context.save()
    for (place, writer) in writers.enumerated() { #expect(born(writer) == Int64(place + 2)) }
    writers[0].setValue("12345", forKey: "name")
    try context.save()
    #expect(born(writers[0]) == 5 && !context.hasChanges)
  }

  /// Saves of several contexts share a transaction, and deferred references are looked at when all rows of a save are there.
  @Test func deferredTriggersOfSavesThatShareATransaction() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      CREATE FUNCTION \(stand.shop).late() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN UPDATE "Book" SET pages = 7 WHERE nr = NEW.nr AND pages IS NULL; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON \(stand.shop)."Book" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION \(stand.shop).late();
      """)
    let store = try stand.open()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<6 {
        do {
          let context = stand.context(store)
          let book = try context.make("Book", ["title": "\(thread)-\(number)"])
          // The writer is written behind the book, perhaps.
          book.setValue(try context.make("Writer", ["name": "\(thread)-\(number)"]), forKey: "writer")
          try context.save()
          #expect(book.value(forKey: "pages") as? Int64 == 7)
          book.setValue(Int32(8), forKey: "pages")
          try context.save()
        } catch { Issue.record(error) }
      }
    }
    #expect(try stand.texts("SELECT count(*)::text FROM \(stand.shop).\"Book\" WHERE pages = 8") == ["48"])
  }

  /// Rows of a batch have a statement each, or share one: triggers change those that are still to come.
  @Test(arguments: [3, 30]) func rowsOfTheSameBatchAreNoConflict(count: Int) throws {
    let stand = try AdoptedStand()
    try stand.sql(
      "INSERT INTO \(stand.shop).\"Book\" (title) SELECT 'b' FROM generate_series(1, \(count - 3)); UPDATE \(stand.shop).\"Book\" SET price = NULL"
    )
    try add(
      stand, "AFTER UPDATE ON @.\"Book\"",
      "IF pg_trigger_depth() = 1 THEN UPDATE \"Book\" SET price = COALESCE(price, 0) + 1 WHERE nr <> NEW.nr; END IF;"
    )
    let context = stand.context(try stand.open())
    _ = try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "all"]))
    #expect(
      try stand.texts(
        "SELECT count(*)::text, min(price)::text, max(price)::text FROM \(stand.shop).\"Book\" WHERE title = 'all'"
      ) == ["\(count) \(count - 1) \(count - 1)"])
  }

  /// What a deferred trigger refuses.
  @Test func aRefusalAtTheCommitIsTold() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      CREATE FUNCTION \(stand.shop).refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.born = 0 THEN RAISE EXCEPTION 'nobody is born then'; END IF; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER refuses AFTER INSERT OR UPDATE ON \(stand.shop).writer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION \(stand.shop).refuse();
      """)
    let context = stand.context(try stand.open())
    let writer = try context.make("Writer", ["name": "dora", "born": Int32(0)])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("nobody is born then") == true)
    writer.setValue(Int32(1), forKey: "born")
    try context.save()
    #expect(try stand.texts("SELECT count(*)::text FROM \(stand.shop).writer") == ["4"])
  }

  /// Tables that an earlier version has taken over have no such trigger: the next opening adds it.
  @Test func tablesThatWereTakenOverEarlierGetTheTrigger() throws {
    let stand = try AdoptedStand()
    let first = try stand.open()
    for part in first.persistentStores { try first.remove(part) }
    let shape = try stand.shape()
    let trigger = Identifier.quoted(AdoptedTable.effectTrigger)
    try stand.sql(
      "DROP TRIGGER \(trigger) ON \(stand.shop).writer; DROP TRIGGER \(trigger) ON \(stand.shop).\"Book\";")
    #expect(try stand.shape() != shape)
    let second = try stand.open(adopts: false)
    #expect(try stand.shape() == shape)
    for part in second.persistentStores { try second.remove(part) }
    // And takes it away with everything else.
    try PostgresStores.destroy(at: stand.url)
    #expect(try stand.shape().filter { $0.contains("strata") } == [])
  }
}
