import CLibPQ
import Foundation
import StrataCore

/// One connection to the server. Used by one thread at a time: the pool lends it.
///
/// Statements go out together and the answers are read while they do, so that neither side waits for the other with a full buffer. What is sent together costs
/// one round trip.
final class PostgresConnection: @unchecked Sendable {
  // @unchecked Sendable: whoever has borrowed it from the pool, or holds the writer's lock, is the only one who uses it.

  private var handle: OpaquePointer
  private let server: String
  /// What makes two statements the same for the server.
  private struct Shape: Hashable {
    let text: String
    let oids: [UInt32]
  }
  /// Names of prepared statements.
  private var prepared: [Shape: String] = [:]
  private var preparedCount = 0
  private static let mostPrepared = 256
  /// How often something was sent and its answer waited for, since that was last asked.
  private var roundTrips = 0
  /// The process that opened it: a connection is of no use after a fork.
  private let process = getpid()
  /// How long the server may keep silent about statements that are run without a deadline; nil for as long as it likes.
  var patience: Duration?
  /// So long it may keep silent at least where it is not only to read: what is being written is not given up because it is large.
  static let leastWritingPatience = Duration.seconds(10)

  /// How long the server may keep silent about statements that write, or wait for a lock up to a timeout: it tells of that itself, and has what is written still before it.
  static func writingPatience(_ timeout: Duration) -> Duration { timeout + leastWritingPatience }

  /// Connects.
  /// - Throws: ``StorageError`` `.unreachable`, `.refused`, `.missing` for a database that is not there, `.serverBusy`, `.unsupportedFormat` for a server that
  ///   is too old and for a database whose encoding is not UTF-8.
  /// - Parameters:
  ///   - isOfStore: Whether the session tells the trigger of adopted tables that it keeps account of versions itself.
  ///   - patience: How long the server may keep silent about statements that are run without a deadline.
  init(
    _ address: ServerAddress, password: String?, deadline: ContinuousClock.Instant, isOfStore: Bool = true,
    patience: Duration? = nil
  ) throws {
    server = address.words
    self.patience = patience
    var parameters = address.parameters
    // Names are looked up nowhere but where the statements say; see CVE-2018-1058. Code that the server compiles for a large condition cannot be interrupted while it is
    // being compiled, which takes minutes. What others have set stands before it: the last word counts.
    let own =
      "-c search_path=pg_catalog -c client_encoding=UTF8 -c standard_conforming_strings=on -c idle_in_transaction_session_timeout=300000 -c jit=off"
      + (isOfStore ? " -c strata.session=on" : "")
    parameters["options"] = try Self.optionsElsewhere(parameters).map { $0 + " " + own } ?? own
    parameters["client_encoding"] = "UTF8"
    if let password { parameters["password"] = password }
    // A peer that is gone without a word is noticed after half a minute.
    for (key, value) in [
      ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "4"),
      ("tcp_user_timeout", "30000"),
    ] where parameters[key] == nil { parameters[key] = value }
    handle = try Self.startVerified(parameters)
    // Whatever is thrown from here on, `deinit` runs.
    try connect(parameters, deadline)
    PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
    guard PQsetnonblocking(handle, 1) == 0 else { throw lost() }
    guard PQserverVersion(handle) >= 120_000 else {
      throw StorageError(
        .unsupportedFormat, operation: "connect", path: "",
        detail:
          "Strata needs PostgreSQL 12 or newer; the server is of version \(PQserverVersion(handle) / 10_000)."
      )
    }
    try requireUTF8()
  }

  /// Statements count characters and compare bytes of texts on the server: with another encoding they would find other rows. The server has told its encoding already.
  private func requireUTF8() throws {
    let encoding = PQparameterStatus(handle, "server_encoding").map { String(cString: $0) }
    if encoding == "UTF8" { return }
    let database = PQdb(handle).map { String(cString: $0) } ?? ""
    throw StorageError(
      .unsupportedFormat, operation: "connect", path: "",
      detail:
        "The database “\(database)” has the encoding \(encoding ?? "of a kind that the server does not tell"), and Strata needs UTF8. Make another database: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0."
    )
  }

  deinit {
    // In a child process the session is still the parent's: it must not be ended, only let go of.
    if process == getpid() { PQfinish(handle) } else { _ = close(PQsocket(handle)) }
  }

  /// Asks one host after the other, as libpq where it waits itself: `connect_timeout` is for each address of each of them.
  private func connect(_ parameters: [String: String], _ deadline: ContinuousClock.Instant) throws {
    var hosts = Self.hosts(of: handle)
    var earlier = ""
    var known: [ConnectHosts.Asked] = []
    while let silent = try connect(deadline, earlier: earlier, known: &known) {
      let mayComeBack = Self.mayComeBack(of: handle)
      guard hosts.drop(silent, after: known, keepsOthers: mayComeBack) else {
        // Not busy, for which it would be asked again until the deadline: somebody has said how long it may take.
        throw StorageError(
          .unreachable, operation: "connect", path: "",
          detail:
            "\(server) has taken no connection within the time that connect_timeout gives each host.\(earlier.isEmpty ? "" : " Before: \(ConnectFailure(earlier, needsPassword: false).words)")"
        )
      }
      // The last line is of this one, and has no end yet.
      earlier += ConnectFailure.wholeLines(message) + silent.silence
      let next = try Self.startVerified(hosts.replacing(parameters))
      PQfinish(handle)
      handle = next
      isGivenUp = false
    }
  }

  /// Connects to the hosts of the handle.
  /// - Parameters:
  ///   - earlier: What was said by hosts that other handles have asked.
  ///   - known: Those that were asked and have said no, of all handles.
  /// - Returns: The one that has not answered in the time that `connect_timeout` gives it; nil when there is a connection.
  private func connect(
    _ deadline: ContinuousClock.Instant, earlier: String, known: inout [ConnectHosts.Asked]
  ) throws -> ConnectHosts.Asked? {
    // libpq would print what the server remarks by the way.
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    // Before there is a session libpq hands out words alone, with the code among them when it is asked to be verbose.
    PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
    if PQstatus(handle) == CONNECTION_BAD { throw connectFailure(earlier) }
    let limit = Self.connectLimit(of: handle)
    func end() -> ContinuousClock.Instant {
      limit.map { min(deadline, ContinuousClock.now + $0) } ?? deadline
    }
    var (asked, hostEnd) = (Self.asked(of: handle), end())
    var state = PGRES_POLLING_WRITING
    while state != PGRES_POLLING_OK {
      if state == PGRES_POLLING_FAILED { throw connectFailure(earlier) }
      let now = Self.asked(of: handle)
      if now != asked {
        known.append(asked)
        (asked, hostEnd) = (now, end())
      }
      do {
        try wait(
          forReading: state == PGRES_POLLING_READING, forWriting: state == PGRES_POLLING_WRITING, hostEnd)
      } catch let error as StorageError where error.kind == .serverBusy && hostEnd < deadline {
        return asked
      }
      state = PQconnectPoll(handle)
    }
    return nil
  }

  /// What libpq says of the handle.
  private var message: String { PQerrorMessage(handle).map { String(cString: $0) } ?? "" }

  /// Why there is no connection. libpq names neither the password nor a parameter's value in its messages but for names of hosts, roles and databases.
  private func connectFailure(_ earlier: String) -> StorageError {
    let failure = ConnectFailure(earlier + message, needsPassword: PQconnectionNeedsPassword(handle) == 1)
    return StorageError(
      failure.kind, operation: "connect", path: "", detail: "\(server) takes no connection: \(failure.words)")
  }

  /// Whether the connection can still be used.
  var isUsable: Bool {
    PQstatus(handle) == CONNECTION_OK && process == getpid() && !isGivenUp
      && PQpipelineStatus(handle) == PQ_PIPELINE_OFF
  }

  /// How many statements the session keeps prepared.
  var preparedStatements: Int { prepared.count }

  /// Whether no transaction is open.
  var isIdle: Bool { PQtransactionStatus(handle) == PQTRANS_IDLE }

  /// The server's number of the session, which `pg_terminate_backend` takes.
  var backend: Int32 { PQbackendPID(handle) }

  /// What makes the server give up the statement that the session is at, whoever waits for it. Made by whoever holds the connection.
  /// - Throws: ``StorageError`` `.unreachable`.
  func canceller() throws -> StatementCanceller {
    guard let cancel = PQgetCancel(handle) else { throw lost() }
    return StatementCanceller(cancel)
  }

  /// The socket, on which something can be read when the server has something to tell.
  var socket: Int32 { PQsocket(handle) }

  /// What has been told on channels that the session listens to since it was last asked; nil when the connection is lost. Does not wait.
  func notifications() -> [String]? {
    var payloads: [String] = []
    while true {
      guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else { return nil }
      while let notification = PQnotifies(handle) {
        payloads.append(notification.pointee.extra.map { String(cString: $0) } ?? "")
        PQfreemem(notification)
      }
      // To the end of what is there: behind the server's last words stands the end of the connection, of which nobody is told a second time.
      var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
      let count = poll(&descriptor, 1, 0)
      if count == 0 || count < 0 && errno != EINTR { return payloads }
    }
  }

  private func lost() -> StorageError {
    let words = message.split(separator: "\n").first.map(String.init) ?? ""
    return StorageError(
      .unreachable, operation: "talk to server", path: "",
      detail: "The connection was lost.\(words.isEmpty ? "" : " \(server): \(words).")")
  }

  // MARK: Statements

  /// Runs a statement.
  /// - Throws: ``SQLError`` when the server refuses it; ``StorageError`` `.unreachable` when the connection is lost.
  @discardableResult
  func run(_ statement: SQLStatement, deadline: ContinuousClock.Instant? = nil) throws -> SQLResult {
    let results = try run([statement], deadline: deadline)
    return results[0]
  }

  /// Runs statements one after the other, in one round trip but for what is copied: a copy takes two, and parts what stands before it from what stands behind. When
  /// one fails, those behind it are not carried out.
  /// - Throws: the first failing statement's ``SQLError``; ``StorageError`` `.unreachable` when the connection is lost, `.serverBusy` at the deadline.
  @discardableResult
  func run(_ statements: [SQLStatement], deadline: ContinuousClock.Instant? = nil) throws -> [SQLResult] {
    guard process == getpid() else {
      throw StorageError(
        .forked, operation: "talk to server", path: "", detail: "The connection was opened before a fork.")
    }
    try requireAnswers()
    if statements.isEmpty { return [] }
    if let large = statements.first(where: { $0.oids.count > SQLStatement.mostParameters }) {
      throw StorageError(
        .tooLarge, operation: "talk to server", path: "",
        detail:
          "A statement has \(large.oids.count) values, and PostgreSQL takes \(SQLStatement.mostParameters).")
    }
    var results: [SQLResult] = []
    var rest = statements[...]
    do {
      if !statements.contains(where: \.isCopy) { return try runTogether(rest, deadline) }
      while let first = rest.first {
        if let copied = first.copied {
          let result = try copy(first.text, copied, patience(until: deadline))
          // A trigger may keep rows without a word.
          guard result.affectedCount == copied.rowCount else {
            throw SQLError(state: RowStatements.guardState, message: "not all rows were copied")
          }
          results.append(result)
          rest.removeFirst()
        } else {
          let part = rest.prefix { !$0.isCopy }
          results += try runTogether(part, deadline)
          rest.removeFirst(part.count)
        }
      }
    } catch var error as SQLError {
      error.position += results.count
      if statements.indices.contains(error.position) {
        error.isOfCopy = statements[error.position].isCopy
        error.subject = statements[error.position].subject
      }
      throw error
    }
    return results
  }

  private func runTogether(_ statements: ArraySlice<SQLStatement>, _ deadline: ContinuousClock.Instant?)
    throws
    -> [SQLResult]
  {
    try makeRoom(statements, deadline)
    guard PQenterPipelineMode(handle) == 1 else { throw lost() }
    var expected: [Expected] = []
    var fresh: [Shape] = []
    for statement in statements {
      let shape = Shape(text: statement.text, oids: statement.oids)
      if let name = prepared[shape] {
        try send(statement, name)
      } else {
        preparedCount += 1
        let name = "s\(preparedCount)"
        try prepare(statement, name)
        prepared[shape] = name
        fresh.append(shape)
        expected.append(.prepared)
        try send(statement, name)
      }
      expected.append(.result)
    }
    guard PQpipelineSync(handle) == 1 else { throw lost() }
    roundTrips += 1
    var known = 0
    do {
      let results = try receive(expected, patience(until: deadline), prepared: &known)
      guard PQexitPipelineMode(handle) == 1 else { throw lost() }
      return results
    } catch {
      // Those that the server has prepared stay so, whatever becomes of the transaction.
      for shape in fresh.dropFirst(known) { prepared[shape] = nil }
      throw error
    }
  }

  private enum Expected { case prepared, result }

  /// What is left until a deadline is how long the server may keep silent: an answer that is coming may take its time.
  private func patience(until deadline: ContinuousClock.Instant?) -> Duration? {
    deadline.map { max($0 - ContinuousClock.now, .milliseconds(1)) } ?? patience
  }

  private func makeRoom(_ statements: ArraySlice<SQLStatement>, _ deadline: ContinuousClock.Instant?) throws {
    guard prepared.count + statements.count > Self.mostPrepared, !prepared.isEmpty else { return }
    // Many rows have the same statement.
    let fresh = Set(statements.map { Shape(text: $0.text, oids: $0.oids) }).subtracting(prepared.keys)
    guard !fresh.isEmpty, prepared.count + fresh.count > Self.mostPrepared else { return }
    // Not in a transaction that has failed, where nothing is run but a rollback.
    guard PQtransactionStatus(handle) != PQTRANS_INERROR else { return }
    try forgetPrepared(deadline: deadline)
  }

  /// Has all statements prepared anew when they are run next. In a transaction, or between two.
  /// - Throws: as `run`.
  func forgetPrepared(deadline: ContinuousClock.Instant? = nil) throws {
    prepared = [:]
    try runText("DEALLOCATE ALL", deadline: deadline)
  }

  private func prepare(_ statement: SQLStatement, _ name: String) throws {
    let isSent = statement.oids.withUnsafeBufferPointer {
      PQsendPrepare(handle, name, statement.text, Int32($0.count), $0.baseAddress)
    }
    if isSent != 1 { throw lost() }
  }

  private func send(_ statement: SQLStatement, _ name: String) throws {
    let formats = [Int32](repeating: 1, count: statement.oids.count)
    let isSent = statement.bytes.withUnsafeBytes { bytes in
      // An empty parameter needs an address, too: none means null.
      let base = bytes.baseAddress ?? UnsafeRawPointer(handle)
      let values = statement.starts.map { start -> UnsafePointer<CChar>? in
        start < 0 ? nil : (base + start).assumingMemoryBound(to: CChar.self)
      }
      return values.withUnsafeBufferPointer { values in
        statement.lengths.withUnsafeBufferPointer { lengths in
          PQsendQueryPrepared(
            handle, name, Int32(statement.oids.count), values.baseAddress, lengths.baseAddress, formats, 1)
        }
      }
    }
    if isSent != 1 { throw lost() }
  }

  /// Reads the answers up to the end of what was sent.
  /// - Parameter known: Counts the statements that the server has prepared, also when one behind them fails.
  private func receive(_ expected: [Expected], _ patience: Duration?, prepared known: inout Int) throws
    -> [SQLResult]
  {
    var results: [SQLResult] = []
    var failure: SQLError?
    var place = 0
    var isSynchronized = false
    while !isSynchronized {
      try flushAndRead(patience)
      guard let result = PQgetResult(handle) else {
        // Between the answers of two statements.
        if PQstatus(handle) == CONNECTION_BAD { throw lost() }
        continue
      }
      switch PQresultStatus(result) {
      case PGRES_PIPELINE_SYNC:
        PQclear(result)
        isSynchronized = true
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
        let isPrepared = place < expected.count && expected[place] == .prepared
        place += 1
        if isPrepared {
          PQclear(result)
          known += 1
        } else {
          results.append(SQLResult(result))
        }
      case PGRES_PIPELINE_ABORTED:
        PQclear(result)
        place += 1
      default:
        if failure == nil {
          failure = SQLError(result)
          // One result for each statement before it.
          failure?.position = results.count
        }
        PQclear(result)
        place += 1
        if PQstatus(handle) == CONNECTION_BAD { throw lost() }
      }
    }
    if let failure {
      guard PQexitPipelineMode(handle) == 1 else { throw lost() }
      throw failure
    }
    return results
  }

  // MARK: Copying

  /// So many bytes are handed on at once.
  private static let copyStep = 1 << 16

  /// - Throws: ``SQLError`` when the server refuses it; what the bytes cannot be made for, and then the transaction is void; as `run`.
  private func copy(_ text: String, _ copied: any CopiedBytes, _ patience: Duration?) throws -> SQLResult {
    guard PQsendQuery(handle, text) == 1 else { throw lost() }
    roundTrips += 1
    try flushAndRead(patience)
    guard let answer = PQgetResult(handle) else { throw lost() }
    let isReady = PQresultStatus(answer) == PGRES_COPY_IN
    let refusal = isReady ? nil : SQLError(answer)
    PQclear(answer)
    let unmade = isReady ? try send(copied, patience) : nil
    roundTrips += 1
    var (last, failure): (SQLResult?, SQLError?) = (nil, refusal)
    while true {
      try flushAndRead(patience)
      guard let result = PQgetResult(handle) else { break }
      if PQresultStatus(result) == PGRES_COMMAND_OK {
        last = SQLResult(result)
      } else {
        if failure == nil { failure = SQLError(result) }
        PQclear(result)
        if PQstatus(handle) == CONNECTION_BAD { throw lost() }
      }
    }
    if let unmade { throw unmade }
    if let failure { throw failure }
    guard let last else { throw lost() }
    return last
  }

  /// Sends what is copied, and has the server give the statement up where the bytes cannot be made.
  /// - Returns: Why they cannot be made.
  /// - Throws: ``StorageError`` `.unreachable`, `.serverBusy`.
  private func send(_ copied: any CopiedBytes, _ patience: Duration?) throws -> (any Error)? {
    var failure: (any Error)?
    var isWhole = true
    do {
      try copied.write { bytes in
        do {
          isWhole = try send(part: bytes, patience)
          return isWhole
        } catch {
          failure = error
          throw error
        }
      }
    } catch {
      if let failure { throw failure }
      try endCopy("Strata: a value cannot be stored.", patience)
      return error
    }
    // Never a part of the rows as if it were all of them.
    try endCopy(isWhole ? nil : "Strata: not all rows could be sent.", patience)
    return nil
  }

  /// Sends a part of what is copied, and reads meanwhile. False when no more is taken: the server's answer says why.
  private func send(part bytes: [UInt8], _ patience: Duration?) throws -> Bool {
    var place = 0
    while place < bytes.count {
      let count = min(Self.copyStep, bytes.count - place)
      let state = bytes.withUnsafeBytes { buffer in
        // Not nil: there are bytes.
        PQputCopyData(
          handle, (buffer.baseAddress.unsafelyUnwrapped + place).assumingMemoryBound(to: CChar.self),
          Int32(count))
      }
      if state < 0 {
        if PQstatus(handle) == CONNECTION_BAD { throw lost() }
        return false
      }
      if state > 0 { place += count }
      try flushAndRead(patience)
    }
    return true
  }

  /// - Parameter reason: Why nothing is to be copied after all.
  private func endCopy(_ reason: String?, _ patience: Duration?) throws {
    while true {
      let state = PQputCopyEnd(handle, reason)
      if state > 0 { return }
      if state < 0 {
        if PQstatus(handle) == CONNECTION_BAD { throw lost() }
        return
      }
      try flushAndRead(patience)
    }
  }

  /// Runs statements without parameters, one after the other, as one transaction unless they say otherwise.
  /// - Throws: as `run`.
  @discardableResult
  func runText(_ text: String, deadline: ContinuousClock.Instant? = nil) throws -> SQLResult? {
    try requireAnswers()
    guard PQsendQuery(handle, text) == 1 else { throw lost() }
    roundTrips += 1
    let patience = self.patience(until: deadline)
    var last: SQLResult?
    var failure: SQLError?
    while true {
      try flushAndRead(patience)
      guard let result = PQgetResult(handle) else { break }
      switch PQresultStatus(result) {
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: last = SQLResult(result)
      default:
        if failure == nil { failure = SQLError(result) }
        PQclear(result)
        if PQstatus(handle) == CONNECTION_BAD { throw lost() }
      }
    }
    if let failure { throw failure }
    return last
  }

  /// So long a server may take for a rollback, which is nothing to it.
  private static let rollbackPatience = Duration.seconds(10)

  /// Ends whatever transaction is open; false when the connection is of no use any more.
  func reset() -> Bool {
    guard isUsable else { return false }
    if isIdle { return true }
    do {
      try runText("ROLLBACK", deadline: ContinuousClock.now + Self.rollbackPatience)
      return isIdle
    } catch { return false }
  }

  /// How many round trips there have been since this was last called.
  func takeRoundTrips() -> Int {
    defer { roundTrips = 0 }
    return roundTrips
  }

  // MARK: The socket

  /// Sends what is waiting and reads until the next answer is there.
  ///
  /// - Parameter patience: How long the server may say nothing at all.
  private func flushAndRead(_ patience: Duration?) throws {
    while true {
      let left = PQflush(handle)
      if left < 0 {
        // What the server has said before it hung up is worth more than that it did.
        _ = PQconsumeInput(handle)
        if PQisBusy(handle) == 0 { return }
        throw lost()
      }
      if left == 0, PQisBusy(handle) == 0 { return }
      try wait(forReading: true, forWriting: left > 0, patience.map { ContinuousClock.now + $0 })
      if PQconsumeInput(handle) != 1 {
        if PQisBusy(handle) == 0 { return }
        throw lost()
      }
    }
  }

  private func wait(forReading: Bool, forWriting: Bool, _ deadline: ContinuousClock.Instant?) throws {
    let socket = PQsocket(handle)
    guard socket >= 0 else { throw lost() }
    switch SocketWait.wait(for: socket, reading: forReading, writing: forWriting, until: deadline) {
    case .ready: return
    case .late: throw timeout()
    case .failed: throw lost()
    }
  }

  /// Whether an answer was waited for in vain: one may still come, and the server may still be asked to give the statement up.
  private var isGivenUp = false

  /// - Throws: ``StorageError`` `.unreachable` when an earlier answer may still come, which would be taken for that of another statement.
  private func requireAnswers() throws {
    guard isGivenUp else { return }
    throw StorageError(
      .unreachable, operation: "talk to server", path: "",
      detail: "The connection was given up, since \(server) had not answered in time.")
  }

  /// Has the server asked to give up what it is doing. The connection is not used again: an answer may still come.
  private func timeout() -> StorageError {
    if PQstatus(handle) == CONNECTION_OK, let canceller = try? canceller() {
      // Who asks makes a connection of his own, for which a server that stands still has no answer.
      Thread { canceller.cancel() }.start()
    }
    isGivenUp = true
    return StorageError(
      .serverBusy, operation: "talk to server", path: "", detail: "\(server) has not answered in time.")
  }
}
