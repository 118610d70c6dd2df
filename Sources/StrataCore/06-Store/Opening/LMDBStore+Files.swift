import Foundation

extension LMDBStore {
  /// The metadata of the store at `url`, without a model (rule 303).
  ///
  /// - Throws: ``StorageError``; the file is not changed.
  public static func metadata(at url: URL) throws -> StoreMetadata {
    try inspect(url) { meta, transaction, path in
      let header = try StoreHeader(meta, transaction, path: path)
      return header.metadata.adding(identifier: header.identifier, type: type, versions: header.versions)
    }
  }

  /// The model the store at `url` was last opened with, without the classes of its entities: those that the program has are written for its
  /// own version of the model.
  ///
  /// - Throws: ``StorageError``, also of kind `damaged` when the stored model cannot be decoded.
  public static func model(at url: URL) throws -> ManagedObjectModel {
    let model = try modelWithClasses(at: url)
    model.forgetClasses()
    return model
  }

  /// The same with classes, found by their names.
  package static func modelWithClasses(at url: URL) throws -> ManagedObjectModel {
    try carriedModel(at: url).model
  }

  private static func carriedModel(at url: URL) throws -> CarriedModel {
    let data = try inspect(url) { meta, transaction, path in
      _ = try StoreHeader(meta, transaction, path: path)
      return try meta.data("model", transaction) ?? Data()
    }
    do {
      return CarriedModel(model: try ModelCoding.decode(data), document: data)
    } catch {
      throw StorageError(
        .damaged, operation: "read model", path: url.path,
        detail: "The model in the store is damaged: \(error)")
    }
  }

  /// A model that a store carries.
  package struct CarriedModel {
    /// With classes, found by their names.
    package let model: ManagedObjectModel
    /// As the store has it.
    let document: Data
  }

  /// So often others may bring the store to another version while it is being opened.
  private static let mostChanges = 16

  /// Opens the store at `url` with the model that it carries, which another process may change at any moment: then it is read again.
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - withClasses: Whether the model's entities have the classes that the program has.
  ///   - options: How it is opened; hashes are not compared.
  ///   - unreadable: What is thrown when the model cannot be read.
  /// - Throws: ``StorageError``; `.damaged` when the model cannot be read.
  package static func openAsCarried(
    at url: URL, withClasses: Bool = false, options: LMDBStoreOptions,
    unreadable: (StorageError) -> any Error = { $0 }
  ) throws -> (store: LMDBStore, carried: CarriedModel) {
    var options = options
    // One that holds the entities of a configuration has the hashes of these alone.
    options.ignoresVersionHashes = true
    var rounds = 0
    while true {
      rounds += 1
      let carried: CarriedModel
      do { carried = try carriedModel(at: url) } catch let error as StorageError where error.kind == .damaged
      {
        throw unreadable(error)
      }
      MigrationHooks.reached(.looked, url.path)
      if !withClasses { carried.model.forgetClasses() }
      options.carriedModel = carried.document
      do {
        return (try LMDBStore(url: url, schema: carried.model.schema(), options: options), carried)
      } catch let error as StorageError where error.kind == .replaced && rounds < mostChanges {}
    }
  }

  /// The files that the store at `url` has taken the place of and that lie beside it until its next save.
  static func replacedFiles(at url: URL) throws -> [ReplacedFile] {
    try inspect(url) { meta, transaction, path in
      try StoreHeader(meta, transaction, path: path).replaced
    }
  }

  /// Notes that this store has been of the versions that `source` is and was of: what was in it comes from there.
  package func addLineage(of source: any StoreEngine) throws {
    guard let source = source as? LMDBStore else { return }
    try requireNotReadOnly("note versions")
    let past = try source.read { reader, transaction in
      let header = try StoreHeader(reader.parts.meta, transaction, path: reader.parts.environment.path)
      var past = header.lineage
      past.add(header.versions)
      return past
    }
    let meta = parts.meta
    try parts.environment.write { transaction in
      var lineage = try meta.lineage(transaction.read)
      lineage.add(past)
      try meta.put(lineage, transaction)
    }
  }

  /// Replaces the user's metadata of the store at `url` at once (rule 148). The standard keys stay, but for a UUID that is not the store's: the store has that one from then on,
  /// so that a copy can be attached beside its original. IDs and history tokens of the old UUID are those of another store then.
  /// - Throws: ``StorageError``: `.missing`, `.busy` when another process keeps the store locked, or for another UUID when the store is open in this process or another,
  ///   `.notADatabase`, `.tooLarge`, `.diskFull`, `.io`, `.permission`; ``CoreDataError`` 134070 for a UUID that is none. Nothing is changed then.
  public static func setMetadata(_ metadata: StoreMetadata, at url: URL) throws {
    let encoded = try metadata.encoded(path: url.path)
    let identifier = try metadata.givenIdentifier()
    try takeTurn(at: url) {
      let environment = try openAsItIs(url, isReadOnly: false)
      defer { environment.close() }
      try StoreHeader.requireMeta(environment)
      guard let keyspace = try environment.keyspaces([MetaKeyspace.name])[0] else {
        throw StorageError.foreign(environment.path)
      }
      let (meta, path) = (MetaKeyspace(keyspace: keyspace), environment.path)
      let isNew =
        try identifier.map { given in
          try environment.read { try StoreHeader(meta, $0, path: path).identifier } != given
        } ?? false
      // One that another process opens right after this writes nothing any more: commits compare the UUID.
      if isNew { try environment.requireSoleUse() }
      try environment.write { transaction in
        try meta.put("metadata", encoded, transaction)
        guard isNew, let identifier else { return }
        let number = try StoreHeader(meta, transaction.read, path: path).commitNumber
        let stamp = CommitStamp(identifier: identifier, commitNumber: number)
        try meta.put("identity", withUnsafeBytes(of: identifier.uuid) { Array($0) }, transaction)
        try meta.put("stamp", stamp.bytes + [UInt8](repeating: 0, count: 8), transaction)
      }
    }
  }

  /// Walks the bytes of the store at `url` without opening it, as opening does, and leaves them alone.
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - everyPage: Whether to look at every page. Without, only at the anchors and the roots of the trees; opening chooses that
  ///     after an orderly close.
  /// - Throws: ``StorageError`` `.notADatabase`, `.damaged`, `.truncated`, `.unsupportedFormat` with page and reason;
  ///   `.missing`, `.aliased`, `.permission`, `.io`.
  public static func inspect(at url: URL, everyPage: Bool = true) throws {
    try Environment.inspect(path: url.path, everyPage ? .full : .quick)
  }

  /// Deletes the store at `url` and its lock file, whatever state it is in, and what a migration has kept beside it.
  ///
  /// - Throws: ``StorageError``: `.missing`; `.busy` when the store is open in this process or another; `.aliased`, `.notADatabase` for what is no
  ///   plain file; `.permission`. Nothing is changed then.
  public static func destroy(at url: URL) throws {
    nameReplacedFiles(at: url)
    try Environment.destroy(path: url.path)
  }

  /// What a killed migration has left beside the store under its draft's name gets its own, by which it goes with the store. The store may be in
  /// whatever state.
  private static func nameReplacedFiles(at url: URL) {
    guard let file = try? StoreFile(url.path, .system) else { return }
    try? nameReplacedFiles(beside: file, at: url)
  }

  /// The same.
  /// - Throws: ``StorageError`` when a file cannot be given its name.
  static func nameReplacedFiles(beside file: StoreFile, at url: URL) throws {
    if StoreDraft.exchanged(beside: file).isEmpty { return }
    let files: [ReplacedFile]
    do { files = try replacedFiles(at: url) } catch {
      // A store that is damaged does not say which are its own; one that cannot be read now does later.
      let kind = (error as? StorageError)?.kind ?? .damaged
      if [.damaged, .truncated, .notADatabase].contains(kind) { try file.nameReplacedByName() }
      return
    }
    try file.nameReplaced(files)
  }

  /// Empties the store at `url`, whatever state it is in; the file stays (rule 329). What is left is an empty store, 8 KiB in size, which becomes a
  /// new one when it is opened for writing: a file without any bytes would be damage. Without a file in the folder, and
  /// for `/dev/null/Name`, nothing happens.
  ///
  /// - Throws: ``StorageError``: `.busy` when the store is open in this process or another; `.missing` for a missing folder; `.aliased`, `.notADatabase` for what is no
  ///   plain file, as `/dev/null`; `.permission`. Nothing is changed then.
  public static func empty(at url: URL) throws {
    if memoryName(url) != nil { return }
    if isInMemory(url) {
      throw StorageError(
        .notADatabase, operation: "open", path: url.path,
        detail: "Stores at /dev/null are in memory: there is no file, and each goes when it is removed.")
    }
    nameReplacedFiles(at: url)
    try Environment.empty(path: url.path)
  }

  /// Puts a copy of the store at `source`, which may be in use, in the place of that at `url`. What a migration has kept beside the latter
  /// goes with it; `source` may be such a file, which takes the migration back.
  ///
  /// - Throws: ``StorageError``: `.busy` when the store at `url` is open in this process or another; `.missing`, `.damaged`, `.notADatabase`, also for the
  ///   file of a store that was destroyed, `.unsupportedFormat` and what else opening throws for `source`; `.invalid` for one and the same; `.diskFull`.
  ///   Nothing is changed then.
  public static func replace(at url: URL, with source: URL) throws {
    try replace(at: url, with: source, isOpenHere: false) {}
  }

  /// The same for a store that the caller may have open: it closes it in `detach`, which is called when the copy is complete and known to be a store.
  /// - Throws: as the method without it; what `detach` throws.
  package static func replace(
    at url: URL, with source: URL, isOpenHere: Bool, detaching detach: () throws -> Void
  ) throws {
    // Not while it is what is to be copied.
    if !source.lastPathComponent.hasPrefix(".strata-") { nameReplacedFiles(at: url) }
    try Environment.replace(path: url.path, with: source.path, isOpenHere: isOpenHere) { draft in
      try requireStore(draft, copiedFrom: source)
      try detach()
    }
  }

  /// That a copy without a name is a store that this version reads. Errors speak of the file that was copied.
  private static func requireStore(_ draft: StoreDraft, copiedFrom source: URL) throws {
    var options = EnvironmentOptions()
    options.requiredKeyspace = MetaKeyspace.name
    options.create = .never
    options.isReadOnly = true
    options.allowsNetworkFileSystem = true
    // Every page has been looked at.
    options.inspection = .quick
    defer { draft.removeLockFile() }
    do {
      let environment = try Environment.open(path: draft.file.path, options: options)
      defer { environment.close() }
      try StoreHeader.requireMeta(environment)
      guard let keyspace = try environment.keyspaces([MetaKeyspace.name])[0] else {
        throw StorageError.foreign(environment.path)
      }
      try environment.read { transaction in
        _ = try StoreHeader(MetaKeyspace(keyspace: keyspace), transaction, path: environment.path)
      }
    } catch var error as StorageError {
      error.path = source.path
      throw error
    }
  }

  /// Whether `url` stands for a store in memory: nil and `/dev/null`, Core Data's way to say so (rule 332), and names below `/dev/null`.
  public static func isInMemory(_ url: URL?) -> Bool {
    guard let url else { return true }
    return url.isFileURL && url.path == "/dev/null" || memoryName(url) != nil
  }

  /// The name of a store in memory that all of this process share who open it: `/dev/null/Name`, as a whole. Nil for every other URL.
  package static func memoryName(_ url: URL?) -> String? {
    guard let url, url.isFileURL, url.path.hasPrefix("/dev/null/") else { return nil }
    return url.path
  }

  /// Writes a copy of the store, as of now, to `url`, while it is in use; waits for no writer. An existing file is not replaced.
  ///
  /// - Parameters:
  ///   - url: The new file.
  ///   - compacting: Leaves free pages out: a smaller file for more work.
  /// - Throws: ``StorageError`` when the store is closed, when there is a file at `url`, or when it cannot be written. There is no new file then.
  public func backup(to url: URL, compacting: Bool = true) throws {
    try requireOpen()
    try parts.environment.copy(to: url.path, compacting: compacting)
  }

  /// Writes a copy of the store, as of now, without free pages, to `url`, where there may be an empty store, such as destroying leaves: it is replaced.
  /// - Throws: as `backup(to:compacting:)`.
  package func copy(into url: URL) throws {
    try requireOpen()
    try parts.environment.copy(to: url.path, compacting: true, replacing: .emptyStore)
  }

  /// Makes every save durable that has returned, also those that ``Durability/relaxed`` and ``Durability/none`` have not flushed: they survive a power failure that comes
  /// afterwards. With `.none` and no log that holds until the next save begins, which may overwrite what was flushed.
  ///
  /// While the store has a log it waits for its turn to write, as a save does. Stores in memory, and stores that are open read-only, have nothing to
  /// flush. May be called from any thread.
  /// - Throws: ``StorageError``: `.closed`, `.forked`, `.busy`; `.io` or `.diskFull` when the medium fails: then what was not durable before may not be now.
  public func flush() throws {
    try requireOpen()
    if refusesWrites { return try parts.environment.checkProcess() }
    try parts.environment.flush()
  }

  /// Removes what this process is writing and has not finished: copies, salvages, migrations. For programs that end at once, from a handler of a
  /// signal's dispatch source: from now on no store is opened or made in this process, and whoever tries gets a ``StorageError`` of the number `ECANCELED`. Without it the next copy, salvage or migration in the same folder removes what is left.
  public static func removeUnfinishedFiles() { StoreDraft.removeAll() }

  /// Gives a store's file, which is flushed and closed, a name in the same folder that nobody has, or that is an empty store's if that may go.
  /// - Throws: ``StorageError`` `.exists`, `.busy` when a store of that name is in use; what the system says. Nothing has changed then.
  package static func name(_ draft: URL, as destination: URL, replacesEmptyStore: Bool = false) throws {
    try StoreFile(destination.path, .system).take(
      draft.path, replacing: replacesEmptyStore ? .emptyStore : .nothing)
  }

  /// That a store could be written to `url`: there is nothing, or an empty store, such as destroying leaves.
  /// - Throws: ``StorageError`` `.exists` for anything else; what the system says.
  package static func requireFree(_ url: URL) throws {
    let file = try StoreFile(url.path, .system)
    if let status = try file.status() { try file.requireReplaceable(status, as: .emptyStore, "open") }
  }

  /// Figures about the file.
  /// - Throws: ``StorageError`` when the store is closed or cannot be read.
  public func statistics() throws -> StoreStatistics {
    try requireOpen()
    let statistics = try parts.environment.statistics()
    var result = StoreStatistics(
      fileSize: statistics.fileSize, pageSize: statistics.pageSize,
      pageCount: statistics.lastPage + 1, readersInUse: statistics.readersInUse)
    result.freeBytes = statistics.freePages * statistics.pageSize
    if let log = try parts.environment.logState() {
      (result.logSize, result.logRecordCount) = (log.fileSize, log.recordCount)
    }
    for part in statistics.keyspaces { result.entryCounts[part.name] = part.entries }
    return result
  }

  /// The last moment of the store.
  func moment() throws -> StoreMoment {
    try read { _, transaction in try parts.moment(transaction) }
  }

  /// The store's own count of its commits.
  /// - Throws: ``StorageError`` when the store is closed or cannot be read.
  public func commitNumber() throws -> UInt64 {
    try read { _, transaction in
      CommitStamp(try parts.meta.bytes("stamp", transaction))?.commitNumber ?? 0
    }
  }

  /// Opens the file, or joins what this process has opened already, whatever its options.
  private static func openAsItIs(_ url: URL, isReadOnly: Bool) throws -> Environment {
    var options = EnvironmentOptions()
    options.requiredKeyspace = MetaKeyspace.name
    options.create = .never
    options.isReadOnly = isReadOnly
    options.meetsClosing = true
    do {
      return try Environment.open(path: url.path, options: options)
    } catch let error as StorageError where error.kind == .invalid && !isReadOnly {
      // Who only reads fits every durability.
      for durability in Durability.allCases {
        options.durability = durability
        if let environment = try? Environment.open(path: url.path, options: options) { return environment }
      }
      throw error
    }
  }

  private static func inspect<R>(
    _ url: URL, _ body: (MetaKeyspace, borrowing ReadTransaction, String) throws -> R
  ) throws -> R {
    try takeTurn(at: url) {
      let environment = try openAsItIs(url, isReadOnly: true)
      defer { environment.close() }
      try StoreHeader.requireMeta(environment)
      guard let keyspace = try environment.keyspaces([MetaKeyspace.name])[0] else {
        throw StorageError.foreign(environment.path)
      }
      return try environment.read { try body(MetaKeyspace(keyspace: keyspace), $0, environment.path) }
    }
  }

  /// Looks whether this process has the store at `url` open: then it can take no other file's place. One that is being closed is waited for, no longer than `patience` says.
  ///
  /// - Throws: ``StorageError`` `.busy` when it has.
  static func requireClosed(at url: URL, within patience: Duration) throws {
    // Whoever just looks what lies there has closed it again when it is this thread's turn.
    try takeTurn(at: url) {
      let file = try StoreFile(url.path, .system)
      let registry = EnvironmentRegistry.current
      guard let status = try file.status(),
        !registry.awaitEnd(atMost: patience, { !registry.isOpen(status.identity) })
      else { return }
      throw StorageError(
        .busy, operation: "migrate", path: file.path,
        detail: "The store is open in this process; close it first. Nothing was changed.")
    }
  }

  /// Runs `body`, which opens the file at `url`, when no other thread of this process opens or migrates it: a migration needs the file
  /// for itself, and other threads that wait find it migrated.
  static func takeTurn<R>(at url: URL?, _ body: () throws -> R) throws -> R {
    guard let url, url.isFileURL else { return try body() }
    return try EnvironmentRegistry.current.openings.take(StoreFile(url.path, .system).path, body)
  }
}

/// Figures about a store's file.
public struct StoreStatistics: Sendable, Hashable {
  /// Bytes in the file.
  public var fileSize: Int
  /// Bytes in a page.
  public var pageSize: Int
  /// Pages in use or free.
  public var pageCount: Int
  /// Reader slots in use, by all processes.
  public var readersInUse: Int
  /// Bytes of pages that are free: saves use them again, and ``LMDBStore/compact(_:)`` gives them back.
  public var freeBytes = 0
  /// Bytes of pages in use.
  public var usedBytes: Int { pageCount * pageSize - freeBytes }
  /// Bytes in the log beside the file; 0 while there is none.
  public var logSize = 0
  /// Transactions in the log since its last checkpoint: what a recovery would carry out again.
  public var logRecordCount = 0
  /// Entries by keyspace: `rows:<root entity>`, `index:<name>`, `large`, `meta`.
  public var entryCounts: [String: Int] = [:]
}

extension LMDBStore {
  /// Where the bytes of the file are: by keyspace, and those of pages that are free. Walks over the list of free pages.
  /// - Throws: ``StorageError``.
  package func space() throws -> (bytes: [String: Int], freeBytes: Int) {
    try requireOpen()
    let size = try parts.environment.statistics().pageSize
    let space = try parts.environment.space()
    return (space.pages.mapValues { $0 * size }, space.freePages * size)
  }
}
