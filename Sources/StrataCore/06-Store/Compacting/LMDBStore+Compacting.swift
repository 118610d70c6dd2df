import Foundation

extension LMDBStore: CompactableStore {
  package var compactableStore: (any CompactableStore)? { self }

  /// Makes the store's file as short as what is in it, while this process and others read and save.
  ///
  /// Pages at the end of the file are moved to free ones further to the front, in short transactions of their own between which saves take place. Nothing else changes: identifiers, history,
  /// tokens and pinned generations stay. Takes as long as reading the store, and writing what is moved; no room beside the file. What pinned generations and
  /// readers of other processes show is waited for, two seconds in all, and stays where it is otherwise.
  ///
  /// Runs on the calling thread, not inside of a transaction. May be stopped or killed at any time: what was done until then is done.
  /// - Parameter step: Called between the transactions, on the calling thread; what it throws ends the compaction.
  /// - Throws: ``StorageError``: `.busy` when the store is being compacted already, or another process kept it locked for writing; `.permission` for a store that is
  ///   read-only; `.diskFull`, `.io`, `.replaced`, `.closed`; what `step` throws. The store is whole then, and every save is there.
  @discardableResult
  public func compact(
    _ step: @escaping (CompactionReport) throws -> Void = { _ in }
  ) throws -> CompactionReport {
    try requireOpen()
    try requireNotReadOnly("compact")
    let result = try parts.environment.compact { state in
      try self.requireOpen()
      try step(CompactionReport(state))
    }
    return CompactionReport(result)
  }
}
