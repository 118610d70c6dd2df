import SwiftData
import Testing

@Suite("Fieldbook: four versions of the store")
struct MigrationChecks {
  private func container(_ version: any VersionedSchema.Type, _ folder: Folder) throws -> ModelContainer {
    let schema = Schema(versionedSchema: version)
    return try ModelContainer(
      for: schema,
      configurations: [ModelConfiguration("Fieldbook", schema: schema, url: folder.file("Fieldbook.store"))])
  }

  @Test("A store of the first version opens with the present one")
  func fromFirst() throws {
    let folder = try Folder()
    do {
      let context = ModelContext(try container(SchemaV1.self, folder))
      let marsh = SchemaV1.Site(name: "Marsh", latitude: 1, longitude: 2)
      let twin = SchemaV1.Site(name: "Marsh", latitude: 1, longitude: 2)
      context.insert(marsh)
      context.insert(twin)
      context.insert(SchemaV1.Sighting(text: "KITE circling", date: SampleData.day(1), site: marsh))
      context.insert(SchemaV1.Sighting(text: "KITE", date: SampleData.day(2), site: twin))
      context.insert(SchemaV1.Sighting(text: "a brown bird", date: SampleData.day(3), site: twin))
      try context.save()
    }
    let context = ModelContext(try AppStore.open(in: folder.url))
    let site = try #require(try context.all(Site.self).first)
    #expect(try context.count(Site.self) == 1 && site.sightings.count == 3)
    #expect(site.habitat == .unknown && site.access == nil && site.coordinate.latitude == 1)
    let sightings = try context.all(Sighting.self, sortBy: [SortDescriptor(\.date)])
    #expect(sightings.map(\.note) == ["circling", "", "a brown bird"])
    #expect(sightings.map { $0.species?.code } == ["KITE", "KITE", nil])
    #expect(
      sightings.allSatisfy { $0.count == 1 && !$0.isVerified && $0.tags.isEmpty && $0.behaviours.isEmpty })
    #expect(try context.count(Species.self) == 1)
  }

  @Test("A store of the third version needs one step only, and keeps what it has")
  func fromThird() throws {
    let folder = try Folder()
    do {
      let context = ModelContext(try container(SchemaV3.self, folder))
      let site = SchemaV3.Site(name: "Quarry", latitude: 3, longitude: 4)
      let sighting = SchemaV3.Sighting(text: "LAPW", date: SampleData.day(1), count: 9, site: site)
      sighting.isVerified = true
      sighting.species = SchemaV3.Species(code: "LAPW", commonName: "Lapwing")
      context.insert(sighting)
      try context.save()
    }
    let context = ModelContext(try AppStore.open(in: folder.url))
    let sighting = try #require(try context.all(Sighting.self).first)
    // The step that takes codes out of texts lies behind this store.
    #expect(sighting.note == "LAPW" && sighting.count == 9 && sighting.isVerified)
    #expect(sighting.species?.commonName == "Lapwing" && sighting.site?.name == "Quarry")
  }

  @Test("A store of the present version is opened as it is, twice")
  func present() throws {
    let folder = try Folder()
    for round in 1...2 {
      let context = ModelContext(try AppStore.open(in: folder.url))
      context.insert(Tag(name: "round \(round)"))
      try context.save()
      #expect(try context.count(Tag.self) == round)
    }
  }

  @Test("A file that is no store is not opened, and stays as it is")
  func noStore() throws {
    let folder = try Folder()
    let file = folder.file("Fieldbook.store")
    try Data("nonsense".utf8).write(to: file)
    #expect(throws: AppStore.Failure.cannotOpen("Fieldbook.store")) { try AppStore.open(in: folder.url) }
    #expect(try Data(contentsOf: file) == Data("nonsense".utf8))
  }

  @Test("A store that is opened to look at refuses saves")
  func readOnly() throws {
    let folder = try Folder()
    do {
      let context = ModelContext(try AppStore.open(in: folder.url))
      context.insert(Tag(name: "kept"))
      try context.save()
    }
    let context = ModelContext(try AppStore.openReadOnly(in: folder.url))
    #expect(try context.all(Tag.self).map(\.name) == ["kept"])
    context.insert(Tag(name: "refused"))
    #expect(throws: (any Error).self) { try context.save() }
    #expect(context.hasChanges)
    context.rollback()
    #expect(try context.count(Tag.self) == 1)
  }
}
