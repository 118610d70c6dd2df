import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// Values that the model demands: what a file by hand says nothing of, or nil, gets its default value or is refused by line; a dump says what the store had.
@Suite struct HandMadeValueTests {
  private let folder: ScratchFolder
  private var store: String { folder("New.strata") }

  init() throws {
    folder = try ScratchFolder()
    try Self.model().encodedForStores().write(to: folder.url("model.json"))
  }

  private static func model() -> ManagedObjectModel {
    func street() -> CompositeAttributeDescription {
      CompositeAttributeDescription(
        "home", elements: [AttributeDescription("street", .string, isOptional: false)], isOptional: false)
    }
    let place = CompositeAttributeDescription(
      "place", elements: [AttributeDescription("latitude", .double, isOptional: false)])
    let address = CompositeAttributeDescription(
      "address",
      elements: [
        AttributeDescription("city", .string, isOptional: false), AttributeDescription("zip", .integer32),
        AttributeDescription("country", .string, isOptional: false, defaultValue: "DE"), place,
      ])
    let owner = EntityDescription(
      "Owner",
      properties: [
        AttributeDescription("name", .string, isOptional: false),
        AttributeDescription("number", .integer64, isOptional: false, defaultValue: 7), address,
      ])
    let house = EntityDescription(
      "House", properties: [AttributeDescription("label", .string), street()])
    return ManagedObjectModel(entities: [owner, house])
  }

  private func load(_ lines: [String], _ more: String...) throws -> Said {
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder.url("hand.jsonl"))
    return Tool.run(["load", folder("hand.jsonl"), store, "--model-from", folder("model.json")] + more)
  }

  private func load(table: String, of entity: String, _ more: String...) throws -> Said {
    try Data(table.utf8).write(to: folder.url("table.csv"))
    return Tool.run(
      ["load", folder("table.csv"), store, "--entity", entity, "--model-from", folder("model.json")] + more)
  }

  private func removeStore() {
    for path in [store, store + "-lock"] { unlink(path) }
  }

  private func requireRefusal(_ said: Said, _ message: String) throws {
    #expect(said.code == 11 && said.error.contains(message), "\(said)")
    #expect(said.error.contains("Nothing was loaded"), "\(said)")
    #expect(access(store, F_OK) != 0)
  }

  private func owners(_ columns: String = "name,number") -> [String] {
    Tool.run("rows", store, "Owner", "--sort", "name", "--columns", columns, "--csv").lines.dropFirst().map {
      $0
    }
  }

  // MARK: Attributes

  @Test(arguments: [#""name":null"#, #""name":null,"number":3"#, #""number":3"#, ""])
  func aLineWithoutAMandatoryValueIsRefused(values: String) throws {
    let lines = [#"{"id":"Owner/p1","values":{"name":"a"}}"#, #"{"id":"Owner/p2","values":{\#(values)}}"#]
    try requireRefusal(try load(lines), "Line 2: Owner needs a value for “name”")
    let rest = try load(lines, "--skip-damaged")
    #expect(rest.code == 2, "\(rest)")
    #expect(owners() == ["a,7"])
  }

  @Test func nilOfAnAttributeWithADefaultIsTheDefault() throws {
    let said = try load([
      #"{"id":"Owner/p1","values":{"name":"a","number":null}}"#,
      #"{"id":"Owner/p2","values":{"name":"b","number":3}}"#,
    ])
    #expect(said.code == 0, "\(said)")
    #expect(owners() == ["a,7", "b,3"])
    #expect(Tool.run("check", store).code == 0)
  }

  @Test func anEmptyCellOfAMandatoryAttributeIsTheDefaultOrRefused() throws {
    let table = "name,number\n,3\nx,\n\"\",4\n"
    try requireRefusal(try load(table: table, of: "Owner"), "Line 2: Owner needs a value for “name”")
    let rest = try load(table: table, of: "Owner", "--skip-damaged")
    #expect(rest.code == 2, "\(rest)")
    // An empty text is a value.
    #expect(owners() == ["\"\",4", "x,7"])
    let into = Tool.run("load", folder("table.csv"), store, "--into", "--entity", "Owner")
    #expect(into.code == 11 && into.error.contains("Line 2: Owner needs a value"), "\(into)")
    #expect(owners().count == 2)
  }

  @Test func aDumpSaysWhatTheStoreHad() throws {
    #expect(try load([#"{"id":"Owner/p1","values":{"name":"a"}}"#]).code == 0)
    let dump = Tool.run("dump", store).output
    let damaged = dump.replacingOccurrences(
      of: #""name":"a","number":7"#, with: #""name":null,"number":null"#)
    try #require(damaged != dump)
    try Data(damaged.utf8).write(to: folder.url("dump.jsonl"))
    #expect(Tool.run("load", folder("dump.jsonl"), folder("Copy.strata")).code == 0)
    #expect(Tool.run("dump", folder("Copy.strata")).output == damaged)
    #expect(Tool.run("dump", folder("Copy.strata"), folder("csv"), "--csv").code == 0)
    let again = Tool.run("load", folder("csv"), folder("Again.strata"))
    #expect(again.code == 0, "\(again)")
    #expect(Tool.run("dump", folder("Again.strata")).output == damaged)
    removeStore()
    // Without its first line it is a file by hand.
    try requireRefusal(
      try load(Array(damaged.split(separator: "\n").map(String.init).dropFirst().dropLast())),
      "Line 1: Owner needs a value for “name”")
  }

  // MARK: Composites

  @Test func anElementIsDemandedWhereItsCompositeHasAnother() throws {
    let said = try load([
      #"{"id":"Owner/p1","values":{"name":"a"}}"#,
      #"{"id":"Owner/p2","values":{"name":"b","address.city":null,"address.country":null}}"#,
      #"{"id":"Owner/p3","values":{"name":"c","address.city":"Ulm"}}"#,
      #"{"id":"Owner/p4","values":{"name":"d","address.city":"Bonn","address.place.latitude":50.5}}"#,
    ])
    #expect(said.code == 0, "\(said)")
    #expect(
      owners("name,address.city,address.country,address.place.latitude")
        == ["a,,,", "b,,,", "c,Ulm,DE,", "d,Bonn,DE,50.5"])
    #expect(Tool.run("check", store).code == 0)
  }

  @Test(arguments: [
    #""address.zip":5"#, #""address.place.latitude":1"#, #""address.city":null,"address.zip":5"#,
    #""address.country":"FR""#,
  ])
  func halfACompositeIsRefused(values: String) throws {
    try requireRefusal(
      try load([#"{"id":"Owner/p1","values":{"name":"a",\#(values)}}"#]),
      "Line 1: Owner needs a value for “address.city”")
  }

  @Test func aMandatoryCompositeIsDemanded() throws {
    try requireRefusal(
      try load([#"{"id":"House/p1","values":{"label":"a"}}"#]),
      "Line 1: House needs a value for “home.street”")
    #expect(try load([#"{"id":"House/p1","values":{"home.street":"x"}}"#]).code == 0)
  }

  @Test func columnsOfACompositeThatMayBeNilMayBeMissing() throws {
    let said = try load(table: "name,address.city,address.zip\na,,\nb,Ulm,\n", of: "Owner")
    #expect(said.code == 0, "\(said)")
    #expect(
      owners("name,address.city,address.zip,address.country") == ["a,,,", "b,Ulm,,DE"])
    removeStore()
    try requireRefusal(
      try load(table: "name,address.zip\na,\nb,5\n", of: "Owner"),
      "Line 3: Owner needs a value for “address.city”")
    // What no row can have is found before anything is loaded.
    let house = try load(table: "label\na\n", of: "House")
    let message = "House needs a value for “home.street”, and there is no such column"
    #expect(house.code == 11 && house.error.contains(message), "\(house)")
    #expect(access(store, F_OK) != 0)
  }

  // MARK: What is said twice

  @Test(arguments: [
    (#"{"id":"Owner/p1","id":"Owner/p2","values":{"name":"a"}}"#, "id"),
    (#"{"id":"Owner/p1","values":{"name":"a","name":"b"}}"#, "name"),
    (#"{"id":"Owner/p1","values":{"name":null,"name":"b"}}"#, "name"),
    (#"{"id":"Owner/p1","values":{"name":"a"},"values":{"number":1}}"#, "values"),
  ])
  func aKeyThatStandsTwiceIsRefused(line: String, key: String) throws {
    try requireRefusal(
      try load([#"{"id":"Owner/p9","values":{"name":"z"}}"#, line]), "Line 2: “\(key)” is there twice")
  }
}
