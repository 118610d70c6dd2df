import Foundation

/// One record as a context's unsaved changes leave it: what contexts above read, and what the context's save hands down.
///
///     base ──(changed slots)──▶ row        base is what lies beneath the context's own changes: its parent's or the store's
///
/// Immutable and shared between threads.
final class StratumRow: Sendable {
  /// What the context does to the record.
  enum Kind: Sendable { case insert, update, delete }

  let kind: Kind
  /// The entity in its store.
  let bound: BoundEntity
  let primaryKey: UInt64
  /// The record with all changes; nil for a deletion.
  let row: RowSnapshot?
  /// Values of `row` that are too large for it and are in no store.
  let externals: [StratumValue]
  /// The slots whose values differ from `base`; all for an insert.
  let changedSlots: SlotBitmap
  /// The record beneath; nil for an insert.
  let base: RowSnapshot?
  /// Whether `base` is a row of the store and not one that a context below has not saved.
  let isBaseStored: Bool
  /// Whether `row` was encoded over `base` itself, so that a store may take it as it is.
  let isFinal: Bool
  /// Values of transient attributes that travel with the record (rule 165).
  let transients: TransientValues?
  /// Changes of to-many relationships that are not in the rows; of a deletion only what had been removed before.
  let edges: StratumEdges
  /// Of a deletion: the references that were no longer those of `base` when the record was deleted. None of them forbids the deletion.
  let leftReferences: SlotBitmap
  /// Of an update without changed slots: the object was saved with the values and the members that it had.
  let isResaved: Bool

  init(
    _ kind: Kind, _ bound: BoundEntity, _ primaryKey: UInt64, row: RowSnapshot?,
    externals: [StratumValue] = [],
    changedSlots: SlotBitmap = SlotBitmap(), base: RowSnapshot?, isBaseStored: Bool, isFinal: Bool = false,
    transients: TransientValues? = nil, edges: StratumEdges = [:], leftReferences: SlotBitmap = SlotBitmap(),
    isResaved: Bool = false
  ) {
    self.isResaved = isResaved
    self.edges = edges
    self.leftReferences = leftReferences
    self.kind = kind
    self.bound = bound
    self.primaryKey = primaryKey
    self.row = row
    self.externals = externals
    self.changedSlots = changedSlots
    self.base = base
    self.isBaseStored = isBaseStored
    self.isFinal = isFinal
    self.transients = transients
  }

  var identifier: ManagedObjectID { ManagedObjectID(token: bound.token, primaryKey: primaryKey) }

  /// A large value of `row` that is in no store yet, or nil.
  func unsavedValue(_ slot: Int) -> AttributeValue? {
    guard let reference = row?.externalReference(slot, bound.layout) else { return nil }
    return externals.first { $0.slot == slot && $0.version == reference.version }.flatMap {
      RowBytes.externalValue($0.bytes, kind: bound.layout.kind(of: slot))
    }
  }

  /// The value in `slot`, read from the store when it is large and older than the change.
  func value(_ slot: Int, in store: StoreBinding) throws -> AttributeValue {
    guard let row else { return .null }
    if let value = row.value(slot, bound.layout) { return value }
    return try unsavedValue(slot) ?? store.value(of: row, slot, bound, primaryKey)
  }

  /// The changed slots and their values, as an editor of `base` would have set them.
  func draft(from store: StoreBinding) throws -> RowDraft {
    let draft = kind == .insert ? bound.makeDraft() : RowDraft.make(bound.layout)
    let slots = kind == .insert ? bound.persistentSlots : changedSlots
    try slots.forEach { draft[$0] = try value($0, in: store) }
    return draft
  }
}

/// A value outside its row that has not been saved.
struct StratumValue: Sendable {
  let slot: Int
  /// The version in the row's reference to it.
  let version: UInt32
  let bytes: Data
}

/// Values of transient attributes by slot, on their way between contexts.
///
/// Unchecked: attributes of a declared type hold Sendable values. One of undefined type holds whatever its owner put in, and
/// who shares such an object between contexts answers for that, as in Core Data (rule 165).
struct TransientValues: @unchecked Sendable {
  let values: [Int: Any]

  /// Nil when there are none. What is kept of large stored values (negative numbers) does not travel.
  init?(_ values: [Int: Any]?) {
    guard let values = values?.filter({ $0.key >= 0 }), !values.isEmpty else { return nil }
    self.values = values
  }

  /// These over `older` ones: a child has only those that it has set itself.
  static func laid(_ newer: TransientValues?, over older: TransientValues?) -> TransientValues? {
    guard let newer, let older else { return newer ?? older }
    return TransientValues(older.values.merging(newer.values) { $1 })
  }
}

// MARK: One change over another

extension StratumRow {
  /// `change`, by a child, laid over this, which belongs to the same layer: the net effect of both (rule 153). Nil when nothing
  /// is left.
  func followed(by change: StratumRow, in store: StoreBinding) throws -> StratumRow? {
    switch change.kind {
    case .insert: return revived(by: change)
    case .delete: return kind == .insert ? nil : deletion(change)
    case .update:
      let base = base(beneath: change)
      let (row, externals) =
        base?.base == self.base?.base ? try combined(with: change, in: store) : (change.row, change.externals)
      return StratumRow(
        kind, bound, primaryKey, row: row, externals: externals,
        changedSlots: changedSlots.union(change.changedSlots),
        base: base, isBaseStored: isBaseStored,
        transients: TransientValues.laid(change.transients, over: transients),
        edges: edges.followed(by: change.edges), isResaved: isResaved && change.isResaved)
    }
  }

  /// Whether only to-many relationships or transient values have changed: no value of the row is at stake then, whoever has written a newer one.
  var isOnlyLinked: Bool { kind == .update && changedSlots.isEmpty }

  /// Whether the record is saved just as it was.
  var changesNothing: Bool { isResaved && transients == nil }

  /// What lies beneath this and `change` together: the newer stored row, if this says nothing of the row.
  private func base(beneath change: StratumRow) -> RowSnapshot? {
    guard isOnlyLinked, isBaseStored, change.isBaseStored, let base, let theirs = change.base,
      theirs.version > base.version
    else { return base }
    return theirs
  }

  /// `change`, by a child, laid over this, which is on its way down: this is what lies beneath.
  func covered(by change: StratumRow, in store: StoreBinding) throws -> StratumRow {
    switch change.kind {
    case .insert: return change
    case .delete:
      return StratumRow(
        .delete, bound, primaryKey, row: nil, base: row, isBaseStored: false, edges: change.edges,
        leftReferences: change.leftReferences)
    case .update:
      let (row, externals) = try combined(with: change, in: store)
      return StratumRow(
        .update, bound, primaryKey, row: row, externals: externals, changedSlots: change.changedSlots,
        base: self.row,
        isBaseStored: false, transients: TransientValues.laid(change.transients, over: transients),
        edges: change.edges, isResaved: change.isResaved)
    }
  }

  /// This, which was read above something that is no longer there, as a change of `row`.
  func moved(onto row: RowSnapshot, isStored: Bool, keeping kept: [StratumValue], in store: StoreBinding)
    throws
    -> StratumRow
  {
    if kind == .delete {
      return StratumRow(
        .delete, bound, primaryKey, row: nil, base: row, isBaseStored: isStored, edges: edges,
        leftReferences: leftReferences)
    }
    var (result, externals) = (self.row, kept + self.externals)
    if base?.base != row.base { (result, externals) = try laid(over: row, keeping: kept, in: store) }
    return StratumRow(
      .update, bound, primaryKey, row: result, externals: externals, changedSlots: changedSlots, base: row,
      isBaseStored: isStored, isFinal: true, transients: transients, edges: edges, isResaved: isResaved)
  }

  /// An update of no value, only of to-many relationships or transient values, as one of all values: it is to meet the absence of its
  /// row, like any other update.
  var wholeIfOnlyLinked: StratumRow? {
    guard isOnlyLinked else { return nil }
    return StratumRow(
      .update, bound, primaryKey, row: row, externals: externals, changedSlots: bound.persistentSlots,
      base: base,
      isBaseStored: isBaseStored, transients: transients, edges: edges)
  }

  /// This, which lay over `older`, as one change with it.
  func merged(with older: StratumRow) -> StratumRow? {
    switch (older.kind, kind) {
    case (.insert, .delete): nil
    case (_, .delete): older.deletion(self)
    case (_, .insert): older.revived(by: self)
    case (.delete, .update): older
    case (_, .update):
      StratumRow(
        older.kind, bound, primaryKey, row: row, externals: older.externals + externals,
        changedSlots: older.changedSlots.union(changedSlots), base: older.base,
        isBaseStored: older.isBaseStored,
        transients: TransientValues.laid(transients, over: older.transients),
        edges: older.edges.followed(by: edges), isResaved: older.isResaved && isResaved)
    }
  }

  /// `insertion` of the record that this deletes (a deletion undone after it was saved to a parent): the row beneath is there
  /// still, and all its values are set.
  private func revived(by insertion: StratumRow) -> StratumRow {
    guard kind == .delete, let base else { return insertion }
    return StratumRow(
      .update, bound, primaryKey, row: insertion.row, externals: insertion.externals,
      changedSlots: bound.persistentSlots, base: base, isBaseStored: isBaseStored,
      transients: insertion.transients)
  }

  /// `deletion` of what this changes.
  private func deletion(_ deletion: StratumRow) -> StratumRow {
    var left = deletion.leftReferences
    if kind == .update {
      for relationship in bound.entity.relationships where changesReference(relationship) {
        left.insert(relationship.slot)
      }
    } else {
      left.formUnion(leftReferences)
    }
    return StratumRow(
      .delete, bound, primaryKey, row: nil, base: base(beneath: deletion), isBaseStored: isBaseStored,
      edges: edges.removals.followed(by: deletion.edges), leftReferences: left)
  }

  /// This one's row with the changed values of `change`.
  private func combined(with change: StratumRow, in store: StoreBinding) throws -> (
    RowSnapshot, [StratumValue]
  ) {
    guard let mine = row, let theirs = change.row else {
      trap("a change of a deleted record was let through")
    }
    // The child edited just this row.
    if change.base?.base == mine.base { return (theirs, externals + change.externals) }
    return try change.laid(over: mine, keeping: externals, in: store)
  }

  /// This change as an edit of `row`, which is not what it was made from: only its changed values count (rule 155, better).
  private func laid(over row: RowSnapshot, keeping kept: [StratumValue], in store: StoreBinding) throws -> (
    RowSnapshot, [StratumValue]
  ) {
    var writer = RowSlabWriter()
    let (result, added) = try RowEncoder.encode(
      layout: bound.layout, stamp: bound.stamp, primaryKey: primaryKey, version: row.version &+ 1, base: row,
      draft: try draft(from: store), into: &writer)
    return (result, kept + added.map { StratumValue($0, of: result) })
  }
}

extension StratumValue {
  /// A value that was encoded together with `row`.
  init(_ value: ExternalValue, of row: RowSnapshot) {
    self.init(slot: value.slot, version: row.version, bytes: value.bytes)
  }
}
