import StrataCore

/// The statements that make the tables of a model.
struct SchemaStatements {
  private let mapping: StoreMapping
  private var schema: Schema { mapping.schema }
  /// So many characters of a text go into an index that is not unique: an entry must fit into a third of a page.
  static let prefixLength = 256

  init(_ mapping: StoreMapping) { self.mapping = mapping }

  /// All of them, in order.
  var all: [String] { tables + indexes + keys }

  /// The tables alone. Those come first that are called as the server would call the index of another one's primary key: it gives that another name then.
  var tables: [String] {
    let all =
      mapping.tables.map { (name: $0.plainName, statements: table($0)) }
      + ownJoins.map { (name: $0.plainName, statements: [join($0)]) }
    func isLikeKey(_ name: String) -> Bool { name.firstRange(of: "_pkey") != nil }
    let keyLike = all.filter { isLikeKey($0.name) }.sorted { $0.name.utf8.count > $1.name.utf8.count }
    return (keyLike + all.filter { !isLikeKey($0.name) }).flatMap(\.statements)
  }

  /// The indexes, which are made when rows are there.
  var indexes: [String] { mapping.tables.flatMap(indexes) + ownJoins.map(joinIndex) }

  /// The foreign keys.
  var keys: [String] { mapping.tables.flatMap(foreignKeys) + ownJoins.flatMap(joinKeys) }

  private var ownJoins: [JoinMapping] {
    mapping.joins.enumerated().compactMap { number, join in join?.relationship == number ? join : nil }
  }

  private func table(_ table: TableMapping) -> [String] {
    var text = """
      CREATE TABLE \(table.name) (
        pk bigint PRIMARY KEY CHECK (pk > 0 AND pk < \(StoreReference.keyLimit)),
        entity smallint NOT NULL,
        version integer NOT NULL,
        \(table.outside) bytea
      """
    var large: [String] = []
    for column in table.columns {
      text += ",\n  \(column.name) \(column.type.columnDeclaration)"
      if let code = column.codeColumn { text += ",\n  \(code) smallint" }
      if let position = column.positionColumn { text += ",\n  \(position) bigint" }
      if column.type == .bytea { large.append(column.name) }
    }
    text += "\n)"
    // What programs keep as data is mostly compressed already.
    let storage = large.map { "ALTER TABLE \(table.name) ALTER COLUMN \($0) SET STORAGE EXTERNAL" }
    return [text] + storage + [
      "CREATE SEQUENCE \(table.sequence) INCREMENT BY \(KeyBlocks.blockLength) NO CYCLE"
    ]
  }

  private func join(_ join: JoinMapping) -> String {
    var text = "CREATE TABLE \(join.name) (src bigint NOT NULL, dst bigint NOT NULL"
    if join.hasPosition { text += ", pos bigint NOT NULL" }
    if join.hasInversePosition { text += ", inverse_pos bigint NOT NULL" }
    return text + ", PRIMARY KEY (src, dst))"
  }

  private func joinIndex(_ join: JoinMapping) -> String { "CREATE INDEX ON \(join.name) (dst, src)" }

  private func joinKeys(_ join: JoinMapping) -> [String] {
    let relationship = schema.relationships[join.relationship]
    return [
      ("src", mapping.table(ofEntity: relationship.owner)),
      ("dst", mapping.tables[relationship.destinationHierarchy]),
    ].map {
      "ALTER TABLE \(join.name) ADD FOREIGN KEY (\($0)) REFERENCES \($1.name) DEFERRABLE INITIALLY DEFERRED"
    }
  }

  private func foreignKeys(_ table: TableMapping) -> [String] {
    table.columns.compactMap { column in
      guard let number = column.relationship else { return nil }
      let relationship = schema.relationships[number]
      // Where the rule is to do nothing, references may be left behind.
      if let inverse = relationship.inverse, schema.relationships[inverse].deleteRule == .noAction {
        return nil
      }
      return
        "ALTER TABLE \(table.name) ADD FOREIGN KEY (\(column.name)) REFERENCES \(mapping.tables[relationship.destinationHierarchy].name) DEFERRABLE INITIALLY DEFERRED"
    }
  }

  private func indexes(_ table: TableMapping) -> [String] {
    var statements: [String] = []
    for column in table.columns where column.relationship != nil {
      let position = column.positionColumn.map { ", \($0)" } ?? ""
      statements.append("CREATE INDEX ON \(table.name) (\(column.name)\(position), pk)")
    }
    for index in schema.indexes where schema.entities[index.owner].hierarchyNumber == table.hierarchy {
      let columns = index.parts.compactMap { part in
        table.column(index.owner, part.slot).map { (column: $0, isAscending: part.isAscending) }
      }
      guard columns.count == index.parts.count, !columns.isEmpty else { continue }
      if index.isUnique {
        let names = columns.map(\.column.name).joined(separator: ", ")
        statements.append("CREATE UNIQUE INDEX ON \(table.name) (\(names))\(condition(index, table))")
      } else if let parts = Self.fetchIndex(index, table) {
        statements.append("CREATE INDEX ON \(table.name) \(parts)")
      }
    }
    return statements
  }

  /// What a fetch index is over, in parentheses; nil for one that such stores do not have: one over data.
  static func fetchIndex(_ index: IndexSchema, _ table: TableMapping) -> String? {
    let columns = index.parts.compactMap { part in
      table.column(index.owner, part.slot).map { (column: $0, isAscending: part.isAscending) }
    }
    guard columns.count == index.parts.count, !columns.contains(where: { $0.column.type == .bytea }) else {
      return nil
    }
    let parts = columns.map { column, isAscending in
      let order = isAscending ? "ASC NULLS FIRST" : "DESC NULLS LAST"
      return column.type == .text
        ? "pg_catalog.left(\(column.name), \(prefixLength)) \(order)" : "\(column.name) \(order)"
    }
    return "(\(parts.joined(separator: ", ")), pk)"
  }

  /// What limits a uniqueness constraint to the entity that declares it and those below.
  private func condition(_ index: IndexSchema, _ table: TableMapping) -> String {
    let subtree = schema.entities[index.owner].subtree
    if subtree.count == schema.hierarchies[table.hierarchy].memberNumbers.count { return "" }
    return " WHERE entity IN (\(subtree.map { String(mapping.codes[$0]) }.joined(separator: ", ")))"
  }
}
