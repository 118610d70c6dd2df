import CLMDBShim
import Foundation

/// The pin, and what happens when nothing is written for a while.
extension StoreLog {
  /// Whether this process holds a pin that keeps the checkpoint's pages.
  var holdsPin: Bool { policy.omitsPin || lock.withLock { isPinned && pinID <= head.checkpoint } }

  /// What this process pins for the log; nil for nothing.
  var pinned: ReaderTable.Reader? {
    lock.withLock { !isPinned ? nil : ReaderTable.Reader(process: getpid(), transactionID: Int(pinID)) }
  }

  /// Pins the commit on which the transaction stands.
  ///
  /// In the place that the pin has, so that neither a full table nor another process that is stopped with LMDB's lock on it can prevent that. For a moment nothing
  /// is pinned: whoever holds LMDB's lock for writing and changes nothing then needs no pin.
  func movePin(_ transaction: OpaquePointer) throws {
    if policy.omitsPin { return }
    let isMoved = lock.withLock {
      guard let pin else { return false }
      if isPinned { mdb_txn_reset(pin) }
      isPinned = mdb_txn_renew(pin) == 0
      if isPinned { pinID = UInt64(mdb_txn_id(pin)) } else { endPin() }
      return isPinned
    }
    if isMoved { return }
    var next: OpaquePointer?
    let environment = mdb_txn_env(transaction)
    var code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &next)
    if code == MDB_READERS_FULL, let environment {
      ReaderTable.check(environment)
      onReadersFull()
      code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &next)
    }
    guard code == 0, let next else { throw ReaderTable.refusal(code, path: file.path) }
    lock.withLock { (pin, pinID, isPinned) = (next, UInt64(mdb_txn_id(next)), true) }
  }

  /// Whether the file has grown so much that a checkpoint, which gives pages free, is due.
  ///
  /// Pages are kept from this process's pin on. Other processes may have made checkpoints since, but only one of this process moves its pin.
  ///
  /// The pages that became free between two checkpoints are used up after the second. Were growth alone looked at, each interval would be
  /// longer than the one before, and a store that is written without a pause would grow all the time.
  func needsPages(_ transaction: OpaquePointer, _ base: UInt64) -> Bool {
    let growth = pageCount(transaction) - min(checkpointPage, pinPage)
    let oldest = policy.omitsPin ? head.checkpoint : lock.withLock { min(pinID, head.checkpoint) }
    return growth > mostPages
      || growth > 0 && base - min(base, oldest) >= UInt64(mostPages / Self.pagesPerCommit)
  }
  /// About so many pages a small commit replaces.
  private static let pagesPerCommit = 8

  private static let idleTime = DispatchTimeInterval.milliseconds(500)

  /// Checks later whether anything was written in between. Under `lock`.
  func watch() {
    isWatched = true
    let seen = activity
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.idleTime) { [weak self] in
      self?.lookAfter(seen)
    }
  }

  /// The first quiet moment makes a checkpoint, so that a recovery has nothing to do; the next releases the pin.
  func lookAfter(_ seen: Int) {
    let wantsCheckpoint = lock.withLock {
      isWatched = false
      if !isPinned { return false }
      if isWriting || activity != seen {
        watch()
        return false
      }
      if hasRecords {
        // When it fails, the next save of this process makes one.
        hasRecords = false
        flushIsWanted = true
        watch()
        return true
      }
      // Its place in the table is needed again.
      if let pin { mdb_txn_reset(pin) }
      isPinned = false
      return false
    }
    if wantsCheckpoint { onQuiet() }
  }

  /// Gives the pin up, and its place. Under `lock`, with nothing changed by a transaction of this process.
  func endPin() {
    if let pin { mdb_txn_abort(pin) }
    pin = nil
    isPinned = false
  }
}
