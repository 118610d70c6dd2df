extension StoreBinding {
  /// An attribute of a row, read from the store when it is too large to lie in the row.
  ///
  /// A large value that was replaced in the store before it was read no longer exists: then the newest one is
  /// what a reader gets. Nil-valued when the row is gone. `newest` is asked for what `view` does not have: the large values of newer rows.
  func value(
    of row: RowSnapshot, _ slot: Int, _ bound: BoundEntity, _ primaryKey: UInt64,
    in view: (any StoreReading)? = nil, newest: (any StoreReading)? = nil
  ) throws -> AttributeValue {
    let view: any StoreReading = view ?? store
    let layout = bound.entity.layout
    var row = row
    while true {
      if let value = row.value(slot, layout) { return value }
      guard let reference = row.externalReference(slot, layout) else { return .null }
      if let bytes = try view.externalValue(
        entity: bound.entity.number, primaryKey: primaryKey, slot: slot, version: reference.version)
      {
        return RowBytes.externalValue(bytes, kind: layout.kind(of: slot)) ?? .null
      }
      if let bytes = try newest?.externalValue(
        entity: bound.entity.number, primaryKey: primaryKey, slot: slot, version: reference.version)
      {
        return RowBytes.externalValue(bytes, kind: layout.kind(of: slot)) ?? .null
      }
      guard
        let next = try view.row(hierarchy: bound.entity.hierarchyNumber, primaryKey: primaryKey)?.snapshot,
        next.version != row.version
      else { return .null }
      row = next
    }
  }
}
