extension ContextFetch {
  /// What stores are asked so that the overlay can be laid over their answers.
  func storeRequest(mode: FetchMode) -> (request: ResolvedFetchRequest, mode: FetchMode) {
    if overlay.isDisturbed {
      // What other objects have a say in is decided in the context, of all rows that the rest of the predicate leaves.
      let parts = request.predicate.conjuncts.filter { !$0.travels }
      let isSortedHere = request.sorts.contains { !$0.steps.isEmpty }
      return (request.candidates(.conjunction(parts), keepsSorts: !isSortedHere), .rows)
    }
    var wide = request
    wide.offset = 0
    let (last, isBeyondAll) = (request.windowEnd ?? .max).addingReportingOverflow(overlay.hiddenCount)
    wide.limit = isBeyondAll || request.windowEnd == nil ? 0 : last
    // Sorting across sources needs the sort keys, which identifiers alone do not have.
    return (wide, request.sorts.isEmpty ? mode : .rows)
  }

  /// Stored rows and unsaved objects together, in order, cut to the window.
  func matches(mode: FetchMode) throws -> ArraySlice<FetchMatch> {
    try context.throwingFailures { try matchesAsRead(mode: mode) }
  }

  /// The same; what cannot be read of unsaved objects is reported.
  private func matchesAsRead(mode: FetchMode) throws -> ArraySlice<FetchMatch> {
    let isSortedHere = request.sorts.contains { !$0.steps.isEmpty }
    let asked = storeRequest(mode: mode)
    var wide = asked.request
    let layers = overlay.rows.isEmpty ? [] : overlay.ownLayers + overlay.layersBelow
    func isBefore(_ left: FetchMatch, _ right: FetchMatch) throws -> Bool {
      let order = try request.compare(
        { try left.value($0, layers) }, left.primaryKey, { try right.value($0, layers) }, right.primaryKey)
      return order != 0 ? order < 0 : left.storeIndex < right.storeIndex
    }
    func isBehindStart(_ match: FetchMatch) throws -> Bool {
      guard var start = request.start, let node = match.node,
        let evaluation = try evaluation(match.storeIndex)
      else { return true }
      start.includesEqual = match.storeIndex > start.storeIndex
      let values = try evaluation.sortValues(node)
      return request.isBehindStart(start, { values[$0] }, match.primaryKey)
    }
    var result = overlay.matching.map { FetchMatch.object($0) } + overlay.rows
    if request.start != nil { result = try result.filter(isBehindStart) }
    if !isSortedHere { try result.sort(by: isBefore) }
    for binding in bindings {
      let view = try context.reading(binding)
      if let start = wide.start { wide.start?.includesEqual = binding.index > start.storeIndex }
      let fetched = try context.ask(view, of: binding, wide, mode: asked.mode)
      let store = context.stores.tables(for: binding)
      store.view = view
      let table = store.tables[request.hierarchyNumber]
      let hiddenKeys = overlay.hiddenKeys[binding.index] ?? []
      var found = fetched.rows
      if binding.contextual != nil, asked.mode == .rows {
        // Such a store names records, and reads them when their values are wanted: here they are, to be sorted and matched.
        found = try view.valued(found, hierarchy: request.hierarchyNumber)
      }
      var rows = found.filter { row in
        if !hiddenKeys.isEmpty, hiddenKeys.contains(row.primaryKey) { return false }
        guard overlay.hidden > 0, let known = table.object(for: row.primaryKey) else { return true }
        return !known.hidesStoredRow
      }
      if overlay.isDisturbed,
        let evaluation = try evaluation(binding.index)
      {
        rows = try rows.filter { row in
          guard let bound = binding.entities[row.entity] else { return false }
          return try evaluation.matches(.row(row, bound), entity: row.entity)
        }
        if request.start != nil { rows = try rows.filter { try isBehindStart(.row($0, store)) } }
      }
      if isSortedHere {
        result += rows.map { .row($0, store) }
      } else {
        result = try merge(result, rows.lazy.map { .row($0, store) }, by: isBefore)
      }
    }
    if isSortedHere { try sort(&result) }
    let start = min(request.offset, result.count)
    let end = request.windowEnd.map { min($0, result.count) } ?? result.count
    return result[start..<max(start, end)]
  }

  /// Sorts by what the objects refer to.
  private func sort(_ matches: inout [FetchMatch]) throws {
    var keyed: [(values: [AttributeValue], match: FetchMatch)] = []
    keyed.reserveCapacity(matches.count)
    for match in matches {
      guard let evaluation = try evaluation(match.storeIndex),
        let node = match.node
      else { continue }
      keyed.append((try evaluation.sortValues(node), match))
    }
    keyed.sort { left, right in
      let order = request.compare(left.values, left.match.primaryKey, right.values, right.match.primaryKey)
      return order != 0 ? order < 0 : left.match.storeIndex < right.match.storeIndex
    }
    matches = keyed.map(\.match)
  }

  /// Two sorted sequences as one.
  private func merge(
    _ left: [FetchMatch], _ right: some Sequence<FetchMatch>,
    by isBefore: (FetchMatch, FetchMatch) throws -> Bool
  ) rethrows -> [FetchMatch] {
    var result: [FetchMatch] = []
    var waiting = left[...]
    for match in right {
      while let first = waiting.first, try isBefore(first, match) {
        result.append(first)
        waiting.removeFirst()
      }
      result.append(match)
    }
    return result + waiting
  }
}
