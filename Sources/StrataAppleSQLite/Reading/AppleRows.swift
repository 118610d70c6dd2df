import Foundation
import StrataCore

/// An object as a row of Apple's tables says it.
struct AppleRow {
  let object: ObjectAddress
  /// By slot; links are null here.
  var values: [AttributeValue]
  /// To-one relationships that lead somewhere.
  var links: [(relationship: RelationshipSchema, target: ObjectAddress)] = []
}

/// Reads rows and members. What does not fit is told, and nil.
final class AppleRows {
  private let source: AppleSource
  private let schema: Schema
  private let layout: AppleLayout
  private let externals: ExternalValues
  private(set) var externalFileCount = 0
  /// Told what does not fit.
  private let tell: (AppleStoreReport.Finding) throws -> Void
  /// By hierarchy: the entity of a key.
  private var lookups: [Int: SQLiteStatement] = [:]
  /// By relationship: entity and inverse key of a row at the other end.
  private var inverseLookups: [Int: SQLiteStatement] = [:]

  private var plans: [Int: TablePlan] = [:]
  /// Of columns that may have marks, as far as their rows were read: how many values begin with one, and whether one does not.
  private var marks: [String: (marked: Int, hasOther: Bool)] = [:]
  /// Statements that were prepared before.
  private var idle: [String: SQLiteStatement] = [:]
  private static let mostIdle = 64

  init(_ source: AppleSource, tell: @escaping (AppleStoreReport.Finding) throws -> Void) {
    self.source = source
    schema = source.schema
    layout = source.layout
    externals = source.externals
    self.tell = tell
  }

  /// Lets go of the store, which is closed only then.
  func close() {
    idle = [:]
    lookups = [:]
    inverseLookups = [:]
  }

  // MARK: Objects

  /// Hands over all objects of a table in the order of their keys.
  /// - Throws: `AppleStoreError`, and what `body` throws.
  func forEach(
    _ table: AppleLayout.Table, where condition: AppleCondition = .all, _ body: (AppleRow) throws -> Void
  ) throws {
    let plan = plan(table)
    marks = [:]
    let sql = "\(plan.sql)\(condition.sql.map { " WHERE \($0)" } ?? "") ORDER BY Z_PK"
    // Not in use twice: what is done with a row may ask for others.
    let statement = try idle.removeValue(forKey: sql) ?? source.database.prepare(sql)
    defer {
      statement.reset()
      if idle.count < Self.mostIdle { idle[sql] = statement }
    }
    for (place, value) in condition.values.enumerated() { try statement.bind(value, place + 1) }
    while try statement.step() {
      guard let key = statement.integer(0) else {
        throw AppleStoreError(.damaged, "\(source.path): the table \(table.name) has a row without a key.")
      }
      guard let number = statement.integer(1).flatMap({ layout.byAppleNumber[$0] }),
        let plan = plan.entities[number],
        !plan.entity.isAbstract, key > 0
      else {
        try tell(
          .init(
            kind: .unknownRow, row: "\(table.name) row \(key)", property: nil,
            message: key > 0
              ? "its Z_ENT is no entity that has objects in this table; the row was left out"
              : "its key is not above 0; the row was left out"))
        continue
      }
      var row = AppleRow(
        object: ObjectAddress(entity: plan.entity.number, key: UInt64(key)), values: plan.empty)
      for (attribute, column, isUnclear) in plan.attributes where !statement.isNull(column) {
        let stored = statement.value(column)
        if isUnclear, case .blob(let data) = stored { note(data, attribute.column) }
        row.values[attribute.slot] = try value(stored, attribute, plan.entity, key)
      }
      for (link, column) in plan.links where !statement.isNull(column) {
        if let target = try target(statement.value(column), link, plan.entity, key) {
          row.links.append((link.relationship, target))
        }
      }
      try body(row)
    }
    if condition.sql != nil { return }
    for (column, count) in marks.sorted(by: { $0.key < $1.key }) where count.marked > 0 && !count.hasOther {
      try tell(
        .init(
          kind: .misfit, row: table.name, property: column,
          message:
            "all \(count.marked) values begin as values do that may lie in files, and the model in the store does not say whether they may; name the model"
        ))
    }
  }

  private struct TablePlan {
    let sql: String
    /// By number of the entity.
    let entities: [EntityPlan?]
  }

  private func plan(_ table: AppleLayout.Table) -> TablePlan {
    if let known = plans[table.hierarchy] { return known }
    let names = ["Z_PK", "Z_ENT"] + table.columns
    let places = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
    let entities = schema.entities.map { entity -> EntityPlan? in
      guard entity.hierarchyNumber == table.hierarchy, let own = layout.entities[entity.number] else {
        return nil
      }
      return EntityPlan(
        entity: entity,
        attributes: own.attributes.compactMap { attribute in
          places[attribute.column].map { (attribute, $0, isUnclear(attribute, entity)) }
        },
        links: own.links.compactMap { link in places[link.column].map { (link, $0) } },
        empty: [AttributeValue](repeating: .null, count: entity.attributes.count))
    }
    let list = names.map(SQLiteDatabase.quoted).joined(separator: ", ")
    let plan = TablePlan(
      sql: "SELECT \(list) FROM \(SQLiteDatabase.quoted(table.name))", entities: entities)
    plans[table.hierarchy] = plan
    return plan
  }

  private struct EntityPlan {
    let entity: EntitySchema
    /// With their columns, and whether the model does not say that their values may lie in files.
    let attributes: [(AppleLayout.Attribute, Int, isUnclear: Bool)]
    let links: [(AppleLayout.Link, Int)]
    let empty: [AttributeValue]
  }

  /// What a column has; nil, and told, for what is none of the attribute's type.
  /// - Throws: what `tell` throws.
  func value(
    _ stored: SQLiteValue, _ attribute: AppleLayout.Attribute, _ entity: EntitySchema, _ key: Int64
  ) throws -> AttributeValue {
    func fault(_ kind: AppleStoreReport.Finding.Kind, _ message: String) throws {
      try tell(
        .init(kind: kind, row: "\(entity.name)/p\(key)", property: attribute.path, message: message))
    }
    var stored = stored
    if attribute.isExternal, case .blob(let data) = stored {
      do {
        stored = .blob(try externals.value(data))
        if data.first == ExternalValues.file { externalFileCount += 1 }
      } catch ExternalValues.Fault.missing(let name) {
        try fault(
          .missingFile, "the file \(name) of the large value is not in \(externals.folder), or cannot be read"
        )
        return .null
      } catch {
        try fault(.misfit, "the value has no mark that tells whether it lies in a file")
        return .null
      }
    } else if case .blob(let data) = stored, attribute.type != .uuid, let name = ExternalValues.name(data) {
      try fault(
        .misfit,
        "the value refers to the file \(name), and the model does not say that the attribute has such files; the reference was kept"
      )
    }
    if let value = AppleValue.attribute(stored, attribute.type) { return value }
    try fault(.misfit, "\(Self.describe(stored)) is no \(attribute.type)")
    return .null
  }

  private func isUnclear(_ attribute: AppleLayout.Attribute, _ entity: EntitySchema) -> Bool {
    var current: EntitySchema? = entity
    while let owner = current {
      if source.unclearAttributes.contains("\(owner.name).\(attribute.path)") { return true }
      current = owner.superNumber.map { schema.entities[$0] }
    }
    return false
  }

  private func note(_ data: Data, _ column: String) {
    let isMarked = data.first == ExternalValues.inline || ExternalValues.name(data) != nil
    var count = marks[column] ?? (0, false)
    if isMarked { count.marked += 1 } else { count.hasOther = true }
    marks[column] = count
  }

  private static func describe(_ value: SQLiteValue) -> String {
    switch value {
    case .null: "NULL"
    case .integer(let value): "the integer \(value)"
    case .real(let value): "the number \(value)"
    case .text(nil): "a text that is no UTF-8"
    case .text(let text?): "a text of \(text.utf8.count) bytes"
    case .blob(let data): "a value of \(data.count) bytes"
    }
  }

  // MARK: To-one relationships

  private func target(
    _ stored: SQLiteValue, _ link: AppleLayout.Link, _ entity: EntitySchema, _ key: Int64
  ) throws -> ObjectAddress? {
    func fault(_ kind: AppleStoreReport.Finding.Kind, _ message: String) throws {
      try tell(
        .init(
          kind: kind, row: "\(entity.name)/p\(key)", property: link.relationship.name, message: message))
    }
    guard case .integer(let other) = stored else {
      try fault(.misfit, "\(Self.describe(stored)) is no key")
      return nil
    }
    guard let found = try object(other, in: link.relationship.destinationHierarchy) else {
      try fault(.danglingLink, "there is no object with the key \(other)")
      return nil
    }
    guard schema.entities[link.relationship.destination].subtree.contains(found.entity) else {
      try fault(
        .danglingLink,
        "it leads to \(schema.entities[found.entity].name)/p\(other), which is no \(schema.entities[link.relationship.destination].name)"
      )
      return nil
    }
    guard let inverse = link.inverse else { return found }
    let back = try backKey(from: found, inverse)
    if back == key { return found }
    try fault(
      .oneSidedLink,
      "\(schema.entities[found.entity].name)/p\(other).\(inverse.name) leads \(back.map { "to the key \($0)" } ?? "nowhere"), and not back"
    )
    return nil
  }

  /// The object with a key; nil when there is none that the model knows.
  /// - Throws: `AppleStoreError`.
  func object(_ key: Int64, in hierarchy: Int) throws -> ObjectAddress? {
    guard key > 0, let table = layout.tables[hierarchy] else { return nil }
    let statement: SQLiteStatement
    if let known = lookups[hierarchy] {
      statement = known
    } else {
      statement = try source.database.prepare(
        "SELECT Z_ENT FROM \(SQLiteDatabase.quoted(table.name)) WHERE Z_PK = ?1")
      lookups[hierarchy] = statement
    }
    defer { statement.reset() }
    try statement.bind(.integer(key), 1)
    guard try statement.step(), let number = statement.integer(0).flatMap({ layout.byAppleNumber[$0] }),
      schema.entities[number].hierarchyNumber == hierarchy, !schema.entities[number].isAbstract
    else { return nil }
    return ObjectAddress(entity: number, key: UInt64(key))
  }

  private func backKey(from object: ObjectAddress, _ inverse: RelationshipSchema) throws -> Int64? {
    let statement: SQLiteStatement
    if let known = inverseLookups[inverse.number] {
      statement = known
    } else {
      // Where it declares the relationship, the entity has the column.
      guard let table = layout.tables[schema.entities[inverse.owner].hierarchyNumber],
        let link = layout.entities[inverse.owner]?.links.first(where: {
          $0.relationship.number == inverse.number
        })
      else { return nil }
      statement = try source.database.prepare(
        "SELECT \(SQLiteDatabase.quoted(link.column)) FROM \(SQLiteDatabase.quoted(table.name)) WHERE Z_PK = ?1"
      )
      inverseLookups[inverse.number] = statement
    }
    defer { statement.reset() }
    try statement.bind(.integer(Int64(object.key)), 1)
    return try statement.step() ? statement.integer(0) : nil
  }

  // MARK: Members

  /// A member of a relationship, and its place from 0 on.
  typealias MemberBody = (_ owner: ObjectAddress, _ member: ObjectAddress, _ place: Int) throws -> Void

  /// Hands over the members whose rows name their owner, owner by owner and in order.
  /// - Throws: `AppleStoreError`, and what `body` throws.
  func forEachMember(_ owned: AppleLayout.Owned, _ body: MemberBody) throws {
    let column = SQLiteDatabase.quoted(owned.column)
    let order = owned.orderColumn.map { "\(SQLiteDatabase.quoted($0)), " } ?? ""
    let statement = try source.database.prepare(
      "SELECT \(column), Z_PK FROM \(SQLiteDatabase.quoted(owned.table)) WHERE \(column) IS NOT NULL ORDER BY \(column), \(order)Z_PK"
    )
    // What rows say of their owners was told with the rows.
    try walk(statement, owned.relationship, tells: owned.relationship.inverse == nil, body)
  }

  /// Hands over the members that a join table has, owner by owner and in order, each once.
  /// - Throws: `AppleStoreError`, and what `body` throws.
  func forEachMember(_ join: AppleLayout.Join, _ body: MemberBody) throws {
    let (owner, member) = (SQLiteDatabase.quoted(join.ownerColumn), SQLiteDatabase.quoted(join.memberColumn))
    let table = SQLiteDatabase.quoted(join.table)
    let sql: String
    if let orderColumn = join.orderColumn {
      sql =
        "SELECT \(owner), \(member), max(\(SQLiteDatabase.quoted(orderColumn))) FROM \(table) GROUP BY 1, 2 ORDER BY 1, 3, 2"
    } else if join.isSymmetric {
      // A pair may be there once or twice.
      sql =
        "SELECT \(owner), \(member) FROM \(table) UNION SELECT \(member), \(owner) FROM \(table) ORDER BY 1, 2"
    } else {
      sql = "SELECT DISTINCT \(owner), \(member) FROM \(table) ORDER BY 1, 2"
    }
    try walk(try source.database.prepare(sql), join.relationship, tells: true, body)
  }

  private func walk(
    _ statement: SQLiteStatement, _ relationship: RelationshipSchema, tells: Bool, _ body: MemberBody
  ) throws {
    let owners = schema.entities[relationship.owner]
    let members = schema.entities[relationship.destination]
    var (current, owner, place): (Int64?, ObjectAddress?, Int) = (nil, nil, 0)
    while try statement.step() {
      guard let ownerKey = statement.integer(0), let memberKey = statement.integer(1) else {
        try tell(
          .init(
            kind: .danglingLink, row: owners.name, property: relationship.name,
            message: "a member has no key"))
        continue
      }
      if ownerKey != current {
        (current, place) = (ownerKey, 0)
        owner = try object(ownerKey, in: owners.hierarchyNumber)
        if let found = owner, !owners.subtree.contains(found.entity) { owner = nil }
      }
      guard let owner else {
        if tells {
          try tell(
            .init(
              kind: .danglingLink, row: "\(owners.name)/p\(ownerKey)", property: relationship.name,
              message: "there is no such object, and \(members.name)/p\(memberKey) is a member of it"))
        }
        continue
      }
      guard let member = try object(memberKey, in: members.hierarchyNumber),
        members.subtree.contains(member.entity)
      else {
        if tells {
          try tell(
            .init(
              kind: .danglingLink, row: "\(schema.entities[owner.entity].name)/p\(ownerKey)",
              property: relationship.name, message: "there is no member \(members.name)/p\(memberKey)"))
        }
        continue
      }
      try body(owner, member, place)
      place += 1
    }
  }
}
