import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Rows that take values over from each other which must be unique and may not be empty, in tables of somebody else's.
@Suite struct AdoptedExchangeTests {
  /// - Parameter count: How many writers there are besides the three of the stand.
  private func open(_ stand: AdoptedStand, isDeferrable: Bool = false, more count: Int = 0) throws
    -> (context: ManagedObjectContext, writers: [ManagedObject])
  {
    try stand.sql(
      """
      INSERT INTO \(stand.shop).writer (full_name) SELECT 'w' || n FROM generate_series(1, \(count)) n;
      UPDATE \(stand.shop).writer SET email = 'e' || id;
      ALTER TABLE \(stand.shop).writer ALTER COLUMN email SET NOT NULL;
      """)
    if isDeferrable {
      try stand.sql(
        "ALTER TABLE \(stand.shop).writer DROP CONSTRAINT writer_email_key, ADD UNIQUE (email) DEFERRABLE")
    }
    let model = AdoptedStand.model()
    let email = try #require(model.entitiesByName["Writer"]?.attributesByName["email"])
    email.isOptional = false
    let context = stand.context(try stand.open(model))
    return (context, try context.all("Writer").sorted { Self.number($0) < Self.number($1) })
  }

  private static func number(_ writer: ManagedObject) -> Int {
    (writer.value(forKey: "email") as? String).flatMap { Int($0.dropFirst()) } ?? 0
  }

  private func emails(_ stand: AdoptedStand) throws -> [String] {
    try stand.texts("SELECT email FROM \(stand.shop).writer ORDER BY id")
  }

  @Test(arguments: [0, 20]) func aDeferrableConstraintLetsThemExchange(more: Int) throws {
    let stand = try AdoptedStand()
    let (context, writers) = try open(stand, isDeferrable: true, more: more)
    let before = try emails(stand)
    // Everybody takes the next one's, in a circle.
    for (writer, email) in zip(writers, before.dropFirst() + before.prefix(1)) {
      writer.setValue(email, forKey: "email")
    }
    try context.save()
    #expect(try emails(stand) == Array(before.dropFirst() + before.prefix(1)))
    // Values that are there twice are refused as ever.
    writers[0].setValue("e1", forKey: "email")
    #expect(throws: (any Error).self) { try context.save() }
  }

  @Test(arguments: [0, 20]) func aRowGivesItsValueUpBeforeAnotherTakesIt(more: Int) throws {
    let stand = try AdoptedStand()
    let (context, writers) = try open(stand, more: more)
    let before = try emails(stand)
    for (writer, email) in zip(writers, before.dropFirst() + ["new"]) {
      writer.setValue(email, forKey: "email")
    }
    try context.save()
    #expect(try emails(stand) == Array(before.dropFirst()) + ["new"])
    // The other way round, with values of their own besides.
    for (writer, email) in zip(writers, ["first"] + before.dropFirst()) {
      writer.setValue(email, forKey: "email")
      writer.setValue(Int32(1), forKey: "born")
    }
    try context.save()
    #expect(try emails(stand) == ["first"] + before.dropFirst())
  }

  @Test func aCircleIsRefusedWithItsColumn() throws {
    let stand = try AdoptedStand()
    let (context, writers) = try open(stand)
    let before = try emails(stand)
    for (writer, email) in zip(writers, before.dropFirst() + before.prefix(1)) {
      writer.setValue(email, forKey: "email")
    }
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused)
    for part in ["email", "“writer”", "DEFERRABLE"] { #expect(error?.detail.contains(part) == true) }
    #expect(try emails(stand) == before)
    // In two steps it works.
    writers[2].setValue("between", forKey: "email")
    try context.save()
    writers[2].setValue("e1", forKey: "email")
    try context.save()
    #expect(try emails(stand) == ["e2", "e3", "e1"])
  }

  /// Columns that are not NOT NULL, and that no null stays in all the same.
  @Test(arguments: [
    "ALTER TABLE {shop}.writer ADD CHECK (email IS NOT NULL)",
    "ALTER TABLE {shop}.writer ADD CHECK (length(COALESCE(email, '')) > 0)",
    """
    CREATE FUNCTION {shop}.fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.email := COALESCE(NEW.email, 'none'); RETURN NEW; END $$;
    CREATE TRIGGER fills BEFORE UPDATE ON {shop}.writer FOR EACH ROW EXECUTE FUNCTION {shop}.fill();
    """,
  ]) func aChainNeedsNoNulls(words: String) throws {
    let stand = try AdoptedStand()
    try stand.sql("UPDATE \(stand.shop).writer SET email = 'e' || id")
    try stand.sql(words.replacingOccurrences(of: "{shop}", with: stand.shop))
    let context = stand.context(try stand.open())
    let writers = try context.all("Writer").sorted { Self.number($0) < Self.number($1) }
    for (writer, email) in zip(writers, ["e2", "e3", "e4"]) { writer.setValue(email, forKey: "email") }
    try context.save()
    #expect(try emails(stand) == ["e2", "e3", "e4"])
    for (writer, email) in zip(writers, ["e1", "e2", "e3"]) { writer.setValue(email, forKey: "email") }
    try context.save()
    #expect(try emails(stand) == ["e1", "e2", "e3"])
  }

  /// A column that its owner has renamed: what it must have is not known any more.
  @Test func aChainInARenamedColumn() throws {
    let stand = try AdoptedStand()
    let (context, writers) = try open(stand)
    try stand.sql("ALTER TABLE \(stand.shop).writer RENAME COLUMN email TO address")
    for (writer, email) in zip(writers, ["e2", "e3", "e4"]) { writer.setValue(email, forKey: "email") }
    try context.save()
    #expect(try stand.texts("SELECT address FROM \(stand.shop).writer ORDER BY id") == ["e2", "e3", "e4"])
  }

  /// Circles, a chain into one of them, and one out of it.
  @Test func circlesOfColumnsThatMayBeNull() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      INSERT INTO \(stand.shop).writer (full_name) SELECT 'w' || n FROM generate_series(4, 12) n;
      UPDATE \(stand.shop).writer SET email = 'e' || id;
      """)
    let context = stand.context(try stand.open())
    let writers = try context.all("Writer").sorted { Self.number($0) < Self.number($1) }
    // 1 and 2; 3, 4 and 5; 7 takes what 6 has, 8 what 7 has; 9 to 12 all around.
    let taken = [2, 1, 4, 5, 3, 20, 6, 7, 10, 11, 12, 9].map { "e\($0)" }
    for (writer, email) in zip(writers, taken) { writer.setValue(email, forKey: "email") }
    try context.save()
    #expect(try emails(stand) == taken)
  }

  /// Values that lie outside of rows in memory.
  @Test func largeValuesInACircle() throws {
    let stand = try AdoptedStand()
    try stand.sql("UPDATE \(stand.shop).writer SET email = repeat(id::text, 1500)")
    let context = stand.context(try stand.open())
    let writers = try context.all("Writer")
    let emails = writers.map { $0.value(forKey: "email") as? String }
    for (writer, email) in zip(writers, emails.dropFirst() + emails.prefix(1)) {
      writer.setValue(email, forKey: "email")
    }
    try context.save()
    let another = stand.context(try #require(context.persistentStoreCoordinator))
    #expect(Set(try another.all("Writer").map { $0.value(forKey: "email") as? String }) == Set(emails))
    for (writer, email) in zip(writers, ["short", "shorter", nil]) { writer.setValue(email, forKey: "email") }
    try context.save()
    // They are large for the store, too, from here on.
    for (writer, email) in zip(writers, emails) { writer.setValue(email, forKey: "email") }
    try context.save()
    for (writer, email) in zip(writers, emails.dropFirst() + emails.prefix(1)) {
      writer.setValue(email, forKey: "email")
    }
    try context.save()
    #expect(
      try stand.texts(
        "SELECT count(DISTINCT email)::text FROM \(stand.shop).writer WHERE length(email) = 1500")
        == ["3"])
  }

  @Test func theColumnsOfACircleAreThoseThatChange() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      ALTER TABLE \(stand.shop).writer DROP CONSTRAINT writer_email_key;
      UPDATE \(stand.shop).writer SET email = 'e', born = id;
      ALTER TABLE \(stand.shop).writer ALTER COLUMN born SET NOT NULL, ADD UNIQUE (email, born);
      """)
    let model = AdoptedStand.model()
    let entity = try #require(model.entitiesByName["Writer"])
    entity.uniquenessConstraints = [["email", "born"]]
    try #require(entity.attributesByName["born"]).isOptional = false
    let context = stand.context(try stand.open(model))
    func born(_ writer: ManagedObject) -> Int64 { writer.value(forKey: "born") as? Int64 ?? 0 }
    let writers = try context.all("Writer").sorted { born($0) < born($1) }
    for (writer, year) in zip(writers, [2, 3, 1]) { writer.setValue(Int32(year), forKey: "born") }
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("values of born in “writer”") == true)
    // With the other column they may be empty for a moment.
    for writer in writers { writer.setValue("f", forKey: "email") }
    try context.save()
    #expect(
      try stand.texts("SELECT email || born FROM \(stand.shop).writer ORDER BY id") == ["f2", "f3", "f1"])
  }

  /// Writers whose addresses are unique, and by whose index NULL is an address as others.
  private func openTakingNulls(_ stand: AdoptedStand, _ addresses: [String?]) throws
    -> (context: ManagedObjectContext, writers: [ManagedObject])
  {
    let values = addresses.enumerated()
      .map { "('w\($0.offset)', \($0.element.map { "'\($0)'" } ?? "NULL"))" }.joined(separator: ", ")
    try stand.sql(
      """
      DELETE FROM \(stand.shop)."Book"; DELETE FROM \(stand.shop).writer;
      INSERT INTO \(stand.shop).writer (full_name, email) VALUES \(values);
      ALTER TABLE \(stand.shop).writer DROP CONSTRAINT writer_email_key, ADD UNIQUE NULLS NOT DISTINCT (email);
      """)
    let context = stand.context(try stand.open())
    let writers = try context.all("Writer").sorted {
      ($0.value(forKey: "name") as? String ?? "") < ($1.value(forKey: "name") as? String ?? "")
    }
    return (context, writers)
  }

  /// The server's versions from 15 on have NULLS NOT DISTINCT.
  private static func takesNulls() throws -> Bool {
    let version = try AdoptedStand().texts("SELECT current_setting('server_version_num')")
    return (version.first.flatMap { Int($0) } ?? 0) >= 150_000
  }

  /// Two circles and a chain, whose rows pass through NULL one after the other.
  @Test(.enabled { try Self.takesNulls() }) func circlesWhereNullIsAValueAsOthers() throws {
    let stand = try AdoptedStand()
    let (context, writers) = try openTakingNulls(stand, (1...9).map { "e\($0)" })
    let taken = [2, 1, 4, 5, 3, 20, 6, 9, 8].map { "e\($0)" }
    for (writer, email) in zip(writers, taken) { writer.setValue(email, forKey: "email") }
    try context.save()
    #expect(try emails(stand) == taken)
    // A chain needs no NULL: another row may have it.
    writers[8].setValue(nil, forKey: "email")
    try context.save()
    writers[0].setValue("new", forKey: "email")
    writers[1].setValue("e2", forKey: "email")
    try context.save()
    #expect(
      try stand.texts("SELECT email FROM \(stand.shop).writer ORDER BY full_name LIMIT 2") == ["new", "e2"])
  }

  @Test(.enabled { try Self.takesNulls() }, .timeLimit(.minutes(2)))
  func aSecondNullIsRefusedWithItsIndex() throws {
    let stand = try AdoptedStand()
    let (context, writers) = try openTakingNulls(stand, ["e1", "e2", nil])
    func requireRefusal() throws {
      let error = #expect(throws: StorageError.self) { try context.save() }
      #expect(error?.kind == .refused)
      for part in ["“writer_email_key”", "“writer”", "NULLS NOT DISTINCT", "DEFERRABLE"] {
        #expect(error?.detail.contains(part) == true, "\(error?.detail ?? "")")
      }
    }
    // In a circle, as a new row, and as a changed one.
    writers[0].setValue("e2", forKey: "email")
    writers[1].setValue("e1", forKey: "email")
    try requireRefusal()
    context.rollback()
    let another = try context.make("Writer", ["name": "w9"])
    try requireRefusal()
    context.delete(another)
    writers[0].setValue(nil, forKey: "email")
    try requireRefusal()
    writers[2].setValue("e3", forKey: "email")
    try context.save()
    #expect(try stand.texts("SELECT email FROM \(stand.shop).writer ORDER BY id") == ["–", "e2", "e3"])
    // NULL itself in a circle.
    writers[0].setValue("e2", forKey: "email")
    writers[1].setValue(nil, forKey: "email")
    try requireRefusal()
  }
}
