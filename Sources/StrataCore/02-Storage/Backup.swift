import CLMDBShim
import Foundation

/// Copies of a store that are stores themselves.
enum Backup {
  /// Writes a copy of an open environment to a new, flushed, inspected file beside `destination`; its path.
  ///
  /// The caller renames it. On failure nothing is left.
  static func write(
    _ environment: OpaquePointer, beside destination: StoreFile, compacting: Bool
  ) throws -> String {
    let draft = destination.temporaryName("copy")
    let system = destination.system
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = system.open(draft, flags, 0o600)
    if descriptor < 0 { throw StorageError(-descriptor, "open", path: destination.path) }
    defer { _ = system.close(descriptor) }
    do {
      var code = mdb_env_copyfd2(environment, descriptor, compacting ? UInt32(MDB_CP_COMPACT) : 0)
      if compacting && code == MDB_INCOMPATIBLE {
        // LMDB cannot compact a store that has lost pages; a plain copy is as good a backup.
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
          throw StorageError(errno, "ftruncate", path: destination.path)
        }
        code = mdb_env_copyfd2(environment, descriptor, 0)
      }
      if code != 0 { throw StorageError(code, "mdb_env_copyfd2", path: destination.path) }
      code = system.sync(descriptor)
      if code != 0 { throw StorageError(-code, "fsync", path: destination.path) }
      // A backup that cannot be opened is none.
      try FileInspection(file: destination, descriptor: descriptor).run(.full)
      return draft
    } catch {
      _ = system.unlink(draft)
      throw error
    }
  }
}

extension Environment {
  /// Writes a backup of the last commit to a new file, while reading and writing go on.
  ///
  /// The copy appears under its name complete and flushed, or not at all. It has mode 0600. `compacting`
  /// leaves out free pages, which takes longer and gives the smallest file.
  ///
  /// - Throws: `.exists` when there is a file already; `.diskFull`; `.busy` when another process keeps the
  ///   store locked for writing; what `open` throws for a damaged file.
  func copy(to path: String, compacting: Bool) throws {
    let destination = try StoreFile(path, file.system)
    if try destination.status() != nil { throw StorageError(EEXIST, "open", path: destination.path) }
    let draft = try writeCopy(beside: destination, compacting: compacting)
    var code = file.system.renameExclusively(draft, destination.path)
    if code == -ENOSYS || code == -EINVAL || code == -ENOTSUP {
      code = file.system.rename(draft, destination.path)
    }
    guard code == 0 else {
      _ = file.system.unlink(draft)
      throw StorageError(-code, "rename", path: destination.path)
    }
    do {
      try file.system.syncDirectory(destination.directory)
    } catch {
      // Nobody knows whether the name will last, and whoever tries again must not find it taken.
      _ = file.system.unlink(destination.path)
      throw error
    }
  }

  /// The copy under its temporary name.
  fileprivate func writeCopy(beside destination: StoreFile, compacting: Bool) throws -> String {
    if !compacting && !isReadOnly { try awaitTurn() }
    let (slot, environment) = try claimSection(isLong: true)
    defer { pool.leave(slot, isLong: true) }
    return try Backup.write(environment, beside: destination, compacting: compacting)
  }

  /// A plain copy takes LMDB's write lock for a moment, without a deadline; so wait for it with one first.
  private func awaitTurn() throws {
    struct TurnCame: Error {}
    do {
      try write { _ in throw TurnCame() }
    } catch is TurnCame {
    } catch let error as StorageError where error.kind == .replaced {
      // The turn came, too; and a copy is the way to rescue a store whose file was deleted.
    }
  }

  /// Removes the store at `path`: both files, for good, whatever state they are in, and the files that it has taken the place of.
  ///
  /// Another process that has it open can read on, and its writes fail with `.replaced`.
  /// - Throws: `.missing`; `.busy` when it is open in this process; `.aliased`, `.notADatabase` for what is
  ///   no plain file; `.permission`.
  static func destroy(path: String, fileSystem: FileSystem = .system) throws {
    let file = try StoreFile(path, fileSystem)
    guard let status = try file.status() else { throw StorageError(ENOENT, "unlink", path: file.path) }
    try checkPlain(status, file)
    try whileReserved(status.identity, file) {
      let code = fileSystem.unlink(file.path)
      if code != 0 { throw StorageError(-code, "unlink", path: file.path) }
      try removeLockFile(file)
      try file.removeAllReplaced()
      try fileSystem.syncDirectory(file.directory)
    }
  }

  /// Puts a copy of the store at `source` in the place of the one at `path`, in one step. The files that the latter has taken the place of
  /// go with it; `source` may be one of them.
  ///
  /// `source` may be open and stays as it is; `path` may be missing. Another process that has `path` open
  /// reads on what it had, and its writes fail with `.replaced`.
  /// - Throws: `.busy` when `path` is open in this process; `.missing`; what `open` throws for `source`.
  static func replace(path: String, with source: String, fileSystem: FileSystem = .system) throws {
    let destination = try StoreFile(path, fileSystem)
    let draft = try copy(of: StoreFile(source, fileSystem), beside: destination)
    do {
      guard let status = try destination.status() else {
        try move(draft, over: destination)
        return
      }
      try checkPlain(status, destination)
      try whileReserved(status.identity, destination) {
        try move(draft, over: destination)
        try destination.removeAllReplaced()
      }
    } catch {
      _ = fileSystem.unlink(draft)
      throw error
    }
  }

  private static func copy(of source: StoreFile, beside destination: StoreFile) throws -> String {
    guard let status = try source.status() else { throw StorageError(ENOENT, "open", path: source.path) }
    try source.check(status)
    if try destination.status()?.identity == status.identity {
      throw StorageError(
        .invalid, operation: "rename", path: source.path, detail: "A store cannot be replaced with itself.")
    }
    let registry = EnvironmentRegistry.current
    var options = EnvironmentOptions()
    options.isReadOnly = true
    options.allowsNetworkFileSystem = true
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline)
    if let environment = try registry.acquire(status.identity, path: source.path, until: deadline) {
      defer { environment.close() }
      return try environment.writeCopy(beside: destination, compacting: false)
    }
    defer { registry.settle(status.identity, nil) }
    let opened = try OpenedEnvironment(source, status.identity, options: options, inspection: .automatic)
    defer { mdb_env_close(opened.handle) }
    return try Backup.write(opened.handle, beside: destination, compacting: false)
  }

  /// The lock file goes before and after: whoever opens the name in between holds a lock file that is gone,
  /// and its writes are refused.
  static func move(_ draft: String, over destination: StoreFile) throws {
    try removeLockFile(destination)
    let code = destination.system.rename(draft, destination.path)
    if code != 0 { throw StorageError(-code, "rename", path: destination.path) }
    try removeLockFile(destination)
    try destination.system.syncDirectory(destination.directory)
  }

  static func removeLockFile(_ file: StoreFile) throws {
    let code = file.system.unlink(file.lockPath)
    if code != 0 && code != -ENOENT { throw StorageError(-code, "unlink", path: file.lockPath) }
  }

  private static func whileReserved(
    _ identity: FileSystem.Identity, _ file: StoreFile, _ body: () throws -> Void
  ) throws {
    let registry = EnvironmentRegistry.current
    try registry.reserve(identity, path: file.path, until: .now.advanced(by: .seconds(30)))
    defer { registry.settle(identity, nil) }
    try body()
  }

  private static func checkPlain(_ status: FileSystem.Status, _ file: StoreFile) throws {
    var single = status
    single.linkCount = 1
    single.size = max(status.size, 1)
    try file.check(single)
  }
}
