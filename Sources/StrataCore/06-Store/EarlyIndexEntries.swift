import Dispatch
import Synchronization

/// The index entries of one change set's inserts, made by the thread that saves while the store's writer already puts the
/// rows: a large import keeps two processors busy.
///
///     saving thread    hand over ─▶ make keys, sort ─▶ fulfil
///     writer                  └──▶ versions ─▶ rows ────▶ wait ─▶ put the entries ─▶ commit
///
/// Only for plain indexes: those of uniqueness constraints are needed before the first row is written.
final class EarlyIndexEntries: Sendable {
  /// The catalogue the entries were made with: with another one, which index is usable may have changed.
  let generation: UInt64
  private let arrived = DispatchSemaphore(value: 0)
  private let entries = Mutex<Made?>(nil)

  /// By index number. Unchecked: filled by one thread before it is shared, only read afterwards.
  struct Made: @unchecked Sendable {
    var changes: [Int: IndexChanges] = [:]
  }

  /// A change set of fewer inserts is written before a second thread has got under way.
  static let fewestInserts = 1_000

  init(generation: UInt64) { self.generation = generation }

  /// Hands over the entries; nil when they could not be made, which leaves them to the writer. Called exactly once.
  func fulfil(_ made: Made?) {
    entries.withLock { $0 = made }
    arrived.signal()
  }

  /// Waits for the entries. May be called again when a transaction is run again.
  func wait() -> Made? {
    arrived.wait()
    arrived.signal()
    return entries.withLock { $0 }
  }
}

extension LMDBStore {
  public func workAlongside(_ changes: inout ChangeSet) -> (() -> Void)? {
    guard changes.inserts.count >= EarlyIndexEntries.fewestInserts, changes.updates.isEmpty,
      changes.deletes.isEmpty
    else { return nil }
    let (parts, catalogue, changeSet) = (parts, catalogue, changes)
    let early = EarlyIndexEntries(generation: catalogue.generation)
    changes.earlyEntries = early
    return {
      // What goes wrong here goes wrong again in the writer, which reports it.
      early.fulfil(
        try? parts.environment.read { transaction in
          let writer = ChangeSetWriter(changeSet: changeSet, parts: parts, catalogue: catalogue)
          var made = EarlyIndexEntries.Made()
          for index in writer.maintainedIndexes where !index.isUnique {
            made.changes[index.number] = try writer.collectIndexChanges(index, transaction)
          }
          return made
        })
    }
  }
}
