import Foundation

/// What an explanation is made from.
public enum FetchExplaining: Sendable, Hashable {
  /// The plan alone: rows are not read, but for estimates.
  case planning
  /// The request is executed too, and what that took is told.
  case executing
}

extension ManagedObjectContext {
  /// How `request` is executed, store by store, with the unsaved changes of this context and those below: for tests that a query
  /// uses an index, and for those who wonder why it takes so long.
  ///
  ///     #expect(try context.explain(request).indexName == "Person.byName")
  ///     print(try context.explain(request, .executing))
  ///
  /// - Throws: what `fetch(_:)` throws.
  public func explain<T: FetchRequestResult>(
    _ request: FetchRequest<T>, _ explaining: FetchExplaining = .planning
  ) throws -> FetchExplanation {
    let mode: FetchMode = T.self == ManagedObjectID.self ? .identifiers : .rows
    return try explain(request.specification, mode: mode, explaining)
  }

  /// How `count(for: request)` is executed. See `explain(_:_:)`.
  public func explainCount<T: FetchRequestResult>(
    for request: FetchRequest<T>, _ explaining: FetchExplaining = .planning
  ) throws -> FetchExplanation {
    try explain(request.specification, mode: .count, explaining)
  }

  private func explain(
    _ specification: FetchSpecification, mode: FetchMode, _ explaining: FetchExplaining
  ) throws -> FetchExplanation {
    checkAccess(specification.entityName)
    flushAncestors()
    tellChanges()
    let resolved = try ResolvedFetchRequest(specification, schema: schema)
    let overlay = try makeOverlay(resolved, specification)
    var explanation = FetchExplanation(stores: [])
    let asked = overlay.isEmpty ? (request: resolved, mode: mode) : storeRequest(resolved, mode: mode, overlay)
    for binding in bindings(for: resolved, specification) {
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
    explanation.duration = try ContinuousClock().measure {
      explanation.returned =
        switch mode {
        case .count: try count(for: specification)
        case .identifiers: try fetchIdentifiers(specification).count
        case .rows: try fetchObjects(specification).count
        }
    }
    return explanation
  }
}
