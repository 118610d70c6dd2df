import Foundation
import Testing

/// `Scripts/once-more`: a build tool that crashes is run again, whatever else fails is not.
struct OnceMoreTests {
  /// Runs a program that counts its runs, ends by `ending` in the first one and well in the next; how often it ran.
  private func run(_ ending: String) throws -> (result: Command, runs: Int) {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    try folder.write(
      "echo run >>\"$1\"\n[ \"$(wc -l <\"$1\")\" -gt 1 ] || { \(ending); }\nexit 0\n", to: "program")
    let counter = folder.url.appendingPathComponent("runs").path
    let result = try Command.run(
      repository.appendingPathComponent("Scripts/once-more").path,
      ["sh", folder.url.appendingPathComponent("program").path, counter])
    let runs = try String(contentsOfFile: counter, encoding: .utf8).split(separator: "\n").count
    return (result, runs)
  }

  @Test("a crash is said, and the command runs once more", arguments: ["SEGV", "ABRT", "BUS", "ILL"])
  func crash(signal: String) throws {
    let (result, runs) = try run("ulimit -c 0; kill -\(signal) $$")
    #expect(runs == 2 && result.exitCode == 0)
    #expect(result.errors.contains("Once more."))
  }

  @Test("a failure, and what a user stops, is passed on", arguments: [("exit 1", 1), ("kill -TERM $$", 143)])
  func passedOn(ending: String, code: Int32) throws {
    let (result, runs) = try run(ending)
    #expect(runs == 1 && result.exitCode == code)
    #expect(!result.errors.contains("Once more."))
  }
}
