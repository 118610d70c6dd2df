import SwiftData

/// One line of the shell.
struct JournalCommand {
  struct Usage: Error, CustomStringConvertible {
    let description = """
      journal FILE add TEXT [mood] [tag …]
      journal FILE list [tag]
      journal FILE search TEXT
      journal FILE delete NUMBER
      journal FILE import TEXTFILE
      journal FILE figures
      journal FILE history
      """
  }

  /// Does what the arguments say. Returns the lines to print.
  static func run(_ arguments: [String]) async throws -> [String] {
    guard arguments.count >= 2 else { throw Usage() }
    let journal = try Journal(at: URL(fileURLWithPath: arguments[0]))
    let rest = Array(arguments.dropFirst(2))
    switch (arguments[1], rest.count) {
    case ("add", 1...):
      let entry = try journal.add(
        rest[0], mood: rest.count > 1 ? rest[1] : "calm", tags: Array(rest.dropFirst(2)))
      return ["Wrote “\(entry.title)”."]
    case ("list", 0...1): return lines(try journal.list(tag: rest.first))
    case ("search", 1): return lines(try journal.search(rest[0]))
    case ("delete", 1):
      guard let number = Int(rest[0]) else { throw Usage() }
      try journal.delete(number)
      return ["Deleted entry \(number)."]
    case ("import", 1):
      let text = try String(contentsOf: URL(fileURLWithPath: rest[0]), encoding: .utf8)
      let count = try await JournalWorker(modelContainer: journal.container).take(text, from: .now)
      return ["Took \(count) entries."]
    case ("figures", 0):
      let figures = try await JournalWorker(modelContainer: journal.container).figures()
      return ["\(figures.entries) entries, \(figures.words) words"]
        + figures.moods.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        + figures.tags.sorted { $0.key < $1.key }.map { "#\($0.key): \($0.value)" }
    case ("history", 0): return try journal.history()
    default: throw Usage()
    }
  }

  private static func lines(_ entries: [Entry]) -> [String] {
    entries.map { entry in
      let tags = entry.tags.map { "#\($0.name)" }.sorted().joined(separator: " ")
      return "\(entry.title) (\(entry.mood.rawValue))\(tags.isEmpty ? "" : " \(tags)")"
    }
  }
}
