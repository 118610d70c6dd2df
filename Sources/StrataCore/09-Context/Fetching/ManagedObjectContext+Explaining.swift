import Foundation

/// What an explanation is made from.
public enum FetchExplaining: Sendable, Hashable {
  /// The plan alone: rows are not read, but for estimates.
  case planning
  /// The request is executed too, and the explanation has its cost.
  case executing
}

extension ManagedObjectContext {
  /// How `request` is executed, store by store, with the unsaved changes of this context and those below: for tests that a query
  /// uses an index, and for finding out why it takes so long.
  ///
  ///     #expect(try context.explain(request).indexName == "Person.byName")
  ///     print(try context.explain(request, .executing))
  ///
  /// - Throws: what `fetch(_:)` throws.
  public func explain<T: FetchRequestResult>(
    _ request: FetchRequest<T>, _ explaining: FetchExplaining = .planning
  ) throws -> FetchExplanation {
    let specification = try specification(of: request)
    if T.self == FetchedDictionary.self { return try explainDictionaries(specification, explaining) }
    let mode: FetchMode =
      T.self == ManagedObjectID.self ? .identifiers : T.self == Int.self ? .count : .rows
    return try explain(specification, mode: mode, explaining)
  }

  /// How `count(for: request)` is executed. See `explain(_:_:)`.
  /// - Throws: what `fetch(_:)` throws.
  public func explainCount<T: FetchRequestResult>(
    for request: FetchRequest<T>, _ explaining: FetchExplaining = .planning
  ) throws -> FetchExplanation {
    let specification = try specification(of: request)
    if T.self == FetchedDictionary.self {
      return try explainDictionaries(specification, isCount: true, explaining)
    }
    return try explain(specification, mode: .count, explaining)
  }

  private func explain(
    _ specification: FetchSpecification, mode: FetchMode, _ explaining: FetchExplaining
  ) throws -> FetchExplanation {
    let fetch = try ContextFetch(specification, in: self)
    // Nothing more is evaluated.
    fetch.endReading()
    let overlay = fetch.overlay
    var explanation = FetchExplanation(stores: [])
    let asked = overlay.isEmpty ? (request: fetch.request, mode: mode) : fetch.storeRequest(mode: mode)
    for binding in fetch.bindings {
      let part = try reading(binding).explain(
        asked.request, mode: asked.mode, isExecuting: explaining == .executing)
      if let part { explanation.stores.append(part) }
    }
    if !overlay.isEmpty {
      explanation.overlay = FetchExplanation.Overlay(
        matching: overlay.matching.count + overlay.rows.count, hidden: overlay.hiddenCount,
        isEvaluatedInContext: overlay.isDisturbed)
    }
    guard explaining == .executing else { return explanation }
    askedTimes = []
    defer { askedTimes = nil }
    let duration = try ContinuousClock().measure {
      explanation.returned =
        switch mode {
        case .count: try count(for: specification)
        case .identifiers: try fetchIdentifiers(specification).count
        case .rows: try fetchObjects(specification).count
        }
    }
    explanation.setTimes(askedTimes ?? [], whole: duration)
    return explanation
  }
}

extension FetchExplanation {
  /// What the stores took while the whole fetch was executed: the parts never add up to more than the whole.
  fileprivate mutating func setTimes(_ times: [Duration], whole: Duration) {
    if times.count == stores.count {
      for place in stores.indices { stores[place].execution?.duration = times[place] }
    }
    let parts = stores.reduce(Duration.zero) { $0 + ($1.execution?.duration ?? .zero) }
    duration = max(whole, parts)
  }
}

// MARK: Rows of values

extension ManagedObjectContext {
  /// Rows of values are made in the stores, and nothing that is unsaved takes part.
  private func explainDictionaries(
    _ specification: FetchSpecification, isCount: Bool = false, _ explaining: FetchExplaining
  ) throws -> FetchExplanation {
    checkAccess(specification.entityName)
    var steady: SteadyReading?
    let (request, bindings) = try dictionaryRequest(specification, nil, &steady)
    if isCount, !request.isGrouped, !request.isDistinct {
      return try explainCountOfRows(specification, bindings, explaining)
    }
    var explanation = FetchExplanation(stores: [])
    explanation.noun = "rows of values"
    let collector = DictionaryCollector(request)
    var duration = Duration.zero
    for binding in bindings {
      let store = try reading(binding)
      var part =
        try explainedEnds(request, store) ?? store.explain(request.fetch, mode: .rows, isExecuting: false)
      if explaining == .executing {
        let counters = FetchCounters()
        collector.counters = counters
        let time = try ContinuousClock().measure { [steady] in
          try collect(from: binding, steady, into: collector)
        }
        part?.execution = FetchExplanation.Execution(
          rowsExamined: counters.examined, entriesExamined: counters.entries,
          rowsReturned: counters.collected,
          hasScannedInstead: counters.hasScannedInstead, duration: time)
        duration += time
      }
      if let part { explanation.stores.append(part) }
    }
    guard explaining == .executing else { return explanation }
    duration += try ContinuousClock().measure { explanation.returned = try collector.finish().count }
    explanation.duration = duration
    return explanation
  }

  /// The plan of a request that the ends of indexes answer; nil for others.
  private func explainedEnds(_ request: ResolvedDictionaryRequest, _ store: any StoreReading) throws
    -> FetchExplanation.StorePart?
  {
    guard let ends = request.ends else { return nil }
    var parts: [FetchExplanation.StorePart] = []
    for end in ends {
      switch end {
      case .count(let counted):
        guard let part = try store.explain(counted, mode: .count, isExecuting: false) else { return nil }
        parts.append(part)
      case .extreme(let first, _):
        guard let part = try store.explain(first, mode: .rows, isExecuting: false), part.isOrdered,
          part.access == .index
        else { return nil }
        parts.append(part)
      }
    }
    return FetchExplanation.StorePart(together: parts)
  }

  private func explainCountOfRows(
    _ specification: FetchSpecification, _ bindings: [StoreBinding], _ explaining: FetchExplaining
  ) throws -> FetchExplanation {
    var explanation = FetchExplanation(stores: [])
    explanation.noun = "rows of values"
    var steady: SteadyReading?
    let counted = try countOfRows(specification, &steady)
    for binding in bindings {
      let part = try reading(binding).explain(counted, mode: .count, isExecuting: explaining == .executing)
      if let part { explanation.stores.append(part) }
    }
    guard explaining == .executing else { return explanation }
    askedTimes = []
    defer { askedTimes = nil }
    let duration = try ContinuousClock().measure {
      explanation.returned = try countDictionaries(specification)
    }
    explanation.setTimes(askedTimes ?? [], whole: duration)
    return explanation
  }
}
