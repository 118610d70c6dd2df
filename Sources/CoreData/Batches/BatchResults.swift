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

/// What a batch has answered. An incremental store answers with an object of a subclass of its own.
open class NSBatchResult: NSPersistentStoreResult {
  let answered: BatchResultType
  private let value: Any?
  /// An `NSNumber` for the status and for a count, or an `[NSManagedObjectID]`, as `resultType` says.
  open var result: Any? { value }

  init(_ outcome: BatchResult) {
    answered = outcome.resultType
    value = FoundationNumbers.handedOut(outcome.result)
  }

  /// The status of a batch that was carried out: for subclasses, which override `result` where more was asked for.
  public override init() {
    answered = .statusOnly
    value = NSNumber(value: true)
  }
}

/// What a batch insertion has answered.
open class NSBatchInsertResult: NSBatchResult {
  /// What was asked for.
  open var resultType: NSBatchInsertRequestResultType { answered }
}

/// What a batch update has answered.
open class NSBatchUpdateResult: NSBatchResult {
  /// What was asked for.
  open var resultType: NSBatchUpdateRequestResultType { NSBatchUpdateRequestResultType(answered) }
}

/// What a batch deletion has answered.
open class NSBatchDeleteResult: NSBatchResult {
  /// What was asked for.
  open var resultType: NSBatchDeleteRequestResultType { NSBatchDeleteRequestResultType(answered) }
}
