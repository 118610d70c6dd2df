import CLMDBShim
import Foundation

/// What happens to a log when its store is opened, before LMDB sees the file.
///
/// While a process has the store open, the data file is whole: the system has all pages. Such a process has announced itself (`FileTurn`): who locks the lock file
/// and has not is a program that knows LMDB only, or one that exchanges the store, and has recovered nothing. When none has it open, and the log is in force, the
/// store was not closed: after a power cut, a pulled cable, or just a killed process. Then the data file is taken back to the checkpoint, and the records
/// are carried out again, up to the first that is not intact. It does not matter which it was.
///
/// ```
///   look: every page of the checkpoint, every record ─▶ anchors put back, flushed ─▶ one LMDB transaction for all records ─▶ log emptied
/// ```
///
/// Nothing is written before everything was looked at. When it is interrupted at any point, the next opening begins again.
struct LogRecovery {
  let file: StoreFile
  let identity: FileSystem.Identity
  var policy = LogPolicy()

  /// What opening must know.
  struct Outcome {
    /// Keeps other processes from opening the store until LMDB has it open; nil when there is no log.
    var turn: LogTurn?
    /// Whether a log was looked for, and there is none that could be the store's.
    var isLogAbsent: Bool

    /// Whether the name leads to a log that was not looked at: another process has made it since.
    ///
    /// - Throws: ``StorageError`` when that is unknown.
    func isOutdated(_ file: StoreFile) throws -> Bool {
      guard let named = try file.namedLog() else { return false }
      return turn?.log != named
    }
  }

  /// Makes the data file whole. The caller has reserved it in the registry.
  ///
  /// - Throws: ``StorageError`` `.damaged` when the log or the checkpoint is not what it was; `.permission`, `.readOnlyMedia` when the store must be recovered and cannot
  ///   be written; `.busy`; `.unsupportedFormat` for a log of a later version. The files are as they were then.
  static func settle(
    _ file: StoreFile, _ identity: FileSystem.Identity, options: EnvironmentOptions
  ) throws -> Outcome {
    guard options.canHaveLog else { return Outcome(turn: nil, isLogAbsent: false) }
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline)
    let system = file.system
    while true {
      switch system.status(file.logPath) {
      case .failure(let code) where code.number == ENOENT: return Outcome(turn: nil, isLogAbsent: true)
      case .failure(let code): throw StorageError(code.number, "lstat", path: file.logPath)
      case .success(let status) where status.kind != .regular:
        throw StorageError(
          .aliased, operation: "lstat", path: file.logPath,
          detail: "There is a \(status.kind.rawValue) where the store's log should be.")
      case .success: break
      }
      guard let (turn, log, refusal) = try LogTurn.open(file, until: deadline) else { continue }
      do {
        let isOurs = try LogRecovery(file: file, identity: identity, policy: options.log).run(
          log, refusal: refusal, until: deadline)
        return Outcome(turn: turn, isLogAbsent: !isOurs)
      } catch {
        turn.end()
        throw error
      }
    }
  }

  /// Whether the log is the store's.
  ///
  /// - Parameter refused: why the log cannot be written; 0 when it can.
  private func run(
    _ log: Int32, refusal refused: Int32, until deadline: ContinuousClock.Instant
  ) throws -> Bool {
    let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    var data = refused == 0 ? file.system.open(file.path, O_RDWR | flags, 0) : -refused
    let refusal = -data
    if [EACCES, EPERM, EROFS, ETXTBSY].contains(refusal) {
      data = file.system.open(file.path, O_RDONLY | flags, 0)
    }
    if data < 0 { throw StorageError(-data, "open for reading", path: file.path) }
    defer { _ = file.system.close(data) }
    let found = file.system.statusOfDescriptor(data)
    if case .failure(let code) = found { throw StorageError(code.number, "fstat", path: file.path) }
    guard case .success(let status) = found, status.identity == identity else {
      throw StorageError(
        .replaced, operation: "fstat", path: file.path,
        detail: "Another file took the store's name while it was being opened.")
    }
    guard let before = try look(log, data) else { return false }
    guard before.state == .inForce else { return true }
    guard try isAlone(data, until: deadline) else {
      if policy.mustRecover || before.flags.contains(.suspect) {
        throw StorageError(
          .busy, operation: "fcntl", path: file.path,
          detail:
            "The medium failed, and the store must be recovered from its log; other processes must close it first."
        )
      }
      return true
    }
    // Those who had the store open until then have gone on with the log, or ended it, since it was looked at. Nobody does from here on: who opens the store waits for
    // the turn, and who had looked for a log before there was this one would be seen.
    guard let head = try look(log, data) else { return false }
    guard head.state == .inForce else { return true }
    if refusal > 0 {
      throw StorageError(
        refusal, "open", path: file.path,
        detail:
          "The store was not closed and must be recovered from its log, which needs permission to write.")
    }
    try recover(log, data, head)
    return true
  }

  /// The head of the log as it is now; nil when it is not the store's.
  private func look(_ log: Int32, _ data: Int32) throws -> LogHead? {
    guard let mark = try LogMark.read(file, data) else { return nil }
    return try Self.head(log, of: mark, file)
  }

  /// The head of a log that belongs to the data file with that mark; nil when it belongs to another store, or never was in force.
  static func head(_ log: Int32, of mark: LogIdentity, _ file: StoreFile) throws -> LogHead? {
    let area = try LogFile.read(log, LogFormat.headArea, file)
    do {
      return try head(area, log, of: mark, file)
    } catch let error as StorageError where error.kind == .damaged {
      // A process that has the store open may have put its log in force in between, with records behind the head that was not there yet. What was damaged stays so.
      let now = try LogFile.read(log, LogFormat.headArea, file)
      if now == area { throw error }
      return try head(now, log, of: mark, file)
    }
  }

  private static func head(
    _ area: [UInt8], _ log: Int32, of mark: LogIdentity, _ file: StoreFile
  ) throws -> LogHead? {
    switch LogHead.find(area) {
    case .blank where try size(log, file) < LogFormat.sizes[0]:
      // It was flushed at its first size before the mark was written: it was cut off, and what it held is gone.
      return nil
    case .blank where try wasNeverInForce(log, file), .damaged where try wasNeverInForce(log, file):
      return LogHead(state: .empty, identity: mark, generation: 0, anchor: LogHead.none.anchor)
    case .blank: throw damage(file, "it has no head")
    case .damaged(let reason): throw damage(file, reason)
    case .head(let head): return head.identity == mark ? head : nil
    case .unsupported(let version):
      throw StorageError(
        .unsupportedFormat, operation: "read log", path: file.logPath,
        detail: "The log beside the store is of format \(version); format \(LogFormat.version) is supported.")
    }
  }

  /// Whether the log was being made when it was cut off: of its first head there is a part, and nothing else.
  private static func wasNeverInForce(_ log: Int32, _ file: StoreFile) throws -> Bool {
    let bytes = try LogFile.read(log, 0..<min(size(log, file), LogFormat.mostFileBytes), file)
    var first = LogHead.none
    first.number = 1
    let part = first.place..<first.place + LogFormat.headSize
    return bytes.enumerated().allSatisfy { $1 == 0 || part.contains($0) }
  }

  private static func size(_ log: Int32, _ file: StoreFile) throws -> Int {
    switch file.system.statusOfDescriptor(log) {
    case .success(let status): return status.size
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.logPath)
    }
  }

  /// Whether no process has the store open; false when one has that has found it whole. Waits until all others have gone.
  ///
  /// - Throws: ``StorageError`` `.busy` when they do not go.
  private func isAlone(_ data: Int32, until deadline: ContinuousClock.Instant) throws -> Bool {
    var pause: UInt32 = 500
    while true {
      if try !isAlone() {
        if try FileTurn.isInUse(file, data) { return false }
      } else if try FileTurn.isAnnounced(file, data) != true {
        return true
      }
      // Who has announced itself and has no lock yet has looked for a log before there was this one, and opens the store right now.
      guard ContinuousClock.now < deadline else {
        throw StorageError(
          .busy, operation: "fcntl", path: file.path,
          detail:
            "The store was not closed and must be recovered from its log, but a program that has not opened it as a store keeps its lock file locked."
        )
      }
      usleep(pause)
      pause = min(pause * 2, 20_000)
    }
  }

  /// Whether no environment of any process has the store open. Opening the lock file is harmless here: this process has none on it.
  ///
  /// - Throws: ``StorageError`` when that is unknown.
  func isAlone() throws -> Bool {
    try file.checkLockFile()
    guard let known = try file.lockIdentity() else { return true }
    if EnvironmentRegistry.current.usesLockFile(known) { return false }
    let lock = file.system.open(file.lockPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if lock < 0 { throw StorageError(-lock, "open for reading", path: file.lockPath) }
    defer { _ = file.system.close(lock) }
    return try file.holderOfFirstByte(lock) == nil
  }

  /// The file as its recovery would make it, without the records, and the head of the log that says so; the file itself when it is whole. Nothing is written.
  ///
  /// - Throws: ``StorageError`` `.damaged` for a log that is not what it was.
  static func asRecovered(_ file: StoreFile, _ data: Int32, _ identity: FileSystem.Identity) throws
    -> (file: StoreFile, head: LogHead?)
  {
    var result: (StoreFile, LogHead?) = (file, nil)
    try whenUnclosed(file, data, identity) { log, head in
      result = (view(file, data, try plan(log, data, head, file).anchor), head)
    }
    return result
  }

  /// Whether the store was not closed and no process has it open, so that only the log makes it whole.
  ///
  /// - Throws: ``StorageError`` `.damaged` when the log's head is not what it was.
  static func isUnclosed(_ file: StoreFile, _ data: Int32, _ identity: FileSystem.Identity) throws -> Bool {
    var result = false
    try whenUnclosed(file, data, identity) { _, _ in result = true }
    return result
  }

  private static func whenUnclosed(
    _ file: StoreFile, _ data: Int32, _ identity: FileSystem.Identity,
    _ body: (_ log: Int32, LogHead) throws -> Void
  ) throws {
    guard let mark = try LogMark.read(file, data) else { return }
    let registry = EnvironmentRegistry.current
    let deadline = ContinuousClock.now.advanced(by: .seconds(30))
    if let environment = try registry.acquire(identity, path: file.path, until: deadline) {
      return environment.close()
    }
    defer { registry.settle(identity, nil) }
    let log = file.system.open(file.logPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if log == -ENOENT { return }
    if log < 0 { throw StorageError(-log, "open for reading", path: file.logPath) }
    defer { _ = file.system.close(log) }
    guard try head(log, of: mark, file)?.state == .inForce else { return }
    if try FileTurn.isInUse(file, data) {
      // Where nobody can announce anything, LMDB's lock tells.
      let isTold = try FileTurn.isAnnounced(file, data) != nil
      if try isTold || !LogRecovery(file: file, identity: identity).isAlone() { return }
    }
    // As in a recovery: it may have gone on since.
    guard let mark = try LogMark.read(file, data), let head = try self.head(log, of: mark, file),
      head.state == .inForce
    else { return }
    try body(log, head)
  }

  // MARK: Looking

  /// What a log makes of its data file.
  struct Plan {
    /// The anchor to go back to.
    var anchor: [UInt8]
    /// What must be carried out after it.
    var records: [LogRecord]
    /// The whole log.
    var log: [UInt8]
  }

  /// Reads the log to its end and checks all of it.
  static func plan(
    _ log: Int32, _ data: Int32, _ head: LogHead, _ file: StoreFile, _ policy: LogPolicy = LogPolicy()
  ) throws -> Plan {
    let status: FileSystem.Status
    switch file.system.statusOfDescriptor(log) {
    case .success(let found): status = found
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.logPath)
    }
    guard status.size <= LogFormat.mostFileBytes else { throw damage(file, "it is larger than any log") }
    guard status.size >= head.fileSize else {
      throw damage(file, "of \(head.fileSize) bytes it has \(status.size)")
    }
    let bytes = try LogFile.read(log, 0..<status.size, file)
    let anchor = MetaPage(head.anchor)
    guard anchor.magic == MetaPage.magic, MetaPage.pageSizes.contains(anchor.pageSize),
      anchor.pageSize & (anchor.pageSize - 1) == 0, anchor.transactionID < MetaPage.transactionLimit
    else { throw damage(file, "its checkpoint is no anchor") }
    var records = bytes.withUnsafeBytes {
      LogRecord.all($0, generation: head.generation, isChecked: !policy.ignoresChain)
    }
    for (number, record) in records.enumerated() {
      guard record.transactionID == anchor.transactionID + UInt64(number) + 1,
        record.kind == .changes || number == records.count - 1
      else { throw damage(file, "record \(number) is of transaction \(record.transactionID)") }
      do {
        try bytes.withUnsafeBytes { try LogChange.forEach(.init(rebasing: $0[record.body])) { _ in } }
      } catch let contradiction as LogChange.Contradiction {
        throw damage(file, "in record \(number), byte \(contradiction.offset), \(contradiction.reason)")
      }
    }
    guard let last = records.last, last.kind == .flushed else {
      return Plan(anchor: head.anchor, records: records, log: bytes)
    }
    // A large commit has happened when the data file has its anchor: everything was flushed before that was written.
    let offset = Int(last.transactionID & 1) * anchor.pageSize
    let found = try LogFile.read(data, offset..<offset + MetaPage.size, file)
    if found.count == MetaPage.size, MetaPage(found).magic == MetaPage.magic,
      MetaPage(found).transactionID == last.transactionID
    {
      return Plan(anchor: found, records: [], log: bytes)
    }
    records.removeLast()
    return Plan(anchor: head.anchor, records: records, log: bytes)
  }

  private static func damage(_ file: StoreFile, _ reason: String) -> StorageError {
    StorageError(
      .damaged, operation: "read log", path: file.logPath,
      detail: "The log beside the store, without which it is not whole, is damaged: \(reason).")
  }

  /// The file as it is once the anchor was put back.
  static func view(_ file: StoreFile, _ data: Int32, _ anchor: [UInt8]) -> StoreFile {
    let anchors = MetaPage.pair(anchor)
    let pageSize = MetaPage(anchor).pageSize
    var system = file.system
    system.read = { [read = file.system.read] descriptor, buffer, offset in
      let count = read(descriptor, buffer, offset)
      guard descriptor == data, count > 0 else { return count }
      for (number, bytes) in anchors.enumerated() {
        let start = max(offset, number * pageSize)
        let end = min(offset + count, number * pageSize + MetaPage.size)
        for place in start..<max(start, end) { buffer[place - offset] = bytes[place - number * pageSize] }
      }
      return count
    }
    return StoreFile(path: file.path, directory: file.directory, system: system)
  }

  // MARK: Recovering

  private func recover(_ log: Int32, _ data: Int32, _ head: LogHead) throws {
    let plan = try Self.plan(log, data, head, file, policy)
    do {
      try FileInspection(file: Self.view(file, data, plan.anchor), descriptor: data).run(.full)
    } catch var error as StorageError {
      error.detail += " The store was not closed, and cannot be recovered from its log."
      throw error
    }
    // A process that was killed may have written the head and the records, and not flushed them. They must not be older after a power cut than what is
    // made of the data file now.
    if !policy.trustsHeads { try LogFile.ensure(log, head, file) }
    let pageSize = MetaPage(plan.anchor).pageSize
    for (number, bytes) in MetaPage.pair(plan.anchor).enumerated() {
      try bytes.withUnsafeBytes {
        try file.system.writeAll(data, $0, at: number * pageSize, path: file.path)
      }
    }
    let code = file.system.sync(data)
    if code != 0 { throw StorageError(-code, "fsync", path: file.path) }
    if !plan.records.isEmpty { try LogReplay(file: file, identity: identity, plan: plan).run() }
    _ = LogFile.copy(log, try LogFile.replace(log, head, by: head.emptied, file), file)
    LogFile.retire(file, head, log: log, data: data)
  }
}

/// The records of a log, carried out in one transaction that is flushed.
private struct LogReplay {
  let file: StoreFile
  let identity: FileSystem.Identity
  let plan: LogRecovery.Plan

  func run() throws {
    let size = try file.status()?.size ?? 0
    var mapSize = (max(2 * size, 1 << 26) + 8 * plan.log.count).roundedUp(to: 1 << 16)
    while try !run(mapSize: mapSize) { mapSize *= 2 }
  }

  /// False when the map is too small.
  private func run(mapSize: Int) throws -> Bool {
    var environment: OpaquePointer?
    var code = mdb_env_create(&environment)
    guard code == 0, let environment else { throw failure(code, "mdb_env_create") }
    defer { mdb_env_close(environment) }
    mdb_env_set_mapsize(environment, mapSize)
    mdb_env_set_maxdbs(environment, 1 << 12)
    // LMDB would make one that is this user's alone.
    if try file.lockIdentity() == nil {
      _ = try OpenedEnvironment.makeLockFile(file, readers: EnvironmentOptions().maxReaders)
    }
    StandardDescriptors.hold()
    code =
      FileMaking.run { mdb_env_open(environment, file.path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o600) }
      ?? FileMaking.code
    if code != 0 { throw failure(code, "mdb_env_open") }
    var descriptor: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    let found = file.system.statusOfDescriptor(descriptor)
    if case .failure(let code) = found { throw StorageError(code.number, "fstat", path: file.path) }
    guard case .success(let status) = found, status.identity == identity else {
      throw StorageError(
        .replaced, operation: "fstat", path: file.path,
        detail: "Another file took the store's name while it was being opened.")
    }
    var transaction: OpaquePointer?
    code = mdb_txn_begin(environment, nil, 0, &transaction)
    guard code == 0, let transaction else { throw failure(code, "mdb_txn_begin") }
    do {
      try carryOut(transaction)
    } catch let error as StorageError {
      mdb_txn_abort(transaction)
      if error.code == MDB_MAP_FULL { return false }
      throw error
    }
    code = mdb_txn_commit(transaction)
    if code == MDB_MAP_FULL { return false }
    if code != 0 { throw failure(code, "mdb_txn_commit") }
    return true
  }

  private func carryOut(_ transaction: OpaquePointer) throws {
    var handles: [String: MDB_dbi] = [:]
    try plan.log.withUnsafeBytes { log in
      for record in plan.records {
        var current: MDB_dbi = 0
        try LogChange.forEach(UnsafeRawBufferPointer(rebasing: log[record.body])) { change in
          var code: Int32 = 0
          switch change {
          case .keyspace(let name):
            if let known = handles[name] {
              current = known
            } else {
              code = mdb_dbi_open(transaction, name, UInt32(MDB_CREATE), &current)
              handles[name] = current
            }
          case .put(let key, let value):
            var (key, value) = (MDB_val(key), MDB_val(value))
            code = mdb_put(transaction, current, &key, &value, 0)
          case .delete(let key):
            var key = MDB_val(key)
            code = mdb_del(transaction, current, &key, nil)
            if code == MDB_NOTFOUND { code = 0 }
          case .clear: code = mdb_drop(transaction, current, 0)
          }
          if code != 0 { throw failure(code, "mdb_put") }
        }
      }
    }
  }

  private func failure(_ code: Int32, _ operation: String) -> StorageError {
    StorageError(
      code, operation, path: file.path,
      detail: "The store was not closed; it could not be recovered from its log.")
  }
}
