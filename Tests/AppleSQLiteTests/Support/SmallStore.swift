import CStrataSQLite
import Foundation
import StrataCore
import TortureKit

@testable import StrataAppleSQLite

/// A small store in Apple's format whose rows tests can spoil.
struct SmallStore {
  let folder: ScratchFolder
  let path: String
  let schema: Schema
  private(set) var graph = PlainGraph()

  static func model() -> ManagedObjectModel {
    let (team, person, boss) = (
      EntityDescription("Team"), EntityDescription("Person"), EntityDescription("Boss")
    )
    func link(_ name: String, _ to: EntityDescription, many: Bool = false, ordered: Bool = false)
      -> RelationshipDescription
    { RelationshipDescription(name, to: to, maxCount: many ? 0 : 1, isOrdered: ordered) }
    func pair(_ a: RelationshipDescription, _ b: RelationshipDescription) {
      a.inverseRelationship = b
      b.inverseRelationship = a
    }
    let (members, home) = (link("members", person, many: true, ordered: true), link("team", team))
    pair(members, home)
    let (desk, user) = (link("lead", boss), link("leads", team))
    pair(desk, user)
    let (tags, tagged) = (link("tags", team, many: true), link("tagged", person, many: true))
    pair(tags, tagged)
    let photo = AttributeDescription("photo", .binaryData)
    photo.allowsExternalBinaryDataStorage = true
    team.properties = [
      AttributeDescription("title", .string), members, desk, tagged, link("loose", person, many: true),
    ]
    person.properties = [
      AttributeDescription("name", .string), AttributeDescription("age", .integer16),
      AttributeDescription("born", .date), AttributeDescription("pay", .decimal),
      AttributeDescription("key", .uuid), AttributeDescription("site", .uri),
      AttributeDescription("isOn", .boolean),
      AttributeDescription("weight", .double), photo, home, tags, link("mentor", person),
    ]
    boss.properties = [AttributeDescription("rank", .integer64), user]
    person.subentities = [boss]
    return ManagedObjectModel(entities: [team, person])
  }

  /// Two teams, five persons, two of them bosses.
  init(history: Bool = false, journalMode: String = "DELETE") throws {
    folder = try ScratchFolder()
    path = folder("App.sqlite")
    schema = try Self.model().schema()
    func at(_ entity: String, _ key: UInt64) -> ObjectAddress {
      // The model has them.
      ObjectAddress(entity: schema.entity(named: entity)!.number, key: key)
    }
    let persons = [at("Boss", 1), at("Person", 2), at("Person", 3), at("Boss", 4), at("Person", 5)]
    for (number, address) in persons.enumerated() {
      var object = PlainGraph.Object()
      object.values = [
        "name": .string("person \(number)"), "age": .integer(Int64(30 + number)),
        "born": .date(Date(timeIntervalSinceReferenceDate: Double(number) * 1_000)),
        "photo": .data(Data(repeating: UInt8(number), count: number == 2 ? 130_000 : 30)),
      ]
      object.toOne["Person.team"] = at("Team", number < 3 ? 1 : 2)
      if number > 0 { object.toOne["Person.mentor"] = persons[number - 1] }
      if number == 1 { object.toMany["Person.tags"] = [at("Team", 1), at("Team", 2)] }
      graph.objects[address] = object
    }
    graph.objects[persons[0]]?.toOne["Boss.leads"] = at("Team", 1)
    for key in [1, 2] as [UInt64] {
      var object = PlainGraph.Object()
      object.values = ["title": .string("team \(key)")]
      object.toMany["Team.members"] =
        key == 1 ? [persons[2], persons[0], persons[1]] : [persons[4], persons[3]]
      object.toMany["Team.tagged"] = [persons[1]]
      if key == 1 {
        object.toOne["Team.lead"] = persons[0]
        object.toMany["Team.loose"] = [persons[3], persons[4]]
      }
      graph.objects[at("Team", key)] = object
    }
    var fixture = AppleFixture(schema, graph, path: path)
    fixture.keepsHistory = history
    try fixture.write(journalMode: journalMode)
  }

  /// Spoils something.
  func run(_ sql: String) throws {
    let database = try SQLiteDatabase(path, flags: SQLITE_OPEN_READWRITE, name: path)
    try database.run(sql)
    database.close()
  }

  /// Overwrites the first page of a table.
  func damage(_ table: String) throws {
    let database = try SQLiteDatabase(path, flags: SQLITE_OPEN_READWRITE, name: path)
    let page = try database.value("SELECT rootpage FROM sqlite_master WHERE name = '\(table)'")
    database.close()
    guard case .integer(let page)? = page else { throw CocoaError(.fileReadCorruptFile) }
    let file = try FileHandle(forWritingTo: url)
    try file.seek(toOffset: UInt64(page - 1) * 4_096)
    try file.write(contentsOf: Data(repeating: 0x55, count: 4_096))
    try file.close()
  }

  var url: URL { URL(fileURLWithPath: path) }
  var new: URL { folder.url("New.strata") }

  func importNew(strict: Bool = false) throws -> AppleStoreReport {
    var options = AppleImportOptions()
    options.refusesLosses = strict
    return try AppleSQLite.importStore(from: url, to: new, options: options)
  }

  /// The names in the folder, without locks.
  var names: Set<String> {
    get throws {
      Set(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasSuffix("-lock") })
    }
  }

  /// Whether the check of the imported store finds nothing.
  var isSound: Bool {
    get throws {
      let store = try LMDBStore(url: new, schema: try LMDBStore.model(at: new).schema())
      defer { store.close() }
      return try store.check().isSound
    }
  }
}
