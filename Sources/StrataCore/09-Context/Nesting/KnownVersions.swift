import Synchronization

/// The newest versions of stored rows that a context which has children has written itself, or has merged.
///
/// A child may have read an older row than the one that is stored when it saves. What its parents have written since, or know of, is no
/// conflict: the child's edit goes on top of it. What somebody else has written is one, and goes to the merge policy of the save that
/// reaches the store. Only updates are noted, of the last ones as many as two generations hold; when older ones have
/// been forgotten, a row that is not known counts as known.
///
/// Used from any thread.
final class KnownVersions: Sendable {
  private struct State {
    var current: [StratumLayer.Place: UInt32] = [:]
    var previous: [StratumLayer.Place: UInt32] = [:]
    var hasForgotten = false
    /// Whether rows that batches have deleted are among them, or were.
    var hasDeletions = false

    mutating func note(_ version: UInt32, of bound: BoundEntity, _ primaryKey: UInt64) {
      let table = StratumLayer.Table(storeIndex: bound.storeIndex, hierarchy: bound.hierarchyNumber)
      current[StratumLayer.Place(table: table, primaryKey: primaryKey)] = version
      if current.count < KnownVersions.generationSize { return }
      hasForgotten = hasForgotten || !previous.isEmpty
      previous = current
      current = [:]
    }
  }

  private let state = Mutex(State())
  /// How many versions one generation holds.
  fileprivate static let generationSize = 65_536

  /// Notes the rows that updates are about to write, or have written.
  func note(_ updates: [RowChange], in store: StoreBinding) {
    if updates.isEmpty { return }
    state.withLock { state in
      for update in updates {
        guard let bound = store.entities[update.entity] else { continue }
        state.note(update.row.version, of: bound, update.primaryKey)
      }
    }
  }

  /// Notes one row.
  func note(_ version: UInt32, of bound: BoundEntity, _ primaryKey: UInt64) {
    state.withLock { $0.note(version, of: bound, primaryKey) }
  }

  /// The version of a row that a batch has deleted.
  private static let deleted = UInt32.max

  /// Notes rows that a batch has deleted.
  func noteDeletions(_ keys: ArraySlice<UInt64>, of bound: BoundEntity) {
    state.withLock { state in
      state.hasDeletions = true
      for key in keys { state.note(Self.deleted, of: bound, key) }
    }
  }

  /// Whether a row that is gone may have been deleted by a batch.
  func isDeletedByBatch(_ place: StratumLayer.Place) -> Bool {
    state.withLock { state in
      if let known = state.current[place] ?? state.previous[place] { return known == Self.deleted }
      return state.hasDeletions && state.hasForgotten
    }
  }

  /// Whether the row of that version is one of these. Nil when it has been forgotten which they are.
  func contains(_ version: UInt32, of place: StratumLayer.Place) -> Bool? {
    state.withLock { state in
      if let known = state.current[place] ?? state.previous[place] { return known >= version }
      return state.hasForgotten ? nil : false
    }
  }
}
