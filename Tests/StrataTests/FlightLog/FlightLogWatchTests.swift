import Foundation
import Testing
import TortureKit

@testable import FlightLog

/// `flight-log watch` in a process of its own, while another process imports.
struct FlightLogWatchTests {
  @Test("rows appear on the board while another process imports")
  func live() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = folder.url.appendingPathComponent("log.strata").path
    let watch = try ChildProcess(
      FlightLogProgramTests.program, ["watch", "--store", store, "--rows", "5", "--seconds", "120"])
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
  func once() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let store = folder.url.appendingPathComponent("log.strata").path
    let nothing = try Command.run(FlightLogProgramTests.program, ["watch", "--store", store, "--once"])
    #expect(nothing.exitCode != 0)
    #expect(nothing.errors.contains("There is no log at"))
    #expect(!FileManager.default.fileExists(atPath: store))
    // Whoever keeps watching makes the log, so that an import can begin.
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
}
