import Foundation
import StrataCore

/// Compares a store in Apple's format with one of Strata, object by object: entity, values, links, members and their order.
struct AppleComparison {
  let source: AppleSource
  let window: StoreWindow
  /// Told what differs; the comparison goes on when it returns.
  let differ: (AppleStoreReport.Finding) throws -> Void
  /// Told how many objects and members were compared.
  let progress: (Int) throws -> Void

  private var schema: Schema { source.schema }

  /// - Throws: `AppleStoreError`, `StorageError`, and what `differ` throws.
  func run() throws {
    // What does not fit was told when it was read first.
    let rows = AppleRows(source) { _ in }
    var count = 0
    for table in source.layout.tables.compactMap({ $0 }) { try compare(table, rows, &count) }
    for owned in source.layout.owned {
      try compareMembers(owned.relationship, isOrdered: owned.relationship.isOrdered, &count) { body in
        try rows.forEachMember(owned, body)
      }
    }
    for join in source.layout.joins {
      try compareMembers(join.relationship, isOrdered: join.orderColumn != nil, &count) { body in
        try rows.forEachMember(join, body)
      }
    }
  }

  private func name(_ object: ObjectAddress) -> String {
    "\(schema.entities[object.entity].name)/p\(object.key)"
  }

  private func tell(
    _ object: ObjectAddress, _ property: String?, _ message: String,
    _ kind: AppleStoreReport.Finding.Kind = .inexactValue
  ) throws {
    try differ(.init(kind: kind, row: name(object), property: property, message: message))
  }

  // MARK: Objects

  /// The rows of a hierarchy of Strata's store, one after the other.
  private struct Cursor {
    let window: StoreWindow
    let hierarchy: Int
    private var rows: ArraySlice<FetchedRow> = []
    private var nextKey: UInt64? = 0

    init(_ window: StoreWindow, _ hierarchy: Int) {
      self.window = window
      self.hierarchy = hierarchy
    }

    mutating func next() throws -> FetchedRow? {
      while rows.isEmpty, let key = nextKey {
        let found = try window.rows(of: hierarchy, from: key)
        (rows, nextKey) = (found.rows[...], found.next)
      }
      return rows.popFirst()
    }
  }

  private func compare(_ table: AppleLayout.Table, _ rows: AppleRows, _ count: inout Int) throws {
    var cursor = Cursor(window, table.hierarchy)
    var counted = count
    try rows.forEach(table) { row in
      var found = try cursor.next()
      while let own = found, own.primaryKey < row.object.key {
        try tell(address(own), nil, "there is no such object in Apple's format", .unknownRow)
        found = try cursor.next()
      }
      guard let own = found, own.primaryKey == row.object.key else {
        throw AppleStoreError(.difference, "\(name(row.object)) is not in Strata's store.")
      }
      if own.entity != row.object.entity {
        try tell(row.object, nil, "it is a \(schema.entities[own.entity].name) in Strata's store")
      } else {
        try compare(row, own)
      }
      counted += 1
      if counted & 0x3FF == 0 { try progress(counted) }
    }
    while let own = try cursor.next() {
      try tell(address(own), nil, "there is no such object in Apple's format", .unknownRow)
    }
    count = counted
  }

  private func address(_ row: FetchedRow) -> ObjectAddress {
    ObjectAddress(entity: row.entity, key: row.primaryKey)
  }

  private func compare(_ row: AppleRow, _ own: FetchedRow) throws {
    guard let entity = source.layout.entities[own.entity] else { return }
    // Derived values are computed anew.
    for attribute in entity.attributes where !attribute.isDerived {
      let value = try window.value(of: own, attribute.slot)
      if value != row.values[attribute.slot] {
        try tell(
          row.object, attribute.path,
          "\(Self.short(row.values[attribute.slot])) in Apple's format is \(Self.short(value)) in Strata's store"
        )
      }
    }
    for link in entity.links {
      var target: ObjectAddress?
      if case .reference(let bits) = try window.value(of: own, link.relationship.slot) {
        target = window.target(bits)
      }
      let expected = row.links.first { $0.relationship.number == link.relationship.number }?.target
      if target != expected {
        try tell(
          row.object, link.relationship.name,
          "\(expected.map(name) ?? "nil") in Apple's format is \(target.map(name) ?? "nil") in Strata's store",
          .lostLink)
      }
    }
  }

  private static func short(_ value: AttributeValue) -> String {
    let text = value.description
    return text.count > 60 ? "\(text.prefix(60))…" : text
  }

  // MARK: Members

  private func compareMembers(
    _ relationship: RelationshipSchema, isOrdered: Bool, _ count: inout Int,
    _ walk: (AppleRows.MemberBody) throws -> Void
  ) throws {
    var (owner, members, total): (ObjectAddress?, [ObjectAddress], Int) = (nil, [], 0)
    func settle() throws {
      guard let owner else { return }
      let own = try window.members(relationship, of: [owner.key])[0].compactMap { window.target($0) }
      let isSame = isOrdered ? own == members : Set(own) == Set(members) && own.count == members.count
      if !isSame {
        try tell(
          owner, relationship.name,
          "its \(members.count) members in Apple's format are others than the \(own.count) in Strata's store, or in another order",
          .lostLink)
      }
      total += members.count
    }
    var counted = count
    try walk { next, member, _ in
      if next != owner {
        try settle()
        (owner, members) = (next, [])
      }
      members.append(member)
      counted += 1
      if counted & 0x3FF == 0 { try progress(counted) }
    }
    try settle()
    count = counted
    // Owners without members in Apple's format must have none here.
    let stored = try storedMemberCount(relationship)
    if stored != total {
      try tell(
        owner ?? ObjectAddress(entity: relationship.owner, key: 0), relationship.name,
        "there are \(total) members in Apple's format, and \(stored) in Strata's store", .lostLink)
    }
  }

  private func storedMemberCount(_ relationship: RelationshipSchema) throws -> Int {
    let owners = schema.entities[relationship.owner]
    var cursor = Cursor(window, owners.hierarchyNumber)
    var count = 0
    while let row = try cursor.next() {
      if owners.subtree.contains(row.entity) {
        count += try window.memberCount(relationship, of: row.primaryKey)
      }
    }
    return count
  }
}
