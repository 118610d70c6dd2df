import SwiftData
import Testing

@Suite("Fieldbook: actors")
struct ActorChecks {
  static let csv = #"""
    date,site,species,count,note
    2024-05-01,Long Marsh,curl,3,"two adults, one chick"
    2024-05-02,New Pond,MALL,12,
    2024-05-02,New Pond,,1,"said ""no"""
    someday,New Pond,MALL,1,
    2024-05-03,,MALL,1,
    2024-05-04,Long Marsh,MALL,many,
    """#

  @Test("Lines are imported by an actor; wrong ones are told")
  func importing() async throws {
    let container = try AppStore.inMemory()
    let actor = ImportActor(modelContainer: container)
    let report = try await actor.importCSV(Self.csv, batchSize: 2)
    #expect(report == ImportActor.Report(inserted: 3, skipped: [5, 6, 7], newSpecies: ["CURL", "MALL"]))
    let context = ModelContext(container)
    let sightings = try context.all(Sighting.self, sortBy: [SortDescriptor(\.count)])
    #expect(sightings.map(\.note) == ["said \"no\"", "two adults, one chick", ""])
    #expect(try context.count(Site.self) == 2 && context.count(Species.self) == 2)
    #expect(try context.first(where: #Predicate<Site> { $0.name == "New Pond" })?.sightings.count == 2)
  }

  @Test("A table that cannot be read is refused as a whole")
  func refusing() async throws {
    let actor = ImportActor(modelContainer: try AppStore.inMemory())
    await #expect(throws: CSVReader.Failure.noHead) { try await actor.importCSV("") }
    await #expect(throws: CSVReader.Failure.missingColumn("species")) {
      try await actor.importCSV("date,site,count\n")
    }
    await #expect(throws: CSVReader.Failure.wrongCount(line: 2, expected: 4, found: 1)) {
      try await actor.importCSV("date,site,species,count\nx\n")
    }
    await #expect(throws: CSVReader.Failure.unclosedQuote(line: 1)) { try await actor.importCSV("\"a\n") }
  }

  @Test("Figures are made by an actor and leave it as values")
  func statistics() async throws {
    let container = try AppStore.inMemory()
    let context = ModelContext(container)
    SampleData.insertMany(70, into: context)
    try context.save()
    let actor = StatisticsActor(modelContainer: container)
    let statistics = try await actor.all()
    #expect(statistics.sightings == 70 && statistics.verified == 24 && statistics.perSpecies.count == 7)
    #expect(statistics.animals == statistics.perSpecies.reduce(0) { $0 + $1.animals })
    #expect(statistics.perMonth.values.reduce(0, +) == 70 && statistics.firstDate == SampleData.day(0))
    #expect(try await actor.busiestSites(2).map(\.count) == [18, 18])
  }

  @Test("A cleanup removes what nobody needs, and others see that")
  func cleanup() async throws {
    let context = try makeSampleContext()
    context.insert(Tag(name: "unused"))
    context.insert(Site(name: "Empty", at: .zero, createdAt: SampleData.day(0)))
    context.insert(Photo(imageData: Data([1])))
    try context.save()
    let actor = CleanupActor(modelContainer: context.container)
    let result = try await actor.run(emptySitesBefore: SampleData.day(1))
    #expect(result == CleanupActor.Result(tags: 1, sites: 1, photos: 1))
    #expect(
      try context.count(Tag.self) == 2 && context.count(Site.self) == 4 && context.count(Photo.self) == 0)
  }

  @Test(
    "Identifiers go to an actor, and what it saves is seen here; one that has gone is answered with false")
  func identifiers() async throws {
    let context = try makeSampleContext()
    let actor = CleanupActor(modelContainer: context.container)
    let sighting = try #require(try context.all(Sighting.self).first)
    #expect(!sighting.isVerified)
    #expect(try await actor.verify(sighting.persistentModelID))
    let identifier = sighting.persistentModelID
    #expect(try context.count(where: #Predicate<Sighting> { $0.isVerified }) == 1)
    #expect(sighting.isVerified)
    context.delete(sighting)
    try context.save()
    #expect(try await !actor.verify(identifier))
  }

  @Test("Many actors write at the same time, and nothing is lost")
  func concurrent() async throws {
    let container = try AppStore.inMemory()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<6 {
        group.addTask {
          let rows = (1...20).map { "2024-06-\($0 < 10 ? "0" : "")\($0),Site \(number),SP\(number)X,\($0)" }
          let text = (["date,site,species,count"] + rows).joined(separator: "\n")
          return try await ImportActor(modelContainer: container).importCSV(text, batchSize: 7).inserted
        }
      }
      for try await inserted in group { #expect(inserted == 20) }
    }
    let context = ModelContext(container)
    #expect(try context.count(Sighting.self) == 120 && context.count(Site.self) == 6)
  }
}
