import ArgumentParser
import Foundation
import StrataCore

/// The page in the browser.
struct Browse: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Serves a page to look into a store with a browser.",
    discussion: """
      Prints an address of this computer, with a secret in it, and answers there until it is stopped. Nobody else can ask: only this computer is \
      listened to, and only who knows the secret gets an answer. The store is only read, unless --write is given. The page is a program of its own, \
      strata-browse, which has to lie beside this one.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @OptionGroup var options: BrowseOptions
  var subject: String? { store }

  func run() throws {
    // The program that is started instead sets up its signals by itself, and would take those that are ignored here for ignored by its caller.
    try runTask(preparesSignals: BrowseServing.server != nil)
  }

  func perform() throws {
    if let server = BrowseServing.server {
      return try server.serve(try StoreBrowser(store, writes: options.write), options)
    }
    try Self.startProgram(Self.arguments(of: self))
  }

  /// The same command line for the program of its own.
  private static func arguments(of command: Browse) -> [String] {
    var words: [String] = []
    if let port = command.options.port { words += ["--port", String(port)] }
    if command.options.open { words.append("--open") }
    if command.options.write { words.append("--write") }
    return words + ["--", command.store]
  }

  /// Becomes the program `strata-browse`, which lies beside this one. Returns only by throwing.
  private static func startProgram(_ arguments: [String]) throws {
    let own = (Bundle.main.executablePath ?? CommandLine.arguments[0])
    let program = StorePath.resolved(own).deletingLastPathComponent().appendingPathComponent("strata-browse")
      .path
    guard access(program, X_OK) == 0 else {
      throw Failure(
        .missing, "The page is a program of its own, and there is no \(program).",
        advice: "“swift build -c release --product strata-browse” builds it; it belongs beside strata.")
    }
    try Output.current.flush()
    let words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    execv(program, words)
    throw Failure(.other, "\(program) cannot be started: \(String(cString: strerror(errno))).")
  }
}

/// How a page is served.
package struct BrowseOptions: ParsableArguments, Sendable {
  @Option(help: "The port to listen on; one that is free, unless it is given.") package var port: UInt16?
  @Flag(help: "Open the page with the system's browser.") package var open = false
  @Flag(help: "Permit edits. They are one context, which can be undone, saved and thrown away.") package
    var write = false

  package init() {}
}

/// What serves the page, where the program has it.
enum BrowseServing {
  /// A structure around the function: the optimizer of Swift 6.3 makes a program that crashes of a task-local value that is a function.
  struct Server: Sendable {
    let serve: @Sendable (StoreBrowser, BrowseOptions) throws -> Void
  }
  @TaskLocal static var server: Server?
}

/// Runs the program `strata-browse` with a command line; the exit code. `server` serves the page until the program is stopped.
package func runStrataBrowse(
  _ arguments: [String], server: @escaping @Sendable (StoreBrowser, BrowseOptions) throws -> Void
) -> Int32 {
  beginProgram()
  return BrowseServing.$server.withValue(BrowseServing.Server(serve: server)) {
    StrataCommand.execute(["browse"] + arguments)
  }
}

/// A sentence for whoever has started the program, and a failure with one.
package enum BrowseReport {
  /// Writes a line to standard output, at once.
  /// - Throws: when that cannot be written.
  package static func line(_ text: String) throws {
    try Output.current.line(text)
    try Output.current.flush()
  }

  /// A failure that ends the program: exit code 6 when the port is taken, 1 otherwise.
  package static func failure(_ sentence: String, isBusy: Bool = false, advice: String? = nil) -> any Error {
    Failure(isBusy ? .busy : .other, sentence, advice: advice)
  }
}
