import Foundation

// The history of stores that record one: reading, deleting, and how far each reader has read.

extension PersistentStoreCoordinator {
  /// The newest moment of the stores that record a history, of those given or of all (rule 285): what is committed from now on comes after it.
  ///
  /// Nil when none of them records a history. From any thread; one look at each store.
  /// - Throws: `StorageError` when a store cannot be read.
  public func currentHistoryToken(fromStores stores: [any PersistentStore]? = nil) throws
    -> PersistentHistoryToken?
  {
    var moments: [UUID: HistoryMoment] = [:]
    for binding in bindings where stores?.contains(where: { $0 === binding.store }) ?? true {
      guard let store = binding.store.historyStore, let moment = try store.currentHistoryMoment() else {
        continue
      }
      moments[store.identifier] = moment
    }
    return moments.isEmpty ? nil : PersistentHistoryToken(moments)
  }

  /// Carries out a history request (rules 281–284). From any thread; takes memory for the result.
  ///
  /// A request to delete what is older than a token is carried out when that has gone already: 0 transactions, also for a token from before
  /// the store was migrated. With a predicate, the oldest transactions that match are deleted, up to the first that does not.
  /// - Throws: `CoreDataError` 134301 when the token to read from is older than what the history still tells, or any token is newer than the
  ///   store, of another copy of it or of other stores: read everything again then, and go on with the current token; 134091 when no store records a history;
  ///   134060 for a predicate that history cannot answer, and for a deletion with a predicate for changes, an offset, or a limit that cannot be
  ///   kept; `StorageError`.
  public func history(_ request: PersistentHistoryRequest) throws -> PersistentHistoryResult {
    if !hasStores {
      throw CoreDataError(
        .persistentStoreOperation, "No persistent store is loaded: there is no history to read or to delete.")
    }
    switch request.operation {
    case .delete(let place): return try deleteHistory(before: place, request)
    case .deleteThrough(let token, let store):
      return try deleteHistory(knownTo: token, request) { $0 == store }
    case .fetch:
      var result = PersistentHistoryResult(request.resultType)
      // Numbers are read from what is counted; nothing else is needed of it.
      if request.resultType == .statusOnly { return result }
      // A number is the same in any order.
      if !request.sortDescriptors.isEmpty && request.resultType != .count {
        return try sortedHistory(request)
      }
      var known: Set<ManagedObjectID> = []
      var window = HistoryWindow(request)
      try forEachHistoryTransaction(request) { transaction in
        if request.resultType == .changesOnly || request.resultType == .objectIDs {
          for change in transaction.changes ?? [] {
            guard window.takes() else { continue }
            result.count += 1
            if request.resultType == .changesOnly {
              result.changes.append(change)
            } else if known.insert(change.changedObjectID).inserted {
              result.objectIDs.append(change.changedObjectID)
            }
          }
        } else if request.resultType == .count, request.changePredicate != nil {
          for _ in transaction.changes ?? [] where window.takes() { result.count += 1 }
        } else if window.takes() {
          result.count += 1
          if request.resultType != .count { result.transactions.append(transaction) }
        }
        return !window.isFull
      }
      return result
    }
  }

  /// Calls `body` with each transaction that a request is about, in order, until it returns false. Reads `fetchBatchSize` transactions at
  /// a time, and holds no more than these: `body` runs outside of the store's transactions and may save.
  ///
  /// `sortDescriptors`, limit and offset are not looked at.
  /// - Throws: as ``history(_:)``, 134301 also when transactions were deleted before they were read, or the history was ended; what `body` throws.
  public func forEachHistoryTransaction(
    _ request: PersistentHistoryRequest, _ body: (PersistentHistoryTransaction) throws -> Bool
  ) throws {
    guard case .fetch(let place) = request.operation else {
      throw CoreDataError(.coreData, "A request that deletes history has no transactions.")
    }
    let reading = try HistoryCursors(self, request, after: place)
    while let transaction = try reading.next() {
      if try !body(transaction) { return }
    }
  }

  private func sortedHistory(_ request: PersistentHistoryRequest) throws -> PersistentHistoryResult {
    var all = request
    all.sortDescriptors = []
    (all.fetchLimit, all.fetchOffset) = (0, 0)
    // The window counts changes, of which several may be of one object.
    if request.resultType == .objectIDs { all.resultType = .changesOnly }
    let found = try history(all)
    var result = PersistentHistoryResult(request.resultType)
    func sort<Subject: HistorySubject>(_ subjects: [Subject]) throws -> [Subject] {
      let sorted = try subjects.enumerated().sorted { left, right in
        for sort in request.sortDescriptors {
          let order = try HistoryCondition.order(
            left.element, right.element, by: sort.key, sort.comparator)
          if order != 0 { return sort.ascending ? order < 0 : order > 0 }
        }
        return left.offset < right.offset
      }.map(\.element).dropFirst(request.fetchOffset)
      return Array(request.fetchLimit > 0 ? sorted.prefix(request.fetchLimit) : sorted)
    }
    result.transactions = try sort(found.transactions)
    let changes = try sort(found.changes.map(SortedChange.init)).map(\.change)
    result.count = result.transactions.count + changes.count
    if request.resultType == .objectIDs {
      var known: Set<ManagedObjectID> = []
      result.objectIDs = changes.map(\.changedObjectID).filter { known.insert($0).inserted }
    } else {
      result.changes = changes
    }
    return result
  }

  // MARK: Deleting

  private func deleteHistory(
    before place: PersistentHistoryRequest.Place, _ request: PersistentHistoryRequest
  ) throws -> PersistentHistoryResult {
    if case .token(let token) = place { return try deleteHistory(knownTo: token, request) { _ in true } }
    var deletions: [HistoryDeletion] = []
    for (_, store) in try storesWithHistory(request.affectedStores) {
      switch place {
      case .beginning, .token: break
      case .date(let date): deletions.append(HistoryDeletion(store: store, date: date))
      case .consumer(let name):
        guard let consumer = try store.historyConsumers().first(where: { $0.name == name }) else { continue }
        // What he has seen goes.
        let moment = HistoryMoment(number: consumer.commitNumber)
        if try HistoryCursors.isTold(moment, by: store, HistoryCursors.words(name)) {
          deletions.append(HistoryDeletion(store: store, number: HistoryDeletion.behind(moment.number)))
        }
      }
    }
    return try result(of: deletions, request)
  }

  private func result(
    of deletions: [HistoryDeletion], _ request: PersistentHistoryRequest
  ) throws -> PersistentHistoryResult {
    var result = PersistentHistoryResult(request.resultType)
    result.count = try HistoryDeletion.carryOut(deletions, request, in: self)
    return result
  }

  /// Deletes what a token knows; its last transaction stays in stores for which `keepsLast` says so.
  private func deleteHistory(
    knownTo token: PersistentHistoryToken, _ request: PersistentHistoryRequest, keepsLast: (UUID) -> Bool
  ) throws -> PersistentHistoryResult {
    let known = try storesWithHistory(request.affectedStores).compactMap { _, store in
      token.moment(of: store.identifier).map { (store: store, moment: $0) }
    }
    if known.isEmpty { throw HistoryCursors.foreignToken }
    // A token that is of no use in one of the stores deletes nothing in the others. What lies before a moment that the history no longer has
    // is deleted already.
    let told = try known.filter { try HistoryCursors.isTold($0.moment, by: $0.store) }
    return try result(
      of: told.map { store, moment in
        HistoryDeletion(
          store: store,
          number: keepsLast(store.identifier) ? moment.number : HistoryDeletion.behind(moment.number))
      }, request)
  }

  /// Deletes the history of a store, and records none from now on until the store is opened with `recordsHistory` again. Tokens from before are
  /// expired for good.
  /// - Throws: `CoreDataError` 134070 when the store is not attached here or of another engine, 134030 when it is read-only; `StorageError`.
  public func endHistory(of store: any PersistentStore) throws {
    guard let store = engine(store)?.historyStore else {
      throw CoreDataError(
        .persistentStoreOperation, "The store is not attached to this coordinator, or keeps no history.")
    }
    try store.endHistory()
  }

  // MARK: Consumers

  /// Remembers in the stores, across launches and for all processes, that a reader of the history has seen everything up to `token`;
  /// nil forgets the reader. See ``HistoryRetention`` and ``PersistentHistoryRequest/Place/consumer(_:)``.
  /// - Throws: `CoreDataError` 134070 for a name that is empty or has more than 200 bytes, 134301 for a token of a moment that the store has
  ///   never been at; `StorageError`.
  public func setHistoryConsumer(named name: String, to token: PersistentHistoryToken?) throws {
    for (_, store) in try storesWithHistory(nil) {
      guard let token else {
        try store.setHistoryConsumer(named: name, to: nil)
        continue
      }
      guard let moment = token.moment(of: store.identifier) else { continue }
      _ = try HistoryCursors.isTold(moment, by: store)
      try store.setHistoryConsumer(named: name, to: moment.number)
    }
  }

  /// The named readers of the history of `store`, and how far each has read.
  /// - Throws: `StorageError`.
  public func historyConsumers(of store: any PersistentStore) throws -> [HistoryConsumer] {
    try (store as? any StoreEngine)?.historyStore?.historyConsumers() ?? []
  }

  // MARK: Stores

  /// - Throws: `CoreDataError` 134091 when there is none.
  func storesWithHistory(_ affected: Set<UUID>?) throws -> [(StoreBinding, any HistoryStore)] {
    let stores = try bindings.compactMap { binding -> (StoreBinding, any HistoryStore)? in
      guard affected?.contains(binding.store.identifier) ?? true, let store = binding.store.historyStore,
        try store.historyBounds() != nil
      else { return nil }
      return (binding, store)
    }
    if stores.isEmpty {
      throw CoreDataError(
        .persistentStoreUnsupportedRequestType,
        "None of the stores records a history; open one with recordsHistory (NSPersistentHistoryTrackingKey)."
      )
    }
    return stores
  }
}

/// A change as it is sorted: by its own keys, or by those of its transaction.
private struct SortedChange: HistorySubject {
  let change: PersistentHistoryChange

  private static let keysOfTransactions: Set<String> = [
    "author", "contextName", "bundleID", "processID", "storeID", "timestamp", "token", "transactionNumber",
  ]

  func value(_ keys: ArraySlice<String>) throws -> HistoryValue {
    guard let transaction = change.transaction, keys.count == 1, let key = keys.first,
      Self.keysOfTransactions.contains(key)
    else { return try change.value(keys) }
    return try transaction.value(keys)
  }
}

/// Which of many a request wants.
private struct HistoryWindow {
  private var skipped: Int
  private var rest: Int

  init(_ request: PersistentHistoryRequest) {
    skipped = request.fetchOffset
    rest = request.fetchLimit > 0 ? request.fetchLimit : .max
  }

  var isFull: Bool { rest == 0 }

  /// Whether the next one is wanted.
  mutating func takes() -> Bool {
    if skipped > 0 {
      skipped -= 1
      return false
    }
    if rest == 0 { return false }
    rest -= 1
    return true
  }
}
