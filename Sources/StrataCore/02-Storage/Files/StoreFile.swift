import CLMDBShim
import Foundation

/// The two names of a store, and the rules about what may lie there.
///
/// A store is one data file and LMDB's lock file beside it, `<name>-lock`. Nothing here opens the lock file:
/// closing it again would drop every lock that LMDB holds on it in this process. It is looked at by name only, but for `SoleUse` and `LockFileProbe`.
struct StoreFile: Sendable {
  /// The data file; its directory has no symbolic links in it, its last component was not followed.
  let path: String
  /// The directory of both files.
  let directory: String
  /// The calls of the operating system.
  let system: FileSystem

  /// LMDB's lock file. Like the next one made once: each write looks at both.
  let lockPath: String

  /// The longest of what the names of the files beside a store end in without which it is of no use.
  private static let lockSuffix = "-lock"

  /// The log of small commits, while a process has the store open or when one was killed.
  let logPath: String

  /// What the log's name ends in.
  private static let logSuffix = "-log"

  /// Another name in a directory that was found already.
  init(path: String, directory: String, system: FileSystem) {
    self.path = path
    self.directory = directory
    self.system = system
    lockPath = path + Self.lockSuffix
    logPath = path + Self.logSuffix
  }

  /// Finds the directory of `path`.
  ///
  /// - Throws: `.invalid` for a path that cannot name a file, or is too long for the files beside a store, `.missing` when its directory does not exist.
  init(_ path: String, _ system: FileSystem) throws {
    let name = path.split(separator: "/", omittingEmptySubsequences: true).last.map(String.init) ?? ""
    guard !path.utf8.contains(0), !path.hasSuffix("/"), !["", ".", ".."].contains(name) else {
      throw StorageError(.invalid, operation: "open", path: path, detail: "The path does not name a file.")
    }
    let parent = String(path.dropLast(name.count))
    switch system.resolve(parent.isEmpty ? "." : parent) {
    case .failure(let code):
      throw StorageError(
        code.number, "realpath", path: path, detail: "The store's directory cannot be used.")
    case .success(let directory):
      self.directory = directory
      self.path = (directory == "/" ? "" : directory) + "/" + name
      self.system = system
      lockPath = self.path + Self.lockSuffix
      logPath = self.path + Self.logSuffix
    }
    try requireRoomForSuffix(name)
  }

  /// Refuses a name with which the lock file could not have one: before a store is made that nobody could open.
  private func requireRoomForSuffix(_ name: String) throws {
    // The file system says what is too long for it. What else is wrong with that name is found later, by those who use it.
    var status = stat()
    guard lstat(lockPath, &status) != 0, errno == ENAMETOOLONG else { return }
    let (suffix, longest) = (Self.lockSuffix, pathconf(directory, Int32(_PC_NAME_MAX)))
    let isName = longest > 0 && name.utf8.count + suffix.utf8.count > longest
    throw StorageError(
      .invalid, code: ENAMETOOLONG, operation: "lstat", path: path,
      detail: isName
        ? """
        The store's name takes \(name.utf8.count) bytes and may take \(longest - suffix.utf8.count) here: the \
        lock file beside it has the same name with “\(suffix)” behind it.
        """ : "The store's path takes \(path.utf8.count) bytes, too many for the lock file beside it.")
  }

  /// What lies at the data file's name; nil when nothing does.
  func status() throws -> FileSystem.Status? { try status(of: path) }

  /// Which file the lock file is; nil when there is none.
  func lockIdentity() throws -> FileSystem.Identity? { try status(of: lockPath)?.identity }

  /// Refuses what cannot be a store, or must not be used under this name.
  func check(_ status: FileSystem.Status) throws {
    switch status.kind {
    case .regular: break
    case .symbolicLink:
      throw StorageError(
        .aliased, operation: "lstat", path: path,
        detail: "The name is a symbolic link. Open the store by its own name: each name has its own lock.")
    default:
      throw StorageError(
        .notADatabase, operation: "lstat", path: path,
        detail: "There is a \(status.kind.rawValue) where the store should be.")
    }
    if status.linkCount != 1 {
      throw StorageError(
        .aliased, operation: "lstat", path: path,
        detail: """
          The file has \(status.linkCount) names (hard links). Each name has its own lock, so that two \
          programs could write it at once.
          """)
    }
    if status.size == 0 {
      throw StorageError(
        .damaged, operation: "lstat", path: path, page: 0,
        detail: "The file is empty. A store is never empty: it was cut off, or something else made the file.")
    }
  }

  /// Refuses what is no plain file. One that is damaged, empty or has other names may be replaced and removed.
  func checkPlain(_ status: FileSystem.Status) throws {
    var single = status
    single.linkCount = 1
    single.size = max(status.size, 1)
    try check(single)
  }

  /// Refuses a lock file that is not LMDB's own plain file.
  func checkLockFile() throws {
    guard let status = try status(of: lockPath) else { return }
    guard status.kind == .regular, status.linkCount == 1 else {
      let nature = status.kind == .regular ? "hard-linked" : "a \(status.kind.rawValue)"
      throw StorageError(
        .aliased, operation: "lstat", path: path, detail: "The lock file beside the store is \(nature).")
    }
  }

  /// Whether there is a file under the log's name, of whichever process.
  ///
  /// - Throws: ``StorageError`` when that is unknown: an error of the medium does not mean that there is none.
  func hasLog() throws -> Bool { try namedLog() != nil }

  /// The file under the log's name; nil for none. Throws as `hasLog`.
  func namedLog() throws -> FileSystem.Identity? {
    guard let status = try status(of: logPath), status.kind == .regular else { return nil }
    return status.identity
  }

  /// Removes a log from beside the file that has gone, or that another one has taken the place of: it is of no use any more, and other files ignore it.
  func removeLog() {
    guard case .success(let status) = system.status(logPath), status.kind == .regular else { return }
    _ = system.unlink(logPath)
  }

  /// Refuses a network file system.
  func checkFileSystem(_ descriptor: Int32) throws {
    guard let kind = system.remoteKind(descriptor) else { return }
    throw StorageError(
      .networkFileSystem, operation: "fstatfs", path: path,
      detail: """
        The store lies on a network file system (\(kind)), where neither its locks nor its shared memory can \
        be trusted.
        """)
  }

  /// Makes an empty store, complete and flushed, under the name; whether this call made it.
  ///
  /// The image is written under another name and renamed, so that a crash never leaves half a store. False
  /// when another process has made the file meanwhile.
  func create(isFlushed: Bool, allowsNetwork: Bool) throws -> Bool {
    if !allowsNetwork {
      let descriptor = system.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
      if descriptor < 0 { throw StorageError(-descriptor, "open", path: path) }
      defer { _ = system.close(descriptor) }
      try checkFileSystem(descriptor)
    }
    // In one piece: a program that is about to end finds the file under this name, or none.
    let made = try FileMaking.run { try makeEmptyStore(isFlushed: isFlushed) }
    guard let made else { throw StorageError(FileMaking.code, "open", path: path) }
    return made
  }

  private func makeEmptyStore(isFlushed: Bool) throws -> Bool {
    let draft = temporaryName("new")
    try writeEmptyStore(draft, flush: isFlushed)
    var code = system.renameExclusively(draft, path)
    if code == -ENOSYS || code == -EINVAL || code == -ENOTSUP {
      // This file system cannot rename that way. Then the file itself is made exclusively.
      _ = system.unlink(draft)
      do {
        try writeEmptyStore(path, flush: isFlushed)
        code = 0
      } catch let error as StorageError where error.kind == .exists {
        return false
      }
    }
    guard code == 0 else {
      _ = system.unlink(draft)
      if code == -EEXIST { return false }
      throw StorageError(-code, "rename", path: path)
    }
    if isFlushed { try system.syncDirectory(directory) }
    return true
  }

  /// An unused name in the store's directory.
  func temporaryName(_ purpose: String) -> String {
    let number = String(UInt64.random(in: 0 ... .max), radix: 36)
    return (directory == "/" ? "" : directory) + "/.strata-\(purpose)-\(getpid())-\(number)"
  }

  /// An empty store under any name; errors speak of the store, which is what the user asked for.
  func writeEmptyStore(_ name: String, flush: Bool) throws {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = system.open(name, flags, 0o600)
    if descriptor < 0 {
      throw StorageError(
        -descriptor, "open", path: path,
        detail: descriptor == -EEXIST ? "" : "The store cannot be created in its directory.")
    }
    defer { _ = system.close(descriptor) }
    do {
      try FileSizeLimit.withoutSignal {
        try MetaPage.emptyStore(pageSize: MetaPage.systemPageSize).withUnsafeBytes {
          try system.writeAll(descriptor, $0, at: 0, path: path)
        }
      }
      let code = flush ? system.sync(descriptor) : 0
      if code != 0 { throw StorageError(-code, "fsync", path: path) }
    } catch {
      _ = system.unlink(name)
      throw error
    }
  }

  private func status(of path: String) throws -> FileSystem.Status? {
    switch system.status(path) {
    case .success(let status): return status
    case .failure(let code) where code.number == ENOENT: return nil
    case .failure(let code): throw StorageError(code.number, "lstat", path: path)
    }
  }
}
