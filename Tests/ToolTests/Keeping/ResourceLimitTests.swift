import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// What the shell limits is an error, and no end of the program.
@Suite struct ResourceLimitTests {
  /// A store of more bytes than the limits below.
  private func large() throws -> Stand {
    let stand = try Stand()
    try stand.edit { context in
      for number in 0..<8 {
        _ = stand.make(
          "Person", ["name": "person \(number)", "photo": Data(repeating: UInt8(number), count: 200_000)],
          context)
      }
    }
    try stand.close()
    return stand
  }

  /// A program that starts another one, which does not ignore the signal of that limit. The thread sanitizer maps a file of 512 KiB in
  /// TMPDIR as it starts, when there is such a folder.
  private func limited(_ limit: String) -> [String] {
    ["/bin/sh", "-c", "export TMPDIR=/nowhere; ulimit \(limit) && exec \"$0\" \"$@\""]
  }

  @Test("a file at the size limit is an output that cannot be written: exit code 8, and nothing is left")
  func fileSize() throws {
    let stand = try large()
    let dump = stand.folder("all.jsonl")
    #expect(Tool.run("dump", stand.path, dump).code == 0)
    let before = try names(in: stand.folder)
    for words in [
      ["dump", stand.path, stand.folder("new.jsonl")], ["dump", stand.path, stand.folder("csv"), "--csv"],
      ["backup", stand.path, stand.folder("Copy.strata")],
      ["backup", stand.path, stand.folder("Copy.strata"), "--plain"],
      ["load", dump, stand.folder("New.strata")], ["restore", stand.path, stand.folder("Restored.strata")],
    ] {
      let said = try Tool.spawn(words, prefix: limited("-f 300"))
      #expect(said.code == 8, "\(words) \(said)")
      #expect(try names(in: stand.folder) == before, "\(words)")
    }
    _ = FileManager.default.createFile(atPath: stand.folder("out"), contents: nil)
    let output = try FileHandle(forWritingTo: stand.folder.url("out"))
    let said = try Tool.spawn(["dump", stand.path], prefix: limited("-f 300"), output: output)
    try output.close()
    #expect(said.code == 8 && said.error.contains("Standard output cannot be written"), "\(said)")
    // Not even an empty store fits.
    let none = try Tool.spawn(["load", dump, stand.folder("New.strata")], prefix: limited("-f 0"))
    #expect(none.code == 8, "\(none)")
    #expect(Tool.run("check", stand.path).code == 0)
  }

  @Test("too few descriptors are an error", arguments: 4...16)
  func descriptors(count: Int) throws {
    let stand = try Stand.people()
    let said = try Tool.spawn(["count", stand.path, "Person"], prefix: limited("-n \(count)"))
    #expect(said.code == 0 && said.output == "3\n" || said.code == 1 && said.output.isEmpty, "\(said)")
    #expect(said.code == 0 || said.error.contains("Too many"), "\(said)")
  }
}
