import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// The history from a token on, and commits as they come.
@Suite struct FollowingTests {
  @Test func aScriptGoesOnFromItsToken() throws {
    let stand = try Stand.people(recordsHistory: true, closes: false)
    let token = try Tool.spawn(["history", stand.path, "--token"]).lines
    try #require(token.count == 1)
    #expect(token[0].hasPrefix("strata-history "), "\(token)")
    #expect(try Tool.spawn(["history", stand.path, "--since", token[0]]).output == "Nothing.\n")
    try stand.edit(author: "Eve") { _ = stand.make("Person", ["name": "Dan"], $0) }
    try stand.edit(author: "Fay") { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).forEach {
        $0.setValue(50, forKey: "age")
      }
    }
    let since = try Tool.spawn(["history", stand.path, "--since", token[0], "--json", "--changes"])
    #expect(since.code == 0 && since.lines.count == 2, "\(since)")
    let first = try #require(
      try JSONSerialization.jsonObject(with: Data(since.lines[0].utf8)) as? [String: Any])
    #expect(first["author"] as? String == "Eve")
    let changes = try #require(first["changes"] as? [[String: Any]])
    #expect(
      changes.count == 1 && changes[0]["id"] as? String == "Person/p4"
        && changes[0]["type"] as? String == "insert")
    let next = try #require(first["token"] as? String)
    let rest = try Tool.spawn(["history", stand.path, "--since", next])
    #expect(rest.lines.count == 1 && rest.output.contains("4 updated  by Fay"), "\(rest)")
    let wrong = try Tool.spawn(["history", stand.path, "--since", "yesterday"])
    #expect(wrong.code == 64 && wrong.error.contains("no history token"), "\(wrong)")
    try stand.close()
    let other = try Stand.people(recordsHistory: true)
    let foreign = Tool.run("history", other.path, "--since", token[0])
    #expect(foreign.code == 4, "\(foreign)")
    let plain = try Stand.people()
    let none = Tool.run("history", plain.path)
    #expect(none.code == 4 && none.error.contains("records a history"), "\(none)")
  }

  @Test(arguments: [true, false])
  func commitsAreToldAsTheyCome(recordsHistory: Bool) throws {
    let stand = try Stand.people(recordsHistory: recordsHistory, closes: false)
    let child = try ChildProcess(Tool.program, ["watch", stand.path, "--count", "2"])
    #expect(child.readLine()?.hasPrefix("Watching commits after number") == true)
    try stand.edit(author: "Eve") { _ = stand.make("Person", ["name": "Dan"], $0) }
    let first = child.readLine()
    #expect(
      first?.contains(recordsHistory ? "1 inserted  by Eve" : "1 Person inserted") == true,
      "\(first ?? "nothing")")
    try stand.edit { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Team")).forEach {
        $0.setValue(nil, forKey: "title")
      }
    }
    let second = child.readLine()
    #expect(
      second?.contains(recordsHistory ? "2 updated" : "2 Team updated") == true, "\(second ?? "nothing")")
    #expect(child.wait() == 0)
    try stand.close()
  }

  /// Another program's transformers, of attributes and of elements of composites.
  @Test func aHistoryIsReadWithoutTheTransformersOfItsStore() throws {
    func attribute(_ name: String, _ transformer: String) -> AttributeDescription {
      AttributeTransformers.set(CodableTransformer<[String]>(), forName: transformer)
      let attribute = AttributeDescription(name, .transformable)
      attribute.valueTransformerName = transformer
      return attribute
    }
    let box = CompositeAttributeDescription("box", elements: [attribute("notes", "FollowingTests.notes")])
    let model = Stand.model(extra: [attribute("marks", "FollowingTests.marks"), box])
    let stand = try Stand(model: model, recordsHistory: true)
    try stand.edit { context in
      _ = stand.make(
        "Person", ["name": "Ann", "marks": ["a"], "box": ["notes": ["b"]] as [String: Any]], context)
    }
    let child = try ChildProcess(Tool.program, ["watch", stand.path, "--count", "1"])
    #expect(child.readLine()?.hasPrefix("Watching commits after number") == true)
    try stand.edit { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).forEach {
        $0.setValue(["c"], forKey: "marks")
      }
    }
    let told = child.readLine()
    #expect(told?.contains("1 updated") == true, "\(told ?? "nothing")")
    #expect(child.wait() == 0)
    let history = try Tool.spawn(["history", stand.path, "--changes"])
    #expect(history.code == 0 && history.output.contains("update Person p1: marks"), "\(history)")
    let stats = try Tool.spawn(["stats", stand.path, "--history"])
    #expect(stats.code == 0 && stats.output.contains("history of"), "\(stats)")
    try stand.close()
  }

  @Test func watchingEndsByItsSignal() throws {
    let stand = try Stand.people()
    let child = try ChildProcess(Tool.program, ["watch", stand.path])
    #expect(child.readLine() != nil)
    kill(child.identifier, SIGINT)
    #expect(child.wait() == 128 + SIGINT)
  }

  /// At whatever moment of its beginning it comes: a signal is not lost.
  @Test func aSignalThatComesEarlyEndsTheProgram() throws {
    let stand = try Stand.people()
    for number in 0..<40 {
      let child = try ChildProcess(Tool.program, ["watch", stand.path])
      usleep(UInt32(number) * 1_500)
      kill(child.identifier, SIGINT)
      // It ends at once, or never.
      let (identifier, ended) = (child.identifier, DispatchSemaphore(value: 0))
      Thread.detachNewThread {
        if ended.wait(timeout: .now() + .seconds(120)) == .timedOut { kill(identifier, SIGKILL) }
      }
      let code = child.wait()
      ended.signal()
      #expect(code == 128 + SIGINT, "after \(number) times 1.5 ms")
    }
  }
}
