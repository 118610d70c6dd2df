import Dispatch
import Foundation
import Synchronization

// Files that get shorter while they are used.

extension PersistentStoreCoordinator {
  /// Makes the file of `store` as short as what is in it, while contexts of this process and of others read and save.
  ///
  /// Identifiers, history, tokens and pinned query generations stay what they are. A save that comes meanwhile waits for one short transaction at most. Takes about
  /// as long as reading the store and writing what is moved, and no room beside the file. What pinned generations and other readers still show is waited for,
  /// two seconds in all, and stays in the file otherwise: `heldBytes` of the report tells.
  ///
  /// A store in memory gives its memory back. Stores of other engines keep no free room here: a PostgreSQL server does that by itself (`VACUUM`).
  ///
  /// - Parameters:
  ///   - store: A store of this coordinator.
  ///   - progress: Called between the transactions, on no thread in particular.
  /// - Throws: `CoreDataError` 134070 when the store is not attached here or of another engine; `StorageError`: `.busy` when the store is being compacted
  ///   already, by this process or another, or another process kept it locked for writing; `.permission` for a store that is read-only; `.diskFull`, `.io`,
  ///   `.replaced`; `CancellationError` when the task was cancelled. The store is whole then, shorter or not, and every save is there.
  @discardableResult
  public func compact(
    _ store: any PersistentStore, progress: (@Sendable (CompactionReport) -> Void)? = nil
  ) async throws -> CompactionReport {
    let target = try requireCompactable(store)
    let isCancelled = CancelFlag()
    return try await withTaskCancellationHandler {
      let answer = ErrandAnswer<Result<CompactionReport, any Error>>()
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        Errand.hand(to: .global(qos: .utility)) {
          answer.give(
            Result {
              try target.compact { report in
                if isCancelled.value.load(ordering: .relaxed) { throw CancellationError() }
                progress?(report)
              }
            })
        } then: {
          continuation.resume()
        }
      }
      return try answer.take().get()
    } onCancel: {
      isCancelled.value.store(true, ordering: .relaxed)
    }
  }

  /// The same on the calling thread, which must not be inside of a transaction or a hook.
  ///
  /// - Throws: as the other one does, but for cancelling.
  @discardableResult
  public func compact(
    _ store: any PersistentStore, progress: (@Sendable (CompactionReport) -> Void)? = nil
  ) throws -> CompactionReport {
    try requireCompactable(store).compact { progress?($0) }
  }

  /// Whether the store is one whose file can be compacted.
  package func canCompact(_ store: any PersistentStore) -> Bool {
    guard let engine = engine(store) else { return false }
    return engine.compactableStore != nil && !engine.isReadOnly
  }

  private final class CancelFlag: Sendable {
    let value = Atomic<Bool>(false)
  }

  private func requireCompactable(_ store: any PersistentStore) throws -> any CompactableStore {
    let engine = try attachedEngine(store)
    guard let store = engine.compactableStore else {
      throw CoreDataError(
        .persistentStoreOperation,
        "Stores of type \(engine.storeType) have no file of this library whose free room could be given back."
      )
    }
    return store
  }
}
