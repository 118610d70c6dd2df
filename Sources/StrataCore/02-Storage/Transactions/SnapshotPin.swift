import CLMDBShim
import Foundation

/// One commit, kept readable until it is released: the ground under a pinned query generation.
///
/// Any thread may read it; readers of the same pin take turns, since LMDB's transaction is one thread's at a
/// time. While it lives, no page that it shows is used again, so the file grows: its holder must watch
/// its `age`. It ends with its environment, or when the environment has to be opened again; reads then throw
/// `.closed`.
final class SnapshotPin: Sendable {
  /// The number of the commit that it shows. Means nothing outside this process.
  let transactionID: Int

  private let environment: Environment
  private let pinned: PinnedTransaction

  init(_ environment: Environment, _ pinned: PinnedTransaction, transactionID: Int) {
    self.environment = environment
    self.pinned = pinned
    self.transactionID = transactionID
  }

  deinit { release() }

  /// How long it has been held.
  var age: Duration { pinned.birth.duration(to: environment.options.now()) }

  /// Runs `body` with the pinned view. The same limits as for `Environment.read`.
  ///
  /// - Throws: what `body` throws; `StorageError` `.closed` after `release` or the environment's end.
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    // First the section, then the turn: the other way round, a thread that waits at the shut gate would keep
    // the turn from one that the gate waits for.
    let (slot, _) = try environment.claimSection()
    defer { environment.pool.leave(slot) }
    return try pinned.turn.withLock {
      guard let transaction = pinned.transaction else {
        throw StorageError(
          .closed, operation: "mdb_get", path: environment.path,
          detail: "The snapshot was released, or its store closed or opened again.")
      }
      return try body(ReadTransaction(handle: transaction))
    }
  }

  /// Releases the commit. Calling it again does nothing.
  func release() {
    do {
      let (slot, _) = try environment.claimSection()
      defer { environment.pool.leave(slot) }
      environment.noteReleased(pinned)
      environment.endReleasedPins()
    } catch let error as StorageError where error.kind == .busy {
      // The gate was shut for too long: whoever writes next, or makes or releases a snapshot, ends the transaction.
      environment.noteReleased(pinned)
    } catch {
      // Nothing to enter: the environment is closed, and the transaction with it, or it belongs to a parent.
    }
  }
}

extension Environment {
  fileprivate func noteReleased(_ pinned: PinnedTransaction) { lock.withLock { releasedPins.append(pinned) } }

  /// Ends the transactions of snapshots that were released. The caller is inside a section.
  /// - Parameter waits: Whether threads are waited for that still read one; without, such a transaction stays for the next caller.
  func endReleasedPins(waits: Bool = true) {
    let released = lock.withLock { () -> [PinnedTransaction] in
      if releasedPins.isEmpty { return [] }
      defer { releasedPins = [] }
      for pinned in releasedPins { pins[ObjectIdentifier(pinned)] = nil }
      return releasedPins
    }
    for pinned in released {
      if waits {
        pinned.end()
      } else if !pinned.endIfUnread() {
        lock.withLock {
          pins[ObjectIdentifier(pinned)] = pinned
          releasedPins.append(pinned)
        }
      }
    }
  }
}

/// The transaction behind a pin. The environment knows all of them, so that it can end them before it closes.
final class PinnedTransaction: @unchecked Sendable {
  // Unchecked: `transaction` is touched under `turn` only.

  /// Recursive, so that a read may call a function that reads the same pin.
  let turn = SystemLock(isRecursive: true)
  /// Nil once it was ended.
  fileprivate(set) var transaction: OpaquePointer?
  /// When it began, by the environment's clock.
  let birth: ContinuousClock.Instant

  init(_ transaction: OpaquePointer, birth: ContinuousClock.Instant) {
    self.transaction = transaction
    self.birth = birth
  }

  /// Ends the transaction. The caller is inside a section or holds the gate.
  func end() { turn.withLock { drop() } }

  /// The same, unless another thread reads it at this moment: false then.
  func endIfUnread() -> Bool { turn.withLockIfAvailable { drop() } != nil }

  private func drop() {
    if let transaction { mdb_txn_abort(transaction) }
    transaction = nil
  }
}
