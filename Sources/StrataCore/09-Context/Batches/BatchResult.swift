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
  /// An insert does not count the rows that the merge policy leaves out, and a record that several rows concern once.
  public let count: Int
  /// The IDs of these rows; nil unless asked for. Of an insert in the order of the rows, otherwise in no particular one. An insert names
  /// the records that its rows have become, those too that were there before and have been updated.
  public let objectIDs: [ManagedObjectID]?
  /// Those of `objectIDs` whose records were there before and stay: none of a delete, all of an update; nil unless asked for.
  public let updatedObjectIDs: [ManagedObjectID]?

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
