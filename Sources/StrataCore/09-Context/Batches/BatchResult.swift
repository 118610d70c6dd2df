/// What a batch request answers with. The raw values are Core Data's (rule 268).
public enum BatchResultType: UInt, Sendable, CaseIterable {
  /// That it was done.
  case statusOnly = 0
  /// The IDs of the rows.
  case objectIDs = 1
  /// How many rows.
  case count = 2
}

/// What a batch request has done.
public struct BatchResult: Sendable {
  /// What was asked for.
  public let resultType: BatchResultType
  /// How many rows were inserted, matched and so updated, or deleted; a delete counts those that delete rules took along. There
  /// whatever was asked for.
  public let count: Int
  /// The IDs of these rows; nil unless asked for. Of an insert in the order of the rows, otherwise in no particular one.
  public let objectIDs: [ManagedObjectID]?

  /// What Core Data's code expects: true, the IDs, or the number, by ``resultType``.
  public var result: Any {
    switch resultType {
    case .statusOnly: true
    case .objectIDs: objectIDs ?? []
    case .count: count
    }
  }
}

/// Core Data's name for the result of a batch insert.
public typealias BatchInsertResult = BatchResult
/// Core Data's name for the result of a batch update.
public typealias BatchUpdateResult = BatchResult
/// Core Data's name for the result of a batch delete.
public typealias BatchDeleteResult = BatchResult
