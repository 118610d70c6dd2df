import StrataCore

extension ModelContext {
  /// The transactions of the container's stores that match, oldest first.
  ///
  /// - Throws: ``SwiftDataError/historyTokenExpired`` when the history that a token of the predicate begins at has been deleted, or what
  ///   comes next is deleted while the history is read;
  ///   ``SwiftDataError/invalidTransactionFetchRequest`` for transactions of another type than ``DefaultHistoryTransaction``; `CocoaError` for a store that cannot be read; what
  ///   evaluating the predicate throws.
  public func fetchHistory<T>(_ descriptor: HistoryDescriptor<T>) throws -> [T] where T: HistoryTransaction {
    let history = try History(self, descriptor)
    return try history.fetch()
  }

  /// Deletes the oldest transactions that match, up to the first that does not, and no more than `fetchLimit` says. With a predicate or a limit, what is saved meanwhile stays, and what
  /// others delete meanwhile is no error.
  ///
  /// - Throws: as ``fetchHistory(_:)``; ``SwiftDataError/invalidTransactionFetchRequest`` for a limit together with `sortBy`, and nothing is deleted.
  public func deleteHistory<T>(_ descriptor: HistoryDescriptor<T>) throws where T: HistoryTransaction {
    let history = try History(self, descriptor)
    try history.delete()
  }
}

/// One question to the history of a container's stores.
private struct History<T: HistoryTransaction> {
  private let coordinator: PersistentStoreCoordinator
  private let schema: Schema
  private let descriptor: HistoryDescriptor<T>
  /// So often a deletion looks at the history, while others delete what it is about to look at.
  private static var mostTries: Int { 8 }
  /// The stores of the program's own that have such transactions.
  private let own: [DataStoreEngine]

  init(_ context: ModelContext, _ descriptor: HistoryDescriptor<T>) throws {
    own = context.core.ownStores.filter { engine in
      (engine.box.store as? any HistoryProviding).map { Self.isProvided(by: $0) } ?? false
    }
    guard T.self == DefaultHistoryTransaction.self || !own.isEmpty else {
      throw SwiftDataError(
        .invalidTransactionFetchRequest, "no store of the container has transactions of type \(T.self)")
    }
    coordinator = context.core.coordinator
    schema = context.core.schema
    self.descriptor = descriptor
  }

  private static func isProvided<Store: HistoryProviding>(by store: Store) -> Bool {
    Store.HistoryType.self == T.self
  }

  /// Calls the stores of the program's own.
  private func forEachOwn(_ body: (any HistoryProviding) throws -> Void) throws {
    for engine in own {
      guard let store = engine.box.store as? any HistoryProviding else { continue }
      try engine.calling { try body(store) }
    }
  }

  /// Whether stores of Strata's have such transactions.
  private var hasStrata: Bool {
    T.self == DefaultHistoryTransaction.self
      && (coordinator.engines.isEmpty || !coordinator.engines.allSatisfy { $0 is DataStoreEngine })
  }

  /// The transactions of all stores.
  func fetch() throws -> [T] {
    var found = hasStrata ? try fetchStrata() : []
    if own.isEmpty { return found }
    func fetch<Store: HistoryProviding>(_ store: Store) throws {
      guard let descriptor = descriptor as? HistoryDescriptor<Store.HistoryType> else { return }
      found += try store.fetchHistory(descriptor) as? [T] ?? []
    }
    try forEachOwn { try fetch($0) }
    if descriptor.sortBy.isEmpty {
      // Oldest first, as each of the stores has them.
      found.sort { $0.timestamp < $1.timestamp }
    } else {
      found.sort(using: descriptor.sortBy)
    }
    return descriptor.fetchLimit > 0 ? Array(found.prefix(Int(clamping: descriptor.fetchLimit))) : found
  }

  private func fetchStrata() throws -> [T] {
    var found: [T] = []
    let limit = Int(clamping: descriptor.fetchLimit)
    try forEach(fromBeginning: false) { transaction in
      if try descriptor.predicate?.evaluate(transaction) ?? true { found.append(transaction) }
      return limit == 0 || !descriptor.sortBy.isEmpty || found.count < limit
    }
    if descriptor.sortBy.isEmpty { return found }
    found.sort(using: descriptor.sortBy)
    return limit > 0 ? Array(found.prefix(limit)) : found
  }

  func delete() throws {
    func delete<Store: HistoryProviding>(_ store: Store) throws {
      if let descriptor = descriptor as? HistoryDescriptor<Store.HistoryType> {
        try store.deleteHistory(descriptor)
      }
    }
    let limit = Int(clamping: descriptor.fetchLimit)
    if hasStrata, limit > 0, !descriptor.sortBy.isEmpty {
      throw SwiftDataError(
        .invalidTransactionFetchRequest,
        "the oldest transactions are deleted: a limit cannot go with another order")
    }
    try forEachOwn { try delete($0) }
    guard hasStrata else { return }
    if descriptor.predicate == nil, limit == 0 {
      return try translating { _ = try coordinator.history(.deleteHistory(before: Date.distantFuture)) }
    }
    // What is saved from now on was not asked about: only what was seen to match goes.
    guard let last = try lastMatch(limit) else { return }
    try translating { _ = try coordinator.history(.deleteHistory(through: last)) }
  }

  /// Up to where the oldest transactions match, at most `limit` of them if that is not 0; nil for none. What others delete meanwhile is gone as it should be: then the rest is looked at
  /// again.
  private func lastMatch(_ limit: Int) throws -> PersistentHistoryToken? {
    var tries = 1
    while true {
      var matched: PersistentHistoryToken?
      var (count, hasBegun) = (0, false)
      do {
        try forEach(fromBeginning: true) { transaction in
          hasBegun = true
          guard try descriptor.predicate?.evaluate(transaction) ?? true else { return false }
          matched = (transaction as? DefaultHistoryTransaction)?.token.token
          count += 1
          return count != limit
        }
        return matched
      } catch let error as SwiftDataError
        where error.kind == .historyTokenExpired && hasBegun && tries < Self.mostTries
      {
        tries += 1
      }
    }
  }

  /// Calls `body` with the transactions, oldest first, until it returns false.
  /// - Parameter fromBeginning: Whether those are among them that cannot match, since the predicate asks for what is behind a token.
  private func forEach(fromBeginning: Bool, _ body: (T) throws -> Bool) throws {
    let tokens = Constants.tokens(in: descriptor.predicate)
    try translating {
      // Each says whether what came after it is still there.
      for token in tokens.all {
        var probe = PersistentHistoryRequest.fetchHistory(after: token.token)
        probe.fetchLimit = 1
        _ = try coordinator.history(probe)
      }
      let start: PersistentHistoryToken? = fromBeginning ? nil : tokens.lowest?.token
      var request = PersistentHistoryRequest.fetchHistory(after: start)
      // What a store has that the token does not know is later than the token.
      request.includesUnknownStores = true
      try coordinator.forEachHistoryTransaction(request) { transaction in
        guard let made = DefaultHistoryTransaction(transaction, schema) as? T else { return true }
        return try body(made)
      }
    }
  }

  private func translating<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as CoreDataError
      where error.code == .persistentHistoryTokenExpired
    {
      throw SwiftDataError(.historyTokenExpired, "\(error)", underlying: error)
    } catch {
      throw error is SwiftDataError ? error : FoundationErrors.error(for: error)
    }
  }
}

/// The tokens that a predicate compares with.
private enum Constants {
  /// All of them, and the one that every transaction must be behind.
  static func tokens<T>(in predicate: Predicate<T>?) -> (
    all: [DefaultHistoryToken], lowest: DefaultHistoryToken?
  ) {
    guard let predicate else { return ([], nil) }
    var all: [DefaultHistoryToken] = []
    collect(predicate.expression, &all, depth: 0)
    return (all, lowest(predicate.expression))
  }

  private static func collect(_ part: Any, _ all: inout [DefaultHistoryToken], depth: Int) {
    if let token = part as? DefaultHistoryToken {
      all.append(token)
      return
    }
    if depth > 64 { return }
    for child in Mirror(reflecting: part).children { collect(child.value, &all, depth: depth + 1) }
  }

  /// Of `token > t`, alone or among conditions that all must be true, `t`.
  private static func lowest(_ part: Any) -> DefaultHistoryToken? {
    let name = "\(type(of: part))"
    let children = Dictionary(
      Mirror(reflecting: part).children.compactMap { child in child.label.map { ($0, child.value) } },
      uniquingKeysWith: { first, _ in first })
    if name.hasPrefix("Conjunction<") {
      return [children["lhs"], children["rhs"]].compactMap { $0 }.compactMap(lowest).max()
    }
    guard name.hasPrefix("Comparison<"), let op = children["op"],
      "\(op)" == "greaterThan" || "\(op)" == "greaterThanOrEqual",
      let left = children["lhs"], "\(type(of: left))".hasPrefix("KeyPath<"), let right = children["rhs"]
    else { return nil }
    var found: [DefaultHistoryToken] = []
    collect(right, &found, depth: 0)
    // Behind or at the moment itself: the transaction of that moment counts.
    return "\(op)" == "greaterThan" ? found.first : nil
  }
}
