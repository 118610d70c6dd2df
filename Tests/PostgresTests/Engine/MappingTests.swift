import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

@Suite struct MappingTests {
  @Test(arguments: [
    ("Entry", "entry"), ("postalCode", "postal_code"), ("URLPath", "url_path"),
    ("already_snake", "already_snake"),
    ("address.street", "address_street"), ("HTTP2Session", "http2_session"), ("straßeÄ", "straße_ä"),
  ])
  func namesBecomeWordsInLowerCase(name: String, expected: String) {
    #expect(Identifier.snake(name) == expected)
  }

  @Test func quotesInNamesAreDoubled() {
    #expect(Identifier.quoted("a\"b; DROP TABLE x; --") == "\"a\"\"b; DROP TABLE x; --\"")
  }

  @Test func namesAreGivenOnceAndFit() {
    var given = NamesGiven(reserved: ["pk"])
    let long = String(repeating: "é", count: 40)
    let names = [
      given.name("pk", path: "A.pk"), given.name("title", path: "A.title"),
      given.name("title", path: "B.title"),
      given.name(long, path: "A.long"), given.name(long, path: "B.long"),
    ]
    #expect(Set(names).count == names.count)
    #expect(names[1] == "title")
    #expect(names.allSatisfy { $0.utf8.count <= Identifier.longest - 8 })
    #expect(!names.contains("pk"))
  }

  /// The server calls the index of a primary key after the table, and an index and a table have no name in common.
  @Test func noTableHasTheNameOfAnothersIndex() throws {
    let entities = ["Book", "BookPkey", "Pkey"].map {
      EntityDescription($0, properties: [AttributeDescription("title", .string, isOptional: true)])
    }
    let mapping = try MappingBuilder.mapping(
      try ManagedObjectModel(entities: entities).schema(), namespace: "n")
    let names = mapping.tables.map(\.plainName)
    #expect(names.contains("book") && !names.contains("book_pkey") && Set(names).count == 3)
  }

  @Test func everyPropertyHasAColumnAndTheSameModelTheSameNames() throws {
    let schema = try QueryModel.make(isIndexed: true).schema()
    let mapping = try MappingBuilder.mapping(schema, namespace: "n")
    let agents = try #require(mapping.tables.first { $0.plainName == "agent" })
    let pilot = try #require(schema.entity(named: "Pilot"))
    let hours = try #require(pilot.slot(named: "hours"))
    #expect(agents.column(pilot.number, hours)?.name == "\"hours\"")
    #expect(agents.columns.contains { $0.path == "Agent.boss" && $0.codeColumn == "\"boss_e\"" })
    #expect(agents.columns.contains { $0.path == "Agent.base" && $0.codeColumn == nil })
    let visits = try #require(mapping.tables.first { $0.plainName == "visit" })
    #expect(visits.columns.contains { $0.path == "Visit.agent" && $0.positionColumn == "\"agent_pos\"" })
    let again = try MappingBuilder.mapping(
      try QueryModel.make(isIndexed: true).schema(), namespace: "n",
      codes: Dictionary(uniqueKeysWithValues: schema.entities.map { ($0.name, mapping.codes[$0.number]) }),
      names: mapping.names)
    #expect(again.names == mapping.names)
    #expect(SchemaStatements(again).all == SchemaStatements(mapping).all)
  }

  @Test func aModelThatCannotBeKeptIsRefusedWithItsReason() throws {
    let entity = EntityDescription(
      "Entry",
      properties: (0..<MappingBuilder.mostColumns).map {
        AttributeDescription("a\($0)", .boolean, isOptional: true)
      })
    let schema = try ManagedObjectModel(entities: [entity]).schema()
    let error = #expect(throws: StorageError.self) {
      try MappingBuilder.mapping(schema, namespace: "n")
    }
    #expect(error?.detail.contains("below Entry have more properties") == true)
  }

  /// The slot that says what saves may be based on is each entity's own; its column is one for the table.
  @Test func entitiesWithDerivedAttributesShareOneColumnMore() throws {
    let schema = try Discography.make().schema()
    let mapping = try MappingBuilder.mapping(schema, namespace: "n")
    let table = try #require(mapping.tables.first { $0.plainName == "album" })
    #expect(table.columns.count { $0.path == "baseline Album" } == 1)
    #expect(Set(table.columns.map(\.name)).count == table.columns.count)
    for name in ["Album", "Live"] {
      let entity = try #require(schema.entity(named: name))
      let baseline = try #require(entity.baselineSlot)
      #expect(table.column(entity.number, baseline)?.path == "baseline Album")
      for attribute in entity.attributes where !attribute.isTransient && attribute.slot != baseline {
        #expect(table.column(entity.number, attribute.slot)?.path.hasSuffix("." + attribute.name) == true)
      }
    }
    #expect(!mapping.tables.contains { $0.plainName == "tag" && $0.columns.contains { $0.kind == .int64 } })
  }

  @Test(arguments: [
    ("ab", "ac"), ("a\u{D7FF}", "a\u{E000}"), ("a\u{10FFFF}", "b"), ("zoé", "zoê"),
  ])
  func theTextBehindAllThatBeginWithAnother(text: String, expected: String) {
    #expect(PredicateSQL.raised(text) == expected)
  }

  @Test func nothingLiesBehindTheLastText() {
    #expect(PredicateSQL.raised("\u{10FFFF}\u{10FFFF}") == nil)
  }
}

@Suite struct AddressTests {
  @Test func partsOfAnAddressBecomeParameters() throws {
    let url = try #require(
      URL(string: "postgres://ada@db.example:5433/journal?namespace=app&sslmode=require"))
    let address = try ServerAddress(url)
    #expect(address.namespace == "app")
    #expect(address.parameters["host"] == "db.example")
    #expect(address.parameters["port"] == "5433")
    #expect(address.parameters["user"] == "ada")
    #expect(address.parameters["dbname"] == "journal")
    #expect(address.parameters["sslmode"] == "require")
  }

  @Test func aServerOnANetworkMustProveItselfByDefault() throws {
    let url = try #require(URL(string: "postgres://db.example/journal"))
    #expect(try ServerAddress(url).parameters["sslmode"] == "verify-full")
    let socket = try #require(URL(string: "postgres:///journal?host=/tmp"))
    #expect(try ServerAddress(socket).parameters["sslmode"] == nil)
  }

  @Test(arguments: [
    ("hostaddr=10.0.0.5", true), ("host=/tmp,db.example", true), ("host=10.0.0.1,/tmp", true),
    ("host=/tmp&hostaddr=10.0.0.5", true), ("host=/tmp,/var/run/postgresql", false),
    ("host=@abstract", false),
  ])
  func eachServerOnANetworkMustProveItself(query: String, mustProve: Bool) throws {
    let url = try #require(URL(string: "postgres:///journal?\(query)"))
    #expect(try ServerAddress(url).parameters["sslmode"] == (mustProve ? "verify-full" : nil))
    let said = try #require(URL(string: "postgres:///journal?\(query)&sslmode=require"))
    #expect(try ServerAddress(said).parameters["sslmode"] == "require")
  }

  /// What the environment and a service file say comes from libpq: the connection looks at it.
  @Test func hostsAndAddressesAreToldFromSockets() {
    #expect(!ServerAddress.isOnNetwork(host: nil, hostAddress: nil))
    #expect(!ServerAddress.isOnNetwork(host: "", hostAddress: ""))
    #expect(!ServerAddress.isOnNetwork(host: "/tmp,,@strata", hostAddress: ","))
    #expect(ServerAddress.isOnNetwork(host: "/tmp", hostAddress: ",127.0.0.1"))
    #expect(ServerAddress.isOnNetwork(host: ",db.example", hostAddress: nil))
  }

  @Test(arguments: [
    "postgres://ada:secret@db/journal", "postgres://db/journal?password=secret",
    "postgres://db/journal?options=-csuperuser",
    "http://db/journal", "postgres://db/a/b", "postgres://db/journal?namespace=pg_catalog",
    "postgres://db/journal?namespace=0123456789012345678901234567890123456789012345678901234567890123",
  ])
  func whatIsNoAddressIsRefusedWithoutItsPassword(text: String) throws {
    let url = try #require(URL(string: text))
    let error = #expect(throws: StorageError.self) { try ServerAddress(url) }
    #expect(error?.kind == .invalid)
    #expect(error?.description.contains("secret") == false)
  }
}

@Suite struct PlacementTests {
  private func entry(_ member: UInt64, _ kind: Placement.Kind, _ sequence: Int = 0, old: UInt64? = nil)
    -> Placement.Entry
  {
    Placement.Entry(member: member, kind: kind, sequence: sequence, old: old)
  }

  @Test func membersAreAppendedInTheOrderInWhichTheyAreTold() {
    let placed = Placement.place([entry(1, .append, 2), entry(2, .append, 1)], last: nil)
    #expect(placed.map(\.member) == [2, 1])
    #expect(placed.map(\.position) == [EdgePosition.first, EdgePosition.first + EdgePosition.gap])
  }

  @Test func provisionalPositionsOnlyOrder() {
    let first = EdgePosition.firstProvisional
    let placed = Placement.place([entry(1, .add(first + 9)), entry(2, .add(first + 3))], last: 100)
    #expect(placed.map(\.member) == [2, 1])
    #expect(placed.map(\.position) == [100 + EdgePosition.gap, 100 + 2 * EdgePosition.gap])
  }

  @Test func whatIsNotThereIsNotMovedAndWhatStaysIsNotWritten() {
    let placed = Placement.place(
      [
        entry(1, .move(7)), entry(2, .move(7), old: 7), entry(3, .move(8), old: 7), entry(4, .append, old: 3),
      ],
      last: 7)
    #expect(placed.map(\.member) == [3])
    #expect(placed.map(\.position) == [8])
  }

  @Test func positionsNeverReachTheProvisionalOnes() {
    var last = EdgePosition.firstProvisional - EdgePosition.gap
    for _ in 0..<100 {
      let next = Placement.after(last)
      #expect(next >= last && next < EdgePosition.firstProvisional)
      last = next
    }
  }
}
