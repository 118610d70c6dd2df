import Foundation

/// The keyspace "meta": what a store knows about itself.
///
/// ```
///   key                    value
///   format                 u32            1; 2 when the store may have a log; 3 when it may have that and rows of earlier layouts
///   identity               16 bytes       the store's UUID
///   stamp                  32 bytes       the UUID again, the commit number (u64), 8 random bytes
///   generation             u64            raised whenever one of the codes, layouts or indexes changes
///   metadata               JSON           the user's metadata
///   versions               JSON           entity version hashes and model version identifiers
///   model                  JSON           the whole model
///   model-digest           u8, u64, u64   what is seen of it without reading it (ModelDigest)
///   counter/<root>         u64            the smallest primary key never reserved
///   hierarchy/<root>       u16            code of a hierarchy, used in the keyspace "large"
///   entity/<name>          u16            code of an entity, used in rows
///   attribute/<name>       u16            code of an attribute name, used in "large" and in the history
///   relationship/<name>    u16            code of a relationship (`Entity.name`), used in "edges"; at most 0x3FFF
///   layout/<u16, 5 digits> bytes          signature of a row layout
///   fill/<u16, 5 digits>   bytes          by entity code: what rows of earlier layouts show where they lack a slot (RowFill)
///   index/<name>           text           signature of an index that is complete, or how far it is
///   added/<name>           JSON           an index that was added to the store
///   lineage                JSON           checksums of the versions of its model that the store was of before
///   replaced               JSON           the files that a migration has kept beside the store until the next save
///   history                u64            the newest commit that is not in the history; there while the store records one
///   history-mark           u64            what tells that commit from one of the same number in another copy of the store
///   consumer/<name>        u64, f64       a reader of the history, up to which commit, and when
///   recode/<commit>/<code> u16 pairs      what attributes are called in the history up to a commit (HistoryRecoding)
/// ```
///
/// Numbers are little-endian. Codes of entities and attributes that are gone, and that only the history uses, have the character 1 and their number as names.
struct MetaKeyspace: Sendable {
  static let name = "meta"
  /// The format of stores that never had a log.
  static let plainFormat: UInt32 = 1
  /// That of stores that may have one: versions that know nothing of logs refuse it.
  static let loggedFormat: UInt32 = 2
  /// That of stores that may have rows of earlier layouts, whose entity has a ``RowFill``: versions that know nothing of them refuse it.
  static let filledFormat: UInt32 = 3

  let keyspace: Keyspace

  /// A number in a key of so many digits: keys are in the order of the numbers.
  static func digits(_ number: some BinaryInteger, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: count - text.count) + text
  }

  func bytes(_ key: String, _ transaction: borrowing ReadTransaction) throws -> UnsafeRawBufferPointer? {
    var key = key
    return try key.withUTF8 { try transaction.get(keyspace, UnsafeRawBufferPointer($0)) }
  }

  func data(_ key: String, _ transaction: borrowing ReadTransaction) throws -> Data? {
    try bytes(key, transaction).map { Data($0) }
  }

  /// A little-endian number; nil when it is missing or of another length.
  func number<N: FixedWidthInteger>(
    _ key: String, _ type: N.Type, _ transaction: borrowing ReadTransaction
  ) throws -> N? {
    guard let bytes = try bytes(key, transaction), bytes.count == MemoryLayout<N>.size else { return nil }
    return N(littleEndian: bytes.loadUnaligned(as: N.self))
  }

  func put(_ key: String, _ value: some Sequence<UInt8>, _ transaction: borrowing WriteTransaction) throws {
    try Array(value).withUnsafeBytes { try put(key, bytes: $0, transaction) }
  }

  func put(_ key: String, bytes: UnsafeRawBufferPointer, _ transaction: borrowing WriteTransaction) throws {
    var key = key
    try key.withUTF8 { try transaction.put(keyspace, UnsafeRawBufferPointer($0), bytes) }
  }

  func put<N: FixedWidthInteger>(
    _ key: String, number: N, _ transaction: borrowing WriteTransaction
  ) throws {
    var key = key
    try key.withUTF8 { key in
      try withUnsafeBytes(of: number.littleEndian) {
        try transaction.put(keyspace, UnsafeRawBufferPointer(key), $0)
      }
    }
  }

  func delete(_ key: String, _ transaction: borrowing WriteTransaction) throws {
    var key = key
    _ = try key.withUTF8 { try transaction.delete(keyspace, UnsafeRawBufferPointer($0)) }
  }

  /// The rest of every key that begins with `prefix`, with its value, in key order.
  func entries(
    _ prefix: String, _ transaction: borrowing ReadTransaction
  ) throws -> [(name: String, value: [UInt8])] {
    var result: [(name: String, value: [UInt8])] = []
    let start = Array(prefix.utf8)
    try transaction.withCursor(keyspace) { cursor in
      var entry = try start.withUnsafeBytes { try cursor.seek(atLeast: $0) }
      while let found = entry, found.key.starts(with: start) {
        result.append((String(decoding: found.key.dropFirst(start.count), as: UTF8.self), Array(found.value)))
        entry = try cursor.next()
      }
    }
    return result
  }

  /// The numbers under every key that begins with `prefix`. Entries of another length are left out.
  func codes(_ prefix: String, _ transaction: borrowing ReadTransaction) throws -> [String: UInt16] {
    var result: [String: UInt16] = [:]
    for (name, value) in try entries(prefix, transaction) where value.count == 2 {
      result[name] = UInt16(value[0]) | UInt16(value[1]) << 8
    }
    return result
  }
}

/// A store's stamp: which store it is and how often it was committed.
struct CommitStamp: Sendable, Hashable {
  /// Numbers of commits and generations are below this: none is ever so large, unless somebody has chosen the bytes. The next one is always a number.
  static let limit: UInt64 = 1 << 62

  var identifier: UUID
  var commitNumber: UInt64

  init(identifier: UUID, commitNumber: UInt64) {
    self.identifier = identifier
    self.commitNumber = commitNumber
  }

  init?(_ bytes: UnsafeRawBufferPointer?) {
    guard let bytes, bytes.count == 32 else { return nil }
    identifier = UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    commitNumber = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
  }

  var bytes: [UInt8] {
    withUnsafeBytes(of: identifier.uuid) { Array($0) }
      + withUnsafeBytes(of: commitNumber.littleEndian) { Array($0) }
  }
}

/// The hashes of the entities a store's rows were written with.
struct StoredVersions: Codable, Sendable, Hashable {
  var hashes: [String: Data]
  var identifiers: [String]
}
