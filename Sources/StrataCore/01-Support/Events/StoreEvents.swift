import Foundation

// What is told of stores and of what contexts have them do. Durations are of a clock that does not stop and is not set.

/// A save of a context: to its stores, or to its parent.
public struct SaveEvent: Sendable {
  /// What to do with the changes was said to.
  public enum Destination: Sendable, Hashable {
    /// The stores with these UUIDs; none when nothing was to be written.
    case stores([UUID])
    /// The context's parent.
    case parent
  }

  /// The context, by name and kind.
  public internal(set) var context: String
  /// The context's `transactionAuthor`.
  public internal(set) var author: String?
  /// Where the changes went.
  public internal(set) var destination: Destination
  /// How many objects were inserted. Of a save that failed, how many there were to be.
  public internal(set) var insertedCount = 0
  /// How many objects were changed: those whose rows were written. An object of which only members of a to-many relationship have changed has no new row,
  /// and is not counted unless the save has failed or went to a parent. One whose derived values the store has written with it is.
  public internal(set) var updatedCount = 0
  /// How many objects were deleted.
  public internal(set) var deletedCount = 0
  /// How often the changes were handed over, to however many stores: more than once when a merge policy was asked. Zero of a save that failed before.
  public internal(set) var attemptCount = 0
  /// From the call until it returns: hooks, validation, encoding, writing, notifications. Of an asynchronous save until the objects show it.
  public internal(set) var duration: Duration
  /// How much of it the changes were in the hands of the stores, waiting and attempts that were refused included. Zero of a save to a parent.
  public internal(set) var timeInStore = Duration.zero
  /// How much of that they waited until other saves and batches of this process were written, in attempts that were not refused. What is waited for another process comes after that, and is
  /// told by ``StrataEvent/wait(_:)``.
  public internal(set) var timeWaited = Duration.zero
  /// Whether it was `saveAsynchronously()`.
  public internal(set) var isAsynchronous = false
  /// Why it failed; nil when it did not.
  public internal(set) var error: (any Error)?
}

/// A request that one store has answered.
public struct FetchEvent: Sendable {
  /// What was asked for.
  public enum Answer: String, Sendable, Hashable {
    /// How many match.
    case count
    /// Their IDs, or objects without values.
    case identifiers
    /// Objects with their values.
    case objects
    /// Rows of values.
    case values
  }

  /// The context, by name and kind.
  public internal(set) var context: String
  /// The name of the entity.
  public internal(set) var entityName: String
  /// What was asked for.
  public internal(set) var answer: Answer
  /// The UUID of the store.
  public internal(set) var store: UUID
  /// How many rows, or IDs, the answer has, or the count; nil of rows of values, which several stores may make together, and of a request that failed.
  public internal(set) var returnedCount: Int?
  /// How many rows were looked at; nil where the engine does not count them, and of rows of values.
  public internal(set) var examinedCount: Int?
  /// How long the store took. Making objects of the answer comes after that.
  public internal(set) var duration: Duration
  /// Why it failed; nil when it did not.
  public internal(set) var error: (any Error)?

  let makePredicate: @Sendable () -> String?
  let makePlan: @Sendable () -> String?

  /// The predicate as a format string, with the values that are asked for, which may be somebody's data; nil for all objects, and where only the resolved form
  /// is left. Made when it is read.
  public var predicate: String? { makePredicate() }
  /// How the request was executed, as `explain` names it, without values; nil of a request that failed, and of rows of values. Made when it is read.
  public var plan: String? { makePlan() }
}

/// Values that were missing and were read.
public struct FaultEvent: Sendable {
  /// What was missing.
  public enum Subject: Sendable, Hashable {
    /// The row of an object.
    case row
    /// The members of the to-many relationship of that name.
    case members(String)
  }

  /// The context, by name and kind.
  public internal(set) var context: String
  /// The name of the object's entity.
  public internal(set) var entityName: String
  /// What was missing.
  public internal(set) var subject: Subject
  /// The relationship that led to the object, as `Entity.relationship`, where that is known: it was walked in the same event, while somebody asked for faults.
  public internal(set) var relationship: String?
  /// How many objects were concerned: 1, or more for faults that were fulfilled together.
  public internal(set) var count: Int
}

/// Faults that one place of the program fires one by one, where one request would do: known as N + 1.
///
/// Told on the thread that fires, before the call that fires returns: who looks at the calling functions finds the place. Counted for each place, entity and
/// relationship, from zero in each event of the context. Told when the count reaches the threshold of the observer that asks for the least, again
/// at ten times as many, and so on.
public struct RepeatedFaultsEvent: Sendable {
  /// The context, by name and kind.
  public internal(set) var context: String
  /// The name of the objects' entity.
  public internal(set) var entityName: String
  /// What is missing each time.
  public internal(set) var subject: FaultEvent.Subject
  /// The relationship that leads to the objects, as `Entity.relationship`, where that is known.
  public internal(set) var relationship: String?
  /// How many there have been so far.
  public internal(set) var count: Int
  /// The return addresses of the calling functions, the innermost first, the library's own among them. Empty where the system does not tell them: then all
  /// places of the program count as one.
  public internal(set) var returnAddresses: [UInt]
}

/// A question to a merge policy.
public struct ConflictEvent: Sendable {
  /// The context, by name and kind.
  public internal(set) var context: String
  /// How many rows others had changed.
  public internal(set) var rowCount: Int
  /// How many values that must be unique others had.
  public internal(set) var uniquenessCount: Int
  /// The names of the entities concerned, in order.
  public internal(set) var entityNames: [String]
  /// Which policy was asked: `error`, `mergeByPropertyStoreTrump`, `mergeByPropertyObjectTrump`, `overwrite`, `rollback`, or the name of its class.
  public internal(set) var policy: String
  /// Why it was not settled; nil when it was, and the save is tried again.
  public internal(set) var error: (any Error)?
}

/// A thread that could not go on at once.
public struct WaitEvent: Sendable {
  /// What it waited for.
  public enum Subject: Sendable, Hashable {
    /// Until other saves and batches of this process were written to the store with that UUID.
    case writeTurn(store: UUID)
    /// Until another process had written to the store in that file.
    case otherProcess(path: String)
    /// Until the queue of the context was free for `performAndWait`.
    case contextQueue(context: String)
  }

  /// What it waited for.
  public internal(set) var subject: Subject
  /// How long.
  public internal(set) var duration: Duration
}

/// A batch request that one store has carried out.
public struct BatchEvent: Sendable {
  /// What it does.
  public enum Operation: String, Sendable, Hashable { case insert, update, delete }

  /// The context, by name and kind.
  public internal(set) var context: String
  /// What it does.
  public internal(set) var operation: Operation
  /// How many rows it inserted, changed or deleted.
  public internal(set) var rowCount: Int
  /// From handing it to the store until it is written, waiting included.
  public internal(set) var duration: Duration
}

/// A lightweight migration of a store on LMDB.
public struct MigrationEvent: Sendable {
  /// The store.
  public internal(set) var url: URL
  /// Whether no row was touched: the file stays, and only its model is new.
  public internal(set) var isInPlace: Bool
  /// How long it took.
  public internal(set) var duration: Duration
  /// Why it failed; nil when it did not.
  public internal(set) var error: (any Error)?
}

/// Pages of a file that are not used again because somebody still reads an old commit.
///
/// Looked for at every 64th commit that this process makes to the file, and told while the oldest reader is at least 512 commits behind: newer ones are ordinary. What the file's own
/// log keeps for this process is not told.
public struct HeldPagesEvent: Sendable {
  /// The store's file.
  public internal(set) var path: String
  /// The process that reads the oldest commit.
  public internal(set) var process: Int32
  /// How many commits have been made since the one it reads.
  public internal(set) var commitCount: Int
  /// How many bytes have been replaced since and wait for it.
  public internal(set) var byteCount: Int
  /// How long the oldest query generation of this process has been pinned; nil when none is.
  public internal(set) var oldestGeneration: Duration?
}
