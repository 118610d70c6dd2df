import Foundation
import StrataCore

// Where new objects get their primary keys.

extension PostgresStore {
  package func makePrimaryKey(hierarchy: Int) throws -> UInt64 {
    try requireOpen()
    let table = mapping.tables[hierarchy]
    return try keys[hierarchy].next { count in
      let statement = table.adopted == nil ? reservation(table, count) : adoptedReservation(table, count)
      return try untilReached {
        try read { _, connection in
          let result = try connection.run(statement, deadline: self.deadline())
          return try (0..<result.rowCount).map { row in
            if table.adopted != nil, result[row, 0] == nil { throw lostSequence(table) }
            return try result.key(row, 0)
          }
        }
      }
    }
  }

  private func reservation(_ table: TableMapping, _ count: Int) -> SQLStatement {
    var statement = SQLStatement("SELECT pg_catalog.nextval(")
    statement += statement.bind(table.sequence)
    statement += "::text::regclass) FROM pg_catalog.generate_series(1, " + statement.bind(count) + ")"
    return statement
  }

  /// Keys of a table of somebody else's: from the sequence that the column of its key has now, whatever table, column and sequence are called and wherever they are, and
  /// only those that no row has: others may write keys of their own choice, ahead of the sequence.
  private func adoptedReservation(_ table: TableMapping, _ count: Int) -> SQLStatement {
    var statement = SQLStatement(
      "WITH q AS MATERIALIZED (SELECT s.objid::regclass AS sequence FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> r.ev_class JOIN pg_catalog.pg_index i ON i.indrelid = d.refobjid AND i.indisprimary JOIN pg_catalog.pg_depend s ON s.classid = 'pg_catalog.pg_class'::regclass AND s.refclassid = 'pg_catalog.pg_class'::regclass AND s.refobjid = d.refobjid AND s.refobjsubid = i.indkey[0] AND s.deptype IN ('a', 'i') JOIN pg_catalog.pg_class c ON c.oid = s.objid AND c.relkind = 'S' WHERE r.ev_class = "
    )
    statement += statement.bind(table.name) + "::text::regclass LIMIT 1), "
    statement +=
      "k AS MATERIALIZED (SELECT pg_catalog.nextval((SELECT sequence FROM q)) AS pk FROM pg_catalog.generate_series(1, "
    statement += statement.bind(count)
    statement +=
      ")) SELECT k.pk FROM k WHERE NOT EXISTS (SELECT 1 FROM \(table.name) t WHERE t.pk = k.pk)"
    return statement
  }

  private func lostSequence(_ table: TableMapping) -> StorageError {
    StorageError(
      .refused, operation: "make key", path: "",
      detail:
        "The primary key of the table “\(table.adopted?.name ?? table.plainName)” has no sequence of its own any more, from which keys could be taken."
    )
  }

  /// A key with which a new object lives until it is to be saved, which fails with `error` then; nil where the program has to wait for the server.
  package func makeProvisionalKey(hierarchy: Int, after error: any Error) -> UInt64? {
    if let error = error as? StorageError,
      [.unreachable, .serverBusy, .readOnlyMedia, .diskFull, .io, .closed, .forked].contains(error.kind)
    {
      return nil
    }
    return unkeyed.makeKey(after: error)
  }

  /// Repeats what does no harm when it is done twice, until the server can do it or the time is over: who makes an object cannot be told of an error.
  private func untilReached<R>(_ body: () throws -> R) throws -> R {
    let end = deadline()
    var pause = Duration.milliseconds(2)
    while true {
      do {
        return try body()
      } catch let error as StorageError
        where [.unreachable, .serverBusy, .readOnlyMedia, .diskFull, .io].contains(error.kind)
      {
        guard ContinuousClock.now + pause < end else { throw error }
        // The next connection may lead to another server, which takes changes. Other errors say nothing of the connections.
        if [.unreachable, .readOnlyMedia].contains(error.kind) { pool.dropIdle() }
      }
      Thread.sleep(forTimeInterval: pause.seconds * Double.random(in: 0.5...1.5))
      pause = min(pause * 2, .milliseconds(500))
    }
  }
}
