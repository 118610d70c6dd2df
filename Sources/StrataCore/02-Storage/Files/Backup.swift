import CLMDBShim
import Foundation

/// Copies of a store that are stores themselves.
enum Backup {
  /// Writes a copy of an open environment to a new, flushed, inspected file beside `destination`.
  ///
  /// The caller publishes it. On failure nothing is left.
  static func write(
    _ environment: OpaquePointer, beside destination: StoreFile, compacting: Bool
  ) throws -> StoreDraft {
    // LMDB writes on a thread of its own, which it makes here.
    try FileSizeLimit.withoutSignal {
      try writeDraft(environment, beside: destination, compacting: compacting)
    }
  }

  private static func writeDraft(
    _ environment: OpaquePointer, beside destination: StoreFile, compacting: Bool
  ) throws -> StoreDraft {
    StoreDraft.removeLeftovers(beside: destination)
    let draft = StoreDraft(.copy, beside: destination)
    let system = destination.system
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = system.open(draft.file.path, flags, 0o600)
    if descriptor < 0 { throw StorageError(-descriptor, "open", path: destination.path) }
    defer { _ = system.close(descriptor) }
    do {
      draft.hold()
      // LMDB cannot compact a store that has lost pages; a plain copy is as good a backup.
      var code = compacting ? mdb_env_copyfd2(environment, descriptor, UInt32(MDB_CP_COMPACT)) : 0
      if !compacting || code == MDB_INCOMPATIBLE {
        code = system.truncate(descriptor, 0)
        if code != 0 { throw StorageError(-code, "ftruncate", path: destination.path) }
        try SnapshotCopy(environment: environment, destination: destination, descriptor: descriptor).write()
      }
      if code != 0 { throw StorageError(code, "mdb_env_copyfd2", path: destination.path) }
      code = system.sync(descriptor)
      if code != 0 { throw StorageError(-code, "fsync", path: destination.path) }
      // A backup that cannot be opened is none.
      try FileInspection(file: destination, descriptor: descriptor).run(.full)
      return draft
    } catch {
      draft.remove()
      throw error
    }
  }
}

extension Environment {
  /// Writes a backup of the last commit to a new file, while reading and writing go on. Waits for no writer.
  ///
  /// The copy appears under its name complete and flushed, or not at all. It has mode 0600. `compacting`
  /// leaves out free pages, which takes longer and gives the smallest file. An empty store is replaced when `replacing` says so.
  ///
  /// - Throws: `.exists` when there is a file already; `.busy` when a process still has a store open whose file had that name and was deleted;
  ///   `.diskFull`; what `open` throws for a damaged file; `.replaced` as `read`.
  func copy(to path: String, compacting: Bool, replacing: StoreFile.Replaceable = .nothing) throws {
    let destination = try StoreFile(path, file.system)
    if let status = try destination.status() {
      try destination.requireReplaceable(status, as: replacing, "open")
    }
    try Environment.publish(
      try writeCopy(beside: destination, compacting: compacting), replacing: replacing)
  }

  /// The copy under its temporary name.
  func writeCopy(beside destination: StoreFile, compacting: Bool) throws -> StoreDraft {
    let (slot, environment) = try claimSection(isLong: true)
    defer { pool.leave(slot, isLong: true) }
    try LastCommit.require(environment, path: path)
    let draft = try Backup.write(environment, beside: destination, compacting: compacting)
    do {
      // Otherwise LMDB may have begun with an older commit.
      try LastCommit.require(environment, path: path)
      return draft
    } catch {
      draft.remove()
      throw error
    }
  }

  private static func publish(_ draft: StoreDraft, replacing: StoreFile.Replaceable) throws {
    do {
      try draft.publish(replacing: replacing)
    } catch {
      draft.remove()
      throw error
    }
  }

  /// Removes the store at `path`: both files, for good, whatever state they are in, and the files that it has taken the place of.
  ///
  /// - Throws: `.missing`; `.busy` when it is open in this process or another; `.aliased`, `.notADatabase` for what is
  ///   no plain file; `.permission`; `.unsupportedLibrary`.
  static func destroy(path: String, fileSystem: FileSystem = .system) throws {
    try LMDBVersion.require(path: path)
    let file = try StoreFile(path, fileSystem)
    try SoleUse.run(file) { status in
      guard let status else { throw StorageError(ENOENT, "unlink", path: file.path) }
      try file.checkPlain(status)
      let code = fileSystem.unlink(file.path)
      if code != 0 { throw StorageError(-code, "unlink", path: file.path) }
      // The lock file stays until everything has gone: others that are to make a store under the name wait for it.
      file.removeLog()
      try file.removeAllReplaced()
      try fileSystem.syncDirectory(file.directory)
    }
  }

  /// Puts an empty store in the place of the one at `path`, in one step, whatever state that is in. Nothing happens when there is none in the folder.
  ///
  /// What is left is a file that LMDB could have made: opening it makes a new store of it, whereas an empty file is damage.
  /// - Throws: as `destroy`; `.missing` for a missing folder only.
  static func empty(path: String, fileSystem: FileSystem = .system) throws {
    try LMDBVersion.require(path: path)
    let file = try StoreFile(path, fileSystem)
    guard let status = try file.status() else { return }
    try file.checkPlain(status)
    StoreDraft.removeLeftovers(beside: file)
    let draft = StoreDraft(.new, beside: file)
    do {
      try file.writeEmptyStore(draft.file.path, flush: true)
    } catch let error as StorageError where error.kind == .diskFull {
      draft.remove()
      // There is room once the store has gone. If another program takes it: a missing file is no store, either.
      try destroy(path: path, fileSystem: fileSystem)
      _ = try? file.create(isFlushed: true, allowsNetwork: true)
      return
    }
    try publish(draft, replacing: .anything)
    try file.removeAllReplaced()
  }

  /// Puts a copy of the store at `source` in the place of the one at `path`, in one step. The files that the latter has taken the place of
  /// go with it; `source` may be one of them.
  ///
  /// `source` may be open and stays as it is; `path` may be missing.
  /// - Parameters:
  ///   - isOpenHere: Whether the caller has the store at `path` open, and closes it in `ready`.
  ///   - ready: Is given the copy, complete and flushed, before it takes the store's place; what it throws ends the replacement.
  /// - Throws: `.busy` when `path` is open in this process or another; `.missing`; what `open` throws for `source`; what `ready` throws.
  static func replace(
    path: String, with source: String, fileSystem: FileSystem = .system, isOpenHere: Bool = false,
    ready: (StoreDraft) throws -> Void = { _ in }
  ) throws {
    try LMDBVersion.require(path: path)
    let destination = try StoreFile(path, fileSystem)
    let source = try StoreFile(source, fileSystem)
    if let status = try destination.status(), try source.status()?.identity == status.identity {
      throw replacedWithItself(source)
    }
    // Said now rather than when all work is done; asked again then.
    if !isOpenHere {
      try SoleUse.run(destination) { status in
        if let status { try destination.checkPlain(status) }
      }
    }
    let draft = try copy(of: source, beside: destination)
    do {
      try ready(draft)
    } catch {
      draft.remove()
      throw error
    }
    try publish(draft, replacing: .anything)
    try destination.removeAllReplaced()
  }

  private static func replacedWithItself(_ source: StoreFile) -> StorageError {
    StorageError(
      .invalid, operation: "rename", path: source.path, detail: "A store cannot be replaced with itself.")
  }

  private static func copy(of source: StoreFile, beside destination: StoreFile) throws -> StoreDraft {
    guard let status = try source.status() else { throw StorageError(ENOENT, "open", path: source.path) }
    try source.check(status)
    if try destination.status()?.identity == status.identity { throw replacedWithItself(source) }
    let registry = EnvironmentRegistry.current
    var options = EnvironmentOptions()
    options.isReadOnly = true
    options.allowsNetworkFileSystem = true
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline)
    if let environment = try registry.acquire(
      status.identity, path: source.path, until: deadline, suits: { _ in true })
    {
      defer { environment.close() }
      return try environment.writeCopy(beside: destination, compacting: false)
    }
    defer { registry.settle(status.identity, nil) }
    let turn = FileTurn(source, status.identity, isNeeded: true)
    defer { turn.close() }
    let opened = try FileSizeLimit.withoutSignal {
      try OpenedEnvironment(
        source, status.identity, options: options, inspection: .automatic, turn: turn)
    }
    defer { opened.close() }
    return try Backup.write(opened.handle, beside: destination, compacting: false)
  }

  /// For a store that others may have open, which is exchanged below them: a migration. The old file needs no log any more (`StoreLog.retire`).
  static func move(_ draft: String, over destination: StoreFile) throws {
    _ = try withoutLockFile(destination) {
      destination.givePermissions(to: draft)
      let code = destination.system.rename(draft, destination.path)
      if code != 0 { throw StorageError(-code, "rename", path: destination.path) }
      return true
    }
    try destination.system.syncDirectory(destination.directory)
  }

  /// Runs `exchange`, which says whether it has put another file in the place of the store's, while a lock file has the name that nobody can use. A process that opens the name
  /// meanwhile waits, and opens it again. Where names cannot be exchanged there is no lock file meanwhile: it makes one that is removed, too, and its writes are refused.
  ///
  /// When the store's file stays, so does its lock file, with the table of those who read it: writers who did not know of them would use their pages again. A
  /// process that is killed in between leaves the store without it.
  static func withoutLockFile(_ file: StoreFile, _ exchange: () throws -> Bool) throws -> Bool {
    // In one piece for a program that is about to end, which would remove what has a draft's name meanwhile.
    let isExchanged = try FileMaking.run { try moveLockFile(file, exchange) }
    guard let isExchanged else { throw StorageError(FileMaking.code, "rename", path: file.path) }
    return isExchanged
  }

  private static func moveLockFile(_ file: StoreFile, _ exchange: () throws -> Bool) throws -> Bool {
    let identity = try file.status()?.identity
    // Before the exchange: afterwards it could be that of a process that has opened the new file.
    file.removeLog()
    // Should it be left behind, the next draft in the folder removes it.
    let aside = StoreDraft(.new, beside: file)
    let closed = try ClosedLockFile(aside, for: file)
    defer { closed?.open() }
    var code: Int32 = 0
    if closed == nil {
      code = file.system.rename(file.lockPath, aside.file.lockPath)
      if code != 0 && code != -ENOENT {
        aside.forget()
        throw StorageError(-code, "rename", path: file.lockPath)
      }
    }
    let result = Result { try exchange() }
    if case .success(true) = result {
      // Its own name first: who has opened the new file meanwhile keeps no lock file that goes afterwards. Should it stay, it is an empty one, which the next who
      // opens the store prepares.
      _ = file.system.unlink(file.lockPath)
    } else if code == 0, case .success(let status) = file.system.status(file.path),
      status.identity == identity
    {
      if closed != nil {
        _ = file.system.exchange(aside.file.lockPath, file.lockPath)
      } else {
        _ = file.system.rename(aside.file.lockPath, file.lockPath)
      }
    }
    aside.remove()
    return try result.get()
  }
}

/// A lock file that has the name of the store's while the store's file is exchanged, and that nobody can use: its first byte is locked. Who comes to open the store
/// meanwhile waits, and opens it again afterwards.
private struct ClosedLockFile {
  private let descriptor: Int32
  private let system: FileSystem

  /// Puts it in the place of the store's lock file, which has the name of the draft's then. Nil where there is none, or names cannot be exchanged.
  init?(_ draft: StoreDraft, for file: StoreFile) throws {
    system = file.system
    let path = draft.file.lockPath
    guard try file.lockIdentity() != nil else { return nil }
    descriptor = system.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      draft.forget()
      throw StorageError(-descriptor, "open", path: file.lockPath)
    }
    file.givePermissions(to: path)
    if system.lockFirstByte(descriptor) == 0, system.exchange(path, file.lockPath) == 0 { return }
    _ = system.unlink(path)
    _ = system.close(descriptor)
    return nil
  }

  /// Those who have waited go on.
  func open() { _ = system.close(descriptor) }
}
