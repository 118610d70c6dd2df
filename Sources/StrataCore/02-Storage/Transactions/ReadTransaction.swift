import CLMDBShim
import Foundation

/// An unchanging view of the whole environment, for the length of one closure.
///
/// It cannot be copied or kept. Bytes that it returns lie in the memory map and are valid inside the closure
/// that received the transaction, and no longer; what is needed afterwards must be copied out.
struct ReadTransaction: ~Copyable {
  /// LMDB's transaction.
  let handle: OpaquePointer

  /// The number of the commit that this view shows.
  ///
  /// The corresponding LMDB function is `mdb_txn_id`. Compaction starts these numbers again: they must not
  /// leave the process.
  var id: Int { mdb_txn_id(handle) }

  /// The value stored under `key`, or nil. No copy; one descent of the tree.
  ///
  /// The corresponding LMDB function is `mdb_get`.
  /// - Throws: `StorageError` `.invalid` for a key that is empty or longer than 511 bytes; `.damaged`.
  @inline(__always)
  func get(_ keyspace: Keyspace, _ key: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
    try get(keyspace.handle, key)
  }

  /// The same by the keyspace's handle, which is nothing to count references of.
  @inline(__always)
  func get(_ keyspace: MDB_dbi, _ key: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
    var keyValue = MDB_val(key)
    var value = MDB_val()
    let code = mdb_get(handle, keyspace, &keyValue, &value)
    if code == 0 { return UnsafeRawBufferPointer(value) }
    if code == MDB_NOTFOUND { return nil }
    throw failure(code, "mdb_get")
  }

  /// Walks `keyspace` with a cursor that is closed when `body` returns. Opening one allocates once.
  ///
  /// The corresponding LMDB functions are `mdb_cursor_open` and `mdb_cursor_close`.
  func withCursor<R>(_ keyspace: Keyspace, _ body: (inout Cursor) throws -> R) throws -> R {
    var pointer: OpaquePointer?
    let code = mdb_cursor_open(handle, keyspace.handle, &pointer)
    guard code == 0, let pointer else { throw failure(code, "mdb_cursor_open") }
    var cursor = Cursor(handle: pointer, firstFailure: nil)
    return try body(&cursor)
  }

  /// Calls `body` with every entry of `keyspace`, in order.
  func forEach(in keyspace: Keyspace, _ body: (Cursor.Entry) throws -> Void) throws {
    try withCursor(keyspace) { cursor in
      var entry = try cursor.first()
      while let found = entry {
        try body(found)
        entry = try cursor.next()
      }
    }
  }

  /// How many entries `keyspace` holds. Constant time.
  func entryCount(_ keyspace: Keyspace) throws -> Int { try statistics(keyspace).ms_entries }

  /// LMDB's own account of `keyspace`.
  func statistics(_ keyspace: Keyspace) throws -> MDB_stat {
    var statistics = MDB_stat()
    let code = mdb_stat(handle, keyspace.handle, &statistics)
    guard code == 0 else { throw failure(code, "mdb_stat") }
    return statistics
  }

  @inline(never)
  private func failure(_ code: Int32, _ operation: String) -> StorageError {
    StorageError(code, operation, transaction: handle)
  }
}

extension MDB_val {
  /// Describes `bytes` to LMDB, which reads and never writes through it.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes that LMDB described.
  @inline(__always)
  init(_ value: MDB_val) {
    self.init(start: value.mv_data, count: value.mv_size)
  }
}
