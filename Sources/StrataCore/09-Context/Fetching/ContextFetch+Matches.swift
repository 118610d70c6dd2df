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
    // What the objects refer to is read after them.
    if isSortedHere { holdStill() }
    defer {
      // Stores' tables live on.
      if steady?.hasSnapshots == true {
        for binding in bindings { context.stores.tables(for: binding).view = nil }
      }
    }
    let asked = storeRequest(mode: mode)
    var wide = asked.request
    let layers = overlay.rows.isEmpty ? [] : overlay.ownLayers + overlay.layersBelow
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
    // No more than the window has places for can be in it.
    if !isSortedHere { result = try sorted(result, layers, atMost: request.windowEnd) }
    for binding in bindings {
      let view = try reading(binding)
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
        result = try merge(result, rows.lazy.map { .row($0, store) }, layers, atMost: request.windowEnd)
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

  /// The first `limit` of `matches` in the order of their own values, each of which is read once.
  private func sorted(_ matches: [FetchMatch], _ layers: [StratumLayer], atMost limit: Int?) throws
    -> [FetchMatch]
  {
    if matches.count < 2 { return matches }
    let keys = try matches.map { try sortKey($0, layers) }
    return keys.withUnsafeBufferPointer { keys in
      // What is moved while they are sorted counts no references.
      var places = keys.indices.map { (prefix: keys[$0].prefix, place: $0) }
      places.sort { left, right in
        left.prefix != right.prefix
          ? left.prefix < right.prefix : isBefore(keys[left.place], keys[right.place])
      }
      return places.prefix(limit ?? .max).map { matches[$0.place] }
    }
  }

  /// The first `limit` of two sorted sequences.
  private func merge(
    _ left: [FetchMatch], _ right: some Sequence<FetchMatch>, _ layers: [StratumLayer], atMost limit: Int?
  ) throws -> [FetchMatch] {
    let limit = limit ?? .max
    var result: [FetchMatch] = []
    var place = 0
    var waiting = try left.first.map { try sortKey($0, layers) }
    for match in right {
      if result.count >= limit { return result }
      if waiting != nil {
        let key = try sortKey(match, layers)
        while let first = waiting, isBefore(first, key) {
          result.append(left[place])
          place += 1
          waiting = try place < left.count ? sortKey(left[place], layers) : nil
        }
      }
      result.append(match)
    }
    result += left[place...]
    return result
  }

  private func isBefore(_ left: MatchSortKey, _ right: MatchSortKey) -> Bool {
    if left.prefix != right.prefix { return left.prefix < right.prefix }
    let order = request.compare(
      { left.value($0) }, left.primaryKey, { right.value($0) }, right.primaryKey)
    return order != 0 ? order < 0 : left.storeIndex < right.storeIndex
  }

  private func sortKey(_ match: FetchMatch, _ layers: [StratumLayer]) throws -> MatchSortKey {
    let sort = request.sorts.first
    let first = try sort.map { try match.value($0.slot, layers) } ?? .null
    let prefix = sort.map { MatchSortKey.prefix(of: first, $0) } ?? 0
    return MatchSortKey(
      prefix: prefix, first: first,
      others: request.sorts.count < 2
        ? [] : try request.sorts.dropFirst().map { try match.value($0.slot, layers) },
      primaryKey: match.primaryKey, storeIndex: match.storeIndex)
  }
}

/// What a match is sorted by.
private struct MatchSortKey {
  /// The beginning of the first value as a number: matches with different ones are in their order.
  let prefix: UInt64
  /// The value of the first sort key. Most requests have one, and an array of it would take an allocation for each match.
  let first: AttributeValue
  let others: [AttributeValue]
  let primaryKey: UInt64
  let storeIndex: Int

  /// That of the sort key at a place.
  func value(_ place: Int) -> AttributeValue { place == 0 ? first : others[place - 1] }

  /// nil lies before everything else. Where numbers or bytes do not tell the order, all values have the same prefix.
  static func prefix(of value: AttributeValue, _ sort: ResolvedSort) -> UInt64 {
    let word: UInt64
    switch value {
    case .integer(let number): word = KeyBuilder.sortable(number)
    case .double(let number): word = KeyBuilder.sortable(number)
    case .date(let date): word = KeyBuilder.sortable(date.timeIntervalSinceReferenceDate)
    case .string(let text) where sort.isByBytes:
      var bytes = text.utf8.makeIterator()
      word = (0..<8).reduce(0) { word, _ in word << 8 | UInt64(bytes.next() ?? 0) }
    case .null: return sort.isAscending ? 0 : .max
    default: word = 0
    }
    let prefix = word >> 1 | 1 << 63
    return sort.isAscending ? prefix : ~prefix
  }
}
