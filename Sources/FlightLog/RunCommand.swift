import ArgumentParser
import Foundation
import Strata

/// The command line: finds the data and the store, runs the job, and ends every failure with one sentence and exit code 1.
struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract:
      "Imports flight data into a Strata store, queries it, edits it, reopens it and checks every answer.",
    discussion: """
      Killed at any moment, it goes on where it stopped when it is started again. A finished log is used again; \
      --fresh starts from nothing.
      """)

  @Option(help: "The folder with airlines, airports, planes, weather and flights, each .csv or .csv.gz.")
  var data: String?

  @Option(help: "The store's file, or its address on a server.")
  var store = "FlightLog/FlightLog.strata"

  @Flag(help: "Delete the store first.")
  var fresh = false

  @MainActor
  func run() async throws {
    let terminal = Terminal()
    do {
      let source = try DataFolder(data.map { URL(fileURLWithPath: $0) } ?? DataFolder.fixture)
      let store = try FlightStore(place: store)
      let run = FlightLogRun(source: source, store: store, terminal: terminal, startsFresh: fresh)
      try await run.run()
    } catch {
      terminal.endBar()
      terminal.complain("flight-log: \(sentence(for: error))")
      throw ExitCode.failure
    }
  }

  private func sentence(for error: any Error) -> String {
    switch (error as? CoreDataError)?.code {
    case .managedObjectMerge, .managedObjectConstraintMerge:
      "Another program writes the same rows of \(store) at this moment; start again when it has ended."
    default: error.localizedDescription
    }
  }
}
