import StrataCore

/// Comments that people have given tables and columns of a store, which a migration makes anew.
struct CommentTransfer {
  let transfer: RowTransfer
  let connection: PostgresConnection

  /// A table there was, the one that takes its place, and the columns of both in quotes.
  private struct Pair {
    let old: String
    let new: String
    /// By the column there was.
    var columns: [String: String]
  }

  /// The statements that give the new tables the comments of the old ones, and columns those of what has become of them. What a comment is about that goes takes it away.
  /// - Throws: ``SQLError``, ``StorageError``.
  func statements() throws -> [SQLStatement] {
    var statements: [SQLStatement] = []
    for pair in pairs() {
      let found = try connection.run(
        SQLStatement(
          "SELECT a.attname::text, d.description::text FROM pg_catalog.pg_description d LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid AND d.objsubid > 0 WHERE d.classoid = 'pg_catalog.pg_class'::regclass AND d.objoid = \(Self.literal(pair.old))::regclass"
        ))
      for row in 0..<found.rowCount {
        let comment = Self.literal(try found.text(row, 1))
        guard let name = found[row, 0]?.text else {
          statements.append(SQLStatement("COMMENT ON TABLE \(pair.new) IS \(comment)"))
          continue
        }
        guard let column = pair.columns[Identifier.quoted(name)] else { continue }
        statements.append(SQLStatement("COMMENT ON COLUMN \(pair.new).\(column) IS \(comment)"))
      }
    }
    return statements
  }

  private static func literal(_ text: String) -> String { "'" + text.replacing(mark: "'", with: "''") + "'" }

  private func pairs() -> [Pair] {
    let (plan, old, new) = (transfer.plan, transfer.old, transfer.new)
    var pairs: [Pair] = []
    for (hierarchy, origin) in plan.hierarchies.enumerated() {
      guard let origin else { continue }
      let (source, target) = (old.tables[origin], new.tables[hierarchy])
      var columns = [Identifier.quoted(source.outside): target.outside]
      for name in ["pk", "entity", "version"] { columns[Identifier.quoted(name)] = name }
      for entity in plan.entities.compactMap({ $0 }) where entity.source.hierarchyNumber == origin {
        for (was, becomes) in self.columns(of: entity, source, target) where columns[was.name] == nil {
          columns[was.name] = becomes.name
          if let code = was.codeColumn { columns[code] = becomes.codeColumn }
          if let position = was.positionColumn { columns[position] = becomes.positionColumn }
        }
      }
      pairs.append(Pair(old: source.name, new: target.name, columns: columns))
    }
    var joins: Set<Int> = []
    for entity in plan.entities.compactMap({ $0 }) {
      for relationship in entity.toMany {
        guard let join = new.joins[relationship.relationship.number] else { continue }
        for path in relationship.paths {
          guard case .edges(let edges) = path, let was = old.joins[edges.relationship],
            joins.insert(join.relationship).inserted
          else { continue }
          let names = ["src", "dst", "pos", "inverse_pos"].map { (Identifier.quoted($0), $0) }
          pairs.append(
            Pair(old: was.name, new: join.name, columns: Dictionary(names) { first, _ in first }))
        }
      }
    }
    return pairs
  }

  /// The columns of an entity's values and references, and what becomes of them.
  private func columns(of entity: MigrationPlan.Entity, _ source: TableMapping, _ target: TableMapping) -> [(
    ColumnMapping, ColumnMapping
  )] {
    let (was, becomes) = (entity.source.number, entity.destination.number)
    var found: [(ColumnMapping, ColumnMapping)] = []
    for (slot, value) in entity.values.enumerated() {
      guard case .slot(let origin, _) = value, let old = source.column(was, origin),
        let new = target.column(becomes, slot)
      else { continue }
      found.append((old, new))
    }
    for relationship in entity.toOne {
      for path in relationship.paths {
        guard case .reference(let slot, _) = path, let old = source.column(was, slot),
          let new = target.column(becomes, relationship.relationship.slot)
        else { continue }
        found.append((old, new))
      }
    }
    return found
  }
}
