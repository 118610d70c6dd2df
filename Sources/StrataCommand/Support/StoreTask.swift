import ArgumentParser
import Foundation
import StrataCore

/// What all subcommands do: their work, and one sentence when it fails.
protocol StoreTask: ParsableCommand {
  /// The store that the task is about, for advice; nil when there is none.
  var subject: String? { get }
  func perform() throws
}

extension StoreTask {
  var subject: String? { nil }

  func run() throws {
    Interruption.prepare()
    defer { Interruption.waitIfEnding() }
    do {
      do {
        try perform()
      } catch let code as ExitCode {
        try Output.current.flush()
        throw code
      }
      try Output.current.flush()
    } catch let code as ExitCode {
      throw code
    } catch {
      Interruption.waitIfEnding()
      // What was said before it went wrong counts.
      if !(error is OutputError) { try? Output.current.flush() }
      let failure = Failure(error, store: subject)
      try? Output.errors.line("strata: \(failure.text)")
      throw ExitCode(failure.kind.rawValue)
    }
  }
}

/// A store's file, as a path says it.
enum StorePath {
  /// The place of a store that is there. A symbolic link stands for what it leads to.
  static func resolved(_ path: String) -> URL {
    guard let real = realpath(path, nil) else { return URL(fileURLWithPath: path) }
    defer { free(real) }
    return URL(fileURLWithPath: String(cString: real))
  }

  /// Opens a store as it is, with the model that it carries, for reading only: nothing is written and nothing migrated.
  static func open(_ path: String) throws -> LMDBStore {
    let url = resolved(path)
    var options = LMDBStoreOptions()
    options.isReadOnly = true
    // One that holds the entities of a configuration has the hashes of these alone.
    options.ignoresVersionHashes = true
    do {
      return try LMDBStore(url: url, schema: try LMDBStore.model(at: url).schema(), options: options)
    } catch let error as StorageError where error.kind == .busy {
      throw error
    }
  }

  /// One commit of a store, which is open until `body` returns.
  static func read<R>(_ path: String, _ body: (StoreWindow) throws -> R) throws -> R {
    let store = try open(path)
    defer { store.close() }
    return try { try body(try StoreWindow(store)) }()
  }
}
