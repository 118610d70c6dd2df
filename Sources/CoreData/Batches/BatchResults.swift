import StrataCore

/// What a batch insertion answers.
public typealias NSBatchInsertRequestResultType = BatchResultType
/// What a batch update answers.
public typealias NSBatchUpdateRequestResultType = BatchResultType
/// What a batch deletion answers.
public typealias NSBatchDeleteRequestResultType = BatchResultType

extension BatchResultType {
  /// Whether it was done.
  public static var statusOnlyResultType: BatchResultType { .statusOnly }
  /// The IDs of the updated objects.
  public static var updatedObjectIDsResultType: BatchResultType { .objectIDs }
  /// How many objects were updated.
  public static var updatedObjectsCountResultType: BatchResultType { .count }
  /// Whether it was done.
  public static var resultTypeStatusOnly: BatchResultType { .statusOnly }
  /// The IDs of the deleted objects.
  public static var resultTypeObjectIDs: BatchResultType { .objectIDs }
  /// How many objects were deleted.
  public static var resultTypeCount: BatchResultType { .count }
}

/// What a batch has answered.
public class NSBatchResult: NSPersistentStoreResult {
  /// What was asked for.
  public let resultType: BatchResultType
  /// A `Bool`, an `[NSManagedObjectID]` or an `Int`, as `resultType` says.
  public let result: Any?

  init(_ outcome: BatchResult) {
    resultType = outcome.resultType
    result = outcome.result
  }
}

/// What a batch insertion has answered.
public final class NSBatchInsertResult: NSBatchResult {}
/// What a batch update has answered.
public final class NSBatchUpdateResult: NSBatchResult {}
/// What a batch deletion has answered.
public final class NSBatchDeleteResult: NSBatchResult {}
