import Foundation

extension LMDBStore {
  /// Writes the store at `url` anew without free pages, beside it, and puts the copy in its place: a file as small as can be. The
  /// UUID, all keys, the history and tokens stay what they are.
  ///
  /// Needs room for a second file and as long as reading the store takes. Nobody may have the store open.
  /// - Returns: The bytes of the file before and afterwards.
  /// - Throws: ``StorageError``: `.busy` when the store is open in this process or another, or was saved to meanwhile; `.diskFull`; what opening
  ///   throws. The store is what it was then, and nothing lies beside it.
  package static func compact(at url: URL) throws -> (before: Int, after: Int) {
    let file = try StoreFile(url.path, .system)
    var options = LMDBStoreOptions()
    options.opensAsItIs = true
    let store = try openAsCarried(at: url, options: options).store
    defer { store.close() }
    try store.requireSoleUse()
    // Before the copy begins: should there be a write in between, the copy has it, and is made for nothing.
    let (moment, before) = (try store.moment(), try store.statistics().fileSize)
    let draft = try store.parts.environment.writeCopy(beside: file, compacting: true)
    do {
      try draft.takePlace(of: store, at: file, ifStillAt: moment)
    } catch {
      draft.remove()
      throw error
    }
    return (before, try file.status()?.size ?? 0)
  }

  /// Makes the store's file shorter where it lies, while others have it open.
  ///
  /// - Throws: as ``compact(_:)``; what opening throws.
  package static func compactInUse(
    at url: URL, _ step: @escaping (CompactionReport) throws -> Void
  ) throws -> CompactionReport {
    var options = LMDBStoreOptions()
    options.opensAsItIs = true
    let store = try openAsCarried(at: url, options: options).store
    defer { store.close() }
    return try store.compact(step)
  }
}

extension StoreDraft {
  /// Gives the draft, which is flushed and closed, the name of `store`, which is open for writing, unless something was written since that moment.
  ///
  /// The store is locked for writing meanwhile. A program that opens it just then reads on what there was, and its writes fail as `.replaced`.
  /// - Throws: ``StorageError``: `.busy` when something was written, or somebody has the store open.
  func takePlace(of store: LMDBStore, at file: StoreFile, ifStillAt moment: StoreMoment) throws {
    struct Done: Error {}
    try store.requireSoleUse()
    let (parts, draft) = (store.parts, self.file.path)
    do {
      try parts.environment.write { transaction in
        guard try parts.moment(before: transaction) == moment else { return }
        try parts.environment.retireLog(transaction)
        try Environment.move(draft, over: file)
        // Nothing is to be committed to the file that has gone.
        throw Done()
      }
    } catch is Done {
      forget()
      return
    }
    throw StorageError(
      .busy, operation: "rename", path: file.path,
      detail: "Another program has written to the store meanwhile. Nothing was changed; try again.")
  }
}
