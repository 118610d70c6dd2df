import Foundation
import Strata
import Testing

@testable import StrataCommand

/// What commands that look print, and that they write nothing.
@Suite struct LookingTests {
  @Test func rowsAreATable() throws {
    let stand = try Stand.people()
    let all = Tool.run(
      "rows", stand.path, "Person", "--sort", "age:desc", "--columns", "name,age,team.title,id")
    #expect(all.code == 0, "\(all)")
    #expect(
      all.lines == [
        "name  age  team.title  id", "────────────────────────────────", "Bob    41              Person/p2",
        "Ann    30  Red         Person/p1", "Cid    17  Red         Person/p3", "3 objects",
      ], "\(all)")
    let some = Tool.run(
      "rows", stand.path, "Person", "--where", "team.title == 'Red' AND age > 20", "--columns", "name")
    #expect(some.lines == ["name", "────", "Ann", "1 object"], "\(some)")
    let window = Tool.run(
      "rows", stand.path, "Person", "--sort", "name", "--limit", "1", "--offset", "1", "--columns", "name")
    #expect(
      window.lines.dropFirst(2) == ["Bob", "1 object; there are more, --limit 0 shows all"], "\(window)")
    let counts = Tool.run("rows", stand.path, "Team", "--sort", "title", "--columns", "title,members")
    #expect(counts.lines.dropFirst(2) == ["Blue         0", "Red          2", "2 objects"], "\(counts)")
  }

  @Test func aConditionMayAskForAnAggregateOfAllObjects() throws {
    let stand = try Stand.people()
    let oldest = Tool.run("rows", stand.path, "Person", "--where", "age == max(age)", "--columns", "name")
    #expect(oldest.lines == ["name", "────", "Bob", "1 object"], "\(oldest)")
    for (condition, count) in [
      ("age < average(age)", "1"), ("age == @min.age", "1"), ("team.title == 'Red' AND age == max(age)", "0"),
      ("NOT age == max(age)", "2"), ("age * 2 > sum(age)", "0"),
    ] {
      let said = Tool.run("count", stand.path, "Person", "--where", condition)
      #expect(said.code == 0 && said.output == count + "\n", "\(condition): \(said)")
    }
    let plan = Tool.run("explain", stand.path, "Person", "--where", "age == max(age)", "--analyze")
    #expect(plan.code == 0 && plan.output.contains("byAge"), "\(plan)")
    let wrong = Tool.run("count", stand.path, "Person", "--where", "name == sum(name)")
    #expect(wrong.code == 64, "\(wrong)")
  }

  @Test func aConditionMayNameADateOfTheCalendar() throws {
    let stand = try Stand.people()
    for (condition, count) in [
      ("born >= CAST('2001-01-01', 'NSDate')", "1"), ("born > CAST('2001-01-01T00:00:01Z', 'date')", "0"),
      ("born < CAST('2001-01-01T02:00:00+01:00', 'Date')", "1"), ("born < CAST('1', 'NSDate')", "1"),
    ] {
      let said = Tool.run("count", stand.path, "Person", "--where", condition)
      #expect(said.code == 0 && said.output == count + "\n", "\(condition): \(said)")
    }
    let wrong = Tool.run("count", stand.path, "Person", "--where", "born < CAST('2001-13-01', 'NSDate')")
    #expect(wrong.code == 64 && wrong.error.contains("is no value of type date"), "\(wrong)")
  }

  @Test(arguments: [
    ["check"], ["info"], ["stats"], ["dump"], ["schema"], ["rows", "Person"], ["count", "Person"],
  ])
  func anEmptyPathIsNotTheCurrentFolder(words: [String]) {
    let said = Tool.run([words[0], ""] + words.dropFirst())
    #expect(said.code == 64 && said.error.contains("The path is empty."), "\(said)")
  }

  @Test func rowsAreLinesOfJSONAndCSV() throws {
    let stand = try Stand.people()
    let json = Tool.run("rows", stand.path, "Person", "--where", "name != 'Bob'", "--sort", "name", "--json")
    #expect(
      json.lines == [
        #"{"id":"Person/p1","values":{"name":"Ann","age":30,"born":0.25},"links":{"team":"Team/p1"}}"#,
        #"{"id":"Person/p3","values":{"name":"Cid","age":17},"links":{"team":"Team/p1"}}"#,
      ], "\(json)")
    let chosen = Tool.run(
      "rows", stand.path, "Person", "--sort", "name", "--columns", "name,team.title", "--json")
    #expect(
      chosen.lines == [
        #"{"name":"Ann","team.title":"Red"}"#, #"{"name":"Bob","team.title":null}"#,
        #"{"name":"Cid","team.title":"Red"}"#,
      ], "\(chosen)")
    let csv = Tool.run(
      "rows", stand.path, "Person", "--sort", "name", "--columns", "id,name,born,team", "--csv")
    #expect(
      csv.lines == [
        "id,name,born,team", "Person/p1,Ann,2001-01-01T00:00:00.25Z,Team/p1", "Person/p2,Bob,,",
        "Person/p3,Cid,,Team/p1",
      ], "\(csv)")
  }

  @Test func anObjectIsShownWithEverything() throws {
    let stand = try Stand.people()
    let team = Tool.run("show", stand.path, "Team/p1")
    #expect(team.code == 0 && team.output.contains("members  2: Person/p1, Person/p3"), "\(team)")
    let bob = Tool.run("show", stand.path, "Person/p2")
    #expect(bob.output.contains("photo  5.0 kB of data") && bob.output.contains("team   nil"), "\(bob)")
    let uri = try #require(bob.lines.dropFirst().first)
    #expect(uri.hasPrefix("x-coredata://"))
    #expect(Tool.run("show", stand.path, uri).output == bob.output)
    let photo = Tool.run("show", stand.path, "Person/p2", "--value", "photo")
    #expect(photo.output == String(repeating: "\u{7}", count: 5_000))
    let json = try Tool.run("show", stand.path, "Team/p1", "--json").object()
    let members = try #require((json["relationships"] as? [String: [String: Any]])?["members"])
    #expect(members["count"] as? Int == 2 && members["members"] as? [String] == ["Person/p1", "Person/p3"])
    let none = Tool.run("show", stand.path, "Person/p9")
    #expect(none.code == 4 && none.error.contains("There is no object Person/p9"), "\(none)")
    let wrong = Tool.run("show", stand.path, "Person")
    #expect(wrong.code == 64 && wrong.error.contains("Entity/p7"), "\(wrong)")
    let foreign = Tool.run("show", stand.path, "x-coredata://\(UUID().uuidString)/Person/p1")
    #expect(foreign.code == 4, "\(foreign)")
  }

  @Test func requestsAreCountedAndExplained() throws {
    let stand = try Stand.people()
    #expect(Tool.run("count", stand.path, "Person").output == "3\n")
    #expect(Tool.run("count", stand.path, "Person", "--where", "age < 40").output == "2\n")
    let json = try Tool.run("count", stand.path, "Person", "--json").object()
    #expect(json["count"] as? Int == 3)
    let index = Tool.run("explain", stand.path, "Person", "--where", "age > 20", "--analyze")
    #expect(
      index.code == 0 && index.output.contains("Person.byAge") && index.output.contains("2 returned"),
      "\(index)")
    let scan = Tool.run("explain", stand.path, "Person", "--where", "name == 'Ann'")
    #expect(scan.output.contains("No index helps"), "\(scan)")
    let plan = try Tool.run("explain", stand.path, "Person", "--where", "age > 20", "--json").object()
    #expect(plan["access"] as? String == "index" && plan["indexes"] as? [String] == ["Person.byAge"])
  }

  @Test func aConditionNamesObjects() throws {
    let stand = try Stand.people()
    func names(_ condition: String, _ entity: String = "Person") -> [String] {
      let answer = Tool.run(
        "rows", stand.path, entity, "--where", condition, "--csv", "--columns", "id")
      #expect(answer.code == 0, "\(answer)")
      return answer.lines.dropFirst().sorted()
    }
    #expect(names("team == OBJECTS('Team/p1')") == ["Person/p1", "Person/p3"])
    #expect(names("SELF IN OBJECTS('Person/p2', 'Person/p3')") == ["Person/p2", "Person/p3"])
    #expect(names("ANY members == OBJECTS('Person/p3')", "Team") == ["Team/p1"])
    // An object that is not there is nothing's.
    #expect(names("team == OBJECTS('Team/p99')") == [])
    let uri = try #require(Tool.run("show", stand.path, "Team/p1").lines.dropFirst().first)
    #expect(names("team == OBJECTS('\(uri)')") == ["Person/p1", "Person/p3"])
    #expect(Tool.run("count", stand.path, "Person", "--where", "team == OBJECTS('Team/p1')").output == "2\n")
    for (condition, part) in [
      ("team == OBJECTS('Team')", "Entity/p7"), ("team == OBJECTS('Teem/p1')", "Did you mean “Team”?"),
      ("team == OBJECTS(3)", "an object in quotes"),
    ] {
      let wrong = Tool.run("rows", stand.path, "Person", "--where", condition)
      #expect(wrong.code == 64 && wrong.error.contains(part), "\(wrong)")
    }
    let foreign = Tool.run(
      "rows", stand.path, "Person", "--where", "team == OBJECTS('x-coredata://\(UUID().uuidString)/Team/p1')")
    #expect(foreign.code == 4 && foreign.error.contains("this one is"), "\(foreign)")
  }

  @Test func whatIsWrongWithAConditionIsPointedAt() throws {
    let stand = try Stand.people()
    let syntax = Tool.run("rows", stand.path, "Person", "--where", "age > > 3")
    #expect(syntax.code == 64)
    #expect(syntax.error.contains("age > > 3\n      ^"), "\(syntax)")
    let pattern = Tool.run("rows", stand.path, "Person", "--where", "name MATCHES '('")
    #expect(pattern.code == 64 && pattern.error.contains("no regular expression"), "\(pattern)")
    let name = Tool.run("rows", stand.path, "Person", "--where", "name == 'x' AND agee > 3")
    #expect(name.code == 64)
    #expect(name.error.contains("name == 'x' AND agee > 3\n                ^"), "\(name)")
    #expect(name.error.contains("Did you mean “age”?"), "\(name)")
    let argument = Tool.run("rows", stand.path, "Person", "--where", "age > %d")
    #expect(argument.code == 64 && argument.error.contains("There is no argument 1"), "\(argument)")
    let sort = Tool.run("rows", stand.path, "Person", "--sort", "nam")
    #expect(sort.code == 64 && sort.error.contains("Did you mean “name”?"), "\(sort)")
    let direction = Tool.run("rows", stand.path, "Person", "--sort", "name:up")
    #expect(direction.code == 64 && direction.error.contains("no direction"), "\(direction)")
    let entity = Tool.run("count", stand.path, "Persn")
    #expect(entity.code == 64 && entity.error.contains("Did you mean “Person”?"), "\(entity)")
    #expect(entity.error.contains("Person, Team"), "\(entity)")
    let column = Tool.run("rows", stand.path, "Person", "--columns", "name,team.titel")
    #expect(column.code == 64 && column.error.contains("Did you mean “title”?"), "\(column)")
  }

  @Test func statisticsSayWhereObjectsAndBytesAre() throws {
    let stand = try Stand.people(recordsHistory: true)
    let text = Tool.run("stats", stand.path, "--history")
    #expect(text.code == 0, "\(text)")
    #expect(text.lines.contains("Person        3") && text.output.contains("index Person.byAge"), "\(text)")
    let json = try Tool.run("stats", stand.path, "--history", "--json").object()
    #expect(json["objects"] as? [String: Int] == ["Person": 3, "Team": 2])
    #expect(json["history"] as? [String: Int] == ["Person": 3, "Team": 2])
    let keyspaces = try #require(json["keyspaces"] as? [String: [String: Int]])
    #expect(keyspaces["rows:Person"]?["entries"] == 3)
    // A value of 5,000 bytes has pages of its own.
    #expect((keyspaces["large"]?["bytes"] ?? 0) >= 8_192)
  }

  @Test func lookingWritesNothing() throws {
    let stand = try Stand.people(recordsHistory: true)
    let before = try Data(contentsOf: URL(fileURLWithPath: stand.path))
    for arguments in [
      ["info"], ["stats"], ["schema"], ["check"], ["history"], ["rows", "Person"], ["count", "Person"],
      ["explain", "Person", "--analyze"], ["show", "Person/p1"], ["dump"],
    ] {
      let words = [arguments[0], stand.path] + arguments.dropFirst()
      #expect(Tool.run(words).code == 0, "\(words)")
    }
    let model = stand.folder("New.json")
    try Data(
      Stand.model(extra: [AttributeDescription("nick", .string)]).encodedForStores()
    ).write(to: URL(fileURLWithPath: model))
    #expect(Tool.run("diff", stand.path, model).code == 0)
    #expect(Tool.run("migrate", stand.path, model, "--dry-run").code == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: stand.path)) == before)
  }

  @Test func aStoreInUseIsRead() throws {
    let stand = try Stand.people(closes: false)
    let before = try Tool.spawn(["count", stand.path, "Person"])
    #expect(before.code == 0 && before.output == "3\n", "\(before)")
    try stand.edit { _ = stand.make("Person", ["name": "Dan"], $0) }
    #expect(try Tool.spawn(["count", stand.path, "Person"]).output == "4\n")
    #expect(try Tool.spawn(["dump", stand.path]).lines.count == 8)
  }

  @Test func aSymbolicLinkStandsForItsStore() throws {
    let stand = try Stand.people()
    let link = stand.folder("Link.strata")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: stand.path)
    let count = Tool.run("count", link, "Person")
    #expect(count.code == 0 && count.output == "3\n", "\(count)")
    #expect(Tool.run("check", link).code == 0)
    #expect(Tool.run("compact", link).code == 0)
    // The link is still one, and the store is where it was.
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == stand.path)
    #expect(Tool.run("count", stand.path, "Person").output == "3\n")
  }

  @Test func aStoreOfOneConfigurationIsRead() throws {
    let model = Stand.model(without: ["team"])
    model.setEntities([model.entitiesByName["Team"]!], forConfigurationName: "Teams")
    let folder = try Stand().folder
    let path = folder("Teams.strata")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: path))
    description.configuration = "Teams"
    let store = try coordinator.addPersistentStore(description)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      ManagedObject(entity: model.entitiesByName["Team"]!, insertInto: context).setValue(
        "Red", forKey: "title")
      try context.save()
    }
    try coordinator.remove(store)
    #expect(Tool.run("count", path, "Team").output == "1\n")
    #expect(Tool.run("count", path, "Person").output == "0\n")
    let dump = folder("Teams.jsonl")
    #expect(Tool.run("dump", path, dump).code == 0)
    let loaded = Tool.run("load", dump, folder("Copy.strata"))
    #expect(loaded.code == 0, "\(loaded)")
    #expect(Tool.run("dump", folder("Copy.strata")).output == Tool.run("dump", path).output)
    try coordinator.addPersistentStore(
      {
        var copy = description
        copy.url = URL(fileURLWithPath: folder("Copy.strata"))
        return copy
      }())
  }
}
