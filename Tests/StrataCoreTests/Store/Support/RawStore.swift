import CLMDBShim
import Foundation

/// What lies in a closed store's file, read with LMDB's own functions and nothing of Strata.
struct RawStore {
  struct Failure: Error {
    let call: String
    let code: Int32
  }

  /// One named database: its flags, and its entries in key order.
  struct Keyspace {
    var flags: UInt32
    var entries: [(key: [UInt8], value: [UInt8])]
  }

  private(set) var keyspaces: [String: Keyspace] = [:]

  init(_ url: URL) throws {
    var environment: OpaquePointer?
    try Self.check("mdb_env_create", mdb_env_create(&environment))
    defer { mdb_env_close(environment) }
    try Self.check("mdb_env_set_maxdbs", mdb_env_set_maxdbs(environment, 64))
    try Self.check(
      "mdb_env_open", mdb_env_open(environment, url.path, UInt32(MDB_NOSUBDIR) | UInt32(MDB_RDONLY), 0))
    var transaction: OpaquePointer?
    try Self.check("mdb_txn_begin", mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction))
    defer { mdb_txn_abort(transaction) }
    let unnamed = try Self.keyspace(nil, transaction)
    for (name, _) in unnamed.entries {
      let name = String(decoding: name, as: UTF8.self)
      keyspaces[name] = try Self.keyspace(name, transaction)
    }
  }

  private static func keyspace(_ name: String?, _ transaction: OpaquePointer?) throws -> Keyspace {
    var handle: MDB_dbi = 0
    try check("mdb_dbi_open", mdb_dbi_open(transaction, name, 0, &handle))
    var result = Keyspace(flags: 0, entries: [])
    try check("mdb_dbi_flags", mdb_dbi_flags(transaction, handle, &result.flags))
    var cursor: OpaquePointer?
    try check("mdb_cursor_open", mdb_cursor_open(transaction, handle, &cursor))
    defer { mdb_cursor_close(cursor) }
    var (key, value) = (MDB_val(), MDB_val())
    while true {
      let code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
      if code == MDB_NOTFOUND { return result }
      try check("mdb_cursor_get", code)
      result.entries.append((bytes(key), bytes(value)))
    }
  }

  private static func bytes(_ value: MDB_val) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
  }

  private static func check(_ call: String, _ code: Int32) throws {
    if code != MDB_SUCCESS { throw Failure(call: call, code: code) }
  }
}
