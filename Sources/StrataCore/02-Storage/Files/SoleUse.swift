import Foundation

/// The sole use of a store's name, for as long as its file is exchanged, emptied or removed.
///
/// Every process that has a store open holds LMDB's shared lock on the first byte of the lock file; a process that can lock that byte for itself
/// is alone, and others that come to open the store wait meanwhile. Closing any descriptor of the lock file drops all locks that this process
/// has on it: so it is opened only where this process has no environment on the file, and can get none, since opening takes turns.
///
/// The turn at the store's log is taken first, where there is one: whoever opens the store then would take the lock for that of a process that has it open.
///
/// The lock file is removed at the end: what it says of the last commit is not of the file that has the name then. A process that waited for it finds
/// that out and opens again (`OpenedEnvironment`).
enum SoleUse {
  private static let mostAttempts = 20
  private static let reserveDeadline = Duration.seconds(30)

  /// Runs `body` while the store is not used elsewhere: called `file`, in this process or another; with what lies there, nil for nothing.
  ///
  /// - Throws: ``StorageError`` `.busy` when the store is open somewhere, also one whose file was deleted; `.aliased`, `.permission`.
  static func run<R>(_ file: StoreFile, _ body: (FileSystem.Status?) throws -> R) throws -> R {
    let registry = EnvironmentRegistry.current
    return try registry.openings.take(file.path) {
      for _ in 0..<mostAttempts {
        let status = try file.status()
        if let status {
          try registry.reserve(
            status.identity, path: file.path, until: .now.advanced(by: reserveDeadline))
        }
        defer { if let status { registry.settle(status.identity, nil) } }
        if let result = try whileLocked(file, status, body) { return result }
      }
      throw StorageError(
        .busy, operation: "fcntl", path: file.path,
        detail: "The store's file was exchanged again and again by others.")
    }
  }

  /// Nil when the names have changed meanwhile.
  private static func whileLocked<R>(
    _ file: StoreFile, _ status: FileSystem.Status?, _ body: (FileSystem.Status?) throws -> R
  ) throws -> R? {
    try file.checkLockFile()
    let known = try file.lockIdentity()
    // Neither a store nor a process that has one open.
    if status == nil && known == nil { return try body(nil) }
    let registry = EnvironmentRegistry.current
    if let known, !registry.awaitEnd({ !registry.usesLockFile(known) }) {
      throw StorageError(
        .busy, operation: "fcntl", path: file.path,
        detail: "The store's file was deleted or replaced while it was open in this process; close it first.")
    }
    let turn: LogTurn?
    switch try takeTurn(file) {
    case .taken(let taken): turn = taken
    case .none: turn = nil
    case .exchanged: return nil
    }
    defer { turn?.end() }
    let system = file.system
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = system.open(file.lockPath, flags, 0o600)
    if descriptor < 0 { throw StorageError(-descriptor, "open", path: file.path) }
    defer { _ = system.close(descriptor) }
    let code = system.lockFirstByte(descriptor)
    if code == -EAGAIN || code == -EACCES {
      // Its number is only for the message.
      throw openElsewhere(file, (try? file.holderOfFirstByte(descriptor)) ?? nil)
    }
    if code != 0 { throw StorageError(-code, "fcntl", path: file.path) }
    guard case .success(let own) = system.statusOfDescriptor(descriptor),
      try file.lockIdentity() == own.identity
    else { return nil }
    // Another one that has the name meanwhile belongs to a process that has opened what lies there.
    defer { if (try? file.lockIdentity()) == own.identity { _ = system.unlink(file.lockPath) } }
    guard try file.status()?.identity == status?.identity else { return nil }
    return try body(status)
  }

  /// Looks whether the store is open in this process or in another. It may be opened right after.
  ///
  /// - Throws: ``StorageError`` `.busy` when it is.
  static func requireUnused(_ file: StoreFile) throws {
    // No thread of this process opens it meanwhile: closing the descriptor would drop its locks.
    let registry = EnvironmentRegistry.current
    try registry.openings.take(file.path) {
      guard let known = try file.lockIdentity() else { return }
      let identity = try file.status()?.identity
      // One that is just closing writes to the file, and needs its locks, to the end.
      let isOver = {
        !registry.usesLockFile(known) && !(identity.map { registry.isKnown($0) } ?? false)
      }
      if !registry.awaitEnd(isOver) {
        throw StorageError(
          .busy, operation: "fcntl", path: file.path,
          detail: "The store is open in this process; close it first. Nothing was changed.")
      }
      let descriptor = file.system.open(file.lockPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
      // Without permission to look nobody is found. What is read then is checked all the same.
      if descriptor < 0 { return }
      defer { _ = file.system.close(descriptor) }
      if let process = try file.holderOfFirstByte(descriptor) { throw openElsewhere(file, process) }
    }
  }

  private enum Turn {
    case taken(LogTurn)
    /// There is no log.
    case none
    /// The log has gone meanwhile.
    case exchanged
  }

  private static func takeTurn(_ file: StoreFile) throws -> Turn {
    guard try file.hasLog() else { return .none }
    do {
      return try LogTurn.open(file, until: .now.advanced(by: reserveDeadline)).map { .taken($0.turn) }
        ?? .exchanged
    } catch let error as StorageError where error.kind == .permission {
      // Another user's. The turn only spares those who open the store a wait: the lock file is locked in any case.
      return .none
    }
  }

  /// The error for a store that another process has open.
  static func openElsewhere(_ file: StoreFile, _ process: Int32?) -> StorageError {
    let name = process.flatMap { $0 > 0 ? " (\($0))" : nil } ?? ""
    return StorageError(
      .busy, operation: "fcntl", path: file.path,
      detail: "Another process\(name) has the store open; close it there first. Nothing was changed.")
  }
}

extension StoreFile {
  /// The number of another process that has locked the first byte of the lock file behind `descriptor`; nil when none has.
  ///
  /// - Throws: ``StorageError`` when the system does not say.
  func holderOfFirstByte(_ descriptor: Int32) throws -> Int32? {
    switch system.holderOfFirstByte(descriptor) {
    case .success(let process): return process
    case .failure(let code): throw StorageError(code.number, "fcntl", path: path)
    }
  }
}

extension StorageError {
  /// Whether the store cannot be had to itself because this process has it open.
  package var isOfOwnUse: Bool { kind == .busy && detail.hasPrefix("The store is open in this process") }
}

extension Environment {
  /// - Throws: ``StorageError`` `.busy` when the store is open elsewhere, in this process or another.
  func requireSoleUse() throws {
    try checkProcess()
    let registry = EnvironmentRegistry.current
    if !registry.awaitEnd({ !registry.isShared(self) }) {
      throw StorageError(
        .busy, operation: "open", path: path,
        detail: "The store is open in this process by another coordinator; close it there first.")
    }
    guard let descriptor = try probeDescriptor() else { return }
    if let process = try file.holderOfFirstByte(descriptor) { throw SoleUse.openElsewhere(file, process) }
  }

  /// Whether it is certain that no other process has the store open.
  var isAlone: Bool {
    // Whoever opens the store by its name takes the lock file that has the name.
    guard let probe = try? probeDescriptor(), let named = try? file.lockIdentity(),
      named == lock.withLock({ lockIdentity }),
      case .success(let holder) = file.system.holderOfFirstByte(probe)
    else { return false }
    return holder == nil
  }

  /// A descriptor of the lock file, to ask who else has locked it; nil where there is none. It is kept until LMDB has closed its own: closing
  /// it earlier would drop LMDB's locks.
  func probeDescriptor() throws -> Int32? { try lock.withLock { try openedProbe()?.descriptor } }

  /// Runs `body` with the lock file, unless LMDB has none. It is not closed meanwhile. `body` must be short and must not ask the environment for anything.
  func withProbe(_ body: (LockFileProbe) throws -> Void) throws {
    try lock.withLock { if let probe = try openedProbe() { try body(probe) } }
  }

  /// Under `lock`. Where there was no descriptor to spare when the store was opened, there may be one now.
  private func openedProbe() throws -> LockFileProbe? {
    if let lockProbe { return lockProbe }
    guard let expected = lockIdentity, try file.lockIdentity() == expected else { return nil }
    lockProbe = try LockFileProbe(file, expected)
    return lockProbe
  }

  /// After LMDB has closed the lock file.
  func closeProbe() {
    lock.withLock {
      lockProbe?.close()
      lockProbe = nil
    }
  }
}
