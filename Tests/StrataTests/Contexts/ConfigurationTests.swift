import Foundation
import Strata
import Testing

/// Several stores on one coordinator: configurations, unions, assignment, partial saves
/// (rules 26, 106, 145, 321–323).
struct ConfigurationTests {
  let folder: TemporaryStore
  let coordinator: PersistentStoreCoordinator
  let context: ManagedObjectContext

  /// Two stores: entries and surfers in one, spots in the other.
  init() throws {
    folder = try TemporaryStore()
    coordinator = PersistentStoreCoordinator(managedObjectModel: SurfModel.make(configured: true))
    for name in ["Journal", "Places"] {
      var description = PersistentStoreDescription(
        url: folder.folderURL.appendingPathComponent("\(name).part"))
      description.configuration = name
      try coordinator.addPersistentStore(description)
    }
    context = ManagedObjectContext(.confinement, coordinator: coordinator)
  }

  private var journal: any PersistentStore { coordinator.persistentStores[0] }
  private var places: any PersistentStore { coordinator.persistentStores[1] }

  /// A coordinator with two stores that both hold every entity.
  private func makeTwins() throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: SurfModel.make())
    for name in ["first", "second"] {
      try coordinator.addPersistentStore(
        PersistentStoreDescription(url: folder.folderURL.appendingPathComponent("\(name).twin")))
    }
    return coordinator
  }

  @Test("rule 321: a new object goes to the store whose configuration holds its entity")
  func newObjectsGoWhereTheirEntityIs() throws {
    let entry = Entry.make("Bells", in: context)
    let beach = Beach("Bells", in: context)
    #expect(entry.objectID.storeIdentifier == journal.identifier)
    #expect(beach.objectID.storeIdentifier == places.identifier)
    try context.save()
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    #expect(try reader.existingObject(with: entry.objectID) is Entry)
    #expect(try reader.existingObject(with: beach.objectID) is Beach)
    #expect(try reader.fetch(FetchRequest<Spot>(entityName: "Spot")).map(\.name) == ["Bells"])
    #expect(try reader.entryCount() == 1)
  }

  @Test("rule 323: a store knows its configuration; nil is every entity")
  func storesKnowTheirConfiguration() throws {
    #expect(journal.configurationName == "Journal" && places.configurationName == "Places")
    #expect(folder.store.configurationName == nil)
    let model = coordinator.managedObjectModel
    #expect(model.configurations == ["Journal", "Places"])
    #expect(model.entities(forConfigurationName: "Places")?.count == 4)
    #expect(model.entities(forConfigurationName: nil)?.count == model.entities.count)
    #expect(model.entities(forConfigurationName: "Nonsense") == nil)
  }

  @Test("rule 323: an unknown configuration is an error, and no store is attached")
  func unknownConfiguration() {
    var description = PersistentStoreDescription(url: folder.folderURL.appendingPathComponent("third.part"))
    description.configuration = "Nonsense"
    let error = #expect(throws: CoreDataError.self) { try coordinator.addPersistentStore(description) }
    #expect(error?.description.contains("Nonsense") == true)
    #expect(coordinator.persistentStores.count == 2)
  }

  @Test("rule 322: a fetch spans all stores that have the entity; sort, offset, limit and count on the whole")
  func fetchSpansStores() throws {
    let twins = try makeTwins()
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    for (number, name) in ["a", "b", "c", "d", "e", "f"].enumerated() {
      let entry = Entry.make(name, rating: Int16(number), in: context)
      if number % 2 == 1 { try context.assign(entry, to: twins.persistentStores[1]) }
    }
    try context.save()
    let reader = ManagedObjectContext(.confinement, coordinator: twins)
    #expect(try reader.entries().map(\.location) == ["a", "b", "c", "d", "e", "f"])
    #expect(try reader.entryCount() == 6)
    for offset in 0...6 {
      for limit in 1...6 {
        let request = FetchRequest<Entry>(
          entityName: "Entry", sortDescriptors: [FetchSort("rating", ascending: false)], fetchLimit: limit,
          fetchOffset: offset)
        let expected = Array(["f", "e", "d", "c", "b", "a"].dropFirst(offset).prefix(limit))
        #expect(try reader.fetch(request).map(\.location) == expected)
        #expect(try reader.count(for: request) == expected.count)
      }
    }
    let ids = try reader.fetch(
      FetchRequest<ManagedObjectID>(entityName: "Entry", sortDescriptors: [FetchSort("location")]))
    #expect(ids.map(\.storeIdentifier) == (0..<6).map { twins.persistentStores[$0 % 2].identifier })
  }

  @Test("rules 321, 106: a new object goes to the first store; affectedStores limits fetch and count")
  func affectedStores() throws {
    let twins = try makeTwins()
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    let (first, second) = (Entry.make("first", in: context), Entry.make("second", in: context))
    #expect(second.objectID.storeIdentifier == twins.persistentStores[0].identifier)
    try context.assign(second, to: twins.persistentStores[1])
    var request = FetchRequest<Entry>(entityName: "Entry")
    request.affectedStores = [twins.persistentStores[1].identifier]
    #expect(try context.fetch(request) == [second])
    try context.save()
    #expect(try context.fetch(request) == [second])
    #expect(try context.count(for: request) == 1)
    request.affectedStores = [twins.persistentStores[0].identifier]
    #expect(try context.fetch(request) == [first])
    request.affectedStores = []
    #expect(try context.fetch(request).isEmpty)
  }

  @Test("rule 26: assign moves a new object; one that has been saved cannot be assigned again")
  func assigning() throws {
    let twins = try makeTwins()
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    let entry = Entry.make("Bells", rating: 5, in: context)
    try context.assign(entry, to: twins.persistentStores[1])
    #expect(entry.objectID.storeIdentifier == twins.persistentStores[1].identifier)
    #expect(context.registeredObject(for: entry.objectID) === entry)
    #expect(entry.location == "Bells" && entry.isInserted)
    try context.save()
    #expect(throws: CoreDataError.self) { try context.assign(entry, to: twins.persistentStores[0]) }
    #expect(throws: CoreDataError.self) {
      try self.context.assign(Entry.make("x", in: self.context), to: self.places)
    }
  }

  @Test("rule 321: a read-only store takes no new objects")
  func readOnlyStoresTakeNoNewObjects() throws {
    let url = folder.folderURL.appendingPathComponent("first.twin")
    let twins = try makeTwins()
    for store in twins.persistentStores { try twins.remove(store) }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: SurfModel.make())
    var first = PersistentStoreDescription(url: url)
    first.isReadOnly = true
    try coordinator.addPersistentStore(first)
    let second = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: folder.folderURL.appendingPathComponent("second.twin")))
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let entry = Entry.make("Bells", in: context)
    #expect(entry.objectID.storeIdentifier == second.identifier)
    try context.save()
    #expect(throws: CoreDataError.self) {
      try context.assign(Entry.make("x", in: context), to: coordinator.persistentStores[0])
    }
  }

  @Test(
    "rule 145: when only some stores can be saved the error is 134040; the rest stays pending"
  )
  func partialFailure() throws {
    let twins = try makeTwins()
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    let doomed = Entry.make("doomed", in: context)
    let edited = Entry.make("edited", in: context)
    try context.save()
    Surfer.make("a@b", in: context)
    let duplicate = Surfer.make("taken", in: context)
    let holder = Surfer.make("taken", in: context)
    for surfer in [duplicate, holder] { try context.assign(surfer, to: twins.persistentStores[1]) }
    context.delete(doomed)
    edited.rating = 5
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .persistentStoreIncompleteSave)
    #expect(!edited.hasChanges && !doomed.isDeleted && doomed.managedObjectContext == nil)
    #expect(context.insertedObjects == [duplicate, holder])
    #expect(context.deletedObjects.isEmpty && context.updatedObjects.isEmpty)
    let reader = ManagedObjectContext(.confinement, coordinator: twins)
    #expect(try reader.entries().map(\.rating) == [5])
    #expect(try reader.count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 1)
    duplicate.email = "free"
    try context.save()
    #expect(!context.hasChanges)
    #expect(try reader.count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 3)
    edited.rating = 4
    try context.save()
  }

  @Test("rule 136: a failure in the first store writes nothing to any")
  func failureInTheFirstStore() throws {
    let twins = try makeTwins()
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    Surfer.make("taken", in: context)
    Surfer.make("taken", in: context)
    try context.assign(Entry.make("Bells", in: context), to: twins.persistentStores[1])
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(try ManagedObjectContext(.confinement, coordinator: twins).entryCount() == 0)
    #expect(context.insertedObjects.count == 3)
  }

  @Test("rule 189: a conflict in one of two stores, settled by the policy, saves both")
  func conflictInOneStore() throws {
    let (entry, beach) = (Entry.make("Bells", in: context), Beach("Bells", in: context))
    try context.save()
    let other = ManagedObjectContext(.confinement, coordinator: coordinator)
    (other.object(with: beach.objectID) as? Beach)?.sand = "theirs"
    try other.save()
    entry.rating = 5
    beach.name = "mine"
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(!context.hasChanges && beach.sand == "theirs")
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    #expect(try reader.entry("Bells").rating == 5)
    #expect((try reader.existingObject(with: beach.objectID) as? Beach)?.name == "mine")
  }

  @Test("rule 172: merging a save of several stores takes over all of them")
  func mergingSeveralStores() throws {
    let (entry, beach) = (Entry.make("Bells", in: context), Beach("Bells", in: context))
    try context.save()
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    let (mine, myBeach) = (try reader.entry("Bells"), try reader.existingObject(with: beach.objectID))
    _ = mine.rating
    let caught = Log<Notification>()
    let token = NotificationCenter.default.addObserver(forName: .didSave, object: context, queue: nil) {
      caught.add($0)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    entry.rating = 5
    beach.sand = "gold"
    try context.save()
    reader.mergeChanges(fromContextDidSave: try #require(caught.first))
    #expect(mine.rating == 5)
    #expect((myBeach as? Beach)?.sand == "gold")
  }

  @Test("rule 35: a URI of an entity its store does not hold gives nil")
  func uriOfAnEntityElsewhere() throws {
    let uri = try #require(URL(string: "x-coredata://\(places.identifier.uuidString)/Entry/p1"))
    #expect(coordinator.managedObjectID(forURIRepresentation: uri) == nil)
  }
}
