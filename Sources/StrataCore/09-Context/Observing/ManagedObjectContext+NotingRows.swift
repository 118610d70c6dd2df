import HashTreeCollections

extension ManagedObjectContext {
  /// What the context's strata hold is about to be dropped.
  func noteUnsavedRows() {
    guard observation.isObserved, !strata.isEmpty else { return }
    for layer in strata.layers {
      for rows in layer.tables.values {
        for (key, row) in rows { noteRow(key, row.bound, \.refreshed) }
      }
    }
  }

  /// What a merge policy was asked about may show other values.
  func note(_ conflicts: [Any]) {
    guard observation.isObserved else { return }
    for conflict in conflicts {
      switch conflict {
      case let conflict as MergeConflict: observation.pending.refreshed.append(conflict.sourceObject.objectID)
      case let conflict as ConstraintConflict:
        let objects = conflict.conflictingObjects + [conflict.databaseObject].compactMap { $0 }
        observation.pending.refreshed += objects.map(\.objectID)
      default: break
      }
    }
  }
}
