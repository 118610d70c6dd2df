import Foundation
import StrataCore

/// The statements that make the tables of a new store, as Core Data would for the same model.
struct AppleTables {
  private let layout: AppleLayout
  private let numbers: [String: Int64]
  private var schema: Schema { layout.schema }

  init(_ layout: AppleLayout, numbers: [String: Int64]) {
    self.layout = layout
    self.numbers = numbers
  }

  /// The numbers of entities: hierarchies by the names of their roots, inside one depth-first by name.
  static func numbers(_ schema: Schema, held: Set<String>) -> [String: Int64] {
    var numbers: [String: Int64] = [:]
    func add(_ entity: EntityDescription) {
      guard let name = entity.name, held.contains(name) else { return }
      numbers[name] = Int64(numbers.count + 1)
      for child in entity.subentities.sorted(by: { ($0.name ?? "") < ($1.name ?? "") }) { add(child) }
    }
    for hierarchy in schema.hierarchies.sorted(by: { $0.rootName < $1.rootName }) {
      add(schema.entities[hierarchy.root].entityDescription)
    }
    return numbers
  }

  var statements: [String] {
    system + layout.tables.compactMap { $0 }.flatMap(table) + layout.joinTables.flatMap(join) + indexes
  }

  private func quoted(_ name: String) -> String { SQLiteDatabase.quoted(name) }

  private var system: [String] {
    [
      "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
      "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
      "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)",
    ]
      + schema.entities.compactMap { entity in
        numbers[entity.name].map { number in
          let parent = entity.superNumber.flatMap { numbers[schema.entities[$0].name] } ?? 0
          let name = entity.name.replacing(mark: "'", with: "''")
          return "INSERT INTO Z_PRIMARYKEY VALUES (\(number), '\(name)', \(parent), 0)"
        }
      }.sorted()
  }

  private func members(_ table: AppleLayout.Table) -> [AppleLayout.Entity] {
    schema.hierarchies[table.hierarchy].memberNumbers.compactMap { layout.entities[$0] }
  }

  /// Columns by their types, in each by name: integers, keys, orders, dates, floating point, decimals, texts, bytes.
  private func table(_ table: AppleLayout.Table) -> [String] {
    var columns: [String: (rank: Int, declaration: String)] = [:]
    let ranks = ["INTEGER": 0, "TIMESTAMP": 3, "FLOAT": 4, "DECIMAL": 5, "VARCHAR": 6, "BLOB": 7]
    for entity in members(table) {
      for attribute in entity.attributes {
        let type = AppleValue.declaredType(attribute.type)
        columns[attribute.column] = (ranks[type] ?? 7, type)
      }
      for link in entity.links {
        columns[link.column] = (1, "INTEGER")
        if let target = link.targetColumn { columns[target] = (1, "INTEGER") }
      }
    }
    for owned in layout.owned where owned.table == table.name {
      columns[owned.column] = (1, "INTEGER")
      if let order = owned.orderColumn { columns[order] = (2, "INTEGER") }
    }
    let list = columns.sorted { ($0.value.rank, $0.key) < ($1.value.rank, $1.key) }
      .map { "\(quoted($0.key)) \($0.value.declaration)" }
    let all = ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"] + list
    return ["CREATE TABLE \(quoted(table.name)) (\(all.joined(separator: ", ")))"]
  }

  private func join(_ join: AppleLayout.Join) -> [String] {
    let columns = [join.ownerColumn, join.memberColumn]
    let declarations =
      columns.map { "\(quoted($0)) INTEGER" } + layout.orders(of: join).map { "\(quoted($0)) INTEGER" }
    return [
      "CREATE TABLE \(quoted(join.table)) (\(declarations.joined(separator: ", ")), PRIMARY KEY (\(columns.map(quoted).joined(separator: ", "))))",
      "CREATE INDEX \(quoted("\(join.table)_\(join.memberColumn)_INDEX")) ON \(quoted(join.table)) (\(columns.reversed().map(quoted).joined(separator: ", ")))",
    ]
  }

  private var indexes: [String] {
    var statements: [String] = []
    var names: Set<String> = []
    func add(_ name: String, _ table: String, _ columns: [String], isUnique: Bool = false) {
      guard names.insert(name.uppercased()).inserted else { return }
      statements.append(
        "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(quoted(name)) ON \(quoted(table)) (\(columns.joined(separator: ", ")))"
      )
    }
    for table in layout.tables.compactMap({ $0 }) {
      let entities = members(table)
      if entities.count > 1 { add("\(table.name)_Z_ENT_INDEX", table.name, ["Z_ENT"]) }
      for link in entities.flatMap(\.links) {
        add(
          "\(table.name)_\(link.column)_INDEX", table.name,
          ([link.column] + [link.targetColumn].compactMap { $0 }).map(quoted))
      }
      for owned in layout.owned where owned.table == table.name && owned.relationship.inverse == nil {
        add("\(table.name)_\(owned.column)_INDEX", table.name, [quoted(owned.column)])
      }
      for entity in entities { addDeclared(entity, table, add) }
    }
    return statements
  }

  private func addDeclared(
    _ entity: AppleLayout.Entity, _ table: AppleLayout.Table,
    _ add: (String, String, [String], Bool) -> Void
  ) {
    let description = schema.entities[entity.number].entityDescription
    let columns = Dictionary(
      entity.attributes.map { ($0.path, $0.column) }
        + entity.links.map { ($0.relationship.name, $0.column) }, uniquingKeysWith: { first, _ in first })
    for index in description.indexes where index.condition == nil {
      let parts = index.elements.map { element in
        columns[element.propertyName].map { "\(quoted($0))\(element.isAscending ? "" : " DESC")" }
      }
      if parts.contains(where: { $0 == nil }) || parts.isEmpty { continue }
      add("Z_\(description.name ?? "")_\(index.name)", table.name, parts.compactMap { $0 }, false)
    }
    for constraint in description.uniquenessConstraints {
      let parts = constraint.map { columns[$0].map(quoted) }
      if parts.contains(where: { $0 == nil }) { continue }
      add(
        "Z_\(description.name ?? "")_UNIQUE_\(constraint.joined(separator: "_"))", table.name,
        parts.compactMap { $0 }, true)
    }
  }
}

extension AppleLayout {
  /// One end of each join table.
  var joinTables: [Join] {
    var seen: Set<String> = []
    return joins.filter { seen.insert($0.table).inserted }
  }

  /// The columns of the places in a join table.
  func orders(of join: Join) -> [String] { joins.filter { $0.table == join.table }.compactMap(\.orderColumn) }
}
