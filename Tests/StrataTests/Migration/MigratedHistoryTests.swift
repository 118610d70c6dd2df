import Foundation
import Strata
import Testing

/// What happens to a store's history when the store is migrated.
struct MigratedHistoryTests {
  let stand: MigrationStand

  init() throws { stand = try MigrationStand() }

  @Test("rules 277, 284: a migrated store continues recording; what was recorded before is expired")
  func goesOn() throws {
    let context = try stand.open(LightweightMigrationTests.first()) { $0.recordsHistory = true }
    try context.performAndWait {
      context.newObject("Shelf", ["name": "top"])
      try context.save()
    }
    let before = try #require(stand.coordinator)
    let token = try before.currentHistoryToken()
    try before.setHistoryConsumer(named: "widget", to: token)

    // The option is not given again: a store that records a history continues.
    let after = try stand.open(LightweightMigrationTests.second())
    let new = try #require(stand.coordinator)
    let store = try #require(new.persistentStores.first)
    for origin in [
      PersistentHistoryRequest.fetchHistory(after: token), .fetchHistory(after: .consumer("widget")),
    ] {
      let error = #expect(throws: CoreDataError.self) { try new.history(origin) }
      #expect(error?.code == .persistentHistoryTokenExpired)
    }
    #expect(try new.historyConsumers(of: store).map(\.name) == ["widget"])
    // Rule 283: what lies before it has gone with the migration.
    let old = try #require(token)
    #expect(try new.history(.deleteHistory(before: old)).count == 0)
    let start = try new.currentHistoryToken()
    try after.performAndWait {
      after.newObject("Label", ["name": "red"])
      try after.save()
    }
    let news = try new.history(.fetchHistory(after: start)).transactions
    #expect(news.count == 1)
    #expect(try new.history(.deleteHistory(before: old)).count == 0)
    #expect(try new.history(.fetchHistory(after: start)).transactions.count == 1)
    #expect(news.first?.changes?.map(\.changedObjectID.entityName) == ["Label"])
    #expect(try stand.problems() == [])
  }

  @Test("rule 277: a store without a history has none after its migration")
  func noHistory() throws {
    let before = try stand.open(LightweightMigrationTests.first())
    try before.performAndWait {
      before.newObject("Shelf", ["name": "top"])
      try before.save()
    }
    try stand.open(LightweightMigrationTests.second())
    let error = #expect(throws: CoreDataError.self) {
      try stand.coordinator?.history(.fetchHistory(after: PersistentHistoryToken?.none))
    }
    #expect(error?.code == .persistentStoreUnsupportedRequestType)
  }
}
