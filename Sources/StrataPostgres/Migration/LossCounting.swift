import StrataCore

/// How many objects a migration would take something away from, counted by the server.
struct LossCounting {
  let plan: MigrationPlan
  let losses: LossPlan
  let mapping: StoreMapping

  /// By number of the loss. One round trip.
  func counts(on connection: PostgresConnection) throws -> [Int] {
    var counts = [Int](repeating: 0, count: losses.losses.count)
    var (places, statements): ([Int], [SQLStatement]) = ([], [])
    for (entity, list) in losses.places.enumerated() {
      for (loss, place) in list {
        guard let text = question(place, entity) else { continue }
        places.append(loss)
        statements.append(SQLStatement(text))
      }
    }
    if statements.isEmpty { return counts }
    for (loss, result) in zip(places, try connection.run(statements)) {
      counts[loss] += Int(try result.integer(0, 0))
    }
    return counts
  }

  /// Nil where nothing can be.
  private func question(_ place: LossPlan.Place, _ entity: Int) -> String? {
    let table = mapping.table(ofEntity: entity)
    let own = "t.entity = \(mapping.codes[entity])"
    switch place {
    case .row: return "SELECT pg_catalog.count(*) FROM \(table.name) t WHERE \(own)"
    case .slot(let slot):
      guard let column = table.column(entity, slot) else { return nil }
      return "SELECT pg_catalog.count(*) FROM \(table.name) t WHERE \(own) AND t.\(column.name) IS NOT NULL"
    case .members(let path, let least, let kept):
      guard let members = members(path, entity) else { return nil }
      // Members that go are no loss of the relationship's.
      let gone = mapping.schema.entities.indices.filter { plan.entities[$0] == nil || kept.contains($0) }
      let codes = gone.filter { mapping.schema.entities[$0].hierarchyNumber == members.hierarchy }.map {
        String(mapping.codes[$0])
      }
      let condition = codes.isEmpty ? "" : " AND m.entity NOT IN (\(codes.joined(separator: ", ")))"
      return
        "SELECT pg_catalog.count(*) FROM (SELECT t.pk FROM \(table.name) t \(members.joins) WHERE \(own)\(condition) GROUP BY t.pk HAVING pg_catalog.count(*) >= \(least)) x"
    }
  }

  /// The tables that lead from a row `t` to its members `m`.
  private func members(_ path: MigrationPlan.Path, _ entity: Int) -> (joins: String, hierarchy: Int)? {
    switch path {
    case .reference(let slot, _):
      guard let column = mapping.table(ofEntity: entity).column(entity, slot),
        let number = column.relationship
      else { return nil }
      let hierarchy = mapping.schema.relationships[number].destinationHierarchy
      return ("JOIN \(mapping.tables[hierarchy].name) m ON m.pk = t.\(column.name)", hierarchy)
    case .edges(let edges):
      switch try? mapping.members(edges) {
      case .rows(let table, let column, _)?:
        return ("JOIN \(table.name) m ON m.\(column.name) = t.pk", table.hierarchy)
      case .links(let join, let owner, let member, _, let table)?:
        return (
          "JOIN \(join.name) l ON l.\(owner) = t.pk JOIN \(table.name) m ON m.pk = l.\(member)",
          table.hierarchy
        )
      case .nowhere?, nil: return nil
      }
    }
  }
}
