import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// A member that a file names twice is there once; at two places of an order it is refused by line, or left out and told.
@Suite struct DoubledMemberTests {
  private let folder: ScratchFolder
  private var store: String { folder("New.strata") }

  /// Notes with tags in an order, of which the other end has none.
  private static func model() -> ManagedObjectModel {
    let (note, tag) = (EntityDescription("Note"), EntityDescription("Tag"))
    let tags = RelationshipDescription("tags", to: tag, maxCount: 0, isOrdered: true)
    let notes = RelationshipDescription("notes", to: note, maxCount: 0)
    (tags.inverseRelationship, notes.inverseRelationship) = (notes, tags)
    let (steps, stepOf) = (
      RelationshipDescription("steps", to: tag, maxCount: 0, isOrdered: true),
      RelationshipDescription("stepOf", to: note, maxCount: 0, isOrdered: true)
    )
    (steps.inverseRelationship, stepOf.inverseRelationship) = (stepOf, steps)
    let (queue, queuedIn) = (
      RelationshipDescription("queue", to: tag, maxCount: 0, isOrdered: true),
      RelationshipDescription("queuedIn", to: note, maxCount: 1)
    )
    (queue.inverseRelationship, queuedIn.inverseRelationship) = (queuedIn, queue)
    note.properties = [
      tags, steps, queue, RelationshipDescription("route", to: tag, maxCount: 0, isOrdered: true),
    ]
    tag.properties = [notes, stepOf, queuedIn]
    return ManagedObjectModel(entities: [note, tag])
  }

  private static let objects = [1, 2].flatMap { number in
    [#"{"id":"Note/p\#(number)","values":{}}"#, #"{"id":"Tag/p\#(number)","values":{}}"#]
  }

  init() throws {
    folder = try ScratchFolder()
    try Self.model().encodedForStores().write(to: folder.url("model.json"))
  }

  private func load(_ lines: [String], _ more: String...) throws -> Said {
    try Data(((Self.objects + lines).joined(separator: "\n") + "\n").utf8).write(to: folder.url("hand.jsonl"))
    return Tool.run(["load", folder("hand.jsonl"), store, "--model-from", folder("model.json")] + more)
  }

  private func members(_ relationship: String, _ members: String..., from place: Int = 0, of owner: Int = 1)
    -> String
  {
    let list = members.map { "\"Tag/\($0)\"" }.joined(separator: ",")
    return
      #"{"of":"Note/p\#(owner)","relationship":"\#(relationship)","from":\#(place),"members":[\#(list)]}"#
  }

  private func shown(_ object: String, _ name: String) -> String? {
    Tool.run("show", store, object).lines.first { $0.hasPrefix(name + " ") }
  }

  static let ordered = ["tags", "steps", "queue", "route"]

  @Test(arguments: ordered)
  func twoPlacesInALineAreRefused(name: String) throws {
    let lines = [members(name, "p1", "p2", "p1")]
    let said = try load(lines)
    #expect(said.code == 11, "\(said)")
    #expect(
      said.error.contains(
        "Line 5: Tag/p1 cannot be in \(name) of Note/p1: it is in it already, at another place."), "\(said)")
    #expect(said.error.contains("Nothing was loaded. --skip-damaged loads the rest."), "\(said)")
    #expect(try names(in: folder) == ["hand.jsonl", "model.json"])
    let rest = try load(lines, "--skip-damaged", "--json")
    #expect(rest.code == 2, "\(rest)")
    let report = try rest.object()
    #expect(report["members"] as? Int == 2 && report["damagedCount"] as? Int == 1, "\(rest)")
    #expect((report["damagedLines"] as? [[String: Any]])?.first?["line"] as? Int == 5, "\(rest)")
    #expect(shown("Note/p1", name)?.hasSuffix(" 2: Tag/p1, Tag/p2") == true)
    #expect(Tool.run("check", store).code == 0)
  }

  @Test("and in two lines, together or with an object between", arguments: ordered, [false, true])
  func twoPlacesInTwoLinesAreRefused(name: String, isApart: Bool) throws {
    let between = isApart ? [#"{"id":"Tag/p3","values":{}}"#] : []
    let lines = [members(name, "p1", "p2")] + between + [members(name, "p1", from: 2)]
    let said = try load(lines)
    #expect(said.code == 11 && said.error.contains("Line \(isApart ? 7 : 6): Tag/p1 cannot"), "\(said)")
    let rest = try load(lines, "--skip-damaged")
    #expect(rest.code == 2 && rest.error.contains("left out: line \(isApart ? 7 : 6): Tag/p1"), "\(rest)")
    #expect(shown("Note/p1", name)?.hasSuffix(" 2: Tag/p1, Tag/p2") == true)
    #expect(Tool.run("check", store).code == 0)
  }

  @Test("the same place said again says nothing new", arguments: ordered, [false, true])
  func onePlaceTwiceCountsOnce(name: String, isApart: Bool) throws {
    let between = isApart ? [#"{"id":"Tag/p3","values":{}}"#] : []
    let said = try load([members(name, "p1", "p2")] + between + [members(name, "p2", from: 1)])
    #expect(said.code == 0 && said.output.contains("and 2 members"), "\(said)")
    #expect(shown("Note/p1", name)?.hasSuffix(" 2: Tag/p1, Tag/p2") == true)
    #expect(Tool.run("check", store).code == 0)
  }

  /// Without an order nothing contradicts.
  @Test func anUnorderedEndThatIsSaidTwiceCountsOnce() throws {
    let said = try load([
      #"{"of":"Tag/p1","relationship":"notes","members":["Note/p1","Note/p2","Note/p1"]}"#
    ])
    #expect(said.code == 0 && said.output.contains("and 2 members"), "\(said)")
    #expect(shown("Note/p1", "tags")?.hasSuffix(" 1: Tag/p1") == true)
    #expect(shown("Tag/p1", "notes")?.hasSuffix(" 2: Note/p1, Note/p2") == true)
    #expect(Tool.run("check", store).code == 0)
  }

  /// The other end was told before, and has put the member somewhere: the place that is said counts.
  @Test func aLinkThatIsSaidFromBothEndsGetsThePlaceThatIsSaid() throws {
    let said = try load([
      #"{"of":"Tag/p1","relationship":"notes","members":["Note/p1"]}"#,
      #"{"of":"Tag/p2","relationship":"notes","members":["Note/p1"]}"#,
      #"{"id":"Tag/p3","values":{}}"#, members("tags", "p2", "p1"),
    ])
    #expect(said.code == 0, "\(said)")
    #expect(shown("Note/p1", "tags")?.hasSuffix(" 2: Tag/p2, Tag/p1") == true)
    #expect(Tool.run("check", store).code == 0)
  }

  /// It would be the key of another object without its upper bits.
  @Test func aLinkToAKeyThatNoObjectHasIsRefused() throws {
    let said = try load([#"{"id":"Tag/p3","values":{},"links":{"queuedIn":"Note/p281474976710657"}}"#])
    #expect(said.code == 11 && said.error.contains("Line 5: “Note/p281474976710657”"), "\(said)")
    let member = try load([members("tags", "p281474976710657")])
    #expect(member.code == 11 && member.error.contains("Line 5: Tag/p281474976710657"), "\(member)")
  }

  @Test func aKeyThatLeavesTooFewForNewObjectsIsRefusedByLine() throws {
    let said = try load([#"{"id":"Tag/p281474976710655","values":{}}"#])
    #expect(
      said.code == 11 && said.error.contains("Line 5: Tag/p281474976710655 would leave too few primary keys"),
      "\(said)")
    let rest = try load([#"{"id":"Tag/p281474976710655","values":{}}"#], "--skip-damaged")
    #expect(rest.code == 2 && rest.output.contains("4 objects"), "\(rest)")
    try Data("id\n281474976710655\n".utf8).write(to: folder.url("t.csv"))
    let table = Tool.run("load", folder("t.csv"), store, "--into", "--entity", "Tag")
    #expect(table.code == 11 && table.error.contains("Line 2: Tag/p281474976710655"), "\(table)")
  }

  @Test func aMemberOfAKeyBeyondAllIsLeftOutAlone() throws {
    let beyond = "p281474976000000"
    let lines = [members("tags", beyond, "p1", "p2")]
    #expect(try load(lines).error.contains("Line 5: Tag/\(beyond) cannot be a member"))
    let rest = try load(lines, "--skip-damaged")
    #expect(rest.code == 2 && rest.error.contains("line 5"), "\(rest)")
    #expect(shown("Note/p1", "tags")?.hasSuffix(" 2: Tag/p1, Tag/p2") == true)
    #expect(Tool.run("check", store).code == 0)
  }

  @Test func aLinkToAKeyBeyondAllIsNilAndTheObjectStays() throws {
    let line = #"{"id":"Tag/p3","values":{},"links":{"queuedIn":"Note/p281474976000000"}}"#
    #expect(try load([line]).error.contains("Line 5"))
    let rest = try load([line], "--skip-damaged", "--json")
    #expect(rest.code == 2, "\(rest)")
    #expect(try rest.object()["objects"] as? Int == 5, "\(rest)")
    #expect(Tool.run("check", store).code == 0)
  }
}
