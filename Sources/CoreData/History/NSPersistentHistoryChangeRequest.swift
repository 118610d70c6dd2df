import Foundation
import StrataCore

/// Asks for the history of the stores that were opened with `NSPersistentHistoryTrackingKey`, or deletes the older part of it.
///
///     let request = NSPersistentHistoryChangeRequest.fetchHistory(after: lastToken)
///     let result = try context.execute(request) as? NSPersistentHistoryResult
///     for transaction in result?.result as? [NSPersistentHistoryTransaction] ?? [] { … }
///
/// Executing it throws a `CocoaError` with the code `NSPersistentHistoryTokenExpiredError` for a token that is older than what the history still tells, newer than the
/// store, or of other stores: read everything again then.
public class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest {
  /// What is answered. Default: transactions with their changes; of a deletion the status.
  open var resultType: NSPersistentHistoryResultType
  /// Which transactions, or which changes, as its entity says: `NSPersistentHistoryTransaction.fetchRequest`,
  /// `NSPersistentHistoryChange.fetchRequest`. Predicate, sort descriptors, limit, offset and batch size count (rule 282).
  ///
  /// Of a deletion it must be for transactions: the oldest that match are deleted, up to the first that does not match. Predicate and limit count; with a request for
  /// changes, an offset, or a limit and sort descriptors, executing throws a `CocoaError` with the code 134060.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?
  /// The token the request was made with.
  public let token: NSPersistentHistoryToken?
  private let base: PersistentHistoryRequest

  required init(_ base: PersistentHistoryRequest, _ token: NSPersistentHistoryToken?) {
    self.base = base
    self.token = token
    resultType = base.resultType
    super.init()
  }

  /// What was committed after `date`.
  public class func fetchHistory(after date: Date) -> Self { Self(.fetchHistory(after: date), nil) }

  /// What was committed after the moment of `token`; everything for nil.
  public class func fetchHistory(after token: NSPersistentHistoryToken?) -> Self {
    Self(.fetchHistory(after: token), token)
  }

  /// What was committed after `transaction`; everything for nil.
  public class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> Self {
    Self(.fetchHistory(after: transaction), transaction?.token)
  }

  /// What a request for transactions or changes finds in the whole history.
  public class func fetchHistory(withFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
    let request = Self(.fetchHistory(after: .beginning), nil)
    request.fetchRequest = fetchRequest
    return request
  }

  /// Deletes what was committed before `date`.
  public class func deleteHistory(before date: Date) -> Self { Self(.deleteHistory(before: date), nil) }

  /// Deletes what was committed before the token's last transaction, which stays; nothing for nil.
  public class func deleteHistory(before token: NSPersistentHistoryToken?) -> Self {
    Self(.deleteHistory(before: token), token)
  }

  /// Deletes what was committed before `transaction`, which stays; nothing for nil.
  public class func deleteHistory(before transaction: NSPersistentHistoryTransaction?) -> Self {
    Self(.deleteHistory(before: transaction), transaction?.token)
  }

  public override var requestType: NSPersistentStoreRequestType { .history }

  public override func copy(with zone: NSZone? = nil) -> Any {
    let copy = Self(base, token)
    copy.resultType = resultType
    copy.fetchRequest = fetchRequest
    copy.affectedStores = affectedStores
    return copy
  }

  override func outcome(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    var request = base
    request.resultType = resultType
    request.speaksFoundation = true
    request.affectedStores = affectedStoreIdentifiers
    if let fetchRequest {
      let predicate = try fetchRequest.predicate.map(FetchLowering(context: context).predicate)
      switch fetchRequest.entityName {
      case HistoryEntities.transactionName: request.transactionPredicate = predicate
      case HistoryEntities.changeName:
        // Without one, transactions without changes are left out all the same.
        request.changePredicate = predicate ?? .everything
      case let name:
        throw CoreDataError(
          .coreData,
          "The fetch request of a history request is for \(name ?? "no entity"); it must be for that of "
            + "NSPersistentHistoryTransaction.entityDescription or NSPersistentHistoryChange.entityDescription."
        )
      }
      request.sortDescriptors = try (fetchRequest.sortDescriptors ?? []).map { sort in
        let refused = CoreDataError(.coreData, "History is sorted by keys, not by comparators.")
        guard let keyed = sort as? KeyedSortDescriptor, let key = keyed.name else { throw refused }
        switch keyed.rule {
        case .values: return FetchSort(key, ascending: sort.ascending)
        case .text(let order):
          return FetchSort(key, ascending: sort.ascending, comparator: order.collation)
        case .comparator: throw refused
        }
      }
      request.fetchLimit = fetchRequest.fetchLimit
      request.fetchOffset = fetchRequest.fetchOffset
      if fetchRequest.fetchBatchSize > 0 { request.fetchBatchSize = fetchRequest.fetchBatchSize }
    }
    return NSPersistentHistoryResult(try request.outcome(in: context))
  }
}

/// What a history request has answered.
open class NSPersistentHistoryResult: NSPersistentStoreResult {
  /// What was asked for.
  public let resultType: NSPersistentHistoryResultType
  /// By `resultType`: an `NSNumber` for the status and for a count, an `[NSManagedObjectID]`, an `[NSPersistentHistoryTransaction]` or an
  /// `[NSPersistentHistoryChange]`.
  public let result: Any?

  init(_ outcome: PersistentHistoryResult) {
    resultType = outcome.resultType
    result = FoundationNumbers.handedOut(outcome.result)
  }
}

extension NSPersistentStoreCoordinator {
  /// The newest moment of the stores that record a history, of those given (`NSPersistentStore`) or of all; nil when none does, or when a store
  /// cannot be read.
  public func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
    try? currentHistoryToken(
      fromStores: stores.map { $0.compactMap { ($0 as? NSPersistentStore)?.store } })
  }
}

extension NSPersistentStoreDescription {
  /// The seconds that this process keeps the history of the store, whether it was read or not; 0 and infinity keep it without limit. Default 30 days. Core Data has no such
  /// limit: there programs delete the history themselves.
  public var historyMaximumAge: TimeInterval {
    get { (options[HistoryOptions.maximumAge] as? NSNumber)?.doubleValue ?? HistoryOptions.defaultAge }
    set { setOption(NSNumber(value: newValue), forKey: HistoryOptions.maximumAge) }
  }
}

enum HistoryOptions {
  static let maximumAge = "StrataHistoryMaximumAge"
  static let defaultAge: TimeInterval = 30 * 86_400

  static func retention(_ options: [AnyHashable: Any]?) -> HistoryRetention {
    let age = (options?[maximumAge] as? NSNumber)?.doubleValue ?? defaultAge
    // Any number may be set, and a `Duration` does not hold all: 30 million years are for ever.
    return age > 0 && age < 1e15 ? HistoryRetention(maximumAge: .seconds(age)) : .forever
  }
}
