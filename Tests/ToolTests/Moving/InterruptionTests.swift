import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// Ctrl-C leaves nothing that is half made.
@Suite struct InterruptionTests {
  private func large(_ count: Int) throws -> Stand {
    let stand = try Stand(model: Stand.model())
    try stand.edit { context in
      for number in 0..<count {
        _ = stand.make(
          "Person",
          ["name": "person number \(number)", "age": number % 100, "photo": Data(repeating: 3, count: 200)],
          context)
      }
    }
    try stand.close()
    return stand
  }

  /// Waits for the first sign of work, or for a file in the draft, stops the child there, sends the signal, and lets it go on.
  private func interrupt(
    _ words: [String], in folder: ScratchFolder, signal: Int32, whenDraftHas file: String? = nil,
    delay: Int = 0
  ) throws -> Int32 {
    let before = try names(in: folder)
    let child = try ChildProcess(Tool.program, words)
    var draft: String?
    while draft == nil, !child.isGone() {
      draft = try names(in: folder).subtracting(before).first { !$0.hasSuffix("-lock") }
    }
    if let file, let draft {
      let path = folder("\(draft)/\(file)")
      while access(path, F_OK) != 0, access(folder(draft), F_OK) == 0 {}
      usleep(UInt32(delay))
    }
    if child.isGone() { return 0 }
    child.stop()
    kill(child.identifier, signal)
    child.resume()
    return child.wait()
  }

  /// Whether what has its name says the same as the store.
  private func isWhole(_ made: String, of stand: Stand) throws -> Bool {
    if made.hasSuffix(".xcdatamodeld") { return Tool.run("diff", stand.path, made).code == 0 }
    var store = made
    if !made.hasSuffix(".strata") {
      store = stand.folder("Whole.strata")
      defer { try? FileManager.default.removeItem(atPath: stand.folder("Whole.strata-lock")) }
      if Tool.run("load", made, store).code != 0 { return false }
    }
    let isSame =
      Tool.run("check", store).code == 0
      && Tool.run("dump", store).output == Tool.run("dump", stand.path).output
    if store != made { try FileManager.default.removeItem(atPath: store) }
    return isSame
  }

  @Test("a folder that is stopped while it gets its name is whole or not there", arguments: 0..<16)
  func whileItIsNamed(round: Int) throws {
    let stand = try large(500)
    // On a disk, where a draft does not go in no time.
    let place = try ScratchFolder(inMemory: false)
    let (model, dump) = (place("Model.xcdatamodeld"), place("Dump"))
    for (words, made, last) in [
      (["schema", stand.path, "--xcdatamodeld", model], model, ".xccurrentversion"),
      (["dump", stand.path, dump, "--csv"], dump, "store.json"),
    ] {
      for signal in [SIGINT, SIGTERM, SIGHUP] {
        let code = try interrupt(words, in: place, signal: signal, whenDraftHas: last, delay: round * 150)
        #expect(code == 0 || code == 128 + signal, "\(words)")
        if FileManager.default.fileExists(atPath: made) {
          #expect(try isWhole(made, of: stand), "\(words)")
          try FileManager.default.removeItem(atPath: made)
        }
        #expect(try names(in: place).isEmpty, "\(words)")
      }
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func aDumpOrLoadThatIsStoppedLeavesNothing(signal: Int32) throws {
    let stand = try large(20_000)
    let dump = stand.folder("dump.jsonl")
    #expect(Tool.run("dump", stand.path, dump).code == 0)
    let (copy, model) = (stand.folder("Copy.strata"), stand.folder("model.json"))
    #expect(Tool.run("backup", stand.path, copy).code == 0)
    try Stand.model(extra: [AttributeDescription("nick", .string)]).encodedForStores()
      .write(to: URL(fileURLWithPath: model))
    let works: [(words: [String], made: String)] = [
      (["dump", stand.path, stand.folder("out.jsonl")], "out.jsonl"),
      (["dump", stand.path, stand.folder("out"), "--csv"], "out"),
      (["load", dump, stand.folder("New.strata")], "New.strata"),
      (["load", dump, stand.path, "--into"], ""),
      (["backup", stand.path, stand.folder("New.strata")], "New.strata"),
      (["compact", stand.path], ""),
      (["restore", copy, stand.path], ""),
      (["migrate", stand.path, model, "--rehearse"], ""),
    ]
    for (words, made) in works {
      let before = try names(in: stand.folder)
      let rows = Tool.run("count", stand.path, "Person").output
      let code = try interrupt(words, in: stand.folder, signal: signal)
      var after = try names(in: stand.folder).filter { !$0.hasSuffix("-lock") }
      #expect(code == 0 || code == 128 + signal, "\(words)")
      if after.remove(made) != nil {
        // On a busy machine it may have come to its end before the signal comes to it.
        #expect(try isWhole(stand.folder(made), of: stand), "\(words)")
      }
      let now = Tool.run("count", stand.path, "Person").output
      let isLoaded = words.contains("--into") && Int(now.dropLast()) == (Int(rows.dropLast()) ?? 0) + 20_000
      #expect(now == rows || isLoaded, "\(words): \(rows) became \(now)")
      #expect(after == before.filter { !$0.hasSuffix("-lock") }, "\(words)")
      #expect(Tool.run("check", stand.path).code == 0)
      for name in ["New.strata", "New.strata-lock", "out.jsonl", "out"] {
        try? FileManager.default.removeItem(atPath: stand.folder(name))
      }
    }
  }

  @Test("whenever the signal comes, also before anything is made, nothing is left")
  func atAnyMoment() throws {
    let seed =
      ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let stand = try large(5_000)
    let (copy, model) = (stand.folder("Copy.strata"), stand.folder("model.json"))
    #expect(Tool.run("backup", stand.path, copy).code == 0)
    try Stand.model(extra: [AttributeDescription("nick", .string)]).encodedForStores()
      .write(to: URL(fileURLWithPath: model))
    let made = stand.folder("New.strata")
    let works = [
      ["backup", stand.path, made], ["restore", copy, stand.path], ["compact", stand.path],
      ["dump", stand.path, made, "--csv"], ["migrate", stand.path, model, "--rehearse"],
      ["salvage", copy, made],
    ]
    for round in 0..<60 {
      let words = works[round % works.count]
      let child = try ChildProcess(Tool.program, words)
      usleep(UInt32.random(in: 0..<160_000, using: &generator))
      kill(child.identifier, SIGTERM)
      let code = child.wait()
      #expect(code == 0 || code == 128 + SIGTERM, "seed \(seed), round \(round), \(words): \(code)")
      // It may have come to its end.
      if words.last != "--csv", FileManager.default.fileExists(atPath: made) {
        #expect(Tool.run("check", made).code == 0, "seed \(seed), round \(round), \(words)")
      }
      try? FileManager.default.removeItem(atPath: made)
      let left = try names(in: stand.folder).filter { !$0.hasSuffix("-lock") && !$0.hasSuffix("-log") }
      #expect(
        left == ["Copy.strata", "model.json", URL(fileURLWithPath: stand.path).lastPathComponent],
        "seed \(seed), round \(round), \(words)")
    }
    #expect(Tool.run("count", stand.path, "Person").output == "5000\n")
    #expect(Tool.run("check", stand.path).code == 0)
  }

  @Test(
    "what a killed process has left goes with the next that makes the same beside it, and nothing else does")
  func leftovers() throws {
    let stand = try Stand.people()
    // No process has so large a number.
    let dead = 99_999_999
    for name in [".strata-dump-\(dead)-1", ".strata-rehearsal-\(dead)-1"] {
      try FileManager.default.createDirectory(
        at: stand.folder.url(name), withIntermediateDirectories: false)
      try Data("x".utf8).write(to: stand.folder.url(name).appendingPathComponent("copy.strata"))
    }
    let living = [
      ".strata-dump-\(getppid())-1", "out.jsonl.strata-\(dead)", ".strata-dump-x-1",
      ".strata-dump-\(dead)-11-27.jsonl", ".strata-dump-\(dead)-2.jsonl", ".strata-dump-\(dead)-2",
    ]
    for name in living { try Data("x".utf8).write(to: stand.folder.url(name)) }
    // As one of another container's process, whose number means nothing here.
    let locked = open(stand.folder(".strata-dump-\(dead)-2"), O_RDONLY | O_CLOEXEC)
    defer { close(locked) }
    #expect(flock(locked, LOCK_EX | LOCK_NB) == 0)
    #expect(Tool.run("dump", stand.path, stand.folder("out.jsonl")).code == 0)
    let model = stand.folder("model.json")
    try Stand.model(extra: [AttributeDescription("nick", .string)]).encodedForStores()
      .write(to: URL(fileURLWithPath: model))
    #expect(Tool.run("migrate", stand.path, model, "--rehearse").code == 0)
    let left = try names(in: stand.folder).filter { $0.contains(".strata-") && !$0.hasSuffix("-lock") }
    #expect(left.filter { !$0.hasSuffix("-log") } == Set(living))
  }
}
