import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Times of commits: the server takes them, each above the one before.
@Suite struct CommitTimeTests {
  private func stand() throws -> ServerStand {
    var options = PostgresStoreOptions()
    options.recordsHistory = true
    return try ServerStand(Library.make(), options: options)
  }

  private func times(_ stand: ServerStand) throws -> [Date] {
    try stand.coordinator.history(.fetchHistory(after: .beginning)).transactions.map(\.timestamp)
  }

  private func ascend(_ times: [Date]) -> Bool { zip(times, times.dropFirst()).allSatisfy { $0 < $1 } }

  @Test func theyAscendWhoeverCommits() throws {
    let stand = try stand()
    let programs = try (0..<4).map { _ in try stand.neighbour(Library.make()) }
    DispatchQueue.concurrentPerform(iterations: programs.count) { number in
      let context = programs[number].context(.privateQueue)
      context.performAndWait {
        for save in 0..<15 {
          _ = try? context.make("Subject", ["name": "\(number) \(save)"])
          try? context.save()
        }
      }
    }
    let times = try times(stand)
    #expect(times.count == 60)
    #expect(ascend(times))
    let now = Date()
    #expect(times.allSatisfy { abs($0.timeIntervalSince(now)) < 600 })
  }

  @Test func theyGoOnWhenTheClockWasPutBackUnlessItWasFarAhead() throws {
    let stand = try stand()
    let context = stand.context()
    func save() throws -> Date {
      try context.make("Subject", ["name": "s"])
      try context.save()
      return try #require(try times(stand).last)
    }
    let store = stand.table("strata_store")
    let first = try save()
    try stand.sql("UPDATE \(store) SET last_at = last_at + 1800")
    let ahead = [try save(), try save(), try save()]
    #expect(ascend([first.addingTimeInterval(1_800)] + ahead))
    #expect(ahead[2].timeIntervalSince(first) < 1_800.001)
    try stand.sql("UPDATE \(store) SET last_at = last_at + 3600")
    let back = try save()
    #expect(abs(back.timeIntervalSince(first)) < 600)
    #expect(ascend([first, back, try save()]))
  }
}
