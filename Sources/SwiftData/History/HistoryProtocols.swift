/// A moment in the history of a store.
public protocol HistoryToken: Comparable, Decodable, Encodable, Hashable, Identifiable, Sendable {
  associatedtype TokenType
  /// What the moment is made of.
  var tokenValue: TokenType? { get }
}

/// What one save has changed.
public protocol HistoryTransaction: Hashable, Identifiable, Sendable {
  associatedtype TokenType: HistoryToken
  associatedtype TransactionIdentifier: Hashable
  /// When it was saved.
  var timestamp: Date { get }
  /// What was changed.
  var changes: [HistoryChange] { get }
  /// The moment after it.
  var token: TokenType { get }
  /// Its number in its store.
  var transactionIdentifier: TransactionIdentifier { get }
  /// The store.
  var storeIdentifier: String { get }
  /// The `author` of the context.
  var author: String? { get }
}

/// A model that a save has stored.
public protocol HistoryInsert<Model>: Sendable {
  associatedtype Model: PersistentModel
  associatedtype ChangeIdentifier: Hashable
  associatedtype TransactionIdentifier: Hashable
  /// The number of the change in its store.
  var changeIdentifier: ChangeIdentifier { get }
  /// The transaction that it belongs to.
  var transactionIdentifier: TransactionIdentifier { get }
  /// The model.
  var changedPersistentIdentifier: PersistentIdentifier { get }
}

/// A model that a save has changed.
public protocol HistoryUpdate<Model>: Sendable {
  associatedtype Model: PersistentModel
  associatedtype ChangeIdentifier: Hashable
  associatedtype TransactionIdentifier: Hashable
  /// The number of the change in its store.
  var changeIdentifier: ChangeIdentifier { get }
  /// The transaction that it belongs to.
  var transactionIdentifier: TransactionIdentifier { get }
  /// The model.
  var changedPersistentIdentifier: PersistentIdentifier { get }
  /// The properties that have other values or members.
  var updatedAttributes: [any PartialKeyPath<Model> & Sendable] { get }
}

/// A model that a save has deleted.
public protocol HistoryDelete<Model>: Sendable {
  associatedtype Model: PersistentModel
  associatedtype ChangeIdentifier: Hashable
  associatedtype TransactionIdentifier: Hashable
  /// The number of the change in its store.
  var changeIdentifier: ChangeIdentifier { get }
  /// The transaction that it belongs to.
  var transactionIdentifier: TransactionIdentifier { get }
  /// The model.
  var changedPersistentIdentifier: PersistentIdentifier { get }
  /// What is left of it: the attributes that are preserved on deletion.
  var tombstone: HistoryTombstone<Model> { get }
}

/// What a save has done to one model. Cast what a case holds to `DefaultHistoryInsert<Trip>` and the like to learn of which class it is.
public enum HistoryChange: Sendable {
  case insert(any HistoryInsert)
  case update(any HistoryUpdate)
  case delete(any HistoryDelete)

  /// The model.
  public var changedPersistentIdentifier: PersistentIdentifier {
    switch self {
    case .insert(let change): change.changedPersistentIdentifier
    case .update(let change): change.changedPersistentIdentifier
    case .delete(let change): change.changedPersistentIdentifier
    }
  }
}

/// A store of the program's own that knows what has been saved to it: ``ModelContext/fetchHistory(_:)`` asks it for transactions of its type.
public protocol HistoryProviding {
  associatedtype HistoryType: HistoryTransaction
  /// The type of its transactions.
  static var historyType: HistoryType.Type { get }
  /// The transactions that match, oldest first.
  /// - Throws: what keeps the store from being read.
  func fetchHistory(_ descriptor: HistoryDescriptor<HistoryType>) throws -> [HistoryType]
  /// Deletes the oldest transactions that match.
  /// - Throws: what keeps the store from being written.
  func deleteHistory(_ descriptor: HistoryDescriptor<HistoryType>) throws
}

extension HistoryProviding {
  public static var historyType: HistoryType.Type { HistoryType.self }
}

/// Which transactions are wanted, in which order, and how many.
public struct HistoryDescriptor<TransactionType> where TransactionType: HistoryTransaction {
  /// What a transaction must satisfy; nil for all of them.
  public var predicate: Predicate<TransactionType>?
  /// The most transactions; 0 for all.
  public var fetchLimit: UInt64 = 0
  /// The order; without any, as they were saved.
  public var sortBy: [SortDescriptor<TransactionType>] = []

  /// The transactions that satisfy `predicate`.
  public init(predicate: Predicate<TransactionType>? = nil) { self.predicate = predicate }

  /// The transactions that satisfy `predicate`, in the order of `sortBy`.
  public init(predicate: Predicate<TransactionType>? = nil, sortBy: [SortDescriptor<TransactionType>]) {
    self.predicate = predicate
    self.sortBy = sortBy
  }
}
