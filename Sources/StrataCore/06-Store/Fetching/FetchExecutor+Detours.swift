import Foundation

// Candidates that are found through other rows or through several indexes.

extension FetchExecutor {
  /// The primary keys that an access leads to, ascending, each once; nil when there are more than `atMost`.
  func candidateKeys(
    _ access: FetchPlan.Access, atMost: Int, _ transaction: borrowing ReadTransaction
  ) throws -> [UInt64]? {
    var keys: [UInt64] = []
    switch access {
    case .nothing: return []
    case .identifiers(let known): keys = known
    case .scan: return nil
    case .index(let number, let ranges, _):
      guard let keyspace = view.reader.catalogue.indexes.keyspaces[number] else { return [] }
      var isTooMany = false
      try transaction.withCursor(keyspace) { cursor in
        for range in ranges where !isTooMany {
          _ = try IndexWalk.forwards(range, &cursor) { key in
            if let ticker { try ticker.step() }
            keys.append(key)
            isTooMany = keys.count > atMost
            return !isTooMany
          }
        }
      }
      if isTooMany { return nil }
    case .related(let related):
      guard let found = try sources(of: related, atMost: atMost, transaction) else { return nil }
      keys = found
    case .union(let accesses):
      for access in accesses {
        guard let more = try candidateKeys(access, atMost: atMost, transaction) else { return nil }
        keys += more
        if keys.count > atMost { return nil }
      }
    }
    return keys.sortedDistinct()
  }

  /// The result when rows are known to exist and to match.
  func found(_ keys: [UInt64]) -> FetchedRows {
    var window = keys.dropFirst(request.offset)
    if request.limit > 0 { window = window.prefix(request.limit) }
    if mode == .count { return FetchedRows(rows: [], count: window.count, plan: plan) }
    let entity = request.entityNumbers[0]
    let rows = ContiguousArray(
      window.map { FetchedRow(primaryKey: $0, entity: entity, snapshot: nil) })
    return FetchedRows(rows: rows, count: rows.count, plan: plan)
  }

  /// How many rows a to-one relationship leads from, without listing them: those of different targets are different rows. Nil for
  /// relationships of which this is not known.
  func memberCount(_ related: RelatedAccess, _ transaction: borrowing ReadTransaction) throws -> Int? {
    guard !related.relationship.isToMany,
      case .edges(let edges) = WayBack(related.relationship, view.schema)
    else { return nil }
    var count = 0
    if let targets = related.targets {
      let executor = FetchExecutor(
        request: targets.request, plan: targets.plan.plan, mode: .rows, view: view, counters: counters)
      try executor.forEachMatch(transaction) { key, _ in
        count += try view.withTransaction { try reader.memberCount(edges, of: key, $0) }
        return true
      }
    } else {
      for key in related.keys {
        if let ticker { try ticker.step() }
        count += try reader.memberCount(edges, of: key, transaction)
      }
    }
    return count
  }

  /// The keys of rows whose relationship leads to the targets of `related`, in no order.
  private func sources(
    of related: RelatedAccess, atMost: Int, _ transaction: borrowing ReadTransaction
  ) throws -> [UInt64]? {
    let way = WayBack(related.relationship, view.schema)
    // Any object of the hierarchy may be named, and rows of others have something else in the slot.
    let destinations = view.schema.entities[related.relationship.destination].subtree
    var keys: [UInt64] = []
    func add(_ target: UInt64, _ row: StoredRow?) throws -> Bool {
      switch way {
      case .reference(let slot):
        guard
          let row = try row
            ?? view.node(
              Reference.bits(target, entityCode: 0), hierarchy: related.relationship.destinationHierarchy)?
            .row, destinations.contains(row.entity)
        else { return true }
        let bits = RowBytes.reference(row.base, reader.layout(of: row).entry(of: slot))
        if bits != 0 { keys.append(Reference.primaryKey(bits)) }
      case .edges(let edges):
        let count = try view.withTransaction { try reader.memberCount(edges, of: target, $0) }
        if keys.count + count > atMost { return false }
        let members = try view.withTransaction { try reader.members(edges, of: target, $0) }
        for member in members {
          if let ticker { try ticker.step() }
          keys.append(Reference.primaryKey(member))
        }
      }
      return keys.count <= atMost
    }
    var isComplete = true
    if let targets = related.targets {
      let executor = FetchExecutor(
        request: targets.request, plan: targets.plan.plan, mode: .rows, view: view, counters: counters)
      try executor.forEachMatch(transaction) { key, row in
        isComplete = try add(key, row)
        return isComplete
      }
    } else {
      for key in related.keys where isComplete {
        if let ticker { try ticker.step() }
        isComplete = try add(key, nil)
      }
    }
    return isComplete ? keys : nil
  }
}

/// How one comes from the other end of a relationship back to the rows that have it.
private enum WayBack {
  /// The row at the other end refers to the one row.
  case reference(slot: Int)
  case edges(EdgeSet)

  init(_ relationship: RelationshipSchema, _ schema: Schema) {
    if let inverse = schema.inverse(of: relationship), !inverse.isToMany {
      self = .reference(slot: inverse.slot)
    } else if relationship.isToMany {
      self = .edges(RelationshipCodes.twin(of: relationship))
    } else {
      // A to-one relationship whose inverse is to-many, or hidden: the first case has been taken by all others.
      self = .edges(
        RelationshipCodes.derivedEdges(of: relationship, schema) ?? EdgeSet(relationship: relationship.number)
      )
    }
  }
}

extension [UInt64] {
  /// The same keys ascending, each once.
  fileprivate consuming func sortedDistinct() -> [UInt64] {
    var keys = self
    keys.sort()
    var count = 0
    for place in keys.indices where count == 0 || keys[count - 1] != keys[place] {
      keys[count] = keys[place]
      count += 1
    }
    keys.removeLast(keys.count - count)
    return keys
  }
}

// MARK: From entries alone

extension FetchExecutor {
  /// The result of a plan whose residual the entries of the index decide.
  func collectFromEntries(_ transaction: borrowing ReadTransaction) throws -> FetchedRows {
    guard case .index(let number, let ranges, let isReversed) = plan.access, let residual = plan.residual,
      let keyspace = view.reader.catalogue.indexes.keyspaces[number],
      let rows = parts.rows[request.hierarchyNumber]
    else { return FetchedRows(rows: [], count: 0, plan: plan) }
    let keyReader = IndexKeyReader(view.reader.catalogue.indexes.all[number])
    var result: ContiguousArray<FetchedRow> = []
    var count = 0
    var skip = request.offset
    let limit = request.limit == 0 ? Int.max : request.limit
    var values: [AttributeValue] = []
    var places: [Int: Int] = [:]
    residual.slots.forEach { places[$0] = keyReader.place(of: $0) }
    func visit(_ key: UInt64, _ bytes: UnsafeRawBufferPointer) throws -> Bool {
      counters?.entries += 1
      if let ticker { try ticker.step() }
      let isTrue: Bool
      if keyReader.values(bytes, into: &values) {
        isTrue = try residual.evaluate(primaryKey: key) { slot in places[slot].map { values[$0] } ?? .null }
      } else {
        // A value too long for its key.
        let found = try view.withTransaction { transaction in
          try transaction.get(rows, key)
        }
        guard let found else { throw parts.damaged("An index names the row p\(key), which does not exist.") }
        isTrue = try view.withTransaction { try match(found, key, $0) } != nil
      }
      if !isTrue { return true }
      if skip > 0 { skip -= 1; return true }
      count += 1
      if mode == .identifiers {
        result.append(FetchedRow(primaryKey: key, entity: request.entityNumbers[0], snapshot: nil))
      }
      return count < limit
    }
    try transaction.withCursor(keyspace) { cursor in
      if isReversed {
        for range in ranges.reversed() where try !IndexWalk.backwards(range, &cursor, counters, visit) {
          return
        }
      } else {
        for range in ranges where try !IndexWalk.forwards(range, &cursor, counters, visit) { return }
      }
    }
    return FetchedRows(rows: result, count: count, plan: plan)
  }
}
