extension ManagedObjectContext {
  /// Takes the context's layers for one fetch.
  ///
  /// The layers are taken before the store is read: changes only ever move down, so nothing is missed. And they are taken once:
  /// what children save while the store is read comes with the next fetch, or half of it would be in this one.
  func takeLayers(_ overlay: inout FetchOverlay) {
    // Objects that are here must show just what the layers say: what a child saves at this very moment is in both or in neither.
    repeat {
      drainReceived()
      overlay.ownLayers = strata.layers
    } while strata.mustMerge
  }

  /// What the unsaved changes of contexts below do to `request`, and what children have saved here.
  func addUnsavedRows(
    to overlay: inout FetchOverlay, _ request: ResolvedFetchRequest, _ specification: FetchSpecification
  ) throws {
    var layers: [(layer: StratumLayer, isOwn: Bool)] = []
    // Seen from here, what contexts below have not saved is what is stored (rule 87).
    if specification.includesPendingChanges { layers = overlay.ownLayers.map { ($0, true) } }
    for strata in ancestors where !strata.isEmpty { layers += strata.layers.map { ($0, false) } }
    if layers.isEmpty { return }
    for binding in bindings(for: request, specification) {
      let table = StratumLayer.Table(storeIndex: binding.index, hierarchy: request.hierarchyNumber)
      let present = layers.compactMap { layer in layer.layer.tables[table].map { ($0, layer.isOwn) } }
      if present.isEmpty { continue }
      let objects = stores.tables(for: binding).tables[request.hierarchyNumber]
      var hidden: Set<UInt64> = []
      for (rows, isOwn) in present {
        for (key, row) in rows where hidden.insert(key).inserted {
          guard row.kind != .delete, request.entityNumbers.contains(row.bound.entityNumber) else { continue }
          // What is edited here takes part by itself.
          if specification.includesPendingChanges, let object = objects.object(for: key),
            object.hidesStoredRow
          {
            continue
          }
          if let evaluation = try evaluation(binding.index, &overlay, request, specification),
            try evaluation.matches(.unsaved(row), entity: row.bound.entityNumber)
          {
            overlay.rows.append(.unsaved(row, binding, isOwn: isOwn))
          }
        }
      }
      overlay.hiddenKeys[binding.index] = hidden
    }
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
