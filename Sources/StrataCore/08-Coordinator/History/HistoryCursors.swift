import Foundation

/// The histories of several stores as one, by time.
final class HistoryCursors {
  private let request: PersistentHistoryRequest
  private let cursors: [HistoryCursor]
  private let transactionCondition: HistoryCondition?
  private let changeCondition: HistoryCondition?
  /// How far each store has been read.
  private var positions: [UUID: UInt64] = [:]

  init(
    _ coordinator: PersistentStoreCoordinator, _ request: PersistentHistoryRequest,
    after place: PersistentHistoryRequest.Place
  ) throws {
    self.request = request
    transactionCondition = request.transactionPredicate.map(HistoryCondition.init)
    changeCondition = request.changePredicate.map(HistoryCondition.init)
    var stores = try coordinator.storesWithHistory(request.affectedStores)
    if case .token(let token) = place {
      stores = stores.filter { token.commitNumber(of: $0.1.identifier) != nil }
      if stores.isEmpty {
        throw Self.foreignToken
      }
    }
    let needsChanges =
      changeCondition != nil || transactionCondition?.needsChanges ?? false
      || [.objectIDs, .changesOnly, .transactionsAndChanges].contains(request.resultType)
    var cursors: [HistoryCursor] = []
    for (binding, store) in stores {
      let start = try Self.start(place, store)
      if !request.isNewestFirst { positions[store.identifier] = start.number }
      var question = HistoryQuestion(after: start.number)
      question.isNewestFirst = request.isNewestFirst
      question.limit = max(request.fetchBatchSize, 1)
      question.readsChanges = needsChanges
      let identifier = store.identifier
      let condition = transactionCondition.flatMap { $0.needsChanges ? nil : $0 }
      question.isWanted = { number, header in
        if let date = start.date, header.timestamp <= date { return false }
        guard let condition else { return true }
        return try condition.isTrue(
          HistoryCandidate(number: number, header: header, storeIdentifier: identifier))
      }
      cursors.append(HistoryCursor(binding, store, question))
    }
    self.cursors = cursors
  }

  /// Where to begin.
  private static func start(_ place: PersistentHistoryRequest.Place, _ store: LMDBStore) throws -> (
    number: UInt64, date: Date?
  ) {
    let bounds = try store.historyBounds() ?? (0, 0)
    func checked(_ number: UInt64, _ who: String) throws -> UInt64 {
      if number < bounds.purged {
        throw expired(
          "\(who) is at commit \(number), and the store's history begins behind commit \(bounds.purged).")
      }
      if number > bounds.newest {
        throw expired(
          "\(who) is at commit \(number), and the store has had \(bounds.newest): it is not the store it was, "
            + "an older copy perhaps.")
      }
      return number
    }
    switch place {
    case .beginning: return (bounds.purged, nil)
    case .date(let date): return (bounds.purged, date)
    case .token(let token):
      return (try checked(token.commitNumber(of: store.identifier) ?? 0, "The history token"), nil)
    case .consumer(let name):
      guard let consumer = try store.historyConsumers().first(where: { $0.name == name }) else {
        return (bounds.purged, nil)
      }
      return (try checked(consumer.commitNumber, "The history consumer “\(name)”"), nil)
    }
  }

  static var foreignToken: CoreDataError {
    expired("The history token is of other stores than those of this coordinator.")
  }

  private static func expired(_ sentence: String) -> CoreDataError {
    CoreDataError(.persistentHistoryTokenExpired, sentence)
  }

  /// The next transaction that is wanted.
  func next() throws -> PersistentHistoryTransaction? {
    while let (cursor, stored) = try nearest() {
      cursor.advance()
      let store = cursor.binding.store.identifier
      positions[store] = stored.number
      let token =
        request.isNewestFirst
        ? PersistentHistoryToken(storeIdentifier: store, commitNumber: stored.number)
        : PersistentHistoryToken(positions)
      var isWanted = true
      let transaction = try PersistentHistoryTransaction(stored, storeIdentifier: store, token: token) {
        guard let changes = HistoryChangeMaker(cursor.binding).changes(of: stored, $0) else { return nil }
        guard let changeCondition else { return changes }
        let wanted = try changes.filter { try changeCondition.isTrue($0) }
        isWanted = !wanted.isEmpty
        return wanted
      }
      if let transactionCondition, transactionCondition.needsChanges, isWanted {
        isWanted = try transactionCondition.isTrue(transaction)
      }
      if !isWanted { continue }
      return request.resultType == .transactionsOnly ? transaction.withoutChanges : transaction
    }
    return nil
  }

  private func nearest() throws -> (HistoryCursor, StoredHistoryTransaction)? {
    var nearest: (HistoryCursor, StoredHistoryTransaction)?
    for cursor in cursors {
      guard let stored = try cursor.peek() else { continue }
      if let known = nearest?.1.header.timestamp {
        let isNearer =
          request.isNewestFirst ? stored.header.timestamp > known : stored.header.timestamp < known
        if !isNearer { continue }
      }
      nearest = (cursor, stored)
    }
    return nearest
  }
}
