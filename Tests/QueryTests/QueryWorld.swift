import Foundation
import Strata
import TortureKit

/// The plain reference model: records in a dictionary. What it says is what a context must see.
struct QueryWorld {
  struct Record {
    var entity: String
    var values: [String: AttributeValue] = [:]
    /// To-one relationships.
    var ones: [String: Int] = [:]
    /// To-many relationships that do not follow from records at the other end.
    var manies: [String: Set<Int>] = [:]
  }

  /// By serial number.
  var records: [Int: Record] = [:]

  func related(_ serial: Int, _ name: String) -> Int? { records[serial]?.ones[name] }

  func members(_ serial: Int, _ name: String) -> Set<Int> {
    guard let record = records[serial], let link = QueryModel.links[record.entity]?[name] else { return [] }
    guard let inverse = link.inverseToOne else { return record.manies[name] ?? [] }
    return Set(
      records.lazy.filter {
        QueryModel.isKind($0.value.entity, of: link.destination) && $0.value.ones[inverse] == serial
      }
      .map(\.key))
  }

  func serials(_ entity: String, includesSubentities: Bool = true) -> [Int] {
    records.filter {
      includesSubentities ? QueryModel.isKind($0.value.entity, of: entity) : $0.value.entity == entity
    }
    .map(\.key).sorted()
  }

  mutating func link(_ serial: Int, _ name: String, to target: Int?) {
    guard let record = records[serial], let link = QueryModel.links[record.entity]?[name] else { return }
    if let inverse = link.inverseToOne {
      // One-to-one: both ends release others.
      if let old = record.ones[name] { records[old]?.ones[inverse] = nil }
      if let target {
        if let other = records[target]?.ones[inverse] { records[other]?.ones[name] = nil }
        records[target]?.ones[inverse] = serial
      }
    }
    records[serial]?.ones[name] = target
  }

  mutating func toggle(_ serial: Int, _ name: String, _ target: Int) -> Bool {
    guard let record = records[serial], let link = QueryModel.links[record.entity]?[name] else {
      return false
    }
    let isThere = record.manies[name]?.contains(target) ?? false
    if isThere {
      records[serial]?.manies[name]?.remove(target)
    } else {
      records[serial]?.manies[name, default: []].insert(target)
    }
    if let inverse = link.inverseToMany {
      if isThere {
        records[target]?.manies[inverse]?.remove(serial)
      } else {
        records[target]?.manies[inverse, default: []].insert(serial)
      }
    }
    return !isThere
  }

  /// Deletes a record and all references to it.
  mutating func delete(_ serial: Int) {
    records[serial] = nil
    for key in records.keys {
      if let ones = records[key]?.ones, ones.values.contains(serial) {
        records[key]?.ones = ones.filter { $0.value != serial }
      }
      for (name, members) in records[key]?.manies ?? [:] where members.contains(serial) {
        records[key]?.manies[name]?.remove(serial)
      }
    }
  }
}

/// One level of contexts and the world it must show.
final class QueryLevel {
  let context: ManagedObjectContext
  var world: QueryWorld
  private var objects: [Int: ManagedObject] = [:]
  /// By serial number, shared by all levels.
  let identifiers: SerialIdentifiers

  init(_ context: ManagedObjectContext, _ world: QueryWorld, _ identifiers: SerialIdentifiers) {
    self.context = context
    self.world = world
    self.identifiers = identifiers
  }

  func object(_ serial: Int) throws -> ManagedObject {
    if let known = objects[serial] { return known }
    guard let identifier = identifiers.bySerial[serial] else { throw Unknown(serial: serial) }
    let object = context.object(with: identifier)
    objects[serial] = object
    return object
  }

  struct Unknown: Error { let serial: Int }

  /// One random change of the objects and of the world.
  func change(_ random: inout SeededGenerator, _ values: QueryValues) throws {
    switch random.below(12) {
    case 0, 1, 2, 3, 4:
      guard let serial = random.pickAny(world.records.keys.sorted()), let record = world.records[serial],
        let attribute = random.pickAny(QueryModel.attributes[record.entity]?.dropFirst() ?? [])
      else { return }
      let value = values.value(of: attribute, &random)
      try object(serial).setValue(value.anyValue, forKey: attribute.name)
      world.records[serial]?.values[attribute.name] = value
    case 5, 6, 7:
      guard let serial = random.pickAny(world.records.keys.sorted()) else { return }
      try changeLink(serial, &random)
    case 8, 9:
      guard let serial = random.pickAny(world.serials("Agent")) else { return }
      let name = random.chance(50) ? "tags" : "likes"
      guard let target = random.pickAny(world.serials("Tag")) else { return }
      let isAdded = world.toggle(serial, name, target)
      let (object, other) = (try object(serial), try object(target))
      var members = object.value(forKey: name) as? Set<ManagedObject> ?? []
      if isAdded { members.insert(other) } else { members.remove(other) }
      object.setValue(members, forKey: name)
    case 10:
      try insert(random.pick(["Agent", "Pilot", "Visit", "Visit", "Place", "Tag", "Desk"]), &random, values)
    default:
      // No relationship without an inverse leads to agents and visits.
      guard let serial = random.pickAny(world.serials(random.chance(50) ? "Agent" : "Visit")) else { return }
      context.delete(try object(serial))
      objects[serial] = nil
      world.delete(serial)
    }
  }

  func insert(_ entity: String, _ random: inout SeededGenerator, _ values: QueryValues) throws {
    guard let description = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity]
    else { return }
    let serial = identifiers.next()
    let object = ManagedObject(entity: description, insertInto: context)
    var record = QueryWorld.Record(entity: entity)
    for attribute in QueryModel.attributes[entity] ?? [] {
      let value = attribute.name == "serial" ? .integer(Int64(serial)) : values.value(of: attribute, &random)
      object.setValue(value.anyValue, forKey: attribute.name)
      record.values[attribute.name] = value
    }
    world.records[serial] = record
    identifiers.add(serial, object.objectID)
    objects[serial] = object
    for _ in 0..<3 { try changeLink(serial, &random) }
  }

  private func changeLink(_ serial: Int, _ random: inout SeededGenerator) throws {
    guard let record = world.records[serial], let links = QueryModel.links[record.entity],
      let name = random.pickAny(links.filter { !$0.value.isToMany }.keys.sorted()), let link = links[name]
    else { return }
    let target = random.chance(20) ? nil : random.pickAny(world.serials(link.destination))
    try object(serial).setValue(target.map { try object($0) }, forKey: name)
    world.link(serial, name, to: target)
  }
}

/// Which ID has which serial number.
final class SerialIdentifiers {
  private(set) var bySerial: [Int: ManagedObjectID] = [:]
  private(set) var serials: [ManagedObjectID: Int] = [:]
  private var last = 0

  func next() -> Int {
    last += 1
    return last
  }

  func add(_ serial: Int, _ identifier: ManagedObjectID) {
    bySerial[serial] = identifier
    serials[identifier] = serial
  }

  /// The primary key, by which objects are sorted that all sort keys call equal.
  func primaryKey(_ serial: Int) -> UInt64 {
    guard let text = bySerial[serial]?.description, let place = text.lastIndex(of: "p") else { return 0 }
    return UInt64(text[text.index(after: place)...]) ?? 0
  }
}

/// Values of few kinds, so that different records have the same ones.
struct QueryValues {
  static let texts = [
    "", "anna", "Anna", "ANNA", "Ánna", "anne", "bert", "Bert", "zoé", "zoe", "ZOÉ", "a", "nn", "x*y", "b\\?",
    "日本", "日", "1", "-2", "0.5",
  ]
  /// Numbers as texts, and texts that are none.
  static let spelledNumbers =
    longNumbers + fractions + [
      "1", " -2 ", "+3", "0.5", "5e-1", "1E0", ".25", "2.", "-0", "\t3\n", "1e400", "-1e400", "", "anna",
      "0x1",
      "nan", "inf", "1 2", "1e", ".", "--1",
    ]
  static let identifiers = (0..<5).map {
    UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8($0)))
  }

  /// Doubles that no sum is made of, so that they need not be sums of powers of two.
  static let fractions = ["0.07", "0.1", "0.3", "3.133", "0.111"]
  /// Integers that doubles do not distinguish, and their neighbours.
  static let longNumbers = [
    "9007199254740992", "9007199254740993", "9007199254740992.5", "-9007199254740993", "9223372036854775807",
    "9223372036854775806.5", "9223372036854775808", "-9223372036854775808", "-9223372036854775808.5",
    "0.0000000000000000000000000000001", "1e40", "-1e40",
  ]

  /// A value of an attribute.
  func value(of attribute: (name: String, type: AttributeType), _ random: inout SeededGenerator)
    -> AttributeValue
  {
    if attribute.name == "height", random.chance(40) {
      return Double(random.pick(Self.fractions)).map { .double($0) } ?? .null
    }
    if attribute.name == "ratio", random.chance(30) {
      return Float(random.pick(Self.fractions)).map { .float($0) } ?? .null
    }
    if attribute.name == "long", random.chance(15) {
      return Int64(random.pick(Self.longNumbers)).map { .integer($0) } ?? .null
    }
    return value(attribute.type, &random)
  }

  /// A text beside a number, a number beside a text.
  func constantOfAnotherKind(beside type: AttributeType, _ random: inout SeededGenerator) -> AttributeValue {
    if type != .string { return .string(random.pick(Self.spelledNumbers)) }
    return random.pick([
      .integer(1), .integer(-2), .integer(7), .double(0.5), .double(1), .float(0.5),
      .decimal(Decimal(5) / 10),
      .boolean(true), .double(.infinity),
    ])
  }

  /// A number of another type than the attribute's.
  func number(beside type: AttributeType, _ random: inout SeededGenerator) -> AttributeValue {
    let small = Double(random.below(9) - 4)
    if random.chance(8) { return .boolean(random.chance(50)) }
    switch type {
    case .decimal:
      return random.pick([
        .double(small / 10), .float(Float(small / 10)), .integer(Int64(small)), .double(small / 10 + 1e-17),
        .double(random.pick([1e300, -1e300, 1e-200, -1e-200, .infinity, -.infinity, .nan])),
      ])
    case .double, .float:
      let text = random.chance(50) ? random.pick(Self.fractions) : "\(small / 4)"
      return Decimal(string: text).map { .decimal($0) } ?? .null
    case .boolean:
      return random.pick([
        .integer(Int64(small)), .double(small / 2), .float(1), .decimal(Decimal(small)), .double(.nan),
      ])
    default:
      if random.chance(70) {
        return Decimal(string: random.pick(Self.longNumbers)).map { .decimal($0) } ?? .null
      }
      return random.pick([
        .double(small / 2), .decimal(Decimal(small) / 2), .float(Float(small)),
        .double(9_007_199_254_740_992),
      ])
    }
  }

  func value(_ type: AttributeType, _ random: inout SeededGenerator, nilChance: Int = 15) -> AttributeValue {
    if random.chance(nilChance) { return .null }
    let small = random.below(9) - 4
    switch type {
    case .string:
      if random.chance(3) { return .string(String(repeating: "long", count: 80 + random.below(3))) }
      return .string(random.pick(Self.texts))
    case .integer16, .integer32: return .integer(Int64(small))
    case .integer64: return .integer(random.chance(3) ? random.pick([Int64.max, Int64.min]) : Int64(small))
    case .boolean: return .boolean(random.chance(50))
    case .float: return .float(Float(small) / 2)
    case .double:
      return .double(random.chance(3) ? random.pick([.infinity, -0.0, 1e300]) : Double(small) / 4)
    case .decimal: return .decimal(Decimal(small) / 10)
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(small) * 86_400))
    case .uuid: return .uuid(random.pick(Self.identifiers))
    case .uri: return URL(string: "https://example.org/\(abs(small))").map { .url($0) } ?? .null
    case .binaryData: return .data(Data(repeating: UInt8(abs(small)), count: abs(small)))
    default: return .null
    }
  }
}
