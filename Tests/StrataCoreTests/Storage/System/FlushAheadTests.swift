import CLMDBShim
import Foundation
import Testing

@testable import StrataCore

/// Large commits, of which the system writes the first pages while LMDB hands it the others.
@Suite struct FlushAheadTests {
  /// An environment of LMDB itself, with transactions that flush ahead however small they are.
  private final class Bare {
    let handle: OpaquePointer

    init(_ path: String, mapSize: Int) throws {
      var environment: OpaquePointer?
      try #require(mdb_env_create(&environment) == 0)
      handle = try #require(environment)
      try #require(mdb_env_set_mapsize(handle, mapSize) == 0)
      try #require(mdb_env_open(handle, path, UInt32(MDB_NOSUBDIR), 0o600) == 0)
    }

    deinit { mdb_env_close(handle) }

    /// What `body` answers for each of `count` keys, and the code of the commit.
    func write(
      count: Int, _ body: (OpaquePointer, MDB_dbi, inout MDB_val) throws -> Int32
    ) throws -> (codes: Set<Int32>, commit: Int32) {
      var begun: OpaquePointer?
      try #require(mdb_txn_begin(handle, nil, 0, &begun) == 0)
      let transaction = try #require(begun)
      var keyspace: MDB_dbi = 0
      try #require(mdb_dbi_open(transaction, nil, 0, &keyspace) == 0)
      var codes: Set<Int32> = []
      for number in 0..<count {
        try withUnsafeBytes(of: UInt64(number).bigEndian) {
          var key = MDB_val($0)
          codes.insert(try body(transaction, keyspace, &key))
        }
      }
      return (codes, FlushAhead.commit(transaction, flushes: true, work: .seconds(1)))
    }

    /// Puts `value` under each of `count` keys.
    func put(_ value: Data, count: Int) throws -> (codes: Set<Int32>, commit: Int32) {
      try write(count: count) { transaction, keyspace, key in
        value.withUnsafeBytes {
          var value = MDB_val($0)
          return mdb_put(transaction, keyspace, &key, &value, 0)
        }
      }
    }
  }

  /// The environment is closed right behind the last commit.
  @Test func commitsThatFlushAheadAreThere() throws {
    let directory = try ScratchDirectory()
    let pages = 1_000
    for round in 0..<10 {
      let environment = try Bare(directory("A"), mapSize: 1 << 28)
      for commit in 0..<5 {
        let result = try environment.put(
          Data(repeating: UInt8(round * 5 + commit), count: 3_000), count: pages)
        #expect(result == ([0], 0))
      }
    }
    let last = Data(repeating: 49, count: 3_000)
    let result = try Bare(directory("A"), mapSize: 1 << 28).write(count: pages) {
      transaction, keyspace, key in
      var found = MDB_val()
      let code = mdb_get(transaction, keyspace, &key, &found)
      #expect(Data(UnsafeRawBufferPointer(found)) == last)
      return code
    }
    #expect(result == ([0], 0))
  }

  /// What LMDB says of a commit comes through: here of one that is spoiled since the map is full.
  @Test func aRefusedCommitIsReported() throws {
    let directory = try ScratchDirectory()
    let result = try Bare(directory("A"), mapSize: 1 << 16).put(Data(repeating: 1, count: 2_000), count: 100)
    #expect(result.codes.contains(MDB_MAP_FULL))
    #expect(result.commit == MDB_BAD_TXN)
  }
}
