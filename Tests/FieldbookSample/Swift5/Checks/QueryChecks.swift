import SwiftData
import Testing

@Suite("Fieldbook: queries")
struct QueryChecks {
  @Test("Helpers count, find, page and delete")
  func helpers() throws {
    let context = ModelContext(try AppStore.inMemory())
    SampleData.insertMany(50, into: context)
    #expect(try context.count(Sighting.self) == 50)
    #expect(try context.count(where: #Predicate<Sighting> { $0.isVerified }) == 17)
    #expect(try context.exists(where: #Predicate<Site> { $0.name == "Long Marsh" }))
    #expect(try context.first(where: #Predicate<Sighting> { $0.note == "Number 7" })?.count == 8)
    let ordered = FetchDescriptor<Sighting>(sortBy: [SortDescriptor(\.date), SortDescriptor(\.note)])
    let pages = try context.pages(size: 20, of: ordered)
    #expect(pages.map(\.elements.count) == [20, 20, 10] && pages.last?.isLast == true)
    #expect(pages[0].pageCount == 3 && !pages[0].isLast)
    #expect(Set(pages.flatMap { $0.elements.map(\.note) }).count == 50)
    #expect(try context.deleteAll(where: #Predicate<Sighting> { !$0.isVerified }) == 33)
    try context.saveIfNeeded()
    #expect(try context.count(Sighting.self) == 17)
  }

  @Test("A filter narrows by text, date, number, site, species and tag")
  func filters() throws {
    let sightings = SightingRepository(try makeSampleContext())
    func codes(_ filter: SightingFilter, _ order: SightingOrder = .oldest) throws -> [String] {
      try sightings.sightings(filter, order: order).compactMap { $0.species?.code }
    }
    #expect(try codes(.everything).count == 7)
    #expect(try codes(SightingFilter(text: "DAWN")).count == 7)
    #expect(try codes(SightingFilter(text: "red kite")) == ["KITE"])
    #expect(try codes(SightingFilter(since: SampleData.day(5))) == ["SWIF", "TURT"])
    #expect(try codes(SightingFilter(until: SampleData.day(1))) == ["BLTI", "CURL"])
    #expect(try codes(SightingFilter(minimumCount: 6)) == ["SWIF", "TURT"])
    #expect(try codes(SightingFilter(siteName: "Long Marsh")) == ["BLTI", "OSPR"])
    #expect(try codes(SightingFilter(speciesCodes: ["KITE", "OSPR"])) == ["KITE", "OSPR"])
    #expect(try codes(SightingFilter(tagName: "rare")) == ["SWIF", "TURT"])
    #expect(try codes(SightingFilter(isVerifiedOnly: true)).isEmpty)
    #expect(!SightingFilter.everything.isActive && SightingFilter(text: "a").isActive)
  }

  @Test("Lists are ordered by values and through relationships")
  func orders() throws {
    let sightings = SightingRepository(try makeSampleContext())
    #expect(try sightings.sightings(.everything, order: .newest).map(\.count) == [7, 6, 5, 4, 3, 2, 1])
    #expect(try sightings.sightings(.everything, order: .mostAnimals).first?.count == 7)
    let names = try sightings.sightings(.everything, order: .species).compactMap { $0.species?.commonName }
    #expect(names == ["Blue Tit", "Curlew", "Lapwing", "Osprey", "Red Kite", "Swift", "Turtle Dove"])
  }

  @Test("Unsaved changes are in what is fetched, and left out on request")
  func pending() throws {
    let context = try makeSampleContext()
    let one = try #require(try context.first(where: #Predicate<Sighting> { $0.count == 1 }))
    one.count = 50
    context.insert(Sighting(note: "new", count: 60))
    var descriptor = FetchDescriptor<Sighting>(predicate: #Predicate { $0.count >= 50 })
    #expect(try context.fetchCount(descriptor) == 2)
    descriptor.includePendingChanges = false
    #expect(try context.fetch(descriptor).isEmpty)
    context.rollback()
    #expect(one.count == 1)
  }

  @Test("Sightings of a species, by its identifier; by one of several tags; without a species")
  func related() throws {
    let context = try makeSampleContext()
    let sightings = SightingRepository(context)
    let kite = try SpeciesRepository(context).species(coded: "KITE")
    #expect(try sightings.sightings(of: kite).map(\.count) == [3])
    #expect(try sightings.sightings(taggedAny: ["rare", "spring"]).count == 5)
    context.insert(Sighting(note: "what was it?", date: SampleData.day(9)))
    #expect(try context.fetch(.unidentified).map(\.note) == ["what was it?"])
    #expect(try context.fetch(.recent(days: 2, before: SampleData.day(6))).count == 3)
  }

  @Test("Large results come in batches")
  func batches() throws {
    let context = ModelContext(try AppStore.inMemory())
    SampleData.insertMany(300, into: context)
    try context.save()
    let results = try context.fetch(
      FetchDescriptor<Sighting>(sortBy: [SortDescriptor(\.note)]), batchSize: 32)
    #expect(results.count == 300 && results[0].note == "Number 0")
    var animals = 0
    for sighting in results { animals += sighting.count }
    var expected = 0
    for number in 0..<300 { expected += number % 9 + 1 }
    #expect(animals == expected)
  }
}
