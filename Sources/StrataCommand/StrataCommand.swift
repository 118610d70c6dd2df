import ArgumentParser
import Foundation
import StrataCore

/// Runs the program “strata” with a command line; the exit code. Stores of the engines that the process knows are opened.
package func runStrata(_ arguments: [String]) -> Int32 {
  beginProgram()
  return StrataCommand.execute(arguments)
}

/// What comes before everything else in a program, whose process is its own.
func beginProgram() {
  // Before anything else takes their numbers.
  StandardDescriptors.hold()
  // A file at the size limit of the process is an error of the write.
  signal(SIGXFSZ, SIG_IGN)
}

/// The command line for people who have a store and a question or a worry.
struct StrataCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata",
    abstract: "Looks into Strata stores, gets data in and out, checks, copies and rescues them.",
    discussion: """
      Commands that look never write to a store and never migrate it: they read it with the model that it carries. Every failure is one \
      sentence on standard error and an exit code of its own: 1 other, 2 done but not everything came along, 3 damaged, 4 missing, 5 no store, \
      6 in use, 7 no permission, 8 output cannot be written, 9 models do not fit, 10 there already, 11 wrong data, 64 wrong command line. \
      What is stopped by a signal leaves no file behind.

      “strata --generate-completion-script bash” (zsh, fish) prints completions for a shell.
      """,
    version: version,
    subcommands: [
      Info.self, Stats.self, SchemaCommand.self, Rows.self, Show.self, Count.self, Explain.self, History.self,
      Watch.self, Browse.self, Shell.self, Dump.self, Load.self, ImportStore.self, ExportStore.self,
      Check.self,
      Backup.self, Restore.self, Compact.self,
      Diff.self, Migrate.self, Salvage.self, PortCoreData.self,
    ])

  /// What `--version` prints.
  static let version = "strata 0.1.0 (file format 1)"

  /// The commands that open stores on servers, too.
  static var serverCommands: [String] {
    configuration.subcommands.compactMap { command in
      (command as? any StoreTask.Type).flatMap { $0.readsServers ? command._commandName : nil }
    }
  }

  /// The names of all subcommands.
  static var commandNames: [String] { configuration.subcommands.map { $0._commandName } }

  /// Runs a command line without the program's name; the exit code.
  static func execute(_ arguments: [String]) -> Int32 {
    do {
      let asked = arguments.first == "help" ? arguments.dropFirst().first : arguments.first
      if let name = asked, !name.hasPrefix("-"), name != "help", !commandNames.contains(name) {
        let guess = Words.nearest(name, among: commandNames).map { " Did you mean “\($0)”?" } ?? ""
        try Output.errors.line(
          "strata: There is no command “\(name)”.\(guess) “strata --help” lists them all.")
        return Failure.Kind.usage.rawValue
      }
      do {
        var command = try parseAsRoot(arguments)
        try command.run()
        return 0
      } catch let code as ExitCode {
        return code.rawValue
      } catch {
        let code = exitCode(for: error)
        if code == .success {
          try Output.current.line(fullMessage(for: error))
          try Output.current.flush()
        } else {
          let command = arguments.first.flatMap { commandNames.contains($0) ? " \($0)" : nil } ?? ""
          let failure = Failure(
            .usage, message(for: error).asSentence,
            advice: "“strata\(command) --help” shows how it is called.")
          try Output.errors.line("strata: \(failure.text)")
        }
        return code.rawValue
      }
    } catch {
      try? Output.errors.line("strata: \(Failure(error).text)")
      return Failure(error).kind.rawValue
    }
  }
}

extension String {
  /// With a mark at the end, as sentences have.
  fileprivate var asSentence: String { last.map { ".?!".contains($0) } ?? true ? self : self + "." }
}
