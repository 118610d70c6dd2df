import Foundation

/// The new file of a migration, until it takes the old one's place.
struct MigrationDraft {
  private let draft: StoreDraft
  private var destination: StoreFile { draft.destination }
  private var file: StoreFile { draft.file }

  /// Chooses a name beside the store.
  init(_ destination: StoreFile) throws { draft = StoreDraft(.migration, beside: destination) }

  /// Opens the draft, and creates it first when there is none. It need not survive anything before it is flushed as a whole.
  ///
  /// - Parameter codes: What a new one begins with.
  func open(
    _ schema: Schema, _ configurationName: String?, _ options: LMDBStoreOptions,
    codes: [String: UInt16] = [:]
  ) throws -> LMDBStore {
    var draft = LMDBStoreOptions()
    draft.allowsNetworkFileSystem = options.allowsNetworkFileSystem
    draft.mapSize = options.mapSize
    draft.durability = .relaxed
    draft.keepsLog = false
    draft.codes = codes
    let store = try LMDBStore(
      url: self.draft.url, schema: schema, configurationName: configurationName, options: draft)
    self.draft.hold()
    return store
  }

  /// Writes out what the system still keeps in memory. The draft must be closed.
  func flush() throws { try draft.flush() }

  /// Puts the draft in the place of `source`, unless something was written since that moment. Whether it did.
  ///
  /// The old file goes, or is kept as `replaced`.
  /// The source is locked for writing meanwhile. Other processes that have it open read on what they had, and their writes fail
  /// with `.replaced`.
  func takePlace(
    of source: LMDBStore, keeping replaced: ReplacedFile?, ifStillAt moment: StoreMoment,
    _ patience: Patience?
  ) throws -> Bool {
    struct Unchanged: Error {}
    let parts = source.parts
    try Self.requireAlone(source, destination, patience)
    do {
      return try parts.environment.write(within: patience) { transaction in
        guard try parts.moment(before: transaction) == moment else { return false }
        try parts.environment.retireLog(transaction)
        try exchange(keeping: replaced)
        // Nothing is to be committed to the file that has gone.
        throw Unchanged()
      }
    } catch is Unchanged {
      return true
    }
  }

  /// The same while `lock` prevents saves.
  func takePlace(of source: LMDBStore, keeping replaced: ReplacedFile?, _ lock: SourceLock) throws {
    try Self.requireAlone(source, destination, nil)
    try lock.end { try exchange(keeping: replaced) }
  }

  private func exchange(keeping replaced: ReplacedFile?) throws {
    if let replaced {
      try Environment.move(file.path, over: destination, keeping: replaced)
    } else {
      try Environment.move(file.path, over: destination)
    }
    draft.forget()
    MigrationHooks.reached(.exchanged, destination.path)
  }

  /// Looks whether this process has the store open elsewhere, too. One who is about to close it is waited for, no longer than `patience` says.
  ///
  /// - Throws: ``StorageError`` `.busy` when it has.
  static func requireAlone(_ source: LMDBStore, _ file: StoreFile, _ patience: Patience?) throws {
    let (registry, environment) = (EnvironmentRegistry.current, source.parts.environment)
    let begin = ContinuousClock.now
    let isAlone = registry.awaitEnd(atMost: patience?.left ?? .seconds(1)) {
      !registry.isShared(environment)
    }
    patience?.spend(begin.duration(to: .now))
    if !isAlone {
      throw StorageError(
        .busy, operation: "migrate", path: file.path,
        detail: "The store is open in this process; close it first.")
    }
  }

  /// Removes what is left under the draft's name, unless it is the file that it was to replace.
  func remove(sparing replaced: ReplacedFile?) {
    if let replaced, (try? file.status())?.identity.inode == replaced.inode { return draft.forget() }
    draft.remove()
  }
}
