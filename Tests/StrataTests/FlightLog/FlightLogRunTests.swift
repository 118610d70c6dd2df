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

  /// A run that is killed while it makes a store leaves a file that holds none yet.
  @Test func whatAKilledRunHasBegunIsDeleted() async throws {
    let half = store.sibling("half")
    try half.close(try await half.open())
    try LMDBStore.empty(at: half.url)
    try half.destroy()
    #expect(!FileManager.default.fileExists(atPath: half.url.path))
    // What is no store stays.
    try Data("Dear diary".utf8).write(to: half.url)
    #expect(throws: (any Error).self) { try half.destroy() }
    #expect(try Data(contentsOf: half.url) == Data("Dear diary".utf8))
  }

  private func run(_ data: URL, startsFresh: Bool = false) async throws -> FlightLogRun {
    let run = FlightLogRun(
      source: try DataFolder(data), store: store,
      terminal: Terminal(output: .nullDevice, errors: .nullDevice), startsFresh: startsFresh)
    try await run.run()
    return run
  }

  /// On the first flights of the shipped data. `FlightLogProgramTests` import all of it.
  @Test func theWholeJobAgreesWithTheFiles() async throws {
    defer { folder.remove() }
    let data = try ShortData.make()
    defer { data.remove() }
    let run = try await run(data.url)
    #expect(run.report.failures == [])
    #expect(run.report.checkCount > 40)
    // A second run finds everything there, takes its edits back, and agrees again.
    let again = try await self.run(data.url)
    #expect(again.report.failures == [])
  }

  /// Two airlines, one plane, two airports, an hour of weather; three flights, each lacking something of them.
  private func makeLinkedData() throws -> TemporaryFolder {
    func flight(_ carrier: String, _ tail: String, _ origin: String, _ destination: String) -> String {
      "2013,1,1,517,515,2,830,819,11,\(carrier),1,\(tail),\(origin),\(destination),"
        + "227,1400,5,15,2013-01-01T10:00:00Z\n"
    }
    let flights = [
      flight("UA", "N1", "JFK", "LAX"), flight("UA", "N2", "JFK", "SJU"), flight("XX", "NA", "EWR", "LAX"),
    ]
    return try TableReaderTests.makeData([
      "airlines": "carrier,name\nUA,United\nAA,American\n",
      "airports": "faa,name,lat,lon,alt,tz,dst,tzone\nJFK,Kennedy,40,-73,13,-5,A,z\n"
        + "LAX,Los Angeles,33,-118,126,-8,A,z\n",
      "planes": "tailnum,year,type,manufacturer,model,engines,seats,speed,engine\n"
        + "N1,1999,wing,Boeing,737,2,149,NA,jet\n",
      "weather": "origin,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour\n"
        + "JFK,39,26,59,270,10,NA,0,1012,10,2013-01-01T10:00:00Z\n",
      "flights": Self.header + "\n" + flights.joined(),
    ])
  }

  @Test func flightsAreLinkedToWhatTheFilesKnow() async throws {
    defer { folder.remove() }
    let data = try makeLinkedData()
    defer { data.remove() }
    let run = try await run(data.url)
    #expect(run.report.failures == [])
    let container = try await store.open()
    let flights = try container.viewContext.fetch(
      FetchRequest<Flight>(entityName: "Flight", sortDescriptors: [FetchSort("line")]))
    let airlines: [String?] = flights.map { $0.airline?.name }
    #expect(airlines == ["United", "United", nil])
    let planes: [String?] = flights.map { $0.plane?.model }
    #expect(planes == ["737", nil, nil])
    let origins: [String?] = flights.map { $0.originAirport?.name }
    #expect(origins == ["Kennedy", "Kennedy", nil])
    let destinations: [String?] = flights.map { $0.destinationAirport?.name }
    #expect(destinations == ["Los Angeles", nil, "Los Angeles"])
    let temperatures: [Double?] = flights.map { $0.weather?.temperature }
    #expect(temperatures == [39, 39, nil])
    #expect(flights[0].weather?.airport?.arrivals.count == 0)
    #expect(Set(flights[0].weather?.flights.map(\.line) ?? []) == [2, 3])
    #expect(flights[0].originAirport?.departures.count == 2)
    let links = try FlightLinks(context: container.viewContext).follow()
    #expect(links.tally.flightsToMissing == ["SJU": 1])
    #expect(links.tally.flightsOfUnknownPlanes == 2)
    #expect(links.busiestPlane?.hasPrefix("N1, Boeing 737: ") == true)
    try store.close(container)
  }

  /// A flight that leads to the wrong plane, or to none, does not pass.
  @Test func aWrongLinkIsFound() async throws {
    defer { folder.remove() }
    let data = try makeLinkedData()
    defer { data.remove() }
    _ = try await run(data.url)
    let container = try await store.open()
    let context = container.viewContext
    let flights = try context.fetch(
      FetchRequest<Flight>(entityName: "Flight", sortDescriptors: [FetchSort("line")]))
    flights[1].plane = flights[0].plane
    flights[0].weather = nil
    let links = try FlightLinks(context: context).follow()
    #expect(links.wrong == 2)
    #expect(links.tally.toPlanes == 2)
    #expect(links.ledBack == links.tally.ofFlights)
    try context.save()
    try store.close(container)
    await #expect(throws: FlightLogError.self) { try await self.run(data.url) }
  }

  /// What a run that was killed between two edits left behind goes with the next one, weather included.
  @Test func aFieldLeftBehindIsTakenBack() async throws {
    defer { folder.remove() }
    let data = try makeLinkedData()
    defer { data.remove() }
    _ = try await run(data.url)
    let container = try await store.open()
    let field = Airport(context: container.viewContext)
    field.faa = FlightDeletions.airfield
    field.name = "left behind"
    (field.latitude, field.longitude, field.altitude) = (40, -74, 3)
    let weather = Weather(context: container.viewContext)
    weather.origin = FlightDeletions.airfield
    weather.hour = .now
    weather.airport = field
    try container.viewContext.save()
    try store.close(container)
    let run = try await run(data.url)
    #expect(run.report.failures == [])
  }

  @Test func startingFreshReplacesAStoreOfAnotherModelButNoForeignFile() async throws {
    defer { folder.remove() }
    let data = try makeLinkedData()
    defer { data.remove() }
    let airline = EntityDescription("Airline")
    let old = PersistentContainer(name: "Old", model: ManagedObjectModel(entities: [airline]))
    try FileManager.default.createDirectory(
      at: store.url.deletingLastPathComponent(), withIntermediateDirectories: true)
    old.persistentStoreDescriptions = [PersistentStoreDescription(url: store.url)]
    try await old.loadPersistentStores()
    // It has no code, which the log's model wants.
    _ = ManagedObject(entity: airline, insertInto: old.viewContext)
    try old.viewContext.save()
    try store.close(old)
    await #expect(throws: (any Error).self) { try await self.run(data.url) }
    let run = try await run(data.url, startsFresh: true)
    #expect(run.report.failures == [])

    let diary = Data("Dear diary, this is no store at all.\n".utf8)
    try diary.write(to: store.url)
    await #expect(throws: (any Error).self) { try await self.run(data.url, startsFresh: true) }
    #expect(try Data(contentsOf: store.url) == diary)
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
