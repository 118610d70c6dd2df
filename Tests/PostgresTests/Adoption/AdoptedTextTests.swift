import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Texts in columns of somebody else's are compared as those in memory are.
@Suite struct AdoptedTextTests {
  private static let names = ["ab", "ab ", "ab  ", "AB", "abc", "a_c", "äb", "b", "", " "]

  @Test(arguments: ["text", "varchar", "varchar(40)", "varchar(40) COLLATE \"C\""])
  func answersAreThoseOfMemory(type: String) throws {
    let stand = try AdoptedStand()
    try stand.sql("ALTER TABLE \(stand.shop).writer ALTER COLUMN full_name TYPE \(type)")
    let memory = PersistentStoreCoordinator(managedObjectModel: AdoptedStand.model())
    try memory.addPersistentStore(.inMemory)
    try stand.sql("DELETE FROM \(stand.shop).\"Book\"; DELETE FROM \(stand.shop).writer")
    let coordinator = try stand.open()
    for coordinator in [memory, coordinator] {
      let context = stand.context(coordinator)
      for name in Self.names { try context.make("Writer", ["name": name]) }
      try context.save()
    }
    let (wanted, reader) = (stand.context(memory), stand.context(coordinator))
    func names(_ context: ManagedObjectContext, _ condition: String) throws -> [String] {
      let predicate = try FetchPredicate(format: condition)
      return try context.all("Writer", by: "name", predicate).map {
        $0.value(forKey: "name") as? String ?? "nil"
      }
    }
    for condition in [
      "name == 'ab'", "name == 'ab '", "name != 'ab'", "name > 'ab'", "name >= 'ab '", "name < 'ab '",
      "name <= 'ab'", "name IN {'ab ', 'b', ''}", "name LIKE 'ab'", "name LIKE 'ab*'", "name LIKE '*b '",
      "name LIKE 'a_c'", "name LIKE 'ab?'", "name BEGINSWITH 'ab '", "name ENDSWITH ' '",
      "name CONTAINS 'b '", "name ==[c] 'ab'", "name BEGINSWITH[cd] 'AB'", "name BETWEEN {'ab', 'ab '}",
      "name == ''", "name == ' '",
    ] {
      #expect(try names(reader, condition) == names(wanted, condition), "\(condition)")
    }
  }

  /// The statements that a store sends find rows by the index that is there.
  @Test func indexesOfTheTablesAreUsed() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      ALTER TABLE \(stand.shop).writer ALTER COLUMN full_name TYPE varchar(40) COLLATE "default";
      CREATE INDEX by_name ON \(stand.shop).writer (full_name);
      INSERT INTO \(stand.shop).writer (full_name) SELECT 'n' || n FROM generate_series(1, 20000) n;
      ANALYZE \(stand.shop).writer;
      """)
    let context = stand.context(try stand.open())
    for condition in ["name == 'n5'", "name IN {'n5', 'n6'}", "name BEGINSWITH 'n500'", "name < 'a'"] {
      let request = FetchRequest<ManagedObject>(
        entityName: "Writer", predicate: try FetchPredicate(format: condition))
      let explanation = try context.explain(request)
      #expect("\(explanation)".contains("by_name"), "\(condition)")
    }
  }

  /// The server fills such columns up with blanks, and leaves them out when it compares.
  @Test func columnsOfAFixedLengthAreRefused() throws {
    let stand = try AdoptedStand()
    try stand.sql("ALTER TABLE \(stand.shop).writer ALTER COLUMN full_name TYPE char(20)")
    let error = #expect(throws: StorageError.self) { try stand.open() }
    #expect(error?.kind == .invalid)
    for part in ["“full_name” of “writer”", "character(20)", "text or character varying"] {
      #expect(error?.detail.contains(part) == true)
    }
  }
}
