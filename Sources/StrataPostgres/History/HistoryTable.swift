import Foundation
import StrataCore

/// The statements about a store's history: the rows of `strata_commit` behind the number `history_purged` of `strata_store` that have changed something. Where that
/// number is null no history is recorded, and the rows only serve those who follow the store.
struct HistoryTable {
  let mapping: StoreMapping
  let identifier: UUID

  private var store: String { mapping.qualified("strata_store") }
  private var commits: String { mapping.qualified("strata_commit") }
  private var consumers: String { mapping.qualified("strata_consumer") }

  /// Where a history begins and how far the store has come.
  struct Bounds {
    let purged: UInt64
    /// The mark of the newest commit that the history does not have.
    let mark: UInt64
    let newest: UInt64
  }

  private func condition(_ statement: inout SQLStatement) -> String {
    " WHERE s.generation = \(mapping.generation) AND s.identifier = "
      + (statement.bind(.uuid(identifier), as: .uuid) ?? "NULL")
  }

  /// That the namespace holds the store that was opened.
  private func isOpened(_ statement: inout SQLStatement) -> String {
    "EXISTS (SELECT 1 FROM \(store) s\(condition(&statement)))"
  }

  /// - Throws: ``StorageError`` `.replaced` when the namespace holds another store.
  func requireRow(_ result: SQLResult) throws { if result.rowCount == 0 { throw Self.isReplaced } }

  /// The error for a namespace that holds another store.
  static var isReplaced: StorageError {
    StorageError(
      .replaced, operation: "read store", path: "",
      detail:
        "The namespace does not hold the store any more that was opened: it was destroyed, replaced, or migrated to another version of its model."
    )
  }

  // MARK: Bounds

  func boundsQuestion() -> SQLStatement {
    var statement = SQLStatement("SELECT s.commit_number, s.history_purged, s.history_mark FROM \(store) s")
    statement += condition(&statement)
    return statement
  }

  /// Nil while no history is recorded.
  func bounds(_ result: SQLResult) throws -> Bounds? {
    try requireRow(result)
    guard result[0, 1] != nil else { return nil }
    guard let newest = UInt64(exactly: try result.integer(0, 0)),
      let purged = UInt64(exactly: try result.integer(0, 1)),
      let mark = UInt64(exactly: try result.integer(0, 2))
    else { throw SQLResult.damaged }
    return Bounds(purged: purged, mark: mark, newest: newest)
  }

  /// Begins a history where there is none.
  func begin() -> SQLStatement {
    var statement = SQLStatement(
      "UPDATE \(store) s SET history_purged = s.commit_number, history_mark = ")
    statement += statement.bind(Int64.random(in: 1 ... .max))
    statement += condition(&statement) + " AND s.history_purged IS NULL"
    return statement
  }

  /// Ends it, and forgets who has read it.
  func end() -> [SQLStatement] {
    var statement = SQLStatement("UPDATE \(store) s SET history_purged = NULL, history_mark = NULL")
    statement += condition(&statement)
    var removal = SQLStatement("DELETE FROM \(consumers) WHERE ")
    removal += isOpened(&removal)
    return [statement, removal]
  }

  // MARK: Marks

  /// The mark of the newest transaction up to a commit, and the bounds.
  func markQuestion(upTo number: UInt64) -> SQLStatement {
    var statement = SQLStatement(
      "SELECT s.commit_number, s.history_purged, s.history_mark, (SELECT c.mark FROM \(commits) c WHERE c.number > s.history_purged AND c.number <= "
    )
    statement += statement.bind(Int64(clamping: number))
    statement += " AND c.changes IS NOT NULL ORDER BY c.number DESC LIMIT 1) FROM \(store) s"
    statement += condition(&statement)
    return statement
  }

  /// Nil when the history does not have it any more, or there is none.
  func mark(_ result: SQLResult, upTo number: UInt64) throws -> UInt64? {
    guard let bounds = try bounds(result), number >= bounds.purged else { return nil }
    if result[0, 3] == nil { return bounds.mark }
    guard let mark = UInt64(exactly: try result.integer(0, 3)) else { throw SQLResult.damaged }
    return mark
  }

  // MARK: Reading

  /// The most transactions that are looked at in one statement.
  private static let mostLooks = 1_024

  static func lookCount(_ question: HistoryQuestion) -> Int { min(max(question.limit, 1), mostLooks) }

  /// One row without a number where there are no transactions: where the history begins must be of the same moment as they. The answer is in no order: the
  /// server would have to sort whole changes.
  func question(_ question: HistoryQuestion) -> SQLStatement {
    let columns = "c.number, c.mark, c.at, c.author, c.context_name, c.bundle, c.process"
    let (outer, inner) = question.readsChanges ? (", c.changes", ", c.changes::text AS changes") : ("", "")
    let order = question.isNewestFirst ? " DESC" : ""
    var statement = SQLStatement("SELECT \(columns), s.history_purged\(outer) FROM \(store) s")
    statement += " LEFT JOIN LATERAL (SELECT \(columns)\(inner) FROM \(commits) c"
    statement += " WHERE c.number > s.history_purged AND c.changes IS NOT NULL"
    statement += " AND c.number > " + statement.bind(Int64(clamping: question.after))
    statement += " AND c.number < " + statement.bind(Int64(clamping: question.below))
    statement += " ORDER BY c.number" + order
    statement += " LIMIT " + statement.bind(Self.lookCount(question)) + ") c ON true"
    statement += condition(&statement)
    return statement
  }

  /// - Throws: ``StorageError`` `.damaged`, and `.replaced` when the namespace holds another store; what the question's own code throws.
  func batch(_ result: SQLResult, _ question: HistoryQuestion) throws -> HistoryBatch {
    try requireRow(result)
    var batch = HistoryBatch()
    if result[0, 7] != nil {
      guard let purged = UInt64(exactly: try result.integer(0, 7)) else { throw SQLResult.damaged }
      batch.purged = purged
    }
    if result[0, 0] == nil { return batch }
    for (number, row) in try rows(result, isNewestFirst: question.isNewestFirst) {
      guard let mark = UInt64(exactly: try result.integer(row, 1)),
        case .date(let date)? = result[row, 2]?.attribute(.date)
      else { throw SQLResult.damaged }
      let header = HistoryHeader(
        timestamp: date,
        origin: ChangeOrigin(author: result[row, 3]?.text, contextName: result[row, 4]?.text),
        bundleIdentifier: result[row, 5]?.text ?? "", processName: result[row, 6]?.text ?? "")
      batch.last = number
      guard try question.isWanted(number, header) else { continue }
      let lists = question.readsChanges ? try lists(try result.text(row, 8)) : nil
      batch.transactions.append(
        StoredHistoryTransaction(number: number, mark: mark, header: header, lists: lists))
    }
    if result.rowCount < Self.lookCount(question) { batch.last = nil }
    return batch
  }

  /// The rows of an answer by the numbers of their commits.
  private func rows(_ result: SQLResult, isNewestFirst: Bool) throws -> [(number: UInt64, row: Int)] {
    let rows = try (0..<result.rowCount).map { row -> (number: UInt64, row: Int) in
      guard let number = UInt64(exactly: try result.integer(row, 0)) else { throw SQLResult.damaged }
      return (number, row)
    }
    return rows.sorted { isNewestFirst ? $0.number > $1.number : $0.number < $1.number }
  }

  private func lists(_ text: String) throws -> [StoredHistoryList] {
    var lists: [StoredHistoryList] = []
    for change in try NotedChange.list(text) {
      // Rows of an entity that this process's model does not have.
      guard let entity = mapping.schema.entity(named: change.entity) else { continue }
      let runs = try change.ranges()
      switch change.kind {
      case .inserted: lists.append(StoredHistoryList(kind: .inserted, entity: entity.number, runs: runs))
      case .updated:
        lists.append(
          StoredHistoryList(
            kind: .updated, entity: entity.number, names: change.properties ?? [], runs: runs))
      case .related:
        // Of some rows it is only known that something about their members has changed.
        guard let names = change.properties, !names.isEmpty else { continue }
        lists.append(StoredHistoryList(kind: .updated, entity: entity.number, names: names, runs: runs))
      case .deleted: lists += try deleted(change, entity, runs)
      }
    }
    return lists
  }

  /// Those of which values stay come behind the others.
  private func deleted(_ change: NotedChange, _ entity: EntitySchema, _ runs: [ClosedRange<UInt64>]) throws
    -> [StoredHistoryList]
  {
    guard let values = change.values else {
      return [StoredHistoryList(kind: .deleted, entity: entity.number, runs: runs)]
    }
    var buried: [(primaryKey: UInt64, values: [(name: String, value: AttributeValue)])] = []
    for (text, attributes) in values {
      guard let key = UInt64(text), runs.contains(where: { $0.contains(key) }) else {
        throw SQLResult.damaged
      }
      var list: [(name: String, value: AttributeValue)] = []
      for (name, text) in attributes.sorted(by: { $0.key < $1.key }) {
        guard let slot = entity.slot(named: name) else { continue }
        guard let value = NotedValue.value(text, entity.layout.kind(of: slot)) else {
          throw SQLResult.damaged
        }
        list.append((name, value))
      }
      buried.append((key, list))
    }
    buried.sort { $0.primaryKey < $1.primaryKey }
    let known = Set(buried.map(\.primaryKey))
    var others: [ClosedRange<UInt64>] = []
    for run in runs {
      for key in run where !known.contains(key) {
        if let last = others.last, last.upperBound + 1 == key {
          others[others.count - 1] = last.lowerBound...key
        } else {
          others.append(key...key)
        }
      }
    }
    var lists = [StoredHistoryList(kind: .buried, entity: entity.number, tombstones: buried)]
    if !others.isEmpty {
      lists.insert(StoredHistoryList(kind: .deleted, entity: entity.number, runs: others), at: 0)
    }
    return lists
  }

  // MARK: Deleting

  /// What of a history goes: from the oldest on, as long as it is unwanted.
  struct Unwanted {
    /// Transactions up to this one.
    var upTo: UInt64?
    /// Those from before.
    var before: Date?
    /// Those that are older by the server's clock, which has given them their times. One of a clock that was far ahead keeps no others.
    var age: Duration?
    /// Those that all named readers have seen.
    var consumed = false
  }

  /// Deletes what is unwanted, in a transaction that keeps writers out; how many transactions are gone.
  ///
  /// Rows that those who follow the store may still ask for stay, but belong to the history no more.
  ///
  /// - Parameter waits: Whether it waits for other writers; without, nothing is deleted while there is one.
  func delete(
    _ unwanted: Unwanted, on connection: PostgresConnection, _ deadline: ContinuousClock.Instant,
    waits: Bool = true
  ) throws -> Int {
    var lock = SQLStatement("SELECT s.commit_number, s.history_purged, s.history_mark FROM \(store) s")
    lock += condition(&lock) + (waits ? " FOR UPDATE" : " FOR UPDATE SKIP LOCKED")
    let answers = try connection.run(
      [SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), lock], deadline: deadline)
    guard let bounds = try bounds(answers[1]) else {
      try connection.run(SQLStatement("COMMIT"), deadline: deadline)
      return 0
    }
    var kept: [String] = []
    var question = SQLStatement()
    if let number = unwanted.upTo { kept.append("c.number > \(question.bind(Int64(clamping: number)))") }
    if let date = unwanted.before {
      kept.append("c.at >= \(question.bind(.date(date), as: .float8) ?? "NULL")")
    }
    if let age = unwanted.age {
      let oldest = "\(CommitRun.clock) - \(question.bind(.double(age.seconds), as: .float8) ?? "NULL")"
      let newest = "\(CommitRun.clock) + \(CommitRun.farAhead)::double precision"
      kept.append("c.at >= \(oldest) AND c.at <= \(newest)")
    }
    if unwanted.consumed {
      kept.append("c.number > (SELECT COALESCE(pg_catalog.min(k.number), 0) FROM \(consumers) k)")
    }
    if kept.isEmpty { kept = ["true"] }
    let purged = question.bind(bounds.purged)
    question +=
      "SELECT c.number, c.mark, (SELECT pg_catalog.count(*) FROM \(commits) o WHERE o.number > \(purged) AND o.number <= c.number AND o.changes IS NOT NULL) "
      + "FROM \(commits) c WHERE c.number > \(purged) AND c.changes IS NOT NULL AND c.number < COALESCE((SELECT pg_catalog.min(c.number) FROM \(commits) c WHERE c.number > \(purged) AND c.changes IS NOT NULL AND \(kept.joined(separator: " AND "))), \(question.bind(Int64.max))) "
      + "ORDER BY c.number DESC LIMIT 1"
    let answer = try connection.run(question, deadline: deadline)
    guard answer.rowCount == 1 else {
      try connection.run(SQLStatement("COMMIT"), deadline: deadline)
      return 0
    }
    let (last, mark) = (try answer.integer(0, 0), try answer.integer(0, 1))
    var update = SQLStatement("UPDATE \(store) s SET history_purged = ")
    update += update.bind(last) + ", history_mark = " + update.bind(mark) + condition(&update)
    var removal = SQLStatement("DELETE FROM \(commits) WHERE number <= ")
    removal += removal.bind(min(last, Int64(clamping: bounds.newest) - Int64(CommitRun.keptCommits)))
    try connection.run([update, removal, SQLStatement("COMMIT")], deadline: deadline)
    return Int(try answer.integer(0, 2))
  }

  // MARK: Consumers

  /// Touches no row when the namespace holds another store.
  func setConsumer(_ name: String, to number: UInt64?, at date: Date) -> SQLStatement {
    var statement = SQLStatement()
    let words = statement.bind(name)
    guard let number else {
      statement += "DELETE FROM \(consumers) WHERE name = \(words) AND " + isOpened(&statement)
      return statement
    }
    statement += "INSERT INTO \(consumers) (name, number, at) SELECT \(words), "
    statement += statement.bind(Int64(clamping: number)) + ", "
    statement += (statement.bind(.date(date), as: .float8) ?? "NULL") + " WHERE " + isOpened(&statement)
    statement += " ON CONFLICT (name) DO UPDATE SET number = excluded.number, at = excluded.at"
    return statement
  }

  func consumersQuestion() -> SQLStatement {
    SQLStatement("SELECT name, number, at FROM \(consumers) ORDER BY name")
  }

  func consumers(_ result: SQLResult) throws -> [HistoryConsumer] {
    try (0..<result.rowCount).map { row in
      guard let number = UInt64(exactly: try result.integer(row, 1)),
        case .date(let date)? = result[row, 2]?.attribute(.date)
      else { throw SQLResult.damaged }
      return HistoryConsumer(name: try result.text(row, 0), commitNumber: number, date: date)
    }
  }
}
