import Foundation
import Synchronization

/// How an LMDB store is opened.
public struct LMDBStoreOptions: Sendable {
  /// Whether the store may only be read.
  public var isReadOnly = false
  /// What a returned save promises.
  public var durability = Durability.full
  /// Whether a missing file is created.
  public var createsIfMissing = true
  /// Whether entities may have other hashes than the store's (rule 304).
  public var ignoresVersionHashes = false
  /// Whether a model of the store's version stays in the store as it is, also where the opener's differs in what makes no version.
  var leavesModel = false
  /// Whether the store may lie on a network file system.
  public var allowsNetworkFileSystem = false
  /// Whether the checksum of every row read is compared; without, it is only checked by ``StoreCheck``.
  public var verifiesChecksums = false
  /// How long a save waits for another process's; and opening, in all, when something must be written for it.
  public var writerDeadline = Duration.seconds(30)
  /// What is left of the waiting that one opening may do, which may take several attempts; nil for a `writerDeadline` of its own.
  var patience: Patience?
  /// Bytes of address space at first; nil for as much as there is. It grows by itself.
  @_spi(Testing) public var mapSize: Int?
  /// The most rows of one transaction that builds an index while others use the store.
  @_spi(Testing) public var rowsPerIndexStep = 32_768
  /// Whether every save and batch is recorded in the store's history from now on. A store that records one goes on, whatever this says.
  public var recordsHistory = false
  /// How long this process keeps what the history tells.
  public var historyRetention = HistoryRetention()
  /// Whether saves leave the files beside the store that a migration has put it in the place of. They remove them otherwise.
  public var keepsReplacedFiles = false
  /// When the store is compacted by itself; nil for never.
  var automaticCompaction: AutomaticCompaction.Policy?
  /// Whether a migration writes all rows anew also where the change of the model needs none to be touched.
  public var migratesAllRows = false
  /// Whether small saves go into a log beside the store. Not for stores in memory.
  package var keepsLog = LogPolicy.isKeptByDefault
  /// After how many commits of this process a log begins.
  package var commitsBeforeLog = LogPolicy().commitsBefore
  /// Tells the time of saves.
  var historyClock: @Sendable () -> Date = { Date() }
  /// Whether nothing is written without being asked for: the store is opened for a migration that replaces it.
  var opensAsItIs = false
  /// What a change of the model that touches no row brings; the store is of that version from now on.
  var fills: RowFills?
  /// Entries of "meta" that a new store begins with: codes of entities and attributes.
  var codes: [String: UInt16] = [:]
  /// The model, as the store has it, that it must carry; with another one opening fails as `.replaced`.
  var carriedModel: Data?
  /// How much is kept of what the last commits have changed.
  var journalLimits = JournalFormat.Limits()

  /// The defaults.
  public init() {}
}

/// Objects' rows in one LMDB file, with their indexes, large values, metadata and model.
///
/// ```text
///   meta              what the store knows about itself        (MetaKeyspace)
///   rows:<root>       primary key, 8 bytes big-endian → row    one per hierarchy
///   index:<name>      encoded values · primary key → nothing   one per index
///   large             where it belongs → bytes                 (LargeValueKey)
///   edges             relationship, owner · member → position  (EdgeKey)
///   journal           commit number → rows changed             (JournalFormat)
///   history           commit number · part → who changed what  (HistoryFormat)
/// ```
///
/// Any thread may use it. Reads run on the calling thread against the newest commit and never wait for a save;
/// commits run one after another on the environment's own thread. Every row that leaves the store is a checked
/// copy in the schema's current layout.
public final class LMDBStore: StoreEngine, HistoryStore, FollowedStore, IndexingStore {
  /// The type of stores in a file.
  public static let type = "LMDB"
  /// The type of stores in memory: the same engine on a file without a name.
  public static let inMemoryType = "InMemory"

  public let identifier: UUID
  public let url: URL?
  /// The name by which this process shares a store in memory; nil for a file, and for a store in memory that is not shared.
  let memoryName: String?
  public let storeType: String
  public let configurationName: String?
  public let isReadOnly: Bool
  /// Whether the store was opened read-only: its environment takes writes when it is open for writing elsewhere in this process.
  let refusesWrites: Bool

  let parts: StoreParts
  let rowsPerIndexStep: Int
  /// Compacts the store in quiet moments; nil when that is not wanted.
  let automaticCompaction: AutomaticCompaction?
  /// By hierarchy number.
  let allocators: [PrimaryKeyAllocator]
  /// New objects for which there were no keys.
  let unkeyed: UnkeyedObjects
  private let versions: StoredVersions
  /// The newest commit when the store was opened.
  package let firstCommitNumber: UInt64

  private struct State {
    /// The newest catalogue is the last. The earlier ones stay, a few at most: readers do not count references to theirs.
    var catalogues: [StoreCatalogue]
    /// The user's part.
    var metadata: StoreMetadata
  }
  private let state: Mutex<State>
  /// The newest catalogue, for readers: kept by `state`, hence never dangling.
  private let newest: Atomic<UInt>
  private let closed = Atomic<Bool>(false)
  /// Whether the next save is to remove the files that the store has taken the place of.
  private let hasReplacedFiles: Atomic<Bool>
  /// Whether keyspaces of indexes that the store has gained are being opened.
  let isOpeningKeyspaces = Atomic<Bool>(false)

  /// Opens the store at `url`, creating it if it is missing. No `url`, or `/dev/null`, makes a store in memory; `/dev/null/Name` makes one that this process
  /// shares under that name until it is closed for the last time.
  ///
  /// - Throws: ``StorageError`` for what is wrong with the file; ``CoreDataError`` 134100 with the differing
  ///   entities when it was written with another model (rules 304, 316), 134080 for an unknown configuration.
  ///   A refused file is not changed. `.busy` when something must be written first, a keyspace or an index that the model is new to, and
  ///   another process kept the store locked for writing for `writerDeadline`: what fits already is opened while others write.
  package init(
    url: URL?, schema: Schema, configurationName: String? = nil,
    options: LMDBStoreOptions = LMDBStoreOptions()
  ) throws {
    let (memoryName, url) = (Self.memoryName(url), Self.isInMemory(url) ? nil : url)
    let opening = StoreOpening(
      url: url, memoryName: memoryName, schema: schema, configurationName: configurationName,
      options: options)
    let opened =
      if let memoryName {
        try EnvironmentRegistry.current.openings.take(memoryName) { try opening.open() }
      } else {
        try Self.takeTurn(at: url) { try opening.open() }
      }
    parts = opened.parts
    versions = opened.versions
    firstCommitNumber = opened.commitNumber
    identifier = opened.parts.identifier
    self.url = url
    self.memoryName = memoryName
    storeType = url == nil ? Self.inMemoryType : Self.type
    self.configurationName = configurationName
    isReadOnly = options.isReadOnly || options.opensAsItIs
    refusesWrites = options.isReadOnly
    rowsPerIndexStep = options.rowsPerIndexStep
    automaticCompaction =
      options.isReadOnly || options.opensAsItIs
      ? nil : options.automaticCompaction.map(AutomaticCompaction.init)
    allocators = opened.counters.map { PrimaryKeyAllocator(counter: $0) }
    unkeyed = UnkeyedObjects(giver: "The store", path: opened.parts.environment.path)
    state = Mutex(State(catalogues: [opened.catalogue], metadata: opened.metadata))
    newest = Atomic(UInt(bitPattern: Unmanaged.passUnretained(opened.catalogue).toOpaque()))
    hasReplacedFiles = Atomic(
      opened.hasReplacedFiles && !options.keepsReplacedFiles && !options.isReadOnly && !options.opensAsItIs)
    automaticCompaction?.noteCommit(of: self)
  }

  deinit { close() }

  public var metadata: StoreMetadata {
    let user = state.withLock { $0.metadata }
    return user.adding(identifier: identifier, type: storeType, versions: versions)
  }

  /// A key that was never given out before. See ``StoreEngine``.
  /// - Throws: ``StorageError`` when the hierarchy has no keys left.
  package func makePrimaryKey(hierarchy: Int) throws -> UInt64 {
    // The store keeps its allocators: nothing to count.
    try Unmanaged.passUnretained(allocators[hierarchy])._withUnsafeGuaranteedRef { allocator in
      try allocator.next { count in try reserveKeys(count, hierarchy, allocator) }
    }
  }

  /// Nil when the store cannot be written now and the allocator has been given keys that are not secured yet.
  private func reserveKeys(_ count: UInt64, _ hierarchy: Int, _ allocator: PrimaryKeyAllocator) throws
    -> Range<UInt64>?
  {
    try requireOpen()
    try requireNotReadOnly("make primary key")
    let parts = parts
    do {
      return try parts.environment.write { transaction in
        let start = max(try parts.counter(hierarchy, transaction.read), allocator.unsecuredEnd)
        let end = min(start + count, PrimaryKeyAllocator.end)
        guard end > start else {
          throw StorageError(
            .tooLarge, operation: "make primary key", path: parts.environment.path,
            detail:
              "\(parts.schema.hierarchies[hierarchy].rootName) has no primary keys left: the next one would be \(start), and they end at \(PrimaryKeyAllocator.end)."
          )
        }
        try parts.setCounter(hierarchy, end, transaction)
        return start..<end
      }
    } catch let error as StorageError where error.kind != .tooLarge && error.kind != .permission {
      // The store cannot be written now, perhaps not even read. Objects can be made all the same.
      let counter = try? parts.environment.read { try parts.counter(hierarchy, $0) }
      guard allocator.addUnsecured(after: counter) else { throw error }
      return nil
    }
  }

  /// A key with which a new object lives until it is to be saved, which fails then: there are no keys left, or they cannot be told. See ``StoreEngine``.
  package func makeProvisionalKey(hierarchy: Int, after error: any Error) -> UInt64? {
    unkeyed.makeKey(after: error) { key in
      // Rows may have such keys that came from elsewhere. What cannot be read has none.
      do {
        try requireOpen()
        return try parts.environment.read { try !parts.hasRow(key, hierarchy, $0) }
      } catch {
        return true
      }
    }
  }

  package func rowStamp(entity: Int) -> RowStamp {
    let catalogue = catalogue
    return RowStamp(
      layoutNumber: catalogue.layoutNumbers[entity], entityCode: catalogue.entityCodes[entity])
  }

  public func close() {
    if closed.exchange(true, ordering: .acquiringAndReleasing) { return }
    giveBackKeys()
    parts.environment.close()
  }

  /// Lowers the counters by what was reserved and not used, where no keys were reserved since.
  private func giveBackKeys() {
    let unused = allocators.map { $0.close().sorted { $0.lowerBound > $1.lowerBound } }
    if isReadOnly || url == nil || unused.allSatisfy(\.isEmpty) { return }
    let parts = parts
    let lower: @Sendable (borrowing WriteTransaction) throws -> Void = { transaction in
      for (hierarchy, blocks) in unused.enumerated() {
        for block in blocks where try parts.counter(hierarchy, transaction.read) == block.upperBound {
          // Rows may lie in a block that was never given out: those that a salvage brought back under their keys.
          let used = try parts.lastKey(hierarchy, transaction.read) ?? 0
          if used < block.upperBound {
            try parts.setCounter(hierarchy, max(block.lowerBound, used + 1), transaction)
          }
        }
      }
    }
    // A failure costs a few unused numbers.
    if parts.environment.isOwnThread {
      // The last reference went with a save's own job, on the thread that writes: it cannot wait for itself. What
      // is queued is done before the environment closes.
      parts.environment.submitWrite(deadline: .milliseconds(200), lower) { _ in }
    } else {
      try? parts.environment.write(deadline: .milliseconds(200), lower)
    }
  }

  /// After a save: what was kept beside the store until then goes, with the note of it. On the writer's thread, which does it after what
  /// waits already; when it fails, the next save tries again.
  func removeReplacedFiles() {
    if !hasReplacedFiles.load(ordering: .relaxed) { return }
    if !hasReplacedFiles.exchange(false, ordering: .acquiringAndReleasing) { return }
    let (environment, meta) = (parts.environment, parts.meta)
    environment.submitWrite { transaction in
      // The files first: a note of files that are gone does no harm.
      let files = try meta.replacedFiles(transaction.read)
      try environment.file.nameReplaced(files)
      try environment.file.remove(files)
      try meta.delete(MetaKeyspace.replacedKey, transaction)
    } completion: { [weak self] result in
      if case .failure = result { self?.hasReplacedFiles.store(true, ordering: .releasing) }
    }
  }

  // MARK: State

  var catalogue: StoreCatalogue { newestCatalogue.takeUnretainedValue() }

  /// The newest catalogue, without counting references.
  @inline(__always)
  var newestCatalogue: Unmanaged<StoreCatalogue> {
    // The address of an object that `state` keeps: never nil.
    let address = UnsafeRawPointer(bitPattern: newest.load(ordering: .acquiring)).unsafelyUnwrapped
    return Unmanaged.fromOpaque(address)
  }

  @inline(__always)
  func requireOpen() throws {
    if closed.load(ordering: .acquiring) { throw closedError }
  }

  /// For writes that the environment would take, which others may have open for writing.
  /// - Throws: ``StorageError`` `.permission` for a store that was opened read-only.
  func requireNotReadOnly(_ operation: String) throws {
    if refusesWrites {
      throw StorageError(
        .permission, operation: operation, path: parts.environment.path,
        detail: "The store was opened read-only.")
    }
  }

  var closedError: StorageError {
    StorageError(
      .closed, operation: "use store", path: parts.environment.path, detail: "The store has been closed.")
  }

  /// Takes over what a commit changed.
  func adopt(catalogue: StoreCatalogue?, metadata: StoreMetadata?) {
    state.withLock { state in
      if let catalogue, let last = state.catalogues.last, catalogue !== last,
        catalogue.generation >= last.generation,
        catalogue.generation > last.generation || catalogue.missingKeyspaces.isEmpty
      {
        state.catalogues.append(catalogue)
        newest.store(
          UInt(bitPattern: Unmanaged.passUnretained(catalogue).toOpaque()), ordering: .releasing)
      }
      if let metadata { state.metadata = metadata }
    }
  }

  /// Runs `body` with a reader of rows; once more, with the catalogue read again, when it meets a code that is
  /// not in it, and again while others go on changing the catalogue.
  func read<R>(_ body: (RowReader, borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      return try readOnce(body)
    } catch let unknown as UnknownCode {
      var known = catalogue.generation
      for attempt in 0..<Self.mostAttempts {
        try refreshCatalogue()
        if attempt > 0, catalogue.generation == known { break }
        known = catalogue.generation
        do { return try readOnce(body) } catch is UnknownCode {}
      }
      throw parts.damaged(unknown.detail)
    }
  }

  private static let mostAttempts = 16

  @inline(__always)
  private func readOnce<R>(_ body: (RowReader, borrowing ReadTransaction) throws -> R) throws -> R {
    try requireOpen()
    let catalogue = catalogue
    return try parts.environment.read { try body(RowReader(parts: parts, catalogue: catalogue), $0) }
  }

  @inline(never)
  private func refreshCatalogue() throws {
    let fresh = try parts.environment.read { try parts.readCatalogue($0) }
    adopt(catalogue: fresh, metadata: nil)
    openLater(fresh.missingKeyspaces)
  }
}
