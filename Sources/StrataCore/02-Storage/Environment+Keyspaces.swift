import CLMDBShim
import Foundation

/// Opening keyspaces. Handles are numbers that LMDB gives out in order; they are never closed, since closing
/// one while another thread uses it would crash.
extension Environment {
  /// Opens what is not open yet, and notes it.
  func openKeyspaces(_ names: [String]) throws {
    let opened = isReadOnly ? try openExisting(names) : try openOrCreate(names)
    lock.withLock {
      for keyspace in opened where !openKeyspaces.contains(keyspace) { openKeyspaces.append(keyspace) }
    }
  }

  /// Opens every known keyspace in a new environment and checks that it has the handle it had.
  func restoreKeyspaces(_ environment: OpaquePointer) throws {
    let known = lock.withLock { openKeyspaces }.sorted { $0.handle < $1.handle }
    if known.isEmpty { return }
    let opened = try Environment.openExisting(known.map(\.name), environment, path)
    guard opened == known else {
      throw StorageError(
        .replaced, operation: "mdb_dbi_open", path: path,
        detail: "The store has lost keyspaces since it was opened.")
    }
  }

  private func openOrCreate(_ names: [String]) throws -> [Keyspace] {
    try write { transaction in
      try names.map { name in
        var handle: MDB_dbi = 0
        let code = mdb_dbi_open(transaction.read.handle, name, UInt32(MDB_CREATE), &handle)
        guard code == 0 else {
          transaction.firstFailure.pointee = code
          throw StorageError(code, "mdb_dbi_open", transaction: transaction.read.handle)
        }
        return Keyspace(handle: handle, name: name)
      }
    }
  }

  /// Without a writer thread the gate keeps two of these apart.
  private func openExisting(_ names: [String]) throws -> [Keyspace] {
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline)
    try checkProcess()
    while true {
      var opened: [Keyspace] = []
      do {
        try pool.exclusively(until: deadline) { environment in
          guard let environment else { throw closedError("mdb_dbi_open") }
          opened = try Environment.openExisting(names, environment, path)
          return .success(environment)
        }
        return opened
      } catch let error as StorageError where error.code == MDB_MAP_RESIZED {
        // Another process has written since LMDB mapped the file.
        try adoptForeignGrowth(until: deadline)
      }
    }
  }

  private static func openExisting(
    _ names: [String], _ environment: OpaquePointer, _ path: String
  ) throws -> [Keyspace] {
    var transaction: OpaquePointer?
    var code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
    guard code == 0, let transaction else { throw StorageError(code, "mdb_txn_begin", path: path) }
    var opened: [Keyspace] = []
    for name in names {
      var handle: MDB_dbi = 0
      code = mdb_dbi_open(transaction, name, 0, &handle)
      if code == MDB_NOTFOUND { continue }
      guard code == 0 else {
        mdb_txn_abort(transaction)
        throw StorageError(code, "mdb_dbi_open", path: path)
      }
      opened.append(Keyspace(handle: handle, name: name))
    }
    // Committing keeps the handles; aborting would close them.
    code = mdb_txn_commit(transaction)
    guard code == 0 else { throw StorageError(code, "mdb_txn_commit", path: path) }
    return opened
  }
}
