import Foundation
import Strata
import Testing

@testable import FlightLog

/// The flight log's job on a real store: whole, resumed, on damaged data, on other data.
@MainActor
struct FlightLogRunTests {
  let folder: TemporaryFolder
  let store: FlightStore

  init() throws {
    folder = try TemporaryFolder()
    store = FlightStore(url: folder.url.appendingPathComponent("Log/Log.strata"))
  }

  /// Flights enough for several batches of a small batch size, some lines damaged.
  private static let header = FlightRow.Column.allCases.map(\.name).joined(separator: ",")
  private static func flightLines(_ count: Int) -> String {
    header + "\n"
      + (1...count).map { number in
        number % 10 == 7
          ? "damaged line \(number)\n"
          : "2013,1,1,517,515,\(number),830,819,11,UA,\(number),N14228,JFK,LAX,227,1400,5,15,2013-01-01T10:00:00Z\n"
      }.joined()
  }

  private func makeData(flights count: Int = 95) throws -> TemporaryFolder {
    try TableReaderTests.makeData([
      "flights": Self.flightLines(count), "airlines": "carrier,name\nUA,United\nAA,American\n",
    ])
  }

  private func run(_ data: URL, startsFresh: Bool = false) async throws -> FlightLogRun {
    let run = FlightLogRun(
      source: try DataFolder(data), store: store,
      terminal: Terminal(output: .nullDevice, errors: .nullDevice), startsFresh: startsFresh)
    try await run.run()
    return run
  }

  @Test func theWholeJobAgreesWithTheFixture() async throws {
    defer { folder.remove() }
    let run = try await run(DataFolder.fixture)
    #expect(run.report.failures == [])
    #expect(run.report.checkCount > 40)
    // A second run finds everything there, takes its edits back, and agrees again.
    let again = try await self.run(DataFolder.fixture)
    #expect(again.report.failures == [])
  }

  @Test func damagedLinesAreLeftOutAndCounted() async throws {
    defer { folder.remove() }
    let data = try makeData()
    defer { data.remove() }
    let run = try await run(data.url)
    #expect(run.report.failures == [])
    let container = try await store.open()
    let journal = try container.viewContext.fetch(
      FetchRequest<ImportState>(entityName: "ImportState", predicate: Attribute("table") == "flights"))
    #expect(journal.first?.rowCount == 86)
    #expect(journal.first?.damageCount == 9)
    try store.close(container)
  }

  /// An import that dies after any number of saved batches is completed by the next run, each line once.
  @Test(arguments: [1, 2, 5, 8])
  func anInterruptedImportGoesOn(batches: Int) async throws {
    defer { folder.remove() }
    let data = try makeData()
    defer { data.remove() }
    // The cut file stands for the part that was read before the interruption: the damage makes the import throw.
    let cut = Self.flightLines(95).split(separator: "\n", omittingEmptySubsequences: false)
    try Data((cut.prefix(batches * 10 + 5).joined(separator: "\n")).utf8)
      .write(to: data.url.appendingPathComponent("flights.csv"))
    let container = try await store.open()
    var importer = Importer(
      source: try DataFolder(data.url), container: container, progress: ImportProgress(), report: { _ in })
    importer.batchSize = 9
    try await importer.run()
    try await unfinish(container, data)
    try store.close(container)

    let run = try await run(data.url)
    #expect(run.report.failures == [])
  }

  /// Makes the journal say what it says after a kill between two batches of the flights.
  private func unfinish(_ container: PersistentContainer, _ data: TemporaryFolder) async throws {
    try data.write(Self.flightLines(95), to: "flights.csv")
    let fingerprint = try DataFolder(data.url).fingerprint(of: "flights")
    let context = container.viewContext
    let journal = try context.fetch(
      FetchRequest<ImportState>(entityName: "ImportState", predicate: Attribute("table") == "flights"))
    let state = try #require(journal.first)
    state.isFinished = false
    state.fingerprint = fingerprint
    try context.save()
  }

  @Test func otherDataStartsAgain() async throws {
    defer { folder.remove() }
    let first = try makeData(flights: 95)
    defer { first.remove() }
    let second = try makeData(flights: 42)
    defer { second.remove() }
    _ = try await run(first.url)
    let run = try await run(second.url)
    #expect(run.report.failures == [])
  }

  @Test func aDamagedStoreIsRefusedAndStaysAsItIs() async throws {
    defer { folder.remove() }
    let file = try folder.write(String(repeating: "not a store ", count: 1_000), to: "Log/Log.strata")
    let before = try Data(contentsOf: file)
    await #expect(throws: (any Error).self) { try await self.run(DataFolder.fixture) }
    #expect(try Data(contentsOf: file) == before)
  }
}
