import Foundation

/// The new file of a migration, until it takes the old one's place.
struct MigrationDraft {
  private static let prefix = ".strata-migration-"

  private let destination: StoreFile
  private let file: StoreFile

  /// Chooses a name beside the store.
  init(_ destination: StoreFile) throws {
    self.destination = destination
    file = try StoreFile(destination.temporaryName("migration"), destination.system)
  }

  /// Opens the draft, and creates it first when there is none. It need not survive anything before it is flushed as a whole.
  func open(_ schema: Schema, _ configurationName: String?, _ options: LMDBStoreOptions) throws -> LMDBStore {
    var draft = LMDBStoreOptions()
    draft.allowsNetworkFileSystem = options.allowsNetworkFileSystem
    draft.mapSize = options.mapSize
    draft.durability = .relaxed
    return try LMDBStore(
      url: URL(fileURLWithPath: file.path), schema: schema, configurationName: configurationName,
      options: draft)
  }

  /// Writes out what the system still keeps in memory. The draft must be closed.
  func flush() throws {
    let descriptor = file.system.open(file.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
    if descriptor < 0 { throw StorageError(-descriptor, "open", path: file.path) }
    defer { _ = file.system.close(descriptor) }
    let code = file.system.sync(descriptor)
    if code != 0 { throw StorageError(-code, "fsync", path: file.path) }
    _ = file.system.unlink(file.lockPath)
  }

  /// Puts the draft in the place of `source`, unless somebody has saved since the commit of that number. Whether it did.
  ///
  /// The old file goes, or is kept as `replaced`.
  /// The source is locked for writing meanwhile. Other processes that have it open read on what they had, and their writes fail
  /// with `.replaced`.
  func takePlace(of source: LMDBStore, keeping replaced: ReplacedFile?, ifStillAt commit: UInt64) throws
    -> Bool
  {
    struct Unchanged: Error {}
    let (parts, draft, destination) = (source.parts, file.path, destination)
    try Self.requireAlone(source, destination)
    do {
      return try parts.environment.write { transaction in
        guard try parts.stamp(transaction.read).commitNumber == commit else { return false }
        try Self.exchange(draft, destination, replaced)
        // Nothing is to be committed to the file that has gone.
        throw Unchanged()
      }
    } catch is Unchanged {
      return true
    }
  }

  /// The same while `lock` keeps everybody from saving.
  func takePlace(of source: LMDBStore, keeping replaced: ReplacedFile?, _ lock: SourceLock) throws {
    try Self.requireAlone(source, destination)
    let (draft, destination) = (file.path, destination)
    try lock.end { try Self.exchange(draft, destination, replaced) }
  }

  private static func exchange(_ draft: String, _ destination: StoreFile, _ replaced: ReplacedFile?) throws {
    if let replaced {
      try Environment.move(draft, over: destination, keeping: replaced)
    } else {
      try Environment.move(draft, over: destination)
    }
    MigrationHooks.reached(.exchanged, destination.path)
  }

  /// - Throws: ``StorageError`` `.busy` when somebody else in this process has the store open.
  static func requireAlone(_ source: LMDBStore, _ file: StoreFile) throws {
    if EnvironmentRegistry.current.isShared(source.parts.environment) {
      throw StorageError(
        .busy, operation: "migrate", path: file.path,
        detail: "The store is open in this process; close it first.")
    }
  }

  /// Removes what is left under the draft's name, unless it is the file that it was to replace.
  func remove(sparing replaced: ReplacedFile?) {
    if let replaced, (try? file.status())?.identity.inode == replaced.inode { return }
    _ = file.system.unlink(file.path)
    _ = file.system.unlink(file.lockPath)
  }

  /// Removes the drafts of processes that have died. A file that was replaced and has not got its name yet gets it.
  ///
  /// - Parameter replaced: The files that the store has taken the place of.
  static func removeLeftovers(beside file: StoreFile, replaced: () -> [ReplacedFile]) throws {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: file.directory)) ?? []
    for name in names where name.hasPrefix(prefix) {
      guard let process = Int32(name.dropFirst(prefix.count).prefix { $0.isNumber }), process != getpid(),
        kill(process, 0) != 0, errno == ESRCH
      else { continue }
      let path = (file.directory == "/" ? "" : file.directory) + "/" + name
      if case .success(let status) = file.system.status(path),
        let known = replaced().first(where: { $0.inode == status.identity.inode })
      {
        let code = file.system.renameExclusively(path, file.path(of: known))
        if code != 0 { throw StorageError(-code, "rename", path: path) }
        continue
      }
      _ = file.system.unlink(path)
    }
  }
}
