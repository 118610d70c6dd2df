import StrataCore

/// Computes the derived attributes of rows that a migration has carried over. Those that hold the time of a save keep it: a migration is no save.
struct DerivedTransfer {
  let mapping: StoreMapping
  let connection: PostgresConnection
  /// So many rows are looked at in one step; fewer where texts come whole.
  private static let step = 10_000
  private static let stepOfTexts = 500

  /// - Throws: `CoreDataError` 1610 for a sum that does not fit; ``SQLError``, ``StorageError``.
  func run() throws {
    for hierarchy in mapping.schema.hierarchies
    where hierarchy.memberNumbers.contains(where: { !mapping.schema.entities[$0].derived.isEmpty }) {
      try run(DerivedQuestion(mapping, hierarchy: hierarchy.number, includesOwn: true))
    }
  }

  private func run(_ question: DerivedQuestion) throws {
    let reviser = RowReviser(mapping)
    let rows = RowStatements(mapping: mapping)
    let step = question.asksTexts ? Self.stepOfTexts : Self.step
    var last: UInt64 = 0
    while true {
      let answer = try connection.run(question.statement(after: last, limit: step))
      if answer.rowCount == 0 { return }
      last = try answer.key(answer.rowCount - 1, 0)
      let changes = try question.differences(answer, rewrites: { _ in false }).compactMap {
        difference -> RowChange? in
        guard let snapshot = difference.row.snapshot, !difference.values.isEmpty else { return nil }
        let entity = mapping.schema.entities[difference.row.entity]
        let key = difference.row.primaryKey
        let (row, externals) = try reviser.revised(
          snapshot, of: entity, primaryKey: key, version: snapshot.version, difference.values, externals: [])
        return RowChange(
          entity: entity.number, primaryKey: key, baseVersion: snapshot.version, row: row,
          externals: externals,
          changedSlots: difference.values.keys.reduce(into: SlotBitmap()) { $0.insert($1) })
      }
      try connection.run(try rows.updates(changes, keepsVersion: true))
      if answer.rowCount < step { return }
    }
  }
}
