import Foundation
import Testing
import TortureKit

@testable import FlightLog

/// `flight-log watch` in a process of its own, while another process imports.
struct FlightLogWatchTests {
  @Test("rows appear on the board while another process imports")
  func live() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = try await Self.emptyLog(folder)
    let watch = try ChildProcess(
      FlightLogProgramTests.program, ["watch", "--store", store, "--rows", "5", "--seconds", "3600"])
    #expect(watch.readLine() == "0 flights, 0 delayed; the newest:")
    #expect(watch.readLine()?.hasPrefix("date") == true)
    let importing = try ChildProcess(FlightLogProgramTests.program, ["--store", store])
    var boards: [String] = []
    while let line = watch.readLine() {
      if line.hasSuffix("delayed; the newest:") { boards.append(line) }
      if boards.count >= 2, line.contains("+") { break }
    }
    #expect(boards.count >= 2, "\(boards)")
    importing.kill()
    // As Ctrl-C does.
    Foundation.kill(watch.identifier, SIGINT)
    _ = watch.readLines()
    #expect(watch.wait() == 0)
  }

  @Test("--once shows one board, without terminal codes in a pipe; --seconds ends by itself")
  func once() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = try await Self.emptyLog(folder)
    for arguments in [["--seconds", "0.1"], ["--once"]] {
      let result = try Command.run(FlightLogProgramTests.program, ["watch", "--store", store] + arguments)
      #expect(result.exitCode == 0)
      #expect(result.output.hasPrefix("0 flights, 0 delayed; the newest:\n"))
      #expect(!result.output.contains("\u{1B}"))
      #expect(result.errors == "")
    }
    let wrong = try Command.run(FlightLogProgramTests.program, ["watch", "--store", store, "--rows", "0"])
    #expect(wrong.exitCode != 0)
  }

  @Test("a log that is not there is one sentence, and nothing is made", arguments: [["--once"], []])
  func nothingThere(arguments: [String]) throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let inner = folder.url.appendingPathComponent("inner")
    let store = inner.appendingPathComponent("log.strata").path
    let nothing = try Command.run(FlightLogProgramTests.program, ["watch", "--store", store] + arguments)
    #expect(nothing.exitCode != 0)
    #expect(nothing.errors == "flight-log: There is no log at \(store): run flight-log first.\n")
    #expect(!FileManager.default.fileExists(atPath: inner.path))
  }

  @Test("a log that is deleted or replaced ends the watch with one sentence", arguments: [true, false])
  func taken(isReplaced: Bool) async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = try await Self.emptyLog(folder)
    let errors = folder.url.appendingPathComponent("errors").path
    let watch = try ChildProcess(
      "/bin/sh",
      [
        "-c", #"exec "$0" watch --store "$1" --rows 5 --seconds 3600 2>"$2""#,
        FlightLogProgramTests.program, store, errors,
      ])
    #expect(watch.readLine() == "0 flights, 0 delayed; the newest:")
    let other = folder.url.appendingPathComponent("other").path
    try Data("another file".utf8).write(to: URL(fileURLWithPath: other))
    if isReplaced { rename(other, store) } else { unlink(store) }
    // One board, and no other after it.
    #expect(watch.readLines().count == 1)
    #expect(watch.wait() != 0)
    let text = try String(contentsOfFile: errors, encoding: .utf8)
    #expect(text.hasPrefix("flight-log: The log at \(store) has been \(isReplaced ? "replaced" : "deleted")"))
    #expect(text.split(separator: "\n").count == 1)
  }

  /// A log without flights.
  @MainActor
  private static func emptyLog(_ folder: TemporaryFolder) async throws -> String {
    let log = FlightStore(url: folder.url.appendingPathComponent("log.strata"))
    try log.close(try await log.open())
    return log.url.path
  }
}
