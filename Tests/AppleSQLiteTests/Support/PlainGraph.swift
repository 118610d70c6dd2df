import Foundation
import StrataCore
import TortureKit

/// Objects with values and links, as a plain structure: what a store must say, whatever its format.
struct PlainGraph: Equatable {
  struct Object: Equatable {
    /// By path; nil values are left out.
    var values: [String: AttributeValue] = [:]
    /// By `Entity.relationship`.
    var toOne: [String: ObjectAddress] = [:]
    /// The same; unordered ones sorted, empty ones left out.
    var toMany: [String: [ObjectAddress]] = [:]
  }

  var objects: [ObjectAddress: Object] = [:]

  /// What differs, for messages.
  func difference(_ other: PlainGraph, _ schema: Schema) -> String? {
    func name(_ address: ObjectAddress) -> String {
      "\(schema.entities[address.entity].name)/p\(address.key)"
    }
    for (address, object) in objects.sorted(by: { $0.key.key < $1.key.key }) {
      guard let found = other.objects[address] else { return "\(name(address)) is missing" }
      for key in Set(object.values.keys).union(found.values.keys)
      where object.values[key] != found.values[key] {
        return
          "\(name(address)).\(key): \(object.values[key]?.description ?? "nil") became \(found.values[key]?.description ?? "nil")"
      }
      for key in Set(object.toOne.keys).union(found.toOne.keys) where object.toOne[key] != found.toOne[key] {
        return
          "\(name(address)) \(key): \(object.toOne[key].map(name) ?? "nil") became \(found.toOne[key].map(name) ?? "nil")"
      }
      for key in Set(object.toMany.keys).union(found.toMany.keys)
      where object.toMany[key] != found.toMany[key] {
        return
          "\(name(address)) \(key): \(object.toMany[key]?.map(name) ?? []) became \(found.toMany[key]?.map(name) ?? [])"
      }
    }
    return other.objects.keys.first { objects[$0] == nil }.map { "\(name($0)) is there and should not be" }
  }
}

extension PlainGraph {
  /// What a store of Strata says.
  init(strata path: String) throws {
    var options = LMDBStoreOptions()
    options.isReadOnly = true
    options.ignoresVersionHashes = true
    let url = URL(fileURLWithPath: path)
    let store = try LMDBStore(url: url, schema: try LMDBStore.model(at: url).schema(), options: options)
    defer { store.close() }
    let window = try StoreWindow(store)
    for hierarchy in window.schema.hierarchies {
      var next: UInt64? = 0
      while let key = next {
        let rows: [FetchedRow]
        (rows, next) = try window.rows(of: hierarchy.number, from: key)
        for row in rows { try add(row, window) }
      }
    }
  }

  private mutating func add(_ row: FetchedRow, _ window: StoreWindow) throws {
    let entity = window.schema.entities[row.entity]
    var object = Object()
    for attribute in entity.attributes
    where attribute.relationship == nil && !attribute.isTransient
      && entity.slot(named: attribute.name) == attribute.slot
    {
      let value = try window.value(of: row, attribute.slot)
      if !value.isNull { object.values[attribute.name] = value }
    }
    for relationship in entity.relationships where !relationship.isTransient {
      if relationship.isToMany {
        let members = try window.members(relationship, of: [row.primaryKey])[0].compactMap {
          window.target($0)
        }
        object.set(members, relationship)
      } else if case .reference(let bits) = try window.value(of: row, relationship.slot) {
        object.toOne[relationship.qualifiedName] = window.target(bits)
      }
    }
    objects[ObjectAddress(entity: row.entity, key: row.primaryKey)] = object
  }
}

extension PlainGraph.Object {
  mutating func set(_ members: [ObjectAddress], _ relationship: RelationshipSchema) {
    if members.isEmpty { return }
    toMany[relationship.qualifiedName] =
      relationship.isOrdered ? members : members.sorted { ($0.key, $0.entity) < ($1.key, $1.entity) }
  }
}

// MARK: Random graphs

extension PlainGraph {
  /// Whether values may be such that Apple's format has no exact form of them.
  static func random(_ schema: Schema, _ random: inout SeededGenerator, count: Int) -> PlainGraph {
    var graph = PlainGraph()
    var keys = [UInt64](repeating: 0, count: schema.hierarchies.count)
    var byEntity = [[ObjectAddress]](repeating: [], count: schema.entities.count)
    let concrete = schema.entities.filter { !$0.isAbstract }
    for _ in 0..<count {
      let entity = random.pick(concrete)
      // Keys have gaps, as where objects were deleted.
      keys[entity.hierarchyNumber] += UInt64(1 + (random.chance(20) ? random.below(40) : 0))
      let address = ObjectAddress(entity: entity.number, key: keys[entity.hierarchyNumber])
      var object = Object()
      for attribute in entity.attributes where attribute.relationship == nil && !attribute.isTransient {
        if let value = value(attribute.type, &random) { object.values[attribute.name] = value }
      }
      graph.objects[address] = object
      for ancestor in schema.entities where ancestor.subtree.contains(entity.number) {
        byEntity[ancestor.number].append(address)
      }
    }
    var members: [ObjectAddress: [Int: [ObjectAddress]]] = [:]
    for relationship in schema.relationships {
      let (owners, targets) = (byEntity[relationship.owner], byEntity[relationship.destination])
      if owners.isEmpty || targets.isEmpty { continue }
      graph.link(relationship, owners, targets, schema, &members, &random)
    }
    for (address, lists) in members {
      for (number, list) in lists {
        let relationship = schema.relationships[number]
        graph.objects[address]?.set(
          relationship.isOrdered ? list.shuffled(using: &random) : list, relationship)
      }
    }
    return graph
  }

  private mutating func link(
    _ relationship: RelationshipSchema, _ owners: [ObjectAddress], _ targets: [ObjectAddress],
    _ schema: Schema,
    _ members: inout [ObjectAddress: [Int: [ObjectAddress]]], _ random: inout SeededGenerator
  ) {
    let name = relationship.qualifiedName
    guard let inverse = relationship.inverse.map({ schema.relationships[$0] }) else {
      if relationship.isToMany {
        // A member has one owner: the format has one place for it.
        for target in targets where random.chance(50) {
          members[random.pick(owners), default: [:]][relationship.number, default: []].append(target)
        }
      } else {
        for owner in owners where random.chance(60) { objects[owner]?.toOne[name] = random.pick(targets) }
      }
      return
    }
    if relationship.number > inverse.number { return }
    let back = inverse.qualifiedName
    switch (relationship.isToMany, inverse.isToMany) {
    case (false, false):
      for owner in owners where random.chance(70) {
        let target = random.pick(targets)
        if relationship.number == inverse.number && owner == target { continue }
        if objects[owner]?.toOne[name] != nil || objects[target]?.toOne[back] != nil { continue }
        objects[owner]?.toOne[name] = target
        objects[target]?.toOne[back] = owner
      }
    case (false, true):
      for owner in owners where random.chance(70) {
        let target = random.pick(targets)
        objects[owner]?.toOne[name] = target
        members[target, default: [:]][inverse.number, default: []].append(owner)
      }
    case (true, false):
      for target in targets where random.chance(70) {
        let owner = random.pick(owners)
        objects[target]?.toOne[back] = owner
        members[owner, default: [:]][relationship.number, default: []].append(target)
      }
    case (true, true):
      var seen: Set<[ObjectAddress]> = []
      for _ in 0..<(owners.count + targets.count) {
        let (owner, target) = (random.pick(owners), random.pick(targets))
        if !seen.insert([owner, target]).inserted { continue }
        if relationship.number == inverse.number {
          if owner == target || !seen.insert([target, owner]).inserted { continue }
        }
        members[owner, default: [:]][relationship.number, default: []].append(target)
        members[target, default: [:]][inverse.number, default: []].append(owner)
      }
    }
  }

  private static let texts = [
    "", " ", "a", "p7", "é e\u{301} 日本 👩‍👩‍👧", "line\r\nline", "“\"'\\", "NULL", "\u{0}\u{1}",
  ]

  static func value(_ type: AttributeType, _ random: inout SeededGenerator) -> AttributeValue? {
    if random.chance(15) { return nil }
    switch type {
    case .integer16: return .integer(Int64(Int16(truncatingIfNeeded: random.next())))
    case .integer32: return .integer(random.pick([Int64(Int32.min), Int64(Int32.max), 0, -1, 77]))
    case .integer64: return .integer(random.pick([.min, .max, 0, Int64(truncatingIfNeeded: random.next())]))
    case .boolean: return .boolean(random.chance(50))
    case .double:
      return .double(random.pick([0, 1, -1.5, 0.1, .pi, 1e300, -1e-300, .infinity, -.infinity, 1 / 3]))
    case .float: return .float(random.pick([0, 1, -1.5, 0.1, .pi, 1e30, .infinity, 16_777_216]))
    case .decimal:
      // Up to fifteen digits are kept by a column of numbers.
      return .decimal(
        Decimal(Int64(truncatingIfNeeded: random.next() % 999_999_999_999))
          / [1, 10, 100, 1_000][random.below(4)])
    case .string: return .string(random.pick(texts) + random.pick(texts))
    case .date:
      return .date(
        Date(timeIntervalSinceReferenceDate: random.pick([0, 700_000_000, 0.25, -978_307_200.125, 1e11])))
    case .binaryData, .transformable:
      let count = random.chance(8) ? 130_000 : random.below(20)
      let byte = UInt8(truncatingIfNeeded: random.next())
      return .data(Data((0..<count).map { UInt8(truncatingIfNeeded: $0) ^ byte }))
    case .uuid: return .uuid(UUID(uuid: unsafeBitCast((random.next(), random.next()), to: uuid_t.self)))
    case .uri:
      return URL(string: random.pick(["https://example.org/a%20b?q=1#f", "file:///tmp/x", "mailto:a@b.c"]))
        .map { .url($0) }
    case .undefined, .objectID, .composite: return nil
    }
  }
}
