import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// Each kind of failure has a code of its own and one sentence, which names what helps.
@Suite struct ExitCodeTests {
  @Test func wordsThatAreNoCommandAreNamed() throws {
    let unknown = Tool.run("rwos")
    #expect(
      unknown.code == 64 && unknown.error.contains("There is no command “rwos”. Did you mean “rows”?"),
      "\(unknown)")
    #expect(Tool.run("zzzzzz").error.contains("“strata --help”"))
    let version = Tool.run("--version")
    #expect(version.code == 0 && version.output.hasPrefix("strata 0."), "\(version)")
    let help = Tool.run("--help")
    #expect(help.code == 0 && StrataCommand.commandNames.allSatisfy { help.output.contains($0) }, "\(help)")
    let option = Tool.run("rows", "x", "y", "--lmit", "3")
    #expect(
      option.code == 64 && option.error.contains("--lmit") && option.error.contains("“strata rows --help”")
        && option.error.hasPrefix("strata: ") && option.error.split(separator: "\n").count == 1, "\(option)")
    let missing = Tool.run("backup")
    #expect(
      missing.code == 64 && missing.error.contains("<store>")
        && missing.error.split(separator: "\n").count == 1, "\(missing)")
    #expect(Tool.run("help", "rwos").error == unknown.error && Tool.run("help", "rwos").code == 64)
    let folder = try ScratchFolder()
    let store = try Stand.people()
    #expect(symlink("nothing", folder("link")) == 0)
    let link = Tool.run("dump", store.path, folder("link"))
    #expect(link.code == 10 && link.error.contains("leads nowhere"), "\(link)")
    #expect(Tool.run("help", "rows").code == 0 && Tool.run("help").code == 0)
    for kind in Failure.Kind.allCases where kind != .usage {
      #expect(
        help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains("\(kind.rawValue) ")
      )
    }
    for shell in ["bash", "zsh", "fish"] {
      let script = Tool.run("--generate-completion-script", shell)
      #expect(
        script.code == 0 && script.output.contains("strata") && script.output.contains("rows"), "\(shell)")
    }
  }

  @Test(arguments: [
    ["rows", "Person", "--limit"], ["rows", "Person", "--offset"], ["explain", "Person", "--limit"],
    ["show", "Person/p1", "--members"], ["history", "--limit"], ["watch", "--count"],
  ])
  func numbersBelowZeroAreRefusedAsSuch(words: [String]) throws {
    let store = try Stand.people()
    let option = try #require(words.last)
    for number in ["-1", "-300"] {
      let said = Tool.run([words[0], store.path] + words.dropFirst() + [number])
      #expect(said.code == 64 && said.error.contains("\(option) must not be negative"), "\(said)")
    }
    let text = Tool.run([words[0], store.path] + words.dropFirst() + ["x"])
    #expect(text.code == 64 && text.error.contains(option), "\(text)")
  }

  static let looking: [[String]] = [
    ["info"], ["stats"], ["schema"], ["check"], ["history"], ["rows", "Person"], ["count", "Person"],
    ["explain", "Person"], ["show", "Person/p1"], ["dump"], ["compact"], ["watch", "--count", "1"],
  ]

  @Test(arguments: looking)
  func filesThatAreNoStoresAreTold(words: [String]) throws {
    let stand = try Stand.people()
    func run(_ path: String) -> Said { Tool.run([words[0], path] + words.dropFirst()) }
    let missing = run(stand.folder("None.strata"))
    #expect(missing.code == 4 && missing.error.split(separator: "\n").count == 1, "\(missing)")
    try Data(repeating: 0x41, count: 20_000).write(to: stand.folder.url("text.strata"))
    let text = run(stand.folder("text.strata"))
    #expect(text.code == 5, "\(text)")
    try Data().write(to: stand.folder.url("empty.strata"))
    let empty = run(stand.folder("empty.strata"))
    #expect(empty.code == 3 || words[0] == "schema" && empty.code == 3, "\(empty)")
    if words[0] != "schema" {
      let folder = run(stand.folder.path)
      #expect(folder.code == 5, "\(folder)")
    }
    let bytes = try Data(contentsOf: URL(fileURLWithPath: stand.path))
    try bytes.prefix(bytes.count / 2).write(to: stand.folder.url("half.strata"))
    let half = run(stand.folder("half.strata"))
    #expect(half.code == 3 && half.error.contains("strata salvage"), "\(half)")
    #expect(try Data(contentsOf: stand.folder.url("half.strata")).count == bytes.count / 2)
  }

  @Test func anOutputThatCannotBeWrittenIsAnError() throws {
    let stand = try Stand.people(closes: false)
    try stand.edit { context in
      for number in 0..<2_000 { _ = stand.make("Person", ["name": "many \(number)"], context) }
    }
    try stand.close()
    // A device that is always full.
    var kind = stat()
    guard stat("/dev/full", &kind) == 0, kind.st_mode & S_IFMT == S_IFCHR,
      let full = FileHandle(forWritingAtPath: "/dev/full")
    else { return }
    for words in [
      ["info", stand.path], ["dump", stand.path], ["rows", stand.path, "Person"], ["--help"], ["--version"],
    ] {
      let said = try Tool.spawn(words, output: full)
      #expect(said.code == 8 && said.error.contains("No space left"), "\(words) \(said)")
    }
    // A pipe with a name is written, and never replaced by a file.
    let fifo = stand.folder("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    let (reader, read) = (Process(), Pipe())
    reader.executableURL = URL(fileURLWithPath: "/bin/cat")
    reader.arguments = [fifo]
    reader.standardOutput = read
    try reader.run()
    let dump = try Tool.spawn(["dump", stand.path, fifo])
    #expect(dump.code == 0, "\(dump)")
    let text = String(decoding: read.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(text == Tool.run("dump", stand.path).output)
    var kept = stat()
    #expect(stat(fifo, &kept) == 0 && kept.st_mode & S_IFMT == S_IFIFO)
    let link = stand.folder("link.jsonl")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: stand.folder("target.jsonl"))
    try Data().write(to: stand.folder.url("target.jsonl"))
    #expect(Tool.run("dump", stand.path, link).code == 10)
    #expect(Tool.run("dump", stand.path, link, "--force").code == 0)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == stand.folder("target.jsonl"))
    #expect(try String(contentsOfFile: stand.folder("target.jsonl"), encoding: .utf8).hasSuffix("}}\n"))
    // Nobody reads on.
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let closed = try Tool.spawn(["dump", stand.path], output: pipe.fileHandleForWriting)
    #expect(closed.code == 8 && closed.error.contains("Nobody reads"), "\(closed)")
    let nowhere = Tool.run("dump", stand.path, stand.folder("none/dump.jsonl"))
    #expect(nowhere.code == 8, "\(nowhere)")
    let there = Tool.run("dump", stand.path, stand.path)
    #expect(there.code == 10 && there.error.contains("--force"), "\(there)")
    let csv = Tool.run("dump", stand.path, stand.folder.path, "--csv")
    #expect(csv.code == 10, "\(csv)")
  }

  /// As root everything may be written: then as nobody, where the system lets us.
  @Test func aFolderThatNobodyCanWriteIsReadWithoutALock() throws {
    let stand = try Stand.people()
    let prefix: [String]
    if geteuid() == 0 {
      guard let nobody = Tool.asNobody, try Tool.spawn(["--version"], prefix: nobody).code == 0 else {
        return
      }
      prefix = nobody
    } else {
      prefix = []
    }
    unlink(stand.path + "-lock")
    chmod(stand.path, 0o444)
    chmod(stand.folder.path, 0o555)
    defer { chmod(stand.folder.path, 0o755) }
    let count = try Tool.spawn(["count", stand.path, "Person"], prefix: prefix)
    #expect(count.code == 0 && count.output == "3\n", "\(count)")
    #expect(try Tool.spawn(["check", stand.path], prefix: prefix).code == 0)
    #expect(try Tool.spawn(["dump", stand.path], prefix: prefix).lines.count == 7)
    #expect(try names(in: stand.folder) == ["People.strata"])
    // Somebody may write it: then there must be a lock, and none can be made.
    chmod(stand.path, 0o644)
    let owned = try Tool.spawn(["count", stand.path, "Person"], prefix: prefix)
    if geteuid() == 0 { #expect(owned.code == 7 && owned.error.contains("lock file"), "\(owned)") }
    chmod(stand.path, 0o000)
    let secret = try Tool.spawn(["count", stand.path, "Person"], prefix: prefix)
    #expect(secret.code == 7, "\(secret)")
    let load = try Tool.spawn(["backup", stand.path, stand.folder("Copy.strata")], prefix: prefix)
    #expect(load.code == 7, "\(load)")
  }

  @Test func aDamagedStoreNamesSalvage() throws {
    let stand = try Stand.people()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: stand.path))
    var from = bytes.startIndex
    while let found = bytes.range(of: Data("Ann".utf8), in: from..<bytes.endIndex) {
      bytes[found.lowerBound] ^= 0x20
      from = found.upperBound
    }
    try bytes.write(to: URL(fileURLWithPath: stand.path))
    let check = Tool.run("check", stand.path)
    #expect(check.code == 3 && check.error.contains("strata salvage"), "\(check)")
    let json = try Tool.run("check", stand.path, "--json").object()
    #expect(json["isSound"] as? Bool == false)
    let salvage = Tool.run("salvage", stand.path, stand.folder("New.strata"), "--json")
    #expect(salvage.code == 2, "\(salvage)")
    #expect(try salvage.object()["isComplete"] as? Bool == false)
    try Data(repeating: 0, count: 40_960).write(to: stand.folder.url("zeros.strata"))
    let none = Tool.run("salvage", stand.folder("zeros.strata"), stand.folder("Newer.strata"))
    #expect(none.code == 5 && none.error.contains("--model-from"), "\(none)")
  }

  @Test func oddArgumentsAreTold() throws {
    let stand = try Stand.people()
    let all = Tool.run("rows", stand.path, "Person", "--limit", "\(Int.max)")
    #expect(all.code == 0 && all.output == Tool.run("rows", stand.path, "Person", "--limit", "0").output)
    #expect(
      Tool.run("rows", stand.path, "Person", "--offset", "\(Int.max)", "--limit", "\(Int.max)").code == 0)
    #expect(Tool.run("rows", stand.path, "Person", "--columns", "").code == 64)
    for words in [
      ["rows", stand.path, "Person", "--limit=-1"], ["watch", stand.path, "--count=-1"],
      ["show", stand.path, "Person/p1", "--members=-1"],
    ] { #expect(Tool.run(words).code == 64, "\(words)") }
    let missing = Tool.run("dump", stand.path, stand.folder("none/Out.jsonl"))
    #expect(missing.code == 8 && missing.error.contains(stand.folder("none/Out.jsonl")), "\(missing)")
    // A path is written as it is.
    let relative = Tool.run("dump", stand.path, "none-\(UUID())/x")
    #expect(relative.error.hasPrefix("strata: none-"), "\(relative)")
  }

  @Test func noStoreIsReplacedByADump() throws {
    let stand = try Stand.people()
    let copy = stand.folder("Copy.strata")
    #expect(Tool.run("backup", stand.path, copy).code == 0)
    for path in [stand.path, copy] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      let said = Tool.run("dump", stand.path, path, "--force")
      #expect(said.code == 10 && said.error.contains("is a store"), "\(said)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }
    let text = stand.folder("out.jsonl")
    for _ in 0..<2 { #expect(Tool.run("dump", stand.path, text, "--force").code == 0) }
  }

  @Test func whatIsNoFileIsNotReadForEver() throws {
    let stand = try Stand.people()
    let pipe = stand.folder("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    for words in [
      ["schema", pipe], ["diff", stand.path, pipe], ["diff", pipe, stand.path],
      ["salvage", pipe, stand.folder("New.strata")],
      ["salvage", stand.folder.path, stand.folder("New.strata")],
      ["salvage", stand.path, stand.folder("New.strata"), "--model-from", pipe],
    ] {
      let said = Tool.run(words)
      #expect(said.code == 5 && !said.error.contains("--model-from"), "\(words) \(said)")
    }
  }

  @Test func aStoreInUseIsNotSalvaged() throws {
    let stand = try Stand.people()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Stand.model())
    let store = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: stand.path)))
    let new = stand.folder("New.strata")
    for said in [
      Tool.run("salvage", stand.path, new), try Tool.spawn(["salvage", stand.path, new]),
    ] {
      #expect(said.code == 6 && said.error.contains("open"), "\(said)")
    }
    try coordinator.remove(store)
    #expect(Tool.run("salvage", stand.path, new).code == 0)
    let rights = try FileManager.default.attributesOfItem(atPath: new)[.posixPermissions] as? Int
    #expect(rights == 0o600)
  }
}
