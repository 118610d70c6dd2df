import Foundation
import StrataCore

// Indexes that come and go while the store is in use.

extension PostgresStore: IndexingStore {
  package var indexingStore: (any IndexingStore)? { self }

  private var indexTable: IndexTable { IndexTable(mapping: mapping, identifier: identifier) }

  /// Has the server build an index (`CREATE INDEX CONCURRENTLY`), and keeps it from then on.
  ///
  /// - Throws: ``CoreDataError`` when another index has the name; ``StorageError`` of the server; `CancellationError`. Then the index is not there, unless
  ///   another caller wanted it already; where the server cannot be reached to say so, the next program that opens the store completes it.
  package func addIndex(_ added: AddedIndex, report: (@Sendable (IndexProgress) -> Void)?) async throws {
    try requireOpen()
    let index = try requireRoom(for: added)
    try Task.checkCancellation()
    /// The name on the server, where nobody wanted it before.
    let relation: String?
    do { relation = try await register(added) } catch { throw translated(error, "add index") }
    do {
      let total = report == nil ? 0 : try await rowCount(index)
      let session = try await makeSession()
      // A small index is built before anybody looks.
      try Task.checkCancellation()
      let progress = ReportedProgress(total: total, report)
      let isThere = try await during(session, added, progress) {
        try session.waitForTurn()
        return try session.build(added, index)
      }
      guard isThere else { throw added.wasRemoved }
      // It is complete, whatever comes now.
      do {
        try await Self.away {
          try self.read(isCounted: false) { _, connection in try self.learnIndexes(connection) }
        }
      } catch {
        Diagnostics.write(
          "the index \(added.qualifiedName) is complete; this program uses it when it has learned of it: \(translated(error, "add index"))",
          .error)
      }
      progress.complete()
    } catch {
      if let relation { await giveUp(added, relation) }
      throw hasEnded ? Self.closed : translated(error, "add index")
    }
  }

  /// Has the server drop an index that was added (`DROP INDEX CONCURRENTLY`).
  /// - Throws: ``CoreDataError`` when no such index was added to the store, or when the store was replaced or migrated meanwhile; ``StorageError``, of kind `refused` where the role
  /// does not own the table; `CancellationError`: it goes then all the same.
  package func removeIndex(named name: String) async throws {
    try requireOpen()
    try requireWritable()
    let table = indexTable
    do {
      let entry = try await Self.away {
        try self.read { _, connection in
          let results = try connection.run(
            [table.guarding(), table.unwanting(name), table.question(name)], deadline: self.deadline())
          guard results[0].rowCount > 0 else { throw HistoryTable.isReplaced }
          return try table.entries(results[2]).first
        }
      }
      guard let entry else {
        throw AddedIndex.isNone(name, isOfModel: mapping.schema.indexes.contains { $0.name == name })
      }
      guard !entry.isWanted else {
        throw StorageError(
          .refused, operation: "remove index", path: pool.address.words,
          detail: "The index \(name) belongs to a role that this one is no member of.")
      }
      do { try await drop(name) } catch is CancellationError {
        settleIndexes(waits: true)
        throw CancellationError()
      }
    } catch { throw hasEnded ? Self.closed : translated(error, "remove index") }
  }

  // MARK: Steps

  private static let closed = StorageError(
    .closed, operation: "use store", path: "", detail: "The store was closed.")

  private func translated(_ error: any Error, _ operation: String) -> any Error {
    switch error {
    case let error as SQLError: explained(error.storageError(operation, pool.address.words))
    default: explained(error)
    }
  }

  private func requireWritable() throws {
    if isReadOnly {
      throw CoreDataError(.persistentStoreSave, "The store was opened to be read only.")
    }
  }

  /// The index as it will be, when there may be one.
  private func requireRoom(for added: AddedIndex) throws -> IndexSchema {
    try requireWritable()
    let index = try added.checked(mapping.schema)
    guard held[index.owner] else { throw added.isNotHeld }
    if mapping.schema.indexes.contains(where: { $0.name == added.qualifiedName }) { throw added.isTaken }
    guard mapping.table(ofEntity: index.owner).adopted == nil else {
      throw CoreDataError(
        .persistentStoreOperation,
        "The table “\(mapping.table(ofEntity: index.owner).plainName)” is somebody else's, which the store has taken over: its owner adds indexes to it."
      )
    }
    let texts = index.parts.count {
      mapping.table(ofEntity: index.owner).column(index.owner, $0.slot)?.type == .text
    }
    guard texts <= Self.mostTexts else {
      throw CoreDataError(
        .persistentStoreOperation,
        "The index \(added.qualifiedName) is over \(texts) texts: an entry of an index on PostgreSQL has room for \(Self.mostTexts), and saves of longer ones would fail."
      )
    }
    guard indexTable.creation(index, relation: "", isConcurrent: true) != nil else {
      throw CoreDataError(
        .persistentStoreOperation,
        "The index \(added.qualifiedName) is over data, of which stores on PostgreSQL keep no index.")
    }
    return index
  }

  /// An entry has 2,704 bytes at most; the first 256 characters of a text may be 1,024.
  private static let mostTexts = 2

  /// Notes that an index is wanted; its name on the server if it was not before, else nil.
  private func register(_ added: AddedIndex) async throws -> String? {
    let table = indexTable
    let relation = IndexTable.relation(added)
    while true {
      let entry = try await Self.away {
        try self.read { _, connection in
          let results = try connection.run(
            table.additions(added, relation: relation), deadline: self.deadline())
          guard results[1].rowCount > 0 else { throw HistoryTable.isReplaced }
          return try table.entries(results[3]).first
        }
      }
      guard let entry else { throw SQLResult.damaged }
      if entry.isWanted {
        guard entry.added == added else { throw added.isTaken }
        return entry.relation == relation ? relation : nil
      }
      // Another one of that name is on its way out.
      try await drop(added.qualifiedName)
    }
  }

  private func rowCount(_ index: IndexSchema) async throws -> Int {
    let table = mapping.table(ofEntity: index.owner)
    return try await Self.away {
      try self.read(isCounted: false) { _, connection in
        // As the building does, which reads the table as well.
        connection.patience = nil
        let counted = try connection.run(SQLStatement("SELECT pg_catalog.count(*) FROM \(table.name)"))
        return Int(try counted.integer(0, 0))
      }
    }
  }

  private func makeSession() async throws -> IndexSession {
    let table = indexTable
    return try await Self.away { try IndexSession(table, self.pool.makeSeparate()) }
  }

  private func drop(_ name: String) async throws {
    let session = try await makeSession()
    try await during(session) {
      try session.waitForTurn()
      try session.drop(name)
    }
  }

  /// Takes back what was noted. The server may have to wait for others before it can drop what there is: nobody waits for that.
  private func giveUp(_ added: AddedIndex, _ relation: String) async {
    let table = indexTable
    do {
      try await Self.away {
        try self.pool.makeSeparate().run(
          table.unwanting(added.qualifiedName, relation: relation), deadline: self.deadline())
        return
      }
    } catch {
      Diagnostics.write(
        "the index \(added.qualifiedName), which could not be built, is still wanted: the next program that opens the store builds it. (\(translated(error, "remove index")))",
        .error)
      return
    }
    // The session that has been given up may not have ended yet.
    settleIndexes(waits: true)
  }

  /// Builds what is wanted and not complete, and drops what is not wanted. Nobody waits for it.
  /// - Parameter waits: Whether it waits for another program that is at it, instead of leaving it to that.
  func settleIndexes(waits: Bool = false) {
    Task.detached {
      do {
        let session = try await self.makeSession()
        try await self.during(session) { try self.settle(session, waits: waits) }
      } catch {
        // Whoever opens the store next does it.
        if self.hasEnded || error is CancellationError { return }
        Diagnostics.write(
          "an index that was added to the store could not be completed, or one that is to go could not be dropped: \(self.translated(error, "complete index"))",
          .error)
      }
    }
  }

  private func settle(_ session: IndexSession, waits: Bool) throws {
    func isUnsettled(_ entry: IndexTable.Entry) -> Bool { !entry.isWanted || !entry.isValid }
    guard try session.entries().contains(where: isUnsettled) else { return }
    if waits {
      try session.waitForTurn()
    } else if try !session.takeTurn() {
      return
    }
    // One that fails keeps no other from being settled.
    var failure: (any Error)?
    for entry in try session.entries() where isUnsettled(entry) {
      do {
        guard entry.isWanted else {
          try session.drop(entry.name)
          continue
        }
        // One of another version of the model, or of Strata, is for those who know it.
        guard let added = entry.added, let index = try? added.checked(mapping.schema) else { continue }
        _ = try session.build(added, index)
      } catch let error as CancellationError {
        throw error
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// Takes over what there is of added indexes.
  func learnIndexes(_ connection: PostgresConnection) throws {
    let listing = try connection.run(IndexTable.listing(mapping.namespace), deadline: deadline())
    mapping.added.set(try IndexTable.Listing(listing), mapping)
  }

  // MARK: Waiting

  /// Carries out what takes the calling thread for a while on another one.
  private static func away<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result(catching: body)) }
    }
  }

  private static func rest(_ pause: Duration) async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().asyncAfter(deadline: .now() + pause.seconds) { continuation.resume() }
    }
  }

  private static let shortestPause = Duration.milliseconds(2)
  private static let longestPause = Duration.milliseconds(250)

  /// Runs `body`, which uses the session, on another thread. Gives it up when the task is cancelled, when the store is closed, or when the index that it builds is
  /// not wanted any more.
  private func during<R: Sendable>(
    _ session: IndexSession, _ added: AddedIndex? = nil, _ progress: ReportedProgress? = nil,
    _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    let outcome = Mutex<Result<R, any Error>?>(nil)
    DispatchQueue.global().async {
      let result = Result { try body() }
      outcome.withLock { $0 = result }
    }
    var pause = Self.shortestPause
    var isUnwanted = false
    while true {
      await Self.rest(pause)
      if let result = outcome.withLock({ $0 }) {
        if case .failure(let error) = result,
          error is CancellationError || (error as? SQLError)?.state == "57014"
        {
          if isUnwanted, let added { throw added.wasRemoved }
          if Task.isCancelled || hasEnded { throw CancellationError() }
        }
        return try result.get()
      }
      pause = min(pause * 2, Self.longestPause)
      // What keeps this from being asked keeps the session from going on, which tells of it.
      if let added, !isUnwanted, let step = try? await look(added, session) {
        isUnwanted = !step.isWanted
        progress?.note(step.fraction)
      }
      if isUnwanted || Task.isCancelled || hasEnded { try await Self.away { session.giveUp() } }
    }
  }

  /// Whether an index that is being built is wanted still, and how far the building is.
  private func look(_ added: AddedIndex, _ session: IndexSession) async throws -> (
    isWanted: Bool, fraction: Double
  ) {
    let name = added.qualifiedName
    return try await Self.away {
      try self.read(isCounted: false) { _, connection in
        var statement = SQLStatement(
          "SELECT p.phase, p.blocks_done, p.blocks_total FROM \(self.mapping.qualified("strata_index")) x LEFT JOIN pg_catalog.pg_stat_progress_create_index p ON p.pid = "
        )
        statement += statement.bind(Int64(session.backend)) + "::integer WHERE x.is_wanted AND x.name = "
        statement += statement.bind(name)
        let result = try connection.run(statement, deadline: self.deadline())
        guard result.rowCount > 0 else { return (false, 0) }
        guard let phase = result[0, 0]?.text, result[0, 1] != nil, result[0, 2] != nil else {
          return (true, 0)
        }
        let (done, all) = (Double(try result.integer(0, 1)), Double(try result.integer(0, 2)))
        let share = all > 0 ? min(done / all, 1) : 0
        // The server goes through all rows twice: it fills the index, and looks for rows that have come meanwhile.
        return (
          true,
          phase.hasPrefix("building index") ? share / 2 : phase.contains("validation") ? 0.5 + share / 2 : 0
        )
      }
    }
  }
}

/// What was reported of the building of an index. Used by one task at a time.
private final class ReportedProgress: Sendable {
  private let total: Int
  private let report: (@Sendable (IndexProgress) -> Void)?
  private let told = Mutex(0)

  init(total: Int, _ report: (@Sendable (IndexProgress) -> Void)?) {
    self.total = total
    self.report = report
  }

  /// Reports when more is done than was told before. The last row is done when the index is.
  func note(_ fraction: Double) {
    let rows = min(Int(Double(total) * fraction), total - 1)
    let isMore = told.withLock { told in
      defer { told = max(told, rows) }
      return rows > told
    }
    if isMore { report?(IndexProgress(completedRows: rows, totalRows: total)) }
  }

  func complete() { report?(IndexProgress(completedRows: total, totalRows: total)) }
}
