/// What the history keeps of one change set.
///
/// Values of deleted rows are read before anything is written; the rest is told from the change set afterwards: no row is read but those of
/// which only members have changed, for their entity.
struct HistoryOfChanges {
  private let writer: ChangeSetWriter
  private let history: HistoryWriter
  private var parts: StoreParts { writer.parts }
  private var schema: Schema { parts.schema }
  /// In the order of the deleted rows; empty for those of which nothing stays.
  private var values: [[(slot: Int, value: AttributeValue)]] = []

  init(_ writer: ChangeSetWriter, _ history: HistoryWriter, _ transaction: borrowing ReadTransaction) throws {
    self.writer = writer
    self.history = history
    for (key, row) in writer.deleted {
      values.append(
        try (parts.history.preservedSlots[row.entity] ?? []).compactMap { slot in
          let value = try writer.reader.value(row, slot, primaryKey: key, externals: [], transaction)
          return value.isNull ? nil : (slot, value)
        })
    }
  }

  /// Called when everything is written.
  func record(_ transaction: borrowing WriteTransaction) throws {
    var related = relatedOwners()
    try recordInserts(&related, transaction)
    try recordUpdates(&related, transaction)
    try recordDeletes(&related, transaction)
    try recordOthers(&related, transaction)
  }

  private func address(_ key: UInt64, of entity: Int) -> RowAddress {
    RowAddress(hierarchy: schema.entities[entity].hierarchyNumber, key: key)
  }

  /// The objects whose to-many relationships have other members, or the same in another order.
  private func relatedOwners() -> [RowAddress: SlotBitmap] {
    var owners: [RowAddress: SlotBitmap] = [:]
    var last: UInt64?
    let relationships = writer.catalogue.relationships
    func note(_ prefix: UInt64) {
      if prefix == last { return }
      last = prefix
      let code = EdgeKey.code(prefix)
      guard code & (EdgeKey.hiddenInverse | EdgeKey.order) == 0,
        let number = relationships.relationship(code: code)
      else { return }
      let relationship = schema.relationships[number]
      owners[address(EdgeKey.owner(prefix), of: relationship.owner), default: SlotBitmap()].insert(
        relationship.slot)
    }
    for edge in writer.edges.removals { note(edge.prefix) }
    for edge in writer.edges.additions { note(edge.prefix) }
    for placement in writer.edges.placements { note(placement.prefix) }
    return owners
  }

  private func recordInserts(
    _ related: inout [RowAddress: SlotBitmap], _ transaction: borrowing WriteTransaction
  ) throws {
    for change in inOrder(writer.changeSet.inserts) {
      if !related.isEmpty { related[address(change.primaryKey, of: change.entity)] = nil }
      try history.note(.inserted, change.primaryKey, of: change.entity, SlotBitmap(), transaction)
    }
  }

  private func recordUpdates(
    _ related: inout [RowAddress: SlotBitmap], _ transaction: borrowing WriteTransaction
  ) throws {
    for change in inOrder(writer.changeSet.updates) {
      var slots = change.changedSlots
      if !related.isEmpty,
        let more = related.removeValue(forKey: address(change.primaryKey, of: change.entity))
      {
        slots.formUnion(more)
      }
      if let baseline = schema.entities[change.entity].baselineSlot { slots.remove(baseline) }
      try history.note(.updated, change.primaryKey, of: change.entity, slots, transaction)
    }
  }

  /// Entity by entity, keys ascending: then they make a few lists.
  private func inOrder(_ changes: [RowChange]) -> [RowChange] {
    func precedes(_ a: RowChange, _ b: RowChange) -> Bool {
      (a.entity, a.primaryKey) < (b.entity, b.primaryKey)
    }
    if zip(changes, changes.dropFirst()).allSatisfy({ precedes($0, $1) }) { return changes }
    return changes.sorted(by: precedes)
  }

  private func recordDeletes(
    _ related: inout [RowAddress: SlotBitmap], _ transaction: borrowing WriteTransaction
  ) throws {
    let order = writer.deleted.indices.sorted {
      let (a, b) = (writer.deleted[$0], writer.deleted[$1])
      return (a.row.entity, a.key) < (b.row.entity, b.key)
    }
    for place in order {
      let (key, row) = writer.deleted[place]
      if !related.isEmpty { related[address(key, of: row.entity)] = nil }
      if values[place].isEmpty {
        try history.note(.deleted, key, of: row.entity, SlotBitmap(), transaction)
      } else {
        try history.bury(key, of: row.entity, values[place], transaction)
      }
    }
  }

  /// Rows that are not part of the change set: derived values and members of theirs have changed along with it. Those that go with another change
  /// set of the transaction are said to go, nothing else.
  private func recordOthers(
    _ related: inout [RowAddress: SlotBitmap], _ transaction: borrowing WriteTransaction
  ) throws {
    var entities: [RowAddress: Int] = [:]
    if !writer.derivedRows.isEmpty {
      let own = Set(
        (writer.changeSet.inserts + writer.changeSet.updates).map { address($0.primaryKey, of: $0.entity) })
      for row in writer.derivedRows {
        let address = address(row.primaryKey, of: row.entity)
        if own.contains(address) { continue }
        entities[address] = row.entity
        related[address, default: SlotBitmap()].formUnion(
          row.changedSlots.intersection(schema.entities[row.entity].derivedSlots))
      }
    }
    if related.isEmpty { return }
    for touch in writer.changeSet.touched {
      entities[address(touch.primaryKey, of: touch.entity)] = touch.entity
    }
    let sorted = related.sorted { ($0.key.hierarchy, $0.key.key) < ($1.key.hierarchy, $1.key.key) }
    for (address, slots) in sorted where !writer.goes(address) && history.isNews(slots, of: address) {
      guard let entity = try entities[address] ?? entity(at: address, transaction.read) else { continue }
      try history.note(.updated, address.key, of: entity, slots, transaction)
    }
  }

  /// Nil when there is no such row (any more).
  private func entity(at address: RowAddress, _ transaction: borrowing ReadTransaction) throws -> Int? {
    guard let rows = parts.rows[address.hierarchy],
      let bytes = try transaction.get(rows, address.key)
    else { return nil }
    return try writer.reader.entity(of: bytes, primaryKey: address.key)
  }
}
