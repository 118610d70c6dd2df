import Foundation
import StrataCore

extension PostgresStore: HistoryStore {
  package var historyStore: (any HistoryStore)? { self }

  private var table: HistoryTable { HistoryTable(mapping: mapping, identifier: identifier) }

  private func requireWritable() throws {
    if !isReadOnly { return }
    throw StorageError(
      .permission, operation: "change history", path: "", detail: "The store was opened to be read only.")
  }

  /// Runs `body` in a connection of the pool, once more when that turns out to be dead: everything here may be done twice.
  private func onConnection<R>(_ body: (PostgresConnection, ContinuousClock.Instant) throws -> R) throws -> R
  {
    try read { _, connection in try body(connection, self.deadline()) }
  }

  package func currentHistoryMoment() throws -> HistoryMoment? {
    let table = table
    return try onConnection { connection, deadline in
      let result = try connection.run(table.markQuestion(upTo: .max), deadline: deadline)
      guard let bounds = try table.bounds(result), let mark = try table.mark(result, upTo: bounds.newest)
      else {
        return nil
      }
      return HistoryMoment(number: bounds.newest, mark: mark)
    }
  }

  package func historyMoment(ofCommit number: UInt64) -> HistoryMoment? {
    // A save knows whether a history was recorded, and which mark it has written.
    let (isRecording, mark) = recent.withLock { ($0.isRecording, $0.marks[number]) }
    if !isRecording { return nil }
    return HistoryMoment(number: number, mark: mark ?? (try? historyMark(upTo: number)) ?? nil)
  }

  package func historyMark(upTo number: UInt64) throws -> UInt64? {
    let table = table
    return try onConnection { connection, deadline in
      try table.mark(try connection.run(table.markQuestion(upTo: number), deadline: deadline), upTo: number)
    }
  }

  package func historyBounds() throws -> (purged: UInt64, newest: UInt64)? {
    let table = table
    return try onConnection { connection, deadline in
      try table.bounds(try connection.run(table.boundsQuestion(), deadline: deadline)).map {
        ($0.purged, $0.newest)
      }
    }
  }

  package func history(_ question: HistoryQuestion) throws -> HistoryBatch {
    let table = table
    return try onConnection { connection, deadline in
      try table.batch(try connection.run(table.question(question), deadline: deadline), question)
    }
  }

  package func deleteHistory(before number: UInt64?, date: Date?) throws -> Int {
    try requireWritable()
    guard number != nil || date != nil else { return 0 }
    let table = table
    var unwanted = HistoryTable.Unwanted()
    unwanted.upTo = number.map { $0 > 0 ? $0 - 1 : 0 }
    if number == nil { unwanted.before = date }
    return try onConnection { connection, deadline in
      try table.delete(unwanted, on: connection, deadline)
    }
  }

  package func setHistoryConsumer(named name: String, to number: UInt64?) throws {
    try requireWritable()
    guard (1...200).contains(name.utf8.count), !name.utf8.contains(0) else {
      throw CoreDataError(
        .persistentStoreOperation, "The name of a consumer has 1 to 200 bytes, and none is 0.")
    }
    let statement = table.setConsumer(name, to: number, at: keeping.clock())
    try onConnection { connection, deadline in
      let result = try connection.run(statement, deadline: deadline)
      if number != nil, result.affectedCount == 0 { throw HistoryTable.isReplaced }
    }
  }

  package func historyConsumers() throws -> [HistoryConsumer] {
    let table = table
    return try onConnection { connection, deadline in
      try table.consumers(try connection.run(table.consumersQuestion(), deadline: deadline))
    }
  }

  package func endHistory() throws {
    try requireWritable()
    let table = table
    try onConnection { connection, deadline in
      let results = try connection.run(
        [SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED")] + table.end() + [SQLStatement("COMMIT")],
        deadline: deadline)
      if results[1].affectedCount == 0 { throw HistoryTable.isReplaced }
    }
    recent.withLock { $0.isRecording = false }
  }

  /// Deletes what need not be kept, from time to time. A commit is done whatever becomes of that.
  func trimHistory(_ connection: PostgresConnection) {
    guard recent.withLock({ $0.isRecording }), keeping.isTrimDue(at: keeping.clock()) else { return }
    let retention = keeping.retention
    // What is too old goes whether it was read or not, and so does what was read, if that is said.
    if let age = retention.maximumAge {
      _ = try? table.delete(HistoryTable.Unwanted(age: age), on: connection, deadline(), waits: false)
    }
    if retention.dropsConsumed {
      _ = try? table.delete(
        HistoryTable.Unwanted(consumed: true), on: connection, deadline(), waits: false)
    }
    _ = connection.reset()
  }
}
