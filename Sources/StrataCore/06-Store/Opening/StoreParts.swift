import CLMDBShim
import Foundation
import Synchronization

/// What an open store consists of: the environment, its keyspaces, the schema. Immutable, shared by reads and
/// commits on any thread.
final class StoreParts: Sendable {
  let identifier: UUID
  let schema: Schema
  let environment: Environment
  let meta: MetaKeyspace
  /// Values that are too large for rows. Nil only in a read-only store that has none.
  let large: Keyspace?
  /// The members of relationships, see `EdgeKey`. Nil only in a read-only store that has none.
  let edges: Keyspace?
  /// Which rows the last commits have changed. Nil only in a read-only store that has none.
  let journal: JournalKeyspace?
  let journalLimits: JournalFormat.Limits
  /// What recording a history takes besides its keyspace, which the catalogue has.
  let history: HistoryKeeping
  /// Names this store object in the journal.
  let writer = UInt64.random(in: 0 ... .max)
  /// By hierarchy number; nil for hierarchies the configuration leaves out.
  let rows: [Keyspace?]
  /// By number, of the schema's indexes; nil for those of entities the configuration leaves out.
  let indexes: [Keyspace?]
  /// By entity number: whether the store's configuration holds the entity.
  let held: [Bool]
  let verifiesChecksums: Bool
  /// Whether a store that is of another version of the model by now is not written to.
  let comparesVersions: Bool
  /// The handles of `rows`; nil for hierarchies the configuration leaves out.
  let rowHandles: ContiguousArray<MDB_dbi?>
  private let layouts: LayoutTable
  private let nonces = Atomic<UInt64>(.random(in: 0 ... .max))
  /// Whether nothing is to be saved any more, since the store is being moved to another file.
  private let isSealed = Atomic<Bool>(false)

  init(
    identifier: UUID, schema: Schema, environment: Environment, meta: MetaKeyspace, large: Keyspace?,
    edges: Keyspace?, journal: Keyspace?, journalLimits: JournalFormat.Limits, history: HistoryKeeping,
    rows: [Keyspace?], indexes: [Keyspace?], held: [Bool], verifiesChecksums: Bool, comparesVersions: Bool
  ) {
    self.history = history
    self.identifier = identifier
    self.schema = schema
    self.environment = environment
    self.meta = meta
    self.large = large
    self.edges = edges
    self.journal = journal.map { JournalKeyspace(keyspace: $0, limits: journalLimits) }
    self.journalLimits = journalLimits
    self.rows = rows
    self.indexes = indexes
    self.held = held
    self.verifiesChecksums = verifiesChecksums
    self.comparesVersions = comparesVersions
    rowHandles = ContiguousArray(rows.map { $0?.handle })
    layouts = LayoutTable(schema)
  }

  /// Records for other processes which rows a transaction changes.
  func makeRecorder() -> JournalRecorder? {
    journal.map { JournalRecorder(writer: writer, limits: $0.limits) }
  }

  /// Has saves fail from now on, or no longer.
  func seal(_ isSealed: Bool) { self.isSealed.store(isSealed, ordering: .releasing) }

  /// - Throws: ``StorageError`` of kind `closed` while the store is being moved to another file.
  func requireUnsealed() throws {
    guard isSealed.load(ordering: .acquiring) else { return }
    throw StorageError(
      .closed, operation: "commit", path: environment.path,
      detail: "The store is being moved to another file.")
  }

  /// A number that tells an attempt to commit from every other, of this process and of others: counted from a random one on.
  func nextNonce() -> UInt64 { nonces.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Writes the stamp of commit `number`.
  func putStamp(_ number: UInt64, nonce: UInt64, _ transaction: borrowing WriteTransaction) throws {
    try withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { bytes in
      bytes.storeBytes(of: identifier.uuid, as: uuid_t.self)
      bytes.storeBytes(of: number.littleEndian, toByteOffset: 16, as: UInt64.self)
      bytes.storeBytes(of: nonce, toByteOffset: 24, as: UInt64.self)
      try meta.put("stamp", bytes: UnsafeRawBufferPointer(bytes), transaction)
    }
  }

  /// The catalogue as a transaction sees it, for this transaction when it writes, and for later ones. For one that reads, `open` are
  /// the keyspaces that were open before it began.
  func readCatalogue(_ transaction: borrowing ReadTransaction, open: [Keyspace]? = nil) throws
    -> StoreCatalogue
  {
    try StoreCatalogue(self, layouts: layouts, open: open ?? openKeyspaces, transaction)
  }

  /// The keyspaces that transactions know which begin from now on.
  var openKeyspaces: [Keyspace] { environment.lock.withLock { environment.openKeyspaces } }

  /// The smallest primary key of a hierarchy that was never reserved.
  func counter(_ hierarchy: Int, _ transaction: borrowing ReadTransaction) throws -> UInt64 {
    let key = "counter/" + schema.hierarchies[hierarchy].rootName
    return try meta.number(key, UInt64.self, transaction) ?? 1
  }

  func setCounter(_ hierarchy: Int, _ value: UInt64, _ transaction: borrowing WriteTransaction) throws {
    try meta.put("counter/" + schema.hierarchies[hierarchy].rootName, number: value, transaction)
  }

  /// The largest key of a row; nil when there is none.
  func lastKey(_ hierarchy: Int, _ transaction: borrowing ReadTransaction) throws -> UInt64? {
    guard let rows = rows[hierarchy] else { return nil }
    return try transaction.withCursor(rows) { try $0.last().flatMap { PrimaryKeyBytes.whole($0.key) } }
  }

  /// Whether there is a row under a key.
  func hasRow(
    _ key: UInt64, _ hierarchy: Int, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard let rows = rows[hierarchy] else { return false }
    return try PrimaryKeyBytes.with(key) { try transaction.get(rows, $0) } != nil
  }

  /// The bytes of a large value; nil when there are none under this version.
  func largeValue(
    _ key: LargeValueKey, _ transaction: borrowing ReadTransaction
  ) throws -> UnsafeRawBufferPointer? {
    guard let large else { return nil }
    return try key.withBytes { try transaction.get(large, $0) }
  }

  func damaged(_ detail: String) -> StorageError {
    StorageError(.damaged, operation: "read row", path: environment.path, detail: detail)
  }

  /// The error for members of a relationship that cannot be read.
  func damaged(membersOf prefix: UInt64) -> StorageError {
    damaged("The members of p\(EdgeKey.owner(prefix)) are damaged.")
  }
}

/// The row layouts of one open store by signature, each made once: a layout's memory is never given back.
final class LayoutTable: Sendable {
  private let layouts: Mutex<[String: RowLayout]>

  /// Begins with the layouts that the schema has anyway.
  init(_ schema: Schema) {
    layouts = Mutex(
      Dictionary(
        schema.entities.map { ($0.layout.signature, $0.layout) }, uniquingKeysWith: { first, _ in first }))
  }

  /// - Throws: ``ModelError`` for text that is no signature.
  func layout(signature: String) throws -> RowLayout {
    try layouts.withLock { layouts in
      if let known = layouts[signature] { return known }
      let layout = try RowLayout(signature: signature)
      layouts[signature] = layout
      return layout
    }
  }
}

/// The key of a large value:
///
/// ```
///   0  u16  code of the hierarchy      big-endian, all of them
///   2  u64  primary key
///  10  u16  code of the attribute's name
///  12  u32  version of the value
/// ```
struct LargeValueKey: Sendable, Hashable {
  static let length = 16

  var hierarchyCode: UInt16
  var primaryKey: UInt64
  var attributeCode: UInt16
  var version: UInt32

  init(hierarchyCode: UInt16, primaryKey: UInt64, attributeCode: UInt16, version: UInt32) {
    self.hierarchyCode = hierarchyCode
    self.primaryKey = primaryKey
    self.attributeCode = attributeCode
    self.version = version
  }

  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.length else { return nil }
    hierarchyCode = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt16.self))
    primaryKey = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
    attributeCode = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self))
    version = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
  }

  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withUnsafeTemporaryAllocation(byteCount: Self.length, alignment: 8) { bytes in
      bytes.storeBytes(of: hierarchyCode.bigEndian, toByteOffset: 0, as: UInt16.self)
      bytes.storeBytes(of: primaryKey.bigEndian, toByteOffset: 2, as: UInt64.self)
      bytes.storeBytes(of: attributeCode.bigEndian, toByteOffset: 10, as: UInt16.self)
      bytes.storeBytes(of: version.bigEndian, toByteOffset: 12, as: UInt32.self)
      return try body(UnsafeRawBufferPointer(bytes))
    }
  }
}

extension StoreMetadata {
  /// How deep the values of metadata may be nested.
  static let depthLimit = 32

  /// Metadata as a store keeps it.
  init(encoded: Data) throws { values = try BoundedJSON.decode([String: MetadataValue].self, from: encoded) }

  /// The user's part as a store keeps it.
  ///
  /// - Throws: ``StorageError`` of kind `tooLarge` when values are nested so deeply that they could not be read again.
  func encoded(path: String) throws -> Data {
    let own = withoutStandardKeys
    guard own.values.values.allSatisfy({ $0.isNested(atMost: Self.depthLimit) }) else {
      throw StorageError(
        .tooLarge, operation: "write metadata", path: path,
        detail: "The metadata is nested more than \(Self.depthLimit) levels deep.")
    }
    return try JSONEncoder.sorted.encode(own.values)
  }

  /// The user's part.
  package var withoutStandardKeys: StoreMetadata {
    StoreMetadata(values: values.filter { !Self.standardKeys.contains($0.key) })
  }
}

extension JSONEncoder {
  /// An encoder whose bytes do not depend on the order of dictionaries.
  static var sorted: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}
