import Synchronization

/// The newest stored rows that a context which has children has written itself, or has merged.
///
/// A child may have read an older row than the one that is stored when it saves. What its parents have written since, or know of, is no
/// conflict: the child's edit goes on top of it. What somebody else has written is one, and goes to the merge policy of the save that
/// reaches the store; until then the child's edit lies over the newest row that is known here, so that nobody above sees the context
/// fall back behind its own saves. Only updates are noted, of the last ones as many as two generations hold; when older ones have
/// been forgotten, a row that is not known counts as known.
///
/// Used from any thread.
final class KnownRows: Sendable {
  private struct Entry {
    /// `deleted` when a batch has deleted the row.
    let version: UInt32
    /// A copy: rows share memory with those that were saved or read together with them.
    var row: RowSnapshot?
    /// The row before, while it is not certain that `row` is written.
    var before: RowSnapshot?
  }

  private struct State {
    var current: [StratumLayer.Place: Entry] = [:]
    var previous: [StratumLayer.Place: Entry] = [:]
    var hasForgotten = false
    /// Whether rows that batches have deleted are among them, or were.
    var hasDeletions = false

    func entry(_ place: StratumLayer.Place) -> Entry? { current[place] ?? previous[place] }

    mutating func note(_ entry: Entry, _ place: StratumLayer.Place) {
      // Merges may come late, behind what the context has written itself.
      if entry.version != KnownRows.deleted, let known = self.entry(place),
        known.version != KnownRows.deleted,
        known.version > entry.version
      {
        return
      }
      current[place] = entry
      if current.count < KnownRows.generationSize { return }
      hasForgotten = hasForgotten || !previous.isEmpty
      previous = current
      current = [:]
    }
  }

  private let state = Mutex(State())
  /// How many rows one generation holds.
  private static let generationSize = 65_536
  /// The version of a row that a batch has deleted.
  private static let deleted = UInt32.max

  // MARK: Noting

  /// Notes the rows that updates have written, or are about to write: then `forgetRows` is to follow if they do not.
  func note(_ updates: ArraySlice<RowChange>, in store: StoreBinding, areWritten: Bool) {
    if updates.isEmpty { return }
    let entries = updates.compactMap { update in
      store.entities[update.entity].map { (Self.entry(update.row), Self.place($0, update.primaryKey)) }
    }
    state.withLock { state in
      for (var entry, place) in entries {
        if !areWritten { entry.before = state.entry(place)?.row }
        state.note(entry, place)
      }
    }
  }

  /// Notes one row.
  func note(_ row: RowSnapshot, of bound: BoundEntity, _ primaryKey: UInt64) {
    let entry = Self.entry(row)
    state.withLock { $0.note(entry, Self.place(bound, primaryKey)) }
  }

  /// Notes rows that a batch has deleted.
  func noteDeletions(_ keys: ArraySlice<UInt64>, of bound: BoundEntity) {
    state.withLock { state in
      state.hasDeletions = true
      for key in keys { state.note(Entry(version: Self.deleted, row: nil), Self.place(bound, key)) }
    }
  }

  /// Rows that were about to be written were not: nobody is to see them.
  func forgetRows(of updates: [RowChange], in store: StoreBinding) {
    if updates.isEmpty { return }
    state.withLock { state in
      for update in updates {
        guard let bound = store.entities[update.entity] else { continue }
        let place = Self.place(bound, update.primaryKey)
        guard let entry = state.entry(place), entry.version == update.row.version else { continue }
        state.current[place] = Entry(version: entry.version, row: entry.before)
      }
    }
  }

  private static func entry(_ row: RowSnapshot) -> Entry {
    Entry(version: row.version, row: row.withBytes { RowSnapshot(copying: $0) })
  }

  private static func place(_ bound: BoundEntity, _ primaryKey: UInt64) -> StratumLayer.Place {
    StratumLayer.Place(
      table: StratumLayer.Table(storeIndex: bound.storeIndex, hierarchy: bound.hierarchyNumber),
      primaryKey: primaryKey)
  }

  // MARK: Asking

  /// Whether a row that is gone may have been deleted by a batch.
  func isDeletedByBatch(_ place: StratumLayer.Place) -> Bool {
    state.withLock { state in
      if let known = state.entry(place) { return known.version == Self.deleted }
      return state.hasDeletions && state.hasForgotten
    }
  }

  /// Whether the row of that version is one of these. Nil when it has been forgotten which they are.
  func contains(_ version: UInt32, of place: StratumLayer.Place) -> Bool? {
    state.withLock { state in
      if let known = state.entry(place) { return known.version >= version }
      return state.hasForgotten ? nil : false
    }
  }

  /// The newest row that is known; nil when there is none.
  func row(_ place: StratumLayer.Place) -> RowSnapshot? { state.withLock { $0.entry(place)?.row } }
}
