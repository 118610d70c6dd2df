import ArgumentParser
import Foundation
import StrataCore

/// Commits as they come.
struct Watch: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Prints what others save to a store, as they save it, until it is stopped.",
    discussion: """
      Of a store that records a history who has saved and what has changed, of another one how many objects of each entity. Looks ten times a second; writes \
      nothing and delays nobody. With --json each line of a store with a history has a token, from which “history --since” goes on.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "List every change.") var changes = false
  // Unconditional: a number below 0 is a value, and refused as one.
  @Option(parsing: .unconditional, help: "End after so many saves; 0 for never.") var count = 0
  @Flag(help: "A line of JSON for each save.") var json = false
  var subject: String? { store }

  func validate() throws {
    if count < 0 { throw ValidationError("--count must not be negative; 0 never ends.") }
  }

  static let readsServers = true

  func perform() throws {
    var seen = 0
    while true {
      // Opened again when another file has taken its place, as after a migration.
      let ended = try follow(&seen)
      if ended { return }
    }
  }

  /// Whether that was all that was asked for; false when the file has been exchanged.
  private func follow(_ seen: inout Int) throws -> Bool {
    let output = Output.current
    return try StoreHistory.read(store) { coordinator in
      guard let followed = coordinator.persistentStores.first as? any FollowedStore else {
        throw Failure(.other, "The store does not tell when others save to it.")
      }
      let recordsHistory = try coordinator.currentHistoryToken() != nil
      var known = try followed.commitNumber()
      var token = try coordinator.currentHistoryToken()
      if !json {
        try output.line(
          "Watching commits after number \(known)\(recordsHistory ? "" : "; the store records no history: nobody is named"). Ctrl-C ends it."
        )
      }
      try output.flush()
      while true {
        guard followed.isInPlace else {
          if StorePath.address(store) == nil, access(StorePath.resolved(store).path, F_OK) != 0 {
            throw Failure(.missing, "The store's file is gone.")
          }
          if !json { try output.line("Another file has taken the store's place.") }
          try output.flush()
          return false
        }
        let newest = try followed.commitNumber()
        if newest == known {
          usleep(100_000)
          continue
        }
        if recordsHistory {
          try coordinator.forEachHistoryTransaction(.fetchHistory(after: token)) { transaction in
            token = transaction.token
            try write(transaction)
            seen += 1
            return count == 0 || seen < count
          }
        } else {
          for commit in try followed.journal(after: known).commits {
            try write(commit, of: coordinator)
            seen += 1
            if count > 0 && seen >= count { break }
          }
        }
        known = newest
        try output.flush()
        if count > 0 && seen >= count { return true }
      }
    }
  }

  private func write(_ transaction: PersistentHistoryTransaction) throws {
    let output = Output.current
    if json { return try output.json(StoreHistory.json(transaction, changes: changes)) }
    try output.line(StoreHistory.line(transaction))
    if changes {
      for change in transaction.changes ?? [] { try output.line("  \(StoreHistory.words(change))") }
    }
  }

  private func write(_ commit: JournaledCommit, of coordinator: PersistentStoreCoordinator) throws {
    let entities = try coordinator.managedObjectModel.schema().entities
    let lists: [(String, BatchKeys)] = [
      ("inserted", commit.changes.inserted), ("updated", commit.changes.updated),
      ("deleted", commit.changes.deleted), ("related", commit.changes.related),
    ]
    let output = Output.current
    if json {
      var members: [(String, JSONValue)] = [("number", .number(Int(commit.number)))]
      for (word, keys) in lists {
        let named = keys.lists.enumerated().filter { !$1.isEmpty }.map {
          entity, list -> (String, JSONValue) in
          (
            entities[entity].name,
            changes ? .strings(list.map { "p\($0)" }) : .number(list.count)
          )
        }
        if !named.isEmpty { members.append((word, .object(named))) }
      }
      members.append(("uncertain", .strings(commit.changes.uncertain.map { entities[$0].name })))
      return try output.json(.object(members))
    }
    var parts: [String] = []
    for (word, keys) in lists {
      for (entity, list) in keys.lists.enumerated() where !list.isEmpty {
        parts.append("\(list.count) \(entities[entity].name) \(word)")
      }
    }
    if !commit.changes.uncertain.isEmpty {
      let names = commit.changes.uncertain.map { entities[$0].name }.joined(separator: ", ")
      parts.append("any of \(names)")
    }
    try output.line("\(commit.number)  \(parts.isEmpty ? "no objects" : parts.joined(separator: ", "))")
    if changes {
      for (word, keys) in lists {
        for (entity, list) in keys.lists.enumerated() {
          for key in list { try output.line("  \(word) \(entities[entity].name)/p\(key)") }
        }
      }
    }
  }
}
