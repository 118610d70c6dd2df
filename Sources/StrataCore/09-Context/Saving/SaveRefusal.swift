import Foundation

/// Why a store did not take a save, where the context can do something about it and try again.
enum SaveRefusal {
  /// Rows have changed underneath.
  case conflict(CommitConflict)
  /// Rows have the same values where the model says that they are unique.
  case violation(UniquenessViolation)
  /// References would lead nowhere: another context has deleted, or referred to, the same objects.
  case dangling(DanglingReferences)

  /// Nil for every other error.
  init?(_ error: any Error) {
    switch error {
    case let conflict as CommitConflict: self = .conflict(conflict)
    case let violation as UniquenessViolation: self = .violation(violation)
    case let dangling as DanglingReferences: self = .dangling(dangling)
    default: return nil
    }
  }
}

extension ManagedObjectContext {
  /// What the merge policy is to be asked about. References that would lead nowhere are no question: they are cleared here.
  ///
  /// - Throws: what stands against another attempt: 133000, 133021, `StorageError`.
  func conflicts(of refusal: SaveRefusal, in store: StoreBinding) throws -> [Any] {
    switch refusal {
    case .conflict(let conflict):
      saving.unsettled[store.index] = nil
      return makeMergeConflicts(conflict, in: store)
    case .violation(let violation): return try makeConstraintConflicts(violation, in: store)
    case .dangling(let dangling):
      try resolve(dangling, in: store)
      return []
    }
  }

  private func makeMergeConflicts(_ error: CommitConflict, in binding: StoreBinding) -> [MergeConflict] {
    let tables = stores.tables(for: binding).tables
    return error.conflicts.compactMap { row in
      guard let object = objectInConflict(row, binding, tables[row.hierarchy]) else { return nil }
      if row.stored == nil, object.isMarkedDeleted {
        // Both sides deleted the row: no conflict, nothing left to write.
        object.state.loseRow()
        return nil
      }
      return MergeConflict(object, stored: row.stored?.snapshot, newestVersion: error.newestVersion)
    }
  }

  /// What a save throws that was refused as often as it is tried.
  var conflictsGoOn: CoreDataError {
    CoreDataError(
      .persistentStoreSaveConflicts,
      "The store refused this save \(Self.mostAttempts) times, whatever the merge policy settled: other writers went on changing the "
        + "same rows, or each conflict about uniqueness that was settled led to another. Nothing was saved.")
  }

  static let mostAttempts = 100
}

extension CoreDataError {
  /// Some stores have been written, one refused (rule 145).
  static func incompleteSave(_ error: any Error) -> CoreDataError {
    CoreDataError(
      .persistentStoreIncompleteSave, "Only some of the stores could be saved: \(error)",
      userInfo: [NSUnderlyingErrorKey: error])
  }
}
