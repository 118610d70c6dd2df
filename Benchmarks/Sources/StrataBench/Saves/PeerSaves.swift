import CLMDBShim
import Foundation
import GRDB
import Synchronization

/// SQLite through GRDB: a cached statement in a write each, the fastest that GRDB documents.
final class GRDBSaves: SavePeer {
  private let database: any DatabaseWriter
  private let job: SaveJob

  init(_ folder: URL, _ job: SaveJob, isPool: Bool) throws {
    self.job = job
    var configuration = Configuration()
    configuration.journalMode = .wal
    let path = folder.appendingPathComponent("notes.sqlite").path
    database =
      isPool
      ? try DatabasePool(path: path, configuration: configuration)
      : try DatabaseQueue(path: path, configuration: configuration)
    let (mode, number) =
      switch job.promise {
      case .durable: ("FULL", 2)
      case .relaxed: ("NORMAL", 1)
      case .none: ("OFF", 0)
      }
    // Not in `prepareDatabase`: see `GRDBPeer`.
    try database.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = \(mode)")
      guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == number else {
        throw BenchmarkError("SQLite did not accept synchronous = \(mode)")
      }
    }
    try database.write { db in
      try db.create(table: "note") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("number", .integer)
        table.column("title", .text)
        table.column("changed", .double)
      }
      if job.isIndexed {
        try db.create(index: "byNumber", on: "note", columns: ["number"])
        try db.create(index: "byTitle", on: "note", columns: ["title"])
      }
    }
  }

  func makeSaver(_ thread: Int) throws -> Saver {
    let (database, rows, first) = (database, job.work.rows, thread * 1_000_000)
    if job.work == .edit {
      let id = try database.write { db in
        try db.execute(
          sql: "INSERT INTO note (number, title, changed) VALUES (?, ?, ?)",
          arguments: [first, NoteText.title(first), 0.0])
        return db.lastInsertedRowID
      }
      return .blocking { place in
        try database.write { db in
          let statement = try db.cachedStatement(sql: "UPDATE note SET number = ?, title = ? WHERE id = ?")
          statement.setUncheckedArguments([first + place, NoteText.title(first + place), id])
          try statement.execute()
        }
      }
    }
    return .blocking { place in
      try database.write { db in
        let statement = try db.cachedStatement(
          sql: "INSERT INTO note (number, title, changed) VALUES (?, ?, ?)")
        for row in 0..<rows {
          let number = first + place * rows + row
          statement.setUncheckedArguments([number, NoteText.title(number), Double(number)])
          try statement.execute()
        }
      }
    }
  }

  func count() throws -> Int {
    try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM note") } ?? 0
  }

  func close() throws { try database.close() }
}

/// LMDB with rows packed by hand; a transaction each.
final class RawLMDBSaves: SavePeer, @unchecked Sendable {
  // Unchecked: LMDB's handles may be used from any thread; the next key is touched inside LMDB's write lock.
  private let environment: OpaquePointer
  private var spaces: [MDB_dbi] = []
  private var nextKey: UInt64 = 1
  private let job: SaveJob

  init(_ folder: URL, _ job: SaveJob) throws {
    self.job = job
    var handle: OpaquePointer?
    try check(mdb_env_create(&handle), "mdb_env_create")
    guard let handle else { throw BenchmarkError("mdb_env_create gave no environment") }
    environment = handle
    try check(mdb_env_set_maxdbs(environment, 3), "mdb_env_set_maxdbs")
    try check(mdb_env_set_mapsize(environment, 1 << 30), "mdb_env_set_mapsize")
    let flags: Int32 =
      switch job.promise {
      case .durable: 0
      case .relaxed: MDB_NOMETASYNC
      case .none: MDB_NOSYNC
      }
    let path = folder.appendingPathComponent("notes.lmdb").path
    try check(
      mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS | flags), 0o600), "mdb_env_open")
    try write { transaction in
      for name in job.isIndexed ? ["rows", "byNumber", "byTitle"] : ["rows"] {
        var space: MDB_dbi = 0
        try check(mdb_dbi_open(transaction, name, UInt32(MDB_CREATE), &space), "mdb_dbi_open")
        spaces.append(space)
      }
    }
  }

  private func write(_ body: (OpaquePointer) throws -> Void) throws {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, 0, &transaction), "mdb_txn_begin")
    guard let transaction else { throw BenchmarkError("mdb_txn_begin gave no transaction") }
    do { try body(transaction) } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try check(mdb_txn_commit(transaction), "mdb_txn_commit")
  }

  func makeSaver(_ thread: Int) throws -> Saver {
    let (rows, first) = (job.work.rows, thread * 1_000_000)
    if job.work == .edit {
      var own: UInt64 = 0
      try write {
        own = nextKey
        nextKey += 1
        try put($0, own, first)
      }
      let key = own
      return .blocking { place in try self.write { try self.put($0, key, first + place) } }
    }
    return .blocking { place in
      try self.write { transaction in
        for row in 0..<rows {
          try self.put(transaction, self.nextKey, first + place * rows + row)
          self.nextKey += 1
        }
      }
    }
  }

  /// A row, and its two index entries; what an edited row had is left in the indexes.
  private func put(_ transaction: OpaquePointer, _ key: UInt64, _ number: Int) throws {
    var bytes: [UInt8] = []
    withUnsafeBytes(of: Int64(number)) { bytes += $0 }
    withUnsafeBytes(of: Double(number)) { bytes += $0 }
    let title = Array(NoteText.title(number).utf8)
    bytes += title
    let keyBytes = withUnsafeBytes(of: key.bigEndian) { Array($0) }
    try put(transaction, spaces[0], keyBytes, bytes)
    if job.isIndexed {
      try put(transaction, spaces[1], withUnsafeBytes(of: number.bigEndian) { Array($0) } + keyBytes, [])
      try put(transaction, spaces[2], title + keyBytes, [])
    }
  }

  private func put(_ transaction: OpaquePointer, _ space: MDB_dbi, _ key: [UInt8], _ value: [UInt8]) throws {
    var (key, value) = (key, value)
    let status = key.withUnsafeMutableBytes { key in
      value.withUnsafeMutableBytes { value in
        var mdbKey = MDB_val(mv_size: key.count, mv_data: key.baseAddress)
        var mdbValue = MDB_val(mv_size: value.count, mv_data: value.baseAddress)
        return mdb_put(transaction, space, &mdbKey, &mdbValue, 0)
      }
    }
    try check(status, "mdb_put")
  }

  func count() throws -> Int {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction), "mdb_txn_begin")
    defer { mdb_txn_abort(transaction) }
    var statistics = MDB_stat()
    try check(mdb_stat(transaction, spaces[0], &statistics), "mdb_stat")
    return statistics.ms_entries
  }

  func close() { mdb_env_close(environment) }
}

/// The limit: a record of 600 bytes appended to a file whose room was made before, with a sync of its own where the promise wants one.
final class AppendSaves: SavePeer {
  private struct State {
    var end = 0
    var count = 0
  }

  private let descriptor: Int32
  private let state = Mutex(State())
  private let job: SaveJob
  private static let room = 64 << 20
  private static let recordLength = 600

  init(_ folder: URL, _ job: SaveJob) throws {
    self.job = job
    descriptor = open(folder.appendingPathComponent("log").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw BenchmarkError("The log cannot be made: \(errno)") }
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    for place in stride(from: 0, to: Self.room, by: zeros.count) {
      guard pwrite(descriptor, zeros, zeros.count, off_t(place)) == zeros.count else {
        throw BenchmarkError("The log cannot be filled: \(errno)")
      }
    }
    fsync(descriptor)
  }

  func makeSaver(_ thread: Int) throws -> Saver {
    let record = [UInt8](repeating: 7, count: Self.recordLength)
    return .blocking { _ in
      try self.state.withLock { state in
        guard pwrite(self.descriptor, record, record.count, off_t(state.end)) == record.count else {
          throw BenchmarkError("The log cannot be written: \(errno)")
        }
        state.end = (state.end + record.count) % (Self.room - record.count)
        state.count += self.job.work.rows
        if self.job.promise == .durable, AppendSaves.flush(self.descriptor) != 0 {
          throw BenchmarkError("The log cannot be flushed: \(errno)")
        }
      }
    }
  }

  private static func flush(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      fcntl(descriptor, F_FULLFSYNC)
    #else
      fdatasync(descriptor)
    #endif
  }

  func count() -> Int { state.withLock { $0.count } }

  func close() { _ = Foundation.close(descriptor) }
}

extension SaveContender {
  static let peers: [SaveContender] = [
    SaveContender(name: "GRDB queue", isReference: true) { try GRDBSaves($0, $1, isPool: false) },
    SaveContender(name: "GRDB pool", isReference: true) { try GRDBSaves($0, $1, isPool: true) },
    SaveContender(name: "raw LMDB") { try RawLMDBSaves($0, $1) },
    SaveContender(name: "append") { try AppendSaves($0, $1) },
  ]
}
