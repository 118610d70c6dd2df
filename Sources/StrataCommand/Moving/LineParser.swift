import Foundation
import StrataCore

/// Makes objects and members of the lines of a dump.
final class LineParser {
  /// What a line was.
  enum Line {
    case object
    case members(Int)
    case end(DumpCounts)
  }

  private let intake: StoreIntake
  private let schema: Schema
  private let shapes: [EntityShape]
  private let names: NameTable
  /// By entity: values of a new line, all nil; and the properties by name.
  private let empty: [[AttributeValue]]
  private let properties: [PropertyTable]
  let mandatory: [MandatoryValues]
  /// Whether the file is a dump, in which nil is what the store had, also where the model demands a value.
  let isDump: Bool

  init(_ intake: StoreIntake, isDump: Bool) {
    self.intake = intake
    self.isDump = isDump
    schema = intake.schema
    shapes = EntityShape.all(intake.schema)
    names = NameTable(intake.schema.entities.map { ($0.name, $0.number) })
    empty = intake.schema.entities.map { [AttributeValue](repeating: .null, count: $0.attributes.count) }
    properties = shapes.map { shape in
      PropertyTable(
        values: shape.attributes.enumerated().map { ($1.name, $0) },
        links: shape.toOne.enumerated().map { ($1.relationship.name, $0) })
    }
    mandatory = shapes.map { MandatoryValues($0) }
  }

  /// Whether a line says of which store the dump is.
  static func isHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    var reader = JSONReader(line)
    var isHeader = false
    struct Enough: Error {}
    try? reader.forEachMember { key, _ in
      isHeader = String(decoding: key, as: UTF8.self) == "strata"
      throw Enough()
    }
    return isHeader
  }

  /// Takes an object, members, or the end of the dump.
  /// - Throws: `JSONReader.Fault`, `LineFault` for what is wrong with the line; `StoreIntake.Refusal`, perhaps about an earlier one.
  func take(_ line: UnsafeRawBufferPointer, _ number: Int) throws -> Line {
    var reader = JSONReader(line)
    var object: ObjectAddress?
    var values: [AttributeValue] = []
    var given = GivenNames()
    var (owner, relationshipName, place): (ObjectAddress?, String?, Int) = (nil, nil, 0)
    var members: [ObjectAddress]?
    var end: DumpCounts?
    var words: UInt16 = 0
    try reader.forEachMember { key, reader in
      let word = Self.word(key)
      let mark: UInt16 = 1 << word.rawValue
      // What comes last would win otherwise, and nobody would know.
      if word != .unknown && words & mark != 0 { throw Self.repetition(key) }
      words |= mark
      switch word {
      case .id:
        let found = try self.object(&reader)
        object = found
        values = empty[found.entity]
      case .values:
        guard let object else { throw LineFault("“id” must stand before “values”") }
        try readValues(&reader, of: object.entity, into: &values, &given)
      case .links:
        guard let object else { throw LineFault("“id” must stand before “links”") }
        try readLinks(&reader, of: object.entity, into: &values, &given)
      case .of: owner = try self.object(&reader)
      case .relationship: relationshipName = try reader.string()
      case .from: place = Int(try reader.integer())
      case .members:
        var found: [ObjectAddress] = []
        try reader.forEachElement { found.append(try self.object(&$0)) }
        members = found
      case .end: end = try Self.counts(&reader)
      case .unknown:
        throw reader.fault("“\(String(decoding: key, as: UTF8.self).prefix(60))” is no part of a line")
      }
    }
    try reader.expectEnd()
    if let end { return .end(end) }
    if let object {
      try mandatory[object.entity].complete(&values, keeping: isDump ? given : nil)
      try intake.add(object, values: values, line: number)
      return .object
    }
    guard let owner, let relationshipName, let members else {
      throw LineFault(
        "The line is neither an object (“id”, “values”) nor members (“of”, “relationship”, “members”)")
    }
    guard let relationship = shapes[owner.entity].toMany.first(where: { $0.name == relationshipName }) else {
      throw LineFault(
        "\(shapes[owner.entity].entity.name) has no to-many relationship “\(relationshipName.prefix(60))”")
    }
    guard place >= 0, place < 1 << 28 else { throw LineFault("The place \(place) is none of a member") }
    // All or none of them.
    for member in members { try require(member, isMemberOf: relationship) }
    if members.isEmpty { try intake.requireOwner(owner, of: relationship, line: number) }
    for (offset, member) in members.enumerated() {
      try intake.addMember(member, to: relationship, of: owner, place: place + offset, line: number)
    }
    return .members(members.count)
  }

  func require(_ owner: ObjectAddress, owns relationship: RelationshipSchema) throws {
    if schema.entities[relationship.owner].subtree.contains(owner.entity) { return }
    throw LineFault("\(relationship.qualifiedName) is no relationship of \(shapes[owner.entity].entity.name)")
  }

  func require(_ member: ObjectAddress, isMemberOf relationship: RelationshipSchema) throws {
    if schema.entities[relationship.destination].subtree.contains(member.entity) { return }
    throw LineFault(
      "\(relationship.qualifiedName) leads to objects of \(schema.entities[relationship.destination].name), and not of \(shapes[member.entity].entity.name)"
    )
  }

  // MARK: Parts of a line

  private func readValues(
    _ reader: inout JSONReader, of entity: Int, into values: inout [AttributeValue], _ given: inout GivenNames
  ) throws {
    let shape = shapes[entity]
    var expected = 0
    try reader.forEachMember { key, reader in
      guard let place = properties[entity].values.place(of: key, expected: expected) else {
        throw LineFault(
          "\(shape.entity.name) has no stored attribute “\(String(decoding: key, as: UTF8.self).prefix(60))”")
      }
      expected = place + 1
      let attribute = shape.attributes[place]
      if !given.insert(attribute.slot) { throw Self.repetition(key) }
      values[attribute.slot] = try ValueText.value(&reader, attribute.type)
    }
  }

  private func readLinks(
    _ reader: inout JSONReader, of entity: Int, into values: inout [AttributeValue], _ given: inout GivenNames
  ) throws {
    let shape = shapes[entity]
    var expected = 0
    try reader.forEachMember { key, reader in
      guard let place = properties[entity].links.place(of: key, expected: expected) else {
        throw LineFault(
          "\(shape.entity.name) has no to-one relationship “\(String(decoding: key, as: UTF8.self).prefix(60))”"
        )
      }
      expected = place + 1
      if !given.insert(shape.toOne[place].slot) { throw Self.repetition(key) }
      if reader.takesNull() { return }
      let target = try object(&reader)
      try require(target, isMemberOf: shape.toOne[place].relationship)
      values[shape.toOne[place].slot] = try reference(to: target)
    }
  }

  func reference(to object: ObjectAddress) throws -> AttributeValue {
    if let reference = intake.reference(to: object) { return reference }
    if intake.leavesOutMembers {
      intake.lostLinkCount += 1
      return .null
    }
    throw LineFault(
      "“\(schema.entities[object.entity].name)/p\(object.key)” is in no file: no object has such a key")
  }

  /// `"Person/p7"`.
  private func object(_ reader: inout JSONReader) throws -> ObjectAddress {
    guard let plain = reader.plainString() else { return try object(try reader.string()) }
    return try object(plain)
  }

  func object(_ text: String) throws -> ObjectAddress {
    var text = text
    return try text.withUTF8 { try object(UnsafeRawBufferPointer($0)) }
  }

  private func object(_ bytes: UnsafeRawBufferPointer) throws -> ObjectAddress {
    var place = bytes.count
    var (key, scale): (UInt64, UInt64) = (0, 1)
    while place > 0, case let digit = bytes[place - 1] &- 48, digit < 10, bytes.count - place < 15 {
      key += UInt64(digit) * scale
      scale &*= 10
      place -= 1
    }
    guard key > 0, place >= 3, bytes[place - 1] == UInt8(ascii: "p"), bytes[place - 2] == UInt8(ascii: "/")
    else {
      throw LineFault(
        "“\(String(decoding: bytes, as: UTF8.self).prefix(60))” names no object: it is written “Entity/p7”")
    }
    let name = UnsafeRawBufferPointer(rebasing: bytes[0..<place - 2])
    guard let entity = names.place(of: name, expected: lastEntity) else {
      throw LineFault("The model has no entity “\(String(decoding: name, as: UTF8.self).prefix(60))”")
    }
    lastEntity = entity
    return ObjectAddress(entity: entity, key: key)
  }
  private var lastEntity = 0

  static func end(_ reader: inout JSONReader) throws -> DumpCounts? {
    var counts: DumpCounts?
    try reader.forEachMember { key, reader in
      if word(key) == .end { counts = try Self.counts(&reader) } else { _ = try reader.skip() }
    }
    return counts
  }

  private static func counts(_ reader: inout JSONReader) throws -> DumpCounts {
    var counts = DumpCounts()
    try reader.forEachMember { key, reader in
      switch String(decoding: key, as: UTF8.self) {
      case "objects": counts.objects = Int(try reader.integer())
      case "members": counts.members = Int(try reader.integer())
      default: _ = try reader.skip()
      }
    }
    return counts
  }

  private enum Word: UInt16 { case id, values, links, of, relationship, from, members, end, unknown }

  private static func repetition(_ key: UnsafeRawBufferPointer) -> LineFault {
    LineFault("“\(String(decoding: key, as: UTF8.self).prefix(60))” is there twice")
  }

  private static func word(_ key: UnsafeRawBufferPointer) -> Word {
    // The first letter and the length tell them apart.
    switch (key.first, key.count) {
    case (UInt8(ascii: "i"), 2): isSame(key, "id") ? .id : .unknown
    case (UInt8(ascii: "v"), 6): isSame(key, "values") ? .values : .unknown
    case (UInt8(ascii: "l"), 5): isSame(key, "links") ? .links : .unknown
    case (UInt8(ascii: "o"), 2): isSame(key, "of") ? .of : .unknown
    case (UInt8(ascii: "r"), 12): isSame(key, "relationship") ? .relationship : .unknown
    case (UInt8(ascii: "f"), 4): isSame(key, "from") ? .from : .unknown
    case (UInt8(ascii: "m"), 7): isSame(key, "members") ? .members : .unknown
    case (UInt8(ascii: "e"), 3): isSame(key, "end") ? .end : .unknown
    default: .unknown
    }
  }

  /// For words of the same length.
  private static func isSame(_ key: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
    key.baseAddress.map { memcmp($0, word.utf8Start, key.count) == 0 } ?? false
  }
}

/// Names by their bytes. In files that a program has written each name mostly comes where it is expected.
struct NameTable {
  private let expected: [(bytes: [UInt8], place: Int)]
  private let places: [[UInt8]: Int]

  init(_ names: [(String, Int)]) {
    expected = names.map { (Array($0.utf8), $1) }
    places = Dictionary(expected.map { ($0.bytes, $0.place) }, uniquingKeysWith: { first, _ in first })
  }

  func place(of name: UnsafeRawBufferPointer, expected place: Int) -> Int? {
    if place < expected.count, case let known = expected[place], known.bytes.count == name.count,
      known.bytes.withUnsafeBytes({
        name.isEmpty || memcmp($0.baseAddress!, name.baseAddress!, name.count) == 0
      })  // Not empty.
    {
      return known.place
    }
    return places[Array(name)]
  }
}

/// The properties of an entity by name.
struct PropertyTable {
  let values: NameTable
  let links: NameTable

  init(values: [(String, Int)], links: [(String, Int)]) {
    self.values = NameTable(values)
    self.links = NameTable(links)
  }
}

/// Which slots a line has given a value, nil too.
struct GivenNames {
  private var low: UInt64 = 0
  private var others: Set<Int> = []

  /// Whether it was not there before.
  @discardableResult mutating func insert(_ slot: Int) -> Bool {
    guard slot < 64 else { return others.insert(slot).inserted }
    let mark: UInt64 = 1 << UInt64(slot)
    if low & mark != 0 { return false }
    low |= mark
    return true
  }

  func contains(_ slot: Int) -> Bool { slot < 64 ? low & (1 << UInt64(slot)) != 0 : others.contains(slot) }
}

/// Makes objects of the records of a CSV file.
final class CSVObjects {
  private enum Cell {
    case identifier
    case attribute(EntityShape.Attribute)
    case link(EntityShape.Link)
  }

  private let cells: [Cell]
  private let shape: EntityShape
  private let intake: StoreIntake
  private let parser: LineParser

  /// - Parameter isDump: Whether the file is part of a dump, see `LineParser`.
  /// - Throws: `LineFault` for a first line that does not fit.
  init(_ names: [CSV.Cell], _ entity: EntitySchema, _ intake: StoreIntake, isDump: Bool) throws {
    let shape = EntityShape(entity, intake.schema)
    self.shape = shape
    self.intake = intake
    parser = LineParser(intake, isDump: isDump)
    var seen: Set<String> = []
    // A dump begins with the object's own, also where a property of its entity has that name.
    let beginsWithIdentifier = names.first?.text == "id" && names.dropFirst().contains { $0.text == "id" }
    cells = try names.enumerated().map { place, name in
      if place == 0, beginsWithIdentifier { return .identifier }
      guard seen.insert(name.text).inserted else { throw LineFault("Two columns are called “\(name.text)”") }
      if let attribute = shape.attributes.first(where: { $0.name == name.text }) {
        return .attribute(attribute)
      }
      if let link = shape.toOne.first(where: { $0.relationship.name == name.text }) { return .link(link) }
      // As `rows --csv` calls the object's own where a property is called “id”.
      if name.text == "id" || name.text == "objectID" { return .identifier }
      let known = ["id"] + shape.attributes.map(\.name) + shape.toOne.map(\.relationship.name)
      let guess = Words.nearest(name.text, among: known).map { "; did you mean “\($0)”" } ?? ""
      throw LineFault("\(entity.name) has no stored property “\(name.text)”\(guess)")
    }
    let identifierCount = cells.count { if case .identifier = $0 { true } else { false } }
    if identifierCount > 1 { throw LineFault("Two columns tell the objects’ keys") }
    if let missing = parser.mandatory[entity.number].missingColumn(seen) {
      throw LineFault("\(entity.name) needs a value for “\(missing)”, and there is no such column")
    }
  }

  /// - Throws: `LineFault`, `StoreIntake.Refusal`.
  func add(_ record: [CSV.Cell], line: Int) throws {
    guard record.count == cells.count else {
      throw LineFault("There are \(record.count) cells, and there should be \(cells.count)")
    }
    var values = [AttributeValue](repeating: .null, count: shape.entity.attributes.count)
    var given = GivenNames()
    var key: UInt64?
    for (cell, column) in zip(record, cells) {
      if cell.text.isEmpty && !cell.isQuoted {
        if case .attribute(let attribute) = column { given.insert(attribute.slot) }
        continue
      }
      switch column {
      case .identifier: key = try self.key(cell.text)
      case .attribute(let attribute):
        guard let value = ValueText.value(cell.text, attribute.type) else {
          throw LineFault("\(ValueText.refusal(cell.text, attribute.type)) for “\(attribute.name)”")
        }
        values[attribute.slot] = value
        given.insert(attribute.slot)
      case .link(let link):
        let target = try parser.object(cell.text)
        try parser.require(target, isMemberOf: link.relationship)
        values[link.slot] = try parser.reference(to: target)
      }
    }
    let entity = shape.entity.number
    try parser.mandatory[entity].complete(&values, keeping: parser.isDump ? given : nil)
    try intake.add(
      ObjectAddress(entity: entity, key: key ?? intake.nextKey(of: entity)), values: values, line: line)
  }

  /// `p7`, `7`, and `Person/p7` as `rows` writes it.
  private func key(_ text: String) throws -> UInt64 {
    if text.contains("/") {
      let object = try parser.object(text)
      if object.entity == shape.entity.number { return object.key }
      throw LineFault("“\(text.prefix(60))” is no object of \(shape.entity.name)")
    }
    guard let key = UInt64(text.hasPrefix("p") ? text.dropFirst() : text[...]), key > 0 else {
      throw LineFault("“\(text.prefix(60))” is no key: it is written “p7”")
    }
    return key
  }
}
