import Foundation

/// What a save of one new row costs by hand, with libpq alone, on tables like the store's.
struct SaveFloor {
  private let plain: Plain
  private let keys = Keys()
  private static let schema = "strata_floor"

  /// Keys that no row has.
  private final class Keys {
    var last = 0

    func next() -> Int {
      last += 1
      return last
    }
  }

  init(_ plain: Plain) {
    self.plain = plain
    let schema = Self.schema
    plain.run("SET client_min_messages = warning")
    plain.run("DROP SCHEMA IF EXISTS \(schema) CASCADE")
    plain.run("CREATE SCHEMA \(schema)")
    for table in ["item", "strata_store", "strata_commit"] {
      plain.run("CREATE TABLE \(schema).\(table) (LIKE strata_bench.\(table) INCLUDING ALL)")
    }
    plain.run("INSERT INTO \(schema).strata_store SELECT * FROM strata_bench.strata_store")
    plain.prepare("begin", "BEGIN ISOLATION LEVEL READ COMMITTED")
    plain.prepare("commit", "COMMIT")
    plain.prepare("limit", "SELECT pg_catalog.set_config('lock_timeout', $1, true)")
    // The store's row, the note of the commit, and who listens, in one statement.
    plain.prepare(
      "note",
      """
      WITH w AS (UPDATE \(schema).strata_store SET commit_number = commit_number + 1 RETURNING commit_number, history_purged),
      n AS (INSERT INTO \(schema).strata_commit (number, token, writer, at, mark, author, context_name, bundle, process, changes)
      SELECT commit_number, $1::uuid, $2::bigint, $3::float8, $4::bigint, NULL, NULL, 'bench', 'bench', $5::jsonb FROM w)
      SELECT max(commit_number), 1 / count(*), max(history_purged), pg_catalog.pg_notify('strata_floor', '7') FROM w
      """)
    plain.prepare(
      "insert",
      "INSERT INTO \(schema).item (pk, entity, version, outside, a, b, c, d, e, f, g) VALUES ($1, 1, 1, NULL, $2, $3, $4, $5, $6, $7, $8)"
    )
  }

  func end() { plain.run("DROP SCHEMA \(Self.schema) CASCADE") }

  /// A row, without anything beside it.
  func insert() {
    plain.run("BEGIN")
    plain.run(
      "INSERT INTO \(Self.schema).item (pk, entity, version, a, b, c, d, e, f, g) VALUES (\(keys.next()), 1, 1, 1, 1, 1, 'text', 'text', true, 1)"
    )
    plain.run("COMMIT")
  }

  /// A row with all that a save writes, in one round trip of prepared statements.
  func save() {
    let key = keys.next()
    plain.runTogether([
      ("begin", []), ("limit", ["30000"]),
      (
        "note",
        [
          UUID().uuidString, "7", "700000000.5", "8",
          "[{\"entity\":\"Item\",\"kind\":\"inserted\",\"keys\":[\(key),\(key)]}]",
        ]
      ),
      ("insert", ["\(key)", "1", "1", "1", "text", "text", "true", "1"]), ("commit", []),
    ])
  }
}
