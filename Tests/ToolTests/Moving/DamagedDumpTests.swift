import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// What is wrong with a dump is told with its line, and nothing is half loaded.
@Suite struct DamagedDumpTests {
  private func lines() throws -> (Stand, [String]) {
    let stand = try Stand.people()
    return (stand, Tool.run("dump", stand.path).lines)
  }

  private func load(_ lines: [String], _ stand: Stand, _ more: String...) throws -> Said {
    let dump = stand.folder("damaged.jsonl")
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: dump))
    return Tool.run(["load", dump, stand.folder("New.strata")] + more)
  }

  /// The text of the second line, which is Ann's, and what is said of it.
  static let damages: [(String, String)] = [
    (#"{"id":"Person/p1","values":{"name":"Ann""#, "expected"),
    (#"{"id":"Person/p1","values":{"name":7}}"#, "is expected"),
    (#"{"id":"Person/p1","values":{"name":"Ann","age":32768}}"#, "too large for integer16"),
    (#"{"id":"Person/p1","values":{"name":"Ann","age":1.5}}"#, "no whole number"),
    (#"{"id":"Person/p1","values":{"name":"Ann","born":"yesterday"}}"#, "no date"),
    (#"{"id":"Person/p1","values":{"name":"Ann","photo":"?"}}"#, "no binaryData"),
    (#"{"id":"Person/p1","values":{"name":"Ann","size":3}}"#, "no stored attribute “size”"),
    (#"{"id":"Person/p1","values":{"age":3}}"#, "needs a value for “name”"),
    (#"{"id":"Persn/p1","values":{"name":"Ann"}}"#, "no entity “Persn”"),
    (#"{"id":"Person/7","values":{"name":"Ann"}}"#, "names no object"),
    (#"{"id":"Person/p0","values":{"name":"Ann"}}"#, "names no object"),
    (
      #"{"id":"Person/p1","values":{"name":"Ann"},"links":{"boss":"Person/p2"}}"#,
      "no to-one relationship “boss”"
    ),
    (#"{"id":"Person/p1","values":{"name":"Ann"},"links":{"team":"Person/p2"}}"#, "leads to objects of Team"),
    (#"{"values":{"name":"Ann"}}"#, "“id” must stand before"),
    (#"{"of":"Team/p1","relationship":"membres","members":["Person/p1"]}"#, "no to-many relationship"),
    (#"{"id":"Person/p1","values":{"name":"Ann"}} x"#, "behind the end"),
    (#"{"id":"Person/p1","values":{"name":"\ud800"}}"#, "Half a character"),
    (#"["Person"]"#, "expected"),
    ("nonsense", "expected"),
  ]

  @Test(arguments: damages)
  func aDamagedLineIsToldByNumber(line: String, message: String) throws {
    var (stand, lines) = try lines()
    lines[1] = line
    let before = try names(in: stand.folder)
    let said = try load(lines, stand)
    #expect(said.code == 11, "\(said)")
    #expect(said.error.contains("Line 2: ") && said.error.contains(message), "\(said)")
    #expect(said.error.contains("Nothing was loaded") && said.error.contains("--skip-damaged"), "\(said)")
    #expect(try names(in: stand.folder) == before.union(["damaged.jsonl"]))
  }

  @Test func theRestIsLoadedWhenThatIsWanted() throws {
    var (stand, lines) = try lines()
    // The team: its members lose it.
    let place = try #require(lines.firstIndex { $0.contains("\"Team/p1\",\"values\"") })
    lines[place] = "{"
    let said = try load(lines, stand, "--skip-damaged", "--json")
    #expect(said.code == 2, "\(said)")
    let report = try said.object()
    #expect(
      report["objects"] as? Int == 4 && report["damagedCount"] as? Int == 1
        && report["lostLinks"] as? Int == 2)
    #expect((report["damagedLines"] as? [[String: Any]])?.first?["line"] as? Int == place + 1)
    let new = stand.folder("New.strata")
    #expect(Tool.run("count", new, "Person", "--where", "team == nil").output == "3\n")
    #expect(Tool.run("check", new).code == 0)
  }

  @Test func membersOfWhatWasLeftOutAreLeftOut() throws {
    let folder = try ScratchFolder()
    try Everything.fill(folder("A.strata"), seed: 77, count: 40)
    var lines = Tool.run("dump", folder("A.strata")).lines
    let things = lines.indices.filter { lines[$0].hasPrefix("{\"id\":\"Thing/") }
    for place in things.prefix(3) { lines[place] = "damaged" }
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: folder.url("d.jsonl"))
    let said = Tool.run("load", folder("d.jsonl"), folder("B.strata"), "--skip-damaged")
    #expect(said.code == 2, "\(said)")
    #expect(said.error.contains("line \(things[0] + 1): "), "\(said)")
    let check = Tool.run("check", folder("B.strata"))
    #expect(check.code == 0, "\(check)")
  }

  @Test func aDumpThatWasCutOffIsRefused() throws {
    let (stand, lines) = try lines()
    let said = try load(Array(lines.dropLast()), stand)
    #expect(said.code == 11 && said.error.contains("cut off"), "\(said)")
    let wrong = try load(lines.dropLast() + [#"{"end":{"objects":9,"members":0}}"#], stand)
    #expect(wrong.code == 11 && wrong.error.contains("9 objects"), "\(wrong)")
    let more = try load(lines + [lines[1]], stand)
    #expect(more.code == 11 && more.error.contains("behind the last line"), "\(more)")
    let store = Tool.run("load", stand.path, stand.folder("New.strata"))
    #expect(store.code == 11 && store.error.contains("is no dump"), "\(store)")
    let empty = try load([], stand)
    #expect(empty.code == 11, "\(empty)")
    #expect(!FileManager.default.fileExists(atPath: stand.folder("New.strata")))
  }

  /// Whoever has cut off the first line may have cut off more.
  @Test func theLastLineIsComparedAlsoWithoutTheFirst() throws {
    let (stand, lines) = try lines()
    let dump = stand.folder("headless.jsonl")
    func load(_ lines: ArraySlice<String>, _ more: String...) throws -> Said {
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: dump))
      return Tool.run(["load", dump, stand.folder("New.strata"), "--model-from", stand.path] + more)
    }
    let cut = try load(lines.dropFirst(2))
    #expect(cut.code == 11 && cut.error.contains("Line \(lines.count - 2): The dump has 5 objects"), "\(cut)")
    #expect(!FileManager.default.fileExists(atPath: stand.folder("New.strata")))
    let whole = try load(lines.dropFirst())
    #expect(whole.code == 0, "\(whole)")
    try FileManager.default.removeItem(atPath: stand.folder("New.strata"))
    let rest = try load(lines.dropFirst(2), "--skip-damaged")
    #expect(rest.code == 2 && rest.error.contains("left out: line"), "\(rest)")
    #expect(Tool.run("check", stand.folder("New.strata")).code == 0)
  }

  @Test func aNextKeyThatLeavesTooFewIsRefused() throws {
    var (stand, lines) = try lines()
    let changed = lines[0].replacing(#/"Person":[0-9]+/#, with: #""Person":281474976710655"#)
    try #require(changed != lines[0])
    lines[0] = changed
    let said = try load(lines, stand)
    #expect(said.code == 11, "\(said)")
    #expect(said.error.contains("Line 1: The next key of Person is to be 281474976710655"), "\(said)")
    let rest = try load(lines, stand, "--skip-damaged")
    #expect(rest.code == 2 && rest.error.contains("left out: line 1"), "\(rest)")
    #expect(
      Tool.run("count", stand.folder("New.strata"), "Person").output
        == Tool.run("count", stand.path, "Person").output)
    #expect(Tool.run("check", stand.folder("New.strata")).code == 0)
  }

  @Test func twoObjectsOfOneKeyAreRefused() throws {
    var (stand, lines) = try lines()
    lines.insert(lines[1], at: 3)
    let said = try load(lines, stand)
    #expect(said.code == 11 && said.error.contains("already"), "\(said)")
    #expect(said.error.contains("Line 4") || said.error.contains("Line 2"), "\(said)")
  }

  @Test func aLinkToNothingIsRefused() throws {
    var (stand, lines) = try lines()
    let place = try #require(lines.firstIndex { $0.contains("\"Team/p1\",\"values\"") })
    lines.remove(at: place)
    lines[lines.count - 1] = #"{"end":{"objects":4,"members":0}}"#
    let said = try load(lines, stand)
    #expect(said.code == 11, "\(said)")
    #expect(
      said.error.contains("Line 2: Person/p1.team leads to Team/p1, which is not in the file."), "\(said)")
    #expect(!FileManager.default.fileExists(atPath: stand.folder("New.strata")))
  }

  @Test func anotherModelIsRefused() throws {
    let (stand, lines) = try lines()
    let other = try Stand(model: Stand.model(extra: [AttributeDescription("nick", .string)]))
    try other.close()
    let dump = stand.folder("dump.jsonl")
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: dump))
    let said = Tool.run("load", dump, other.path, "--into")
    #expect(said.code == 9 && said.error.contains("Person"), "\(said)")
    let format = try load(
      [lines[0].replacingOccurrences(of: "\"format\":1", with: "\"format\":99")] + lines.dropFirst(), stand)
    #expect(format.code == 11 && format.error.contains("format 99"), "\(format)")
  }

  /// Whatever is done to the bytes: an answer with a code, and a store that is whole or none.
  @Test func changedBytesEndInAnAnswer() throws {
    let folder = try ScratchFolder()
    try Everything.fill(folder("A.strata"), seed: 5, count: 12)
    let bytes = Array(Tool.run("dump", folder("A.strata")).output.utf8)
    let seed = UInt64.random(in: 1...1 << 40)
    var random = SeededGenerator(seed: seed)
    for round in 0..<120 {
      var changed = bytes
      for _ in 0...random.below(3) {
        let place = random.below(changed.count)
        switch random.below(3) {
        case 0: changed[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: changed.remove(at: place)
        default: changed.insert(random.pick(Array("{}[]\",:0\\-e".utf8)), at: place)
        }
      }
      try Data(changed).write(to: folder.url("d.jsonl"))
      let said = Tool.run("load", folder("d.jsonl"), folder("B.strata"))
      #expect([0, 9, 11].contains(said.code), "seed \(seed), round \(round): \(said)")
      if said.code == 0 {
        #expect(Tool.run("check", folder("B.strata")).code == 0, "seed \(seed), round \(round)")
        try FileManager.default.removeItem(atPath: folder("B.strata"))
        try? FileManager.default.removeItem(atPath: folder("B.strata-lock"))
      } else {
        #expect(!FileManager.default.fileExists(atPath: folder("B.strata")), "seed \(seed), round \(round)")
      }
    }
    #expect(try names(in: folder).filter { $0.hasPrefix(".strata-") } == [])
  }
}
