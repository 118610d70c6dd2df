import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Rows that go to the server and come back as they lie in memory, value by value.
@Suite struct RawRowTests {
  private static let kinds: [AttributeType] = [
    .integer16, .integer32, .integer64, .boolean, .float, .double, .date, .uuid, .string, .binaryData,
  ]

  /// ```
  ///   Thing ──friend──▶ Thing      which may be a Special: the reference has the code of its entity
  ///   Thing ──tag──▶ Tag
  ///   Special is a Thing, Odd one with a URL and a decimal, which rows hold in another form
  /// ```
  private static func model() -> ManagedObjectModel {
    let tag = EntityDescription("Tag", properties: [AttributeDescription("name", .string)])
    let special = EntityDescription("Special", properties: [AttributeDescription("more", .string)])
    let odd = EntityDescription(
      "Odd", properties: [AttributeDescription("link", .uri), AttributeDescription("price", .decimal)])
    let thing = EntityDescription(
      "Thing", properties: [AttributeDescription("number", .integer64)], subentities: [special, odd])
    for kind in kinds { thing.properties.append(AttributeDescription("\(kind)", kind)) }
    thing.properties.append(RelationshipDescription("friend", to: thing, maxCount: 1))
    thing.properties.append(RelationshipDescription("tag", to: tag, maxCount: 1))
    return ManagedObjectModel(entities: [thing, special, odd, tag])
  }

  /// A value of a kind, often one at the end of its range.
  private static func value(_ kind: AttributeType, _ random: inout SeededGenerator) -> AnyHashable? {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return nil
    case 1: return extremes(kind).randomElement(using: &random)
    default: break
    }
    let number = Int64.random(in: .min ... .max, using: &random)
    switch kind {
    case .integer16: return Int16(truncatingIfNeeded: number)
    case .integer32: return Int32(truncatingIfNeeded: number)
    case .integer64: return number
    case .boolean: return number > 0
    case .float: return Float(number) / 7
    case .double: return Double(number) / 7
    case .date: return Date(timeIntervalSinceReferenceDate: Double(number % 1_000_000_000) / 7)
    case .uuid:
      let digits = String(format: "%016lx", UInt64(bitPattern: number))
      return UUID(
        uuidString:
          "\(digits.prefix(8))-\(digits.dropFirst(8).prefix(4))-\(digits.suffix(4))-0102-030405060708")
    case .binaryData:
      return Data((0..<Int.random(in: 0...40, using: &random)).map { UInt8($0 & 0xFF) })
    default:
      let letters = Array("abcäöüß漢字🏔 ")
      let text = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        letters.randomElement(using: &random) ?? "x"
      }
      return String(text)
    }
  }

  private static func extremes(_ kind: AttributeType) -> [AnyHashable] {
    switch kind {
    case .integer16: [Int16.min, Int16.max]
    case .integer32: [Int32.min, Int32.max]
    case .integer64: [Int64.min, Int64.max]
    case .boolean: [false, true]
    case .float: [-Float.infinity, Float.leastNonzeroMagnitude]
    case .double: [Double.infinity, -Double.leastNonzeroMagnitude]
    case .date: [Date(timeIntervalSinceReferenceDate: -63_114_076_800)]
    case .uuid: [UUID(uuidString: "00000000-0000-0000-0000-000000000000") ?? UUID()]
    case .binaryData:
      [
        Data(), Data(repeating: 7, count: 1_024),
        Data(repeating: 8, count: 1_025),
      ]
    default:
      [
        "", String(repeating: "ä", count: 512), String(repeating: "x", count: 1_025),
      ]
    }
  }

  /// A new store, a context with an object for others to refer to, and a seed, which is printed.
  private func begin() throws -> (
    stand: ServerStand, context: ManagedObjectContext, tag: ManagedObject, seed: UInt64
  ) {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("RawRowTests seed \(seed)")
    let stand = try ServerStand(Self.model())
    let context = stand.context()
    return (stand, context, try context.make("Tag", ["name": "tag"]), seed)
  }

  /// By COPY and by statements, in one part and in several, each value comes back.
  @Test(arguments: [3, 60, 700, 3 * RowDecoding.leastRowsOfPart])
  func valuesComeBack(_ count: Int) throws {
    let (stand, context, tag, seed) = try begin()
    var random = SeededGenerator(seed: seed)
    var expected: [[String: AnyHashable]] = []
    var objects: [ManagedObject] = []
    for number in 0..<count {
      // Mostly in runs, since rows of one entity often follow each other.
      let entity = number % 100 == 7 ? "Odd" : number / 10 % 2 == 0 || number % 5 == 0 ? "Thing" : "Special"
      var values: [String: AnyHashable] = ["number": Int64(number)]
      for kind in Self.kinds { values["\(kind)"] = Self.value(kind, &random) }
      if entity == "Special" { values["more"] = Self.value(.string, &random) }
      if entity == "Odd" {
        values["link"] = URL(string: "https://example.org/\(number)")
        values["price"] = Decimal(string: "\(number).25")
      }
      let object = try context.make(entity, values.mapValues(\.base))
      if number % 3 == 0 { object.setValue(objects.randomElement(using: &random), forKey: "friend") }
      if number % 4 == 0 { object.setValue(tag, forKey: "tag") }
      objects.append(object)
      expected.append(values)
    }
    try context.save()

    let reader = stand.context()
    var request = FetchRequest<ManagedObject>(entityName: "Thing")
    request.sortDescriptors = [FetchSort("number")]
    let found = try reader.fetch(request)
    #expect(found.count == count)
    var different: [String] = []
    for (place, object) in found.enumerated() {
      let (values, saved) = (expected[place], objects[place])
      #expect(object.entity.name == saved.entity.name)
      for name in object.entity.attributesByName.keys {
        let value = object.value(forKey: name) as? AnyHashable
        if value != values[name] { different.append("\(name) of \(place)") }
      }
      for name in ["friend", "tag"] {
        let other = (object.value(forKey: name) as? ManagedObject)?.objectID
        if other != (saved.value(forKey: name) as? ManagedObject)?.objectID {
          different.append("\(name) of \(place)")
        }
      }
    }
    #expect(different.isEmpty, "seed \(seed)")
  }

  /// Of many rows that are copied, one has a text that the server does not store: what has been sent before it is given up.
  @Test func aRowThatCannotBeCopiedIsNamedAndNothingIsSaved() throws {
    let stand = try ServerStand(Self.model())
    let context = stand.context()
    let tags = try (0..<RowStatements.leastCopied * 8).map { try context.make("Tag", ["name": "tag \($0)"]) }
    tags[RowStatements.leastCopied * 7].setValue("a\0b", forKey: "name")
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .invalid && error?.detail.contains("Tag.name") == true)
    #expect(try stand.context().all("Tag").isEmpty)
    tags[RowStatements.leastCopied * 7].setValue("ab", forKey: "name")
    try context.save()
    #expect(try stand.context().all("Tag").count == tags.count)
  }

  /// The answer to a question for all rows of the entity and its subentities, and what makes rows of it.
  private func answer(_ stand: ServerStand, _ name: String) throws -> (SQLResult, RowDecoding) {
    let mapping = stand.store.mapping
    let entity = try #require(mapping.schema.entity(named: name))
    let table = mapping.table(ofEntity: entity.number)
    let entities = mapping.schema.entities.indices.filter { table.places[$0] != nil }
    let decoding = RowDecoding(mapping, table, entities: entities, alias: "t")
    let connection = try PostgresConnection(
      ServerAddress(stand.url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    return (
      try connection.run(SQLStatement("SELECT \(decoding.list) FROM \(table.name) t ORDER BY t.pk")), decoding
    )
  }

  /// Rows made of bytes are those that are made of values one by one.
  @Test func bothWaysMakeTheSameRows() throws {
    let (stand, context, tag, seed) = try begin()
    var random = SeededGenerator(seed: seed)
    var last: ManagedObject?
    for number in 0..<900 {
      let entity = ["Thing", "Special", "Odd"][number / 7 % 3]
      var values: [String: Any] = ["number": Int64(number)]
      for kind in Self.kinds { values["\(kind)"] = Self.value(kind, &random)?.base }
      let object = try context.make(entity, values)
      if number % 3 == 0 { object.setValue(last, forKey: "friend") }
      if number % 4 == 0 { object.setValue(tag, forKey: "tag") }
      last = object
    }
    try context.save()
    let (result, decoding) = try answer(stand, "Thing")
    let rows = try decoding.rows(result)
    #expect(rows.count == 900)
    var assembler = RowAssembler()
    for (number, row) in rows.enumerated() {
      let other = try decoding.row(result, number, &assembler)
      let entity = stand.store.mapping.schema.entities[other.entity]
      let (made, expected) = (try #require(row.snapshot), try #require(other.snapshot))
      let isSame =
        row.primaryKey == other.primaryKey && row.entity == other.entity
        && made.version == expected.version
        && made.byteCount == expected.byteCount
        && (0..<entity.layout.slotCount).allSatisfy { slot in
          words(made, slot, entity) == words(expected, slot, entity)
        }
      #expect(isSame, "row \(number), seed \(seed)")
    }
  }

  /// A value as it lies in a row; nil for one that lies elsewhere or has another form.
  private func words(_ row: RowSnapshot, _ slot: Int, _ entity: EntitySchema) -> [UInt64]? {
    row.withRaw(slot, of: entity) { value in
      switch value {
      case nil: nil
      case .null: []
      case .word(let word): [word]
      case .bytes(let bytes): [UInt64(bytes.count)] + bytes.map { UInt64($0) }
      }
    }
  }

  /// A reference that is none is damage, and no row is made of it.
  @Test(arguments: ["-1", "0", "9223372036854775807"])
  func aReferenceThatIsNoneIsDamage(_ key: String) throws {
    let stand = try ServerStand(Self.model())
    let context = stand.context()
    let tag = try context.make("Tag", ["name": "tag"])
    let thing = try context.make("Thing", ["number": Int64(1)])
    thing.setValue(tag, forKey: "tag")
    thing.setValue(thing, forKey: "friend")
    try context.save()
    let table = stand.table("thing")
    for column in ["tag", "friend"] {
      let before = try #require(try stand.sql("SELECT \(column) FROM \(table)")).text(0, 0)
      try stand.sql("ALTER TABLE \(table) DISABLE TRIGGER ALL; UPDATE \(table) SET \(column) = \(key)")
      let (result, decoding) = try answer(stand, "Thing")
      let error = #expect(throws: StorageError.self) { _ = try decoding.rows(result) }
      #expect(error?.kind == .damaged, "\(column)")
      try stand.sql("UPDATE \(table) SET \(column) = \(before)")
    }
    let (result, decoding) = try answer(stand, "Thing")
    #expect(try decoding.rows(result).count == 1)
  }

  /// What is no row of the store's is named, in many rows as in few.
  @Test(arguments: [1, 3 * RowDecoding.leastRowsOfPart])
  func aRowOfNoEntityIsNamed(_ count: Int) throws {
    let stand = try ServerStand(Self.model())
    let context = stand.context()
    for number in 0..<count { try context.make("Tag", ["name": "tag \(number)"]) }
    try context.save()
    try stand.sql("UPDATE \(stand.table("tag")) SET entity = 99 WHERE name = 'tag \(count - 1)'")
    let (result, decoding) = try answer(stand, "Tag")
    let error = #expect(throws: StorageError.self) { _ = try decoding.rows(result) }
    #expect(error?.kind == .damaged && error?.detail.contains("code 99") == true)
  }
}
