import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What tables of somebody else's ask of values.
@Suite struct AdoptedRuleTests {
  /// Writers whose address must be there, and is unique.
  private func requiringAddresses(_ stand: AdoptedStand) throws -> PersistentStoreCoordinator {
    try stand.sql(
      """
      UPDATE \(stand.shop).writer SET email = full_name || '@example.org';
      ALTER TABLE \(stand.shop).writer ALTER COLUMN email SET NOT NULL;
      """)
    let model = AdoptedStand.model()
    let writer = try #require(model.entitiesByName["Writer"])
    let email = try #require(writer.attributesByName["email"])
    email.isOptional = false
    return try stand.open(model)
  }

  @Test func uniqueValuesOfSeveralRowsChangeWhereNoneMayBeMissing() throws {
    let stand = try AdoptedStand()
    let store = try requiringAddresses(stand)
    let context = stand.context(store)
    for writer in try context.all("Writer") {
      let name = try #require(writer.value(forKey: "name") as? String)
      writer.setValue("\(name)@example.com", forKey: "email")
    }
    try context.save()
    #expect(
      try stand.texts("SELECT email FROM \(stand.shop).writer ORDER BY id") == [
        "ada@example.com", "Bob@example.com", "cem@example.com",
      ])
  }

  /// The server looks at each row by itself: there is no order in which two rows could exchange what both must have.
  @Test func anExchangeIsRefusedWhereNoneMayBeMissing() throws {
    let stand = try AdoptedStand()
    let store = try requiringAddresses(stand)
    let context = stand.context(store)
    let ada = try #require(try context.all("Writer", Attribute("name") == "ada").first)
    let bob = try #require(try context.all("Writer", Attribute("name") == "Bob").first)
    ada.setValue("Bob@example.org", forKey: "email")
    bob.setValue("ada@example.org", forKey: "email")
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("email") == true)
    #expect(
      try stand.texts("SELECT email FROM \(stand.shop).writer WHERE id = 1") == ["ada@example.org"])
  }

  /// The server cuts off spaces beyond the length of a column, without a word.
  @Test(arguments: [2, 2_000]) func spacesBeyondTheLengthAreNotCutOff(spaces: Int) throws {
    let stand = try AdoptedStand()
    let store = try stand.open()
    let context = stand.context(store)
    let writer = try context.make("Writer", ["name": String(repeating: "ß", count: 80)])
    try context.save()
    writer.setValue(String(repeating: "ß", count: 80) + String(repeating: " ", count: spaces), forKey: "name")
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .invalid && error?.detail.contains("holds 80") == true)
    context.rollback()
    // A program that opens the store later knows it as well.
    for attached in store.persistentStores { try store.remove(attached) }
    let later = stand.context(try stand.open(adopts: false))
    let name = String(repeating: "ß", count: 80)
    let again = try #require(try later.all("Writer", Attribute("name") == name).first)
    again.setValue(name + " ", forKey: "name")
    #expect(throws: StorageError.self) { try later.save() }
  }

  /// The index that the model declares is not made, and the column has an order of its own.
  @Test func beginningsAreComparedByBytesWhateverTheModelDeclares() throws {
    let stand = try AdoptedStand()
    let model = AdoptedStand.model()
    model.entitiesByName["Writer"]?.indexes = [FetchIndexDescription(name: "byName", attributes: ["name"])]
    try stand.sql("INSERT INTO \(stand.shop).writer (full_name) VALUES ('zoe'), ('9 lives')")
    let context = stand.context(try stand.open(model))
    for beginning in ["z", "9", "a"] {
      #expect(try context.all("Writer", Attribute("name").beginsWith(beginning)).count == 1)
    }
  }

  /// Adds a trigger to the books that notes each title in a table, which it calls by its name alone.
  private func noting(_ stand: AdoptedStand, in table: String) throws {
    try stand.sql(
      """
      CREATE TABLE \(stand.shop).noted (title text);
      CREATE FUNCTION \(stand.shop).note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO \(table) VALUES (NEW.title); RETURN NEW; END $$;
      CREATE TRIGGER notes AFTER INSERT ON \(stand.shop)."Book" FOR EACH ROW EXECUTE FUNCTION \(stand.shop).note();
      """)
  }

  @Test func triggersFindTheTablesBesideTheirs() throws {
    let stand = try AdoptedStand()
    try noting(stand, in: "noted")
    let context = stand.context(try stand.open())
    _ = try context.make("Book", ["title": "Looms"])
    try context.save()
    _ = try context.execute(BatchInsertRequest(entityName: "Book", objects: [["title": "Engines"]]))
    #expect(
      try stand.texts("SELECT title FROM \(stand.shop).noted ORDER BY title") == ["Engines", "Looms"])
  }

  @Test func aTriggerThatLooksForWhatIsNotThereIsARefusal() throws {
    let stand = try AdoptedStand()
    try noting(stand, in: "missing")
    let store = try stand.open()
    let context = stand.context(store)
    _ = try context.make("Book", ["title": "Looms"])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("missing") == true)
    context.rollback()
    // The store is in order, and what the trigger does not see is saved.
    _ = try context.make("Writer", ["name": "Dora"])
    try context.save()
    #expect(try stand.texts("SELECT count(*)::int8::text FROM \(stand.shop).writer") == ["4"])
  }
}
