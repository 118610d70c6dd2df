import Foundation
import StrataCore

extension StoreBrowser {
  /// How many changes of a transaction are listed.
  private static let mostChanges = 200

  /// What was saved, newest first: `before` is the number of the last transaction that is known already. `read` says how many were looked at.
  func history(_ request: BrowseRequest, _ store: OpenStore) throws -> BrowseAnswer {
    guard try store.coordinator.currentHistoryToken() != nil else {
      return BrowseAnswer(["recordsHistory": false, "transactions": .array([]), "hasMore": false])
    }
    let before = try request.number("before", else: .max)
    let limit = try request.number("limit", else: 50, most: 200)
    var fetch = PersistentHistoryRequest.fetchHistory(after: .beginning)
    fetch.isNewestFirst = true
    // What is newer is not read again.
    fetch.below = UInt64(before)
    // One more says whether there is another page.
    fetch.fetchBatchSize = limit + 1
    var transactions: [JSONValue] = []
    var read = 0
    try store.coordinator.forEachHistoryTransaction(fetch) { transaction in
      read += 1
      if transactions.count == limit { return false }
      transactions.append(StoreHistory.json(transaction, changes: true, most: Self.mostChanges))
      return true
    }
    return BrowseAnswer([
      "recordsHistory": true, "transactions": .array(transactions), "read": .number(read),
      "hasMore": .boolean(read > limit),
    ])
  }

  /// The model as a picture.
  func diagram(_ store: OpenStore) -> BrowseAnswer {
    let entities = store.schema.model.entities.sorted { $0.title < $1.title }
    var answer = BrowseAnswer(type: "image/svg+xml; charset=utf-8", body: Array(Diagram(entities).svg.utf8))
    answer.isStyledPicture = true
    return answer
  }

  /// Where the bytes are.
  func space(_ request: BrowseRequest, _ store: OpenStore) throws -> BrowseAnswer {
    let (counts, window) = try counts(store, for: request.asker)
    let figures = try StoreFigures(
      window,
      counts: window.schema.entities.filter { !$0.isAbstract }.map {
        ($0.name, counts.byEntity[$0.number] ?? 0)
      })
    let parts = figures.space.bytes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map {
      name, bytes -> JSONValue in
      [
        "name": .string(StoreFigures.words(name)), "bytes": .number(bytes),
        "entries": .number(figures.statistics.entryCounts[name] ?? 0),
      ]
    }
    guard case .object(var members) = figures.report else { throw Failure(.other, "There are no figures.") }
    members.append(("parts", .array(parts)))
    return BrowseAnswer(.object(members))
  }
}
