import Foundation
import StrataCore

/// Takes tables away from all others, until the end of a transaction that holds the store's row already.
///
/// Others read several tables in one transaction: whoever waits for one of theirs, and holds another that they will want, would be in a deadlock with them, and
/// the server would end one of both after a second. So this waits for a moment only, gives up all that it has got, and begins again: readers go on meanwhile.
struct TableLocks {
  let connection: PostgresConnection
  /// How long it is tried.
  let timeout: Duration
  /// How long it waits at once: less than the second after which a server looks for deadlocks.
  private static let moment = Duration.milliseconds(250)

  /// - Parameter names: Tables, with namespace and quotes.
  /// - Throws: ``SQLError`` 55P03 when somebody holds one of them longer than the timeout.
  func take(_ names: [String]) throws {
    if names.isEmpty { return }
    let end = ContinuousClock.now + timeout
    while true {
      let left = end - ContinuousClock.now
      do {
        try connection.run([
          SQLStatement("SAVEPOINT strata_tables"), Self.limit(min(max(left, .milliseconds(1)), Self.moment)),
          SQLStatement("LOCK TABLE \(names.joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE"),
          Self.limit(max(left, .milliseconds(1))), SQLStatement("RELEASE SAVEPOINT strata_tables"),
        ])
        return
      } catch let error as SQLError where error.state == "55P03" || error.isWorthAnotherTry {
        guard left > Self.moment else { throw error }
        try connection.run(SQLStatement("ROLLBACK TO SAVEPOINT strata_tables"))
        Thread.sleep(forTimeInterval: Double.random(in: 0.02...0.06))
      }
    }
  }

  /// The statement that limits how long statements of the transaction wait for locks.
  static func limit(_ duration: Duration) -> SQLStatement {
    var statement = SQLStatement("SELECT pg_catalog.set_config('lock_timeout', ")
    statement += statement.bind("\(duration.milliseconds)") + ", true)"
    return statement
  }
}

extension Duration {
  /// Milliseconds as the server and the system take them for a limit: at least one, and at most those of 24 days.
  var milliseconds: Int32 { Int32(min(max(seconds * 1_000, 1), Double(Int32.max))) }
}
