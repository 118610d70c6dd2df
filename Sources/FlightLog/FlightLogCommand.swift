import ArgumentParser

/// The program: the job, unless something else is asked for.
struct FlightLogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flight-log",
    abstract: "A log of flights in a Strata store.",
    subcommands: [RunCommand.self, WatchCommand.self], defaultSubcommand: RunCommand.self)
}
