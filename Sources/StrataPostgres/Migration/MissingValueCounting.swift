import StrataCore

/// Which values rows must have after a migration and have not, counted by the server.
struct MissingValueCounting {
  let plan: MigrationPlan
  let mapping: StoreMapping

  /// One round trip.
  /// - Throws: `CoreDataError` 134110 that names what is missing; ``SQLError``, ``StorageError``.
  func requireNone(on connection: PostgresConnection) throws {
    var places: [(value: MigrationPlan.NeededValue, entity: EntitySchema)] = []
    var statements: [SQLStatement] = []
    for entity in plan.entities.compactMap({ $0 }) where plan.holds(entity.source) {
      for value in entity.needed {
        places.append((value, entity.source))
        statements.append(SQLStatement(question(value, entity.source)))
      }
    }
    if statements.isEmpty { return }
    var missing = MissingValues()
    for (place, result) in zip(places, try connection.run(statements)) {
      let count = Int(try result.integer(0, 0))
      if count == 0 { continue }
      let first = UInt64(clamping: try result.integer(0, 1))
      missing.add(place.value, of: place.entity, first: first, count: count)
    }
    try missing.requireNone()
  }

  private func question(_ value: MigrationPlan.NeededValue, _ entity: EntitySchema) -> String {
    let table = mapping.table(ofEntity: entity.number)
    func columns(_ slots: [Int]) -> [String] {
      slots.compactMap { table.column(entity.number, $0)?.name }
    }
    var conditions = ["t.entity = \(mapping.codes[entity.number])"]
    let owner = columns(value.owner).map { "t.\($0) IS NOT NULL" }
    if !owner.isEmpty { conditions.append("(\(owner.joined(separator: " OR ")))") }
    conditions += columns(value.slots).map { "t.\($0) IS NULL" }
    return
      "SELECT pg_catalog.count(*), COALESCE(pg_catalog.min(t.pk), 0) FROM \(table.name) t WHERE \(conditions.joined(separator: " AND "))"
  }
}
