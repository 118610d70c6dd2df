import StrataCore

/// Reads rows back that a change set has written where triggers of somebody else's may have given them other values: those of the rows' own table, or of others that are
/// written with it.
struct WrittenRows {
  private let set: ChangeSet
  private let mapping: StoreMapping
  private let decodings: [RowDecoding]
  /// What goes out behind what writes the rows, and before the commit; none where nobody changes anything.
  let statements: [SQLStatement]

  init(_ set: ChangeSet, _ mapping: StoreMapping) {
    (self.set, self.mapping) = (set, mapping)
    var (decodings, statements): ([RowDecoding], [SQLStatement]) = ([], [])
    for table in mapping.tables where Self.callsTriggers(set, mapping) {
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

  /// Whether triggers are called for rows of a change set.
  private static func callsTriggers(_ set: ChangeSet, _ mapping: StoreMapping) -> Bool {
    func triggers(_ entity: Int) -> OthersTriggers { mapping.table(ofEntity: entity).triggers }
    return mapping.callsTriggers
      && (set.inserts.contains { triggers($0.entity).followWrites }
        || set.updates.contains { triggers($0.entity).followWrites }
        || set.deletes.contains { triggers($0.entity).followDeletes })
  }

  /// What goes out before ``statements``: deferred triggers are called now, so that what they do is read as well. Constraints are looked at, too, since all rows are there.
  var settling: [SQLStatement] {
    statements.isEmpty ? [] : [SQLStatement("SET CONSTRAINTS ALL IMMEDIATE")]
  }

  /// What goes out behind them, where the transaction goes on.
  var unsettling: [SQLStatement] {
    settling.isEmpty ? [] : [SQLStatement("SET CONSTRAINTS ALL DEFERRED")]
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
      if slots.isEmpty, change.externals.isEmpty, row.version == change.row.version { return nil }
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
