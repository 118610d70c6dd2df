import StrataCore

/// Reads rows back that a change set has written into tables whose triggers may have given them other values.
struct WrittenRows {
  private let set: ChangeSet
  private let mapping: StoreMapping
  private let decodings: [RowDecoding]
  /// What goes out behind what writes the rows, and before the commit; none where nobody changes anything.
  let statements: [SQLStatement]

  init(_ set: ChangeSet, _ mapping: StoreMapping) {
    (self.set, self.mapping) = (set, mapping)
    var (decodings, statements): ([RowDecoding], [SQLStatement]) = ([], [])
    for table in mapping.tables where table.isRewritten {
      let keys = (set.inserts + set.updates).filter {
        mapping.schema.entities[$0.entity].hierarchyNumber == table.hierarchy
      }.map(\.primaryKey)
      if keys.isEmpty { continue }
      let decoding = RowDecoding(
        mapping, table, entities: mapping.schema.hierarchies[table.hierarchy].memberNumbers, alias: "t")
      var statement = SQLStatement("SELECT \(decoding.list) FROM \(table.name) t WHERE ")
      statement.add("t.pk", isAnyOf: keys)
      decodings.append(decoding)
      statements.append(statement)
    }
    (self.decodings, self.statements) = (decodings, statements)
  }

  /// The rows that are not as they were sent.
  /// - Throws: ``StorageError`` `.damaged` for a value that Strata has no form for.
  func differing(_ answers: some Collection<SQLResult>) throws -> [RowChange] {
    var found: [RowAddress: RowSnapshot] = [:]
    for (decoding, answer) in zip(decodings, answers) {
      for row in try decoding.rows(answer) {
        found[RowAddress(hierarchy: decoding.table.hierarchy, key: row.primaryKey)] = row.snapshot
      }
    }
    return (set.inserts + set.updates).compactMap { change in
      let entity = mapping.schema.entities[change.entity]
      let address = RowAddress(hierarchy: entity.hierarchyNumber, key: change.primaryKey)
      guard let row = found[address] else { return nil }
      let slots = differences(change.row, row, entity)
      // Large values are not compared: they are read from the store when they are used.
      if slots.isEmpty, change.externals.isEmpty { return nil }
      var changed = change.changedSlots
      changed.formUnion(slots)
      return RowChange(
        entity: change.entity, primaryKey: change.primaryKey, baseVersion: change.baseVersion, row: row,
        externals: [], changedSlots: changed)
    }
  }

  private func differences(_ sent: RowSnapshot, _ stored: RowSnapshot, _ entity: EntitySchema) -> SlotBitmap {
    var slots = SlotBitmap()
    for slot in 0..<entity.layout.slotCount where entity.layout.kind(of: slot) != .transient {
      let isSame =
        switch (sent.content(slot, of: entity), stored.content(slot, of: entity)) {
        case (.value(let one), .value(let other)): one == other
        case (.outside(let one), .outside(let other)):
          one.version == other.version && one.byteCount == other.byteCount
        default: false
        }
      if !isSame { slots.insert(slot) }
    }
    return slots
  }
}
