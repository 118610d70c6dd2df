import ArgumentParser
import Foundation
import StrataCore

/// The command line for people who have a store and a question or a worry.
struct StrataCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata",
    abstract: "Looks at Strata stores, checks, copies and rescues them; ports sources that use Core Data.",
    discussion: """
      Every failure is one sentence on standard error and exit code 1. A salvage that could not bring back everything ends with exit code 2. What is \
      stopped by a signal leaves no file behind.
      """,
    subcommands: [Info.self, Check.self, Backup.self, Salvage.self, History.self, PortCoreData.self])
}

/// A failure with its sentence.
struct StrataCommandError: Error, CustomStringConvertible, LocalizedError {
  let description: String
  var errorDescription: String? { description }
}

/// What all subcommands do: their work, and one sentence when it fails.
protocol StoreTask: ParsableCommand {
  func perform() throws
}

extension StoreTask {
  func run() throws {
    Interruption.prepare()
    defer { Interruption.waitIfEnding() }
    do {
      try perform()
    } catch let code as ExitCode {
      throw code
    } catch {
      Interruption.waitIfEnding()
      let sentence = error.localizedDescription.split(whereSeparator: \.isNewline).joined(separator: " ")
      FileHandle.standardError.write(Data("strata: \(sentence)\n".utf8))
      throw ExitCode.failure
    }
  }

  /// Opens a store as it is, with the model it carries, for reading only.
  func openStore(_ path: String) throws -> LMDBStore {
    let url = URL(fileURLWithPath: path)
    var options = LMDBStoreOptions()
    options.isReadOnly = true
    return try LMDBStore(url: url, schema: try LMDBStore.model(at: url).schema(), options: options)
  }
}

/// Says how far something has come: in place on a terminal, not at all elsewhere.
struct ProgressLine {
  private let isTerminal = isatty(STDERR_FILENO) == 1

  func show(_ text: String) {
    if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8)) }
  }

  func end() { show("") }
}
