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
    guard object.state.contains(.unsavedRow), let reference = row.externalReference(slot, object.home.layout)
    else { return nil }
    let table = StratumLayer.Table(
      storeIndex: object.home.storeIndex, hierarchy: object.home.hierarchyNumber)
    for strata in [strata] + ancestors where !strata.isEmpty {
      for layer in strata.layers {
        let values = layer.row(table, object.primaryKey)?.externals ?? []
        for value in values where value.slot == slot && value.version == reference.version {
          return RowBytes.externalValue(value.bytes, kind: object.home.layout.kind(of: slot))
        }
      }
    }
    return nil
  }
}
