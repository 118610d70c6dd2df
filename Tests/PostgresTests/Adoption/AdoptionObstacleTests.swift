import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What tables are or have beside their columns that keeps them from being taken over.
@Suite struct AdoptionObstacleTests {
  @Test(arguments: [
    ("CREATE TABLE $.novelist (pen text) INHERITS ($.writer)", "has tables that inherit from it"),
    ("CREATE RULE keeps AS ON DELETE TO $.writer DO INSTEAD NOTHING", "has rules"),
    ("ALTER TABLE $.writer ENABLE ROW LEVEL SECURITY", "has row level security"),
    (
      """
      ALTER TABLE $."Book" DROP CONSTRAINT "Book_writer_id_fkey"; DROP TABLE $.writer;
      CREATE TABLE $.people (id serial PRIMARY KEY, full_name varchar(80) NOT NULL, born integer, email text)
        PARTITION BY RANGE (id);
      CREATE TABLE $.writer PARTITION OF $.people FOR VALUES FROM (1) TO (1000)
      """, "is a partition of another table"
    ),
  ]) func theyAreNamed(change: String, words: String) throws {
    let stand = try AdoptedStand()
    try stand.sql(change.replacing("$", with: stand.shop))
    let before = try stand.shape()
    let error = #expect(throws: StorageError.self) { try stand.open() }
    #expect(error?.kind == .invalid && error?.detail.contains("“writer” \(words)") == true)
    #expect(try stand.shape() == before)
  }
}
