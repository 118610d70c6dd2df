import Foundation

// Rows of a batch insert that share values with records there are: what a merge policy says of them, and how a refusal is told.

extension MergePolicyType {
  /// What happens to such rows (rule 205). There are no objects that a policy could be asked about, so its type counts.
  var duplicates: DuplicateRule {
    switch self {
    case .error: .refuse
    case .mergeByPropertyStoreTrump, .rollback: .keep
    case .mergeByPropertyObjectTrump: .update
    case .overwrite: .replace
    }
  }
}

extension ManagedObjectContext {
  /// What a refused batch throws: 133021, which names the rows, their values, and the records that have them (rules 204, 273).
  func refusal(_ refused: BatchDuplicates, in store: StoreBinding) -> CoreDataError {
    let conflicts = refused.duplicates.map { conflict($0, in: store) }
    let shown = conflicts.prefix(5).map { "\($0)" }.joined(separator: "; ")
    let more = conflicts.count > 5 ? " … and more" : ""
    let reason =
      switch refused.reason {
      case .rule: ""
      case .severalRecords: " A row cannot become two records, nor give one the values of another."
      case .otherEntity:
        " Only a record of the same entity, or of one that inherits from it, can take over a row's values."
      }
    return CoreDataError(
      .managedObjectConstraintMerge,
      "The batch would make duplicates; nothing was written. \(shown)\(more).\(reason)",
      userInfo: [
        CoreDataError.Key.constraintConflicts: conflicts, CoreDataError.Key.saveConflicts: conflicts,
        NSUnderlyingErrorKey: refused,
      ])
  }

  private func conflict(_ duplicate: BatchDuplicates.Duplicate, in store: StoreBinding)
    -> ConstraintConflict
  {
    let words = words(duplicate, in: store)
    guard case .record(let entity, let key) = duplicate.other, let bound = store.entities[entity] else {
      return ConstraintConflict(batch: duplicate, words, nil, nil, speaksFoundation: speaksFoundation)
    }
    // The error is told all the same when the record cannot be read now.
    let row = try? store.store.row(hierarchy: bound.hierarchyNumber, primaryKey: key)?.snapshot
    let stored = object(with: ManagedObjectID(token: bound.token, primaryKey: key))
    return ConstraintConflict(batch: duplicate, words, stored, row, speaksFoundation: speaksFoundation)
  }

  private func words(_ duplicate: BatchDuplicates.Duplicate, in store: StoreBinding) -> String {
    let values = zip(duplicate.constraint, duplicate.values).map { "\($0) \($1)" }.joined(separator: ", ")
    let other: String =
      switch duplicate.other {
      case .row(let row): "record \(row + 1) of the batch"
      case .record(let entity, let key):
        store.entities[entity].map { "the stored \(ManagedObjectID(token: $0.token, primaryKey: key))" }
          ?? "a stored record"
      }
    return "Record \(duplicate.row + 1) has the same \(values) as \(other)"
  }
}
