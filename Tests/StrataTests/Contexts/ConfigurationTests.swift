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
  private func makeTwins(_ model: ManagedObjectModel = SurfModel.make()) throws -> PersistentStoreCoordinator
  {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
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

  @Test(
    "rule 26: what children may have seen of an object before it was assigned to another store is not saved",
    arguments: [true, false])
  func assigningAfterTheEvent(isChildEarly: Bool) throws {
    let twins = try makeTwins()
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    let early = isChildEarly ? ManagedObjectContext(.confinement, parent: context) : nil
    let entry = Entry.make("Bells", in: context)
    context.processPendingChanges()
    try context.assign(entry, to: twins.persistentStores[1])
    let child = early ?? ManagedObjectContext(.confinement, parent: context)
    #expect(try child.entries().map(\.objectID) == [entry.objectID])
    try context.save()
    let reader = ManagedObjectContext(.confinement, coordinator: twins)
    #expect(try reader.entries().map(\.objectID) == [entry.objectID])
    withExtendedLifetime(child) {}
  }

  @Test("rule 26: of objects that are assigned one after the other none loses who refers to it")
  func assigningInTurn() throws {
    let twins = try makeTwins(TeamModel.make())
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    let second = twins.persistentStores[1]
    let (sales, care) = (context.make(Department.self, "Sales"), context.make(Department.self, "Care"))
    let first = context.make(Project.self, "a")
    first.sponsor = sales
    try context.assign(sales, to: second)
    // What is made and related between two of them counts as well.
    let (next, last) = (context.make(Project.self, "b"), context.make(Project.self, "c"))
    let label = context.make(Label.self, "Label")
    next.sponsor = care
    last.labels.insert(label)
    try context.assign(label, to: second)
    last.sponsor = care
    try context.assign(care, to: second)
    for project in [first, next, last] { try context.assign(project, to: second) }
    func check(_ context: ManagedObjectContext) throws {
      let sponsors = try ["a", "b", "c"].map { try context.find(Project.self, $0).sponsor?.name }
      #expect(sponsors == ["Sales", "Care", "Care"])
      #expect(try context.find(Project.self, "c").labels.names == ["Label"])
    }
    try check(context)
    try context.save()
    try check(ManagedObjectContext(.confinement, coordinator: twins))
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

  /// An entry and a beach, both saved; the row of one of them is not what `context` has read any more.
  private func makeConflict(ofEntry: Bool = false) throws -> (entry: Entry, beach: Beach) {
    let (entry, beach) = (Entry.make("Bells", in: context), Beach("Bells", in: context))
    try context.save()
    let other = ManagedObjectContext(.confinement, coordinator: coordinator)
    if ofEntry {
      (other.object(with: entry.objectID) as? Entry)?.notes = "theirs"
    } else {
      (other.object(with: beach.objectID) as? Beach)?.sand = "theirs"
    }
    try other.save()
    return (entry, beach)
  }

  @Test("rule 201: what a policy changes in a store that was written before is saved as well")
  func policyChangesAnEarlierStore() throws {
    let (entry, beach) = try makeConflict()
    let doomed = Entry.make("doomed", in: context)
    try context.save()
    let new = Entry.make("new", in: context)
    entry.rating = 5
    beach.name = "mine"
    let policy = EditingPolicy(merge: .mergeByPropertyObjectTrump)
    policy.onConflict = { context in
      #expect(!entry.isUpdated && !new.isInserted, "they are written")
      Entry.make("conflict", in: context)
      entry.notes = "conflict"
      new.notes = "conflict"
      context.delete(doomed)
    }
    context.mergePolicy = policy
    let caught = Log<Notification>()
    let token = NotificationCenter.default.addObserver(forName: .didSave, object: context, queue: nil) {
      caught.add($0)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    #expect(!context.hasChanges && policy.calls == 1)
    #expect(doomed.managedObjectContext == nil)
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    #expect(try reader.entries().map(\.location) == ["Bells", "conflict", "new"])
    #expect(try reader.entry("Bells").rating == 5 && reader.entry("Bells").notes == "conflict")
    #expect(try reader.entry("new").notes == "conflict")
    #expect((try reader.existingObject(with: beach.objectID) as? Beach)?.name == "mine")

    // All of it is told, and once.
    #expect(caught.list.count == 1)
    func told(_ key: ManagedObjectContext.NotificationKey) -> Set<ManagedObject> {
      caught.first?.userInfo?[key.rawValue] as? Set<ManagedObject> ?? []
    }
    let conflict = try context.entry("conflict")
    #expect(told(.insertedObjects) == [new, conflict])
    #expect(told(.updatedObjects) == [entry, beach])
    #expect(told(.deletedObjects) == [doomed])
    entry.rating = 4
    try context.save()
  }

  @Test(
    "rules 24, 145: what was deleted again is not written by the next attempt, although another store has been written",
    arguments: [false, true])
  func withdrawnBesideWritten(isSettled: Bool) throws {
    let (_, beach) = try makeConflict()
    let first = Entry.make("first", in: context)
    let withdrawn = Beach("Withdrawn", in: context)
    let second = Beach("Second", in: context)
    context.delete(withdrawn)
    beach.name = "mine"
    if !isSettled {
      let error = #expect(throws: CoreDataError.self) { try context.save() }
      #expect(error?.code == .persistentStoreIncompleteSave)
      #expect(context.insertedObjects == [second] && context.updatedObjects == [beach])
    }
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(!context.hasChanges && !first.isInserted && !second.isInserted)
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    let spots = try reader.fetch(FetchRequest<Spot>(entityName: "Spot")).compactMap(\.name)
    #expect(Set(spots) == ["Second", "mine"] && spots.count == 2)
    #expect(try reader.entries().map(\.location) == ["Bells", "first"])
  }

  @Test("rule 135: what willSave() changes in a store that was written before is saved as well")
  func hookChangesAnEarlierStore() throws {
    let twins = try makeTwins(
      SurfModel.make { $0.entitiesByName["Diary"]?.uniquenessConstraints = [["title"]] })
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    context.mergePolicy = .mergeByPropertyObjectTrump
    Entry.make("first", in: context)
    for _ in 0..<2 {
      let diary = Diary(context: context)
      diary.title = "log"
      try context.assign(diary, to: twins.persistentStores[1])
      diary.onWillSave = { diary in
        // Called once more when its duplicate has been merged into it.
        guard diary.count(of: "willSave") == 2, let context = diary.managedObjectContext else { return }
        Entry.make("audit", in: context)
      }
    }
    try context.save()
    #expect(!context.hasChanges)
    let reader = ManagedObjectContext(.confinement, coordinator: twins)
    #expect(try reader.entries().map(\.location) == ["audit", "first"])
    #expect(try reader.count(for: FetchRequest<Diary>(entityName: "Diary")) == 1)
  }

  @Test("rule 136: a conflict in the first store that nobody settles writes nothing to any")
  func conflictInTheFirstStore() throws {
    let (entry, _) = try makeConflict(ofEntry: true)
    entry.rating = 5
    let new = Beach("New", in: context)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(context.insertedObjects == [new] && context.updatedObjects == [entry])
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    #expect(try reader.count(for: FetchRequest<Spot>(entityName: "Spot")) == 1)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try reader.count(for: FetchRequest<Spot>(entityName: "Spot")) == 2)
    #expect(try reader.entry("Bells").rating == 5)
  }

  @Test("rules 145, 291: a pinned context sees what was written of a save that failed")
  func partialFailureMovesAPinnedContextOn() throws {
    let twins = try makeTwins()
    let context = ManagedObjectContext(.confinement, coordinator: twins)
    let doomed = Entry.make("doomed", in: context)
    try context.save()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.entryCount() == 1)
    context.delete(doomed)
    Entry.make("new", in: context)
    for _ in 0..<2 {
      try context.assign(Surfer.make("taken", in: context), to: twins.persistentStores[1])
    }
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .persistentStoreIncompleteSave)
    #expect(try context.entries().map(\.location) == ["new"])
    #expect(context.queryGenerationToken != nil)
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

/// Does what a test asks for before it settles a conflict. Unchecked: used by one test on one thread.
private final class EditingPolicy: MergePolicy, @unchecked Sendable {
  var onConflict: (ManagedObjectContext) -> Void = { _ in }
  var calls = 0

  override func resolve(optimisticLockingConflicts list: [MergeConflict]) throws {
    calls += 1
    if let context = list.first?.sourceObject.managedObjectContext { onConflict(context) }
    try super.resolve(optimisticLockingConflicts: list)
  }
}
