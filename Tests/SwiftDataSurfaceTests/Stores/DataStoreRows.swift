import SwiftData
import Testing

/// A store in a dictionary, as small as one can be.
final class DictionaryStore: DataStore {
  struct Configuration: DataStoreConfiguration {
    typealias Store = DictionaryStore
    var name = "dictionary"
    var schema: Schema?
  }
  typealias Snapshot = DefaultSnapshot

  let identifier = UUID().uuidString
  let schema: Schema
  let configuration: Configuration
  private var snapshots: [PersistentIdentifier: DefaultSnapshot] = [:]
  private var lastKey = 0

  init(_ configuration: Configuration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws {
    guard let schema = configuration.schema else { throw DataStoreError.unsupportedFeature }
    self.configuration = configuration
    self.schema = schema
  }

  func fetch<T>(_ request: DataStoreFetchRequest<T>) throws -> DataStoreFetchResult<T, DefaultSnapshot>
  where T: PersistentModel {
    if request.descriptor.predicate != nil { throw DataStoreError.preferInMemoryFilter }
    if !request.descriptor.sortBy.isEmpty { throw DataStoreError.preferInMemorySort }
    let name = Schema.entityName(for: T.self)
    return DataStoreFetchResult(
      descriptor: request.descriptor,
      fetchedSnapshots: snapshots.values.filter { $0.persistentIdentifier.entityName == name })
  }

  func save(_ request: DataStoreSaveChangesRequest<DefaultSnapshot>) throws
    -> DataStoreSaveChangesResult<DefaultSnapshot>
  {
    var remapped: [PersistentIdentifier: PersistentIdentifier] = [:]
    for snapshot in request.inserted {
      lastKey += 1
      remapped[snapshot.persistentIdentifier] = try PersistentIdentifier.identifier(
        for: identifier, entityName: snapshot.persistentIdentifier.entityName, primaryKey: lastKey)
    }
    for snapshot in request.inserted + request.updated {
      let id = remapped[snapshot.persistentIdentifier] ?? snapshot.persistentIdentifier
      snapshots[id] = snapshot.copy(persistentIdentifier: id, remappedIdentifiers: remapped)
    }
    for snapshot in request.deleted { snapshots[snapshot.persistentIdentifier] = nil }
    return DataStoreSaveChangesResult(for: identifier, remappedIdentifiers: remapped)
  }
}

@Suite("Data stores")
struct DataStoreRows {
  private func makeContainer() throws -> ModelContainer {
    try ModelContainer(for: Trip.self, configurations: DictionaryStore.Configuration())
  }

  @Test(
    "protocols DataStore, DataStoreConfiguration, DataStoreSnapshot; struct DefaultSnapshot; a container of one"
  )
  func store() throws {
    let context = ModelContext(try makeContainer())
    let trip = Trip(name: "a")
    trip.place = Place(city: "Bern", zip: 3000)
    trip.stays = [Stay(hotel: "Adler")]
    trip.guide = Guide(email: "e")
    context.insert(trip)
    context.insert(Trip(name: "b"))
    try context.save()
    let other = ModelContext(context.container)
    let found = try other.fetch(
      FetchDescriptor<Trip>(
        predicate: #Predicate { $0.stays.contains { $0.hotel == "Adler" } }, sortBy: [SortDescriptor(\.name)])
    )
    #expect(found.map(\.name) == ["a"] && found[0].place == trip.place && found[0].guide?.email == "e")
    #expect(found[0].persistentModelID == trip.persistentModelID)
    #expect(try other.fetchCount(FetchDescriptor<Trip>()) == 2)
  }

  @Test("init(for: Schema, configurations: [any DataStoreConfiguration]), beside a ModelConfiguration")
  func containers() throws {
    let configurations: [any DataStoreConfiguration] = [
      DictionaryStore.Configuration(schema: Schema([Trip.self])),
      ModelConfiguration("rest", schema: Schema([Vehicle.self]), isStoredInMemoryOnly: true),
    ]
    let container = try ModelContainer(
      for: Schema([Trip.self, Vehicle.self]), configurations: configurations)
    let context = ModelContext(container)
    context.insert(Trip(name: "a"))
    context.insert(Vehicle(wheels: 2))
    try context.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Vehicle>()) == 1)
    #expect(container.configurations.count == 1)
  }

  @Test("final class DefaultStore: DataStore, DataStoreBatching, HistoryProviding; requests and results")
  func defaultStore() throws {
    func isProviding<S: DataStore & DataStoreBatching & HistoryProviding>(_: S.Type) -> Bool { true }
    #expect(isProviding(DefaultStore.self) && DefaultStore.historyType == DefaultHistoryTransaction.self)
    let store = try DefaultStore(
      ModelConfiguration(schema: Schema([Guide.self]), isStoredInMemoryOnly: true), migrationPlan: nil)
    #expect(store.schema.entitiesByName["Guide"] != nil && !store.identifier.isEmpty)
    #expect(store.configuration.isStoredInMemoryOnly)
    let context = try makeContext()
    let guide = Guide(email: "e")
    context.insert(guide)
    var related: [PersistentIdentifier: any BackingData] = [:]
    let snapshot = DefaultSnapshot(from: guide.persistentBackingData, relatedBackingDatas: &related)
    let state: EditingState = context.editingState
    let result = try store.save(
      DataStoreSaveChangesRequest(editingState: state, inserted: [snapshot], updated: [], deleted: []))
    let identifier = try #require(result.remappedIdentifiers[guide.persistentModelID])
    #expect(result.storeIdentifier == store.identifier && result.snapshotsToReregister.isEmpty)
    let request = DataStoreFetchRequest<Guide>(editingState: state, descriptor: FetchDescriptor())
    let found: DataStoreFetchResult<Guide, DefaultSnapshot> = try store.fetch(request)
    #expect(found.fetchedSnapshots.map(\.persistentIdentifier) == [identifier])
    #expect(found.relatedSnapshots.isEmpty)
    #expect(try store.fetchCount(request) == 1)
    #expect(try store.fetchIdentifiers(request) == [identifier])
    #expect(try store.cachedSnapshots(for: [identifier], editingState: state).isEmpty)
    #expect(try store.fetchHistory(HistoryDescriptor()).count == 1)
    try store.deleteHistory(HistoryDescriptor())
    #expect(try store.fetchHistory(HistoryDescriptor()).isEmpty)
    store.initializeState(for: state)
    store.invalidateState(for: state)
    try store.delete(
      DataStoreBatchDeleteRequest<Guide>(editingState: state, predicate: #Predicate { $0.email == "x" }))
    #expect(try store.fetchCount(request) == 1)
    try store.erase()
    #expect(try store.fetchCount(request) == 0)
  }

  @Test(
    "enum DataStoreError, DataStoreSnapshotCodingKey, typealias DataStoreSnapshotValue, struct EditingState")
  func types() throws {
    let errors: Set<DataStoreError> = [
      .unsupportedFeature, .preferInMemoryFilter, .preferInMemorySort, .invalidPredicate,
    ]
    #expect(errors.count == 4)
    #expect(DataStoreSnapshotCodingKey(stringValue: "name") == .modeledProperty("name"))
    #expect(DataStoreSnapshotCodingKey.persistentIdentifier.stringValue == "persistentIdentifier")
    let value: any DataStoreSnapshotValue = 1
    #expect(value as? Int == 1)
    let context = try makeContext()
    context.author = "me"
    var state = context.editingState
    #expect(state.id == context.editingState.id && state.author == "me")
    state.author = "you"
    context.editingState = state
    let other = try makeContext().editingState
    #expect(context.author == "you" && state.id != other.id)
  }

  @Test("static func identifier(for:entityName:primaryKey:); Comparable; validate(); Store")
  func identifiers() throws {
    let one = try PersistentIdentifier.identifier(for: "s", entityName: "Trip", primaryKey: 1)
    let two = try PersistentIdentifier.identifier(for: "s", entityName: "Trip", primaryKey: 2)
    #expect(
      one != two && (one < two) != (two < one) && one.storeIdentifier == "s" && one.entityName == "Trip")
    let again = try PersistentIdentifier.identifier(for: "s", entityName: "Trip", primaryKey: 1)
    #expect(one == again)
    #expect(try JSONDecoder().decode(PersistentIdentifier.self, from: JSONEncoder().encode(one)) == one)
    try ModelConfiguration("a").validate()
    try DictionaryStore.Configuration().validate()
    #expect(throws: SwiftDataError.configurationFileNameContainsInvalidCharacters) {
      try ModelConfiguration("a/b").validate()
    }
    for count in [251, 300] {
      #expect(throws: SwiftDataError.configurationFileNameTooLong) {
        try ModelConfiguration(
          url: URL(fileURLWithPath: "/tmp/" + String(repeating: "a", count: count))
        ).validate()
      }
    }
    try ModelConfiguration(url: URL(fileURLWithPath: "/tmp/" + String(repeating: "a", count: 250))).validate()
    #expect(ModelConfiguration.Store.self == DefaultStore.self)
  }
}
