import StrataCore

/// What a batch insertion answers.
public typealias NSBatchInsertRequestResultType = BatchResultType

/// What a batch update answers.
public enum NSBatchUpdateRequestResultType: UInt, Sendable, CaseIterable, SpelledEnumeration {
  typealias Core = BatchResultType

  /// Whether it was done.
  case statusOnlyResultType = 0
  /// The IDs of the updated objects.
  case updatedObjectIDsResultType = 1
  /// How many objects were updated.
  case updatedObjectsCountResultType = 2
}

/// What a batch deletion answers.
public enum NSBatchDeleteRequestResultType: UInt, Sendable, CaseIterable, SpelledEnumeration {
  typealias Core = BatchResultType

  /// Whether it was done.
  case resultTypeStatusOnly = 0
  /// The IDs of the deleted objects.
  case resultTypeObjectIDs = 1
  /// How many objects were deleted.
  case resultTypeCount = 2
}

/// What a batch has answered.
public class NSBatchResult: NSPersistentStoreResult {
  let answered: BatchResultType
  /// A `Bool`, an `[NSManagedObjectID]` or an `Int`, as `resultType` says.
  public let result: Any?

  init(_ outcome: BatchResult) {
    answered = outcome.resultType
    result = outcome.result
  }
}

/// What a batch insertion has answered.
public final class NSBatchInsertResult: NSBatchResult {
  /// What was asked for.
  public var resultType: NSBatchInsertRequestResultType { answered }
}

/// What a batch update has answered.
public final class NSBatchUpdateResult: NSBatchResult {
  /// What was asked for.
  public var resultType: NSBatchUpdateRequestResultType { NSBatchUpdateRequestResultType(answered) }
}

/// What a batch deletion has answered.
public final class NSBatchDeleteResult: NSBatchResult {
  /// What was asked for.
  public var resultType: NSBatchDeleteRequestResultType { NSBatchDeleteRequestResultType(answered) }
}
