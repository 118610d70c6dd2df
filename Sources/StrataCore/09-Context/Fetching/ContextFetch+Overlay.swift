extension ContextFetch {
  /// Finds what the unsaved changes do to the request. What cannot be read of unsaved objects is reported.
  func layUnsavedChanges() throws {
    // Before the first look at a store: changes move down.
    overlay.ownLayers = steady?.ownLayers ?? context.takeLayers()
    overlay.layersBelow = steady?.layersBelow ?? context.layersBelow
    let hierarchies = request.travelledHierarchies
    travels = !hierarchies.isEmpty
    overlay.isDisturbed = travels && isDisturbed(hierarchies)
    if overlay.isDisturbed { holdStill() }
    try addUnsavedRows()
    guard specification.includesPendingChanges, context.changes.hasChanges || context.saving.flight != nil
    else {
      return
    }
    // As they are now: predicates may call code of the program.
    let (inserted, updated, deleted) =
      (context.changes.inserted, context.changes.updated, context.changes.deleted)
    for object in inserted where isConcerned(object) { try addIfMatching(object) }
    // Of an object of which only relationships have changed, the stored row is the one it has.
    for object in updated where object.hidesStoredRow && isConcerned(object) {
      overlay.hidden += 1
      try addIfMatching(object)
    }
    for object in deleted where isConcerned(object) { overlay.hidden += 1 }
    // What is being saved and was not edited since.
    var flying: [ManagedObject] = []
    context.saving.flight?.forEachObject { object, kind in
      guard object.context === context, object.state.isDisjoint(with: [.inserted, .updated, .deleted]),
        object.state.contains(.inFlight), isConcerned(object)
      else { return }
      overlay.hidden += 1
      if kind != .delete { flying.append(object) }
    }
    for object in flying { try addIfMatching(object) }
  }

  private func isConcerned(_ object: ManagedObject) -> Bool {
    object.home.entity.hierarchyNumber == request.hierarchyNumber
      && request.entityNumbers.contains(object.home.entity.number)
      && specification.affectedStores?.contains(object.home.token.hierarchy.storeIdentifier) ?? true
  }

  private func addIfMatching(_ object: ManagedObject) throws {
    guard let evaluation = try evaluation(object.home.storeIndex),
      try evaluation.matches(.object(object), entity: object.home.entity.number)
    else { return }
    overlay.matching.append(object)
  }

  /// Adds what contexts below have not saved, and what children have saved to this context.
  private func addUnsavedRows() throws {
    var layers: [(layer: StratumLayer, isOwn: Bool)] = []
    // Seen from here, what contexts below have not saved is what is stored (rule 87).
    if specification.includesPendingChanges { layers = overlay.ownLayers.map { ($0, true) } }
    layers += overlay.layersBelow.map { ($0, false) }
    if layers.isEmpty { return }
    for binding in bindings {
      let table = StratumLayer.Table(storeIndex: binding.index, hierarchy: request.hierarchyNumber)
      let present = layers.compactMap { layer in layer.layer.tables[table].map { ($0, layer.isOwn) } }
      if present.isEmpty { continue }
      let objects = context.stores.tables(for: binding).tables[request.hierarchyNumber]
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
          if let evaluation = try evaluation(binding.index),
            try evaluation.matches(.unsaved(row), entity: row.bound.entityNumber)
          {
            overlay.rows.append(.unsaved(row, binding, isOwn: isOwn))
          }
        }
      }
      overlay.hiddenKeys[binding.index] = hidden
    }
  }

  /// Whether something that is not saved may have a say in the answer beside the objects that are fetched.
  private func isDisturbed(_ hierarchies: Set<Int>) -> Bool {
    func isTouched(_ layer: StratumLayer) -> Bool {
      layer.tables.keys.contains { hierarchies.contains($0.hierarchy) }
    }
    if overlay.layersBelow.contains(where: isTouched) { return true }
    guard specification.includesPendingChanges else { return false }
    if overlay.ownLayers.contains(where: isTouched) { return true }
    func isTouched(_ object: ManagedObject) -> Bool { hierarchies.contains(object.home.hierarchyNumber) }
    if context.changes.inserted.contains(where: isTouched)
      || context.changes.updated.contains(where: isTouched)
      || context.changes.deleted.contains(where: isTouched)
    {
      return true
    }
    var isFlying = false
    context.saving.flight?.forEachObject { object, _ in if isTouched(object) { isFlying = true } }
    return isFlying
  }
}
