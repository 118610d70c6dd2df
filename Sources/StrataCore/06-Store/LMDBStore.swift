import Foundation

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
  /// Whether the store may lie on a network file system.
  public var allowsNetworkFileSystem = false
  /// Whether the checksum of every row read is compared; without, it is only checked by ``StoreCheck``.
  public var verifiesChecksums = false
  /// How long a save waits for another process's.
  public var writerDeadline = Duration.seconds(30)

  /// The defaults.
  public init() {}
}

public final class LMDBStore: PersistentStore {
  /// The type of stores in a file.
  public static let type = "LMDB"
  /// The type of stores in memory.
  public static let inMemoryType = "InMemory"

  public let identifier: UUID
  public let url: URL?
  public let storeType: String
  public let configurationName: String?
  public let isReadOnly: Bool

  /// Opens the store at `url`, creating it if it is missing. A nil `url` makes a store in memory.
  public init(
    url: URL?, schema: Schema, configurationName: String? = nil, options: LMDBStoreOptions = LMDBStoreOptions()
  ) throws {
    trap("not written yet")
  }

  public var metadata: StoreMetadata { trap("not written yet") }
  public func makePrimaryKey(hierarchy: Int) throws -> UInt64 { trap("not written yet") }
  public func rowStamp(entity: Int) -> RowStamp { trap("not written yet") }
  public func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    trap("not written yet")
  }
  public func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] { trap("not written yet") }
  public func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? { trap("not written yet") }
  public func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    trap("not written yet")
  }
  public func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) { trap("not written yet") }
  public func close() { trap("not written yet") }

  /// The metadata of the store at `url`, without a model.
  public static func metadata(at url: URL) throws -> StoreMetadata { trap("not written yet") }
  /// Replaces the user's metadata of the closed store at `url` at once (rule 148).
  public static func setMetadata(_ metadata: StoreMetadata, at url: URL) throws { trap("not written yet") }
  /// The model the store at `url` was written with.
  public static func model(at url: URL) throws -> ManagedObjectModel { trap("not written yet") }
  /// Deletes the closed store at `url` and its lock file (rule 329).
  public static func destroy(at url: URL) throws { trap("not written yet") }
  /// Puts the store at `source` in the place of that at `url`.
  public static func replace(at url: URL, with source: URL) throws { trap("not written yet") }

  /// Writes a copy of the store as of now to `url` while it is in use.
  public func backup(to url: URL) throws { trap("not written yet") }
  /// Figures about the file.
  public func statistics() throws -> EnvironmentStatistics { trap("not written yet") }
  /// Proves that rows, indexes and large values agree.
  public func check() throws -> StoreCheck { trap("not written yet") }
  /// All keyspaces as sorted text, for tests.
  func textDump() throws -> String { trap("not written yet") }
}
