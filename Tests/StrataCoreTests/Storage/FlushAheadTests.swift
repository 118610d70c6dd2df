import CLMDBShim
import Foundation
import Testing

@testable import StrataCore

/// Large commits, of which the system writes the first pages while LMDB hands it the others.
@Suite struct FlushAheadTests {
  /// Through LMDB itself: each commit flushes ahead, however small, and the environment is closed right behind the last one.
  @Test func commitsThatFlushAheadAreThere() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("flush-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let pages = 1_000
    for round in 0..<10 {
      let environment = try open(folder)
      defer { mdb_env_close(environment) }
      for commit in 0..<5 {
        try write(Data(repeating: UInt8(round * 5 + commit), count: 3_000), count: pages, in: environment)
      }
    }
    let environment = try open(folder)
    defer { mdb_env_close(environment) }
    try write(nil, count: pages, in: environment) { #expect($0 == Data(repeating: 49, count: 3_000)) }
  }

  private func open(_ folder: URL) throws -> OpaquePointer {
    var environment: OpaquePointer?
    try #require(mdb_env_create(&environment) == 0)
    let opened = try #require(environment)
    try #require(mdb_env_set_mapsize(opened, 1 << 28) == 0)
    try #require(mdb_env_open(opened, folder.path, 0, 0o600) == 0)
    return opened
  }

  /// Puts `value` under each of `count` keys and commits, or hands each value to `body`.
  private func write(
    _ value: Data?, count: Int, in environment: OpaquePointer, _ body: (Data) -> Void = { _ in }
  ) throws {
    var begun: OpaquePointer?
    try #require(mdb_txn_begin(environment, nil, 0, &begun) == 0)
    let transaction = try #require(begun)
    var keyspace: MDB_dbi = 0
    try #require(mdb_dbi_open(transaction, nil, 0, &keyspace) == 0)
    for number in 0..<count {
      try withUnsafeBytes(of: UInt64(number).bigEndian) { key in
        var mdbKey = MDB_val(key)
        guard let value else {
          var found = MDB_val()
          try #require(mdb_get(transaction, keyspace, &mdbKey, &found) == 0)
          return body(Data(UnsafeRawBufferPointer(found)))
        }
        try value.withUnsafeBytes {
          var mdbValue = MDB_val($0)
          try #require(mdb_put(transaction, keyspace, &mdbKey, &mdbValue, 0) == 0)
        }
      }
    }
    #expect(FlushAhead.commit(transaction, flushes: true, work: .seconds(1)) == 0)
  }

  /// What LMDB says of a commit comes through: a transaction that was spoiled by a full map.
  @Test func aRefusedCommitIsReported() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("flush-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var environment: OpaquePointer?
    try #require(mdb_env_create(&environment) == 0)
    let opened = try #require(environment)
    defer { mdb_env_close(opened) }
    try #require(mdb_env_set_mapsize(opened, 1 << 16) == 0)
    try #require(mdb_env_open(opened, folder.path, 0, 0o600) == 0)
    var begun: OpaquePointer?
    try #require(mdb_txn_begin(opened, nil, 0, &begun) == 0)
    let transaction = try #require(begun)
    var keyspace: MDB_dbi = 0
    try #require(mdb_dbi_open(transaction, nil, 0, &keyspace) == 0)
    var codes: Set<Int32> = []
    for number in 0..<100 {
      withUnsafeBytes(of: UInt64(number).bigEndian) { key in
        let value = [UInt8](repeating: 1, count: 2_000)
        value.withUnsafeBytes {
          var (mdbKey, mdbValue) = (MDB_val(key), MDB_val($0))
          codes.insert(mdb_put(transaction, keyspace, &mdbKey, &mdbValue, 0))
        }
      }
    }
    #expect(codes.contains(MDB_MAP_FULL))
    #expect(FlushAhead.commit(transaction, flushes: true, work: .seconds(1)) == MDB_BAD_TXN)
  }
}
