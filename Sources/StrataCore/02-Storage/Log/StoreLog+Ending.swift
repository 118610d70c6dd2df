import CLMDBShim
import Foundation

/// How a log begins, and how it ends.
extension StoreLog {
  /// Uses the log that another process has made, or this one before it opened the store again.
  ///
  /// - Throws: ``StorageError``, also when it cannot be found out whether there is one: a commit without a record could overwrite pages of its checkpoint.
  func adopt(_ environment: OpaquePointer) throws {
    guard try file.hasLog() else { return }
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    guard let identity = try LogMark.read(file, data) else { return }
    let opened = try LogFile.open(file)
    do {
      guard let found = try LogRecovery.head(opened, of: identity, file), found.state == .inForce else {
        _ = file.system.close(opened)
        return
      }
      // As if nothing of it were known yet.
      head = .none
      head.identity = identity
      headArea = []
      descriptor = opened
      useFlushes(environment)
    } catch {
      _ = file.system.close(opened)
      descriptor = -1
      throw error
    }
  }

  /// With a log, a commit that is not logged must be flushed, whatever the environment promises.
  private func useFlushes(_ environment: OpaquePointer) {
    if flushesPlainCommits { return }
    mdb_env_set_flags(environment, UInt32(MDB_NOMETASYNC), 1)
    mdb_env_set_flags(environment, UInt32(MDB_NOSYNC), 0)
  }

  /// Makes a log, whose checkpoint is the commit on which the transaction stands. False when there is no room or no permission for one: commits are
  /// flushed as before then, and a later one tries again.
  func make(_ transaction: OpaquePointer, _ base: UInt64) throws -> Bool {
    plainCommits = 0
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(mdb_txn_env(transaction), &data)
    let identity = LogIdentity()
    do {
      descriptor = try LogFile.make(file)
      capacity = LogFormat.sizes[0]
      try LogMark.leave(identity, file, data)
    } catch {
      // Should the mark stay, so does the log, which is empty: the next attempt makes another one.
      if !withdraw(data) { detach() }
      return false
    }
    head = .none
    head.identity = identity
    tail = LogFormat.recordStart
    if let environment = mdb_txn_env(transaction) { useFlushes(environment) }
    do {
      try checkpoint(transaction)
    } catch let error as StorageError {
      // The head may be in force or not. The data file is what counts, as it is: before anything is committed, the next flush makes sure that it has no
      // mark. Should the mark stay, the store is opened again first.
      if !withdraw(data) { throw suspect(error) }
      lock.withLock { suspicion = nil }
      throw error
    }
    return true
  }

  /// The log was not put in force: it is removed. False when the data file keeps the mark.
  func withdraw(_ data: Int32) -> Bool {
    guard LogMark.remove(file, data) else { return false }
    abandon()
    return true
  }

  func abandon() {
    if descriptor >= 0 {
      _ = file.system.unlink(file.logPath)
      _ = file.system.close(descriptor)
    }
    descriptor = -1
  }

  /// Before LMDB's environment is closed; the gate is shut. The log stays in force, and so does the suspicion that the data file is not what it seems.
  func detach() {
    lock.withLock { endPin() }
    if descriptor >= 0 { _ = file.system.close(descriptor) }
    descriptor = -1
    headArea = []
    head = .none
    (tail, chain, lastID, lastIsFlushed) = (LogFormat.recordStart, 0, 0, false)
    needsCheckpoint = false
  }

  /// The store's file is to get another name, or to go: it becomes whole without the log, which is removed. The transaction must not be committed then.
  ///
  /// No other process may have the store open.
  /// - Throws: ``StorageError`` when the medium fails; the log is in force then, or the file is whole.
  func retire(_ transaction: OpaquePointer) throws {
    isRecording = false
    guard descriptor >= 0, let environment = mdb_txn_env(transaction) else { return }
    try flushData(transaction)
    guard empty(environment) else {
      throw StorageError(EIO, "fdatasync", path: file.logPath)
    }
    lock.withLock { endPin() }
    _ = file.system.close(descriptor)
    descriptor = -1
  }

  /// Takes the log out of force and removes it. Everything in the data file is flushed.
  private func empty(_ environment: OpaquePointer) -> Bool {
    guard (try? replaceHead(head.emptied)) != nil else { return false }
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    LogFile.retire(file, log: descriptor, data: data)
    return true
  }

  /// The store is closed for good: the data file becomes whole without the log when no other process has it open. The gate is shut.
  ///
  /// After a flush that has failed the log stays, whoever noticed: the system calls pages clean that the medium may not have, and the next flush succeeds.
  ///
  /// - Returns: whether no log is in force any more.
  func close(_ environment: OpaquePointer, isAlone: () -> Bool) -> Bool {
    defer { detach() }
    lock.withLock { endPin() }
    if reasonToRecover != nil { return leaveInForce() }
    // Another process may have made a log since this one wrote last.
    if descriptor < 0, (try? adopt(environment)) == nil { return false }
    if descriptor < 0 {
      var data: mdb_filehandle_t = -1
      mdb_env_get_fd(environment, &data)
      // A file with a mark, whose log another process uses without a name, is not whole.
      do { if try LogMark.read(file, data) != nil { return false } } catch { return false }
      return true
    }
    var flags: UInt32 = 0
    mdb_env_get_flags(environment, &flags)
    guard flags & UInt32(MDB_RDONLY) == 0, let turn = try? LogTurn.takeAtOnce(file, descriptor) else {
      return leaveInForce()
    }
    defer { turn.end() }
    // Only who is alone may write a head outside of a transaction.
    guard isAlone(), (try? readHead()) != nil else { return leaveInForce() }
    guard mdb_env_sync(environment, 1) == 0 else {
      flag(.suspect)
      return leaveInForce()
    }
    return empty(environment)
  }

  /// The log has what the next opening needs.
  private func leaveInForce() -> Bool {
    if durability != .full && descriptor >= 0 { _ = file.system.syncData(descriptor) }
    return false
  }
}
