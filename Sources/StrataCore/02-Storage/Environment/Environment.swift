import CLMDBShim
import Foundation
import Synchronization

/// One store file, mapped into this process: where transactions come from.
///
///     open ──▶ mapped ──last close──▶ closed          (open again while it still waits for another process: mapped)
///                │ ▲
///     anchor write failed (MDB_PANIC)
///                ▼ │ opened again by the next use
///              broken
///
/// There is one environment per file and process, shared by reference count (`Environment+Registry`). Any
/// thread may read, at the same time. Writes run one after another, on the environment's own thread or on the one that saves
/// (`Environment+Writer`). The map grows by itself (`Environment+Growth`).
///
/// A read costs two passes through a small lock and one renewal of a parked transaction: about 100 ns and no
/// allocation. After `close` every call throws `.closed`; after `fork` every call in the child throws
/// `.forked`.
final class Environment: @unchecked Sendable {
  // Unchecked: what changes after init is under `lock`, in `pool` behind its own lock, in `queue` behind its
  // own lock, or touched by the one thread that serves the queue, as said at each property.

  /// The data file, with its directory resolved.
  let path: String
  /// Whether writes are refused, since the store is only open for reading. It ends when it is opened for writing, too.
  var isReadOnly: Bool { refusesWrites.load(ordering: .acquiring) }
  private let refusesWrites: Atomic<Bool>
  /// Whether LMDB has the file open for writing, which it has where the file's permissions allow it.
  let canWrite: Bool
  /// How it was opened first.
  let options: EnvironmentOptions
  /// Where the file was found.
  let file: StoreFile
  /// Which file it was.
  let identity: FileSystem.Identity
  /// The parked readers and the gate.
  let pool: ReaderPool
  /// The line in front of the writer thread.
  let queue = WriterQueue()
  /// The turn to write among processes. For who serves the queue.
  let turn: FileTurn
  /// The log of small commits, of this process or others; nil for a temporary store.
  let log: StoreLog?
  /// The line of those who open keyspaces.
  let handleTurn = HandleTurn()
  /// Tells of commits in this process.
  let bell = CommitBell()
  /// The fork generation and the process in which it was opened.
  let forkGeneration: Int
  let process: Int32

  /// Guards the properties below.
  let lock = SystemLock()
  /// Every keyspace that was opened, in the order of opening.
  var openKeyspaces: [Keyspace] = []
  /// The transaction of every snapshot that was not released.
  var pins: [ObjectIdentifier: PinnedTransaction] = [:]
  /// Those that were released and are not ended yet.
  var releasedPins: [PinnedTransaction] = []
  /// Whether LMDB's environment was closed for good.
  var isFinished = false
  /// What LMDB made of the lock file. Replaced when the environment is opened again.
  var lockIdentity: FileSystem.Identity?
  /// Keeps the file's inode while LMDB does not have it open. Under the gate, and until the registry's entry is gone.
  let inodePin = InodePin()
  /// See `SoleUse`.
  var lockProbe: LockFileProbe?
  /// What those who opened the store made of what is in it.
  private var verdict = Verdict.open

  private enum Verdict {
    case open, accepted, refused
  }

  /// The numbers of the environment's own threads; 0 while they do not run.
  let writerThread = Atomic<SystemThread.Number>(0)
  let watcherThread = Atomic<SystemThread.Number>(0)
  /// The thread that runs a write of its own, 0 for none.
  let leaderThread = Atomic<SystemThread.Number>(0)
  /// Whether the writer thread is at the point where LMDB may wait for another process.
  let isAwaitingOthers = Atomic<Bool>(false)
  /// Whether a thread of this process compacts the file.
  let isCompacting = Atomic<Bool>(false)
  /// Commits since the slots of killed readers were looked for. For who serves the queue.
  var commitsSinceReaderCheck = 0

  /// Takes over an environment that LMDB has opened.
  init(
    file: StoreFile, identity: FileSystem.Identity, options: EnvironmentOptions, opened: OpenedEnvironment,
    turn: FileTurn
  ) throws {
    self.file = file
    self.identity = identity
    self.options = options
    path = file.path
    refusesWrites = Atomic(options.isReadOnly)
    canWrite = opened.canWrite
    forkGeneration = ForkGuard.generation
    process = ForkGuard.process
    self.turn = turn
    log = options.canHaveLog ? StoreLog(file, options) : nil
    pool = ReaderPool(capacity: max(options.maxReaders, 64), path: file.path)
    (lockIdentity, lockProbe) = (opened.lockIdentity, opened.probe)
    try pool.exclusively(until: .now.advanced(by: options.writerDeadline)) { _ in .success(opened.handle) }
    log?.onQuiet = { [weak self] in self?.makeQuietCheckpoint() }
    log?.onReadersFull = { [weak self] in self?.pool.dropParkedReaders() }
    log?.othersKnowLogs = { [weak self] in self?.doOthersKnowLogs($0) ?? false }
  }

  /// Runs `body` with a view of the last commit. `body` must be short: while it runs, the map cannot grow.
  ///
  /// It may be called again inside `body`, and inside a write; the inner view may be newer. Never `write`
  /// inside a read: that is a deadlock waiting to happen and stops the process.
  ///
  /// - Throws: what `body` throws; `StorageError` `.closed`, `.forked`, `.readersFull`, `.busy`; `.replaced` when the lock file, by which the newest commit is found, is used
  ///   for another file by now (`LastCommit`).
  @inline(__always)
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    let slot = try beginRead()
    defer { pool.end(slot) }
    return try body(ReadTransaction(handle: pool.transaction(slot)))
  }

  /// The same when it can be had at once, otherwise nil: for a thread that the writer waits for. While a thread waits for the writer to be done, so
  /// as to replace the map, the gate is shut to reads.
  func readAtOnce<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R? {
    guard let slot = beginReadAtOnce() else { return nil }
    defer { pool.end(slot) }
    return try body(ReadTransaction(handle: pool.transaction(slot)))
  }

  /// The keyspaces called `names`, created when they are missing; in a read-only environment a missing one
  /// is nil. Never closed. Cheap when all are open already; waits for no writer when all exist.
  ///
  /// - Parameters:
  ///   - patience: how long to wait for the turn to create some; nil for as long as every write waits.
  ///   - creates: whether missing ones are created; otherwise they are nil, as in a read-only environment.
  /// - Throws: `StorageError` `.invalid` for a bad name or more than `maxKeyspaces`; what `read` throws, and what `write` throws
  ///   when some must be created.
  func keyspaces(
    _ names: [String], within patience: Patience? = nil, creates: Bool = true
  ) throws -> [Keyspace?] {
    for name in names where name.isEmpty || name.utf8.count > 511 || name.utf8.contains(0) {
      throw StorageError(
        .invalid, operation: "mdb_dbi_open", path: path,
        detail: "“\(name)” cannot name a keyspace: 1 to 511 bytes, none of them zero.")
    }
    if !unopened(names).isEmpty { try openKeyspaces(names, within: patience, creates: creates) }
    let all = lock.withLock { openKeyspaces }
    return names.map { name in all.first { $0.name == name } }
  }

  /// Pins the last commit: a view that can be read again and again, from any thread, until it is released.
  ///
  /// A pin makes the file grow, since nothing that it shows may be overwritten.
  func makeSnapshot() throws -> SnapshotPin {
    let slot = try beginRead()
    endReleasedPins()
    let pinned = PinnedTransaction(pool.transaction(slot), birth: options.now())
    let transactionID = mdb_txn_id(pool.transaction(slot))
    // Known to the environment before the section ends: closing must find the transaction.
    lock.withLock { pins[ObjectIdentifier(pinned)] = pinned }
    pool.detach(slot)
    return SnapshotPin(self, pinned, transactionID: transactionID)
  }

  /// Makes every commit durable that has returned, also those that the environment's durability has not flushed.
  ///
  /// With a log it waits for its turn to write, to make a checkpoint; without, for no writer. Nothing to do in an environment that is read-only or
  /// temporary.
  ///
  /// The corresponding LMDB function is `mdb_env_sync`.
  /// - Throws: `StorageError` `.io` when the medium fails; `.busy`, `.closed`, `.forked`.
  func flush() throws {
    if isReadOnly || options.isTemporary { return try checkProcess() }
    // Where there is no log now, LMDB has every commit that has returned.
    if let log, try file.hasLog() { return try flush(log) }
    let (slot, environment) = try claimSection(isLong: true)
    defer { pool.leave(slot, isLong: true) }
    let code = mdb_env_sync(environment, 1)
    if code != 0 { throw StorageError(code, "fdatasync", path: path) }
  }

  /// What the environment holds and uses now.
  func statistics() throws -> EnvironmentStatistics {
    // Taken before the view begins, which knows no later keyspace.
    let opened = lock.withLock { openKeyspaces }
    return try read { view in
      let environment = mdb_txn_env(view.handle)
      var information = MDB_envinfo()
      var totals = MDB_stat()
      var descriptor: mdb_filehandle_t = -1
      mdb_env_info(environment, &information)
      mdb_env_stat(environment, &totals)
      mdb_env_get_fd(environment, &descriptor)
      var parts: [EnvironmentStatistics.KeyspacePart] = []
      for keyspace in opened {
        let part = try view.statistics(keyspace)
        parts.append(.init(name: keyspace.name, entries: part.ms_entries, depth: Int(part.ms_depth)))
      }
      return EnvironmentStatistics(
        pageSize: Int(totals.ms_psize), mapSize: information.me_mapsize, lastPage: information.me_last_pgno,
        freePages: try view.freePageCount(),
        fileSize: (try? file.system.statusOfDescriptor(descriptor).get())?.size ?? 0,
        readersInUse: environment.map { ReaderTable.slotsInUse($0) } ?? 0, transactionID: view.id,
        keyspaces: parts)
    }
  }

  /// Takes writes from now on. LMDB must have the file open for writing.
  func takeWrites() { refusesWrites.store(false, ordering: .releasing) }

  /// Whoever opened the environment has found a store in it. Each opener calls this or `refuse`, or neither.
  func accept() { lock.withLock { verdict = .accepted } }

  /// Whoever opened the environment does not want what is in the file: closing must not change it, unless somebody else does.
  func refuse() { lock.withLock { if verdict == .open { verdict = .refused } } }

  /// Whether the file must stay as it is.
  var isRefused: Bool { lock.withLock { verdict == .refused } }

  // MARK: Entering

  @inline(__always)
  func beginRead() throws -> Int {
    if ForkGuard.generation == forkGeneration {
      let slot = pool.begin()
      if slot >= 0 { return slot }
    }
    return try beginReadSlowly()
  }

  private func beginReadAtOnce() -> Int? {
    guard ForkGuard.generation == forkGeneration else { return nil }
    let slot = pool.begin()
    if slot >= 0 { return slot }
    guard let (slot, environment) = try? pool.claim(until: .now) else { return nil }
    var transaction: OpaquePointer?
    guard mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction) == 0, let transaction else {
      pool.leave(slot)
      return nil
    }
    guard LastCommit.isBase(of: transaction, environment) else {
      mdb_txn_abort(transaction)
      pool.leave(slot)
      return nil
    }
    pool.install(transaction, slot)
    return slot
  }

  /// The way in when no reader is parked, the gate is shut, or a renewal failed.
  @inline(never)
  private func beginReadSlowly() throws -> Int {
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline)
    var pause: UInt32 = 500
    while true {
      let (slot, environment) = try claimSection(until: deadline)
      var transaction: OpaquePointer?
      let code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
      if code == 0, let transaction {
        if LastCommit.isBase(of: transaction, environment) {
          pool.install(transaction, slot)
          return slot
        }
        mdb_txn_abort(transaction)
        defer { pool.leave(slot) }
        // Unless others have committed again and again in this moment.
        try LastCommit.require(environment, path: path)
        continue
      }
      if code == MDB_READERS_FULL { ReaderTable.check(environment) }
      pool.leave(slot)
      switch code {
      case MDB_MAP_RESIZED:
        try adoptForeignGrowth(until: deadline)
      case MDB_PANIC:
        try reopen(until: deadline)
      case MDB_READERS_FULL where pause < 1_000_000:
        pool.dropParkedReaders()
        usleep(pause)
        pause *= 2
      default:
        throw ReaderTable.refusal(code, path: path)
      }
    }
  }

  /// Enters a section without a transaction, opening the environment again when it must be.
  func claimSection(
    isLong: Bool = false, until deadline: ContinuousClock.Instant? = nil
  ) throws -> (Int, OpaquePointer) {
    try checkProcess()
    let deadline = deadline ?? .now.advanced(by: options.writerDeadline)
    while true {
      do {
        return try pool.claim(isLong: isLong, until: deadline)
      } catch let error as StorageError where error.code == MDB_PANIC {
        try reopen(until: deadline)
      }
    }
  }

  /// Refuses to work in a child of the process that opened the environment.
  func checkProcess() throws {
    guard ForkGuard.generation == forkGeneration, ForkGuard.process == process else {
      throw StorageError(
        .forked, operation: "fork", path: path,
        detail: "The store was opened by the parent process; after fork, the child must open it again.")
    }
  }
}
