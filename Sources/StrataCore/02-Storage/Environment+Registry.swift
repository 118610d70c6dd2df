import CLMDBShim
import Foundation
import Synchronization

/// One environment per file and process.
///
/// Two environments on one file in one process would break LMDB's locks (fcntl locks belong to the process),
/// so every open goes through this table, by device and inode. So do closing, destroying and replacing.
///
///     absent ──open──▶ busy ──▶ open(count) ──last close──▶ busy ──▶ absent
///        └──────── maintenance (destroy, replace) ─▶ busy ─────────────┘
final class EnvironmentRegistry: @unchecked Sendable {
  // Unchecked: `entries` is touched under `lock`.
  private enum Entry {
    case open(Environment, count: Int)
    /// Some thread opens, closes or replaces it; others wait.
    case busy
  }

  private let lock = SystemLock()
  private var entries: [FileSystem.Identity: Entry] = [:]
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
  /// must call `settle`.
  func acquire(
    _ identity: FileSystem.Identity, path: String, until deadline: ContinuousClock.Instant
  ) throws -> Environment? {
    lock.lock()
    defer { lock.unlock() }
    while true {
      switch entries[identity] {
      case .open(let environment, let count):
        entries[identity] = .open(environment, count: count + 1)
        return environment
      case .busy:
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
    if let environment = try acquire(identity, path: path, until: deadline) {
      environment.close()
      throw StorageError(
        .busy, operation: "open", path: path, detail: "The store is open in this process; close it first.")
    }
  }

  /// Whether `environment` was opened more than once and not closed as often.
  func isShared(_ environment: Environment) -> Bool {
    lock.withLock {
      if case .open(_, let count) = entries[environment.identity] { count > 1 } else { false }
    }
  }

  /// Ends a reservation: with an environment that is open now, or with none.
  func settle(_ identity: FileSystem.Identity, _ environment: Environment?) {
    lock.withLock {
      entries[identity] = environment.map { .open($0, count: 1) }
      lock.wakeAll()
    }
  }

  /// Takes one reference away; true when it was the last, and then the entry is reserved for closing.
  func release(_ environment: Environment) -> Bool {
    lock.withLock {
      guard case .open(let known, let count) = entries[environment.identity], known === environment else {
        trap("an environment was closed more often than opened: close it once per open")
      }
      entries[environment.identity] = count > 1 ? .open(environment, count: count - 1) : .busy
      return count == 1
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
  ///   `.invalid` when the store is open here with another durability or read-only mode.
  static func open(path: String, options: EnvironmentOptions = EnvironmentOptions()) throws -> Environment {
    ForkGuard.install()
    let file = try StoreFile(path, options.fileSystem)
    let registry = EnvironmentRegistry.current
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline)
    let identity = try findOrCreate(file, options)
    if let environment = try registry.acquire(identity, path: file.path, until: deadline) {
      do {
        try environment.checkSameOptions(options)
      } catch {
        environment.close()
        throw error
      }
      return environment
    }
    do {
      let opened = try OpenedEnvironment(file, identity, options: options, inspection: options.inspection)
      let environment = try Environment(file: file, identity: identity, options: options, opened: opened)
      if options.isTemporary { environment.unlinkFiles() }
      registry.settle(identity, environment)
      return environment
    } catch {
      registry.settle(identity, nil)
      throw error
    }
  }

  /// Gives back what one `open` gave. The last one waits for queued writes and running reads, then closes.
  ///
  /// Called more often than `open`, or last inside a read of the same store, it stops the process. On the
  /// writer thread, or in a child made by `fork`, it returns at once.
  func close() {
    guard (try? checkProcess()) != nil else { return }
    guard EnvironmentRegistry.current.release(self) else { return }
    let hasWriter = queue.close()
    if hasWriter && isOwnThread { return }
    if pool.isCurrentThreadInside {
      trap("the last close inside a read: it would wait for itself. Close after the read.")
    }
    guard hasWriter else {
      finishClosing()
      return
    }
    // A writer thread that waits for another process finishes later, by itself.
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline + .seconds(1))
    lock.withLock {
      while !isFinished { guard lock.wait(until: deadline) else { return } }
    }
  }

  /// Closes LMDB's environment once no section is open, and frees the registry's entry.
  func finishClosing() {
    let closed = closedError("mdb_env_close")
    var isDone = false
    while !isDone {
      // Readers are bounded; a backup may take longer than any deadline.
      try? pool.exclusively(until: .now.advanced(by: .seconds(60))) { environment in
        if let environment {
          markClean(environment)
          discard(environment)
        }
        isDone = true
        return .failure(closed)
      }
    }
    EnvironmentRegistry.current.settle(identity, nil)
    lock.withLock {
      isFinished = true
      lock.wakeAll()
    }
  }

  /// The file at the path, made first when it is missing and that is wanted.
  private static func findOrCreate(
    _ file: StoreFile, _ options: EnvironmentOptions
  ) throws -> FileSystem.Identity {
    var isOurs = false
    while true {
      if let status = try file.status() {
        // A temporary store is unlinked: it must never be somebody's own file.
        if (options.create == .mustBeNew || options.isTemporary) && !isOurs {
          throw StorageError(EEXIST, "open", path: file.path)
        }
        try file.check(status)
        return status.identity
      }
      if options.create == .never || options.isReadOnly {
        throw StorageError(ENOENT, "open", path: file.path)
      }
      isOurs = try file.create(
        durability: options.durability, allowsNetwork: options.allowsNetworkFileSystem)
    }
  }

  private func checkSameOptions(_ options: EnvironmentOptions) throws {
    if options.durability != self.options.durability {
      throw StorageError(
        .invalid, operation: "open", path: path,
        detail: """
          The store is open in this process with durability .\(self.options.durability); it cannot be opened \
          with .\(options.durability) at the same time.
          """)
    }
    if options.isReadOnly != isReadOnly {
      let modes = isReadOnly ? ("read-only", "for writing") : ("for writing", "read-only")
      throw StorageError(
        .invalid, operation: "open", path: path,
        detail: """
          The store is open in this process \(modes.0); it cannot be opened \(modes.1) at the same time.
          """)
    }
  }

  /// Removes both names; LMDB works on with its descriptors.
  private func unlinkFiles() {
    _ = file.system.unlink(file.path)
    _ = file.system.unlink(file.lockPath)
  }

  /// Whether this is one of the environment's two threads, which must not wait for each other.
  var isOwnThread: Bool {
    let current = SystemThread.current
    return writerThread.load(ordering: .relaxed) == current
      || watcherThread.load(ordering: .relaxed) == current
  }
}
