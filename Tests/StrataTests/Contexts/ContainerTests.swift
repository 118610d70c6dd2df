import Foundation
import Strata
import Synchronization
import Testing

/// Containers, descriptions, opening and closing stores (section R; rules 304, 324–332).
struct ContainerTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func describe(_ name: String) -> PersistentStoreDescription {
    PersistentStoreDescription(url: store.folderURL.appendingPathComponent(name))
  }

  private func container(_ descriptions: PersistentStoreDescription...) -> PersistentContainer {
    let container = PersistentContainer(name: "Journal", model: SurfModel.make())
    container.persistentStoreDescriptions = descriptions
    return container
  }

  @Test("rule 326: a container has its name, and by default one store of that name in the default directory")
  func defaultDescription() throws {
    let container = PersistentContainer(name: "Journal", model: SurfModel.make())
    #expect(container.name == "Journal")
    let description = try #require(container.persistentStoreDescriptions.only)
    #expect(description.url?.lastPathComponent == "Journal.strata")
    #expect(
      description.url?.deletingLastPathComponent().path == PersistentContainer.defaultDirectoryURL().path)
    #expect(description.type == .lmdb && !description.isReadOnly && description.configuration == nil)
    #expect(container.managedObjectModel === container.persistentStoreCoordinator.managedObjectModel)
  }

  @Test("rule 326: the default directory is made when the store is loaded into it")
  func defaultDirectoryIsMade() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      setenv("XDG_DATA_HOME", folder.url.path, 1)
      let container = PersistentContainer(name: "Journal", model: SurfModel.make())
      try await container.loadPersistentStores()
      let url = try #require(container.persistentStoreDescriptions.first?.url)
      try #require(url.path.hasPrefix(folder.url.path))
      try #require(FileManager.default.fileExists(atPath: url.path))
    }
    print(String(decoding: result?.standardErrorContent ?? [], as: UTF8.self))
  }

  @Test("rule 327: loadPersistentStores calls back once per description, at once")
  func loadingCallsBackOncePerDescription() {
    let container = container(describe("one.strata"), describe("two.strata"))
    let calls = Log<String>()
    container.loadPersistentStores { description, error in
      #expect(error == nil)
      calls.add(description.url?.lastPathComponent ?? "?")
    }
    #expect(calls.list == ["one.strata", "two.strata"])
    #expect(container.persistentStoreCoordinator.persistentStores.count == 2)
  }

  @Test("rule 327: with shouldAddStoreAsynchronously the callback comes later, from elsewhere")
  func loadingAsynchronously() async {
    var description = describe("later.strata")
    description.shouldAddStoreAsynchronously = true
    let container = container(description)
    await withCheckedContinuation { continuation in
      container.loadPersistentStores { _, error in
        #expect(error == nil)
        continuation.resume()
      }
    }
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
  }

  @Test("rule 327: a store that cannot be opened is reported with its error, the others open")
  func oneOfTwoCannotBeOpened() throws {
    try Data("no store at all".utf8).write(to: store.folderURL.appendingPathComponent("foreign.strata"))
    let container = container(describe("foreign.strata"), describe("fine.strata"))
    let results = Log<String>()
    container.loadPersistentStores { description, error in
      results.add("\(description.url?.lastPathComponent ?? "?") \(error == nil)")
    }
    #expect(results.list == ["foreign.strata false", "fine.strata true"])
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
  }

  @Test("rule 327: await loadPersistentStores opens everything or throws")
  func loadingWithAwait() async throws {
    let container = container(describe("fine.strata"))
    try await container.loadPersistentStores()
    #expect(container.persistentStoreCoordinator.persistentStores.count == 1)
    var missing = describe("nowhere/missing.strata")
    missing.isReadOnly = true
    let other = self.container(missing)
    await #expect(throws: StorageError.self) { try await other.loadPersistentStores() }
  }

  @MainActor
  @Test("rule 328: viewContext is one main-queue context on the coordinator")
  func viewContext() {
    let view = store.container.viewContext
    #expect(view === store.container.viewContext)
    #expect(view.concurrencyType == .mainQueue)
    #expect(view.persistentStoreCoordinator === store.coordinator)
    #expect(!view.hasChanges)
  }

  @Test("rule 328: newBackgroundContext gives a private-queue context each time")
  func newBackgroundContext() {
    let (first, second) = (store.container.newBackgroundContext(), store.container.newBackgroundContext())
    #expect(first !== second)
    #expect(first.concurrencyType == .privateQueue)
  }

  @Test("rule 328: performBackgroundTask runs on a fresh context each time, as a closure and with await")
  func performBackgroundTask() async throws {
    let container = store.container
    let contexts = Log<ManagedObjectContext>()
    await withCheckedContinuation { continuation in
      container.performBackgroundTask { context in
        contexts.add(context)
        Entry.make("one", in: context)
        #expect(throws: Never.self) { try context.save() }
        continuation.resume()
      }
    }
    let id = try await container.performBackgroundTask { context in
      contexts.add(context)
      let entry = Entry.make("two", in: context)
      try context.save()
      return entry.objectID
    }
    #expect(id.entityName == "Entry")
    #expect(Set(contexts.list.map(ObjectIdentifier.init)).count == 2)
    #expect(contexts.list.allSatisfy { $0.concurrencyType == .privateQueue })
    #expect(try store.savedEntries() == ["one 3", "two 3"])
    struct Wave: Error {}
    await #expect(throws: Wave.self) { try await container.performBackgroundTask { _ in throw Wave() } }
  }

  @Test("rule 142: what was saved is there after closing and opening again")
  func savedIsThereAfterReopening() throws {
    try store.save("Bells", "Winki", rating: 5)
    let again = try store.reopened()
    #expect(try again.savedEntries() == ["Bells 5", "Winki 5"])
    try again.save("Torquay")
    #expect(try again.reopened().savedEntries() == ["Bells 5", "Torquay 3", "Winki 5"])
  }

  @Test("rule 303: metadata has type, UUID, version hashes and identifiers")
  func metadata() throws {
    let model = SurfModel.make { $0.versionIdentifiers = ["1.0"] }
    let store = try TemporaryStore(model)
    let metadata = store.coordinator.metadata(for: store.store)
    #expect(metadata["NSStoreUUID"] as? String == store.identifier.uuidString)
    #expect(metadata["NSStoreType"] as? String == store.store.storeType)
    let hashes = try #require(metadata["NSStoreModelVersionHashes"] as? [String: Any])
    #expect(hashes["Entry"] as? Data == model.entitiesByName["Entry"]?.versionHash)
    #expect(metadata["NSStoreModelVersionIdentifiers"] as? [String] == ["1.0"])
  }

  @Test(
    "rule 304: a store of another model version is refused with 134100, which names the entities (rule 316)")
  func otherModelIsRefused() throws {
    try store.save("Bells")
    try store.close()
    let changed = SurfModel.make { model in
      model.entitiesByName["Note"]?.properties.append(AttributeDescription("author", .string))
    }
    let container = PersistentContainer(name: "Journal", model: changed)
    let coordinator = container.persistentStoreCoordinator
    let error = #expect(throws: CoreDataError.self) {
      var description = PersistentStoreDescription(url: store.url)
      description.migratesAutomatically = false
      try coordinator.addPersistentStore(description)
    }
    #expect(error?.code == .persistentStoreIncompatibleVersionHash)
    #expect(error?.description.contains("Note") == true)
    #expect(coordinator.persistentStores.isEmpty)
    #expect(try store.reopened().savedEntries() == ["Bells 3"])
  }

  @Test("rule 299: indexes, defaults, user info and classes may change without the store being refused")
  func harmlessModelChanges() throws {
    try store.save("Bells")
    let again = try store.reopened(
      SurfModel.make { model in
        let entry = model.entitiesByName["Entry"]
        entry?.indexes = [FetchIndexDescription(name: "byHeight", attributes: ["height"])]
        entry?.attributesByName["rating"]?.defaultValue = 1
        entry?.userInfo = ["note": "changed"]
      })
    #expect(try again.savedEntries() == ["Bells 3"])
    let context = again.context()
    #expect(Entry.make("Winki", rating: Entry(context: context).rating, in: context).rating == 1)
    #expect(try again.context().entries(Attribute("height") >= 0).count == 1)
  }

  @Test("rule 324: a read-only store reads; a save of its objects fails with 134030 and writes nothing")
  func readOnlyStore() throws {
    try store.save("Bells")
    let readOnly = try store.reopened { $0.isReadOnly = true }
    let context = readOnly.context()
    let entry = try context.entry("Bells")
    entry.rating = 5
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .persistentStoreSave)
    #expect(context.updatedObjects == [entry])
    context.rollback()
    context.delete(entry)
    #expect(throws: CoreDataError.self) { try context.save() }
    context.rollback()
    try context.save()
    #expect(try readOnly.reopened().savedEntries() == ["Bells 3"])
  }

  @Test("rule 325: a file that is no store, and a missing folder, are errors; the file stays as it is")
  func filesThatAreNoStores() throws {
    let foreign = store.folderURL.appendingPathComponent("foreign.strata")
    let bytes = Data("a text that somebody called .strata\n".utf8)
    try bytes.write(to: foreign)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: SurfModel.make())
    #expect(throws: StorageError.self) {
      try coordinator.addPersistentStore(PersistentStoreDescription(url: foreign))
    }
    #expect(try Data(contentsOf: foreign) == bytes)
    #expect(throws: StorageError.self) {
      try coordinator.addPersistentStore(describe("no/such/folder.strata"))
    }
    #expect(coordinator.persistentStores.isEmpty)
  }

  @Test("rule 325: a wrong model is reported as all its sentences when a store is added")
  func wrongModel() throws {
    let model = ManagedObjectModel(
      entities: [
        EntityDescription(
          "A", properties: [AttributeDescription("", .string), AttributeDescription("x", .undefined)])
      ])
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let error = #expect(throws: ModelError.self) { try coordinator.addPersistentStore(.inMemory) }
    #expect((error?.sentences.count ?? 0) >= 2)
  }

  @Test("rule 325: the same store cannot be attached to one coordinator twice")
  func attachingTwice() throws {
    let error = #expect(throws: CoreDataError.self) {
      try store.coordinator.addPersistentStore(PersistentStoreDescription(url: store.url))
    }
    #expect(error?.code == .persistentStoreOpen)
    #expect(store.coordinator.persistentStores.count == 1)
    #expect(try store.context().entryCount() == 0)
  }

  @Test("two coordinators on one file see each other's saves")
  func twoCoordinatorsOnOneFile() throws {
    let second = try store.neighbour(store.url.lastPathComponent)
    try store.save("Bells")
    #expect(try second.savedEntries() == ["Bells 3"])
    try second.save("Winki")
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
    let ids = try Set(store.save("a", "b") + second.save("c", "d"))
    #expect(ids.count == 4)
  }

  @Test("rule 189: a conflict between two coordinators on one file is found")
  func conflictBetweenCoordinators() throws {
    let second = try store.neighbour(store.url.lastPathComponent)
    try store.save("Bells")
    let (mine, theirs) = (store.context(), second.context())
    try mine.entry("Bells").rating = 5
    try theirs.entry("Bells").rating = 4
    try theirs.save()
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectMerge)
  }

  @Test("rule 329: destroying a store empties it; a missing one is no error; one open elsewhere is refused")
  func destroying() throws {
    try store.save("Bells")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: SurfModel.make())
    #expect(throws: (any Error).self) { try coordinator.destroyPersistentStore(at: store.url) }
    #expect(try store.savedEntries() == ["Bells 3"])
    try store.close()
    try coordinator.destroyPersistentStore(at: store.url)
    #expect(throws: StorageError.self) { try LMDBStore.metadata(at: store.url) }
    try coordinator.destroyPersistentStore(at: store.url)
    try LMDBStore.destroy(at: store.url)
    #expect(throws: StorageError.self) { try LMDBStore.destroy(at: store.url) }
    try coordinator.destroyPersistentStore(at: store.url)
    #expect(!FileManager.default.fileExists(atPath: store.url.path))
    try coordinator.addPersistentStore(PersistentStoreDescription(url: store.url))
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    #expect(try context.entryCount() == 0)
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  @Test("rule 329: replacing puts a copy in the place of a store")
  func replacing() throws {
    try store.save("old")
    let other = try store.neighbour("other.strata")
    try other.save("new")
    let (url, source) = (store.url, other.url)
    try store.close()
    try other.close()
    try store.coordinator.replacePersistentStore(at: url, withPersistentStoreFrom: source)
    #expect(try store.reopened().savedEntries() == ["new 3"])
  }

  @Test("rule 332: a store in memory leaves no file, and its data ends with it")
  func storeInMemory() throws {
    let container = container(.inMemory)
    container.loadPersistentStores { _, error in #expect(error == nil) }
    let coordinator = container.persistentStoreCoordinator
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    Entry.make("Bells", in: context)
    try context.save()
    #expect(try context.entryCount() == 1)
    #expect(coordinator.persistentStores[0].url == nil)
    try coordinator.remove(coordinator.persistentStores[0])
    try coordinator.addPersistentStore(.inMemory)
    #expect(try ManagedObjectContext(.confinement, coordinator: coordinator).entryCount() == 0)
  }

  @Test("rule 332: two stores in memory are different stores")
  func storesInMemoryAreDifferent() throws {
    let (one, two) = (try makeDoomedContainer(), try makeDoomedContainer())
    let writer = ManagedObjectContext(.confinement, coordinator: one.persistentStoreCoordinator)
    Entry.make("Bells", in: writer)
    try writer.save()
    let reader = ManagedObjectContext(.confinement, coordinator: two.persistentStoreCoordinator)
    #expect(try reader.entryCount() == 0)
    #expect(
      one.persistentStoreCoordinator.persistentStores[0].identifier
        != two.persistentStoreCoordinator.persistentStores[0].identifier)
  }

  @Test(
    "rule 48: faults of a store that was removed cannot be read, which does not make them deleted and does not hold up later saves"
  )
  func faultsOfARemovedStore() throws {
    let id = try store.save("Bells")[0]
    let context = store.context()
    let (fault, realised) = (context.object(with: id), try store.context().entry("Bells"))
    try store.close()
    #expect(fault.value(forKey: "location") == nil)
    #expect(fault.isFault && !fault.isDeleted)
    #expect(realised.location == "Bells" || realised.location == nil)
    try store.coordinator.addPersistentStore(.inMemory)
    Entry.make("new", in: context)
    try context.save()
    #expect(!context.hasChanges)
    #expect(try context.entryCount() == 1)
  }

  @Test("rule 40: a store that was removed and added again serves the same context")
  func storeComesBack() throws {
    let id = try store.save("Bells")[0]
    let context = store.context()
    #expect((try context.existingObject(with: id) as? Entry)?.location == "Bells")
    try store.close()
    try store.coordinator.addPersistentStore(PersistentStoreDescription(url: store.url))
    let entry = try context.entry("Bells")
    #expect(try context.existingObject(with: id).objectID == id)
    entry.rating = 5
    try context.save()
    context.refresh(entry, mergeChanges: false)
    #expect(entry.rating == 5)
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("rule 132: removing a store that is not attached is an error")
  func removingAForeignStore() throws {
    let other = try store.neighbour("other.strata")
    #expect(throws: CoreDataError.self) { try store.coordinator.remove(other.store) }
    #expect(try other.savedEntries().isEmpty)
  }

  @Test("rule 36: stores are found by their URL")
  func storesAreFoundByURL() {
    #expect(store.coordinator.persistentStore(for: store.url) === store.store)
    #expect(store.coordinator.persistentStore(for: store.folderURL) == nil)
  }
}
