import CLMDBShim
import Foundation

/// How a log begins, and how it ends.
extension StoreLog {
  /// Uses the log that another process has made, or this one before it opened the store again.
  ///
  /// - Parameter isWriting: Whether commits without a log follow when none is in force. Then this process holds LMDB's lock for writing.
  /// - Throws: ``StorageError``, also when it cannot be found out whether there is one: a commit without a record could overwrite pages of its checkpoint.
  func adopt(_ environment: OpaquePointer, isWriting: Bool) throws {
    guard try file.hasLog() else { return }
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    guard let mark = try LogMark.read(file, data) else { return }
    let opened = try LogFile.open(file)
    do {
      let found = try LogRecovery.head(opened, of: mark, file)
      guard let found, found.state == .inForce else {
        if isWriting, let found { try end(opened, found, data) }
        _ = file.system.close(opened)
        return
      }
      // As if nothing of it were known yet.
      head = .none
      head.identity = mark
      headArea = []
      identity = try LogFile.identity(opened, file)
      descriptor = opened
      useFlushes(environment)
    } catch {
      _ = file.system.close(opened)
      descriptor = -1
      throw error
    }
  }

  /// Ends a log that is out of force. Who has written the head that says so may have been killed before it was durable: after a power cut the one before it would be in force again,
  /// and take back what is committed from now on.
  private func end(_ log: Int32, _ head: LogHead, _ data: Int32) throws {
    // One that was never in force has no other.
    if head.number > 0, !policy.trustsHeads { try LogFile.ensure(log, head, file) }
    LogFile.retire(file, head, log: log, data: data)
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
    let logIdentity = LogIdentity()
    do {
      try forgetOldLog(transaction, data)
      descriptor = try LogFile.make(file, data: data)
      identity = try LogFile.identity(descriptor, file)
      capacity = LogFormat.sizes[0]
      try LogMark.leave(logIdentity, file, data)
    } catch {
      // Should the mark stay, so does the log, which is empty: the next attempt makes another one.
      if !withdraw(data) { detach() }
      return false
    }
    head = .none
    head.identity = logIdentity
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

  /// Removes the mark of a log that is out of force: its process was killed, or could not write, before the mark was gone. That log is about to make room for a new one, and
  /// a mark without its log would speak of lost saves.
  private func forgetOldLog(_ transaction: OpaquePointer, _ data: mdb_filehandle_t) throws {
    guard try LogMark.read(file, data) != nil else { return }
    try flushData(transaction)
    guard LogMark.remove(file, data) else { throw StorageError(EIO, "fdatasync", path: file.path) }
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

  /// Whether the log that this process uses is still under its name: a program that tidies up may have removed it, or put another file there.
  func hasItsName() throws -> Bool {
    switch file.system.status(file.logPath) {
    case .success(let status): return status.identity == identity
    case .failure(let code) where code.number == ENOENT: return false
    case .failure(let code): throw StorageError(code.number, "lstat", path: file.logPath)
    }
  }

  /// Leaves a log that has lost its name: after a power cut nobody would find it. What only it had is flushed in the data file first, which needs no log then. For
  /// who holds LMDB's lock for writing.
  ///
  /// - Throws: ``StorageError`` when the medium fails; it must be tried again then, before anything is written.
  func leaveLost(_ environment: OpaquePointer) throws {
    let code = mdb_env_sync(environment, 1)
    if code != 0 { throw StorageError(code, "fdatasync", path: file.path) }
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    // Should the name come back by the power cut, the file must not ask for the log. Another mark is that of a log which another process has made meanwhile.
    let mark = try LogMark.read(file, data)
    if mark == nil || mark == head.identity, !LogMark.remove(file, data) {
      throw StorageError(EIO, "fdatasync", path: file.path)
    }
    detach()
    // The next one begins at once.
    plainCommits = policy.commitsBefore
  }

  /// The same when the store is closed. With LMDB's lock nobody can make a log meanwhile; who is alone does not wait for it.
  private func leaveLostAtEnd(_ environment: OpaquePointer, isAlone: () -> Bool) -> Bool {
    var transaction: OpaquePointer?
    guard mdb_env_sync(environment, 1) == 0, isAlone(), mdb_txn_begin(environment, nil, 0, &transaction) == 0
    else { return false }
    defer { mdb_txn_abort(transaction) }
    return (try? leaveLost(environment)) != nil
  }

  /// Leaves a log that is out of force. It was retired because the store's file was to be exchanged, and that did not happen.
  func leaveRetired(_ environment: OpaquePointer) {
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    LogFile.retire(file, head, log: descriptor, data: data)
    detach()
    plainCommits = policy.commitsBefore
  }

  /// The store's file is to get another name, or to go: it becomes whole without the log, which is removed. The transaction must not be committed then.
  ///
  /// Others that have the store open find that out when they write next: they go on without a log, or make a new one, unless the file has gone.
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

  /// The disk is full: the data file becomes whole without the log, which is removed, and the pages that it kept are free. For a transaction that has changed nothing yet, which
  /// goes on without a log; some commits later there may be another one.
  ///
  /// A log that cannot be taken out of force stays, and the checkpoint that follows frees the pages all the same.
  /// - Throws: ``StorageError`` when the medium fails; the log is in force then, or the file is whole.
  func giveRoomBack(_ transaction: OpaquePointer, _ environment: OpaquePointer) throws {
    try flushData(transaction)
    if empty(environment) {
      detach()
      plainCommits = 0
    } else if try readHead() {
      needsCheckpoint = true
    } else {
      leaveRetired(environment)
      plainCommits = 0
    }
  }

  /// Takes the log out of force and removes it. Everything in the data file is flushed.
  private func empty(_ environment: OpaquePointer) -> Bool {
    guard (try? replaceHead(head.emptied)) != nil else { return false }
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    LogFile.retire(file, head, log: descriptor, data: data)
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
    if reasonToRecover != nil { return leaveInForce(environment) }
    if descriptor >= 0, (try? hasItsName()) == false, !leaveLostAtEnd(environment, isAlone: isAlone) {
      return false
    }
    // Another process may have made a log since this one wrote last.
    if descriptor < 0, (try? adopt(environment, isWriting: false)) == nil { return leaveInForce(environment) }
    if descriptor < 0 {
      var data: mdb_filehandle_t = -1
      mdb_env_get_fd(environment, &data)
      // A file with a mark, whose log another process uses without a name, is not whole.
      let mark = Result { try LogMark.read(file, data) }
      guard case .success(nil) = mark else { return leaveInForce(environment) }
      return true
    }
    var flags: UInt32 = 0
    mdb_env_get_flags(environment, &flags)
    guard flags & UInt32(MDB_RDONLY) == 0, let turn = try? LogTurn.takeAtOnce(file, descriptor) else {
      return leaveInForce(environment)
    }
    defer { turn.end() }
    // Only who is alone may write a head outside of a transaction.
    guard isAlone(), (try? hasItsName()) == true, let isInForce = try? readHead() else {
      return leaveInForce(environment)
    }
    guard mdb_env_sync(environment, 1) == 0 else {
      flag(.suspect)
      return leaveInForce(environment)
    }
    if isInForce { return empty(environment) }
    leaveRetired(environment)
    return true
  }

  /// The log stays, for the next opening or for others that have the store open. What `.relaxed` has not flushed is flushed now. Should that fail, nobody can be told any more; nothing
  /// that the log has is given up.
  private func leaveInForce(_ environment: OpaquePointer) -> Bool {
    if durability == .full { return false }
    // LMDB has flushed all of a commit that is not in the log but its anchor.
    if descriptor < 0 || lastIsFlushed { _ = mdb_env_sync(environment, 1) }
    if descriptor >= 0 { _ = file.system.syncData(descriptor) }
    return false
  }
}
