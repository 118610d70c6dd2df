import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// What goes out and comes in again is what it was.
@Suite struct RoundTripTests {
  /// STRATA_SEED repeats one graph.
  static let seeds: [UInt64] =
    ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) }.map { [$0] }
    ?? (0..<6).map { _ in UInt64.random(in: 1...1 << 40) }

  @Test(arguments: seeds)
  func aRandomGraphIsEqualAfterDumpAndLoad(seed: UInt64) throws {
    let folder = try ScratchFolder()
    let store = folder("A.strata")
    try Everything.fill(store, seed: seed, count: 60)
    let first = folder("first.jsonl")
    let dump = Tool.run("dump", store, first)
    #expect(dump.code == 0, "STRATA_SEED=\(seed) \(dump)")
    let load = Tool.run("load", first, folder("B.strata"))
    #expect(load.code == 0, "STRATA_SEED=\(seed) \(load)")
    let second = folder("second.jsonl")
    #expect(Tool.run("dump", folder("B.strata"), second).code == 0)
    let (a, b) = (
      try Data(contentsOf: folder.url("first.jsonl")), try Data(contentsOf: folder.url("second.jsonl"))
    )
    #expect(a == b, "STRATA_SEED=\(seed): \(firstDifference(a, b))")
    let check = Tool.run("check", folder("B.strata"))
    #expect(check.code == 0, "STRATA_SEED=\(seed) \(check)")
    let (graph, loaded) = (try Everything.graph(store), try Everything.graph(folder("B.strata")))
    #expect(graph.count > 20)
    for (name, values) in graph where loaded[name] != values {
      let different = values.filter { loaded[name]?[$0.key] != $0.value }.keys.sorted()
      Issue.record("STRATA_SEED=\(seed): \(name) differs in \(different)")
    }
    #expect(graph == loaded, "STRATA_SEED=\(seed)")
  }

  @Test(arguments: seeds.prefix(4))
  func aRandomGraphIsEqualAfterCSV(seed: UInt64) throws {
    let folder = try ScratchFolder()
    let store = folder("A.strata")
    try Everything.fill(store, seed: seed, count: 40)
    let dump = Tool.run("dump", store, folder("csv"), "--csv")
    #expect(dump.code == 0, "STRATA_SEED=\(seed) \(dump)")
    let load = Tool.run("load", folder("csv"), folder("B.strata"))
    #expect(load.code == 0, "STRATA_SEED=\(seed) \(load)")
    #expect(
      Tool.run("dump", folder("B.strata")).output == Tool.run("dump", store).output, "STRATA_SEED=\(seed)")
    #expect(try Everything.graph(store) == Everything.graph(folder("B.strata")), "STRATA_SEED=\(seed)")
    #expect(Tool.run("dump", folder("B.strata"), folder("again"), "--csv").code == 0)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder("csv")) {
      let (a, b) = (
        try Data(contentsOf: folder.url("csv/\(name)")), try Data(contentsOf: folder.url("again/\(name)"))
      )
      #expect(a == b, "STRATA_SEED=\(seed) \(name)")
    }
  }

  private func firstDifference(_ a: Data, _ b: Data) -> String {
    let (left, right) = (a.split(separator: 10), b.split(separator: 10))
    for (number, pair) in zip(left, right).enumerated() where pair.0 != pair.1 {
      return
        "line \(number + 1): \(String(decoding: pair.0.prefix(2_000), as: UTF8.self)) / \(String(decoding: pair.1.prefix(2_000), as: UTF8.self))"
    }
    return "\(left.count) and \(right.count) lines"
  }

  @Test func aLoadedStoreGoesOnAsItsOriginal() throws {
    let stand = try Stand.people(recordsHistory: true)
    let (dump, copy) = (stand.folder("dump.jsonl"), stand.folder("Copy.strata"))
    #expect(Tool.run("dump", stand.path, dump).code == 0)
    #expect(Tool.run("load", dump, copy).code == 0)
    let (original, loaded) = (
      try Tool.run("info", stand.path, "--json").object(), try Tool.run("info", copy, "--json").object()
    )
    #expect(original["identifier"] as? String == loaded["identifier"] as? String)
    // No key is given out twice, and what is saved is recorded.
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Stand.model())
    let store = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: copy)))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let person = ManagedObject(
        entity: coordinator.managedObjectModel.entitiesByName["Person"]!, insertInto: context)
      person.setValue("Dan", forKey: "name")
      try context.save()
      #expect(person.objectID.uriRepresentation().lastPathComponent == "p4")
    }
    try coordinator.remove(store)
    #expect(Tool.run("history", copy).output.contains("1 inserted"))
    #expect(Tool.run("check", copy).code == 0)
  }

  @Test func objectsAreAddedToAStoreUnderNewKeys() throws {
    let (stand, other) = (try Stand.people(), try Stand.people())
    let dump = other.folder("dump.jsonl")
    #expect(Tool.run("dump", other.path, dump).code == 0)
    // Both have a team called Red, and there may be only one.
    let refused = Tool.run("load", dump, stand.path, "--into")
    #expect(refused.code == 11 && refused.error.contains("has the same title as"), "\(refused)")
    #expect(Tool.run("count", stand.path, "Person").output == "3\n")
    let text = try String(contentsOfFile: dump, encoding: .utf8).replacingOccurrences(
      of: "\"title\":\"", with: "\"title\":\"New ")
    try Data(text.utf8).write(to: URL(fileURLWithPath: dump))
    let loaded = Tool.run("load", dump, stand.path, "--into", "--json")
    #expect(loaded.code == 0, "\(loaded)")
    let rows = Tool.run(
      "rows", stand.path, "Person", "--sort", "name,team.title", "--columns", "id,name,team.title", "--csv")
    #expect(
      rows.lines == [
        "id,name,team.title", "Person/p4,Ann,New Red", "Person/p1,Ann,Red", "Person/p2,Bob,",
        "Person/p5,Bob,",
        "Person/p6,Cid,New Red", "Person/p3,Cid,Red",
      ], "\(rows)")
    #expect(Tool.run("check", stand.path).code == 0)
    #expect(try names(in: stand.folder).filter { $0.hasPrefix(".strata") } == [])
  }

  @Test func aTableOfOneEntityIsLoaded() throws {
    let stand = try Stand.people()
    let table = stand.folder("more.csv")
    try Data(
      "name,age,born,team\r\nDan,12,2001-01-01,Team/p1\r\n\"Eve, \"\"E\"\"\",,2024-02-29 12:30:00+01:00,\r\n"
        .utf8
    )
    .write(to: URL(fileURLWithPath: table))
    // The new team's key is that of the file: there is none of it, so the link leads nowhere.
    let dangling = Tool.run("load", table, stand.path, "--into", "--entity", "Person")
    #expect(dangling.code == 11, "\(dangling)")
    try Data("name,age,born\nDan,12,2001-01-01\n\"Eve, \"\"E\"\"\",,2024-02-29 12:30:00+01:00\n".utf8)
      .write(to: URL(fileURLWithPath: table))
    let loaded = Tool.run("load", table, stand.path, "--into", "--entity", "Person")
    #expect(loaded.code == 0, "\(loaded)")
    let rows = Tool.run(
      "rows", stand.path, "Person", "--where", "name IN {'Dan', 'Eve, \"E\"'}", "--sort", "name", "--columns",
      "name,age,born", "--csv")
    #expect(
      rows.lines.dropFirst() == [
        "Dan,12,2001-01-01T00:00:00Z", "\"Eve, \"\"E\"\"\",,2024-02-29T11:30:00Z",
      ], "\(rows)")
    let new = Tool.run(
      "load", table, stand.folder("New.strata"), "--entity", "Person", "--model-from", stand.path)
    #expect(new.code == 0, "\(new)")
    #expect(Tool.run("count", stand.folder("New.strata"), "Person").output == "2\n")
    let modelless = Tool.run("load", table, stand.folder("Other.strata"), "--entity", "Person")
    #expect(modelless.code == 11 && modelless.error.contains("--model-from"), "\(modelless)")
  }

  @Test func standardInputAndOutputAreAPipe() throws {
    let stand = try Stand.people()
    let dump = try Tool.spawn(["dump", stand.path])
    let load = try Tool.spawn(["load", "-", stand.folder("Copy.strata")], input: dump.output)
    #expect(load.code == 0, "\(load)")
    #expect(try Tool.spawn(["dump", stand.folder("Copy.strata")]).output == dump.output)
  }

  @Test func addedIndexesComeAlong() async throws {
    let stand = try Stand.people(closes: false)
    try await stand.coordinator.addIndex(
      FetchIndexDescription(name: "byName", attributes: ["name"]), toEntityNamed: "Person",
      in: stand.coordinator.persistentStores[0])
    try stand.close()
    let dump = stand.folder("dump.jsonl")
    #expect(Tool.run("dump", stand.path, dump).code == 0)
    #expect(Tool.run("load", dump, stand.folder("Copy.strata")).code == 0)
    let plan = Tool.run("explain", stand.folder("Copy.strata"), "Person", "--where", "name == 'Ann'")
    #expect(plan.output.contains("Person.byName"), "\(plan)")
    #expect(Tool.run("dump", stand.folder("Copy.strata")).output == Tool.run("dump", stand.path).output)
  }

  /// References that the rule noAction leaves behind are no damage, and come along.
  @Test func whatWasLeftBehindComesAlong() throws {
    let model = Stand.model()
    let members = model.entitiesByName["Team"]?.relationshipsByName["members"]
    members?.deleteRule = .noAction
    let stand = try Stand(model: model)
    try stand.edit { context in
      let team = stand.make("Team", ["title": "Red"], context)
      stand.make("Person", ["name": "Ann"], context).setValue(team, forKey: "team")
    }
    try stand.edit { context in
      for team in try context.fetch(FetchRequest<ManagedObject>(entityName: "Team")) { context.delete(team) }
    }
    try stand.close()
    let dump = Tool.run("dump", stand.path, stand.folder("d.jsonl"))
    #expect(dump.code == 0, "\(dump)")
    #expect(Tool.run("show", stand.path, "Person/p1").output.contains("Team/p1, which is deleted"))
    let load = Tool.run("load", stand.folder("d.jsonl"), stand.folder("Copy.strata"))
    #expect(load.code == 0, "\(load)")
    #expect(Tool.run("dump", stand.folder("Copy.strata")).output == Tool.run("dump", stand.path).output)
  }

  /// Rules for deleting are no part of a version: the model in the store follows the program's all the same.
  @Test func whatWasLeftBehindByALaterRuleComesAlong() throws {
    let stand = try Stand.people()
    let model = Stand.model()
    let members = model.entitiesByName["Team"]?.relationshipsByName["members"]
    members?.deleteRule = .noAction
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: stand.path)))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for team in try context.fetch(FetchRequest<ManagedObject>(entityName: "Team")) { context.delete(team) }
      try context.save()
    }
    try coordinator.remove(store)
    let check = Tool.run("check", stand.path)
    #expect(check.code == 0, "\(check)")
    let dump = Tool.run("dump", stand.path, stand.folder("d.jsonl"))
    #expect(dump.code == 0, "\(dump)")
    let load = Tool.run("load", stand.folder("d.jsonl"), stand.folder("Copy.strata"))
    #expect(load.code == 0, "\(load)")
    #expect(Tool.run("dump", stand.folder("Copy.strata")).output == Tool.run("dump", stand.path).output)
  }

  @Test func aPropertyMayBeCalledAsTheFirstColumn() throws {
    let person = EntityDescription(
      "Person", properties: [AttributeDescription("id", .uuid), AttributeDescription("name", .string)])
    let stand = try Stand(model: ManagedObjectModel(entities: [person]))
    try stand.edit { context in
      _ = stand.make("Person", ["id": UUID(), "name": "Ann"], context)
      _ = stand.make("Person", ["name": "Bob"], context)
    }
    try stand.close()
    let dump = Tool.run("dump", stand.path, stand.folder("csv"), "--csv")
    #expect(dump.code == 0, "\(dump)")
    let load = Tool.run("load", stand.folder("csv"), stand.folder("Copy.strata"))
    #expect(load.code == 0, "\(load)")
    #expect(Tool.run("dump", stand.folder("Copy.strata")).output == Tool.run("dump", stand.path).output)
  }

  @Test func aStoreInUseTakesNothing() throws {
    let stand = try Stand.people(closes: false)
    let dump = stand.folder("d.jsonl")
    let text = try Tool.spawn(["dump", stand.path]).output
      .replacingOccurrences(of: "\"title\":\"", with: "\"title\":\"New ")
    try Data(text.utf8).write(to: URL(fileURLWithPath: dump))
    let busy = try Tool.spawn(["load", dump, stand.path, "--into"])
    #expect(busy.code == 6 && busy.error.contains("close it there first"), "\(busy)")
    try stand.close()
    #expect(Tool.run("load", dump, stand.path, "--into").code == 0)
    #expect(Tool.run("count", stand.path, "Person").output == "6\n")
  }

  /// Lines may be in another order than a dump's, as long as objects stand before members of them.
  @Test func linesMayBeMixed() throws {
    let folder = try ScratchFolder()
    try Everything.model().encodedForStores().write(to: folder.url("model.json"))
    let lines = [
      #"{"id":"Thing/p1","values":{},"links":{"mentor":"Thing/p2","group":"Group/p1"}}"#,
      #"{"id":"Group/p1","values":{"name":"a"}}"#,
      #"{"of":"Group/p1","relationship":"loose","members":["Thing/p1"]}"#,
      #"{"id":"Thing/p3","values":{},"links":{"mentor":"Thing/p2"}}"#,
      #"{"id":"Thing/p2","values":{"text":"\u0041"}}"#,
      #"{"of":"Group/p1","relationship":"loose","members":["Thing/p3","Thing/p2"]}"#,
      #"{"of":"Group/p1","relationship":"steps","from":1,"members":["Thing/p1"]}"#,
      #"{"of":"Group/p1","relationship":"steps","from":0,"members":["Thing/p3"]}"#,
    ]
    try Data((lines.joined(separator: "\r\n") + "\r\n").utf8).write(to: folder.url("mixed.jsonl"))
    let load = Tool.run(
      "load", folder("mixed.jsonl"), folder("A.strata"), "--model-from", folder("model.json"))
    #expect(load.code == 0, "\(load)")
    let group = Tool.run("show", folder("A.strata"), "Group/p1")
    #expect(group.output.contains("3: Thing/p1, Thing/p2, Thing/p3"), "\(group)")
    #expect(group.output.contains("2: Thing/p3, Thing/p1"), "\(group)")
    #expect(Tool.run("show", folder("A.strata"), "Thing/p2").output.contains("text               A"))
  }
}
