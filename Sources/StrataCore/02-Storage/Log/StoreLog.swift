import CLMDBShim
import Foundation

/// The log beside a store's file, by which a small commit is durable after one write and one flush.
///
/// ```
///   commit        changes → LMDB's transaction and a record ─▶ record appended (and flushed) ─▶ LMDB's commit, not flushed
///   checkpoint    data file flushed ─▶ head of the log: a copy of the anchor that is durable now ─▶ the pin moves there
///   power cut     the anchor of the checkpoint is put back ─▶ the records are carried out again  (`LogRecovery`)
/// ```
///
/// **The pin** is a read transaction that keeps LMDB from using the checkpoint's pages again. A process that writes holds one that is not newer than the
/// log's checkpoint, or makes a checkpoint before it changes anything. So it may be released at any time, and a process that has written nothing for a
/// while releases it, so that its pages can be used again.
///
/// **What is logged is complete**: a transaction is logged only behind a record of the one before it, or behind the checkpoint. Any other commit, by a
/// large transaction or a process that died between the record and the commit, leads to a checkpoint first.
///
/// Unchecked: what concerns the log is touched by the thread that holds LMDB's write transaction, or the gate; the pin and the signs of idleness under `lock`.
final class StoreLog: @unchecked Sendable {
  private let file: StoreFile
  private let durability: Durability
  private let policy: LogPolicy
  private let recorder = LogRecorder()

  // What is known of the log that is in force; nothing while `descriptor` is negative.
  private var descriptor: Int32 = -1
  private var capacity = 0
  private var headBytes: [UInt8] = []
  private var head = LogHead.none
  /// Behind the last record: where it ends, its checksum, its transaction.
  private var tail = LogFormat.recordStart
  private var chain: UInt64 = 0
  private var lastID: UInt64 = 0
  private var lastIsFlushed = false
  /// Whether nothing may be appended before there is a new checkpoint.
  private var needsCheckpoint = false
  /// The file's last page at the checkpoint.
  private var checkpointPage = 0
  private var scratch: [UInt8] = []

  /// Commits of this environment that went without a log.
  private var plainCommits = 0
  /// Whether the transaction that is open is recorded.
  private var isRecording = false

  private let lock = SystemLock()
  private var pin: OpaquePointer?
  private var pinID: UInt64 = 0
  private var isWriting = false
  private var activity = 0
  private var isWatched = false
  private var flushIsWanted = false
  private var suspicion: StorageError?

  init(_ file: StoreFile, _ options: EnvironmentOptions) {
    self.file = file
    durability = options.durability
    policy = options.log
  }

  /// Why the store must be opened again, and thereby recovered, before the next write; nil when it need not.
  var reasonToRecover: StorageError? { lock.withLock { suspicion } }

  /// The next transaction makes a checkpoint, or flushes the file while there is no log.
  func wantFlush() { lock.withLock { flushIsWanted = true } }

  // MARK: A write transaction

  /// Prepares a write transaction that has just begun and has changed nothing. Returns the recorder of its changes, or nil while there is no log.
  ///
  /// `end` must follow in any case.
  /// - Throws: ``StorageError`` when the checkpoint that is needed cannot be made; nothing is changed then.
  func begin(_ transaction: OpaquePointer) throws -> LogRecorder? {
    isRecording = false
    let wantsFlush = lock.withLock {
      isWriting = true
      defer { flushIsWanted = false }
      return flushIsWanted
    }
    do {
      return try begin(transaction, wantsFlush: wantsFlush)
    } catch {
      // The flush that was asked for is still to be done.
      if wantsFlush { wantFlush() }
      throw error
    }
  }

  private func begin(_ transaction: OpaquePointer, wantsFlush: Bool) throws -> LogRecorder? {
    let base = UInt64(mdb_txn_id(transaction)) - 1
    if descriptor < 0 { try adopt(transaction) }
    if descriptor < 0 {
      if wantsFlush { try flushData(transaction) }
      guard plainCommits >= policy.commitsBefore else { return nil }
      guard try make(transaction, base) else { return nil }
    } else {
      try readHead()
      try follow(to: base)
      if wantsFlush || needsCheckpoint || lastID != base || lastIsFlushed || !holdsPin
        || head.flags.contains(.untrusted) || pageCount(transaction) - checkpointPage > mostPages
      {
        try checkpoint(transaction)
      }
    }
    recorder.reset()
    isRecording = true
    return recorder
  }

  /// The transaction is over.
  func end() {
    lock.withLock {
      isWriting = false
      activity += 1
      if pin != nil && !isWatched { watch() }
    }
  }

  /// Commits the transaction, by the log where there is one. Returns LMDB's code; the transaction is over in any case.
  ///
  /// - Parameter work: how long the transaction has taken.
  /// - Throws: ``StorageError`` when the log cannot be written; nothing is committed then.
  func commit(_ transaction: OpaquePointer, work: Duration) throws -> Int32 {
    guard isRecording else {
      let code = FlushAhead.commit(transaction, flushes: true, work: work)
      if code == 0 { plainCommits += 1 }
      return code
    }
    isRecording = false
    guard recorder.hasChanges else {
      // LMDB commits nothing.
      return FlushAhead.commit(transaction, flushes: true, work: work)
    }
    let environment = mdb_txn_env(transaction)
    let transactionID = UInt64(mdb_txn_id(transaction))
    var isLogged = !recorder.isTooLarge
    do {
      var size =
        LogFormat.recordHeader + (isLogged ? recorder.bytes.count.roundedUp(to: LogFormat.alignment) : 0)
      if tail + size > capacity {
        try checkpoint(transaction, room: LogFormat.recordStart + size)
        if tail + size > capacity {
          // The file could not be made larger.
          (isLogged, size) = (false, LogFormat.recordHeader)
        }
      }
      try append(isLogged ? .changes : .flushed, transactionID, size)
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    let end = tail + scratch.count
    let code: Int32
    if isLogged {
      mdb_env_set_flags(environment, UInt32(MDB_NOSYNC), 1)
      code = mdb_txn_commit(transaction)
      mdb_env_set_flags(environment, UInt32(MDB_NOSYNC), 0)
    } else {
      code = FlushAhead.commit(transaction, flushes: true, work: work)
    }
    guard code == 0 else {
      // It was never acknowledged, and must not come back after a power cut.
      guard !cutTail(), code != MDB_MAP_FULL else { return code }
      var error = StorageError(code, "mdb_txn_commit", path: file.path)
      error.isOutcomeUnknown = true
      throw error
    }
    (tail, chain, lastID, lastIsFlushed) = (end, appendedChecksum, transactionID, !isLogged)
    return 0
  }

  private var appendedChecksum: UInt64 = 0

  // MARK: Records

  /// Appends a record of the transaction. The state stays as it was until `commit` updates it.
  private func append(_ kind: LogRecord.Kind, _ transactionID: UInt64, _ size: Int) throws {
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    scratch.removeAll(keepingCapacity: true)
    recorder.bytes.withUnsafeBytes { bytes in
      let body = kind == .changes ? bytes : empty
      let header = LogRecord.header(kind, transactionID, body: body, chain: chain)
      appendedChecksum = header.checksum
      scratch.append(contentsOf: header.bytes)
      scratch.append(contentsOf: body)
      scratch.append(contentsOf: repeatElement(0, count: size - scratch.count))
    }
    do {
      try scratch.withUnsafeBytes { try file.system.writeAll(descriptor, $0, at: tail, path: file.logPath) }
      if durability == .full { try syncLog() }
    } catch {
      let isCut = cutTail()
      distrust()
      guard !isCut, var failure = error as? StorageError else { throw error }
      failure.isOutcomeUnknown = true
      throw failure
    }
  }

  /// Makes sure that the bytes after the last record are no record. Always flushed: a commit that was reported as failed must not come back.
  ///
  /// - Returns: false when the medium does not allow that. Should the process die before the next commit, which begins with a checkpoint, the failed one
  ///   can come back.
  private func cutTail() -> Bool {
    if policy.omitsCut { return true }
    let zeros = [UInt8](repeating: 0, count: LogFormat.recordHeader)
    do {
      try zeros.withUnsafeBytes { try file.system.writeAll(descriptor, $0, at: tail, path: file.logPath) }
      try syncLog()
      return true
    } catch {
      distrust()
      return false
    }
  }

  /// No process appends to the log any more before there is a new checkpoint.
  private func distrust() {
    needsCheckpoint = true
    flag(.untrusted)
  }

  /// Notes that in the head for other processes, as far as possible.
  private func flag(_ flags: LogHead.Flags) {
    head.flags.formUnion(flags)
    // What cannot be known is read again.
    headBytes = (try? writeHead(head)) ?? []
    _ = file.system.syncData(descriptor)
  }

  /// Writes the head, not flushed. Returns its bytes.
  private func writeHead(_ head: LogHead) throws -> [UInt8] {
    let bytes = head.bytes
    try bytes.withUnsafeBytes { try file.system.writeAll(descriptor, $0, at: 0, path: file.logPath) }
    return bytes
  }

  private func syncLog() throws {
    let code = file.system.syncData(descriptor)
    if code != 0 { throw StorageError(-code, "fdatasync", path: file.logPath) }
  }

  /// Reads the records that others have written, up to transaction `base`.
  private func follow(to base: UInt64) throws {
    if lastID == base { return }
    guard lastID < base else {
      needsCheckpoint = true
      return
    }
    // Most often another process has written one small record.
    var window = 1 << 14
    while lastID < base {
      let start = tail
      let bytes = try read(start..<max(start, min(capacity, start + window)))
      bytes.withUnsafeBytes { buffer in
        while lastID < base, let record = LogRecord(buffer, at: tail, chain: chain, base: start),
          record.transactionID == lastID + 1
        {
          (tail, chain, lastID) = (record.end, record.checksum, record.transactionID)
          lastIsFlushed = record.kind == .flushed
        }
      }
      if tail > start { continue }
      if window > LogFormat.mostRecordBytes { return }
      window = LogFormat.mostRecordBytes * 2
    }
  }

  // MARK: The head

  /// Checks whether another process has made a checkpoint.
  private func readHead() throws {
    let bytes = try read(0..<LogFormat.headSize)
    if bytes == headBytes { return }
    guard case .head(let found) = LogHead.read(bytes), found.state == .inForce,
      found.identity == head.identity
    else {
      throw StorageError(
        .damaged, operation: "pread", path: file.logPath,
        detail: "The log beside the store was overwritten while the store was open. Nothing was written.")
    }
    if found.flags.contains(.suspect) {
      let error = suspect(StorageError(EIO, "fdatasync", path: file.path))
      throw error
    }
    if found.generation != head.generation {
      (tail, chain, lastID, lastIsFlushed) = (
        LogFormat.recordStart, found.generation, found.checkpoint, false
      )
      needsCheckpoint = false
      checkpointPage = Int(clamping: MetaPage(found.anchor).lastPage)
      capacity = try size()
    }
    (head, headBytes) = (found, bytes)
  }

  private func size() throws -> Int {
    switch file.system.statusOfDescriptor(descriptor) {
    case .success(let status): return min(status.size, LogFormat.mostFileBytes)
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.logPath)
    }
  }

  private func read(_ range: Range<Int>) throws -> [UInt8] {
    try LogFile.read(descriptor, range, file)
  }

  // MARK: Checkpoints

  /// Makes all that was committed durable in the data file, and begins a new log after it.
  ///
  /// - Parameter room: how large the log must be at least.
  private func checkpoint(_ transaction: OpaquePointer, room: Int = 0) throws {
    let isFull =
      room > capacity || capacity < LogFormat.sizes[LogFormat.sizes.count - 1] && tail * 2 > capacity
    try flushData(transaction)
    let anchor = try readAnchor(transaction)
    if isFull { enlarge(to: max(room, capacity + 1)) }
    var next = head
    next.state = .inForce
    next.flags = []
    next.generation = .random(in: 1 ... .max)
    next.anchor = anchor
    let bytes: [UInt8]
    do {
      bytes = try writeHead(next)
      try syncLog()
    } catch {
      // Either head may be what the medium has: both lead to the same state, as long as nothing is appended and the pin stays.
      distrust()
      throw error
    }
    (head, headBytes, needsCheckpoint) = (next, bytes, false)
    (tail, chain, lastID, lastIsFlushed) = (LogFormat.recordStart, next.generation, next.checkpoint, false)
    checkpointPage = Int(clamping: MetaPage(anchor).lastPage)
    try movePin(transaction)
  }

  /// Flushes the data file.
  private func flushData(_ transaction: OpaquePointer) throws {
    let code = mdb_env_sync(mdb_txn_env(transaction), 1)
    if code == 0 { return }
    let error = StorageError(code, "fdatasync", path: file.path)
    if descriptor < 0 { throw error }
    // The system may call pages clean that the medium does not have. The log still has what is in them, and must keep it.
    flag(.suspect)
    throw suspect(error)
  }

  private func suspect(_ error: StorageError) -> StorageError {
    var error = error
    error.detail +=
      " The store is recovered from its log when it is opened next, or written next by its only process."
    lock.withLock { suspicion = error }
    return error
  }

  /// The anchor on which the transaction stands.
  private func readAnchor(_ transaction: OpaquePointer) throws -> [UInt8] {
    let base = UInt64(mdb_txn_id(transaction)) - 1
    var statistics = MDB_stat()
    var data: mdb_filehandle_t = -1
    mdb_env_stat(mdb_txn_env(transaction), &statistics)
    mdb_env_get_fd(mdb_txn_env(transaction), &data)
    let offset = Int(base & 1) * Int(statistics.ms_psize)
    let bytes = try LogFile.read(data, offset..<offset + MetaPage.size, file)
    guard MetaPage(bytes).transactionID == base else {
      throw StorageError(
        .damaged, operation: "pread", path: file.path, page: base & 1,
        detail: "The store's anchor is not that of its newest transaction.")
    }
    return bytes
  }

  /// Makes the file larger, if that can be done.
  private func enlarge(to least: Int) {
    guard let wanted = LogFormat.sizes.first(where: { $0 >= least }) ?? LogFormat.sizes.last,
      wanted > capacity,
      let _ = try? LogFile.fill(descriptor, capacity..<wanted, file)
    else { return }
    capacity = wanted
  }

  private var mostPages: Int { max(policy.mostPages, min(checkpointPage / 8, 16_384)) }

  private func pageCount(_ transaction: OpaquePointer) -> Int {
    var information = MDB_envinfo()
    mdb_env_info(mdb_txn_env(transaction), &information)
    return information.me_last_pgno
  }

  // MARK: The pin

  /// Whether this process holds a pin that keeps the checkpoint's pages.
  private var holdsPin: Bool { policy.omitsPin || lock.withLock { pin != nil && pinID <= head.checkpoint } }

  /// Pins the commit on which the transaction stands.
  private func movePin(_ transaction: OpaquePointer) throws {
    if policy.omitsPin { return }
    var next: OpaquePointer?
    let environment = mdb_txn_env(transaction)
    var code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &next)
    if code == MDB_READERS_FULL, let environment, ReaderTable.check(environment) > 0 {
      code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &next)
    }
    guard code == 0, let next else { throw StorageError(code, "mdb_txn_begin", path: file.path) }
    let old = lock.withLock {
      defer { (pin, pinID) = (next, UInt64(mdb_txn_id(next))) }
      return pin
    }
    if let old { mdb_txn_abort(old) }
  }

  private static let idleTime = DispatchTimeInterval.milliseconds(500)

  /// Checks later whether anything was written in between. Under `lock`.
  private func watch() {
    isWatched = true
    let seen = activity
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.idleTime) { [weak self] in
      self?.lookAfter(seen)
    }
  }

  private func lookAfter(_ seen: Int) {
    lock.withLock {
      isWatched = false
      if pin == nil { return }
      if isWriting || activity != seen { return watch() }
      endPin()
    }
  }

  /// Under `lock`, outside of write transactions.
  private func endPin() {
    if let pin { mdb_txn_abort(pin) }
    pin = nil
  }

  // MARK: Beginning and ending

  /// Uses the log that another process has made, or this one before it opened the store again.
  private func adopt(_ transaction: OpaquePointer) throws {
    guard case .success(let status) = file.system.status(file.logPath), status.kind == .regular else {
      return
    }
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(mdb_txn_env(transaction), &data)
    guard let identity = try LogMark.read(file, data) else { return }
    let opened = try LogFile.open(file)
    do {
      let bytes = try LogFile.read(opened, 0..<min(status.size, LogFormat.headSize), file)
      guard bytes.count == LogFormat.headSize, let found = try LogRecovery.head(opened, of: identity, file),
        found.state == .inForce
      else {
        _ = file.system.close(opened)
        return
      }
      (head, headBytes) = (found, [])
      head.generation = 0
      descriptor = opened
      capacity = try size()
    } catch {
      _ = file.system.close(opened)
      descriptor = -1
      throw error
    }
  }

  /// Makes a log, whose checkpoint is the commit on which the transaction stands. False when there is no room or no permission for one: commits are
  /// flushed as before then, and a later one tries again.
  private func make(_ transaction: OpaquePointer, _ base: UInt64) throws -> Bool {
    plainCommits = 0
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(mdb_txn_env(transaction), &data)
    let identity = LogIdentity()
    do {
      descriptor = try LogFile.make(file)
      capacity = LogFormat.sizes[0]
      try LogMark.leave(identity, file, data)
    } catch {
      // Should the mark stay, so does the log, which is empty: the next attempt makes another one.
      if !withdraw(data) { detach() }
      return false
    }
    head = .none
    head.identity = identity
    tail = LogFormat.recordStart
    do {
      try checkpoint(transaction)
    } catch let error as StorageError {
      // The head may be in force or not. The data file is what counts, as it is: before anything is committed, the next flush makes sure that it has no
      // mark. Should the mark stay, the store is opened again first.
      if !withdraw(data) { throw suspect(error) }
      lock.withLock { suspicion = nil }
      throw error
    }
    return true
  }

  /// The log was not put in force: it is removed. False when the data file keeps the mark.
  private func withdraw(_ data: Int32) -> Bool {
    guard LogMark.remove(file, data) else { return false }
    abandon()
    return true
  }

  private func abandon() {
    if descriptor >= 0 {
      _ = file.system.unlink(file.logPath)
      _ = file.system.close(descriptor)
    }
    descriptor = -1
  }

  /// Before LMDB's environment is closed; the gate is shut. The log stays in force.
  func detach() {
    lock.withLock {
      endPin()
      suspicion = nil
    }
    if descriptor >= 0 { _ = file.system.close(descriptor) }
    descriptor = -1
    headBytes = []
    head = .none
    (tail, chain, lastID, lastIsFlushed) = (LogFormat.recordStart, 0, 0, false)
    needsCheckpoint = false
  }

  /// The store is closed for good: the data file becomes whole without the log when no other process has it open. The gate is shut.
  ///
  /// - Returns: whether no log is in force any more.
  func close(_ environment: OpaquePointer, isAlone: () -> Bool) -> Bool {
    defer { detach() }
    lock.withLock { endPin() }
    if descriptor < 0 {
      let isFlushed = durability == .full || mdb_env_sync(environment, 1) == 0
      // Another process may have made a log since this one wrote last.
      guard case .failure(let code) = file.system.status(file.logPath), code.number == ENOENT else {
        return false
      }
      return isFlushed
    }
    let isInForce = (try? readHead()) != nil
    guard isInForce, let turn = try? LogTurn.takeAtOnce(file, descriptor), isAlone() else {
      if durability != .full { _ = file.system.syncData(descriptor) }
      return false
    }
    defer { turn.end() }
    guard mdb_env_sync(environment, 1) == 0 else {
      flag(.suspect)
      return false
    }
    head.state = .empty
    head.flags = []
    head.anchor = LogHead.none.anchor
    guard (try? writeHead(head)) != nil, file.system.syncData(descriptor) == 0 else { return false }
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    // An empty log that stays does no harm; a mark without a log would be reported as a loss.
    if LogMark.remove(file, data) { LogFile.remove(file, descriptor) }
    return true
  }
}

/// When a store's small commits use a log.
struct LogPolicy: Sendable {
  /// Whether stores keep a log unless their options say otherwise.
  static let isKeptByDefault = false
  /// How many commits use no log: a program that saves once and closes does not pay for one.
  var commitsBefore = 4
  /// By how many pages the file may grow between two checkpoints. Large files may grow by an eighth, up to 64 MiB.
  var mostPages = 1_024
  /// Leaves out what keeps the checkpoint's pages: for tests that have to notice it.
  var omitsPin = false
  /// Carries out records without looking at the chain of checksums: for tests that have to notice it.
  var ignoresChain = false
  /// Leaves the record of a commit that failed: for tests that have to notice it.
  var omitsCut = false
}
