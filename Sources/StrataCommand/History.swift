import ArgumentParser
import Foundation
import StrataCore

/// What was changed, and by which author.
struct History: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Lists what was saved to a store that records a history, newest first. Writes nothing.")

  @Argument(help: "The store's file.") var store: String
  @Option(help: "The most transactions to list; 0 for all.") var limit = 20
  @Option(help: "Only what this author has saved.") var author: String?
  @Flag(help: "List every change, not only how many there are.") var changes = false

  func validate() throws {
    if limit < 0 { throw ValidationError("The limit is 0 or more.") }
  }

  func perform() throws {
    let url = URL(fileURLWithPath: store)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try LMDBStore.model(at: url))
    var description = PersistentStoreDescription(url: url)
    description.isReadOnly = true
    description.followsOtherProcesses = false
    let opened = try coordinator.addPersistentStore(description)
    // It is attached, so it can be removed.
    defer { try? coordinator.remove(opened) }
    var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
    request.isNewestFirst = true
    if let author {
      request.transactionPredicate = .comparison(key: "author", .equal, .string(author))
    }
    var count = 0
    try coordinator.forEachHistoryTransaction(request) { transaction in
      count += 1
      print(line(transaction))
      if changes { for change in transaction.changes ?? [] { print("  \(words(change))") } }
      return limit == 0 || count < limit
    }
    if count == 0 { print("Nothing.") }
  }

  private func line(_ transaction: PersistentHistoryTransaction) -> String {
    var counts: [PersistentHistoryChangeType: Int] = [:]
    for change in transaction.changes ?? [] { counts[change.changeType, default: 0] += 1 }
    let what = [(PersistentHistoryChangeType.insert, "inserted"), (.update, "updated"), (.delete, "deleted")]
      .compactMap { type, word in counts[type].map { "\($0) \(word)" } }.joined(separator: ", ")
    let who = [
      transaction.author.map { "by \($0)" }, transaction.contextName.map { "in \($0)" },
      "from \(transaction.processID)",
    ].compactMap { $0 }.joined(separator: " ")
    let time = transaction.timestamp.formatted(.iso8601)
    return "\(transaction.transactionNumber)  \(time)  \(what)  \(who)"
  }

  private func words(_ change: PersistentHistoryChange) -> String {
    let id = change.changedObjectID.uriRepresentation().lastPathComponent
    var words = "\(change.changeType) \(change.changedObjectID.entityName) \(id)"
    if change.changeType == .update {
      words += ": " + change.updatedPropertyNames.sorted().joined(separator: ", ")
    }
    if let tombstone = change.tombstone {
      words += ": " + tombstone.map { "\($0) = \($1)" }.sorted().joined(separator: ", ")
    }
    return words
  }
}
