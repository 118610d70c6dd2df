/// What a context without children has edited, as its finished events left it: by reference, nothing is encoded.
///
///     end of an event ──▶ capture: draft, row beneath, changes of relationships     a few loads and one reference per edited object
///     next edit       ──▶ the object copies its draft                               so that what is captured never changes
///     first child     ──▶ rows                                                      on the child's thread
///
/// It is a log: of two records of one place the later one counts.
struct CapturedEdits: Sendable {
  private(set) var records: ContiguousArray<CapturedRecord> = []

  var isEmpty: Bool { records.isEmpty }

  /// Adds what came later. `pending` says how many objects the context has changed: a log that is much longer is made shorter.
  mutating func append(_ later: ContiguousArray<CapturedRecord>, pending: Int) {
    if records.isEmpty {
      records = later
      return
    }
    records.append(contentsOf: later)
    if records.count > 2 * max(pending, Self.fewestToShorten) { shorten() }
  }

  /// Adds what came later in a layer above.
  mutating func append(_ later: CapturedEdits) {
    if later.isEmpty { return }
    var later = later
    // What it takes back is its own.
    later.shorten()
    records.append(contentsOf: later.records)
  }

  /// Forgets what was edited of these records: it is saved, or given up.
  mutating func remove(_ places: [StratumLayer.Place]) {
    if isEmpty || places.isEmpty { return }
    let gone = Set(places)
    records.removeAll { gone.contains($0.place) }
  }

  private static let fewestToShorten = 1_024

  /// Keeps the last record of each place that has changes.
  private mutating func shorten() {
    var seen = Set<StratumLayer.Place>(minimumCapacity: records.count)
    var kept = ContiguousArray(
      records.reversed().filter { seen.insert($0.place).inserted && $0.kind != nil })
    kept.reverse()
    records = kept
  }

  /// The rows that children see. What cannot be encoded is left out: the save will report why.
  ///
  /// - Parameter beneath: What a save that is under way hands down of a record.
  consuming func rows(over beneath: (StratumLayer.Place) -> StratumRow?) -> [StratumRow] {
    shorten()
    return records.compactMap { record in
      try? (beneath(record.place).map(record.above) ?? record).stratumRow()
    }
  }
}

/// One object's part.
///
/// Unchecked: what is captured is never edited again. Transient values are as in `TransientValues`.
struct CapturedRecord: @unchecked Sendable {
  /// Nil: nothing of the record is unsaved any more.
  let kind: StratumRow.Kind?
  /// Whether the row beneath is a row of the store.
  let isBaseStored: Bool
  let primaryKey: UInt64
  /// Held by the context whose edit it is, which lives longer. Nil only when `rest` has the place.
  let home: Unmanaged<BoundEntity>?
  /// Nil for a deletion, and where only relationships or transient values have changed.
  let draft: RowDraft?
  /// The row beneath the edits; nil for a new record.
  let base: RowSnapshot?
  let rest: Rest?

  /// What few objects have.
  final class Rest {
    /// Transient values, and, by negative numbers, large values that are in no store.
    let transients: [Int: Any]?
    /// Changes of relationships that are not in rows, by the relationship's number.
    let members: [(relationship: Int, entries: ContiguousArray<MemberChanges.Entry>)]
    /// Of a record that has no object any more.
    let place: StratumLayer.Place?

    init(
      transients: [Int: Any]? = nil,
      members: [(relationship: Int, entries: ContiguousArray<MemberChanges.Entry>)] = [],
      place: StratumLayer.Place? = nil
    ) {
      self.transients = transients
      self.members = members
      self.place = place
    }
  }

  @inline(__always)
  init(
    _ kind: StratumRow.Kind?, _ home: Unmanaged<BoundEntity>?, _ primaryKey: UInt64, draft: RowDraft? = nil,
    base: RowSnapshot? = nil, isBaseStored: Bool = true, rest: Rest? = nil
  ) {
    self.kind = kind
    self.home = home
    self.primaryKey = primaryKey
    self.draft = draft
    self.base = base
    self.isBaseStored = isBaseStored
    self.rest = rest
  }

  /// The same edit as one of what a save that is under way hands down.
  func above(_ flown: StratumRow) -> CapturedRecord {
    guard kind == .update || kind == .delete, let row = flown.row, row.base != base?.base else { return self }
    return CapturedRecord(kind, home, primaryKey, draft: draft, base: row, isBaseStored: false, rest: rest)
  }

  /// Nothing of the record at `place` is unsaved any more.
  init(nothingAt place: StratumLayer.Place) {
    self.init(nil, nil, place.primaryKey, rest: Rest(place: place))
  }

  var place: StratumLayer.Place {
    if let place = rest?.place { return place }
    guard let home else { trap("a captured edit has no place") }
    return home._withUnsafeGuaranteedRef { $0.place(primaryKey) }
  }

  /// What children see: no transient values, which stay with the context (rule 165). Reads no store.
  /// - Throws: `RowError` for a value that cannot be encoded.
  func stratumRow() throws -> StratumRow? {
    guard let kind, let home = home?.takeUnretainedValue() else { return nil }
    let edges = edges
    guard kind != .delete, let draft else {
      if kind != .delete, base == nil || edges.isEmpty { return nil }
      return StratumRow(kind, home, primaryKey, nil, base: base, isBaseStored: isBaseStored, edges: edges)
    }
    var writer = RowSlabWriter()
    // An edit back to what lies beneath is a record as well: it replaces what was published of the object before.
    let change =
      if let base {
        try RowChange.updated(
          home, primaryKey, draft, ManagedObject.slotsThatDiffer(draft, from: base, home), over: base,
          into: &writer)
      } else { try RowChange.inserted(home, primaryKey, draft, into: &writer) }
    return StratumRow(
      kind, home, primaryKey, change, base: base, isBaseStored: isBaseStored, edges: edges,
      kept: keptValues(in: change.row, home))
  }

  private var edges: StratumEdges {
    var result: StratumEdges = [:]
    for (relationship, entries) in rest?.members ?? [] {
      result[relationship] = StratumEdges.Value(entries)
    }
    return result
  }

  /// Large values in no store that `row`, which was encoded over a row of another context, still refers to.
  private func keptValues(in row: RowSnapshot, _ home: BoundEntity) -> [StratumValue] {
    guard !isBaseStored, let kept = rest?.transients else { return [] }
    return kept.compactMap { place, value in
      guard place < 0, draft?.isChanged(~place) != true,
        let bytes = (value as? AttributeValue)?.externalBytes,
        let reference = row.externalReference(~place, home.layout)
      else { return nil }
      return StratumValue(slot: ~place, version: reference.version, bytes: bytes)
    }
  }
}

extension ManagedObject {
  /// What contexts above see of the object's unsaved changes; nil when it has none of its own. The draft in it is shared: code that keeps the
  /// record notes that in the object's state.
  ///
  /// - Throws: why the row beneath cannot be read.
  @inline(__always)
  final func captured() throws -> CapturedRecord? {
    if state.isDisjoint(with: [.inserted, .updated, .deleted]) { return nil }
    if state.contains(.inserted), state.isDisjoint(with: .deleted), hasDraft, transients == nil,
      relations == nil
    {
      // A large import.
      return CapturedRecord(
        .insert, boundReference, primaryKey, draft: draft, isBaseStored: !state.contains(.unsavedRow))
    }
    if let snapshot, hasDraft, transients == nil, relations == nil,
      state.isDisjoint(with: [.inserted, .deleted, .inFlight])
    {
      // Edited values of a saved record.
      return CapturedRecord(
        .update, boundReference, primaryKey, draft: draft, base: snapshot,
        isBaseStored: !state.contains(.unsavedRow))
    }
    return try capturedSlowly()
  }

  @inline(never)
  private final func capturedSlowly() throws -> CapturedRecord? {
    // What is being saved of it lies beneath what was edited since.
    let flown = state.contains(.inFlight) ? context?.rowInFlight(of: self) : nil
    let isBaseStored = flown == nil && !state.contains(.unsavedRow)
    if state.contains(.deleted) {
      return CapturedRecord(
        .delete, boundReference, primaryKey, base: flown ?? snapshot, isBaseStored: isBaseStored)
    }
    let isNew = state.contains(.inserted)
    var members: [(relationship: Int, entries: ContiguousArray<MemberChanges.Entry>)] = []
    for (number, state) in relations?.states ?? []
    where state.hasChanges && state.relationship.isToldBesideRows {
      members.append((number, state.changes.entries))
    }
    if !isNew, flown == nil, snapshot == nil, hasDraft || !members.isEmpty { _ = try requireRow() }
    let base = isNew ? nil : flown ?? snapshot
    if !hasDraft, base == nil || transients == nil && members.isEmpty { return nil }
    return CapturedRecord(
      isNew ? .insert : .update, boundReference, primaryKey, draft: draft, base: base,
      isBaseStored: isBaseStored,
      rest: transients == nil && members.isEmpty
        ? nil : CapturedRecord.Rest(transients: transients, members: members))
  }

  /// The same as children read it.
  ///
  /// - Throws: also `RowError` for a value that cannot be encoded.
  final func stratumRow() throws -> StratumRow? { try captured()?.stratumRow() }
}
