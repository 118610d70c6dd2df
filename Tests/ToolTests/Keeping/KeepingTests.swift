import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// Commands that copy, restore, compact, migrate and compare.
@Suite struct KeepingTests {
  @Test func aCopyIsRestored() throws {
    let stand = try Stand.people()
    let copy = stand.folder("Copy.strata")
    #expect(Tool.run("backup", stand.path, copy).code == 0)
    let again = Tool.run("backup", stand.path, copy)
    #expect(again.code == 10, "\(again)")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Stand.model())
    let store = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: stand.path)))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for person in try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")) {
        context.delete(person)
      }
      try context.save()
    }
    // It is in use.
    let busy = try Tool.spawn(["restore", copy, stand.path])
    #expect(busy.code == 6, "\(busy)")
    #expect(busy.error.contains("strata backup"), "\(busy)")
    try coordinator.remove(store)
    #expect(Tool.run("count", stand.path, "Person").output == "0\n")
    let restored = Tool.run("restore", copy, stand.path)
    #expect(restored.code == 0, "\(restored)")
    #expect(Tool.run("count", stand.path, "Person").output == "3\n")
    #expect(Tool.run("check", stand.path).code == 0)
    let missing = Tool.run("restore", stand.folder("None.strata"), stand.path)
    #expect(missing.code == 4, "\(missing)")
    try Data("no store".utf8).write(to: stand.folder.url("text.strata"))
    let text = Tool.run("restore", stand.folder("text.strata"), stand.path)
    #expect(text.code == 5 || text.code == 3, "\(text)")
    #expect(Tool.run("count", stand.path, "Person").output == "3\n")
    // Where there is none yet.
    #expect(Tool.run("restore", copy, stand.folder("New.strata")).code == 0)
    #expect(Tool.run("count", stand.folder("New.strata"), "Person").output == "3\n")
  }

  /// An operator runs the command, often root, and the program whose store it is must be able to open it afterwards.
  @Test(arguments: ["compact", "restore", "load"])
  func whoMayUseTheStoreMayUseItAfterwards(command: String) throws {
    let stand = try Stand.people()
    let (copy, text) = (stand.folder("Copy.strata"), stand.folder("people.jsonl"))
    #expect(Tool.run("backup", stand.path, copy).code == 0 && Tool.run("dump", copy, text).code == 0)
    // What is loaded must not be there already.
    let empty = try Stand(model: Stand.model())
    try empty.close()
    let path = command == "load" ? empty.path : stand.path
    for name in ["-lock", "-log"] { unlink(path + name) }
    try #require(chmod(path, 0o660) == 0)
    // Only root may give a file away.
    let isRoot = getuid() == 0
    if isRoot { try #require(chown(path, 4_711, 4_712) == 0) }
    let said =
      switch command {
      case "compact": Tool.run("compact", path)
      case "restore": Tool.run("restore", copy, path)
      default: Tool.run("load", text, path, "--into")
      }
    #expect(said.code == 0, "\(said)")
    #expect(Tool.run("count", path, "Person").code == 0)
    for name in ["", "-lock"] {
      var status = stat()
      try #require(stat(path + name, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o660, "\(command)\(name)")
      if isRoot { #expect(status.st_uid == 4_711 && status.st_gid == 4_712, "\(command)\(name)") }
    }
  }

  @Test func aStoreInUseIsMadeSmaller() throws {
    let stand = try Stand.people(recordsHistory: true, closes: false)
    try stand.edit { context in
      for number in 0..<3_000 {
        _ = stand.make(
          "Person", ["name": "many \(number)", "photo": Data(repeating: 1, count: 1_500)], context)
      }
    }
    try stand.edit { context in
      let request = FetchRequest<ManagedObject>(
        entityName: "Person", predicate: try FetchPredicate(format: "name BEGINSWITH 'many'"))
      for person in try context.fetch(request) { context.delete(person) }
    }
    let token = try #require(try stand.coordinator.currentHistoryToken())
    let info = try Tool.spawn(["info", stand.path])
    #expect(info.output.contains("free        "), "\(info)")
    let said = try Tool.spawn(["compact", stand.path, "--json"])
    #expect(said.code == 0, "\(said)")
    let report = try said.object()
    let (before, after) = (try #require(report["bytesBefore"] as? Int), try #require(report["bytes"] as? Int))
    #expect(report["inUse"] as? Bool == true)
    #expect(after < before / 2, "\(said)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: stand.path)).count == after)
    // The program that has it open goes on.
    try stand.edit { context in _ = stand.make("Person", ["name": "after"], context) }
    #expect(try stand.coordinator.currentHistoryToken() != token)
    try stand.close()
    #expect(Tool.run("count", stand.path, "Person").output == "4\n")
    #expect(Tool.run("check", stand.path).code == 0)
    let since = Tool.run("history", stand.path, "--since", token.description)
    #expect(since.code == 0 && since.output.contains("1 inserted"), "\(since)")
  }

  @Test func aStoreIsMadeSmaller() throws {
    let stand = try Stand.people(recordsHistory: true, closes: false)
    try stand.edit { context in
      for number in 0..<3_000 {
        _ = stand.make(
          "Person", ["name": "many \(number)", "photo": Data(repeating: 1, count: 1_500)], context)
      }
    }
    try stand.edit { context in
      let request = FetchRequest<ManagedObject>(
        entityName: "Person", predicate: try FetchPredicate(format: "name BEGINSWITH 'many'"))
      for person in try context.fetch(request) { context.delete(person) }
    }
    let token = try #require(try stand.coordinator.currentHistoryToken())
    try stand.close()
    let dump = Tool.run("dump", stand.path).output
    let said = Tool.run("compact", stand.path, "--json")
    #expect(said.code == 0, "\(said)")
    let report = try said.object()
    let (before, after) = (try #require(report["bytesBefore"] as? Int), try #require(report["bytes"] as? Int))
    #expect(after < before / 4)
    #expect(try Data(contentsOf: URL(fileURLWithPath: stand.path)).count == after)
    #expect(Tool.run("dump", stand.path).output == dump)
    #expect(Tool.run("check", stand.path).code == 0)
    // Tokens from before mean what they did.
    let since = Tool.run("history", stand.path, "--since", token.description)
    #expect(since.code == 0 && since.output == "Nothing.\n", "\(since)")
    #expect(try names(in: stand.folder).filter { $0.hasPrefix(".strata") } == [])
  }

  private func write(_ model: ManagedObjectModel, _ name: String, _ stand: Stand) throws -> String {
    let path = stand.folder(name)
    try model.encodedForStores().write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test func aCompositeIsPermittedAsAWhole() throws {
    let address = CompositeAttributeDescription(
      "address", elements: [AttributeDescription("city", .string), AttributeDescription("zip", .integer32)])
    let stand = try Stand(model: Stand.model(extra: [address]))
    try stand.edit { context in
      _ = stand.make(
        "Person", ["name": "Ann", "address": ["city": "Ulm", "zip": 5] as [String: Any]], context)
    }
    try stand.close()
    let new = try write(Stand.model(), "new.json", stand)
    for permitted in ["Person.addr", "Person", "Person.address.city"] {
      let refused = Tool.run("migrate", stand.path, new, "--permit", permitted)
      #expect(refused.code == 9 && refused.error.contains("--permit Person.address.zip"), "\(refused)")
    }
    let done = Tool.run("migrate", stand.path, new, "--permit", "Person.address")
    #expect(done.code == 0 && done.output.contains("Migrated."), "\(done)")
  }

  @Test func aMigrationIsForetoldByRows() throws {
    let stand = try Stand.people()
    let same = Tool.run("diff", stand.path, try write(Stand.model(), "same.json", stand))
    #expect(same.code == 0 && same.output.contains("is of this version"), "\(same)")
    let new = try write(
      Stand.model(extra: [AttributeDescription("nick", .string)], without: ["age", "team"]), "new.json", stand
    )
    let diff = Tool.run("diff", stand.path, new)
    #expect(diff.code == 0, "\(diff)")
    #expect(diff.output.contains("Person.age: 3 objects"), "\(diff)")
    #expect(diff.output.contains("nick is new"), "\(diff)")
    let dry = Tool.run("migrate", stand.path, new, "--dry-run")
    #expect(dry.code == 9 && dry.error.contains("--permit Person.age"), "\(dry)")
    let json = try Tool.run("migrate", stand.path, new, "--dry-run", "--json").object()
    let losses = try #require(json["losses"] as? [[String: Any]])
    #expect(losses.contains { $0["name"] as? String == "Person.age" && $0["objects"] as? Int == 3 })
    // Nothing has happened so far.
    #expect(Tool.run("count", stand.path, "Person", "--where", "age > 20").output == "2\n")
    let refused = Tool.run("migrate", stand.path, new)
    #expect(refused.code == 9, "\(refused)")
    let permits = Set(losses.compactMap { $0["name"] as? String }).sorted().flatMap { ["--permit", $0] }
    let rehearsal = Tool.run(["migrate", stand.path, new, "--rehearse"] + permits)
    #expect(rehearsal.code == 0 && rehearsal.output.contains("went well"), "\(rehearsal)")
    #expect(Tool.run("count", stand.path, "Person", "--where", "age > 20").output == "2\n")
    let done = Tool.run(["migrate", stand.path, new] + permits)
    #expect(done.code == 0 && done.output.contains("Migrated."), "\(done)")
    #expect(Tool.run("schema", stand.path).output.contains("nick"))
    #expect(Tool.run("count", stand.path, "Person").output == "3\n")
    // The file from before takes it back.
    let kept = stand.path + "-before-1"
    #expect(Tool.run("restore", kept, stand.path).code == 0)
    #expect(Tool.run("count", stand.path, "Person", "--where", "age > 20").output == "2\n")
  }

  @Test func aRehearsalFindsWhatThePlanDoesNotShow() throws {
    let stand = try Stand.people(closes: false)
    try stand.edit { _ = stand.make("Person", ["name": "Ann"], $0) }
    try stand.close()
    let model = Stand.model()
    model.entitiesByName["Person"]?.uniquenessConstraints = [["name"]]
    let new = try write(model, "unique.json", stand)
    #expect(Tool.run("migrate", stand.path, new, "--dry-run").code == 0)
    let before = try names(in: stand.folder)
    let rehearsal = Tool.run("migrate", stand.path, new, "--rehearse")
    #expect(rehearsal.code == 9 && rehearsal.error.contains("unique"), "\(rehearsal)")
    #expect(try names(in: stand.folder) == before)
  }

  @Test func modelsAreCompared() throws {
    let stand = try Stand.people()
    let old = try write(Stand.model(), "old.json", stand)
    let new = try write(Stand.model(extra: [AttributeDescription("nick", .string)]), "new.json", stand)
    let diff = Tool.run("diff", old, new)
    #expect(diff.code == 0 && diff.output.contains("Person differs: nick is new"), "\(diff)")
    #expect(Tool.run("diff", old, old).output == "The models are the same version.\n")
    let json = try Tool.run("diff", old, new, "--json").object()
    #expect(json["isSame"] as? Bool == false)
    let number = Stand.model(without: ["age"])
    number.entitiesByName["Person"]?.properties.append(AttributeDescription("age", .string))
    let impossible = Tool.run("diff", stand.path, try write(number, "text.json", stand))
    #expect(impossible.code == 0 && impossible.output.contains("age"), "\(impossible)")
    let missing = Tool.run("diff", old, stand.folder("none.json"))
    #expect(missing.code == 4, "\(missing)")
    try Data("{\"a\":1}".utf8).write(to: stand.folder.url("bad.json"))
    #expect(Tool.run("diff", old, stand.folder("bad.json")).code == 9)
  }
}
