import Foundation
import StoreConformance
import StrataCore
import StrataPostgres
import Testing

/// What every engine must do, on a server.
@Suite struct ServerConformanceTests {
  static let engine = ConformingEngine("PostgreSQL", abilities: Set(EngineAbility.allCases)) {
    PersistentStoreDescription(
      type: .postgres, url: try TestServer.required().url(TestServer.freshNamespace()))
  } discard: { description in
    if let url = description.url { try? PostgresStores.destroy(at: url) }
  }

  @Test("Each case", arguments: StoreConformance.cases)
  func conforms(_ testCase: ConformanceCase) throws {
    guard Self.engine.missing(for: testCase).isEmpty else { return }
    try Self.engine.run(testCase)
  }
}
