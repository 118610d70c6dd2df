extension ManagedObjectContext {
  /// What the unsaved changes of contexts below do to `request`, and what children have saved here.
  ///
  /// The layers are taken before the store is read: changes only ever move down, so nothing is missed.
  func addUnsavedRows(
    to overlay: inout FetchOverlay, _ request: ResolvedFetchRequest, _ specification: FetchSpecification
  ) {
    var layers: [(layer: StratumLayer, isOwn: Bool)] = []
    // Seen from here, what contexts below have not saved is what is stored (rule 87).
    if specification.includesPendingChanges { layers = strata.layers.map { ($0, true) } }
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
            !object.state.isDisjoint(with: .ownChange)
          {
            continue
          }
          if request.matches(
            entity: row.bound.entityNumber, identifier: row.identifier, value: { row.value($0, in: binding) })
          {
            overlay.rows.append(.unsaved(row, binding, isOwn: isOwn))
          }
        }
      }
      overlay.hiddenKeys[binding.index] = hidden
    }
  }
}
