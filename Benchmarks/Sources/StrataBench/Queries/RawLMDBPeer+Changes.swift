import CLMDBShim
import Foundation

/// What a durable change of a tenth of the rows costs LMDB itself: finding the rows by an index, changing them through one
/// cursor, committing. No objects, no versions, no conflicts, no encoding.
extension RawLMDBPeer {
  /// Adds one to the delay of the flights whose location lies below `location`; how many there are.
  func updateDelays(below location: String) throws -> Int {
    try write { transaction in
      let entries = try self.entries(below: location, transaction)
      try withCursor(rows, transaction) { cursor in
        for key in entries.map(\.key).sorted() {
          try withKey(key) { wanted in
            var (mdbKey, value) = (wanted, MDB_val())
            try check(mdb_cursor_get(cursor, &mdbKey, &value, MDB_SET_KEY), "mdb_cursor_get")
            var row = Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
            try row.withUnsafeMutableBytes { row in
              let delay = row.loadUnaligned(fromByteOffset: 16, as: Double.self)
              row.storeBytes(of: delay + 1, toByteOffset: 16, as: Double.self)
              var new = MDB_val(mv_size: row.count, mv_data: row.baseAddress)
              var sameKey = wanted
              try check(mdb_cursor_put(cursor, &sameKey, &new, 0), "mdb_cursor_put")
            }
          }
        }
      }
      return entries.count
    }
  }

  /// Deletes these flights, and their entries in both indexes.
  func delete(below location: String) throws -> Int {
    try write { transaction in
      let entries = try self.entries(below: location, transaction)
      var departures: [IndexEntry] = []
      try withCursor(rows, transaction) { cursor in
        for key in entries.map(\.key).sorted() {
          try withKey(key) {
            var (mdbKey, value) = ($0, MDB_val())
            try check(mdb_cursor_get(cursor, &mdbKey, &value, MDB_SET_KEY), "mdb_cursor_get")
            let seconds = UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size)
              .loadUnaligned(fromByteOffset: 32, as: Double.self)
            departures.append(
              IndexEntry(value: ordered(Date(timeIntervalSinceReferenceDate: seconds)), key: key))
            try check(mdb_cursor_del(cursor, 0), "mdb_cursor_del")
          }
        }
      }
      departures.sort { ($0.value, $0.key) < ($1.value, $1.key) }
      for (index, entries) in [(byLocation, entries), (byDeparture, departures)] {
        try withCursor(index, transaction) { cursor in
          for entry in entries {
            var bytes = (entry.value.bigEndian, entry.key.bigEndian)
            try withUnsafeMutableBytes(of: &bytes) {
              var (key, value) = (MDB_val(mv_size: 16, mv_data: $0.baseAddress), MDB_val())
              try check(mdb_cursor_get(cursor, &key, &value, MDB_SET_KEY), "mdb_cursor_get")
            }
            try check(mdb_cursor_del(cursor, 0), "mdb_cursor_del")
          }
        }
      }
      return entries.count
    }
  }

  /// The entries of the index of locations, in its order.
  private func entries(below location: String, _ transaction: OpaquePointer) throws -> [IndexEntry] {
    let end = prefix(of: location)
    var entries: [IndexEntry] = []
    try withCursor(byLocation, transaction) { cursor in
      var (key, value) = (MDB_val(), MDB_val())
      var status = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
      while status == MDB_SUCCESS {
        let bytes = UnsafeRawBufferPointer(start: key.mv_data, count: key.mv_size)
        let found = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        if found >= end { return }
        entries.append(
          IndexEntry(
            value: found, key: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))))
        status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
      }
      if status != MDB_NOTFOUND { try check(status, "mdb_cursor_get") }
    }
    return entries
  }

  private func write<R>(_ body: (OpaquePointer) throws -> R) throws -> R {
    let transaction = try begin(flags: 0)
    let result: R
    do {
      result = try body(transaction)
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try check(mdb_txn_commit(transaction), "mdb_txn_commit")
    return result
  }

  private func withCursor(
    _ keyspace: MDB_dbi, _ transaction: OpaquePointer, _ body: (OpaquePointer) throws -> Void
  ) throws {
    var cursor: OpaquePointer?
    try check(mdb_cursor_open(transaction, keyspace, &cursor), "mdb_cursor_open")
    guard let cursor else { throw BenchmarkError("mdb_cursor_open gave no cursor") }
    defer { mdb_cursor_close(cursor) }
    try body(cursor)
  }

  private func withKey(_ key: UInt64, _ body: (MDB_val) throws -> Void) rethrows {
    var bigEndian = key.bigEndian
    try withUnsafeMutableBytes(of: &bigEndian) {
      try body(MDB_val(mv_size: 8, mv_data: $0.baseAddress))
    }
  }
}
