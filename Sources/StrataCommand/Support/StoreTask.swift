import ArgumentParser
import Foundation
import StrataCore

/// What all subcommands do: their work, and one sentence when it fails.
protocol StoreTask: ParsableCommand {
  /// The store that the task is about, for advice; nil when there is none.
  var subject: String? { get }
  /// Whether the store may be on a server.
  static var readsServers: Bool { get }
  func perform() throws
}

extension StoreTask {
  var subject: String? { nil }
  static var readsServers: Bool { false }

  func run() throws { try runTask() }

  /// - Parameter preparesSignals: False for a command that hands on to another program.
  func runTask(preparesSignals: Bool = true) throws {
    if preparesSignals { Interruption.prepare() }
    defer { Interruption.waitIfEnding() }
    do {
      do {
        // The file system takes an empty path for the current folder.
        if subject?.isEmpty == true { throw Failure(.usage, "The path is empty.") }
        if let subject, !Self.readsServers, StorePath.address(subject) != nil {
          throw Failure(
            .usage, "“strata \(Self._commandName)” works on files, and “\(subject)” is an address.",
            advice: "On a server there are: \(StrataCommand.serverCommands.joined(separator: ", ")).")
        }
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

/// A store's file, as a path says it, or its address on a server.
enum StorePath {
  /// The place of a store that is there. A symbolic link stands for what it leads to.
  static func resolved(_ path: String) -> URL {
    guard let real = realpath(path, nil) else { return URL(fileURLWithPath: path) }
    defer { free(real) }
    return URL(fileURLWithPath: String(cString: real))
  }

  /// The address of a store that is in no file; nil for a path.
  static func address(_ path: String) -> URL? {
    guard path.contains("://"), let url = URL(string: path), let scheme = url.scheme?.lowercased(),
      scheme != "file"
    else { return nil }
    return url
  }

  /// Describes a store to a coordinator that reads it as it is: nothing is written and nothing migrated.
  static func description(_ path: String) throws -> PersistentStoreDescription {
    var description: PersistentStoreDescription
    if let url = address(path) {
      let type = StoreEngines.type(of: url)
      guard type != .lmdb else {
        let isPostgres = ["postgres", "postgresql"].contains(url.scheme?.lowercased())
        throw Failure(
          .usage, "This program opens files, and no addresses that begin with “\(url.scheme ?? "")”.",
          advice: isPostgres ? "“strata-postgres” opens stores on PostgreSQL servers." : nil)
      }
      description = PersistentStoreDescription(type: type, url: url)
    } else {
      description = PersistentStoreDescription(url: resolved(path))
    }
    description.isReadOnly = true
    description.ignoresModelVersion = true
    description.followsOtherProcesses = false
    return description
  }

  /// The model that a store carries. Classes are known by their names only.
  static func model(_ path: String) throws -> ManagedObjectModel {
    guard address(path) != nil else { return try LMDBStore.model(at: resolved(path)) }
    let description = try description(path)
    return try StoreEngines.kind(description.type).model(of: description, withClasses: false)
  }

  /// Opens a store as it is, with the model that it carries, for reading only: nothing is written and nothing migrated.
  static func open(_ path: String) throws -> LMDBStore {
    var options = LMDBStoreOptions()
    options.isReadOnly = true
    return try LMDBStore.openAsCarried(at: resolved(path), options: options).store
  }

  /// One commit of a store, which is open until `body` returns.
  static func read<R>(_ path: String, _ body: (StoreWindow) throws -> R) throws -> R {
    if address(path) != nil {
      return try StoreHistory.read(path) { coordinator in
        guard let store = coordinator.persistentStores.first as? any StoreEngine else {
          throw Failure(.other, "The store is not one that can be read.")
        }
        return try body(try StoreWindow(store, schema: try coordinator.managedObjectModel.schema()))
      }
    }
    let store = try open(path)
    defer { store.close() }
    return try { try body(try StoreWindow(store)) }()
  }
}
