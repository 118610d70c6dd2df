import ArgumentParser
import Foundation
import StrataCore

/// A prompt for one store.
struct Shell: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "A prompt for all these commands about one store, which need not be named each time.",
    discussion: """
      “rows Person --where 'age > 30'” instead of “strata rows STORE Person --where 'age > 30'”. Tab completes commands, options, entities and properties; \
      the arrow keys bring back earlier lines, which are kept in ~/.strata_history (or the file that STRATA_HISTORY names). “exit” or Ctrl-D ends it.

      On a pipe it reads lines, without a prompt, and ends at the first that fails with the exit code of that one, unless --keep-going is given. Lines that \
      begin with # say nothing.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "On a pipe: go on after a line that fails; the exit code is that of the last that did.")
  var keepGoing = false
  var subject: String? { store }
  static let readsServers = true

  func perform() throws {
    var session = try ShellSession(store)
    defer { session.close() }
    guard isatty(STDIN_FILENO) == 1 else {
      var code: Int32 = 0
      let lines = try LineReader("-")
      while let line = try lines.next() {
        let text = String(decoding: line, as: UTF8.self)
        switch session.run(text) {
        case .ended: return try end(with: code)
        case .code(0): continue
        case .code(let failed):
          code = failed
          if !keepGoing { return try end(with: code) }
        }
      }
      return try end(with: code)
    }
    let editor = LineEditor(prompt: "strata> ", completer: session.completer)
    try Output.current.line("\(store). “help” lists the commands, “exit” ends.")
    try Output.current.flush()
    while let line = try editor.read() {
      if case .ended = session.run(line) { break }
    }
    editor.saveHistory()
  }

  private func end(with code: Int32) throws {
    if code != 0 { throw ExitCode(code) }
  }
}

/// Runs lines about one store.
struct ShellSession {
  enum Outcome: Equatable {
    case code(Int32)
    case ended
  }

  let completer: Completer
  private let path: String
  /// Open meanwhile, so that commands join it and need not look at the file first.
  private var held: LMDBStore?

  init(_ path: String) throws {
    self.path = path
    if StorePath.address(path) != nil {
      // Each command has a connection of its own.
      completer = Completer(try StorePath.model(path).schema())
      return
    }
    let store = try StorePath.open(path)
    held = store
    completer = Completer(try StoreWindow(store).schema)
  }

  mutating func close() {
    held?.close()
    held = nil
  }

  /// Where a command has the store among its words; nil for those that have none.
  private static func place(_ command: String) -> Int? {
    switch command {
    case "port-core-data": nil
    case "restore", "load": 1
    default: 0
    }
  }

  /// Commands that want the store for themselves.
  private static let alone: Set = ["restore", "load", "compact", "migrate", "shell"]

  mutating func run(_ line: String) -> Outcome {
    let words: [String]
    do {
      words = try ShellWords.split(line)
    } catch {
      try? Output.errors.line("strata: \(error)")
      return .code(Failure.Kind.usage.rawValue)
    }
    guard let command = words.first, !command.hasPrefix("#") else { return .code(0) }
    if ["exit", "quit"].contains(command), words.count == 1 { return .ended }
    if command == "help" || command.hasPrefix("-") { return .code(StrataCommand.execute(words)) }
    if command == "shell" {
      try? Output.errors.line("strata: This is the shell already.")
      return .code(Failure.Kind.usage.rawValue)
    }
    if command == "browse" {
      // It becomes another program, in which the signals that the shell ignores would stay ignored.
      try? Output.errors.line(
        "strata: The page is served until it is stopped: start “strata browse” outside the shell.")
      return .code(Failure.Kind.usage.rawValue)
    }
    var arguments = words
    if StrataCommand.commandNames.contains(command), !words.contains("--help"), !words.contains("-h"),
      let place = Self.place(command)
    {
      arguments.insert(path, at: min(1 + place, arguments.count))
    }
    if Self.alone.contains(command) { close() }
    let code = StrataCommand.execute(arguments)
    // What cannot be opened any more is told by the next command.
    if held == nil, StorePath.address(path) == nil { held = try? StorePath.open(path) }
    return .code(code)
  }
}

/// Takes a line apart as a shell does: spaces, quotes of both kinds, backslashes.
enum ShellWords {
  struct Unfinished: Error, CustomStringConvertible {
    let description: String
  }

  static func split(_ line: String) throws -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var rest = line[...]
    while let character = rest.popFirst() {
      if let open = quote {
        if character == open {
          quote = nil
        } else if open == "\"", character == "\\", let next = rest.first, "\"\\".contains(next) {
          word?.append(rest.removeFirst())
        } else {
          word?.append(character)
        }
      } else if character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if character == "\\" {
        guard let next = rest.popFirst() else {
          throw Unfinished(description: "The line ends with a backslash.")
        }
        word = (word ?? "") + String(next)
      } else if character.isWhitespace {
        if let whole = word { words.append(whole) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let quote { throw Unfinished(description: "The line ends inside of \(quote) quotes.") }
    if let word { words.append(word) }
    return words
  }
}
