import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Objects show what triggers of somebody else's have made of their values, as soon as they are saved.
@Suite struct AdoptedTriggerTests {
  /// Names without spaces at their ends, and the year of birth 1900 unless it is 2000.
  private func tidying(_ stand: AdoptedStand, _ table: String = "writer") throws {
    let assignments =
      table == "writer"
      ? "NEW.full_name := trim(NEW.full_name); IF NEW.born IS DISTINCT FROM 2000 THEN NEW.born := 1900; END IF;"
      : "NEW.title := upper(NEW.title);"
    try stand.sql(
      """
      CREATE FUNCTION \(stand.shop).tidy() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN \(assignments) RETURN NEW; END $$;
      CREATE TRIGGER tidies BEFORE INSERT OR UPDATE ON \(stand.shop)."\(table)" FOR EACH ROW EXECUTE FUNCTION \(stand.shop).tidy();
      """)
  }

  private func born(_ object: ManagedObject) -> Int64? { object.value(forKey: "born") as? Int64 }

  /// One row has a statement of its own, many share one.
  @Test(arguments: [1, 30]) func savedObjectsShowWhatIsStored(count: Int) throws {
    let stand = try AdoptedStand()
    try tidying(stand)
    let context = stand.context(try stand.open())
    let writers = try (0..<count).map { try context.make("Writer", ["name": "  Dora \($0) "]) }
    try context.save()
    for (number, writer) in writers.enumerated() {
      #expect(writer.value(forKey: "name") as? String == "Dora \(number)" && born(writer) == 1900)
    }
    #expect(!context.hasChanges)
    for (number, writer) in writers.enumerated() { writer.setValue(" Eve \(number)", forKey: "name") }
    try context.save()
    for (number, writer) in writers.enumerated() {
      #expect(writer.value(forKey: "name") as? String == "Eve \(number)")
    }
    // What is saved next is based on the row as it is.
    for writer in writers { writer.setValue(Int32(2000), forKey: "born") }
    try context.save()
    #expect(
      try stand.texts(
        "SELECT count(*)::text FROM \(stand.shop).writer WHERE full_name LIKE 'Eve%' AND born = 2000")
        == ["\(count)"])
  }

  @Test func largeValuesAreReadWhenTheyAreUsed() throws {
    let stand = try AdoptedStand()
    try tidying(stand, "Book")
    let context = stand.context(try stand.open())
    let text = String(repeating: "long ", count: 1_000)
    let book = try context.make("Book", ["title": text])
    try context.save()
    #expect(book.value(forKey: "title") as? String == text.uppercased())
    book.setValue("short", forKey: "title")
    try context.save()
    #expect(book.value(forKey: "title") as? String == "SHORT")
  }

  /// What a trigger makes longer than rows in memory have it is not among the large values that the store has written.
  @Test(arguments: [1, 10]) func aValueThatATriggerMakesLongIsThere(count: Int) throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      CREATE FUNCTION \(stand.shop).lengthen() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.title := repeat('long ', 1000); RETURN NEW; END $$;
      CREATE TRIGGER lengthens BEFORE INSERT OR UPDATE ON \(stand.shop)."Book" FOR EACH ROW EXECUTE FUNCTION \(stand.shop).lengthen();
      """)
    let coordinator = try stand.open()
    let context = stand.context(coordinator)
    let (long, cover) = (5_000, Data(repeating: 7, count: 5_000))
    let books = try (0..<count).map { try context.make("Book", ["title": "\($0)", "cover": cover]) }
    try context.save()
    for book in books {
      #expect((book.value(forKey: "title") as? String)?.count == long)
      #expect(book.value(forKey: "cover") as? Data == cover)
    }
    let other = stand.context(coordinator)
    let found = try other.all("Book").filter { $0.value(forKey: "cover") != nil }
    #expect(found.count == count)
    for book in found {
      #expect((book.value(forKey: "title") as? String)?.count == long)
      #expect(book.value(forKey: "cover") as? Data == cover)
    }
    // Once more, on top of what the trigger has made.
    for book in books { book.setValue(Int32(9), forKey: "pages") }
    try context.save()
    for book in books { #expect((book.value(forKey: "title") as? String)?.count == long) }
    #expect(
      try stand.texts(
        "SELECT count(*)::text FROM \(stand.shop).\"Book\" WHERE pages = 9 AND length(title) = 5000")
        == ["\(count)"])
  }

  /// The table of the value has no trigger itself.
  @Test func aValueThatAnotherTablesTriggerMakesLongIsThere() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      DROP TRIGGER stamps ON \(stand.shop)."Book";
      CREATE FUNCTION \(stand.shop).lengthen() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN UPDATE "Book" SET title = repeat('long ', 1000) WHERE writer_id = NEW.id; RETURN NEW; END $$;
      CREATE TRIGGER lengthens AFTER UPDATE ON \(stand.shop).writer FOR EACH ROW EXECUTE FUNCTION \(stand.shop).lengthen();
      """)
    let coordinator = try stand.open()
    let context = stand.context(coordinator)
    let (writer, cover) = (try context.make("Writer", ["name": "dora"]), Data(repeating: 7, count: 5_000))
    _ = try context.make("Book", ["title": "short", "cover": cover, "pages": Int32(9), "writer": writer])
    try context.save()
    writer.setValue("eve", forKey: "name")
    try context.save()
    let other = stand.context(coordinator)
    let book = try #require(try other.all("Book", Attribute("pages") == 9).first)
    #expect((book.value(forKey: "title") as? String)?.count == 5_000)
    #expect(book.value(forKey: "cover") as? Data == cover)
  }

  /// A trigger that returns nothing keeps the row without a word.
  @Test(arguments: [1, 30]) func aNewRowThatATriggerKeepsIsNotSaved(count: Int) throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      CREATE FUNCTION \(stand.shop).keep() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.born = 0 THEN RETURN NULL; END IF; RETURN NEW; END $$;
      CREATE TRIGGER keeps BEFORE INSERT ON \(stand.shop).writer FOR EACH ROW EXECUTE FUNCTION \(stand.shop).keep();
      """)
    let context = stand.context(try stand.open())
    let writers = try (0..<count).map { number in
      try context.make("Writer", ["name": "w\(number)", "born": Int32(number == count - 1 ? 0 : 1)])
    }
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("a trigger") == true)
    #expect(context.insertedObjects.count == count)
    #expect(try stand.texts("SELECT count(*)::text FROM \(stand.shop).writer") == ["3"])
    for writer in writers { writer.setValue(Int32(2), forKey: "born") }
    try context.save()
    #expect(try stand.texts("SELECT count(*)::text FROM \(stand.shop).writer") == ["\(3 + count)"])
  }

  /// Saves that wait for each other share a transaction.
  @Test func savesOfSeveralContextsAtOnce() throws {
    let stand = try AdoptedStand()
    try tidying(stand)
    let store = try stand.open()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<10 {
        do {
          let context = stand.context(store)
          let writer = try context.make("Writer", ["name": " \(thread)-\(number) "])
          try context.save()
          #expect(writer.value(forKey: "name") as? String == "\(thread)-\(number)" && born(writer) == 1900)
        } catch { Issue.record(error) }
      }
    }
  }

  /// Rows are read in the round trip that writes them.
  @Test(arguments: [false, true]) func itTakesNoRoundTripMore(hasTrigger: Bool) throws {
    let stand = try AdoptedStand()
    if hasTrigger { try tidying(stand) }
    let model = AdoptedStand.model()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var options = PostgresStoreOptions()
    options.adoptsTables = stand.shop
    let store = try PostgresStore(url: stand.url, schema: try model.schema(), options: options)
    try coordinator.attach(store)
    let context = stand.context(coordinator)
    let writer = try context.make("Writer", ["name": "Dora "])
    try context.save()
    let before = store.roundTrips
    writer.setValue("Eve ", forKey: "name")
    try context.save()
    #expect(store.roundTrips - before == 1)
    #expect(writer.value(forKey: "name") as? String == (hasTrigger ? "Eve" : "Eve "))
    for attached in coordinator.persistentStores { try coordinator.remove(attached) }
  }
}
