import Dispatch
import Synchronization

/// The index entries that one change set puts in and takes out, made by the thread that saves while the store's writer already writes the
/// rows: a large save keeps two processors busy.
///
///     saving thread    hand over ─▶ make keys, sort ─▶ fulfil
///     writer                  └──▶ versions ─▶ rows ────▶ wait ─▶ put the entries ─▶ commit
///
/// Only for plain indexes: those of uniqueness constraints are needed before the first row is written. The old rows of updates and deletions
/// are read in a transaction of this thread's own. They are the ones that the writer finds when they are of the version that the change set
/// knows, which both look at.
final class EarlyIndexEntries: Sendable {
  /// The catalogue the entries were made with: with another one, which index is usable may have changed.
  let generation: UInt64
  private let arrived = DispatchSemaphore(value: 0)
  private let entries = Mutex<Made?>(nil)

  /// By index number. Unchecked: filled by one thread before it is shared, only read afterwards.
  struct Made: @unchecked Sendable {
    var changes: [Int: IndexChanges] = [:]
  }

  /// A change set of fewer rows is written before a second thread has got under way.
  static let fewestRows = 1_000

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
  package func workAlongside(_ changes: inout ChangeSet) -> (() -> Void)? {
    guard changes.count >= EarlyIndexEntries.fewestRows, isWorthEarlyEntries(changes) else { return nil }
    let (parts, catalogue, changeSet) = (parts, catalogue, changes)
    let early = EarlyIndexEntries(generation: catalogue.generation)
    changes.earlyEntries = early
    return {
      // What goes wrong here goes wrong again in the writer, which reports it. It must not wait for what waits for the writer.
      let made = try? parts.environment.readAtOnce { transaction -> EarlyIndexEntries.Made? in
        let writer = ChangeSetWriter(changeSet: changeSet, parts: parts, catalogue: catalogue)
        if !changeSet.isOnlyInserts, try !writer.findStored(ahead: transaction) { return nil }
        var made = EarlyIndexEntries.Made()
        for index in writer.maintainedIndexes where !index.isUnique {
          made.changes[index.number] = try writer.collectIndexChanges(index, transaction)
        }
        return made
      }
      early.fulfil(made ?? nil)
    }
  }

  /// Whether there are entries to be made, and nothing stands against making them twice or from another transaction.
  private func isWorthEarlyEntries(_ changes: ChangeSet) -> Bool {
    guard catalogue.indexes.maintained.contains(where: { !$0.isUnique }) else { return false }
    if changes.isOnlyInserts { return true }
    // A derived value may have changed although the version, as far as the context knows it, has not; and a deletion of a row of any
    // version has no row to compare.
    guard changes.inserts.isEmpty, parts.schema.derivedSources == nil,
      !changes.deletes.contains(where: { $0.baseVersion == RowDeletion.anyVersion })
    else { return false }
    if changes.deletes.count >= EarlyIndexEntries.fewestRows { return true }
    var changed = SlotBitmap()
    for update in changes.updates { changed.formUnion(update.changedSlots) }
    return catalogue.indexes.maintained.contains { index in
      !index.isUnique && changed.intersects(index.slots)
    }
  }
}
