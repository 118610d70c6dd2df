import Foundation

// Rows of values: what matches is handed to a collector where it lies, and nothing is copied.

extension FetchExecutor {
  /// Hands the rows of the window to `collector`, in order, until it wants no more.
  func collect(into collector: DictionaryCollector, _ transaction: borrowing ReadTransaction) throws {
    let sources = BoundSources(collector.request, storeIdentifier: view.storeIdentifier)
    let evaluation = Evaluation(view, entityName: request.entity.name)
    if !plan.isOrdered {
      var sorter = RowSorter(request, view: view)
      try forEachMatch(transaction) { key, row in
        try sorter.add(row, key, transaction)
        return true
      }
      let order = try sorter.sorted(transaction)
      for place in order.dropFirst(request.offset).prefix(request.limit == 0 ? Int.max : request.limit) {
        let (key, row) = sorter.candidates[Int(place)]
        if try !collector.add(StoredNode(row: row, primaryKey: key), sources, evaluation) { return }
      }
      return
    }
    var skip = request.offset
    var left = request.limit == 0 ? Int.max : request.limit
    try forEachMatch(transaction) { key, row in
      if skip > 0 { skip -= 1; return true }
      left -= 1
      return try collector.add(StoredNode(row: row, primaryKey: key), sources, evaluation) && left > 0
    }
  }
}

extension StoredView {
  /// Finds what a collector's request asks for, in the way that is shortest for it.
  func collect(into collector: DictionaryCollector, _ transaction: borrowing ReadTransaction) throws {
    if try collectEnds(into: collector, transaction) { return }
    let request = collector.request.fetch
    var plan = try plan(request)
    // What is handed to the collector cannot be taken back.
    if plan.isTrial, let alternative = plan.alternative { plan = alternative.plan }
    if let alternative = plan.alternative {
      // Whether there are few candidates is known when they have been found.
      let limit = rowCount(request.hierarchyNumber) / 6
      let executor = FetchExecutor(
        request: request, plan: plan, mode: .rows, view: self, counters: collector.counters)
      guard let keys = try executor.candidateKeys(plan.access, atMost: max(limit, 1_000), transaction) else {
        collector.counters?.hasScannedInstead = true
        return try FetchExecutor(
          request: request, plan: alternative.plan, mode: .rows, view: self, counters: collector.counters
        )
        .collect(into: collector, transaction)
      }
      return try FetchExecutor(
        request: request, plan: plan.finding(keys), mode: .rows, view: self, counters: collector.counters
      )
      .collect(into: collector, transaction)
    }
    try FetchExecutor(request: request, plan: plan, mode: .rows, view: self, counters: collector.counters)
      .collect(into: collector, transaction)
  }

  /// Answers a request for nothing but the number of rows, and the smallest and largest values of attributes that have an index,
  /// without looking at all rows. False when it is another.
  private func collectEnds(
    into collector: DictionaryCollector, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard let ends = collector.request.ends else { return false }
    for case .extreme(let request, _) in ends {
      let plan = try plan(request)
      guard plan.isOrdered, case .index = plan.access else { return false }
    }
    var answers: [(count: Int, value: AttributeValue)] = []
    for end in ends {
      switch end {
      case .count(let request):
        let plan = try plan(request, mode: .count)
        let found = try FetchExecutor(
          request: request, plan: plan, mode: .count, view: self, counters: collector.counters
        ).run(transaction)
        answers.append((found.count, .null))
      case .extreme(let request, let slot):
        let plan = try plan(request)
        var value = AttributeValue.null
        let executor = FetchExecutor(
          request: request, plan: plan, mode: .rows, view: self, counters: collector.counters)
        try executor.forEachMatch(transaction) { key, row in
          value = try self.value(StoredNode(row: row, primaryKey: key), slot)
          return false
        }
        answers.append((0, value))
      }
    }
    collector.add(ends: answers)
    return true
  }
}
