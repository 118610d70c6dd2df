import SwiftData
import Synchronization
import Testing

/// A store of the program's own that hands everything on to Strata's, and counts.
struct CountingConfiguration: DataStoreConfiguration {
  typealias Store = CountingStore
  var name = "counting"
  var schema: Schema?
  var url: URL
}

final class CountingStore: DataStore {
  typealias Configuration = CountingConfiguration
  typealias Snapshot = DefaultSnapshot
  let configuration: CountingConfiguration
  private let inner: DefaultStore
  private(set) var saves = 0
  var identifier: String { inner.identifier }
  var schema: Schema { inner.schema }

  init(_ configuration: CountingConfiguration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws {
    self.configuration = configuration
    inner = try DefaultStore(
      ModelConfiguration(schema: configuration.schema, url: configuration.url), migrationPlan: migrationPlan)
  }

  func fetch<T>(_ request: DataStoreFetchRequest<T>) throws -> DataStoreFetchResult<T, DefaultSnapshot>
  where T: PersistentModel { try inner.fetch(request) }
  func save(_ request: DataStoreSaveChangesRequest<DefaultSnapshot>) throws
    -> DataStoreSaveChangesResult<DefaultSnapshot>
  {
    saves += 1
    return try inner.save(request)
  }
}

@Suite("Strata's store as a DataStore")
struct DefaultStoreTests {
  private let folder: Folder
  init() throws { folder = try Folder() }

  private var configuration: ModelConfiguration {
    ModelConfiguration(schema: Schema([Voyage.self]), url: folder.file("Voyages.store"))
  }

  private func makeVoyage() throws {
    let context = ModelContext(try ModelContainer(for: Voyage.self, configurations: configuration))
    context.author = "app"
    let voyage = Voyage("Oslo")
    voyage.home = Residence(street: "Karl Johans gate 1", city: "Oslo", zip: nil)
    voyage.legs = [Leg("Out", miles: 3)]
    context.insert(voyage)
    try context.save()
  }

  @Test("It reads what a container has written, and a container reads what it writes")
  func snapshots() throws {
    try makeVoyage()
    let store = try DefaultStore(configuration, migrationPlan: nil)
    let state = ModelContext(try ModelContainer(for: Voyage.self, configurations: configuration)).editingState
    let result = try store.fetch(
      DataStoreFetchRequest<Voyage>(
        editingState: state, descriptor: FetchDescriptor(predicate: #Predicate { $0.name == "Oslo" })))
    let snapshot = try #require(result.fetchedSnapshots.first)
    #expect(snapshot.persistentIdentifier.storeIdentifier == store.identifier)
    let text = String(decoding: try JSONEncoder().encode(snapshot), as: UTF8.self)
    #expect(text.contains("Karl Johans gate 1"))
    let decoded = try JSONDecoder().decode(DefaultSnapshot.self, from: Data(text.utf8))
    #expect(decoded.persistentIdentifier == snapshot.persistentIdentifier)
    let saved = try store.save(
      DataStoreSaveChangesRequest(editingState: state, inserted: [], updated: [decoded], deleted: []))
    #expect(saved.storeIdentifier == store.identifier)
    #expect(saved.remappedIdentifiers.isEmpty)
    let context = ModelContext(try ModelContainer(for: Voyage.self, configurations: configuration))
    let voyage = try #require(try context.fetch(FetchDescriptor<Voyage>()).first)
    #expect(voyage.persistentModelID == snapshot.persistentIdentifier)
    #expect(voyage.home?.street == "Karl Johans gate 1")
    #expect(voyage.legs.map(\.title) == ["Out"])
    #expect(try store.fetchHistory(HistoryDescriptor()).first?.author == "app")
    _ = try store.save(
      DataStoreSaveChangesRequest(editingState: state, inserted: [], updated: [], deleted: [snapshot]))
    #expect(try context.fetchCount(FetchDescriptor<Voyage>()) == 0)
    #expect(throws: CocoaError.self) {
      try store.save(
        DataStoreSaveChangesRequest(editingState: state, inserted: [], updated: [snapshot], deleted: []))
    }
  }

  @Test("A store that is built upon it keeps its identifiers")
  func wrapped() throws {
    func open() throws -> ModelContainer {
      try ModelContainer(
        for: Voyage.self, configurations: CountingConfiguration(url: folder.file("Voyages.store")))
    }
    let id: PersistentIdentifier
    do {
      let context = ModelContext(try open())
      let voyage = Voyage("Oslo")
      voyage.legs = [Leg("Out"), Leg("Back")]
      voyage.guests = [Guest("Ada")]
      context.insert(voyage)
      try context.save()
      id = voyage.persistentModelID
      voyage.name = "Bergen"
      voyage.legs.removeAll { $0.title == "Back" }
      try context.save()
    }
    do {
      let context = ModelContext(try open())
      #expect((context.model(for: id) as? Voyage)?.name == "Bergen")
    }
    // The same file without the program's store.
    let context = ModelContext(try ModelContainer(for: Voyage.self, configurations: configuration))
    let voyage = try #require(try context.fetch(FetchDescriptor<Voyage>()).first)
    #expect(voyage.name == "Bergen")
    #expect(voyage.persistentModelID == id)
    #expect(voyage.legs.map(\.title) == ["Out"])
    #expect(voyage.guests.map(\.name) == ["Ada"])
  }

  @Test("A configuration without a schema makes no store")
  func withoutSchema() {
    #expect(throws: SwiftDataError.unknownDataStoreSchema) {
      try DefaultStore(ModelConfiguration(url: folder.file()), migrationPlan: nil)
    }
  }
}
