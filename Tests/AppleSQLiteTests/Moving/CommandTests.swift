import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite
@testable import StrataCommand

/// `strata import` and `strata export`, as an operator uses them.
@Suite struct CommandTests {
  private func run(_ arguments: String...) -> (code: Int32, output: String, error: String) {
    let (output, errors) = (Output.capturing(), Output.capturing())
    let code = Output.$current.withValue(output) {
      Output.$errors.withValue(errors) { StrataCommand.execute(arguments) }
    }
    return (code, output.text, errors.text)
  }

  @Test func importAndExportSayWhatCameAlong() throws {
    let store = try SmallStore()
    var said = run("import", store.path, store.new.path)
    #expect(said.code == 0 && said.error.isEmpty, "\(said)")
    #expect(
      said.output
        == "7 objects and 9 members of relationships imported into \(store.new.path), with 1 file of large values.\n",
      "\(said)")
    said = run("rows", store.new.path, "Boss", "--columns", "name,team.title", "--csv")
    #expect(said.output.contains("person 0,team 1"), "\(said)")
    said = run("show", store.new.path, "Boss/p4")
    #expect(said.code == 0, "\(said)")
    said = run("export", store.new.path, store.folder("Out.sqlite"))
    #expect(
      said.code == 64 && said.error.contains("--template") && said.error.contains("--version-info"), "\(said)"
    )
    var fixture = AppleFixture(store.schema, PlainGraph(), path: store.folder("Empty.sqlite"))
    try fixture.write()
    said = run(
      "export", store.new.path, store.folder("Out.sqlite"), "--template", store.folder("Empty.sqlite"),
      "--json")
    #expect(said.code == 0, "\(said)")
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(said.output.utf8)) as? [String: Any])
    #expect(
      object["objects"] as? Int == 7 && object["isComplete"] as? Bool == true && object["files"] as? Int == 1)
    #expect((object["entities"] as? [String: Int]) == ["Boss": 2, "Person": 3, "Team": 2])
  }

  @Test func exitCodesTellTheKindOfFailure() throws {
    let store = try SmallStore()
    #expect(run("import", store.folder("none.sqlite"), store.new.path).code == 4)
    try Data("text".utf8).write(to: store.folder.url("text"))
    #expect(run("import", store.folder("text"), store.new.path).code == 5)
    #expect(run("import", store.path).code == 64)
    try store.run("UPDATE ZPERSON SET ZTEAM = 99 WHERE Z_PK = 2")
    var said = run("import", store.path, store.new.path, "--strict")
    #expect(said.code == 9 && said.error.contains("Person/p2.team"), "\(said)")
    said = run("import", store.path, store.new.path)
    #expect(
      said.code == 2
        && said.error.contains("not as it was: Person/p2.team: there is no object with the key 99"), "\(said)"
    )
    #expect(run("import", store.path, store.new.path).code == 10)
    try store.run("DELETE FROM Z_MODELCACHE")
    said = run("import", store.path, store.folder("Other.strata"))
    #expect(said.code == 9 && said.error.contains("--model"), "\(said)")
  }

  @Test func aVersionThatIsNotThereIsAWrongArgument() throws {
    let store = try SmallStore()
    #expect(run("import", store.path, store.new.path).code == 0)
    let (out, info) = (store.folder("Out.sqlite"), store.folder("VersionInfo.plist"))
    // What is no such file is one that cannot be used, not a wrong argument.
    try Data("text".utf8).write(to: store.folder.url("VersionInfo.plist"))
    var said = run("export", store.new.path, out, "--version-info", info, "--model-version", "New")
    #expect(said.code == 5, "\(said)")
    let hashes = AppleFixture.hashes(store.schema)
    let versions = ["NSManagedObjectModel_VersionHashes": ["Old": hashes, "New": hashes]]
    try PropertyListSerialization.data(fromPropertyList: versions, format: .binary, options: 0)
      .write(to: store.folder.url("VersionInfo.plist"))
    said = run("export", store.new.path, out, "--version-info", info, "--model-version", "Other")
    #expect(said.code == 64 && said.error.contains("“Other”, but New, Old"), "\(said)")
    said = run("export", store.new.path, out, "--version-info", info)
    #expect(said.code == 64 && said.error.contains("--model-version"), "\(said)")
    said = run("export", store.new.path, out, "--version-info", info, "--model-version", "New")
    #expect(said.code == 0, "\(said)")
  }

  /// Other commands say what the file is; its model can be looked at.
  @Test func otherCommandsKnowApplesStores() throws {
    let store = try SmallStore()
    let before = try contents(of: store.folder)
    let rows = run("rows", store.path, "Person")
    #expect(rows.code == 5 && rows.error.contains("strata import"), "\(rows)")
    let schema = run("schema", store.path)
    #expect(
      schema.code == 0 && schema.output.contains("members  to many, ordered, Person, inverse team"),
      "\(schema)")
    #expect(try contents(of: store.folder) == before)
    try store.run("DELETE FROM Z_MODELCACHE")
    #expect(run("schema", store.path).code == 9)
  }

  /// The log of a store that was deleted by hand is none of the new one.
  @Test func aLogThatWasLeftGoes() throws {
    let store = try SmallStore()
    try Data(count: 5_000).write(to: store.folder.url("New.strata-log"))
    #expect(run("import", store.path, store.new.path).code == 0)
    #expect(try !store.names.contains("New.strata-log"))
    #expect(try PlainGraph(strata: store.new.path) == store.graph)
    // Where the place is taken, the log is somebody's.
    try Data(count: 5_000).write(to: store.folder.url("New.strata-log"))
    #expect(run("import", store.path, store.new.path).code == 10)
    #expect(try store.names.contains("New.strata-log"))
  }

  /// The model that Xcode edits, with what the cache has no form for.
  @Test func theModelMayComeFromXcodesFiles() throws {
    let store = try SmallStore()
    let model = store.folder("App.xcdatamodeld")
    #expect(run("import", store.path, store.new.path).code == 0)
    #expect(run("schema", store.new.path, "--xcdatamodeld", model).code == 0)
    try store.run("DELETE FROM Z_MODELCACHE")
    let said = run("import", store.path, store.folder("Other.strata"), "--model", model, "--record-history")
    #expect(said.code == 0, "\(said)")
    #expect(try PlainGraph(strata: store.folder("Other.strata")) == store.graph)
    #expect(run("history", store.folder("Other.strata")).code == 0)
    let other = run(
      "import", store.path, store.folder("Third.strata"), "--model", store.folder("missing.xcdatamodeld"))
    #expect(other.code == 4, "\(other)")
  }

  /// What Ctrl-C and the like leave: nothing.
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func whatIsStoppedLeavesNothing(signal: Int32) throws {
    let store = try SmallStore()
    try store.run(
      "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) INSERT INTO ZPERSON (Z_PK, Z_ENT, ZNAME, ZTEAM) SELECT i, 1, 'person number ' || i, 1 FROM n"
    )
    var fixture = AppleFixture(store.schema, PlainGraph(), path: store.folder("Empty.sqlite"))
    try fixture.write()
    let (whole, out) = (store.folder("Whole.strata"), store.folder("Out.sqlite"))
    #expect(run("import", store.path, whole).code == 0)
    for words in [
      ["import", store.path, store.new.path],
      ["export", whole, out, "--template", store.folder("Empty.sqlite")],
    ] {
      let before = try store.names
      let child = try ChildProcess(ChildProcess.program("strata"), words)
      while try store.names == before, !child.isGone() { usleep(300) }
      // On a busy machine it may have come to its end.
      if child.isGone() {
        try? FileManager.default.removeItem(atPath: words[2])
        continue
      }
      child.stop()
      kill(child.identifier, signal)
      child.resume()
      let code = child.wait()
      if code == 0 { continue }
      #expect(code == 128 + signal, "\(words)")
      #expect(try store.names == before, "\(words)")
    }
  }
}
