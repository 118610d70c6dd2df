import StrataCore

/// Comments that people have given tables, columns, indexes, constraints and sequences of a store, which a migration makes anew.
struct CommentTransfer {
  let transfer: RowTransfer
  let connection: PostgresConnection

  /// A table there was, the one that takes its place, and the columns of both in quotes.
  private struct Pair {
    let old: String
    let new: String
    /// The sequences of both; nil for tables of links, which have none.
    var sequences: (old: String, new: String)?
    /// By the column there was; both in quotes.
    var columns: [String: String]
  }

  /// The statements that give the new tables the comments of the old ones, and columns those of what has become of them. What a comment is about that goes takes it away.
  /// - Throws: ``SQLError``, ``StorageError``.
  func statements() throws -> [SQLStatement] {
    var statements: [SQLStatement] = []
    let pairs = pairs()
    for pair in pairs {
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
      statements += try parts(pair, pairs)
      guard let (old, new) = pair.sequences else { continue }
      let ofSequence = try connection.run(
        SQLStatement("SELECT pg_catalog.obj_description(\(Self.literal(old))::regclass, 'pg_class')"))
      if let comment = ofSequence[0, 0]?.text {
        statements.append(SQLStatement("COMMENT ON SEQUENCE \(new) IS \(Self.literal(comment))"))
      }
    }
    return statements
  }

  /// The statements for indexes and constraints. Those of the new table are the same ones that are over what has become of the same columns, whatever they are called.
  private func parts(_ pair: Pair, _ pairs: [Pair]) throws -> [SQLStatement] {
    let old = try TableParts(pair.old, on: connection).parts.filter { $0.comment != nil }
    if old.isEmpty { return [] }
    let new = try TableParts(pair.new, on: connection).parts
    let places = pairs.map {
      "(\(Self.literal($0.old))::regclass::oid::bigint, \(Self.literal($0.new))::regclass::oid::bigint)"
    }
    let answer = try connection.run(SQLStatement("VALUES \(places.joined(separator: ", "))"))
    var tables: [Int64: Int64] = [:]
    for row in 0..<answer.rowCount { tables[try answer.integer(row, 0)] = try answer.integer(row, 1) }
    return old.compactMap { part in
      guard let kept = part.becoming(columns: pair.columns, tables: tables) else { return nil }
      let candidates = new.filter { $0.isLike(kept) }
      // Of several over the same columns the one for the same entities.
      guard let found = candidates.first(where: { $0.condition == kept.condition }) ?? candidates.first,
        candidates.count == 1 || found.condition == kept.condition, let comment = part.comment
      else { return nil }
      let name = Identifier.quoted(found.name)
      let target =
        found.kind == TableParts.index
        ? "INDEX \(transfer.new.qualified(found.name))" : "CONSTRAINT \(name) ON \(pair.new)"
      return SQLStatement("COMMENT ON \(target) IS \(Self.literal(comment))")
    }
  }

  static func literal(_ text: String) -> String { "'" + text.replacing(mark: "'", with: "''") + "'" }

  private func pairs() -> [Pair] {
    let (plan, old, new) = (transfer.plan, transfer.old, transfer.new)
    var pairs: [Pair] = []
    for (hierarchy, origin) in plan.hierarchies.enumerated() {
      guard let origin else { continue }
      let (source, target) = (old.tables[origin], new.tables[hierarchy])
      var columns = [Identifier.quoted(source.outside): Identifier.quoted(target.outside)]
      for name in ["pk", "entity", "version"].map(Identifier.quoted) { columns[name] = name }
      for entity in plan.entities.compactMap({ $0 }) where entity.source.hierarchyNumber == origin {
        for (was, becomes) in self.columns(of: entity, source, target) where columns[was.name] == nil {
          columns[was.name] = becomes.name
          if let code = was.codeColumn { columns[code] = becomes.codeColumn }
          if let position = was.positionColumn { columns[position] = becomes.positionColumn }
        }
      }
      pairs.append(
        Pair(
          old: source.name, new: target.name, sequences: (source.sequence, target.sequence), columns: columns
        ))
    }
    var joins: Set<Int> = []
    for entity in plan.entities.compactMap({ $0 }) {
      for relationship in entity.toMany {
        guard let join = new.joins[relationship.relationship.number] else { continue }
        for path in relationship.paths {
          guard case .edges(let edges) = path, let was = old.joins[edges.relationship],
            joins.insert(join.relationship).inserted
          else { continue }
          let names = ["src", "dst", "pos", "inverse_pos"].map(Identifier.quoted).map { ($0, $0) }
          pairs.append(
            Pair(
              old: was.name, new: join.name, sequences: nil, columns: Dictionary(names) { first, _ in first })
          )
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
