extension ManagedObjectContext {
  /// The context's layers for one fetch, newest first.
  ///
  /// The layers are taken before the store is read: changes only ever move down, so nothing is missed. And they are taken once:
  /// what children save while the store is read comes with the next fetch, or half of it would be in this one.
  func takeLayers() -> [StratumLayer] {
    var layers: [StratumLayer]
    // Objects that are here must show just what the layers say: what a child saves at this very moment is in both or in neither.
    repeat {
      drainReceived()
      layers = strata.layers
    } while strata.mustMerge
    return layers
  }

  /// A large value of an unsaved row that no store has: the context that wrote it, or one it was handed to, does.
  func unsavedValue(of row: RowSnapshot, _ slot: Int, _ object: ManagedObject) -> AttributeValue? {
    guard object.state.contains(.unsavedRow) else { return nil }
    for strata in [strata] + ancestors where !strata.isEmpty {
      if let value = strata.layers.unsavedValue(of: row, slot, object.home, object.primaryKey) {
        return value
      }
    }
    return nil
  }
}

extension [StratumLayer] {
  /// A large value that `row` refers to and that one of the layers has.
  func unsavedValue(of row: RowSnapshot, _ slot: Int, _ bound: BoundEntity, _ primaryKey: UInt64)
    -> AttributeValue?
  {
    guard let reference = row.externalReference(slot, bound.layout) else { return nil }
    let table = StratumLayer.Table(storeIndex: bound.storeIndex, hierarchy: bound.hierarchyNumber)
    for layer in self {
      let values = layer.row(table, primaryKey)?.externals ?? []
      for value in values where value.slot == slot && value.version == reference.version {
        return RowBytes.externalValue(value.bytes, kind: bound.layout.kind(of: slot))
      }
    }
    return nil
  }
}

extension StratumRow {
  /// The value in `slot` of a row that is one of `layers`. A change that leaves a large value alone only refers to it: then a layer beneath, or
  /// the store, has it.
  func value(_ slot: Int, among layers: [StratumLayer], in store: StoreBinding) throws -> AttributeValue {
    if !isBaseStored, let row, row.value(slot, bound.layout) == nil, unsavedValue(slot) == nil,
      let found = layers.unsavedValue(of: row, slot, bound, primaryKey)
    {
      return found
    }
    return try value(slot, in: store)
  }
}
