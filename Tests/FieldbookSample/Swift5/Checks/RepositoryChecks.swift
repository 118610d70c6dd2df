import SwiftData
import Testing

@Suite("Fieldbook: repositories")
struct RepositoryChecks {
  @Test("Sites are made, found by name and renamed; what is wrong is refused")
  func sites() throws {
    let context = try makeSampleContext()
    let sites = SiteRepository(context)
    #expect(try sites.all().map(\.name) == ["Beech Hill", "Harbour Wall", "Long Marsh", "Old Quarry"])
    let made = try sites.create(named: "  Mill Pond ", at: Coordinate(latitude: 51, longitude: 0))
    #expect(made.name == "Mill Pond")
    #expect(throws: RepositoryError.emptyName) { try sites.create(named: " ", at: .zero) }
    #expect(throws: RepositoryError.duplicateName("Mill Pond")) {
      try sites.create(named: "Mill Pond", at: .zero)
    }
    #expect(throws: RepositoryError.invalidCoordinate) {
      try sites.create(named: "Nowhere", at: Coordinate(latitude: 91, longitude: 0))
    }
    try sites.rename(made, to: "Mill")
    #expect(throws: RepositoryError.duplicateName("Long Marsh")) { try sites.rename(made, to: "Long Marsh") }
    try sites.commit()
    #expect(try sites.count() == 5)
    #expect(try sites.site(named: "Mill") === made)
  }

  @Test("Sites near a place come nearest first")
  func nearby() throws {
    let sites = SiteRepository(try makeSampleContext())
    let centre = Coordinate(latitude: 51.5, longitude: -1.9)
    #expect(
      try sites.sites(within: 100, of: centre).map(\.name) == ["Beech Hill", "Old Quarry", "Harbour Wall"])
    #expect(try sites.sites(within: 10, of: centre).isEmpty)
  }

  @Test("Sites are found by what an enum says and by how much was seen there")
  func byContent() throws {
    let context = try makeSampleContext()
    let sites = SiteRepository(context)
    #expect(try sites.sites(with: .coast).map(\.name) == ["Harbour Wall"])
    try sites.create(named: "Empty Field", at: .zero)
    #expect(try sites.unvisited().map(\.name) == ["Empty Field"])
    #expect(try sites.busy(atLeast: 2).map(\.name) == ["Harbour Wall", "Long Marsh", "Old Quarry"])
  }

  @Test("Merged sites keep all their sightings, and the delete rule takes none of them")
  func merging() throws {
    let context = try makeSampleContext()
    let sites = SiteRepository(context)
    let marsh = try #require(try sites.site(named: "Long Marsh"))
    let quarry = try #require(try sites.site(named: "Old Quarry"))
    let total = try context.count(Sighting.self)
    sites.merge(marsh, into: quarry)
    try sites.commit()
    #expect(try context.count(Sighting.self) == total)
    #expect(quarry.sightings.count == 4 && quarry.access?.parking == "North gate")
  }

  @Test("A site takes its sightings with it; their tags and species stay")
  func cascade() throws {
    let context = try makeSampleContext()
    let marsh = try #require(try SiteRepository(context).site(named: "Long Marsh"))
    #expect(marsh.sightings.count == 2)
    context.delete(marsh)
    try context.save()
    #expect(
      try context.count(Sighting.self) == 5 && context.count(Species.self) == 7
        && context.count(Tag.self) == 2)
  }

  @Test("A sighting is recorded with all that belongs to it, and read by another context")
  func recording() throws {
    let context = try makeSampleContext()
    let marsh = try #require(try SiteRepository(context).site(named: "Long Marsh"))
    var draft = SightingRepository.Draft(note: "Over the reeds", date: SampleData.day(100), count: 3)
    draft.speciesCode = "hobb"
    draft.tags = ["rare", "evening"]
    draft.weather = Weather(sky: .rain, celsius: 4.5, wind: Weather.Wind(beaufort: 5, direction: "W"))
    draft.behaviours = [.nesting(eggs: 3), .flying(towards: "S", height: 40), .resting]
    draft.photos = [Data(repeating: 7, count: 5_000), Data([1, 2, 3])]
    let sighting = try SightingRepository(context).record(draft, at: marsh)
    try context.save()

    let other = ModelContext(context.container)
    let read = try #require(try other.existing(Sighting.self, sighting.persistentModelID))
    #expect(read !== sighting && read == read && read.note == "Over the reeds")
    #expect(read.species?.code == "HOBB" && read.site?.name == "Long Marsh")
    #expect(read.tags.map(\.name).sorted() == ["evening", "rare"])
    #expect(read.weather == draft.weather && read.behaviours == draft.behaviours)
    #expect(Set(read.photos?.map(\.imageData.count) ?? []) == [5_000, 3])
    #expect(read.photos?.allSatisfy { $0.sighting === read } == true)
  }

  @Test("A copy has the same values and relationships, and an identity of its own")
  func duplicating() throws {
    let context = try makeSampleContext()
    let sightings = SightingRepository(context)
    let original = try #require(try sightings.all().last)
    let copy = sightings.duplicate(original, on: SampleData.day(50))
    try context.save()
    #expect(copy.uuid != original.uuid && copy.persistentModelID != original.persistentModelID)
    #expect(copy.note == original.note && copy.measurements == original.measurements)
    #expect(copy.species === original.species && copy.site === original.site)
    #expect(Set(copy.tags) == Set(original.tags) && !copy.tags.isEmpty)
    #expect(original.tags.allSatisfy { $0.sightings.contains(copy) })
  }

  @Test("Old sightings that nobody has verified go in one request")
  func discarding() throws {
    let context = try makeSampleContext()
    let sightings = SightingRepository(context)
    sightings.verify(try sightings.find(#Predicate { $0.count == 1 }))
    try context.save()
    try sightings.discardUnverified(before: SampleData.day(3))
    #expect(try sightings.all().map(\.count).sorted() == [1, 4, 5, 6, 7])
  }

  @Test("Species are found by any of their names; one that was seen is not removed")
  func species() throws {
    let context = try makeSampleContext()
    let repository = SpeciesRepository(context)
    #expect(try repository.search("kite").map(\.code) == ["KITE"])
    #expect(try repository.search("VANELLUS").map(\.code) == ["LAPW"])
    #expect(try repository.search("").count == 7)
    #expect(try repository.species(atLeast: .vulnerable).map(\.code) == ["SWIF", "TURT"])
    let kite = try repository.species(coded: "kite")
    #expect(throws: RepositoryError.inUse(by: 1)) { try repository.removeUnused(kite) }
    context.delete(kite)
    #expect(throws: (any Error).self) { try repository.commit() }
    #expect(try repository.species(coded: "kite").sightings.count == 1)
  }

  @Test("Tags are counted, and unused ones go")
  func tags() throws {
    let context = try makeSampleContext()
    let tags = TagRepository(context)
    _ = try tags.tag(named: "unused")
    #expect(try tags.usage().map { "\($0.name) \($0.count)" } == ["spring 3", "rare 2", "unused 0"])
    #expect(try tags.removeUnused() == 1)
    try tags.commit()
    #expect(try tags.all().map(\.name) == ["rare", "spring"])
  }

  @Test("Observers are ranked; of two with one name a save leaves one, with the later values")
  func observers() throws {
    let context = try makeSampleContext()
    let observers = ObserverRepository(context)
    #expect(try observers.ranking().map(\.species) == [4, 3])
    #expect(try observers.withoutEmail().map(\.fullName) == ["Ben Hale"])
    let before = try #require(try observers.observer(givenName: "Ben", familyName: "Hale"))
    context.insert(Observer(givenName: "Ben", familyName: "Hale", email: "ben@example.org"))
    try context.save()
    let found = try observers.find(#Predicate { $0.familyName == "Hale" })
    #expect(found.map(\.email) == ["ben@example.org"])
    #expect(found.first?.persistentModelID == before.persistentModelID)
  }

  @Test("A transaction that fails leaves nothing")
  func transactions() throws {
    let context = try makeSampleContext()
    let sites = SiteRepository(context)
    #expect(throws: RepositoryError.emptyName) {
      try sites.transaction {
        try sites.create(named: "One", at: .zero)
        try sites.create(named: "", at: .zero)
      }
    }
    #expect(try sites.count() == 4 && !context.hasChanges)
    let made = try sites.transaction { try sites.create(named: "Two", at: .zero) }
    #expect(!made.persistentModelID.isTemporary)
  }
}
