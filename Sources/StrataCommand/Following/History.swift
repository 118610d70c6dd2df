import ArgumentParser
import Foundation
import StrataCore

/// What was changed, and by which author.
struct History: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Lists what was saved to a store that records a history, newest first. Writes nothing.",
    discussion: """
      --since takes a token as --json prints it, and lists everything after that moment in the order in which it was saved: a script keeps the last token \
      and goes on from there. A token that the history no longer reaches ends with exit code 4.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  // Unconditional: a number below 0 is a value, and refused as one.
  @Option(parsing: .unconditional, help: "The most transactions to list; 0 for all.") var limit: Int?
  @Option(help: "Only what this author has saved.") var author: String?
  @Option(help: "Only what was saved after this token, oldest first, without limit unless one is given.")
  var since: String?
  @Flag(help: "List every change, not only how many there are.") var changes = false
  @Flag(help: "Print the newest token, and nothing else.") var token = false
  @Flag(help: "A line of JSON for each transaction.") var json = false
  var subject: String? { store }
  static let readsServers = true

  func validate() throws {
    if (limit ?? 0) < 0 { throw ValidationError("--limit must not be negative; 0 lists all.") }
  }

  func perform() throws {
    let output = Output.current
    let limit = self.limit ?? (since == nil ? 20 : 0)
    try StoreHistory.read(store) { coordinator in
      if token {
        guard let token = try coordinator.currentHistoryToken() else {
          throw Failure(.missing, "The store records no history.")
        }
        if json { return try output.json(["token": .string(token.description)]) }
        return try output.line(token.description)
      }
      var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
      if let since { request = .fetchHistory(after: .token(try StoreHistory.token(since))) }
      request.isNewestFirst = since == nil
      if let author {
        request.transactionPredicate = .comparison(key: "author", .equal, .string(author))
      }
      var count = 0
      try coordinator.forEachHistoryTransaction(request) { transaction in
        count += 1
        if json {
          try output.json(StoreHistory.json(transaction, changes: changes))
        } else {
          try output.line(StoreHistory.line(transaction))
          if changes {
            for change in transaction.changes ?? [] { try output.line("  \(StoreHistory.words(change))") }
          }
        }
        return limit == 0 || count < limit
      }
      if count == 0 && !json { try output.line("Nothing.") }
    }
  }
}
