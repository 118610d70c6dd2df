import CLMDBShim
import Foundation

/// Opening keyspaces. Handles are numbers that LMDB gives out in order; they are never closed, since closing
/// one while another thread uses it would crash.
extension Environment {
  /// Those of `names` that are not open yet.
  func unopened(_ names: [String]) -> [String] {
    lock.withLock { names.filter { name in !openKeyspaces.contains { $0.name == name } } }
  }

  /// Opens what is not open yet, and notes it: what exists in a read transaction, which waits for no writer; what does not in a
  /// write transaction.
  func openKeyspaces(_ names: [String], within patience: Patience?, creates: Bool = true) throws {
    let deadline = ContinuousClock.now.advanced(by: patience?.left ?? options.writerDeadline)
    let turn: Void? = try handleTurn.take(until: deadline) {
      note(try openExisting(unopened(names)))
      let missing = unopened(names)
      if !missing.isEmpty && creates && !isReadOnly { note(try create(missing, within: patience)) }
    }
    if turn == nil {
      throw StorageError(
        .busy, operation: "mdb_dbi_open", path: path,
        detail: "Another thread waits for its turn to write, so as to add keyspaces to the store.")
    }
  }

  private func note(_ opened: [Keyspace]) {
    lock.withLock {
      for keyspace in opened where !openKeyspaces.contains(keyspace) { openKeyspaces.append(keyspace) }
    }
  }

  /// Opens every known keyspace in a new environment and checks that it has the handle it had.
  func restoreKeyspaces(_ environment: OpaquePointer) throws {
    let known = lock.withLock { openKeyspaces }.sorted { $0.handle < $1.handle }
    if known.isEmpty { return }
    var transaction: OpaquePointer?
    let code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
    guard code == 0, let transaction else { throw ReaderTable.refusal(code, path: path) }
    let opened = try Environment.openExisting(known.map(\.name), transaction, path)
    guard opened == known else {
      throw StorageError(
        .replaced, operation: "mdb_dbi_open", path: path,
        detail: "The store has lost keyspaces since it was opened.")
    }
  }

  private func create(_ names: [String], within patience: Patience?) throws -> [Keyspace] {
    try write(within: patience) { transaction in
      try names.map { name in
        var handle: MDB_dbi = 0
        var code = mdb_dbi_open(transaction.read.handle, name, 0, &handle)
        let isNew = code == MDB_NOTFOUND
        if isNew { code = mdb_dbi_open(transaction.read.handle, name, UInt32(MDB_CREATE), &handle) }
        guard code == 0 else {
          transaction.firstFailure.pointee = code
          throw StorageError(code, "mdb_dbi_open", transaction: transaction.read.handle)
        }
        transaction.recorder?._withUnsafeGuaranteedRef { $0.note(handle, name, isNew: isNew) }
        return Keyspace(handle: handle, name: name)
      }
    }
  }

  /// With the turn taken.
  private func openExisting(_ names: [String]) throws -> [Keyspace] {
    let slot = try beginRead()
    let transaction = pool.transaction(slot)
    pool.empty(slot)
    defer { pool.leave(slot) }
    return try Environment.openExisting(names, transaction, path)
  }

  /// Ends the transaction.
  private static func openExisting(
    _ names: [String], _ transaction: OpaquePointer, _ path: String
  ) throws -> [Keyspace] {
    var opened: [Keyspace] = []
    for name in names {
      var handle: MDB_dbi = 0
      let code = mdb_dbi_open(transaction, name, 0, &handle)
      if code == MDB_NOTFOUND { continue }
      guard code == 0 else {
        mdb_txn_abort(transaction)
        throw StorageError(code, "mdb_dbi_open", path: path)
      }
      opened.append(Keyspace(handle: handle, name: name))
    }
    // Committing keeps the handles; aborting would close them.
    let code = mdb_txn_commit(transaction)
    guard code == 0 else { throw StorageError(code, "mdb_txn_commit", path: path) }
    return opened
  }
}
