import Foundation

/// Which versions of its model a store was of before the one it is of now: their checksums, the oldest first, each once. A migration
/// adds the version that it was of. So a store that was never migrated keeps none, and one that was written before stores
/// kept any begins with the version it is of.
struct StoreLineage: Sendable, Hashable {
  /// The key in the keyspace "meta".
  static let key = "lineage"
  /// Beyond that the oldest are forgotten.
  static let most = 1_000

  private(set) var checksums: [String] = []

  init() {}

  /// - Throws: for bytes that are no list of texts.
  init(encoded: Data) throws { checksums = try BoundedJSON.decode([String].self, from: encoded) }

  func encoded() throws -> Data { try JSONEncoder.sorted.encode(checksums) }

  /// Notes a version. Those that are known stay where they are.
  mutating func add(_ versions: StoredVersions) { add(versions.checksum) }

  mutating func add(_ other: StoreLineage) { for checksum in other.checksums { add(checksum) } }

  private mutating func add(_ checksum: String) {
    if checksums.contains(checksum) { return }
    checksums.append(checksum)
    if checksums.count > Self.most { checksums.removeFirst(checksums.count - Self.most) }
  }

  func contains(_ versions: StoredVersions) -> Bool { checksums.contains(versions.checksum) }
}

extension StoredVersions {
  /// The checksum of the model that the entities make up.
  var checksum: String { VersionHash.checksum(of: hashes) }
}

extension MetaKeyspace {
  /// The files that this store has taken the place of and that still lie beside it.
  static let replacedKey = "replaced"

  func lineage(_ transaction: borrowing ReadTransaction) throws -> StoreLineage {
    guard let data = try data(StoreLineage.key, transaction) else { return StoreLineage() }
    return try StoreLineage(encoded: data)
  }

  func put(_ lineage: StoreLineage, _ transaction: borrowing WriteTransaction) throws {
    if lineage.checksums.isEmpty { return }
    try put(StoreLineage.key, lineage.encoded(), transaction)
  }

  func replacedFiles(_ transaction: borrowing ReadTransaction) throws -> [ReplacedFile] {
    guard let data = try data(Self.replacedKey, transaction) else { return [] }
    return try BoundedJSON.decode([ReplacedFile].self, from: data)
  }

  func put(_ files: [ReplacedFile], _ transaction: borrowing WriteTransaction) throws {
    if files.isEmpty { return }
    try put(Self.replacedKey, JSONEncoder.sorted.encode(files), transaction)
  }
}
