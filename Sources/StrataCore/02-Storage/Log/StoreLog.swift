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
  let file: StoreFile
  let durability: Durability
  let policy: LogPolicy
  let recorder = LogRecorder()

  // What is known of the log that is in force; nothing while `descriptor` is negative.
  var descriptor: Int32 = -1
  /// Which file it is.
  var identity: FileSystem.Identity?
  var capacity = 0
  var head = LogHead.none
  /// What both heads of the file are, as far as this process knows; empty when it does not.
  var headArea: [UInt8] = []
  var areaBuffer = [UInt8](repeating: 0, count: LogFormat.headArea.count)
  /// Behind the last record: where it ends, its checksum, its transaction.
  var tail = LogFormat.recordStart
  var chain: UInt64 = 0
  var lastID: UInt64 = 0
  var lastIsFlushed = false
  /// Whether nothing may be appended before there is a new checkpoint.
  var needsCheckpoint = false
  /// The file's last page at the checkpoint.
  var checkpointPage = 0
  /// The file's last page when this process took its pin, at a checkpoint that others may have replaced since.
  var pinPage = 0
  var scratch: [UInt8] = []
  /// How many bytes of it are the record that was appended last.
  var scratchCount = 0

  /// Logged commits since the system was last told to write out the data file.
  private var commitsSinceFlush = 0
  /// Commits of this environment that went without a log.
  var plainCommits = 0
  /// Whether the transaction that is open is recorded.
  var isRecording = false

  let lock = SystemLock()
  var pin: OpaquePointer?
  /// Whether it keeps pages. Otherwise it only keeps its place in the table of readers.
  var isPinned = false
  var pinID: UInt64 = 0
  var isWriting = false
  var activity = 0
  var isWatched = false
  var flushIsWanted = false
  /// Whether the log is to go, because the disk is full.
  var roomIsWanted = false
  /// Why the medium may not have what the data file seems to hold. Kept until the store was recovered: the log need not say it.
  var suspicion: StorageError?

  /// Whether this environment begins a log. One that is there is used in any case.
  var isKept: Bool
  /// Whether the file's format keeps out programs that know nothing of logs.
  var isPermitted: Bool
  /// Whether there are records after the checkpoint, and a quiet moment has not been used yet.
  var hasRecords = false
  /// Whether commits without a log are flushed, too.
  let flushesPlainCommits: Bool
  /// Whether all other programs that have the store open know of logs. Set before the first use.
  var othersKnowLogs: @Sendable (OpaquePointer) -> Bool = { _ in false }
  /// Gives up readers of this process that are not in use. Set before the first use.
  var onReadersFull: @Sendable () -> Void = {}
  /// Makes a checkpoint, on any thread. Set before the first use.
  var onQuiet: @Sendable () -> Void = {}

  init(_ file: StoreFile, _ options: EnvironmentOptions) {
    self.file = file
    durability = options.durability
    policy = options.log
    isKept = options.keepsLog
    isPermitted = !options.log.awaitsPermission
    flushesPlainCommits = options.flushesCommits
  }

  /// Whether there is a log now. For who holds LMDB's write transaction.
  var isInForce: Bool { descriptor >= 0 }

  /// From now on this environment may begin a log.
  func keep() { lock.withLock { isKept = true } }

  /// The file's format keeps out programs that know nothing of logs.
  func permit() { lock.withLock { isPermitted = true } }

  /// Whether a log is wanted, and only the file's format is in the way.
  var needsPermission: Bool { lock.withLock { isKept && !isPermitted } }

  /// Why the store must be opened again, and thereby recovered, before the next write; nil when it need not.
  var reasonToRecover: StorageError? { lock.withLock { suspicion } }

  /// The store was opened again, by its log where there was one.
  func forgetSuspicion() { lock.withLock { suspicion = nil } }

  /// The next transaction makes a checkpoint, or flushes the file while there is no log.
  func wantFlush() { lock.withLock { flushIsWanted = true } }

  /// The next transaction gives back the room that the log takes, and the pages that it keeps: the disk is full.
  func wantRoom() { lock.withLock { roomIsWanted = true } }

  // MARK: A write transaction

  /// Prepares a write transaction that has just begun and has changed nothing. Returns the recorder of its changes, or nil while there is no log.
  ///
  /// `end` must follow in any case.
  /// - Throws: ``StorageError`` when the checkpoint that is needed cannot be made; nothing is changed then.
  func begin(_ transaction: OpaquePointer) throws -> LogRecorder? {
    isRecording = false
    let (wantsFlush, wantsRoom) = lock.withLock {
      isWriting = true
      defer { (flushIsWanted, roomIsWanted) = (false, false) }
      return (flushIsWanted, roomIsWanted)
    }
    do {
      return try begin(transaction, wantsFlush: wantsFlush, wantsRoom: wantsRoom)
    } catch {
      // The flush that was asked for is still to be done.
      if wantsFlush { wantFlush() }
      throw error
    }
  }

  private func begin(
    _ transaction: OpaquePointer, wantsFlush: Bool, wantsRoom: Bool
  ) throws -> LogRecorder? {
    let base = UInt64(mdb_txn_id(transaction)) - 1
    if let environment = mdb_txn_env(transaction) {
      if descriptor >= 0, try !hasItsName() { try leaveLost(environment) }
      if descriptor < 0 { try adopt(environment, isWriting: true) }
      if descriptor >= 0, try !readHead() { leaveRetired(environment) }
      if wantsRoom, descriptor >= 0 { try giveRoomBack(transaction, environment) }
    }
    if descriptor < 0 {
      if wantsFlush { try flushData(transaction) }
      guard plainCommits >= policy.commitsBefore, lock.withLock({ isKept && isPermitted }) else { return nil }
      // A program that knows nothing of logs would write without records, and over the checkpoint's pages.
      guard let environment = mdb_txn_env(transaction), othersKnowLogs(environment) else {
        plainCommits = 0
        return nil
      }
      guard try make(transaction, base) else { return nil }
    } else {
      try follow(to: base)
      try cutStranger(base)
      if wantsFlush || needsCheckpoint || lastID != base || lastIsFlushed || !holdsPin
        || head.flags.contains(.untrusted) || needsPages(transaction, base)
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
      if tail == LogFormat.recordStart { hasRecords = false }
      if isPinned && !isWatched { watch() }
    }
  }

  /// Commits the transaction, by the log where there is one. Returns LMDB's code; the transaction is over in any case.
  ///
  /// - Parameter work: how long the transaction has taken.
  /// - Throws: ``StorageError`` when the log cannot be written; nothing is committed then.
  func commit(_ transaction: OpaquePointer, work: Duration) throws -> Int32 {
    guard isRecording else {
      let code = FlushAhead.commit(transaction, flushes: flushesPlainCommits, work: work)
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
        LogFormat.recordHeader + (isLogged ? recorder.recorded.count.roundedUp(to: LogFormat.alignment) : 0)
      // What LMDB flushes with a large commit must be pages of that one alone: when its flush fails, the system calls them all clean, and no later flush
      // finds those of earlier commits.
      if tail + size > capacity || !isLogged && head.checkpoint != transactionID - 1 {
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
    let end = tail + scratchCount
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
    lock.withLock { hasRecords = true }
    if isLogged { flushAhead(environment) } else { commitsSinceFlush = 0 }
    return 0
  }

  /// Has the system begin to write now and then what the next checkpoint would otherwise have to wait for. Whether that succeeds is for the checkpoint's own
  /// flush to report.
  private func flushAhead(_ environment: OpaquePointer?) {
    commitsSinceFlush += 1
    var data: mdb_filehandle_t = -1
    guard commitsSinceFlush >= policy.commitsBetweenFlushes, mdb_env_get_fd(environment, &data) == 0 else {
      return
    }
    commitsSinceFlush = 0
    _ = strata_begin_flush(data)
  }

  var appendedChecksum: UInt64 = 0

  // MARK: Records

  /// Appends a record of the transaction. The state stays as it was until `commit` updates it.
  func append(_ kind: LogRecord.Kind, _ transactionID: UInt64, _ size: Int) throws {
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    let body = kind == .changes ? recorder.recorded : empty
    if scratch.count < size { scratch = [UInt8](repeating: 0, count: size) }
    scratchCount = size
    let (kind, chain) = (kind, chain)
    appendedChecksum = scratch.withUnsafeMutableBytes { buffer in
      LogRecord.put(kind, transactionID, body: body, chain: chain, into: buffer, count: size)
    }
    do {
      try scratch.withUnsafeBytes {
        try file.system.writeAll(
          descriptor, UnsafeRawBufferPointer(rebasing: $0[..<size]), at: tail, path: file.logPath)
      }
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
  func cutTail() -> Bool {
    if policy.omitsCut { return true }
    do {
      try LogRecord.cut(of: lastID + 1).withUnsafeBytes {
        try file.system.writeAll(descriptor, $0, at: tail, path: file.logPath)
      }
      try syncLog()
      return true
    } catch {
      distrust()
      return false
    }
  }

  /// No process appends to the log any more before there is a new checkpoint.
  func distrust() {
    needsCheckpoint = true
    flag(.untrusted)
  }

  func syncLog() throws {
    let code = file.system.syncData(descriptor)
    if code != 0 { throw StorageError(-code, "fdatasync", path: file.logPath) }
  }

  /// A process that was killed between its record and its commit leaves the record behind. Before anything else is committed it goes for good: after a power
  /// cut it must not stand in for the transaction that gets its number, or vouch for that one's anchor. Who has cut it may have been killed, too, before that was durable.
  func cutStranger(_ base: UInt64) throws {
    if policy.omitsCut || lastID != base || tail + LogFormat.recordHeader > capacity { return }
    let headerSize = LogFormat.recordHeader
    let remnant = try withUnsafeTemporaryAllocation(byteCount: headerSize, alignment: 8) { header in
      let count = try LogFile.read(descriptor, into: header, at: tail, file)
      return LogRecord.remnant(UnsafeRawBufferPointer(rebasing: header[..<count]), of: base + 1)
    }
    // When that fails, the log is not trusted any more, and a checkpoint comes first.
    if remnant != nil { _ = cutTail() }
  }

  /// Reads the records that others have written, up to transaction `base`.
  func follow(to base: UInt64) throws {
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

  // MARK: Checkpoints

  /// Makes all that was committed durable in the data file, and begins a new log after it.
  ///
  /// - Parameter room: how large the log must be at least.
  func checkpoint(_ transaction: OpaquePointer, room: Int = 0) throws {
    let isFull =
      room > capacity || capacity < LogFormat.sizes[LogFormat.sizes.count - 1] && tail * 2 > capacity
    try flushData(transaction)
    commitsSinceFlush = 0
    let anchor = try readAnchor(transaction)
    if isFull { enlarge(to: max(room, capacity + 1)) }
    var next = head
    next.state = .inForce
    next.flags = []
    next.generation = .random(in: 1 ... .max)
    next.anchor = anchor
    next.fileSize = capacity
    // When that fails, either head may be what the medium has: both lead to the same state, as long as nothing is appended and the pin stays.
    needsCheckpoint = true
    try replaceHead(next)
    needsCheckpoint = false
    (tail, chain, lastID, lastIsFlushed) = (LogFormat.recordStart, next.generation, next.checkpoint, false)
    checkpointPage = Int(clamping: MetaPage(anchor).lastPage)
    try movePin(transaction)
    pinPage = checkpointPage
  }

  /// Flushes the data file.
  func flushData(_ transaction: OpaquePointer) throws {
    // Every transaction has one.
    let code = file.system.syncStore(mdb_txn_env(transaction)!)
    if code == 0 { return }
    let error = StorageError(code, "fdatasync", path: file.path)
    // The system may call pages clean that the medium does not have. The log still has what is in them, and must keep it.
    throw doubtData(error)
  }

  /// Says that the medium may not have what the data file seems to hold, after `error`.
  func doubtData(_ error: any Error) -> any Error {
    guard descriptor >= 0, let error = error as? StorageError else { return error }
    flag(.suspect)
    return suspect(error)
  }

  func suspect(_ error: StorageError) -> StorageError {
    var error = error
    error.detail +=
      " The store is recovered from its log when it is opened next, or written next by its only process."
    lock.withLock { suspicion = error }
    return error
  }

  /// The anchor on which the transaction stands.
  func readAnchor(_ transaction: OpaquePointer) throws -> [UInt8] {
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
  func enlarge(to least: Int) {
    guard let wanted = LogFormat.sizes.first(where: { $0 >= least }) ?? LogFormat.sizes.last,
      wanted > capacity,
      let _ = try? LogFile.fill(descriptor, capacity..<wanted, file)
    else { return }
    capacity = wanted
  }

  var mostPages: Int { max(policy.mostPages, min(checkpointPage / 8, 16_384)) }

  func pageCount(_ transaction: OpaquePointer) -> Int {
    var information = MDB_envinfo()
    mdb_env_info(mdb_txn_env(transaction), &information)
    return information.me_last_pgno
  }
}

/// When a store's small commits use a log.
struct LogPolicy: Sendable {
  /// Whether stores keep a log unless their options say otherwise.
  static let isKeptByDefault = true
  /// Whether no log is made before ``StoreLog/permit()``.
  var awaitsPermission = false
  /// How many commits use no log: a program that saves once and closes does not pay for one.
  var commitsBefore = 4
  /// By how many pages the file may grow between two checkpoints. Large files may grow by an eighth, up to 64 MiB.
  var mostPages = 1_024
  /// After how many logged commits the system begins to write out the data file: some hundred pages.
  var commitsBetweenFlushes = 32
  /// Whether a log in force must be carried out now: a flush has failed, whatever the log's head says.
  var mustRecover = false
  /// Leaves out what keeps the checkpoint's pages: for tests that have to notice it.
  var omitsPin = false
  /// Carries out records without looking at the chain of checksums: for tests that have to notice it.
  var ignoresChain = false
  /// Leaves the record of a commit that failed, or of a process that was killed: for tests that have to notice it.
  var omitsCut = false
  /// Does not flush a head that another process has written: for tests that have to notice it.
  var trustsHeads = false
}
