import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Connections of the pool that have died while nobody used them.
@Suite struct EndedSessionTests {
  private func makeStand() throws -> ServerStand {
    var options = PostgresStoreOptions()
    options.listens = false
    options.pollInterval = .seconds(3_600)
    let stand = try ServerStand(Library.make(), options: options)
    let context = stand.context()
    for number in 1...3 { try context.make("Book", ["title": "b\(number)", "pages": Int32(number)]) }
    try context.save()
    return stand
  }

  /// Ends the sessions of the store, whose last statement is a read.
  private func endSessions(_ stand: ServerStand) throws {
    #expect(try stand.context().all("Book").count == 3)
    let sessions =
      "FROM pg_stat_activity WHERE application_name = 'strata' AND pid <> pg_backend_pid() AND query LIKE '%\(stand.store.mapping.namespace)%'"
    let ended = try #require(try stand.sql("SELECT pg_terminate_backend(pid) \(sessions)"))
    #expect(ended.rowCount > 0)
    for _ in 0..<3_000 {
      let left = try #require(try stand.sql("SELECT pid \(sessions)"))
      if left.rowCount == 0 { return }
      Thread.sleep(forTimeInterval: 0.01)
    }
    Issue.record("The sessions do not end.")
  }

  @Test func aGenerationIsPinnedAllTheSame() throws {
    let stand = try makeStand()
    try endSessions(stand)
    let snapshot = try #require(try stand.store.makeSnapshot())
    snapshot.release()
    try endSessions(stand)
    let context = stand.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.all("Book").count == 3)
  }

  @Test func rowsOfValuesAreReadAllTheSame() throws {
    let stand = try makeStand()
    var request = FetchRequest<FetchedDictionary>(entityName: "Book", sortDescriptors: [FetchSort("title")])
    request.propertiesToFetch = ["title"]
    let context = stand.context()
    try endSessions(stand)
    #expect(try context.fetch(request).count == 3)
  }
}
