import Foundation

/// What a history request answers with. The raw values are Core Data's (rule 281).
public enum PersistentHistoryResultType: Int, Sendable, CaseIterable {
  /// That it was done.
  case statusOnly = 0
  /// The IDs of the changed objects, each once.
  case objectIDs = 1
  /// The number of transactions, or of changes when changes were requested.
  case count = 2
  /// Transactions without their changes.
  case transactionsOnly = 3
  /// Changes, of which each knows its transaction.
  case changesOnly = 4
  /// Transactions with their changes.
  case transactionsAndChanges = 5
}

/// Asks for the history of stores that record one, or deletes the older part of it.
///
///     let request = PersistentHistoryRequest.fetchHistory(after: lastToken)
///     for transaction in try context.execute(request).transactions { … }
///
/// Predicates know of a transaction `author`, `contextName`, `bundleID`, `processID`, `storeID`, `timestamp`, `token`, `transactionNumber` and
/// `changes`; of a change `changeID`, `changeType`, `changedObjectID`, `changedEntity`, `updatedProperties` (names), `tombstone` and
/// `transaction`.
public struct PersistentHistoryRequest: Sendable {
  /// A place in a history.
  public enum Place: Sendable, Hashable {
    /// Before everything.
    case beginning
    /// Behind what the token knows.
    case token(PersistentHistoryToken)
    /// At that time.
    case date(Date)
    /// Where the consumer of that name has come to; for an unknown one, the beginning.
    case consumer(String)
  }
  enum Operation: Sendable, Hashable {
    case fetch(after: Place)
    case delete(before: Place)
    /// What the token knows, with its last transaction; in the store `keeping`, that one stays.
    case deleteThrough(PersistentHistoryToken, keeping: UUID?)
  }

  let operation: Operation
  /// What is answered. Default: transactions with their changes; of a deletion the status.
  public var resultType: PersistentHistoryResultType
  /// Which transactions are wanted; nil for all. Of a deletion: the oldest that match are deleted, up to the first that does not. What does not match stays, and so
  /// does what matches behind it.
  public var transactionPredicate: FetchPredicate?
  /// Which changes are wanted; nil for all. Transactions without any of them are left out. A deletion cannot have one.
  public var changePredicate: FetchPredicate?
  /// By what transactions, or changes if these are asked for, are sorted: keys of predicates. Default: as they were committed. Others take memory
  /// for all that match.
  public var sortDescriptors: [FetchSort] = []
  /// Whether the newest transaction comes first.
  public var isNewestFirst = false
  /// Only what was committed before the commit of this number: where a reader from the newest on goes on. Means something of one store only.
  package var below: UInt64?
  /// Whether stores that the token does not know are read from their beginning on. Without, they are left out.
  package var includesUnknownStores = false
  /// Whether numbers in tombstones are `NSNumber`s, as code written for Core Data casts them.
  package var speaksFoundation = false
  /// The most transactions, or changes if these are asked for; 0 for all. Of a deletion the most transactions, in one store, oldest first.
  public var fetchLimit = 0
  /// How many to leave out at the beginning. A deletion cannot have an offset.
  public var fetchOffset = 0
  /// How many transactions are read at a time.
  public var fetchBatchSize = 128
  /// The stores that are concerned, by their UUIDs; nil for all.
  public var affectedStores: Set<UUID>?

  private init(_ operation: Operation, _ resultType: PersistentHistoryResultType) {
    self.operation = operation
    self.resultType = resultType
  }

  /// What was committed behind `place`.
  public static func fetchHistory(after place: Place) -> PersistentHistoryRequest {
    PersistentHistoryRequest(.fetch(after: place), .transactionsAndChanges)
  }

  /// What was committed after the moment of `token`; everything for nil (rule 282). Stores that the token does not know are left out.
  public static func fetchHistory(after token: PersistentHistoryToken?) -> PersistentHistoryRequest {
    fetchHistory(after: token.map { .token($0) } ?? .beginning)
  }

  /// What was committed after `date` (rule 282).
  public static func fetchHistory(after date: Date) -> PersistentHistoryRequest {
    fetchHistory(after: .date(date))
  }

  /// What was committed after `transaction`; everything for nil (rule 282).
  public static func fetchHistory(after transaction: PersistentHistoryTransaction?)
    -> PersistentHistoryRequest
  {
    fetchHistory(after: transaction?.token)
  }

  /// Deletes what was committed before `place`: the transaction that it names stays (rule 283).
  public static func deleteHistory(before place: Place) -> PersistentHistoryRequest {
    PersistentHistoryRequest(.delete(before: place), .statusOnly)
  }

  /// Deletes what was committed before `date` (rule 283).
  public static func deleteHistory(before date: Date) -> PersistentHistoryRequest {
    deleteHistory(before: .date(date))
  }

  /// Deletes what was committed before the token's last transaction (rule 283); nothing for nil.
  public static func deleteHistory(before token: PersistentHistoryToken?) -> PersistentHistoryRequest {
    deleteHistory(before: token.map { .token($0) } ?? .beginning)
  }

  /// Deletes what was committed before `transaction` (rule 283); nothing for nil. In other stores, that is what the fetch had come past when it came to
  /// the transaction.
  public static func deleteHistory(before transaction: PersistentHistoryTransaction?)
    -> PersistentHistoryRequest
  {
    guard let transaction else { return deleteHistory(before: .beginning) }
    let store = UUID(uuidString: transaction.storeID)
    return PersistentHistoryRequest(.deleteThrough(transaction.token, keeping: store), .statusOnly)
  }

  /// Deletes what the token knows, with its last transaction in each store.
  package static func deleteHistory(through token: PersistentHistoryToken) -> PersistentHistoryRequest {
    PersistentHistoryRequest(.deleteThrough(token, keeping: nil), .statusOnly)
  }
}

/// What a history request has answered.
public struct PersistentHistoryResult: Sendable {
  /// What was asked for.
  public let resultType: PersistentHistoryResultType
  /// The transactions, when they were asked for.
  public internal(set) var transactions: [PersistentHistoryTransaction] = []
  /// The changes, when only they were asked for.
  public internal(set) var changes: [PersistentHistoryChange] = []
  /// The changed objects, when they were asked for.
  public internal(set) var objectIDs: [ManagedObjectID] = []
  /// How many transactions there were, or changes if these were asked for; of a deletion how many transactions are gone.
  public internal(set) var count = 0

  init(_ resultType: PersistentHistoryResultType) { self.resultType = resultType }

  /// What Core Data's code expects, by ``resultType``.
  public var result: Any {
    switch resultType {
    case .statusOnly: true
    case .objectIDs: objectIDs
    case .count: count
    case .transactionsOnly, .transactionsAndChanges: transactions
    case .changesOnly: changes
    }
  }
}
