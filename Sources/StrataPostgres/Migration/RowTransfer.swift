import StrataCore

/// The statements that carry rows and relationships from the tables of one version of a model to those of another.
struct RowTransfer {
  let plan: MigrationPlan
  /// The tables there were, under the names that they have been given to be out of the way.
  let old: StoreMapping
  let new: StoreMapping

  /// All of them, in order.
  /// - Throws: ``StorageError`` for a default value that the server does not store.
  func statements() throws -> [SQLStatement] {
    var statements: [SQLStatement] = []
    for (hierarchy, origin) in plan.hierarchies.enumerated() {
      guard let origin else { continue }
      statements.append(
        SQLStatement(
          "SELECT pg_catalog.setval('\(Self.literal(new.tables[hierarchy].sequence))'::regclass, s.last_value, s.is_called) FROM \(old.tables[origin].sequence) s"
        ))
    }
    for entity in plan.entities.compactMap({ $0 }) where plan.holds(entity.source) {
      statements.append(try rows(entity))
    }
    for hierarchy in new.tables.indices { statements += placements(new.tables[hierarchy]) }
    for entity in plan.entities.compactMap({ $0 }) {
      for relationship in entity.toMany { statements += links(relationship, entity) }
    }
    return statements + symmetricLinks()
  }

  private static func literal(_ name: String) -> String { name.replacing(mark: "'", with: "''") }

  private func oldCode(_ entity: EntitySchema) -> UInt16 { old.codes[entity.number] }

  // MARK: Rows

  private func rows(_ entity: MigrationPlan.Entity) throws -> SQLStatement {
    let (source, target) = (
      old.table(ofEntity: entity.source.number), new.table(ofEntity: entity.destination.number)
    )
    var statement = SQLStatement()
    var columns = ["pk", "entity", "version", target.outside]
    var values = [
      "o.pk", "\(new.codes[entity.destination.number])", "o.version", outside(entity, source),
    ]
    for (slot, value) in entity.values.enumerated()
    where entity.destination.attributes[slot].relationship == nil {
      guard let column = target.column(entity.destination.number, slot) else { continue }
      guard let words = try self.value(value, slot, entity, source, column, &statement) else { continue }
      columns.append(column.name)
      values.append(words)
    }
    for relationship in entity.toOne {
      guard let column = target.column(entity.destination.number, relationship.relationship.slot),
        let found = reference(relationship, entity)
      else { continue }
      columns.append(column.name)
      values.append(found.key)
      if let code = column.codeColumn {
        columns.append(code)
        values.append(found.code)
      }
      if let position = column.positionColumn, let words = found.position {
        columns.append(position)
        values.append(words)
      }
    }
    statement +=
      "INSERT INTO \(target.name) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) FROM \(source.name) o WHERE o.entity = \(oldCode(entity.source))"
    return statement
  }

  /// Nil for a column that stays empty.
  private func value(
    _ value: MigrationPlan.Value, _ slot: Int, _ entity: MigrationPlan.Entity, _ source: TableMapping,
    _ column: ColumnMapping, _ statement: inout SQLStatement
  ) throws -> String? {
    func bound(_ value: AttributeValue) throws -> String {
      guard let words = statement.bind(value, as: column.type) else {
        throw StorageError(
          .invalid, operation: "migrate", path: "",
          detail: "The default value of \(column.path) is not of the attribute's type.")
      }
      let typed = words + "::\(column.type.name)"
      return defaultCondition(slot, entity, source).map { "CASE WHEN \($0) THEN \(typed) END" } ?? typed
    }
    switch value {
    case .constant(let value): return value.isNull ? nil : try bound(value)
    case .slot(let old, let other):
      guard let origin = source.column(entity.source.number, old) else {
        return other.isNull ? nil : try bound(other)
      }
      return other.isNull ? "o.\(origin.name)" : "COALESCE(o.\(origin.name), \(try bound(other)))"
    }
  }

  /// In which rows the default value of a slot counts; nil for in all of them.
  private func defaultCondition(
    _ slot: Int, _ entity: MigrationPlan.Entity, _ source: TableMapping
  ) -> String? {
    let columns = entity.defaultsNeed[slot].compactMap { source.column(entity.source.number, $0)?.name }
    return columns.isEmpty
      ? nil : "(\(columns.map { "o.\($0) IS NOT NULL" }.joined(separator: " OR ")))"
  }

  /// The list of large values, with the numbers that their slots have now and with large defaults that are new.
  private func outside(_ entity: MigrationPlan.Entity, _ source: TableMapping) -> String {
    let kept = keptOutside(entity, source)
    var added: [String] = []
    for (slot, value) in entity.values.enumerated() {
      let constant: AttributeValue
      var conditions: [String] = []
      switch value {
      case .constant(let value): constant = value
      case .slot(let origin, let other):
        constant = other
        if let column = source.column(entity.source.number, origin) {
          conditions.append("o.\(column.name) IS NULL")
        }
      }
      if let condition = defaultCondition(slot, entity, source) { conditions.append(condition) }
      guard let count = RowReviser.bytes(constant)?.count, count > OutsideList.limit else { continue }
      let entry =
        "(\(Self.bytes(slot)) || pg_catalog.int4send(o.version) || pg_catalog.int8send(\(count)))"
      added.append(
        conditions.isEmpty
          ? entry
          : "CASE WHEN \(conditions.joined(separator: " AND ")) THEN \(entry) ELSE ''::bytea END")
    }
    if added.isEmpty { return kept }
    return "NULLIF(COALESCE(\(kept), ''::bytea) || \(added.joined(separator: " || ")), ''::bytea)"
  }

  private static func bytes(_ slot: Int) -> String {
    let digits = String(slot, radix: 16)
    return "'\\x" + String(repeating: "0", count: 4 - digits.count) + digits + "'::bytea"
  }

  private func keptOutside(_ entity: MigrationPlan.Entity, _ source: TableMapping) -> String {
    var cases: [String] = []
    var kept: Set<Int> = []
    for (slot, value) in entity.values.enumerated() {
      guard case .slot(let origin, _) = value, kept.insert(origin).inserted,
        let column = source.column(entity.source.number, origin), [.text, .bytea].contains(column.type)
      else { continue }
      cases.append("WHEN \(Self.bytes(origin)) THEN \(Self.bytes(slot))")
    }
    if cases.isEmpty { return "NULL::bytea" }
    let list = "o.\(source.outside)"
    let known = "pg_catalog.substring(\(list), i.n * 14 + 1, 2)"
    let slot = "CASE \(known) \(cases.joined(separator: " ")) END"
    return
      "CASE WHEN \(list) IS NULL THEN NULL ELSE (SELECT pg_catalog.string_agg(\(slot) || pg_catalog.substring(\(list), i.n * 14 + 3, 12), ''::bytea ORDER BY i.n) FROM pg_catalog.generate_series(0, pg_catalog.length(\(list)) / 14 - 1) AS i(n) WHERE \(slot) IS NOT NULL) END"
  }

  // MARK: References

  /// Where references to rows of an entity lead that stays; nil when all of the hierarchy's do.
  private func staying(_ hierarchy: Int) -> String? {
    let members = old.schema.hierarchies[hierarchy].memberNumbers
    let kept = members.filter { plan.entities[$0] != nil }
    if kept.count == members.count { return nil }
    return kept.isEmpty ? "" : kept.map { String(old.codes[$0]) }.joined(separator: ", ")
  }

  /// The key, the code and the position that a to-one relationship has; nil when it leads nowhere.
  private func reference(_ relationship: MigrationPlan.Relationship, _ entity: MigrationPlan.Entity) -> (
    key: String, code: String, position: String?
  )? {
    // There is more than one only where an inverse was in several entities: the first that leads somewhere.
    var (keys, codes, positions): ([String], [String], [String]) = ([], [], [])
    for path in relationship.paths {
      switch path {
      case .reference(let slot, _):
        let table = old.table(ofEntity: entity.source.number)
        guard let column = table.column(entity.source.number, slot), let number = column.relationship,
          let target = target(old.schema.relationships[number])
        else { continue }
        let words = "FROM \(target.table) n WHERE n.pk = o.\(column.name)\(target.condition)"
        keys.append("(SELECT n.pk \(words))")
        codes.append("(SELECT n.entity \(words))")
        if let position = column.positionColumn { positions.append("o.\(position)") }
      case .edges(let edges):
        guard let found = pairs(edges, entity.source.number) else { continue }
        let words = "FROM (\(found)) p WHERE p.owner = o.pk ORDER BY p.pos NULLS LAST, p.member LIMIT 1"
        keys.append("(SELECT p.member \(words))")
        codes.append("(SELECT p.code \(words))")
        positions.append("(SELECT p.back \(words))")
      }
    }
    if keys.isEmpty { return nil }
    func first(_ parts: [String]) -> String {
      parts.count == 1 ? parts[0] : "COALESCE(\(parts.joined(separator: ", ")))"
    }
    return (first(keys), first(codes), positions.isEmpty ? nil : first(positions))
  }

  /// The table that a relationship leads to, and what holds for the rows in it that stay; nil when none does.
  private func target(_ relationship: RelationshipSchema) -> (table: String, condition: String)? {
    let table = old.tables[relationship.destinationHierarchy].name
    guard let codes = staying(relationship.destinationHierarchy) else { return (table, "") }
    return codes.isEmpty ? nil : (table, " AND n.entity IN (\(codes))")
  }

  /// Owners and members of a set of edges, of owners of one entity: `owner`, `member`, `code` of the member's entity, `pos` among the owner's members and `back`, the
  /// owner's place among those of the member; nil when there are none.
  private func pairs(_ edges: EdgeSet, _ entity: Int) -> String? {
    let owners = old.table(ofEntity: entity)
    let own = "w.entity = \(old.codes[entity])"
    switch try? old.members(edges) {
    case .rows(let table, let column, let isOrdered)?:
      let position = isOrdered ? column.positionColumn.map { "m.\($0)" } : nil
      guard
        let condition = staying(table.hierarchy).map({ $0.isEmpty ? nil : " AND m.entity IN (\($0))" }) ?? ""
      else {
        return nil
      }
      return
        "SELECT w.pk AS owner, m.pk AS member, m.entity AS code, \(position ?? "NULL::bigint") AS pos, NULL::bigint AS back FROM \(table.name) m JOIN \(owners.name) w ON w.pk = m.\(column.name) AND \(own) WHERE true\(condition)"
    case .links(let join, let owner, let member, let position, let table)?:
      guard
        let condition = staying(table.hierarchy).map({ $0.isEmpty ? nil : " AND m.entity IN (\($0))" }) ?? ""
      else {
        return nil
      }
      let back =
        owner == "src" ? (join.hasInversePosition ? "inverse_pos" : nil) : (join.hasPosition ? "pos" : nil)
      return
        "SELECT l.\(owner) AS owner, l.\(member) AS member, m.entity AS code, \(position.map { "l.\($0)" } ?? "NULL::bigint") AS pos, \(back.map { "l.\($0)" } ?? "NULL::bigint") AS back FROM \(join.name) l JOIN \(owners.name) w ON w.pk = l.\(owner) AND \(own) JOIN \(table.name) m ON m.pk = l.\(member)\(condition)"
    case .nowhere?, nil: return nil
    }
  }

  /// The same for a reference in rows.
  private func pairs(_ path: MigrationPlan.Path, _ entity: Int) -> String? {
    switch path {
    case .edges(let edges): return pairs(edges, entity)
    case .reference(let slot, _):
      let table = old.table(ofEntity: entity)
      guard let column = table.column(entity, slot), let number = column.relationship,
        let target = target(old.schema.relationships[number])
      else { return nil }
      return
        "SELECT o.pk AS owner, n.pk AS member, n.entity AS code, NULL::bigint AS pos, \(column.positionColumn.map { "o.\($0)" } ?? "NULL::bigint") AS back FROM \(table.name) o JOIN \(target.table) n ON n.pk = o.\(column.name)\(target.condition) WHERE o.entity = \(old.codes[entity])"
    }
  }

  /// Gives members of ordered relationships a position that have none.
  private func placements(_ table: TableMapping) -> [SQLStatement] {
    table.columns.compactMap { column in
      guard let position = column.positionColumn else { return nil }
      return SQLStatement(
        "UPDATE \(table.name) t SET \(position) = x.p FROM (SELECT r.pk, \(EdgePosition.first) + \(EdgePosition.gap) * (pg_catalog.row_number() OVER (PARTITION BY r.\(column.name) ORDER BY r.\(position) NULLS LAST, r.pk) - 1) AS p FROM \(table.name) r WHERE r.\(column.name) IS NOT NULL) x "
          + "WHERE x.pk = t.pk AND t.\(column.name) IN (SELECT q.\(column.name) FROM \(table.name) q WHERE q.\(column.name) IS NOT NULL AND q.\(position) IS NULL)"
      )
    }
  }

  // MARK: Links

  private func links(_ relationship: MigrationPlan.Relationship, _ entity: MigrationPlan.Entity)
    -> [SQLStatement]
  {
    let number = relationship.relationship.number
    guard let join = new.joins[number] else {
      return order(relationship, entity)
    }
    if join.isSymmetric { return [] }
    let isForward = join.relationship == number
    return relationship.paths.compactMap { path in
      guard let pairs = pairs(path, entity.source.number) else { return nil }
      let place =
        "\(EdgePosition.first) + \(EdgePosition.gap) * (pg_catalog.row_number() OVER (PARTITION BY %s ORDER BY %s NULLS LAST, %t) - 1)"
      func placed(_ owner: String, _ position: String, _ member: String) -> String {
        var words = place
        for part in [owner, position] { words.replaceFirst("%s", with: part) }
        words.replaceFirst("%t", with: member)
        return words
      }
      // Where both ends have an order, it is told from both: the second statement sets the second position.
      let own = placed("p.owner", "p.pos", "p.member")
      let other = placed("p.member", "p.back", "p.owner")
      var columns = ["src", "dst"]
      var values = isForward ? ["p.owner", "p.member"] : ["p.member", "p.owner"]
      if join.hasPosition {
        columns.append("pos")
        values.append(isForward ? own : other)
      }
      if join.hasInversePosition {
        columns.append("inverse_pos")
        values.append(isForward ? other : own)
      }
      let told = isForward ? "pos" : "inverse_pos"
      let isTold = isForward ? join.hasPosition : join.hasInversePosition
      let action = isTold ? "DO UPDATE SET \(told) = excluded.\(told)" : "DO NOTHING"
      return SQLStatement(
        "INSERT INTO \(join.name) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) FROM (\(pairs)) p ON CONFLICT (src, dst) \(action)"
      )
    }
  }

  /// The links of relationships that are their own inverse: those of owners of all entities together, since a link is a member in two lists, whose owners may be of
  /// two entities. Where a list says no place of a member, it comes behind those whose place is told.
  private func symmetricLinks() -> [SQLStatement] {
    var found: [Int: [String]] = [:]
    for entity in plan.entities.compactMap({ $0 }) {
      for relationship in entity.toMany
      where new.joins[relationship.relationship.number]?.isSymmetric == true {
        found[relationship.relationship.number, default: []] += relationship.paths.compactMap {
          pairs($0, entity.source.number)
        }
      }
    }
    return found.sorted { $0.key < $1.key }.compactMap { number, lists in
      guard let join = new.joins[number], !lists.isEmpty else { return nil }
      var (columns, values) = (["src", "dst"], ["p.owner", "p.member"])
      if join.hasPosition {
        columns.append("pos")
        values.append(
          "\(EdgePosition.first) + \(EdgePosition.gap) * (pg_catalog.row_number() OVER (PARTITION BY p.owner ORDER BY p.pos NULLS LAST, p.member) - 1)"
        )
      }
      let all = lists.joined(separator: " UNION ALL ")
      return SQLStatement(
        "WITH a AS (\(all)) INSERT INTO \(join.name) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) FROM "
          + "(SELECT DISTINCT ON (owner, member) * FROM (SELECT owner, member, pos FROM a UNION ALL SELECT a.member, a.owner, a.back FROM a) y ORDER BY owner, member, pos NULLS LAST) p"
      )
    }
  }

  /// The order of members that rows tell, when it comes from elsewhere than these rows.
  private func order(_ relationship: MigrationPlan.Relationship, _ entity: MigrationPlan.Entity)
    -> [SQLStatement]
  {
    guard relationship.relationship.isOrdered, let inverse = relationship.relationship.inverse,
      let (table, column) = try? new.reference(new.schema.relationships[inverse]),
      let position = column.positionColumn
    else { return [] }
    return relationship.paths.compactMap { path in
      guard let pairs = pairs(path, entity.source.number) else { return nil }
      return SQLStatement(
        "UPDATE \(table.name) t SET \(position) = p.pos FROM (\(pairs)) p WHERE t.pk = p.member AND t.\(column.name) = p.owner AND p.pos IS NOT NULL"
      )
    }
  }

  // MARK: The old tables

  private var ownJoins: [(number: Int, join: JoinMapping)] { old.ownJoins }

  /// The statements that drop what was moved aside.
  var drops: [SQLStatement] {
    [SQLStatement("DROP TABLE \(old.tableNames.joined(separator: ", "))")]
      + old.tables.map { SQLStatement("DROP SEQUENCE \($0.sequence)") }
  }

  /// The statements that give others the rights to the new tables that they have had to the old ones.
  func privileges(on connection: PostgresConnection) throws -> [SQLStatement] {
    var pairs: [(old: String, new: String, kind: String)] = []
    for (hierarchy, origin) in plan.hierarchies.enumerated() {
      guard let origin else { continue }
      pairs.append((old.tables[origin].name, new.tables[hierarchy].name, "TABLE"))
      pairs.append((old.tables[origin].sequence, new.tables[hierarchy].sequence, "SEQUENCE"))
    }
    // Tables of new links, and those of new hierarchies, are for whoever has the rights to some other.
    let joins = Dictionary(
      old.ownJoins.map { ($0.join.plainName, $0.join.name) }, uniquingKeysWith: { first, _ in first })
    if let first = plan.hierarchies.compactMap(\.self).first {
      for (hierarchy, origin) in plan.hierarchies.enumerated() where origin == nil {
        pairs.append((old.tables[first].name, new.tables[hierarchy].name, "TABLE"))
        pairs.append((old.tables[first].sequence, new.tables[hierarchy].sequence, "SEQUENCE"))
      }
      for (_, join) in new.ownJoins {
        pairs.append((joins[join.plainName] ?? old.tables[first].name, join.name, "TABLE"))
      }
    }
    var statements: [SQLStatement] = []
    for pair in pairs {
      let owner = try connection.run(
        SQLStatement(
          "SELECT pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(c.relowner)), pg_catalog.pg_get_userbyid(c.relowner) <> current_user FROM pg_catalog.pg_class c WHERE c.oid = '\(Self.literal(pair.old))'::regclass"
        ))
      if owner[0, 1]?.bytes.first == 1 {
        statements.append(
          SQLStatement("ALTER \(pair.kind) \(pair.new) OWNER TO \(try owner.text(0, 0))"))
      }
      let result = try connection.run(
        SQLStatement(
          "SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END, a.privilege_type::text, a.is_grantable FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a WHERE c.oid = '\(Self.literal(pair.old))'::regclass AND a.grantee <> c.relowner"
        ))
      for row in 0..<result.rowCount {
        let isGrantable = result[row, 2]?.bytes.first == 1
        statements.append(
          SQLStatement(
            "GRANT \(try result.text(row, 1)) ON \(pair.kind) \(pair.new) TO \(try result.text(row, 0))\(isGrantable ? " WITH GRANT OPTION" : "")"
          ))
      }
    }
    return statements
  }
}

extension String {
  fileprivate mutating func replaceFirst(_ part: String, with other: String) {
    if let range = firstRange(of: part) { replaceSubrange(range, with: other) }
  }
}

extension StoreMapping {
  /// The tables of links, each once.
  var ownJoins: [(number: Int, join: JoinMapping)] {
    joins.enumerated().compactMap { number, join in
      join.flatMap { $0.relationship == number ? (number, $0) : nil }
    }
  }

  /// All tables of the model, in the order in which whoever wants several takes them.
  var tableNames: [String] { tables.map(\.name) + ownJoins.map(\.join.name) }

  private static func aside(_ kind: String, _ number: Int) -> String { "strata_old_\(kind)_\(number)" }

  /// The same tables under the names that ``movingAside()`` gives them.
  func movedAside() -> StoreMapping {
    let tables = tables.map { table in
      TableMapping(
        hierarchy: table.hierarchy, name: qualified(Self.aside("table", table.hierarchy)),
        plainName: table.plainName, sequence: qualified(Self.aside("sequence", table.hierarchy)),
        columns: table.columns, places: table.places, outside: table.outside)
    }
    let joins = joins.map { join -> JoinMapping? in
      guard let join else { return nil }
      return JoinMapping(
        relationship: join.relationship, name: qualified(Self.aside("join", join.relationship)),
        plainName: join.plainName, hasPosition: join.hasPosition, hasInversePosition: join.hasInversePosition,
        isSymmetric: join.isSymmetric)
    }
    return StoreMapping(
      schema: schema, namespace: namespace, tables: tables, joins: joins, codes: codes,
      entitiesByCode: entitiesByCode, names: names, generation: generation)
  }

  /// The statements that rename tables and sequences.
  func movingAside() -> [String] {
    tables.flatMap { table in
      [
        "ALTER TABLE \(table.name) RENAME TO \(Identifier.quoted(Self.aside("table", table.hierarchy)))",
        "ALTER SEQUENCE \(table.sequence) RENAME TO \(Identifier.quoted(Self.aside("sequence", table.hierarchy)))",
      ]
    }
      + ownJoins.map { number, join in
        "ALTER TABLE \(join.name) RENAME TO \(Identifier.quoted(Self.aside("join", number)))"
      }
  }

  /// The statements that take the indexes of these tables out of the way: the server gives names to indexes itself, and a new table may have one of them.
  /// - Throws: ``SQLError``, ``StorageError``.
  func indexesAside(on connection: PostgresConnection) throws -> [SQLStatement] {
    let tables = tableNames.map { "'\($0.replacing(mark: "'", with: "''"))'::regclass" }
    let found = try connection.run(
      SQLStatement(
        "SELECT c.relname::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid WHERE i.indrelid IN (\(tables.joined(separator: ", "))) ORDER BY c.oid"
      ))
    return try (0..<found.rowCount).map { row in
      let name = try qualified(found.text(row, 0))
      return SQLStatement("ALTER INDEX \(name) RENAME TO \(Identifier.quoted(Self.aside("index", row)))")
    }
  }
}
