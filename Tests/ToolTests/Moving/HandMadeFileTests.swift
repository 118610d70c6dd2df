import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// Files that people write by hand: what they say is in the store afterwards, or is refused with its line. Nothing is counted that is not stored.
@Suite struct HandMadeFileTests {
  private let folder: ScratchFolder
  private var store: String { folder("New.strata") }

  init() throws {
    folder = try ScratchFolder()
    try Everything.model().encodedForStores().write(to: folder.url("model.json"))
  }

  private func load(_ lines: [String], start: String = "", _ more: String...) throws -> Said {
    let text = start + lines.joined(separator: "\n") + "\n"
    try Data(text.utf8).write(to: folder.url("hand.jsonl"))
    return Tool.run(
      ["load", folder("hand.jsonl"), store, "--model-from", folder("model.json")] + more)
  }

  private func requireNothing(_ said: Said) throws {
    #expect(said.code == 11 && said.error.contains("Nothing was loaded"), "\(said)")
    #expect(try names(in: folder) == ["hand.jsonl", "model.json"])
  }

  static let objects = [
    #"{"id":"Thing/p1","values":{}}"#, #"{"id":"Thing/p2","values":{}}"#,
    #"{"id":"Group/p1","values":{"name":"a"}}"#, #"{"id":"Group/p2","values":{"name":"b"}}"#,
  ]

  // MARK: Members

  @Test func membersOfARelationshipWithAToOneInverseGetTheirLink() throws {
    let said = try load(
      Self.objects + [
        #"{"of":"Group/p1","relationship":"things","members":["Thing/p1","Thing/p2"]}"#,
        #"{"of":"Group/p1","relationship":"queue","from":0,"members":["Thing/p2","Thing/p1"]}"#,
      ])
    #expect(said.code == 0 && said.output.contains("4 objects and 4 members"), "\(said)")
    let group = Tool.run("show", store, "Group/p1").lines
    #expect(group.contains { $0.hasPrefix("things ") && $0.hasSuffix("2: Thing/p1, Thing/p2") }, "\(group)")
    #expect(group.contains { $0.hasPrefix("queue ") && $0.hasSuffix("2: Thing/p2, Thing/p1") }, "\(group)")
    for thing in ["Thing/p1", "Thing/p2"] {
      let shown = Tool.run("show", store, thing).lines
      for name in ["group ", "queuedIn "] {
        #expect(shown.contains { $0.hasPrefix(name) && $0.hasSuffix(" Group/p1") }, "\(shown)")
      }
    }
    // What is derived of them knows them.
    #expect(group.contains { $0.hasPrefix("size ") && $0.hasSuffix(" 2") }, "\(group)")
    let check = Tool.run("check", store)
    #expect(check.code == 0, "\(check)")
  }

  @Test func aLinkThatIsSaidTwiceIsThereOnce() throws {
    let said = try load([
      #"{"id":"Group/p1","values":{"name":"a"}}"#,
      #"{"id":"Thing/p1","values":{},"links":{"group":"Group/p1"}}"#,
      #"{"of":"Group/p1","relationship":"things","members":["Thing/p1"]}"#,
      #"{"of":"Group/p1","relationship":"loose","members":["Thing/p1","Thing/p1"]}"#,
    ])
    #expect(said.code == 0 && said.output.contains("2 objects and 2 members"), "\(said)")
    let group = Tool.run("show", store, "Group/p1").lines
    for name in ["things ", "loose "] {
      #expect(group.contains { $0.hasPrefix(name) && $0.hasSuffix(" 1: Thing/p1") }, "\(group)")
    }
  }

  @Test func aMemberThatIsToldAgainInALaterStepCountsOnce() throws {
    let members = [
      #"{"of":"Group/p1","relationship":"things","members":["Thing/p1"]}"#,
      #"{"of":"Group/p1","relationship":"queue","from":0,"members":["Thing/p1"]}"#,
      #"{"of":"Group/p1","relationship":"loose","members":["Thing/p1"]}"#,
      #"{"of":"Thing/p1","relationship":"tags","members":["Group/p1"]}"#,
    ]
    // An object behind members ends the step.
    var lines = Self.objects + members
    lines.append(#"{"id":"Thing/p3","values":{}}"#)
    lines += members
    lines += [
      #"{"of":"Group/p1","relationship":"loose","members":["Thing/p2"]}"#,
      #"{"of":"Group/p2","relationship":"loose","members":["Thing/p1"]}"#,
      #"{"of":"Group/p1","relationship":"things","members":["Thing/p3"]}"#,
    ]
    let said = try load(lines)
    #expect(said.code == 0 && said.output.contains("5 objects and 7 members"), "\(said)")
    let group = Tool.run("show", store, "Group/p1").lines
    for (name, end) in [
      ("things ", " 2: Thing/p1, Thing/p3"), ("queue ", " 1: Thing/p1"),
      ("loose ", " 2: Thing/p1, Thing/p2"), ("tagged ", " 1: Thing/p1"),
    ] {
      #expect(group.contains { $0.hasPrefix(name) && $0.hasSuffix(end) }, "\(group)")
    }
  }

  static let contradicting =
    Array(objects.dropFirst()) + [
      #"{"id":"Thing/p1","values":{},"links":{"group":"Group/p2","queuedIn":"Group/p2"}}"#
    ]

  @Test(arguments: ["things", "queue"])
  func aMemberThatBelongsToAnotherOwnerIsRefused(relationship: String) throws {
    let lines =
      Self.contradicting + [
        #"{"of":"Group/p1","relationship":"\#(relationship)","members":["Thing/p2","Thing/p1"]}"#
      ]
    let said = try load(lines)
    try requireNothing(said)
    #expect(
      said.error.contains("Line 5: Thing/p1 cannot be in \(relationship) of Group/p1: its "), "\(said)")
    #expect(said.error.contains(" is Group/p2."), "\(said)")
    let rest = try load(lines, "--skip-damaged", "--json")
    #expect(rest.code == 2, "\(rest)")
    let report = try rest.object()
    #expect(report["members"] as? Int == 1 && report["damagedCount"] as? Int == 1, "\(rest)")
    #expect((report["damagedLines"] as? [[String: Any]])?.first?["line"] as? Int == 5, "\(rest)")
    let thing = Tool.run("show", store, "Thing/p1").lines
    #expect(thing.contains { $0.hasPrefix("group ") && $0.hasSuffix(" Group/p2") }, "\(thing)")
    #expect(Tool.run("check", store).code == 0)
  }

  @Test(
    "members and owners that are not there are refused by line in relationships of every kind",
    arguments: [
      "Group.things", "Group.queue", "Group.tagged", "Group.steps", "Group.loose", "Thing.tags",
      "Thing.stepOf", "Thing.friends",
    ])
  func endsThatAreNotThere(name: String) throws {
    let parts = name.split(separator: ".").map(String.init)
    let (owner, relationship) = (parts[0], parts[1])
    let member = owner == "Group" || relationship == "friends" ? "Thing" : "Group"
    for (first, second) in [("\(owner)/p1", "\(member)/p77"), ("\(owner)/p77", "\(member)/p1")] {
      let lines =
        Self.objects + [#"{"of":"\#(first)","relationship":"\#(relationship)","members":["\#(second)"]}"#]
      let said = try load(lines)
      try requireNothing(said)
      let missing = first.hasSuffix("p77") ? first : second
      #expect(
        said.error.contains(
          "Line 5: \(second) cannot be in \(relationship) of \(first): there is no object \(missing) in an earlier line."
        ), "\(said)")
      let rest = try load(lines, "--skip-damaged", "--json")
      #expect(rest.code == 2, "\(rest)")
      let report = try rest.object()
      #expect(report["members"] as? Int == 0 && report["lostLinks"] as? Int == 1, "\(rest)")
      #expect(Tool.run("check", store).code == 0)
      for name in try names(in: folder) where name.hasPrefix("New.strata") { unlink(folder(name)) }
    }
  }

  @Test func anOwnerWithoutMembersMustBeThereToo() throws {
    let line = #"{"of":"Group/p77","relationship":"loose","members":[]}"#
    let said = try load(Self.objects + [line])
    try requireNothing(said)
    #expect(
      said.error.contains(
        "Line 5: Group/p77 cannot have loose: there is no object Group/p77 in an earlier line."), "\(said)")
    let rest = try load(Self.objects + [line], "--skip-damaged")
    #expect(rest.code == 2 && rest.output.contains("4 objects and 0 members"), "\(rest)")
    for name in try names(in: folder) where name.hasPrefix("New.strata") { unlink(folder(name)) }
    let there = try load(Self.objects + [#"{"of":"Group/p1","relationship":"loose","members":[]}"#])
    #expect(there.code == 0 && there.output.contains("4 objects and 0 members"), "\(there)")
  }

  @Test func aLinkThatStandsTwiceIsRefused() throws {
    let said = try load(
      Self.objects + [
        #"{"id":"Thing/p3","values":{},"links":{"group":null,"group":"Group/p1"}}"#
      ])
    try requireNothing(said)
    #expect(said.error.contains("Line 5: “group” is there twice"), "\(said)")
  }

  @Test func aMemberOfAnotherEntityIsRefused() throws {
    let lines = [
      #"{"id":"Special/p1","values":{}}"#, #"{"id":"Group/p1","values":{"name":"a"}}"#,
      #"{"of":"Group/p1","relationship":"loose","members":["Thing/p1"]}"#,
    ]
    let said = try load(lines)
    try requireNothing(said)
    #expect(said.error.contains("Line 3: ") && said.error.contains("no object Thing/p1"), "\(said)")
    let rest = try load(lines, "--skip-damaged")
    #expect(rest.code == 2 && rest.error.contains("1 link to objects that are not there"), "\(rest)")
  }

  @Test func aPlaceThatIsNoneIsRefused() throws {
    for place in ["-1", "9223372036854775807"] {
      let said = try load(
        Self.objects + [
          #"{"of":"Group/p1","relationship":"queue","from":\#(place),"members":["Thing/p1","Thing/p2"]}"#
        ])
      try requireNothing(said)
      #expect(said.error.contains("Line 5: The place \(place) is none of a member"), "\(said)")
    }
  }

  @Test func membersInAFolderOfCSVAreLookedAfterToo() throws {
    #expect(try load(Self.objects).code == 0)
    #expect(Tool.run("dump", store, folder("csv"), "--csv").code == 0)
    let file = folder.url("csv/Group.queue.members.csv")
    let facts = try String(contentsOf: folder.url("csv/store.json"), encoding: .utf8)
    try Data(facts.replacingOccurrences(of: "\"members\":0", with: "\"members\":1").utf8)
      .write(to: folder.url("csv/store.json"))
    try Data("owner,place,member\nGroup/p1,0,Thing/p77\n".utf8).write(to: file)
    let missing = Tool.run("load", folder("csv"), folder("Copy.strata"))
    #expect(missing.code == 11, "\(missing)")
    #expect(missing.error.contains("Group.queue.members.csv, line 2: Thing/p77 cannot be in"), "\(missing)")
    let rest = Tool.run("load", folder("csv"), folder("Rest.strata"), "--skip-damaged")
    #expect(rest.code == 2 && rest.output.contains("4 objects and 0 members"), "\(rest)")
    try Data("owner,place,member\nGroup/p1,0,Thing/p2\n".utf8).write(to: file)
    let loaded = Tool.run("load", folder("csv"), folder("Copy.strata"))
    #expect(loaded.code == 0 && loaded.output.contains("4 objects and 1 member"), "\(loaded)")
    let thing = Tool.run("show", folder("Copy.strata"), "Thing/p2").lines
    #expect(thing.contains { $0.hasPrefix("queuedIn ") && $0.hasSuffix(" Group/p1") }, "\(thing)")
  }

  // MARK: Links

  @Test func aLinkToNothingIsToldByItsLine() throws {
    let lines = [
      #"{"id":"Thing/p4","values":{}}"#, #"{"id":"Thing/p5","values":{},"links":{"group":"Group/p9"}}"#,
    ]
    let said = try load(lines)
    try requireNothing(said)
    #expect(
      said.error.contains("Line 2: Thing/p5.group leads to Group/p9, which is not in the file."), "\(said)")
    #expect(said.error.contains("--skip-damaged"), "\(said)")
    let rest = try load(lines, "--skip-damaged")
    #expect(rest.code == 2 && rest.output.contains("2 objects and 0 members"), "\(rest)")
    #expect(rest.error.contains("left out: 1 link to objects that are not there"), "\(rest)")
    let thing = Tool.run("show", store, "Thing/p5").lines
    #expect(thing.contains { $0.hasPrefix("group ") && $0.hasSuffix(" nil") }, "\(thing)")
    // Objects that are added have other keys than in the file, which says what it says.
    let more = Tool.run("load", folder("hand.jsonl"), store, "--into")
    #expect(more.code == 11, "\(more)")
    #expect(
      more.error.contains("Line 2: Thing/p5.group leads to Group/p9, which is not in the file."), "\(more)")
    #expect(Tool.run("load", folder("hand.jsonl"), store, "--into", "--skip-damaged").code == 2)
    #expect(Tool.run("count", store, "Thing").output == "4\n")
  }

  @Test func linksThatDoNotFitAreToldByTheirLines() throws {
    let entity = try load([
      #"{"id":"Special/p1","values":{}}"#, #"{"id":"Thing/p2","values":{},"links":{"mentor":"Thing/p1"}}"#,
    ])
    try requireNothing(entity)
    #expect(
      entity.error.contains(
        "Line 2: Thing/p2.mentor leads to Thing/p1, and the object of that key is Special/p1."), "\(entity)")
    let oneSided = try load([
      #"{"id":"Thing/p1","values":{},"links":{"partner":"Thing/p2"}}"#, #"{"id":"Thing/p2","values":{}}"#,
    ])
    try requireNothing(oneSided)
    #expect(
      oneSided.error.contains(
        "Line 1: Thing/p1.partner leads to Thing/p2, whose partnerOf does not lead back."), "\(oneSided)")
  }

  @Test func aLinkToNothingInATableIsToldByItsLine() throws {
    try Data("id,text,group\np1,a,\np2,b,Group/p9\n".utf8).write(to: folder.url("Thing.csv"))
    let words = [
      "load", folder("Thing.csv"), store, "--entity", "Thing", "--model-from", folder("model.json"),
    ]
    let said = Tool.run(words)
    #expect(
      said.code == 11
        && said.error.contains("Line 3: Thing/p2.group leads to Group/p9, which is not in the file."),
      "\(said)")
    #expect(Tool.run(words + ["--skip-damaged"]).code == 2)
  }

  // MARK: Values

  @Test(arguments: [
    "123456789012345678901234567890123456789012", "0.1234567890123456789012345678901234567891",
    "340282366920938463463374607431768211456", "1e200", "1e-200",
  ])
  func aDecimalThatWouldBeRoundedIsRefused(text: String) throws {
    for value in [text, "\"\(text)\""] {
      let said = try load([#"{"id":"Thing/p1","values":{"decimal":\#(value)}}"#])
      try requireNothing(said)
      #expect(
        said.error.contains("Line 1: “\(text.prefix(60))” does not fit into the 38 digits of a decimal"),
        "\(said)")
    }
    try Data("text,decimal\na,1\nb,\(text)\n".utf8).write(to: folder.url("Thing.csv"))
    let table = Tool.run(
      "load", folder("Thing.csv"), store, "--entity", "Thing", "--model-from", folder("model.json"))
    #expect(
      table.code == 11 && table.error.contains("Line 3: ")
        && table.error.contains("of a decimal for “decimal”"), "\(table)")
  }

  @Test func decimalsAreReadWholeOrNotAtAll() {
    for (text, value) in [
      ("12.50", "12.5"), ("-0", "0"), ("+5", "5"), (".5", "0.5"), ("1E+5", "100000"), ("1e5", "100000"),
      (String(repeating: "9", count: 38), String(repeating: "9", count: 38)),
      ("1" + String(repeating: "0", count: 60), "1" + String(repeating: "0", count: 60)),
      ("0.10000000000000000000000000000000000000000000000", "0.1"),
    ] {
      #expect(ValueText.decimal(text)?.description == value, "\(text)")
    }
    for text in ["", ".", "-", "1.2.3", "1-2", "1e", "1e+", "1 ", "0x1", "e5"] {
      #expect(ValueText.decimal(text) == nil, "\(text)")
      #expect(ValueText.refusal(text, .decimal) == "“\(text)” is no decimal")
    }
  }

  // MARK: The form

  @Test func aMarkOfTheByteOrderIsSkippedInTheFirstLineOnly() throws {
    let said = try load(Self.objects, start: "\u{FEFF}")
    #expect(said.code == 0 && said.output.contains("4 objects"), "\(said)")
    let dump = Tool.run("dump", store).output
    try Data(("\u{FEFF}" + dump).utf8).write(to: folder.url("marked.jsonl"))
    #expect(Tool.run("load", folder("marked.jsonl"), folder("Copy.strata")).code == 0)
    #expect(Tool.run("dump", folder("Copy.strata")).output == dump)
    try Data((Self.objects[0] + "\n\u{FEFF}" + Self.objects[1] + "\n").utf8)
      .write(to: folder.url("second.jsonl"))
    let second = Tool.run(
      "load", folder("second.jsonl"), folder("Other.strata"), "--model-from", folder("model.json"))
    #expect(second.code == 11 && second.error.contains("Line 2: "), "\(second)")
  }

  @Test func anEntityWithAnAttributeIdHasObjectIDsAllTheSame() throws {
    let person = EntityDescription(
      "Person", properties: [AttributeDescription("id", .integer16), AttributeDescription("name", .string)])
    let stand = try Stand(model: ManagedObjectModel(entities: [person]))
    try stand.edit { context in
      _ = stand.make("Person", ["id": 70, "name": "Ann"], context)
      _ = stand.make("Person", ["id": 80, "name": "Bob"], context)
    }
    try stand.close()
    let rows = Tool.run("rows", stand.path, "Person", "--sort", "id", "--csv")
    #expect(rows.lines == ["objectID,id,name", "Person/p1,70,Ann", "Person/p2,80,Bob"], "\(rows)")
    let chosen = Tool.run(
      "rows", stand.path, "Person", "--sort", "id:desc", "--columns", "id,objectID", "--csv")
    #expect(chosen.lines == ["id,objectID", "80,Person/p2", "70,Person/p1"], "\(chosen)")
    // Such a table is loaded again.
    try Data(rows.output.utf8).write(to: folder.url("rows.csv"))
    let copy = stand.folder("Copy.strata")
    let loaded = Tool.run("load", folder("rows.csv"), copy, "--entity", "Person", "--model-from", stand.path)
    #expect(loaded.code == 0, "\(loaded)")
    #expect(Tool.run("rows", copy, "Person", "--sort", "id", "--csv").output == rows.output)
    try Data("id,name,objectID,objectID\n1,a,p1,p1\n".utf8).write(to: folder.url("rows.csv"))
    let twice = Tool.run(
      "load", folder("rows.csv"), stand.folder("Other.strata"), "--entity", "Person", "--model-from",
      stand.path)
    #expect(twice.code == 11 && twice.error.contains("Line 1: Two columns"), "\(twice)")
  }
}
