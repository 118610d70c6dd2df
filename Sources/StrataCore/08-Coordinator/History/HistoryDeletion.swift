import Foundation

/// What a request to delete history is about in one store: everything that is older than a commit, or than a date.
///
/// A history has no holes: tokens tell its lines apart by the transactions that are there, and say what is gone by one number. So of what a predicate matches the oldest
/// transactions are deleted, up to the first that does not match.
struct HistoryDeletion {
  let store: any HistoryStore
  /// The commit before which everything goes.
  var number: UInt64?
  /// Where there is no number, the time before which everything goes.
  var date: Date?

  /// So often a deletion looks at the history, while others delete what it is about to look at.
  private static let mostTries = 8

  /// The number before which everything goes when the last transaction of a moment goes as well.
  static func behind(_ number: UInt64) -> UInt64 { number == .max ? .max : number + 1 }

  /// Deletes what `request` asks for of all this; how many transactions are gone.
  ///
  /// Nothing is deleted in any store before it is known of all of them what matches.
  /// - Throws: `CoreDataError` 134060 for what a deletion cannot do, and for a predicate that history cannot answer; `StorageError`.
  static func carryOut(
    _ deletions: [HistoryDeletion], _ request: PersistentHistoryRequest,
    in coordinator: PersistentStoreCoordinator
  ) throws -> Int {
    try check(request, deletions.count)
    var chosen = deletions
    if isSelective(request) {
      chosen = try deletions.compactMap { deletion in
        try deletion.lastMatch(request, coordinator).map {
          HistoryDeletion(store: deletion.store, number: behind($0))
        }
      }
    }
    return try chosen.reduce(0) { count, deletion in
      try count + deletion.store.deleteHistory(before: deletion.number, date: deletion.date)
    }
  }

  /// Whether `request` may want to keep some of what is old enough.
  private static func isSelective(_ request: PersistentHistoryRequest) -> Bool {
    (request.transactionPredicate ?? .everything) != .everything || request.fetchLimit > 0
      || request.below != nil
  }

  private static func check(_ request: PersistentHistoryRequest, _ storeCount: Int) throws {
    func refuse(_ sentence: String) -> CoreDataError {
      CoreDataError(.coreData, sentence + " Nothing was deleted.")
    }
    if request.changePredicate != nil {
      throw refuse(
        "History is deleted by whole transactions: a request that deletes cannot choose changes; use a predicate for transactions."
      )
    }
    if request.fetchOffset > 0 {
      throw refuse(
        "A request that deletes history begins with the oldest transaction: it cannot have an offset.")
    }
    guard request.fetchLimit > 0 else { return }
    if request.isNewestFirst || !request.sortDescriptors.isEmpty {
      throw refuse("The oldest transactions are deleted: a limit cannot go with another order.")
    }
    if storeCount > 1 {
      throw refuse("A limit of a request that deletes history is for one store: name it in affectedStores.")
    }
  }

  /// Up to where the oldest transactions match; nil for none. What others delete meanwhile is gone as it should be: then the rest is looked at again.
  private func lastMatch(
    _ request: PersistentHistoryRequest, _ coordinator: PersistentStoreCoordinator
  ) throws -> UInt64? {
    var tries = 1
    while true {
      do {
        return try lastMatchNow(request, coordinator)
      } catch let error as CoreDataError
        where error.code == .persistentHistoryTokenExpired && tries < Self.mostTries
      {
        tries += 1
      }
    }
  }

  private func lastMatchNow(
    _ request: PersistentHistoryRequest, _ coordinator: PersistentStoreCoordinator
  ) throws -> UInt64? {
    let condition = HistoryCondition(request.transactionPredicate ?? .everything)
    var reading = PersistentHistoryRequest.fetchHistory(after: .beginning)
    reading.affectedStores = [store.identifier]
    reading.fetchBatchSize = request.fetchBatchSize
    reading.resultType = condition.needsChanges ? .transactionsAndChanges : .transactionsOnly
    reading.below = [number, request.below].compactMap { $0 }.min()
    var (last, count): (UInt64?, Int) = (nil, 0)
    try coordinator.forEachHistoryTransaction(reading) { transaction in
      if let date, transaction.timestamp >= date { return false }
      guard try condition.isTrue(transaction) else { return false }
      last = UInt64(bitPattern: transaction.transactionNumber)
      count += 1
      return count != request.fetchLimit
    }
    return last
  }
}
