import Foundation

/// The histories of several stores as one, by time.
final class HistoryCursors {
  private let request: PersistentHistoryRequest
  private let cursors: [HistoryCursor]
  private let transactionCondition: HistoryCondition?
  private let changeCondition: HistoryCondition?
  /// How far each store has been read.
  private var positions: [UUID: HistoryMoment] = [:]

  init(
    _ coordinator: PersistentStoreCoordinator, _ request: PersistentHistoryRequest,
    after place: PersistentHistoryRequest.Place
  ) throws {
    self.request = request
    transactionCondition = request.transactionPredicate.map(HistoryCondition.init)
    changeCondition = request.changePredicate.map(HistoryCondition.init)
    var stores = try coordinator.storesWithHistory(request.affectedStores)
    if case .token(let token) = place {
      let known = stores.filter { token.commitNumber(of: $0.1.identifier) != nil }
      if known.isEmpty {
        throw Self.foreignToken
      }
      if !request.includesUnknownStores { stores = known }
    }
    let needsChanges =
      changeCondition != nil || transactionCondition?.needsChanges ?? false
      || [.objectIDs, .changesOnly, .transactionsAndChanges].contains(request.resultType)
    var cursors: [HistoryCursor] = []
    for (binding, store) in stores {
      let start = try Self.start(place, store)
      if !request.isNewestFirst {
        positions[store.identifier] = HistoryMoment(
          number: start.number, mark: try store.historyMark(upTo: start.number))
      }
      var question = HistoryQuestion(after: start.number)
      question.isNewestFirst = request.isNewestFirst
      if let below = request.below { question.below = below }
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
      cursors.append(HistoryCursor(binding, store, question, isBound: start.isBound))
    }
    self.cursors = cursors
  }

  /// Where the reading of a store begins.
  private struct Start {
    var number: UInt64
    /// Only what is later counts.
    var date: Date?
    /// Whether somebody has been there, and must miss nothing.
    var isBound = false
  }

  private static func start(_ place: PersistentHistoryRequest.Place, _ store: any HistoryStore) throws
    -> Start
  {
    func beginning(_ date: Date? = nil) throws -> Start {
      Start(number: try store.historyBounds()?.purged ?? 0, date: date)
    }
    switch place {
    case .beginning: return try beginning()
    case .date(let date): return try beginning(date)
    case .token(let token):
      guard let moment = token.moment(of: store.identifier) else { return try beginning() }
      return Start(number: try require(moment, in: store, "The history token"), isBound: true)
    case .consumer(let name):
      guard let consumer = try store.historyConsumers().first(where: { $0.name == name }) else {
        return try beginning()
      }
      let moment = HistoryMoment(number: consumer.commitNumber)
      return Start(number: try require(moment, in: store, words(name)), isBound: true)
    }
  }

  /// What a named reader is called in errors.
  static func words(_ consumer: String) -> String { "The history consumer “\(consumer)”" }

  /// The number of a moment from which on the store's history tells everything.
  /// - Throws: `CoreDataError` 134301 when it does not.
  private static func require(_ moment: HistoryMoment, in store: any HistoryStore, _ who: String) throws
    -> UInt64
  {
    if try !isTold(moment, by: store, who) {
      let purged = try store.historyBounds()?.purged ?? 0
      throw expired(
        "\(who) is at commit \(moment.number), and the store's history begins behind commit \(purged).")
    }
    return moment.number
  }

  /// Whether the store's history still has everything after that moment.
  /// - Throws: `CoreDataError` 134301 for a moment that the store has never been at.
  static func isTold(_ moment: HistoryMoment, by store: any HistoryStore, _ who: String = "The history token")
    throws
    -> Bool
  {
    guard let bounds = try store.historyBounds() else { return false }
    if moment.number > bounds.newest {
      throw expired(
        "\(who) is at commit \(moment.number), and the store has had \(bounds.newest): it is not the store it was, "
          + "an older copy perhaps.")
    }
    guard moment.number >= bounds.purged, let found = try store.historyMark(upTo: moment.number) else {
      return false
    }
    if let mark = moment.mark, mark != found {
      throw expired(
        "\(who) is at commit \(moment.number) of another copy of the store: the file was replaced by an older one, and what was "
          + "committed since is something else.")
    }
    return true
  }

  static var foreignToken: CoreDataError {
    expired("The history token is of other stores than those of this coordinator.")
  }

  static func expired(_ sentence: String) -> CoreDataError {
    CoreDataError(.persistentHistoryTokenExpired, sentence)
  }

  /// The next transaction that is wanted.
  func next() throws -> PersistentHistoryTransaction? {
    while let (cursor, stored) = try nearest() {
      cursor.advance()
      let store = cursor.binding.store.identifier
      let moment = HistoryMoment(number: stored.number, mark: stored.mark)
      positions[store] = moment
      let token =
        request.isNewestFirst
        ? PersistentHistoryToken(storeIdentifier: store, moment)
        : PersistentHistoryToken(positions)
      var isWanted = true
      let transaction = try PersistentHistoryTransaction(stored, storeIdentifier: store, token: token) {
        let maker = HistoryChangeMaker(cursor.binding, speaksFoundation: request.speaksFoundation)
        guard let changes = maker.changes(of: stored, $0) else { return nil }
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
