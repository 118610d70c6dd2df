import CLMDBShim
import Foundation
import TortureKit

/// An LMDB file written with the C library alone, as another program would: any flags, any contents.
///
/// One environment per file at a time; used by one thread.
final class RawStore {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let path: String
  private let environment: OpaquePointer

  /// Opens or makes the file. Nothing is flushed.
  init(_ path: String, mapSize: Int = 1 << 28) throws {
    self.path = path
    var handle: OpaquePointer?
    try RawStore.check(mdb_env_create(&handle), "mdb_env_create")
    guard let handle else { throw Failure(description: "mdb_env_create gave nothing") }
    environment = handle
    mdb_env_set_mapsize(handle, mapSize)
    mdb_env_set_maxdbs(handle, 64)
    let flags = UInt32(MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS)
    try RawStore.check(mdb_env_open(handle, path, flags, 0o600), "mdb_env_open")
  }

  deinit { mdb_env_close(environment) }

  /// One transaction.
  func write(_ body: (OpaquePointer) throws -> Void) throws {
    var transaction: OpaquePointer?
    try RawStore.check(mdb_txn_begin(environment, nil, 0, &transaction), "mdb_txn_begin")
    guard let transaction else { throw Failure(description: "mdb_txn_begin gave nothing") }
    do {
      try body(transaction)
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try RawStore.check(mdb_txn_commit(transaction), "mdb_txn_commit")
  }

  /// A view that keeps old pages from being used again, until `release`.
  func pin() throws -> OpaquePointer? {
    var transaction: OpaquePointer?
    try RawStore.check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction), "mdb_txn_begin")
    return transaction
  }

  func release(_ pin: OpaquePointer?) { if let pin { mdb_txn_abort(pin) } }

  /// False when LMDB refuses: it cannot compact every file it made.
  func copy(to path: String, compacting: Bool) throws -> Bool {
    let code = mdb_env_copy2(environment, path, compacting ? UInt32(MDB_CP_COMPACT) : 0)
    if code == MDB_INCOMPATIBLE { return false }
    try RawStore.check(code, "mdb_env_copy2")
    return true
  }

  static func keyspace(_ name: String?, _ flags: Int32, _ transaction: OpaquePointer) throws -> MDB_dbi {
    var handle: MDB_dbi = 0
    try check(
      mdb_dbi_open(transaction, name, UInt32(bitPattern: flags | MDB_CREATE), &handle), "mdb_dbi_open")
    return handle
  }

  static func put(
    _ transaction: OpaquePointer, _ keyspace: MDB_dbi, _ key: [UInt8], _ value: [UInt8]
  ) throws {
    var key = key
    var value = value
    try key.withUnsafeMutableBytes { key in
      try value.withUnsafeMutableBytes { value in
        var keyValue = MDB_val(mv_size: key.count, mv_data: key.baseAddress)
        var dataValue = MDB_val(mv_size: value.count, mv_data: value.baseAddress)
        let code = mdb_put(transaction, keyspace, &keyValue, &dataValue, 0)
        if code != MDB_KEYEXIST { try check(code, "mdb_put") }
      }
    }
  }

  /// Deletes an entry that is there.
  static func delete(_ transaction: OpaquePointer, _ keyspace: MDB_dbi, _ key: [UInt8]) throws {
    var key = key
    try key.withUnsafeMutableBytes { key in
      var keyValue = MDB_val(mv_size: key.count, mv_data: key.baseAddress)
      try check(mdb_del(transaction, keyspace, &keyValue, nil), "mdb_del")
    }
  }

  /// Deletes about `share` of a hundred of the entries, or everything at once.
  static func delete(
    _ transaction: OpaquePointer, _ keyspace: MDB_dbi, share: Int, _ random: inout SeededGenerator
  ) throws {
    if share >= 100 { return try check(mdb_drop(transaction, keyspace, 0), "mdb_drop") }
    var cursor: OpaquePointer?
    try check(mdb_cursor_open(transaction, keyspace, &cursor), "mdb_cursor_open")
    defer { mdb_cursor_close(cursor) }
    var key = MDB_val()
    var value = MDB_val()
    while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 {
      if random.chance(share) { try check(mdb_cursor_del(cursor, 0), "mdb_cursor_del") }
    }
  }

  static func check(_ code: Int32, _ call: String) throws {
    if code != 0 { throw Failure(description: "\(call): \(String(cString: mdb_strerror(code)))") }
  }
}

extension SeededGenerator {
  /// Random bytes, quickly.
  mutating func bytes(_ count: Int) -> [UInt8] {
    var word = next()
    return (0..<count).map { place in
      if place & 7 == 0 { word = next() }
      return UInt8(truncatingIfNeeded: word >> UInt64(8 * (place & 7)))
    }
  }
}
