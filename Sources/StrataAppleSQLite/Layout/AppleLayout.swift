import Foundation
import StrataCore

/// Where the values of a model lie in Apple's tables.
struct AppleLayout {
  /// A stored attribute of an entity, or an element of a composite one.
  struct Attribute {
    let slot: Int
    /// With the composite attributes that it is part of: `address.city`.
    let path: String
    let type: AttributeType
    let column: String
    /// Whether large values lie in files of their own, and all have a mark.
    let isExternal: Bool
    let isDerived: Bool
    /// Whether a change that deletes the object keeps the value for those who read the history.
    let isKeptInHistory: Bool
  }

  /// A to-one relationship.
  struct Link {
    let relationship: RelationshipSchema
    let column: String
    /// The column that has the number of the target's entity; nil where the destination has no subentities.
    let targetColumn: String?
    /// The inverse, where it is to-one as well.
    let inverse: RelationshipSchema?
  }

  /// Members whose rows name their owner.
  struct Owned {
    let relationship: RelationshipSchema
    /// The members' table.
    let table: String
    let column: String
    let orderColumn: String?
  }

  /// A relationship that is to-many at both ends.
  struct Join {
    let relationship: RelationshipSchema
    let table: String
    let ownerColumn: String
    let memberColumn: String
    /// The places of members, where the relationship is ordered.
    let orderColumn: String?
    /// Whether the relationship is its own inverse.
    let isSymmetric: Bool
  }

  struct Entity {
    /// The number in the schema.
    let number: Int
    /// `Z_ENT`.
    let appleNumber: Int64
    /// With those that are inherited.
    var attributes: [Attribute] = []
    var links: [Link] = []
  }

  struct Table {
    let name: String
    /// The number of the hierarchy in the schema.
    let hierarchy: Int
    /// All columns that some entity of the hierarchy reads, once each.
    var columns: [String] = []
  }

  let schema: Schema
  /// By number in the schema; nil for entities that the store does not hold.
  private(set) var entities: [Entity?]
  /// By number of the hierarchy; nil for those that the store does not hold.
  private(set) var tables: [Table?]
  /// Ordered to-many relationships with a to-one inverse, and all without inverse.
  private(set) var owned: [Owned] = []
  /// The ends of many-to-many relationships that tell their members: both where both are ordered, otherwise one.
  private(set) var joins: [Join] = []
  /// By `Z_ENT`, the number in the schema.
  let byAppleNumber: [Int64: Int]

  /// - Parameters:
  ///   - numbers: `Z_ENT` by name of entity.
  ///   - columns: By table, the columns that there are; nil for a store that is yet to be made.
  /// - Throws: `AppleStoreError` `.model` with what is missing.
  init(_ schema: Schema, numbers: [String: Int64], columns: [String: Set<String>]?) throws {
    self.schema = schema
    var byAppleNumber: [Int64: Int] = [:]
    for entity in schema.entities {
      if let number = numbers[entity.name] { byAppleNumber[number] = entity.number }
    }
    self.byAppleNumber = byAppleNumber
    entities = schema.entities.map { entity in
      numbers[entity.name].map { Entity(number: entity.number, appleNumber: $0) }
    }
    tables = schema.hierarchies.map { hierarchy in
      numbers[hierarchy.rootName].map { _ in
        Table(name: AppleNames.table(hierarchy.rootName), hierarchy: hierarchy.number)
      }
    }
    var builder = AppleLayoutBuilder(schema, numbers, columns)
    try builder.assign()
    for entity in schema.entities where numbers[entity.name] != nil {
      entities[entity.number]?.attributes = builder.attributes(of: entity)
      entities[entity.number]?.links = try builder.links(of: entity)
    }
    for place in tables.indices {
      guard let table = tables[place] else { continue }
      var seen: Set<String> = []
      for member in schema.hierarchies[table.hierarchy].memberNumbers {
        guard let entity = entities[member] else { continue }
        for column in entity.attributes.map(\.column) + entity.links.map(\.column)
        where seen.insert(column).inserted {
          tables[place]?.columns.append(column)
        }
      }
    }
    for relationship in schema.relationships {
      guard entities[relationship.owner] != nil, relationship.isToMany, !relationship.isTransient else {
        continue
      }
      guard let inverse = relationship.inverse.map({ schema.relationships[$0] }) else {
        owned.append(try builder.owned(relationship))
        continue
      }
      if !inverse.isToMany {
        if relationship.isOrdered { owned.append(try builder.owned(relationship)) }
      } else if relationship.isOrdered || !inverse.isOrdered && relationship.number <= inverse.number {
        joins.append(try builder.join(relationship, inverse))
      }
    }
    if !builder.missing.isEmpty {
      let list = builder.missing.prefix(5).joined(separator: "; ")
      let more = builder.missing.count > 5 ? "; and \(builder.missing.count - 5) more" : ""
      throw AppleStoreError(.model, "The store and the model do not fit: \(list)\(more).")
    }
  }

  /// The columns of a table that some property has.
  func claimedColumns(_ table: Table) -> Set<String> {
    var claimed = AppleNames.systemColumns
    for member in schema.hierarchies[table.hierarchy].memberNumbers {
      guard let entity = entities[member] else { continue }
      claimed.formUnion(entity.attributes.map(\.column))
      claimed.formUnion(entity.links.flatMap { [$0.column, $0.targetColumn].compactMap { $0 } })
    }
    for owned in owned where owned.table == table.name {
      claimed.insert(owned.column)
      if let order = owned.orderColumn { claimed.insert(order) }
    }
    return claimed
  }
}

/// Finds the column of each property by the rules of their names.
private struct AppleLayoutBuilder {
  let schema: Schema
  let numbers: [String: Int64]
  let columns: [String: Set<String>]?
  private(set) var missing: [String] = []
  /// By what wants a column, the column.
  private var assigned: [String: String] = [:]
  /// The leaves of the attributes that an entity declares.
  private var leaves: [[Leaf]] = []
  private var joinTables: [String: (table: String, columns: [String])] = [:]

  struct Leaf {
    let path: String
    let name: String
    let attribute: AttributeDescription
    let isDerived: Bool
  }

  private struct Want {
    let key: String
    let base: String
    let place: String
  }

  init(_ schema: Schema, _ numbers: [String: Int64], _ columns: [String: Set<String>]?) {
    self.schema = schema
    self.numbers = numbers
    self.columns = columns
    leaves = schema.entities.map { Self.leaves(of: $0.entityDescription) }
  }

  private static func leaves(of entity: EntityDescription) -> [Leaf] {
    var found: [Leaf] = []
    func add(_ attribute: AttributeDescription, _ path: String) {
      if let composite = attribute as? CompositeAttributeDescription {
        for element in composite.elements { add(element, "\(path).\(element.name)") }
      } else {
        found.append(
          Leaf(
            path: path, name: attribute.name, attribute: attribute,
            isDerived: attribute is DerivedAttributeDescription))
      }
    }
    for property in entity.ownProperties.sorted(by: { $0.name < $1.name }) {
      if let attribute = property as? AttributeDescription, !attribute.isTransient {
        add(attribute, attribute.name)
      }
    }
    return found
  }

  private func number(_ entity: Int) -> Int64 { numbers[schema.entities[entity].name] ?? 0 }

  private func tableName(_ hierarchy: Int) -> String {
    AppleNames.table(schema.hierarchies[hierarchy].rootName)
  }

  private func hasSubentities(_ entity: Int) -> Bool { schema.entities[entity].subtree.count > 1 }

  /// Gives every property its columns: in the order of `Z_ENT`, by name inside an entity. A name that is taken gets a number behind it.
  mutating func assign() throws {
    var wants: [[Want]] = schema.hierarchies.map { _ in [] }
    let ordered = schema.entities.filter { numbers[$0.name] != nil }.sorted {
      number($0.number) < number($1.number)
    }
    for entity in ordered {
      var own: [(name: String, wants: [(hierarchy: Int, want: Want)])] = []
      for leaf in leaves[entity.number] {
        let want = Want(
          key: "a \(entity.number) \(leaf.path)", base: AppleNames.column(leaf.name),
          place: "\(entity.name).\(leaf.path)")
        own.append((leaf.path, [(entity.hierarchyNumber, want)]))
      }
      for relationship in entity.relationships
      where relationship.owner == entity.number && !relationship.isTransient {
        own.append((relationship.name, relationshipWants(relationship)))
      }
      for item in own.sorted(by: { $0.name < $1.name }) {
        for (hierarchy, want) in item.wants { wants[hierarchy].append(want) }
      }
    }
    for hierarchy in schema.hierarchies where numbers[hierarchy.rootName] != nil {
      assign(wants[hierarchy.number], in: tableName(hierarchy.number))
    }
  }

  private func relationshipWants(_ relationship: RelationshipSchema) -> [(hierarchy: Int, want: Want)] {
    let place = relationship.qualifiedName
    let owner = schema.entities[relationship.owner]
    if !relationship.isToMany {
      var wants = [
        (
          owner.hierarchyNumber,
          Want(key: "r \(relationship.number)", base: AppleNames.column(relationship.name), place: place)
        )
      ]
      if hasSubentities(relationship.destination) {
        let base = AppleNames.targetEntity(relationship.name, number(relationship.destination))
        wants.append(
          (owner.hierarchyNumber, Want(key: "t \(relationship.number)", base: base, place: "")))
      }
      if let inverse = relationship.inverse.map({ schema.relationships[$0] }), inverse.isToMany,
        inverse.isOrdered
      {
        wants.append(
          (
            owner.hierarchyNumber,
            Want(
              key: "f \(relationship.number)", base: AppleNames.order(relationship.name),
              place: "the order of \(inverse.qualifiedName)")
          ))
      }
      return wants
    }
    if relationship.inverse == nil {
      let base = AppleNames.owner(relationship.name, number(relationship.owner))
      var wants = [
        (
          relationship.destinationHierarchy,
          Want(key: "o \(relationship.number)", base: base, place: place)
        )
      ]
      if relationship.isOrdered {
        wants.append(
          (
            relationship.destinationHierarchy,
            Want(key: "p \(relationship.number)", base: "Z_FOK_" + base.dropFirst(), place: "")
          ))
      }
      return wants
    }
    return []
  }

  private mutating func assign(_ wants: [Want], in table: String) {
    let there = columns.map { $0[table] ?? [] }
    if let there, there.isEmpty {
      missing.append("there is no table \(table)")
      return
    }
    let bases = Set(wants.map(\.base))
    var taken = AppleNames.systemColumns
    for want in wants {
      var column: String?
      for suffix in 0..<1_000 {
        let candidate = suffix == 0 ? want.base : "\(want.base)\(suffix)"
        // With a number it could be the plain name of another property.
        if taken.contains(candidate) || suffix > 0 && bases.contains(candidate) { continue }
        if let there, !there.contains(candidate) {
          // Numbers have no gaps: what is not there with one has none behind it either.
          if suffix > 0 { break }
          continue
        }
        column = candidate
        break
      }
      if let column {
        taken.insert(column)
        assigned[want.key] = column
      } else if !want.place.isEmpty {
        missing.append("the table \(table) has no column \(want.base) for \(want.place)")
      }
    }
  }

  // MARK: What an entity has

  private func line(_ entity: EntitySchema) -> [EntitySchema] {
    var line = [entity]
    while let parent = line[line.count - 1].superNumber { line.append(schema.entities[parent]) }
    return line.reversed()
  }

  func attributes(of entity: EntitySchema) -> [AppleLayout.Attribute] {
    line(entity).flatMap { owner in
      leaves[owner.number].compactMap { leaf -> AppleLayout.Attribute? in
        guard let column = assigned["a \(owner.number) \(leaf.path)"],
          let slot = entity.slot(named: leaf.path)
        else { return nil }
        let type = leaf.attribute.attributeType
        return AppleLayout.Attribute(
          slot: slot, path: leaf.path, type: type, column: column,
          isExternal: leaf.attribute.allowsExternalBinaryDataStorage
            && (type == .binaryData || type == .transformable),
          isDerived: leaf.isDerived, isKeptInHistory: leaf.attribute.preservesValueInHistoryOnDeletion)
      }
    }
  }

  func links(of entity: EntitySchema) throws -> [AppleLayout.Link] {
    try entity.relationships.compactMap { relationship in
      guard !relationship.isToMany, !relationship.isTransient else { return nil }
      try requireHeld(relationship)
      guard let column = assigned["r \(relationship.number)"] else { return nil }
      let inverse = relationship.inverse.map { schema.relationships[$0] }
      return AppleLayout.Link(
        relationship: relationship, column: column, targetColumn: assigned["t \(relationship.number)"],
        inverse: inverse.flatMap { $0.isToMany || $0.isTransient ? nil : $0 })
    }
  }

  private func requireHeld(_ relationship: RelationshipSchema) throws {
    if numbers[schema.entities[relationship.destination].name] != nil { return }
    throw AppleStoreError(
      .model,
      "\(relationship.qualifiedName) leads to \(schema.entities[relationship.destination].name), which the store does not hold."
    )
  }

  mutating func owned(_ relationship: RelationshipSchema) throws -> AppleLayout.Owned {
    try requireHeld(relationship)
    let table = tableName(relationship.destinationHierarchy)
    if let inverse = relationship.inverse {
      return AppleLayout.Owned(
        relationship: relationship, table: table, column: assigned["r \(inverse)"] ?? "",
        orderColumn: assigned["f \(inverse)"])
    }
    return AppleLayout.Owned(
      relationship: relationship, table: table, column: assigned["o \(relationship.number)"] ?? "",
      orderColumn: assigned["p \(relationship.number)"])
  }

  // MARK: Join tables

  mutating func join(_ relationship: RelationshipSchema, _ inverse: RelationshipSchema) throws
    -> AppleLayout.Join
  {
    try requireHeld(relationship)
    // What a relationship leads to is in the column that is called by it.
    let memberBase = AppleNames.joinColumn(relationship.name, number(relationship.destination))
    let ownerBase = AppleNames.joinColumn(inverse.name, number(inverse.destination))
    let isSymmetric = relationship.number == inverse.number
    func made(_ table: String, _ owner: String, _ member: String, _ order: String?) -> AppleLayout.Join {
      AppleLayout.Join(
        relationship: relationship, table: table, ownerColumn: owner, memberColumn: member,
        orderColumn: order, isSymmetric: isSymmetric)
    }
    let own = AppleNames.join(relationship.name, number(relationship.owner))
    let other = AppleNames.join(inverse.name, number(inverse.owner))
    guard let columns else {
      let isOwn =
        number(relationship.owner) < number(inverse.owner)
        || relationship.owner == inverse.owner && relationship.name <= inverse.name
      // Both ends have the same base when they are called alike: then the second one gets a number.
      let first = isOwn ? memberBase : ownerBase
      let isAlike = memberBase == ownerBase
      let member = isAlike && !isOwn ? first + "1" : memberBase
      let owner = isAlike && isOwn ? first + "1" : ownerBase
      return made(
        isOwn ? own : other, owner, member, relationship.isOrdered ? AppleNames.joinOrder(member) : nil)
    }
    for table in candidates(own, other, columns.keys) {
      guard let there = columns[table] else { continue }
      let keys = there.filter { !$0.hasPrefix("Z_FOK_") }.sorted()
      guard keys.count == 2 else { continue }
      let pairs = [(keys[0], keys[1]), (keys[1], keys[0])]
      // The exact name first: ends that are called alike fit both ways.
      for (member, owner) in keys[1] == memberBase ? pairs.reversed() : pairs
      where fits(member, memberBase, relationship.name)
        && (fits(owner, ownerBase, inverse.name) || isSymmetric && owner == AppleNames.reflexive)
      {
        let order = AppleNames.joinOrder(member)
        if relationship.isOrdered && !there.contains(order) {
          missing.append(
            "the table \(table) has no column \(order) for the order of \(relationship.qualifiedName)")
        }
        return made(table, owner, member, relationship.isOrdered ? order : nil)
      }
    }
    missing.append("there is no table \(own) for \(relationship.qualifiedName)")
    return made(own, ownerBase, memberBase, nil)
  }

  /// The names that the table may have, the likely ones first: of relationships of an entity with itself either end names it, and
  /// numbers of entities may be those of an earlier model.
  private func candidates(_ own: String, _ other: String, _ tables: some Sequence<String>) -> [String] {
    func withoutNumber(_ name: String) -> Substring { name.dropFirst(2).drop { $0.isNumber } }
    let likely = [own, other]
    let others = tables.filter { table in
      table.hasPrefix("Z_") && !likely.contains(table)
        && likely.contains { withoutNumber($0) == withoutNumber(table) }
    }
    return likely + others.sorted()
  }

  private func fits(_ column: String, _ base: String, _ name: String) -> Bool {
    if column == base || AppleNames.isNumbered(column, base) { return true }
    guard column.hasPrefix("Z_") else { return false }
    let rest = column.dropFirst(2).drop { $0.isNumber }
    return rest == name.uppercased()
  }
}
