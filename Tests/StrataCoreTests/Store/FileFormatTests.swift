import Foundation
import Testing

@testable import StrataCore

/// Docs/FileFormat.md against a store that is written here and read with LMDB's own functions.
struct FileFormatTests {
  private let document: DocumentedBytes
  private let store: RawStore
  private let fixture: StoreFixture

  /// The store of the chapter “A store, byte by byte”.
  init() throws {
    document = try DocumentedBytes()
    fixture = try StoreFixture(model: Self.model)
    let id = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
    let bells = try fixture.insert(
      "Spot",
      [
        "name": .string("Bells"), "height": .double(2.5), "rating": .integer(-2), "isOpen": .boolean(true),
        "visits": .integer(1_000), "id": .uuid(id), "opened": .date(Date(timeIntervalSinceReferenceDate: 1)),
        "depth": .decimal(try #require(Decimal(string: "-12.5"))),
      ])
    let reef = try fixture.insert("Reef", ["notes": .string(String(repeating: "x", count: 1_025))])
    try fixture.commit(inserts: [bells, reef])
    fixture.close()
    store = try RawStore(fixture.url)
  }

  private static var model: ManagedObjectModel {
    let reef = EntityDescription("Reef", properties: [AttributeDescription("coral", .float)])
    let spot = EntityDescription(
      "Spot",
      properties: [
        AttributeDescription("name", .string), AttributeDescription("height", .double),
        AttributeDescription("rating", .integer16), AttributeDescription("isOpen", .boolean),
        AttributeDescription("visits", .integer32), AttributeDescription("id", .uuid),
        AttributeDescription("opened", .date), AttributeDescription("depth", .decimal),
        AttributeDescription("notes", .string), AttributeDescription("memo", .string, isTransient: true),
      ],
      uniquenessConstraints: [["id"]],
      indexes: [
        FetchIndexDescription(
          name: "byHeight",
          elements: [FetchIndexElementDescription(propertyName: "height", isAscending: false)]),
        FetchIndexDescription(name: "byName", attributes: ["name"]),
      ], subentities: [reef])
    return ManagedObjectModel(entities: [spot])
  }

  private func keyspace(_ name: String) throws -> RawStore.Keyspace { try #require(store.keyspaces[name]) }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String(format: "%02X", $0) }.joined(separator: " ")
  }

  private func expect(
    _ bytes: [UInt8], _ line: DocumentedBytes.Line, at location: SourceLocation = #_sourceLocation
  ) {
    guard let count = line.count else {
      #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(bytes)) }
      return
    }
    #expect(bytes.count == count, "\(line.name) is \(hex(bytes))", sourceLocation: location)
    guard let documented = line.bytes else { return }
    #expect(hex(bytes) == hex(documented), "\(line.name)", sourceLocation: location)
  }

  @Test func keyspacesAreNamedAsDocumentedAndHaveNoFlags() throws {
    let names = try document.lines("keyspaces").map { String(decoding: $0.bytes ?? [], as: UTF8.self) }
    #expect(store.keyspaces.keys.sorted() == names)
    for (name, keyspace) in store.keyspaces { #expect(keyspace.flags == 0, "\(name)") }
  }

  @Test func theFileAndItsLockFileAreNamedAndProtectedAsDocumented() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path).sorted()
    #expect(names == ["Test.strata", "Test.strata-lock"])
    for name in names {
      let path = fixture.directory.appendingPathComponent(name).path
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
      #expect(mode?.intValue == 0o600, "\(name)")
    }
  }

  @Test func metaHoldsTheDocumentedKeysAndValues() throws {
    let entries = try keyspace("meta").entries
    let lines = try document.lines("meta")
    #expect(entries.map { String(decoding: $0.key, as: UTF8.self) } == lines.map(\.name))
    for (entry, line) in zip(entries, lines) { expect(entry.value, line) }
    let values = Dictionary(
      entries.map { (String(decoding: $0.key, as: UTF8.self), $0.value) }, uniquingKeysWith: { $1 })
    #expect(values["stamp"]?.prefix(16) == values["identity"]?[...], "the stamp begins with the identity")
    #expect(values["stamp"]?[16..<24] == [1, 0, 0, 0, 0, 0, 0, 0], "one commit was made")
  }

  @Test func rowsAreTheDocumentedBytes() throws {
    let entries = try keyspace("rows:Spot").entries
    for (entry, block) in zip(entries, ["row of Bells", "row of a reef"]) {
      let lines = try document.lines(block)
      expect(entry.key, lines[0])
      #expect(hex(entry.value) == hex(lines.dropFirst().flatMap { $0.bytes ?? [] }), "\(block)")
      #expect(hex(Array(entry.value.prefix(4))) == hex(checksum(entry.value, key: entry.key)), "\(block)")
    }
    #expect(entries.count == 2)
  }

  /// The document's words about checksums, put down once more.
  private func checksum(_ row: [UInt8], key: [UInt8]) -> [UInt8] {
    func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    func fold(_ x: UInt64) -> UInt64 {
      let product = x.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
      return product.high ^ product.low
    }
    var hash = fold((0x9E37_79B9_7F4A_7C15 ^ word(key.reversed()[...])) &+ UInt64(row.count))
    var rest = row.dropFirst(4)
    while rest.count > 8 {
      hash = fold(hash ^ word(rest.prefix(8)))
      rest = rest.dropFirst(8)
    }
    hash = fold(hash ^ word(row.suffix(8)))
    let sum = UInt32(truncatingIfNeeded: hash >> 32) ^ UInt32(truncatingIfNeeded: hash)
    return withUnsafeBytes(of: sum.littleEndian) { Array($0) }
  }

  @Test func largeValuesHaveTheDocumentedKey() throws {
    let entries = try keyspace("large").entries
    let lines = try document.lines("large")
    #expect(entries.count == lines.count - 1)
    expect(try #require(entries.first).key, lines[0])
    expect(try #require(entries.first).value, lines[1])
  }

  @Test func theJournalHoldsTheDocumentedEntry() throws {
    let entries = try keyspace("journal").entries
    let lines = try document.lines("journal")
    #expect(entries.count == 1)
    let entry = try #require(entries.first)
    expect(entry.key, lines[0])
    // The writer's identifier is random.
    #expect(entry.value.first == lines[1].bytes?.first)
    #expect(hex(Array(entry.value.dropFirst(9))) == hex(lines.dropFirst(3).flatMap { $0.bytes ?? [] }))
  }

  @Test(arguments: ["index:Spot.byHeight", "index:Spot.byName", "index:Spot.unique(id)"])
  func indexesHoldTheDocumentedEntries(name: String) throws {
    let entries = try keyspace(name).entries
    let lines = try document.lines(name)
    #expect(entries.count == lines.count)
    for (entry, line) in zip(entries, lines) {
      expect(entry.key, line)
      #expect(entry.value.isEmpty)
    }
  }

  @Test func keysOfValuesAreTheDocumentedBytes() throws {
    let lines = try document.lines("keys")
    let values = try Self.keyValues
    #expect(lines.map(\.name) == values.map(\.name))
    var builder = KeyBuilder()
    for (line, value) in zip(lines, values) {
      builder.reset()
      builder.append(value.value, isAscending: value.isAscending, limit: 4)
      expect(Array(builder.bytes), line)
    }
  }

  /// What the document calls them, and what they are.
  private static var keyValues: [(name: String, value: AttributeValue, isAscending: Bool)] {
    get throws {
      let decimals = try ["0", "1", "-12.5"].map { try #require(Decimal(string: $0)) }
      return [
        ("nil", .null, true), ("nil, descending", .null, false), ("integer 1", .integer(1), true),
        ("integer -2", .integer(-2), true), ("integer 1, descending", .integer(1), false),
        ("false", .boolean(false), true), ("true", .boolean(true), true), ("float 1", .float(1), true),
        ("float -1", .float(-1), true), ("double 1", .double(1), true), ("double -1", .double(-1), true),
        ("double -0", .double(-0.0), true), ("double NaN", .double(-.nan), true),
        ("date 2001-01-01 00.00.01", .date(Date(timeIntervalSinceReferenceDate: 1)), true),
        ("decimal 0", .decimal(decimals[0]), true), ("decimal 1", .decimal(decimals[1]), true),
        ("decimal -12.5", .decimal(decimals[2]), true), ("decimal NaN", .decimal(.nan), true),
        ("string \"ab\"", .string("ab"), true), ("string \"\"", .string(""), true),
        ("string \"a\\u0000\"", .string("a\u{0}"), true),
        ("string \"abcde\", limit 4", .string("abcde"), true),
        ("data FF", .data(Data([0xFF])), true),
      ]
    }
  }
}
