import Foundation

/// Records that a save to a parent is based on are not what they were there (rule 155): nothing was handed over.
struct ParentConflict: Error {
  /// What was to be handed over, and what the parent has: nil when the record is gone.
  let records: [(change: StratumRow, current: RowSnapshot?, isStored: Bool)]
}

extension ManagedObjectContext {
  /// Compares what the changes are based on with what the parent has. `present` is what the parent's own layers say of each.
  func findConflicts(_ changes: [StratumRow], in present: [StratumRow?]) throws {
    guard let parent else { return }
    var found: [(change: StratumRow, current: RowSnapshot?, isStored: Bool)] = []
    for (change, mine) in zip(changes, present) where change.kind != .insert && !change.changesNothing {
      guard let base = change.base else { continue }
      if let mine {
        if !change.isSame(base, mine.row) { found.append((change, mine.row, false)) }
      } else {
        let beneath = try parent.rowBeneath(change)
        if !change.isSame(base, beneath?.row) {
          found.append((change, beneath?.row, beneath?.isStored ?? true))
        }
      }
    }
    if !found.isEmpty { throw ParentConflict(records: found) }
  }

  /// Asks the merge policy.
  /// - Parameter runsHooks: Whether hooks are called on what it inserts. An attempt that begins with all hooks needs none here.
  func settle(_ conflict: ParentConflict, runsHooks: Bool = true) throws {
    var conflicts: [MergeConflict] = []
    var unsaved: [ManagedObject] = []
    for (change, current, isStored) in conflict.records {
      guard let binding = coordinator.binding(change.bound.storeIndex) else { continue }
      let table = stores.tables(for: binding).tables[change.bound.hierarchyNumber]
      let row = RowConflict(
        hierarchy: change.bound.hierarchyNumber, primaryKey: change.primaryKey,
        stored: current.map {
          FetchedRow(primaryKey: change.primaryKey, entity: change.bound.entityNumber, snapshot: $0)
        })
      guard let object = objectInConflict(row, binding, table) else { continue }
      if current == nil, object.isMarkedDeleted {
        // Both sides deleted the record.
        object.state.loseRow()
        continue
      }
      conflicts.append(MergeConflict(object, stored: current, newestVersion: change.base?.version ?? 0))
      if !isStored, current != nil { unsaved.append(object) }
    }
    defer { note(conflicts) }
    if !conflicts.isEmpty { try askPolicy(conflicts) }
    for object in unsaved where object.context === self { object.state.standOnUnsavedRow() }
    if runsHooks { try prepareWhatPolicyInserted() }
  }
}

extension StratumRow {
  /// Whether two rows of the record have the same values.
  func isSame(_ base: RowSnapshot, _ current: RowSnapshot?) -> Bool {
    guard let current else { return false }
    if base.base == current.base { return true }
    var isSame = true
    bound.persistentSlots.forEach { slot in
      if let left = base.value(slot, bound.layout), let right = current.value(slot, bound.layout) {
        if left != right { isSame = false }
      } else if base.externalReference(slot, bound.layout) != current.externalReference(slot, bound.layout) {
        isSame = false
      }
    }
    return isSame
  }
}
