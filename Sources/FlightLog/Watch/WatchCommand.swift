import ArgumentParser
import Foundation
import Strata

/// `flight-log watch`: a board of departures that changes while another process imports.
struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract:
      "Shows the newest delayed flights, and shows them again whenever any process has changed the log.",
    discussion: """
      Start it in one terminal and flight-log in another, which must have begun. It ends with Ctrl-C, and when the log is \
      deleted or replaced, as flight-log --fresh does. In a pipe or a file each board is written below the one before.
      """)

  @Option(help: "The store's file.")
  var store = "FlightLog/FlightLog.strata"

  // Unconditional: a number below 0 is a value, and refused as one.
  @Option(
    parsing: .unconditional,
    help: "How many flights are shown; without it, as many as the terminal has room for.")
  var rows: Int?

  @Flag(help: "Show the board once and end.")
  var once = false

  @Option(parsing: .unconditional, help: "End after so many seconds.")
  var seconds: Double?

  func validate() throws {
    if let rows, rows < 1 { throw ValidationError("--rows must be 1 or more.") }
    if let seconds, !(seconds >= 0) { throw ValidationError("--seconds must not be negative.") }
  }

  @MainActor
  func run() async throws {
    let screen = BoardScreen()
    do {
      let log = try FlightStore(place: store)
      guard log.url.isFileURL else { throw FlightLogError("flight-log watch shows logs that are in a file.") }
      guard FileManager.default.fileExists(atPath: log.url.path) else {
        throw FlightLogError("There is no log at \(log.url.path): run flight-log first.")
      }
      let container = try await log.open()
      let file = LogFile(log.url)
      let watch = try DepartureWatch(container, file, rows: rows ?? screen.rows ?? 20, screen)
      try await watch.run(once: once, seconds: seconds)
      try log.close(container)
    } catch {
      screen.end()
      Terminal().complain("flight-log: \(error.localizedDescription)")
      throw ExitCode.failure
    }
  }
}
