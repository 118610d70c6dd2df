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

  /// Waits for the first sign of work, stops the child there, sends the signal, and lets it go on.
  private func interrupt(_ words: [String], in folder: ScratchFolder, signal: Int32) throws -> Int32 {
    let before = try names(in: folder)
    let child = try ChildProcess(Tool.program, words)
    while try names(in: folder).subtracting(before).filter({ !$0.hasSuffix("-lock") }).isEmpty,
      !child.isGone()
    { usleep(300) }
    if child.isGone() { return 0 }
    child.stop()
    kill(child.identifier, signal)
    child.resume()
    return child.wait()
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
      (["dump", stand.path, stand.folder("out.csv"), "--csv"], "out.csv"),
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
      if code == 0 {
        // On a busy machine it may have come to its end: then what it made is whole.
        after.remove(made)
      } else {
        #expect(code == 128 + signal, "\(words)")
        #expect(made.isEmpty || !FileManager.default.fileExists(atPath: stand.folder(made)), "\(words)")
        #expect(Tool.run("count", stand.path, "Person").output == rows)
      }
      #expect(after == before.filter { !$0.hasSuffix("-lock") }, "\(words)")
      #expect(Tool.run("check", stand.path).code == 0)
      for name in ["New.strata", "New.strata-lock", "out.jsonl", "out.csv"] {
        try? FileManager.default.removeItem(atPath: stand.folder(name))
      }
    }
  }
}
