import CStrataSQLite
import Foundation
import StrataCore
import TortureKit

@testable import StrataAppleSQLite

/// Writes stores as Core Data does, from the description of the format alone: nothing of the reader or of the exporter has a part in names and forms.
struct AppleFixture {
  let schema: Schema
  let graph: PlainGraph
  let path: String
  var identifier = UUID()
  /// Whether the file has the model in its cache.
  var keepsModel = true
  /// What the program has put into the metadata.
  var metadata: [String: PropertyListValue] = [:]
  var keepsHistory = false

  private var numbers: [String: Int64] = [:]
  /// By table, the columns and their types.
  private var columns: [String: [(name: String, type: String)]] = [:]
  private var names: [String: String] = [:]
  private var joins: [Int: (table: String, owner: String, member: String)] = [:]

  init(_ schema: Schema, _ graph: PlainGraph, path: String) {
    self.schema = schema
    self.graph = graph
    self.path = path
  }

  /// 32 bytes for each entity, as if Apple's framework had made them.
  static func hashes(_ schema: Schema) -> [String: Data] {
    Dictionary(
      uniqueKeysWithValues: schema.entities.map { entity in
        var random = SeededGenerator(seed: UInt64(entity.number) + 1)
        return (entity.name, Data((0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) }))
      })
  }

  mutating func write(journalMode: String = "DELETE") throws {
    let database = try SQLiteDatabase(
      path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, name: path)
    try database.run("PRAGMA auto_vacuum = 2")
    try write(database, journalMode: journalMode)
    database.close()
  }

  mutating func write(_ database: SQLiteDatabase, journalMode: String) throws {
    _ = try database.value("PRAGMA journal_mode = \(journalMode)")
    numberEntities()
    try nameColumns()
    try database.run("BEGIN")
    try writeSystem(database)
    for (table, own) in columns.sorted(by: { $0.key < $1.key }) {
      let list = own.sorted { ($0.type, $0.name) < ($1.type, $1.name) }.map { "\"\($0.name)\" \($0.type)" }
      try database.run(
        "CREATE TABLE \"\(table)\" (\((["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"] + list).joined(separator: ", ")))"
      )
    }
    for (address, object) in graph.objects.sorted(by: { $0.key.key < $1.key.key }) {
      try write(address, object, database)
    }
    for relationship in schema.relationships where relationship.isToMany {
      try writeMembers(relationship, database)
    }
    for hierarchy in schema.hierarchies {
      try database.run(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = coalesce((SELECT max(Z_PK) FROM \"Z\(hierarchy.rootName.uppercased())\"), 0) + 3 WHERE Z_NAME = '\(hierarchy.rootName)'"
      )
    }
    try database.run("COMMIT")
  }

  // MARK: Names

  private mutating func numberEntities() {
    func add(_ entity: EntityDescription) {
      numbers[entity.name ?? ""] = Int64(numbers.count + 1)
      for child in entity.subentities.sorted(by: { ($0.name ?? "") < ($1.name ?? "") }) { add(child) }
    }
    for root in schema.model.entities.filter({ $0.superentity == nil }).sorted(by: {
      ($0.name ?? "") < ($1.name ?? "")
    }) {
      add(root)
    }
  }

  private func number(_ entity: Int) -> Int64 { numbers[schema.entities[entity].name] ?? 0 }
  private func table(_ hierarchy: Int) -> String { "Z" + schema.hierarchies[hierarchy].rootName.uppercased() }

  private struct Wish {
    let key: String
    let base: String
    let type: String
  }

  /// Column by column in the order of entities and names; a name that is taken, or that another property has, gets the next number.
  private mutating func nameColumns() throws {
    var wishes: [String: [Wish]] = [:]
    for hierarchy in schema.hierarchies { wishes[table(hierarchy.number)] = [] }
    for entity in schema.entities.sorted(by: { number($0.number) < number($1.number) }) {
      for (table, wish) in self.wishes(of: entity) { wishes[table]?.append(wish) }
    }
    for (table, list) in wishes {
      let bases = Set(list.map(\.base))
      var taken: Set<String> = []
      var own: [(String, String)] = []
      for wish in list {
        var (name, number) = (wish.base, 0)
        while taken.contains(name) || number > 0 && bases.contains(name) {
          number += 1
          name = "\(wish.base)\(number)"
        }
        taken.insert(name)
        names[wish.key] = name
        own.append((name, wish.type))
      }
      columns[table] = own
    }
  }

  private func wishes(of entity: EntitySchema) -> [(String, Wish)] {
    let inherited = Set((entity.entityDescription.superentity?.properties ?? []).map(\.name))
    let own = entity.entityDescription.properties.filter { !inherited.contains($0.name) && !$0.isTransient }
    var list: [(path: String, table: String, wish: Wish)] = []
    let home = table(entity.hierarchyNumber)
    func add(_ attribute: AttributeDescription, _ path: String) {
      if let composite = attribute as? CompositeAttributeDescription {
        for element in composite.elements { add(element, "\(path).\(element.name)") }
        return
      }
      let type: String
      switch attribute.attributeType {
      case .integer16, .integer32, .integer64, .boolean: type = "INTEGER"
      case .double, .float: type = "FLOAT"
      case .decimal: type = "DECIMAL"
      case .date: type = "TIMESTAMP"
      case .string, .uri: type = "VARCHAR"
      default: type = "BLOB"
      }
      list.append(
        (path, home, Wish(key: "\(entity.name) \(path)", base: "Z" + attribute.name.uppercased(), type: type))
      )
    }
    for property in own {
      if let attribute = property as? AttributeDescription { add(attribute, attribute.name) }
    }
    for relationship in entity.relationships where relationship.owner == entity.number {
      let upper = relationship.name.uppercased()
      let inverse = relationship.inverse.map { schema.relationships[$0] }
      if !relationship.isToMany {
        list.append(
          (
            relationship.name, home,
            Wish(key: "key \(relationship.number)", base: "Z" + upper, type: "INTEGER")
          ))
        if schema.entities[relationship.destination].subtree.count > 1 {
          let base = "Z\(number(relationship.destination))_\(upper)"
          list.append(
            (relationship.name, home, Wish(key: "entity \(relationship.number)", base: base, type: "INTEGER"))
          )
        }
        if let inverse, inverse.isToMany, inverse.isOrdered {
          list.append(
            (
              relationship.name, home,
              Wish(key: "order \(relationship.number)", base: "Z_FOK_" + upper, type: "INTEGER")
            ))
        }
      } else if inverse == nil {
        let base = "Z\(number(relationship.owner))\(upper)"
        list.append(
          (
            relationship.name, table(relationship.destinationHierarchy),
            Wish(key: "owner \(relationship.number)", base: base, type: "INTEGER")
          ))
      }
    }
    return list.sorted { $0.path < $1.path }.map { ($0.table, $0.wish) }
  }

  // MARK: Rows

  private func writeSystem(_ database: SQLiteDatabase) throws {
    try database.run(
      """
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
      """)
    for entity in schema.entities {
      let parent = entity.superNumber.map { number($0) } ?? 0
      try database.run(
        "INSERT INTO Z_PRIMARYKEY VALUES (\(number(entity.number)), '\(entity.name)', \(parent), 0)")
    }
    if keepsHistory {
      try database.run(
        """
        CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB);
        CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR);
        INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 0), (16002, 'TRANSACTION', 0, 0), (16003, 'TRANSACTIONSTRING', 0, 0);
        """)
    }
    var list: [String: PropertyListValue] = [
      "NSStoreType": .string("SQLite"), "NSStoreModelVersionHashesVersion": .integer(3),
      "NSPersistenceFrameworkVersion": .integer(1_345), "_NSAutoVacuumLevel": .string("2"),
      "NSStoreModelVersionIdentifiers": .array([.string("")]),
      "NSStoreModelVersionHashes": .dictionary(Self.hashes(schema).mapValues { .data($0) }),
    ]
    list.merge(metadata) { _, own in own }
    let statement = try database.prepare("INSERT INTO Z_METADATA VALUES (1, ?1, ?2)")
    try statement.bind(.text(identifier.uuidString), 1)
    try statement.bind(.blob(Data(PropertyListWriter.bytes(.dictionary(list)))), 2)
    try statement.run()
    if keepsModel {
      let cache = try database.prepare("INSERT INTO Z_MODELCACHE VALUES (?1)")
      try cache.bind(.blob(ModelArchive.packed(ModelArchive.bytes(schema.model))), 1)
      try cache.run()
    }
  }

  private func declarer(_ entity: EntitySchema, _ path: String) -> EntitySchema {
    var current = entity
    // The uppermost one that has it has declared it.
    while let parent = current.superNumber, schema.entities[parent].slot(named: path) != nil {
      current = schema.entities[parent]
    }
    return current
  }

  private func write(_ address: ObjectAddress, _ object: PlainGraph.Object, _ database: SQLiteDatabase) throws
  {
    let entity = schema.entities[address.entity]
    var cells: [(String, SQLiteValue)] = [
      ("Z_PK", .integer(Int64(address.key))), ("Z_ENT", .integer(number(address.entity))),
      ("Z_OPT", .integer(1)),
    ]
    for (path, value) in object.values {
      guard let column = names["\(declarer(entity, path).name) \(path)"] else { continue }
      cells.append((column, try stored(value, description(entity, path))))
    }
    for relationship in entity.relationships where !relationship.isToMany {
      guard let target = object.toOne[relationship.qualifiedName] else { continue }
      cells.append((names["key \(relationship.number)"] ?? "?", .integer(Int64(target.key))))
      if let column = names["entity \(relationship.number)"] {
        cells.append((column, .integer(number(target.entity))))
      }
    }
    let statement = try database.prepare(
      "INSERT INTO \"\(table(entity.hierarchyNumber))\" (\(cells.map { "\"\($0.0)\"" }.joined(separator: ", "))) VALUES (\(cells.map { _ in "?" }.joined(separator: ", ")))"
    )
    for (place, cell) in cells.enumerated() { try statement.bind(cell.1, place + 1) }
    try statement.run()
  }

  private func description(_ entity: EntitySchema, _ path: String) -> AttributeDescription? {
    var parts = path.split(separator: ".").map(String.init)[...]
    var found = entity.entityDescription.attributesByName[parts.removeFirst()]
    while let part = parts.popFirst() {
      found = (found as? CompositeAttributeDescription)?.elements.first { $0.name == part }
    }
    return found
  }

  private func stored(_ value: AttributeValue, _ attribute: AttributeDescription?) throws -> SQLiteValue {
    switch value {
    case .null, .reference: return .null
    case .integer(let value): return .integer(value)
    case .boolean(let value): return .integer(value ? 1 : 0)
    case .double(let value): return .real(value)
    case .float(let value): return .real(Double(value))
    case .decimal(let value): return .text("\(value)")
    case .string(let value): return .text(value)
    case .date(let value): return .real(value.timeIntervalSinceReferenceDate)
    case .uuid(let value): return .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
    case .url(let value): return .text(value.absoluteString)
    case .data(let value):
      guard attribute?.allowsExternalBinaryDataStorage == true else { return .blob(value) }
      if value.count < 120_000 { return .blob(Data([1]) + value) }
      let name = UUID().uuidString
      let url = URL(fileURLWithPath: path)
      let folder = url.deletingLastPathComponent().appendingPathComponent(
        ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try value.write(to: folder.appendingPathComponent(name))
      // Some have a zero at the end.
      return .blob(Data([2]) + Data(name.utf8) + (value[0] & 1 == 0 ? Data([0]) : Data()))
    }
  }

  // MARK: Members

  private mutating func writeMembers(_ relationship: RelationshipSchema, _ database: SQLiteDatabase) throws {
    let inverse = relationship.inverse.map { schema.relationships[$0] }
    let lists = graph.objects.compactMap { address, object in
      object.toMany[relationship.qualifiedName].map { (address, $0) }
    }.sorted { $0.0.key < $1.0.key }
    let members = table(relationship.destinationHierarchy)
    if let inverse, inverse.isToMany {
      return try writeJoin(relationship, inverse, lists, database)
    }
    for (owner, list) in lists {
      var order: Int64 = 2_048
      for member in list {
        if let inverse {
          guard relationship.isOrdered, let column = names["order \(inverse.number)"] else { continue }
          try database.run("UPDATE \"\(members)\" SET \"\(column)\" = \(order) WHERE Z_PK = \(member.key)")
          // Insertions have halved some gaps.
          order += member.key % 3 == 0 ? 512 : 1_024
        } else if let column = names["owner \(relationship.number)"] {
          try database.run(
            "UPDATE \"\(members)\" SET \"\(column)\" = \(owner.key) WHERE Z_PK = \(member.key)")
        }
      }
    }
  }

  private mutating func writeJoin(
    _ relationship: RelationshipSchema, _ inverse: RelationshipSchema,
    _ lists: [(ObjectAddress, [ObjectAddress])],
    _ database: SQLiteDatabase
  ) throws {
    if joins[relationship.number] == nil {
      let first = number(relationship.owner) <= number(inverse.owner) ? relationship : inverse
      let second = first.number == relationship.number ? inverse : relationship
      let table = "Z_\(number(first.owner))\(first.name.uppercased())"
      // A column is called by the relationship that leads to what is in it.
      let firstColumn = "Z_\(number(first.destination))\(first.name.uppercased())"
      var secondColumn = "Z_\(number(second.destination))\(second.name.uppercased())"
      if secondColumn == firstColumn { secondColumn += "1" }
      joins[second.number] = (table, firstColumn, secondColumn)
      joins[first.number] = (table, secondColumn, firstColumn)
      var all = ["\"\(secondColumn)\" INTEGER", "\"\(firstColumn)\" INTEGER"]
      if first.isOrdered { all.append("\"Z_FOK_\(firstColumn.dropFirst(2))\" INTEGER") }
      if second.isOrdered, first.number != second.number {
        all.append("\"Z_FOK_\(secondColumn.dropFirst(2))\" INTEGER")
      }
      try database.run(
        "CREATE TABLE \"\(table)\" (\(all.joined(separator: ", ")), PRIMARY KEY (\"\(secondColumn)\", \"\(firstColumn)\"))"
      )
    }
    guard let join = joins[relationship.number] else { return }
    let isSymmetric = relationship.number == inverse.number
    for (owner, list) in lists {
      var order: Int64 = 2_048
      for member in list {
        // One row for a pair will do where it is its own inverse.
        if isSymmetric && owner.key % 2 == 0 && owner.key > member.key && member.key % 2 == 0 { continue }
        try database.run(
          "INSERT OR IGNORE INTO \"\(join.table)\" (\"\(join.owner)\", \"\(join.member)\") VALUES (\(owner.key), \(member.key))"
        )
        if relationship.isOrdered {
          try database.run(
            "UPDATE \"\(join.table)\" SET \"Z_FOK_\(join.member.dropFirst(2))\" = \(order) WHERE \"\(join.owner)\" = \(owner.key) AND \"\(join.member)\" = \(member.key)"
          )
          order += member.key % 3 == 0 ? 512 : 1_024
        }
      }
    }
  }
}
