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
    // Nothing to enter: the environment is closed, and the transaction with it, or it belongs to a parent.
    guard let (slot, _) = try? environment.claimSection() else { return }
    defer { environment.pool.leave(slot) }
    environment.lock.withLock { _ = environment.pins.removeValue(forKey: ObjectIdentifier(pinned)) }
    pinned.end()
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
  func end() {
    turn.withLock {
      if let transaction { mdb_txn_abort(transaction) }
      transaction = nil
    }
  }
}
