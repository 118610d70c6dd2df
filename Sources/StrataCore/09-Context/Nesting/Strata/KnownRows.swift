import Synchronization

/// The newest stored rows that a context which has children has written itself, has merged, or had edited.
///
/// A child may have read an older row than the one that is stored when it saves. What its parents have written since, or know of, is no
/// conflict: the child's edit goes on top of it. What another context has written is one, and goes to the merge policy of the save that
/// reaches the store; until then the child's edit is based on the newest row that is known here, so that no context above sees the context
/// fall back behind its own saves.
///
///     attempts  ── what saves under way are about to write: known, because children may read it before the save returns
///     current   ── what has been written, or merged
///     previous  ── the generation before
///
/// Noted are updates, what batches delete, and what changes were based on that are taken back, or saved without a change of the row; of the last ones as many as two generations hold. When older ones have been forgotten, a
/// row that is not known counts as known. Beyond a number of bytes only versions are kept, and no row that a child's edit could be based on.
///
/// Used from any thread.
final class KnownRows: Sendable {
  fileprivate struct Entry {
    /// `deleted` when a batch has deleted the row.
    let version: UInt32
    /// A copy: rows share memory with those that were saved or read together with them.
    let row: RowSnapshot?

    var byteCount: Int { row.map { Int($0.count) } ?? 0 }
  }

  fileprivate typealias Entries = [StratumLayer.Place: Entry]

  private struct State {
    var attempts: [(number: Int, entries: Entries)] = []
    var attemptCount = 0
    var current: Entries = [:]
    var previous: Entries = [:]
    /// Of the rows in `current`.
    var bytes = 0
    var hasForgotten = false
    /// Whether rows that batches have deleted are among them, or were.
    var hasDeletions = false

    func entry(_ place: StratumLayer.Place) -> Entry? {
      for attempt in attempts.reversed() { if let entry = attempt.entries[place] { return entry } }
      return current[place] ?? previous[place]
    }

    mutating func note(_ entry: Entry, _ place: StratumLayer.Place) {
      // Merges may come late, behind what the context has written itself.
      if entry.version != KnownRows.deleted, let known = current[place] ?? previous[place],
        known.version != KnownRows.deleted, known.version > entry.version
      {
        return
      }
      let old = current.updateValue(entry, forKey: place)
      bytes += entry.byteCount - (old?.byteCount ?? 0)
      if bytes <= KnownRows.generationBytes { return }
      current[place] = Entry(version: entry.version, row: nil)
      bytes -= entry.byteCount
    }

    /// Begins a new generation when this one is full; returns what is forgotten, to be freed without the lock.
    mutating func turn() -> Entries {
      if current.count < KnownRows.generationSize { return [:] }
      let old = previous
      hasForgotten = hasForgotten || !old.isEmpty
      previous = current
      current = [:]
      bytes = 0
      return old
    }
  }

  private let state = Mutex(State())
  /// How many rows one generation holds, and of how many bytes.
  private static let generationSize = 65_536
  private static let generationBytes = 32 << 20
  /// The version of a row that a batch has deleted.
  private static let deleted = UInt32.max

  private func change(_ body: (inout State) -> Void) {
    let old = state.withLock { state in
      body(&state)
      return state.turn()
    }
    Garbage.release(old, count: old.count)
  }

  // MARK: Noting

  /// Notes rows that updates have written.
  func note(_ updates: ArraySlice<RowChange>, in store: StoreBinding) {
    if updates.isEmpty { return }
    let entries = Self.entries(updates, in: store)
    change { state in for (place, entry) in entries { state.note(entry, place) } }
    noteOmission(updates.count)
  }

  /// Notes one row.
  func note(_ row: RowSnapshot, of bound: BoundEntity, _ primaryKey: UInt64) {
    let entry = Self.entry(row)
    change { $0.note(entry, bound.place(primaryKey)) }
  }

  /// Notes what changes were based on that are gone, and have not changed their rows. A child may have edited a record above one of them: its edit is one of that stored row, and what another
  /// context writes meanwhile is a conflict.
  func note(basesOf changes: [StratumRow]) {
    let entries = changes.suffix(2 * Self.generationSize).compactMap { change in
      change.isBaseStored ? change.base.map { (change.place, Self.entry($0)) } : nil
    }
    if entries.isEmpty { return }
    change { state in
      // What a batch has deleted since stays deleted: an edit of it meets that (rule 199).
      for (place, entry) in entries where state.entry(place)?.version != Self.deleted {
        state.note(entry, place)
      }
    }
    noteOmission(changes.count)
  }

  /// Notes rows that a batch has deleted.
  func noteDeletions(_ keys: ArraySlice<UInt64>, of bound: BoundEntity) {
    change { state in
      state.hasDeletions = true
      for key in keys { state.note(Entry(version: Self.deleted, row: nil), bound.place(key)) }
    }
  }

  /// A save under way.
  struct Attempt { fileprivate let number: Int }

  /// Notes the rows that updates are about to write, until `end`.
  func begin(_ updates: [RowChange], in store: StoreBinding) -> Attempt {
    let entries = Self.entries(updates[...], in: store)
    return state.withLock { state in
      state.attemptCount += 1
      state.attempts.append((state.attemptCount, entries))
      return Attempt(number: state.attemptCount)
    }
  }

  /// The rows were written, all of them; or none was, and what was known before counts again.
  func end(_ attempt: Attempt, areWritten: Bool, count: Int) {
    change { state in
      guard let place = state.attempts.firstIndex(where: { $0.number == attempt.number }) else { return }
      let entries = state.attempts.remove(at: place).entries
      if areWritten { for (place, entry) in entries { state.note(entry, place) } }
    }
    if areWritten { noteOmission(count) }
  }

  /// Of very many only the last are noted.
  private func noteOmission(_ count: Int) {
    if count > 2 * Self.generationSize { state.withLock { $0.hasForgotten = true } }
  }

  private static func entries(_ updates: ArraySlice<RowChange>, in store: StoreBinding) -> Entries {
    var entries: Entries = [:]
    for update in updates.suffix(2 * generationSize) {
      guard let bound = store.entities[update.entity] else { continue }
      entries[bound.place(update.primaryKey)] = entry(update.row)
    }
    return entries
  }

  private static func entry(_ row: RowSnapshot) -> Entry {
    Entry(version: row.version, row: row.withBytes { RowSnapshot(copying: $0) })
  }

  // MARK: Asking

  /// Whether a row that is gone may have been deleted by a batch.
  func isDeletedByBatch(_ place: StratumLayer.Place) -> Bool {
    state.withLock { state in
      if let known = state.entry(place) { return known.version == Self.deleted }
      return state.hasDeletions && state.hasForgotten
    }
  }

  /// Whether the row of that version is one of these, and the newest one that is. A row that may have been forgotten counts as known.
  func find(_ version: UInt32, of place: StratumLayer.Place) -> (isKnown: Bool, newest: RowSnapshot?) {
    state.withLock { state in
      guard let known = state.entry(place) else { return (state.hasForgotten, nil) }
      return (known.version >= version, known.row)
    }
  }
}

extension Strata {
  /// A save leaves rows as they are of which nothing but to-many relationships or transient values has changed, or nothing at all. What those changes were based on is known,
  /// and is noted before they are gone: a child may have edited the record above them, and its edit is one of that stored row.
  func noteRowsLeft(by changes: ChangeSet, in store: StoreBinding) {
    if !publishes || changes.touched.isEmpty && changes.resaved.isEmpty { return }
    let left = [changes.touched, changes.resaved].joined().compactMap { touch in
      store.entities[touch.entity].flatMap { frozenRow($0.layerTable, touch.primaryKey) }
    }
    if !left.isEmpty { knownRows.note(basesOf: left) }
  }

  /// Runs `commit`, which writes `updates`. In a context that has children, or gets its first one meanwhile, what was written is known.
  func knowing(
    _ updates: [RowChange], in store: StoreBinding, _ commit: () throws -> CommitNotice
  ) rethrows -> CommitNotice {
    let attempt = publishes && !updates.isEmpty ? knownRows.begin(updates, in: store) : nil
    let notice: CommitNotice
    do {
      notice = try commit()
    } catch {
      if let attempt { knownRows.end(attempt, areWritten: false, count: updates.count) }
      throw error
    }
    if let attempt {
      knownRows.end(attempt, areWritten: true, count: updates.count)
    } else if publishes {
      knownRows.note(updates[...], in: store)
    }
    if publishes { knownRows.note(notice.derivedRows[...], in: store) }
    return notice
  }
}
