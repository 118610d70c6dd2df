import Foundation
import StrataCore

/// One attempt to write change sets together: one transaction of the server's.
///
/// ```
///   BEGIN · lock the store's row · ask what must be known · savepoint · write · … · note the commit · COMMIT
/// ```
///
/// The store's row stays locked until the commit, so commits of one store come one after the other, whoever makes them, and what was asked stays true. What has
/// not been asked yet goes out with the next question: a save of new rows that refer to nothing is one round trip. Then one statement locks the row, notes the commit
/// and tells of it:
///
/// ```
///   BEGIN · lock, note, tell · write · COMMIT
/// ```
final class CommitRun {
  let mapping: StoreMapping
  let identifier: UUID
  let held: [Bool]
  let connection: PostgresConnection
  let deadline: ContinuousClock.Instant
  /// What the store has found out, or is told, about how rows are written.
  struct Settings {
    /// From so many new rows of an entity on they are copied; nil for never.
    var leastCopied: Int? = RowStatements.leastCopied
    /// So many rows of a batch update are written at once.
    var batchStep = 10_000
  }

  let settings: Settings
  /// How many attempts before this one somebody has disturbed.
  let disturbances: Int
  private let writer: Int64
  let keeping: HistoryKeeping
  /// Tells this attempt from every other. By hand: a `UUID` opens a device file each time.
  let token = Token()

  /// A random number, which the server keeps as a UUID.
  struct Token {
    private let words = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    func bound(to statement: inout SQLStatement) -> String {
      statement.bind(SQLType.uuid.oid) {
        $0.append(bigEndian: words.0)
        $0.append(bigEndian: words.1)
      }
    }
  }
  /// Whether a COMMIT was sent: if the connection is lost then, it may have taken place.
  private(set) var isCommitSent = false
  /// What has become of each set so far, without the number of the commit.
  private var outcomes: [Outcome] = []
  /// What becomes of a set that is written and committed in one, when that succeeds.
  private var soleResult: CommitResult?
  /// What goes out before the next statements, without the lock.
  private var prologue: [SQLStatement] = []
  /// Whether the lock is what goes out behind that.
  private var isLockWaiting = false
  /// The number of the commit, once the lock is held.
  private var number: UInt64?
  /// Whether the store records a history; nil until the lock has been answered.
  private(set) var isRecording: Bool?
  /// The number of the first commit that was made; nil before that, and when nothing was written.
  var committedNumber: UInt64? { isCommitSent ? number : nil }
  /// Random numbers that tell the commits of one line of a store from those of another, by the place of the set among those that are written.
  var marks: [UInt64] = []
  /// Lets the server keep silent as long as it likes from now on.
  func beginBatch() {
    isBatch = true
    connection.patience = nil
  }
  /// What a batch has done, when it is committed.
  var batchChanges: BatchChanges?

  init(
    _ mapping: StoreMapping, identifier: UUID, held: [Bool], connection: PostgresConnection, writer: Int64,
    keeping: HistoryKeeping, deadline: ContinuousClock.Instant, disturbances: Int, settings: Settings
  ) {
    self.settings = settings
    self.mapping = mapping
    self.identifier = identifier
    self.held = held
    self.connection = connection
    self.writer = writer
    self.keeping = keeping
    self.deadline = deadline
    self.disturbances = disturbances
  }

  /// How long the server may keep silent. A batch is one statement, perhaps, that takes its time.
  private var limit: ContinuousClock.Instant? {
    isBatch ? nil : max(deadline, ContinuousClock.now + PostgresConnection.leastWritingPatience)
  }
  private var isBatch = false

  typealias Outcome = Result<CommitResult, any Error>

  /// Something in a table was changed by somebody who does not take the store's lock: the attempt is made again.
  struct Disturbed: Error {}

  /// So many disturbed attempts are made again. What happens every time will happen for ever: an index of somebody else's, a trigger.
  static let mostDisturbances = 8

  /// How the server says that two rows share values that must be unique.
  static let duplicateState = "23505"
  /// How it says that a row is referred to that is not there.
  static let lostReferenceState = "23503"
  /// How it says that it has no such thing: COPY, for a role to which row security applies.
  static let unsupportedState = "0A000"

  /// What becomes of an attempt in which the server refuses what was found to be right, or writes nothing: it is made again, or is an answer.
  func disturbed(_ error: SQLError) -> any Error {
    if disturbances < Self.mostDisturbances { return Disturbed() }
    let reason =
      error.state == Self.duplicateState
      ? "The server refuses rows because of the index “\(error.constraint)” of the table “\(error.table)”, although no other row has their values as the model compares them. The index is not the model's, or somebody writes to the table beside the store, again and again."
      : "The server does not write all rows: a trigger, a rule or row security keeps them, or somebody changes them beside the store, again and again."
    return StorageError(.refused, operation: "commit", path: "", detail: reason + " Nothing was saved.")
  }

  /// Writes the sets, each of which succeeds or fails alone.
  /// - Throws: ``SQLError`` and ``StorageError`` of the whole transaction, of which nothing was written unless ``isCommitSent``; ``Disturbed``.
  func run(_ sets: [ChangeSet]) throws -> [Outcome] {
    begin()
    var metadata: StoreMetadata?
    let isSole = sets.count == 1
    // Known before a set can fail and take the answer to the lock with it.
    if !isSole { _ = try requireNumber() }
    for set in sets {
      do {
        let result = try write(set, isSole: isSole)
        if let new = set.metadata { metadata = new }
        outcomes.append(.success(result))
      } catch let error where Self.isOfOneSet(error) {
        if isSole {
          _ = connection.reset()
          return [.failure(translated(error))]
        }
        _ = try send([SQLStatement("ROLLBACK TO SAVEPOINT one_set")])
        outcomes.append(.failure(translated(error)))
      }
    }
    guard outcomes.contains(where: { if case .success = $0 { true } else { false } }) else {
      _ = connection.reset()
      return outcomes
    }
    if !isSole { try finish([], metadata, nil) }
    return numbered(try requireNumber())
  }

  /// Each set that is written has a number of its own.
  private func numbered(_ number: UInt64) -> [Outcome] {
    var next = number
    return outcomes.map { outcome in
      outcome.map { result in
        defer { next += 1 }
        return CommitResult(commitNumber: next, derivedRows: result.derivedRows, touched: result.touched)
      }
    }
  }

  /// What a commit has done that took place and whose answer was lost.
  func outcomesOfLostAnswer(_ sets: [ChangeSet], number: UInt64) -> [Outcome] {
    // A sole set is written and committed in one: nothing has been noted of it.
    if sets.count == 1 { outcomes = [.success(soleResult ?? CommitResult(commitNumber: number))] }
    return numbered(number)
  }

  /// Whether an error is about the change set, so that others written with it can succeed.
  static func isOfOneSet(_ error: any Error) -> Bool {
    switch error {
    case is CommitConflict, is UniquenessViolation, is DanglingReferences, is CoreDataError: return true
    case let error as StorageError: return [.invalid, .tooLarge, .refused].contains(error.kind)
    case let error as SQLError:
      // Data that the server does not take, and limits of a statement's.
      return error.state.hasPrefix("22") && error.state != RowStatements.guardState
        || error.state.hasPrefix("54") || error.state.hasPrefix("23") && error.state != lostReferenceState
        || error.state == "P0001" || error.state == "42501" || error.isOfFunction
    default: return false
    }
  }

  func translated(_ error: any Error) -> any Error {
    (error as? SQLError)?.storageError("commit", "The server") ?? error
  }

  // MARK: Steps

  func begin() {
    prologue.append(SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"))
    prologue.append(TableLocks.limit(deadline - ContinuousClock.now))
    // The rows of a save come in an order of their own, and references of somebody else's tables are looked at with each statement unless that is said.
    if mapping.isAdopted {
      prologue.append(SQLStatement("SET CONSTRAINTS ALL DEFERRED"))
      // Triggers of somebody else's call things by names without a namespace: those of their tables' are meant. The statements of a commit name the namespace of
      // every function, and their constants have the types of what they are computed with: nothing in those namespaces fits better.
      prologue.append(SQLStatement("SET LOCAL search_path TO pg_catalog, " + mapping.adoptedNamespaces))
    }
    isLockWaiting = true
  }

  /// The statement that locks the store's row, and notes and tells of the commit as well when that is known already.
  private func lock(_ note: Note?) -> SQLStatement {
    var lock = SQLStatement(
      "WITH w AS (UPDATE \(mapping.storeTable) SET \(Self.turn) WHERE identifier = ")
    lock += (lock.bind(.uuid(identifier), as: .uuid) ?? "") + " AND generation = "
    lock += lock.bind(Int64(mapping.generation)) + " RETURNING commit_number, last_at, history_purged)"
    if let note { lock += ", n AS (" + insertion(note, from: "w", &lock) + ")" }
    // Fails where another store has taken the place of this one, or it has another version of the model: nothing may be written to that.
    lock += " SELECT pg_catalog.max(commit_number), 1 / pg_catalog.count(*), pg_catalog.max(history_purged)"
    if note != nil { lock += ", " + told(&lock) }
    lock += " FROM w"
    return lock
  }

  /// Sends statements behind what waits to be sent; the answers to these alone.
  func send(_ statements: [SQLStatement]) throws -> [SQLResult] { try send(statements, note: nil) }

  /// - Parameter note: What is noted with the lock, which waits to be sent.
  private func send(_ statements: [SQLStatement], note: Note?) throws -> [SQLResult] {
    var waiting = prologue
    let lockPosition = waiting.count
    if isLockWaiting { waiting.append(lock(note)) }
    (prologue, isLockWaiting) = ([], false)
    do {
      var results = try connection.run(waiting + statements, deadline: limit)
      if !waiting.isEmpty {
        if number == nil {
          number = UInt64(exactly: try results[lockPosition].integer(0, 0))
          isRecording = results[lockPosition][0, 2] != nil
        }
        results.removeFirst(waiting.count)
      }
      return results
    } catch let error as SQLError
      where error.state == RowStatements.guardState && number == nil && error.position == lockPosition
    {
      throw StorageError(
        .replaced, operation: "commit", path: "",
        detail:
          "The namespace does not hold the store any more that was opened: it was destroyed, replaced, or migrated to another version of its model."
      )
    }
  }

  func requireNumber() throws -> UInt64 {
    if number == nil { _ = try send([]) }
    guard let number else { throw SQLResult.damaged }
    return number
  }

  /// Begins once more, in a new transaction.
  /// - Throws: ``StorageError`` `.unreachable` when the rollback is not answered: the attempt can be made again.
  private func beginAgain() throws {
    guard connection.reset() else {
      throw StorageError(
        .unreachable, operation: "talk to server", path: "", detail: "The connection was lost.")
    }
    number = nil
    // Perhaps nothing has been sent yet.
    prologue = []
    begin()
  }

  private func write(_ set: ChangeSet, isSole: Bool) throws -> CommitResult {
    if isSole, disturbances == 0, ChangeSetWork.mayAssumeVersions(set, mapping) {
      do {
        return try write(set, isSole: true, looksForInserts: false, assumesVersions: true)
      } catch let error as SQLError
        where error.state == RowStatements.guardState || error.state == Self.duplicateState
      {
        // A row is of another version, or was not looked for: now all are.
        try beginAgain()
      } catch let error where error is DanglingReferences || error is UniquenessViolation {
        // Conflicts are told first, and have not been looked for yet.
        try beginAgain()
      }
    }
    do {
      return try write(set, isSole: isSole, looksForInserts: false)
    } catch let error as SQLError where error.state == Self.duplicateState {
      // A key, or values, that a row has which nobody has looked for. The transaction is void up to the savepoint.
      if isSole {
        try beginAgain()
      } else {
        _ = try send([SQLStatement("ROLLBACK TO SAVEPOINT one_set")])
      }
      do {
        return try write(set, isSole: isSole, looksForInserts: true)
      } catch let error as SQLError where error.state == Self.duplicateState {
        throw try foreignRefusal(error, of: set, isSole: isSole) ?? disturbed(error)
      }
    }
  }

  /// What the server refuses because of a unique index that is not the model's: trying again does not help. Nil when it is the model's, or is not to be found.
  private func foreignRefusal(_ error: SQLError, of set: ChangeSet, isSole: Bool) throws -> StorageError? {
    guard let question = ForeignIndex.question(error, mapping) else { return nil }
    // The transaction is void. What is thrown ends it, or takes the set back.
    let result: SQLResult
    if isSole {
      guard connection.reset() else { return nil }
      result = try connection.run(question, deadline: limit)
    } else {
      result = try send([SQLStatement("ROLLBACK TO SAVEPOINT one_set"), question])[1]
    }
    return try ForeignIndex.refusal(error, of: set, mapping, result)
  }

  private func write(
    _ set: ChangeSet, isSole: Bool, looksForInserts: Bool, assumesVersions: Bool = false
  ) throws -> CommitResult {
    if isSole { marks = [] } else { prologue.append(SQLStatement("SAVEPOINT one_set")) }
    // Triggers of somebody else's may change rows that the set writes later: then their versions say nothing any more, and are compared before.
    let locksRows = mapping.isAdopted && !assumesVersions && (disturbances > 0 || mapping.callsTriggers)
    let work = ChangeSetWork(
      set, mapping, looksForInserts: looksForInserts, leastCopied: settings.leastCopied,
      assumesVersions: assumesVersions, locksRows: locksRows)
    let outcome = try work.prepare(
      held: held, preserved: keeping.preservedSlots, number: requireNumber, send)
    let mark = UInt64.random(in: 1...UInt64(Int64.max))
    do {
      let written = try outcome.derived(send)
      let note = note(set.origin, outcome.notes.changes(derived: written.others), mark)
      var result = CommitResult(commitNumber: 0, derivedRows: written.rows, touched: outcome.touched)
      let back = WrittenRows(set, mapping)
      let statements = written.statements + back.settling + back.statements
      /// Takes over what triggers have made of the rows. The answers to `statements` are the first ones, or stand behind so many others.
      func take(_ answers: [SQLResult], behind count: Int) {
        if back.statements.isEmpty { return }
        let first = count + written.statements.count + back.settling.count
        do {
          result.derivedRows += try back.differing(answers[first..<(first + back.statements.count)])
        } catch {
          // The rows are saved, and cannot be read: whoever reads them is told.
          Diagnostics.write(
            "rows that a trigger has changed cannot be read after their save. (\(error))", .error)
        }
      }
      if isSole {
        marks = [mark]
        soleResult = result
        take(try finish(statements, set.metadata, note), behind: 0)
      } else {
        // The lock has counted the first one.
        let count = "UPDATE \(mapping.storeTable) SET \(Self.turn)"
        let counts = marks.isEmpty ? [] : [SQLStatement(count)]
        var noting = SQLStatement()
        noting += insertion(note, from: mapping.storeTable, &noting)
        let last = back.unsettling + [noting, SQLStatement("RELEASE SAVEPOINT one_set")]
        take(try send(counts + statements + last), behind: counts.count)
        marks.append(mark)
      }
      return result
    } catch let error as SQLError where error.state == RowStatements.guardState && !assumesVersions {
      throw disturbed(error)
    }
  }

  /// Writes the last statements, tells of the commit, and commits.
  /// - Parameter note: What is noted of the commit; nil when that was done.
  /// - Returns: The answers to the statements, and others behind them.
  @discardableResult
  func finish(_ statements: [SQLStatement], _ metadata: StoreMetadata?, _ note: Note?) throws -> [SQLResult] {
    var statements = statements
    if let metadata {
      var statement = SQLStatement("UPDATE \(mapping.storeTable) SET metadata = ")
      statement += statement.bind(try Catalogue.text(metadata))
      statements.append(statement)
    }
    let isNotedWithLock = note != nil && isLockWaiting
    if !isNotedWithLock {
      var last = SQLStatement()
      if let note {
        last += "WITH n AS (" + insertion(note, from: mapping.storeTable, &last)
        last += " RETURNING 1) SELECT " + told(&last) + " FROM n"
      } else {
        last += "SELECT " + told(&last)
      }
      statements.append(last)
    }
    statements.append(SQLStatement("COMMIT"))
    isCommitSent = true
    do {
      return try send(statements, note: isNotedWithLock ? note : nil)
    } catch let error as SQLError {
      // The server has answered: what it refuses did not take place.
      isCommitSent = false
      marks = []
      throw error
    } catch let error as StorageError where [.replaced, .invalid, .tooLarge].contains(error.kind) {
      // Another store, or a value that the server cannot store, found before the COMMIT was sent.
      isCommitSent = false
      marks = []
      throw error
    }
  }

  /// Who has committed what. The time in the header is not written: the server takes it.
  struct Note {
    let header: HistoryHeader
    let changes: [NotedChange]
    let mark: UInt64
    /// Whether it carries the token of the attempt, and stands for all its sets.
    let hasToken: Bool
  }

  func note(_ origin: ChangeOrigin, _ changes: [NotedChange], _ mark: UInt64) -> Note {
    Note(
      header: keeping.header(origin, at: keeping.clock()), changes: changes, mark: mark,
      hasToken: marks.isEmpty)
  }

  /// The words that count a commit and take its time, in the store's row: whoever waits for it takes both when it is his turn, so they ascend together.
  ///
  /// The time is the server's, since all programs share that clock. Where the clock was put back, times go on a microsecond after the other; by more than an
  /// hour, they go back with it: a clock that was wrong for a moment must not decide for years.
  private static let turn =
    "commit_number = commit_number + 1, last_at = CASE WHEN last_at > \(clock) + \(farAhead)::double precision THEN \(clock) ELSE GREATEST(\(clock), last_at + 0.000001::double precision) END"

  /// The server's time in seconds since 2001.
  static let clock =
    "(EXTRACT(epoch FROM pg_catalog.clock_timestamp())::double precision - 978307200::double precision)"

  /// A time that is so many seconds ahead of the server's is of a clock that was wrong.
  static let farAhead = 3_600

  /// The words that write a note; its number is the `commit_number` of `source`, its time the `last_at`.
  private func insertion(_ note: Note, from source: String, _ statement: inout SQLStatement) -> String {
    var words =
      "INSERT INTO \(mapping.commitTable) (number, token, writer, at, mark, author, context_name, bundle, process, changes) SELECT commit_number, "
    words += note.hasToken ? token.bound(to: &statement) : statement.bindNull(.uuid)
    words += ", " + statement.bind(writer) + ", last_at, " + statement.bind(note.mark)
    let origin = note.header.origin
    for text in [
      origin.author, origin.contextName, note.header.bundleIdentifier, note.header.processName,
    ] {
      words += ", " + (text.map { statement.bind(Self.storable($0)) } ?? statement.bindNull(.text))
    }
    words += ", "
    words += note.changes.isEmpty ? statement.bindNull(.text) : statement.bind(NotedChange.text(note.changes))
    return words + "::jsonb FROM " + source
  }

  /// The server keeps no NUL in texts; in names of people and programs there is none but by mistake.
  private static func storable(_ text: String) -> String {
    text.utf8.contains(0) ? text.replacingOccurrences(of: "\0", with: "\u{FFFD}") : text
  }

  /// The words that tell who listens; they are told when the commit is.
  private func told(_ statement: inout SQLStatement) -> String {
    let channel = statement.bind(FollowingConnection.channel(identifier))
    return "pg_catalog.pg_notify(\(channel), \(statement.bind(String(writer))))"
  }

  // MARK: Afterwards

  /// The number of the commit that an attempt has made, when its answer was lost; nil when it did not take place, and never will.
  ///
  /// Waits for the store's row first, which the attempt's session may still hold. Where it does not, and the commit is not there, what was sent may still be on its
  /// way: the token is taken by a commit that changes nothing, so that the server refuses the attempt's when it arrives.
  /// - Throws: ``SQLError``, ``StorageError``: then it is not known what has become of the commit.
  static func find(
    _ token: Token, _ mapping: StoreMapping, _ connection: PostgresConnection,
    _ deadline: ContinuousClock.Instant
  ) throws -> UInt64? {
    try connection.run(SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), deadline: deadline)
    try connection.run(
      SQLStatement("SELECT commit_number FROM \(mapping.storeTable) FOR UPDATE"),
      deadline: deadline)
    var question = SQLStatement("SELECT number, writer FROM \(mapping.commitTable) WHERE token = ")
    question += token.bound(to: &question)
    let result = try connection.run(question, deadline: deadline)
    var number: UInt64?
    if result.rowCount == 0 {
      try connection.run(taking(token, mapping), deadline: deadline)
    } else if try result.integer(0, 1) != nobody {
      guard let found = UInt64(exactly: try result.integer(0, 0)) else { throw SQLResult.damaged }
      number = found
    }
    try connection.run(SQLStatement("COMMIT"), deadline: deadline)
    return number
  }

  /// The writer of commits that only take a token. No store has this number.
  static let nobody: Int64 = 0

  /// Notes a commit that changes nothing under the token.
  private static func taking(_ token: Token, _ mapping: StoreMapping) -> SQLStatement {
    var statement = SQLStatement(
      "WITH w AS (UPDATE \(mapping.storeTable) SET \(turn) RETURNING commit_number, last_at) INSERT INTO \(mapping.commitTable) (number, token, writer, at, mark, bundle, process) SELECT commit_number, "
    )
    statement += token.bound(to: &statement) + ", " + statement.bind(nobody) + ", last_at, "
    statement += statement.bind(Int64.random(in: 1 ... .max)) + ", '', '' FROM w"
    return statement
  }

  /// Deletes notes of commits that nobody asks for any more and that do not belong to the history.
  static func trim(
    _ mapping: StoreMapping, _ connection: PostgresConnection, newest: UInt64,
    _ deadline: ContinuousClock.Instant? = nil
  ) throws {
    guard newest > keptCommits else { return }
    var statement = SQLStatement("DELETE FROM \(mapping.commitTable) WHERE number < ")
    statement += statement.bind(newest - keptCommits)
    statement +=
      " AND number <= (SELECT COALESCE(history_purged, commit_number) FROM \(mapping.storeTable))"
    try connection.run(statement, deadline: deadline)
  }

  /// So many notes are kept.
  static let keptCommits: UInt64 = 4_096
}
