/// A lock on a word that programs of Strata have agreed on: the server keeps it and knows nothing of what it is for. Each namespace has three of its own.
struct AdvisoryLock {
  private let word: String

  private init(_ word: String) { self.word = word }

  /// Taken by whoever makes a store or changes its tables, until the end of the transaction.
  static func tables(of namespace: String) -> AdvisoryLock { AdvisoryLock("strata " + namespace) }
  /// Taken by whoever migrates a store in stages, until the end of the session.
  static func stages(of namespace: String) -> AdvisoryLock { AdvisoryLock("strata stages " + namespace) }
  /// Taken by whoever builds or drops indexes while a store is open, until the end of the session.
  static func indexes(of namespace: String) -> AdvisoryLock { AdvisoryLock("strata indexes " + namespace) }

  /// The statement that waits for the lock and keeps it until the end of the transaction.
  var waiting: SQLStatement { statement("pg_advisory_xact_lock", "") }

  /// Takes the lock until the end of the session when nobody else has it; whether it was so.
  /// - Throws: ``SQLError``, ``StorageError``.
  func attempt(on connection: PostgresConnection) throws -> Bool {
    try connection.run(statement("pg_try_advisory_lock", "::text")).text(0, 0) == "true"
  }

  private func statement(_ function: String, _ type: String) -> SQLStatement {
    var statement = SQLStatement("SELECT pg_catalog.\(function)(pg_catalog.hashtextextended(")
    statement += statement.bind(word) + ", 0))" + type
    return statement
  }
}
