import Foundation
import StrataCore

/// A moment in the history of stores.
public typealias NSPersistentHistoryToken = PersistentHistoryToken
/// What one save or batch request has changed.
public typealias NSPersistentHistoryTransaction = PersistentHistoryTransaction
/// What a transaction has done to one object.
public typealias NSPersistentHistoryChange = PersistentHistoryChange
/// What may have happened to an object.
public typealias NSPersistentHistoryChangeType = PersistentHistoryChangeType
/// What a history request answers with.
public typealias NSPersistentHistoryResultType = PersistentHistoryResultType

extension PersistentHistoryTransaction {
  /// What requests for transactions are for: a separate entity without objects in contexts.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.shared.transaction }

  /// The same for every context.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
    entityDescription
  }

  /// A request for transactions, to be given a predicate and handed to `NSPersistentHistoryChangeRequest`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    HistoryEntities.request(for: entityDescription)
  }
}

extension PersistentHistoryChange {
  /// What requests for changes are for: a separate entity without objects in contexts.
  public class var entityDescription: NSEntityDescription? { HistoryEntities.shared.change }

  /// The same for every context.
  public class func entityDescription(with context: NSManagedObjectContext) -> NSEntityDescription? {
    entityDescription
  }

  /// A request for changes, to be given a predicate and handed to `NSPersistentHistoryChangeRequest`.
  public class var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    HistoryEntities.request(for: entityDescription)
  }
}

extension PersistentHistoryTransaction: NSFetchRequestResult {}
extension PersistentHistoryChange: NSFetchRequestResult {}

/// The two entities that history requests name.
struct HistoryEntities: @unchecked Sendable {
  // Safe: made once and never changed.
  static let shared = HistoryEntities()
  static let (transactionName, changeName) = ("Transaction", "Change")

  let transaction: NSEntityDescription
  let change: NSEntityDescription
  /// Keeps both.
  private let model: NSManagedObjectModel

  private init() {
    transaction = EntityDescription(Self.transactionName)
    change = EntityDescription(Self.changeName)
    let changes = RelationshipDescription("changes", to: change, maxCount: 0)
    let own = RelationshipDescription("transaction", to: transaction, maxCount: 1)
    changes.inverseRelationship = own
    own.inverseRelationship = changes
    let texts = ["author", "bundleID", "contextName", "processID", "storeID"]
    transaction.properties =
      texts.map { AttributeDescription($0, .string) }
      + [
        AttributeDescription("timestamp", .date), AttributeDescription("token", .undefined),
        AttributeDescription("transactionNumber", .integer64), changes,
      ]
    change.properties = [
      AttributeDescription("changeID", .integer64), AttributeDescription("changeType", .integer64),
      AttributeDescription("changedEntity", .string), AttributeDescription("changedObjectID", .objectID),
      AttributeDescription("tombstone", .undefined), AttributeDescription("updatedProperties", .undefined),
      own,
    ]
    model = ManagedObjectModel(entities: [transaction, change])
  }

  static func request(for entity: NSEntityDescription?) -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.entity = entity
    return request
  }
}
