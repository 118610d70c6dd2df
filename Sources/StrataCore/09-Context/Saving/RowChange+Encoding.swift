/// How edits become rows: the same for a save, a save under way off its queue, and what children see.
extension RowChange {
  /// The row of a new record.
  /// - Parameter lost: the version that a row written again counts on from; 0 for a record that was never stored.
  /// - Throws: `RowError` for a value that cannot be encoded.
  @inline(__always)
  static func inserted(
    _ home: BoundEntity, _ primaryKey: UInt64, _ draft: RowDraft, countingFrom lost: UInt32 = 0,
    into writer: inout RowSlabWriter
  ) throws -> RowChange {
    let (row, externals) = try RowEncoder.encode(
      layout: home.layout, stamp: home.stamp, primaryKey: primaryKey, version: lost &+ 1, base: nil,
      draft: draft,
      into: &writer)
    return RowChange(
      entity: home.entityNumber, primaryKey: primaryKey, baseVersion: 0, row: row, externals: externals,
      changedSlots: home.persistentSlots)
  }

  /// The new row of an edited record; nil when its values are what they were.
  /// - Throws: `RowError` for a value that cannot be encoded.
  @inline(__always)
  static func updated(
    _ home: BoundEntity, _ primaryKey: UInt64, _ draft: RowDraft, over base: RowSnapshot,
    into writer: inout RowSlabWriter
  ) throws -> RowChange? {
    let slots = ManagedObject.slotsThatDiffer(draft, from: base, home)
    return slots.isEmpty ? nil : try .updated(home, primaryKey, draft, slots, over: base, into: &writer)
  }

  /// The new row of a record of which `slots`, perhaps none, have changed.
  /// - Throws: `RowError` for a value that cannot be encoded.
  @inline(__always)
  static func updated(
    _ home: BoundEntity, _ primaryKey: UInt64, _ draft: RowDraft, _ slots: SlotBitmap, over base: RowSnapshot,
    into writer: inout RowSlabWriter
  ) throws -> RowChange {
    let (row, externals) = try RowEncoder.encode(
      layout: home.layout, stamp: home.stamp, primaryKey: primaryKey, version: base.version &+ 1, base: base,
      draft: draft, into: &writer)
    return RowChange(
      entity: home.entityNumber, primaryKey: primaryKey, baseVersion: base.version, row: row,
      externals: externals,
      changedSlots: slots)
  }
}

extension StratumRow {
  /// A record as a save hands it down and as children see it.
  /// - Parameters:
  ///   - change: what was encoded; nil for a deletion, and where only relationships or transient values have changed.
  ///   - leftReferences: of a deletion, the references that it had given up before.
  ///   - kept: large values of `base` that are in no store.
  convenience init(
    _ kind: Kind, _ bound: BoundEntity, _ primaryKey: UInt64, _ change: RowChange?, base: RowSnapshot?,
    isBaseStored: Bool, transients: TransientValues? = nil, edges: StratumEdges,
    leftReferences: SlotBitmap = SlotBitmap(),
    isResaved: Bool = false,
    kept: [StratumValue] = []
  ) {
    self.init(
      kind, bound, primaryKey, row: change?.row ?? (kind == .delete ? nil : base),
      externals: (change.map { change in change.externals.map { StratumValue($0, of: change.row) } } ?? [])
        + kept,
      changedSlots: change?.changedSlots ?? SlotBitmap(), base: kind == .insert ? nil : base,
      isBaseStored: isBaseStored, isFinal: change != nil, transients: transients,
      edges: kind == .delete ? edges.removals : edges, leftReferences: leftReferences, isResaved: isResaved)
  }
}

// MARK: What cannot be encoded

/// A value that no row can hold, with its object, as whichever thread that encodes has found it.
struct UnencodableValue: Error, @unchecked Sendable {
  // @unchecked Sendable: the object is only looked at by `error`, on its context's queue.
  let object: ManagedObject
  let reason: RowError

  /// What the save throws. Called on the context's queue.
  var error: CoreDataError {
    let entity = object.home.entity
    guard let slot = reason.slot, entity.attributes.indices.contains(slot) else {
      return CoreDataError(reason, in: entity, object)
    }
    let words =
      switch reason {
      case .valueTooLong(_, let count, let limit):
        "takes \(count) bytes, and a store takes at most \(limit) bytes as one value"
      default: "is of the wrong type or out of range"
      }
    // Without the value: whoever prints the error would print a gigabyte.
    return object.failure(
      CoreDataError.code(of: reason, in: entity), entity.attributes[slot].name, nil, words)
  }
}

extension CoreDataError {
  /// What is thrown for a value that no row can hold, where there is no object to ask, or nothing to say of a property.
  init(_ reason: RowError, in entity: EntitySchema, _ object: ManagedObject? = nil) {
    var userInfo: [String: Any] = [:]
    if let object { userInfo[Key.validationObject] = object }
    if let slot = reason.slot, entity.attributes.indices.contains(slot) {
      userInfo[Key.validationKey] = entity.attributes[slot].name
    }
    self.init(Self.code(of: reason, in: entity), reason.words(in: entity), userInfo: userInfo)
  }

  /// The code that validation has for it.
  static func code(of reason: RowError, in entity: EntitySchema) -> Code {
    guard case .valueTooLong(let slot, _, _) = reason, entity.attributes.indices.contains(slot),
      entity.attributes[slot].type == .string
    else { return .managedObjectValidation }
    return .validationStringTooLong
  }
}
