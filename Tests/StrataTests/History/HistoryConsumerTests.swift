import Foundation
import Strata
import Testing

/// Readers of a history under a name, and how long it is kept for them.
struct HistoryConsumerTests {
  private let stand: HistoryStand
  init() throws { stand = try HistoryStand() }

  @Test("a consumer continues where it was, in another stack too")
  func goesOn() throws {
    let context = stand.context()
    try stand.make("Note", ["title": "a"], in: context)
    #expect(try stand.coordinator.history(.fetchHistory(after: .consumer("widget"))).count == 1)
    try stand.coordinator.setHistoryConsumer(named: "widget", to: stand.coordinator.currentHistoryToken())
    try stand.make("Note", ["title": "b"], in: context)
    let other = try HistoryStand.open(stand.url)
    let news = try other.history(.fetchHistory(after: .consumer("widget")))
    #expect(news.transactions.map(\.transactionNumber) == [2])
    #expect(try other.historyConsumers(of: other.persistentStores[0]).map(\.name) == ["widget"])
    try other.setHistoryConsumer(named: "widget", to: nil)
    #expect(try stand.coordinator.historyConsumers(of: stand.store).isEmpty)
    #expect(throws: CoreDataError.self) {
      try other.setHistoryConsumer(named: "", to: news.transactions[0].token)
    }
  }

  @Test("what a consumer has seen can be deleted; a consumer that is too late gets an error")
  func deleting() throws {
    let context = stand.context()
    for title in ["a", "b", "c"] { try stand.make("Note", ["title": title], in: context) }
    let all = try stand.transactions()
    try stand.coordinator.setHistoryConsumer(named: "widget", to: all[1].token)
    #expect(try stand.coordinator.history(.deleteHistory(before: .consumer("widget"))).count == 2)
    #expect(try stand.coordinator.history(.fetchHistory(after: .consumer("widget"))).count == 1)
    _ = try stand.coordinator.history(.deleteHistory(before: Date().addingTimeInterval(60)))
    let error = #expect(throws: CoreDataError.self) {
      try stand.coordinator.history(.fetchHistory(after: .consumer("widget")))
    }
    #expect(error?.code == .persistentHistoryTokenExpired)
  }
}
