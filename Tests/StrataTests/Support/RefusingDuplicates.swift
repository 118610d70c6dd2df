import Strata

/// A policy that settles what others have changed, but lets a save with duplicates fail.
final class RefusingDuplicates: MergePolicy, @unchecked Sendable {
  // Safe: has no state.
  override func resolve(constraintConflicts list: [ConstraintConflict]) throws {
    try MergePolicy.error.resolve(constraintConflicts: list)
  }
}
