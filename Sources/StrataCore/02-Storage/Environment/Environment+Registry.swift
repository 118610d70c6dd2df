import CLMDBShim
import Foundation
import Synchronization

/// One environment per file and process.
///
/// Two environments on one file in one process would break LMDB's locks (fcntl locks belong to the process),
/// so every open goes through this table, by device and inode. So do closing, destroying and replacing.
///
///     absent ──open──▶ busy ──▶ open(count) ──last close──▶ closing ──▶ absent
///        │                         ▲──────────── open ────────┘           │
///        └──────── maintenance (destroy, replace) ─▶ busy ────────────────┘
///
/// Closing may last: a writer thread that waits for another process cannot be cancelled. Closing does not wait for it; a thread that opens the file
/// meanwhile gets the environment back.
final class EnvironmentRegistry: @unchecked Sendable {
  // Unchecked: `entries`, `ending` and `named` are touched under `lock`.
  private enum Entry {
    case open(Environment, count: Int)
    /// Its writer thread finishes what there is.
    case closing(Environment)
    /// Some thread opens, closes or replaces it; others wait.
    case busy
  }

  private let lock = SystemLock()
  private var entries: [FileSystem.Identity: Entry] = [:]
  /// Environments whose entry is `busy` since they are being closed. They need their locks to the end.
  private var ending: [FileSystem.Identity: Environment] = [:]
  /// The files of the temporary stores that have names, until their last close.
  private var named: [String: FileSystem.Identity] = [:]
  private let generation = ForkGuard.generation
  /// Who opens a store's file or migrates it: the one waits for the other. Here, since a child made by `fork` needs its own.
  let openings = PathTurns()
  /// Who migrates a store's file in stages.
  let stages = PathTurns()

  /// The table of this process. A child made by `fork` gets its own: the parent's lock may have been held.
  static var current: EnvironmentRegistry {
    while true {
      let known = registryPointer.load(ordering: .acquiring)
      if let registry = known?.takeUnretainedValue(), registry.generation == ForkGuard.generation {
        return registry
      }
      let fresh = Unmanaged.passRetained(EnvironmentRegistry())
      let (isSet, _) = registryPointer.compareExchange(
        expected: known, desired: fresh, ordering: .acquiringAndReleasing)
      if !isSet { fresh.release() }
    }
  }

  /// The open environment of `identity` with one more reference, or nil with the entry reserved: the caller
  /// must call `settle`. One that is being closed is given back when `suits` says so.
  func acquire(
    _ identity: FileSystem.Identity, path: String, until deadline: ContinuousClock.Instant,
    suits: (Environment) -> Bool = { _ in true }
  ) throws -> Environment? {
    lock.lock()
    defer { lock.unlock() }
    while true {
      switch entries[identity] {
      case .open(let environment, let count):
        entries[identity] = .open(environment, count: count + 1)
        return environment
      case .closing(let environment) where suits(environment) && environment.queue.reopen():
        entries[identity] = .open(environment, count: 1)
        environment.lock.withLock { environment.lock.wakeAll() }
        return environment
      case .busy, .closing:
        guard lock.wait(until: deadline) else {
          throw StorageError(
            .busy, operation: "open", path: path,
            detail: "Another thread is still opening, closing or replacing the store.")
        }
      case nil:
        entries[identity] = .busy
        return nil
      }
    }
  }

  /// Reserves a file that must not be open here. The caller must call `settle(identity, nil)`.
  func reserve(_ identity: FileSystem.Identity, path: String, until deadline: ContinuousClock.Instant) throws
  {
    _ = awaitEnd(atMost: ContinuousClock.now.duration(to: deadline)) { !isOpen(identity) }
    let waitsForOthers = lock.withLock {
      if case .closing(let environment) = entries[identity] { environment.isStuck } else { false }
    }
    if waitsForOthers {
      throw StorageError(
        .busy, operation: "open", path: path, detail: "Another program keeps the store locked for writing.")
    }
    if let environment = try acquire(identity, path: path, until: deadline, suits: { _ in false }) {
      environment.close()
      throw StorageError(
        .busy, operation: "open", path: path, detail: "The store is open in this process; close it first.")
    }
  }

  /// The temporary environment that is open under `name`, with one more reference; nil when none is.
  func acquire(named name: String) -> Environment? {
    lock.withLock {
      guard let identity = named[name], case .open(let environment, let count) = entries[identity] else {
        return nil
      }
      entries[identity] = .open(environment, count: count + 1)
      return environment
    }
  }

  /// Gives a temporary environment that is open a name, until its last close. The caller sees to it that no other one has the name.
  func name(_ environment: Environment, _ name: String) {
    lock.withLock { named[name] = environment.identity }
  }

  /// How many files this process has open.
  var count: Int { lock.withLock { entries.count } }

  /// Whether `environment` was opened more than once and not closed as often.
  func isShared(_ environment: Environment) -> Bool {
    lock.withLock {
      if case .open(_, let count) = entries[environment.identity] { count > 1 } else { false }
    }
  }

  /// Whether this process has the file open; not one that is being opened or closed.
  func isOpen(_ identity: FileSystem.Identity) -> Bool {
    lock.withLock { if case .open = entries[identity] { true } else { false } }
  }

  /// Whether this process has the file open, or is opening, closing or replacing it.
  func isKnown(_ identity: FileSystem.Identity) -> Bool { lock.withLock { entries[identity] != nil } }

  /// Waits a moment for somebody in this process to close a store that is to be used alone: its owner may have gone out of scope, and be kept by what another thread is
  /// just letting go of, such as the job of a task that has gone on.
  ///
  /// Not longer than `limit`, a second, or a tenth of one while no such work is under way and on the main thread, which others may wait for: a store that is in use is
  /// refused then.
  /// - Returns: Whether it is as `isOver` asks.
  func awaitEnd(atMost limit: Duration = .seconds(1), _ isOver: () -> Bool) -> Bool {
    let begin = ContinuousClock.now
    while true {
      if isOver() { return true }
      let isBrief = Thread.isMainThread || !Errand.areUnderWay
      let longest = min(limit, isBrief ? .milliseconds(100) : .seconds(1))
      let left = longest - begin.duration(to: .now)
      guard left > .zero else { return false }
      // Not everything that ends a store wakes others.
      lock.withLock { _ = lock.wait(until: .now.advanced(by: min(left, .milliseconds(2)))) }
    }
  }

  /// Whether an environment of this process has its locks in that file.
  func usesLockFile(_ identity: FileSystem.Identity) -> Bool {
    environment(usingLockFile: identity) != nil
  }

  /// The environment of this process that has its locks in that file, also one that is being closed; nil when none has.
  func environment(usingLockFile identity: FileSystem.Identity) -> Environment? {
    let environments = lock.withLock {
      entries.values.compactMap { entry -> Environment? in
        switch entry {
        case .open(let environment, _), .closing(let environment): environment
        case .busy: nil
        }
      } + ending.values
    }
    return environments.first { environment in
      environment.lock.withLock { environment.lockIdentity == identity }
    }
  }

  /// Ends a reservation: with an environment that is open now, or with none.
  func settle(_ identity: FileSystem.Identity, _ environment: Environment?) {
    lock.withLock {
      entries[identity] = environment.map { .open($0, count: 1) }
      ending[identity] = nil
      lock.wakeAll()
    }
  }

  /// What is left to do after a reference was taken away.
  enum Release {
    /// Nothing: there are others.
    case nothing
    /// The caller must close the environment.
    case close
    /// The writer thread closes the environment when it has come to its end.
    case awaitWriter
  }

  /// Takes one reference away. With the last one the queue of writes takes no more.
  func release(_ environment: Environment) -> Release {
    lock.withLock {
      guard case .open(let known, let count) = entries[environment.identity], known === environment else {
        trap("an environment was closed more often than opened: close it once per open")
      }
      if count > 1 {
        entries[environment.identity] = .open(environment, count: count - 1)
        lock.wakeAll()
        return .nothing
      }
      if !named.isEmpty { named = named.filter { $0.value != environment.identity } }
      let hasWriter = environment.queue.close()
      entries[environment.identity] = hasWriter ? .closing(environment) : .busy
      if !hasWriter { ending[environment.identity] = environment }
      return hasWriter ? .awaitWriter : .close
    }
  }
}

/// The registry of the process that last asked for one. Global because it must survive everything else.
private let registryPointer = Atomic<Unmanaged<EnvironmentRegistry>?>(nil)

extension Environment {
  /// Opens the store at `path`, or joins the environment that this process has open on the same file.
  ///
  /// Every successful call wants one `close`. A new file has mode 0600 and is flushed, with its directory,
  /// before this returns. Nothing is written to a file that is refused.
  ///
  /// - Throws: `StorageError`: `.missing`, `.exists` (by `create`); `.notADatabase`, `.damaged`,
  ///   `.truncated`, `.unsupportedFormat` (by `inspection`, with page and reason); `.aliased`,
  ///   `.networkFileSystem`, `.permission`, `.readOnlyMedia`, `.replaced`, `.outOfMemory`, `.diskFull`;
  ///   `.invalid` when the store is open here with a durability that promises less, or in a way in which it cannot be written;
  ///   `.unsupportedLibrary`.
  static func open(path: String, options: EnvironmentOptions = EnvironmentOptions()) throws -> Environment {
    try LMDBVersion.require(path: path)
    ForkGuard.install()
    // Who writes has timers.
    if !options.isReadOnly { try EventDescriptors.require(path: path) }
    let file = try StoreFile(path, options.fileSystem)
    let patience = options.patience ?? Patience(options.writerDeadline)
    var attempt: UInt32 = 0
    while true {
      do {
        return try open(file, options, patience)
      } catch let error as StorageError
        where error.kind == .replaced && attempt < 10 && options.create != .mustBeNew
      {
        // The file was exchanged just now: the new one is inspected again. Others may do the same, and must not always come at the same moment.
        usleep(.random(in: 300...700) << attempt)
        attempt += 1
      }
    }
  }

  private static func open(
    _ file: StoreFile, _ options: EnvironmentOptions, _ patience: Patience, awaitsEnd: Bool = true
  ) throws -> Environment {
    let registry = EnvironmentRegistry.current
    let (identity, isOurs) = try findOrCreate(file, options)
    let known = try patience.wait { deadline in
      try registry.acquire(identity, path: file.path, until: deadline) {
        $0.obstacle(to: options) == nil || options.meetsClosing && $0.isStuck
      }
    }
    if let environment = known {
      let left = patience.left
      do {
        try environment.join(options)
      } catch {
        environment.close()
        // Who has it open in another way may be about to close it.
        let isClosed =
          awaitsEnd && !options.meetsClosing && (error as? StorageError)?.kind == .invalid
          && patience.wait { _ in registry.awaitEnd(atMost: left) { !registry.isOpen(identity) } }
        guard isClosed else { throw error }
        return try open(file, options, patience, awaitsEnd: false)
      }
      return environment
    }
    let turn = FileTurn(file, identity, isNeeded: !options.isTemporary)
    do {
      let opened = try FileSizeLimit.withoutSignal {
        try OpenedEnvironment(
          file, identity, options: options, inspection: options.inspection, turn: turn,
          isNameDurable: isOurs)
      }
      let environment = try Environment(
        file: file, identity: identity, options: options, opened: opened, turn: turn)
      if options.isTemporary { environment.unlinkFiles() }
      registry.settle(identity, environment)
      return environment
    } catch {
      turn.close()
      registry.settle(identity, nil)
      throw error
    }
  }

  /// Gives back what one `open` gave. The last one waits for queued writes and running reads, then closes; not for other processes.
  ///
  /// Called more often than `open`, or last inside a read of the same store, it stops the process. On the
  /// writer thread, or in a child made by `fork`, it returns at once.
  func close() {
    guard (try? checkProcess()) != nil else { return }
    let release = EnvironmentRegistry.current.release(self)
    if case .nothing = release { return }
    if case .awaitWriter = release, isOwnThread { return }
    if pool.isCurrentThreadInside {
      trap("the last close inside a read: it would wait for itself. Close after the read.")
    }
    if case .close = release {
      if !isOwnThread { queue.awaitLeader() }
      return finishClosing()
    }
    // A writer thread that waits for another process finishes later, by itself, unless the store is opened again.
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline + .seconds(1))
    lock.withLock {
      while !isFinished && !queue.isOpen && !isStuck { guard lock.wait(until: deadline) else { return } }
    }
  }

  /// Whether the writer thread has nothing to do but to wait for another process.
  var isStuck: Bool { isAwaitingOthers.load(ordering: .acquiring) && queue.isEmpty }

  /// Closes LMDB's environment once no section is open, and frees the registry's entry.
  func finishClosing() {
    let closed = closedError("mdb_env_close")
    var isDone = false
    while !isDone {
      // Readers are bounded; a backup may take longer than any deadline.
      try? pool.exclusively(until: .now.advanced(by: .seconds(60))) { environment in
        // While what must be recovered is closed, others must not take the file for whole.
        if log?.reasonToRecover != nil {
          lock.withLock { lockProbe?.unmark() }
          turn.close()
        }
        if let environment {
          FileSizeLimit.withoutSignal {
            let isWhole =
              log?.close(environment, isAlone: { self.isAlone && !self.turn.areOthersAnnounced }) ?? true
            if isWhole { markClean(environment) }
          }
          discard(environment)
        }
        turn.close()
        isDone = true
        return .failure(closed)
      }
    }
    EnvironmentRegistry.current.settle(identity, nil)
    inodePin.release()
    lock.withLock {
      isFinished = true
      lock.wakeAll()
    }
  }

  /// The file at the path, made first when it is missing and that is wanted; whether this call has made it.
  private static func findOrCreate(
    _ file: StoreFile, _ options: EnvironmentOptions
  ) throws -> (identity: FileSystem.Identity, isOurs: Bool) {
    var isOurs = false
    while true {
      if let status = try file.status() {
        // A temporary store is unlinked: it must never be a file of the user.
        if (options.create == .mustBeNew || options.isTemporary) && !isOurs {
          throw StorageError(EEXIST, "open", path: file.path)
        }
        try file.check(status)
        return (status.identity, isOurs)
      }
      if options.create == .never || options.isReadOnly {
        throw StorageError(ENOENT, "open", path: file.path)
      }
      isOurs = try file.create(
        isFlushed: options.flushesCommits, allowsNetwork: options.allowsNetworkFileSystem)
    }
  }

  /// Why this environment cannot be what an opener with `options` wants; nil when it can.
  ///
  /// Who only reads can use every environment, and refuses writes by itself. Who writes needs one that promises at least as much.
  private func obstacle(to options: EnvironmentOptions) -> StorageError? {
    if options.isReadOnly { return nil }
    if self.options.durability.isLaxer(than: options.durability) {
      return StorageError(
        .invalid, operation: "open", path: path,
        detail: """
          The store is open in this process with durability .\(self.options.durability); it cannot be opened \
          with .\(options.durability) at the same time.
          """)
    }
    if canWrite { return nil }
    // The file could not be written when it was opened: either it still cannot, or LMDB's environment has to be a new one.
    let descriptor = file.system.open(file.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if [EACCES, EPERM, EROFS, ETXTBSY].contains(-descriptor) {
      return StorageError(
        -descriptor, "open", path: path, detail: "The store can only be opened read-only.")
    }
    if descriptor < 0 { return StorageError(-descriptor, "open", path: path) }
    // LMDB holds its locks on the lock file alone: closing the data file drops none.
    _ = file.system.close(descriptor)
    return StorageError(
      .invalid, operation: "open", path: path,
      detail: """
        The store is open in this process read-only, and its file could not be written then; it cannot be \
        opened for writing at the same time.
        """)
  }

  /// Becomes what one more opener wants.
  private func join(_ options: EnvironmentOptions) throws {
    if let obstacle = obstacle(to: options) { throw obstacle }
    if options.isReadOnly { return }
    if isReadOnly {
      // What opening for writing does besides, see `OpenedEnvironment`.
      let (slot, handle) = try claimSection()
      defer { pool.leave(slot) }
      try OpenedEnvironment.settleName(handle, file, options)
      takeWrites()
    }
    if options.keepsLog && self.options.flushesCommits { log?.keep() }
  }

  /// Removes both names; LMDB works on with its descriptors.
  private func unlinkFiles() {
    _ = file.system.unlink(file.path)
    _ = file.system.unlink(file.lockPath)
  }

  /// Whether this is one of the environment's two threads, or one that writes by itself: they must not wait for each other.
  var isOwnThread: Bool {
    let current = SystemThread.current
    return leaderThread.load(ordering: .relaxed) == current
      || writerThread.load(ordering: .relaxed) == current
      || watcherThread.load(ordering: .relaxed) == current
  }
}
