import ArgumentParser

/// Runs the program with the process's command line.
package func runFlightLog() async { await FlightLogCommand.main() }

/// The program: the job, unless something else is asked for.
struct FlightLogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flight-log",
    abstract: "A log of flights in a Strata store.",
    subcommands: [RunCommand.self, WatchCommand.self], defaultSubcommand: RunCommand.self)
}
