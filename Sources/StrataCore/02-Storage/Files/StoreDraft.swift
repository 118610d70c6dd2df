import Foundation
import Synchronization

/// A file that will be a store: under a name of its own beside the store's until it is complete and flushed.
///
/// One that is given up is removed, at the latest with this object. What a killed process has left is removed by the next that makes a draft in the folder: a draft that is
/// worked on is locked (`flock`), and its name tells its process.
final class StoreDraft: Sendable {
  /// What happens to it.
  enum Purpose: String, CaseIterable { case new, copy, migration, salvage }

  /// The draft's own names.
  let file: StoreFile
  /// The store's.
  let destination: StoreFile
  private let descriptor = Mutex<Int32>(-1)

  /// The drafts of this process.
  private static let living = Mutex<[String: StoreFile]>([:])

  /// Chooses a name beside the store's. Makes no file.
  init(_ purpose: Purpose, beside destination: StoreFile) {
    self.destination = destination
    var path = destination.temporaryName(purpose.rawValue)
    // When a crash cuts off an exchange of names, the store's old file has the draft's: it is known by its number.
    if purpose == .migration, let inode = (try? destination.status())?.identity.inode {
      path += ".\(Self.mark(of: destination)).\(inode)"
    }
    let file = StoreFile(path: path, directory: destination.directory, system: destination.system)
    self.file = file
    Self.living.withLock { $0[file.path] = file }
  }

  /// Which store of the folder a draft is beside, as its name tells.
  static func mark(of destination: StoreFile) -> String {
    let name = destination.path.split(separator: "/").last.map(String.init) ?? ""
    // FNV-1a: the same in every process.
    let hash = name.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }

  deinit { if Self.living.withLock({ $0[file.path] != nil }) { remove() } }

  /// The draft's place.
  var url: URL { URL(fileURLWithPath: file.path) }

  /// Locks the file, which exists by now, so that other processes see that it is in use.
  func hold() {
    descriptor.withLock { descriptor in
      guard descriptor < 0 else { return }
      let opened = file.system.open(file.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
      // Without the lock there is still the number of the process.
      if opened >= 0 { _ = flock(opened, LOCK_EX | LOCK_NB) }
      descriptor = opened
    }
  }

  /// Writes out what the system still keeps in memory. The draft must be closed as a store.
  func flush() throws {
    let descriptor = file.system.open(file.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
    if descriptor < 0 { throw StorageError(-descriptor, "open", path: file.path) }
    defer { _ = file.system.close(descriptor) }
    let code = file.system.sync(descriptor)
    if code != 0 { throw StorageError(-code, "fsync", path: file.path) }
    _ = file.system.unlink(file.lockPath)
  }

  /// Gives the draft, which is flushed, the store's name. The store must be closed.
  ///
  /// - Parameter replacing: What may be there, and goes.
  /// - Throws: `.exists`; `.busy` when the store is in use. The draft is what it was then.
  func publish(replacing: StoreFile.Replaceable = .nothing) throws {
    try destination.take(file.path, replacing: replacing)
    forget()
  }

  /// Removes LMDB's lock file, after the draft was open as a store.
  func removeLockFile() { _ = file.system.unlink(file.lockPath) }

  /// Removes what is left under the draft's names, but no store's old file.
  func remove() {
    Self.remove(file)
    forget()
  }

  private static func remove(_ file: StoreFile) {
    let name = file.path.split(separator: "/").last.map(String.init) ?? ""
    if !isExchanged(name, file.path, file.system) { _ = file.system.unlink(file.path) }
    _ = file.system.unlink(file.lockPath)
    _ = file.system.unlink(file.logPath)
  }

  /// From now on what has the draft's name belongs to another file.
  func forget() {
    Self.living.withLock { _ = $0.removeValue(forKey: file.path) }
    descriptor.withLock { descriptor in
      if descriptor >= 0 { _ = file.system.close(descriptor) }
      descriptor = -1
    }
  }

  // MARK: Drafts of others

  /// Removes all drafts of this process: it ends now, and makes no more files. Other threads go on meanwhile, and fail when they are to make one.
  static func removeAll() {
    FileMaking.end()
    for file in living.withLock({ Array($0.values) }) { remove(file) }
  }

  /// Removes the drafts of processes that have died. Files that drafts have exchanged their names with stay.
  static func removeLeftovers(beside file: StoreFile) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: file.directory)) ?? []
    for name in names where name.hasPrefix(".strata-") && !name.hasSuffix("-lock") {
      let path = (file.directory == "/" ? "" : file.directory) + "/" + name
      guard let process = process(ofDraft: name), !isExchanged(name, path, file.system),
        isAbandoned(path, process, file.system)
      else { continue }
      _ = file.system.unlink(path)
      _ = file.system.unlink(path + "-lock")
      _ = file.system.unlink(path + "-log")
    }
    // Lock files whose drafts have gone.
    for name in names where name.hasPrefix(".strata-") && name.hasSuffix("-lock") {
      let draft = String(name.dropLast("-lock".count))
      let path = (file.directory == "/" ? "" : file.directory) + "/" + draft
      guard let process = process(ofDraft: draft), !isAlive(process, path),
        case .failure(let code) = file.system.status(path), code.number == ENOENT
      else { continue }
      _ = file.system.unlink(path + "-lock")
    }
  }

  /// The old files of stores that have the names of drafts, since their processes have died before they could give them others.
  static func exchanged(beside file: StoreFile) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: file.directory)) ?? []
    return names.compactMap { name in
      let path = (file.directory == "/" ? "" : file.directory) + "/" + name
      guard let process = process(ofDraft: name), isExchanged(name, path, file.system),
        isAbandoned(path, process, file.system)
      else { return nil }
      return path
    }
  }

  /// Those of them that are old files of the store itself, as their names tell: where the store cannot say which ones are its own. None of those that earlier
  /// versions have made drafts for.
  static func exchanged(with file: StoreFile) -> [String] {
    let mark = mark(of: file)
    return exchanged(beside: file).filter { path in
      let parts = (path.split(separator: "/").last ?? "").split(separator: ".")
      return parts.count > 2 && parts[parts.count - 2] == mark
    }
  }

  private static func isExchanged(_ name: String, _ path: String, _ system: FileSystem) -> Bool {
    guard name.hasPrefix(".strata-\(Purpose.migration.rawValue)-"),
      let inode = name.split(separator: ".").last.flatMap({ UInt64($0) }),
      case .success(let status) = system.status(path)
    else { return false }
    return status.identity.inode == inode
  }

  /// The number of the process in a draft's name; nil for other names.
  private static func process(ofDraft name: String) -> Int32? {
    let parts = name.dropFirst().split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "strata", Purpose(rawValue: String(parts[1])) != nil else {
      return nil
    }
    return Int32(parts[2])
  }

  /// Whether a process of that number lives and may have made the draft. One of our own number that we have not made is of another life: programs
  /// in containers have the same number each time.
  private static func isAlive(_ process: Int32, _ path: String) -> Bool {
    if process == getpid() { return living.withLock { $0[path] != nil } }
    return kill(process, 0) == 0 || errno != ESRCH
  }

  private static func isAbandoned(_ path: String, _ process: Int32, _ system: FileSystem) -> Bool {
    if isAlive(process, path) { return false }
    let descriptor = system.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if descriptor < 0 { return false }
    defer { _ = system.close(descriptor) }
    // A process of another container has a number that means nothing here.
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
  }
}

extension StoreFile {
  /// Gives a file that is about to have this name, or to be kept beside it, the owner and the permissions of the one that has it: otherwise other users could not open the store
  /// from now on. Should it fail, the file is this user's.
  func givePermissions(to other: String) {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let source = system.open(path, flags, 0)
    if source < 0 { return }
    defer { _ = system.close(source) }
    let target = system.open(other, flags, 0)
    if target < 0 { return }
    _ = system.copyPermissions(source, target)
    _ = system.close(target)
  }

  /// What may have a name that is given to another file.
  enum Replaceable {
    /// The name must be free.
    case nothing
    /// An empty store, such as destroying leaves.
    case emptyStore
    /// Any plain file.
    case anything
  }

  /// Gives a flushed file this name. The stores of both names must be closed.
  ///
  /// - Parameter replacing: What may be there, and goes.
  /// - Throws: `.exists`; `.busy` when the store is in use. Both files are what they were then.
  func take(_ draft: String, replacing: Replaceable = .nothing) throws {
    try SoleUse.run(self) { status in
      if let status {
        try requireReplaceable(status, as: replacing, "rename")
        try checkPlain(status)
        givePermissions(to: draft)
      }
      var code = status == nil ? system.renameExclusively(draft, path) : system.rename(draft, path)
      if status == nil, code == -ENOSYS || code == -EINVAL || code == -ENOTSUP {
        code = system.rename(draft, path)
      }
      if code != 0 { throw StorageError(-code, "rename", path: path) }
      // One of the store that has gone, or of one that was deleted by hand.
      removeLog()
      do {
        try system.syncDirectory(directory)
      } catch {
        // It is unknown whether the name will last, and another attempt must not find it taken.
        if status == nil { _ = system.unlink(path) }
        throw error
      }
    }
  }

  /// - Throws: `.exists` when what has the name must stay.
  func requireReplaceable(_ status: FileSystem.Status, as kind: Replaceable, _ operation: String) throws {
    let mayGo =
      switch kind {
      case .nothing: false
      case .emptyStore: try isEmptyStore(status)
      case .anything: true
      }
    if !mayGo { throw StorageError(EEXIST, operation, path: path) }
  }

  /// Whether the file is byte for byte what `writeEmptyStore` writes: of a store that was destroyed, or that was made and never opened. One that was opened for writing holds
  /// at least a description of itself.
  private func isEmptyStore(_ status: FileSystem.Status) throws -> Bool {
    let pageSize = status.size / 2
    guard status.kind == .regular, MetaPage.pageSizes.contains(pageSize), status.size == 2 * pageSize,
      try !hasLog()
    else { return false }
    let descriptor = system.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if descriptor < 0 { throw StorageError(-descriptor, "open for reading", path: path) }
    defer { _ = system.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: status.size)
    let count = bytes.withUnsafeMutableBytes { system.read(descriptor, $0, 0) }
    if count < 0 { throw StorageError(Int32(-count), "pread", path: path) }
    return count == bytes.count && bytes == MetaPage.emptyStore(pageSize: pageSize)
  }
}
