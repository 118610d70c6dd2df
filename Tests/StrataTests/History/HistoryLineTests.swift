import Foundation
import Strata
import Testing

/// Tokens of a file that was replaced by an older copy of it (rules 282–284, 287).
struct HistoryLineTests {
  let stand: HistoryStand
  /// The copy that continues.
  let copy: PersistentStoreCoordinator
  /// Of the commit that both have.
  let shared: PersistentHistoryToken
  /// Of the commits that only the replaced file has had: numbers 3 and 4.
  let lost: [PersistentHistoryToken]

  init() throws {
    stand = try HistoryStand()
    let context = stand.context()
    for name in ["a", "b"] { try stand.make("Note", ["title": name], in: context) }
    let url = stand.folder.url.appendingPathComponent("Copy.strata")
    try #require(stand.store as? LMDBStore).backup(to: url)
    shared = try #require(try stand.coordinator.currentHistoryToken())
    for name in ["c", "d"] { try stand.make("Note", ["title": name], in: context) }
    lost =
      try stand.transactions(after: shared).map(\.token) + [
        try #require(try stand.coordinator.currentHistoryToken())
      ]
    copy = try HistoryStand.open(url)
    let other = HistoryStand.context(copy)
    for name in ["x", "y", "z"] { try stand.make("Note", ["title": name], in: other) }
  }

  private func code(_ body: () throws -> Void) -> CoreDataError.Code? {
    #expect(throws: CoreDataError.self) { try body() }?.code
  }

  private func titles(_ token: PersistentHistoryToken) throws -> Int {
    try copy.history(.fetchHistory(after: token)).transactions.count
  }

  @Test(
    "rule 284: a token of what the copy has not had is expired, though the copy has had as many commits since"
  )
  func abandoned() throws {
    #expect(lost.map { $0.commitNumbers.values.first } == [3, 4, 4])
    for token in lost {
      #expect(code { _ = try titles(token) } == .persistentHistoryTokenExpired)
      // As applications keep it.
      let kept = try JSONDecoder().decode(PersistentHistoryToken.self, from: JSONEncoder().encode(token))
      #expect(code { _ = try titles(kept) } == .persistentHistoryTokenExpired)
    }
    #expect(try titles(shared) == 3)
    let own = try copy.history(.fetchHistory(after: shared)).transactions.map(\.token)
    #expect(try own.map { try titles($0) } == [2, 1, 0])
    #expect(try copy.currentHistoryToken() == own.last)
    #expect(lost[1] == lost[2] && lost[1] != own[1], "as many commits of another copy are another moment")
  }

  @Test("rules 283, 284: nothing is deleted, nor remembered, by a token of what the store has not had")
  func deleting() throws {
    #expect(
      code { _ = try copy.history(.deleteHistory(before: lost[1])) } == .persistentHistoryTokenExpired)
    #expect(
      code { try copy.setHistoryConsumer(named: "widget", to: lost[1]) } == .persistentHistoryTokenExpired)
    #expect(try copy.historyConsumers(of: copy.persistentStores[0]).isEmpty)
    #expect(try titles(shared) == 3)
  }

  @Test("rule 284: so when the copy has deleted the transactions in question")
  func deleted() throws {
    let own = try copy.history(.fetchHistory(after: shared)).transactions.map(\.token)
    _ = try copy.history(.deleteHistory(before: own[2]))
    // The history begins behind commit 4: the copy's own.
    #expect(code { _ = try titles(lost[1]) } == .persistentHistoryTokenExpired)
    #expect(try titles(own[1]) == 1)
    #expect(code { _ = try titles(own[0]) } == .persistentHistoryTokenExpired)
  }

  @Test("rule 284: two histories that began in copies are two")
  func begunTwice() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let url = folder.url.appendingPathComponent("Plain.strata")
    let plain = try HistoryStand.open(url, recordsHistory: false)
    try stand.make("Note", ["title": "a"], in: HistoryStand.context(plain))
    let second = folder.url.appendingPathComponent("Second.strata")
    try #require(plain.persistentStores.first as? LMDBStore).backup(to: second)
    try plain.remove(plain.persistentStores[0])
    let (first, other) = (try HistoryStand.open(url), try HistoryStand.open(second))
    let token = try #require(try first.currentHistoryToken())
    #expect(try first.history(.fetchHistory(after: token)).transactions.isEmpty)
    #expect(code { _ = try other.history(.fetchHistory(after: token)) } == .persistentHistoryTokenExpired)
    try first.remove(first.persistentStores[0])
    try other.remove(other.persistentStores[0])
  }
}
