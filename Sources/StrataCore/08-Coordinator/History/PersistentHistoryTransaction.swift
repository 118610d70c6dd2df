import Foundation

/// The changes of one save or batch request in a store, with their author (rule 278).
///
/// Immutable; may be used from any thread.
public final class PersistentHistoryTransaction: NSObject, NSCopying, Sendable {
  /// When it was committed.
  public let timestamp: Date
  /// The store's own count of its commits: ascends, with gaps where nothing was recorded.
  public let transactionNumber: Int64
  /// The UUID of the store.
  public let storeID: String
  /// The identifier of the main bundle of the program that saved, the program's name where it has none.
  public let bundleID: String
  /// The name of the process that saved.
  public let processID: String
  /// The name of the context.
  public let contextName: String?
  /// The `transactionAuthor` of the context.
  public let author: String?
  /// The moment after this transaction. In a fetch from several stores it says of each how far the fetch has come: the token of the last
  /// transaction of a result is where the next fetch begins.
  public let token: PersistentHistoryToken
  /// What was changed, in the order inserted, updated, deleted; nil when only transactions were asked for.
  public let changes: [PersistentHistoryChange]?

  /// `makeChanges` makes the changes for a transaction without any, which they refer to.
  convenience init(
    _ stored: StoredHistoryTransaction, storeIdentifier: UUID, token: PersistentHistoryToken,
    _ makeChanges: (PersistentHistoryTransaction) throws -> [PersistentHistoryChange]?
  ) rethrows {
    let bare = PersistentHistoryTransaction(
      stored.header, Int64(truncatingIfNeeded: stored.number), storeIdentifier.uuidString, token)
    self.init(bare, try makeChanges(bare))
  }

  private init(
    _ header: HistoryHeader, _ number: Int64, _ storeID: String, _ token: PersistentHistoryToken
  ) {
    timestamp = header.timestamp
    transactionNumber = number
    self.storeID = storeID
    bundleID = header.bundleIdentifier
    processID = header.processName
    contextName = header.origin.contextName
    author = header.origin.author
    self.token = token
    changes = nil
    super.init()
  }

  private init(_ other: PersistentHistoryTransaction, _ changes: [PersistentHistoryChange]?) {
    timestamp = other.timestamp
    transactionNumber = other.transactionNumber
    storeID = other.storeID
    bundleID = other.bundleID
    processID = other.processID
    contextName = other.contextName
    author = other.author
    token = other.token
    self.changes = changes
    super.init()
  }

  var withoutChanges: PersistentHistoryTransaction { PersistentHistoryTransaction(self, nil) }

  /// The transaction itself.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? PersistentHistoryTransaction else { return false }
    return transactionNumber == other.transactionNumber && storeID == other.storeID
  }

  public override var hash: Int { transactionNumber.hashValue ^ storeID.hashValue }

  public override var description: String {
    "transaction \(transactionNumber) of \(storeID)\(author.map { " by \($0)" } ?? "") at \(timestamp): "
      + (changes.map { "\($0.count) changes" } ?? "changes not read")
  }
}

/// What may have happened to an object. The raw values are Core Data's (rule 279).
public enum PersistentHistoryChangeType: Int, Sendable, CaseIterable {
  /// It is new.
  case insert = 0
  /// It has other values, or other members in a relationship.
  case update = 1
  /// It is gone.
  case delete = 2
}

/// What a transaction has done to one object (rule 279).
///
/// Immutable; may be used from any thread.
public final class PersistentHistoryChange: NSObject, NSCopying, @unchecked Sendable {
  // Safe: everything is constant, and descriptions of a model in use are frozen; values of tombstones are made for this
  // object alone.

  /// A number that is unique among all changes of the store.
  public let changeID: Int64
  /// The object, which may no longer exist.
  public let changedObjectID: ManagedObjectID
  /// What has happened to it.
  public let changeType: PersistentHistoryChangeType
  /// Of a deleted object: the values of the attributes with `preservesValueInHistoryOnDeletion` that were not nil (rule 280); nil when there
  /// are none, and of objects that were not deleted.
  public let tombstone: [AnyHashable: Any]?
  /// The transaction, without its changes.
  public let transaction: PersistentHistoryTransaction?
  let entity: EntityDescription
  /// The names of slots that have other values.
  let changedNames: [String]

  init(
    _ changeID: Int64, _ changedObjectID: ManagedObjectID, _ changeType: PersistentHistoryChangeType,
    _ entity: EntityDescription, _ changedNames: [String], _ tombstone: [AnyHashable: Any]?,
    _ transaction: PersistentHistoryTransaction
  ) {
    self.changeID = changeID
    self.changedObjectID = changedObjectID
    self.changeType = changeType
    self.entity = entity
    self.changedNames = changedNames
    self.tombstone = tombstone
    self.transaction = transaction
    super.init()
  }

  /// Of an updated object: the properties that have other values or members, as far as the model has them; nil otherwise.
  public var updatedProperties: Set<PropertyDescription>? {
    if changeType != .update { return nil }
    let properties = entity.propertiesByName
    return Set(updatedPropertyNames.compactMap { properties[$0] })
  }

  /// Their names, in no particular order: of a composite attribute its own.
  public var updatedPropertyNames: Set<String> {
    Set(changedNames.map { $0.prefix { $0 != "." }.description })
  }

  /// The change itself.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? PersistentHistoryChange else { return false }
    return changeID == other.changeID && changedObjectID == other.changedObjectID
  }

  public override var hash: Int { changeID.hashValue }

  public override var description: String {
    let names = changeType == .update ? " \(updatedPropertyNames.sorted().joined(separator: ", "))" : ""
    return "\(changeType) \(changedObjectID)\(names)"
  }
}
