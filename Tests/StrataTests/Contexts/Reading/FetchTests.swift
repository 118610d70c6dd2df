import Foundation
import Strata
import Testing

/// Fetch requests on saved rows (section D, first part; rule 317).
struct FetchTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    let writer = store.context()
    let spots: [(String, Int16, Double)] = [
      ("Bells", 5, 2.5), ("Jan Juc", 3, 1.5), ("Winki", 5, 2.0), ("Torquay", 2, 0.5), ("Lorne", 3, 1.0),
    ]
    for (name, rating, height) in spots {
      let entry = Entry.make(name, rating: rating, height: height, in: writer)
      entry.notes = rating == 5 ? "epic" : nil
    }
    try writer.save()
    context = store.context()
  }

  private func locations(
    _ predicate: FetchPredicate? = nil, _ sorts: [FetchSort] = [FetchSort("location")], limit: Int = 0,
    offset: Int = 0
  ) throws -> [String] {
    try context.fetch(
      FetchRequest<Entry>(
        entityName: "Entry", predicate: predicate, sortDescriptors: sorts, fetchLimit: limit,
        fetchOffset: offset)
    ).compactMap(\.location)
  }

  @Test("rule 84: the defaults of a request")
  func defaultsOfARequest() {
    let request = FetchRequest<Entry>(entityName: "Entry")
    #expect(request.includesSubentities && request.includesPropertyValues)
    #expect(request.returnsObjectsAsFaults && request.includesPendingChanges)
    #expect(!request.shouldRefreshRefetchedObjects)
    #expect(request.fetchLimit == 0 && request.fetchOffset == 0)
    #expect(request.predicate == nil && request.sortDescriptors.isEmpty && request.affectedStores == nil)
  }

  @Test("rule 105: without sort descriptors everything is returned, in any order")
  func unsortedFetch() throws {
    #expect(try Set(locations(nil, [])) == ["Bells", "Jan Juc", "Winki", "Torquay", "Lorne"])
  }

  @Test("rule 105: sorting by one and by several keys, both directions")
  func sorting() throws {
    #expect(try locations() == ["Bells", "Jan Juc", "Lorne", "Torquay", "Winki"])
    #expect(
      try locations(nil, [FetchSort("location", ascending: false)])
        == ["Winki", "Torquay", "Lorne", "Jan Juc", "Bells"])
    #expect(
      try locations(nil, [FetchSort("rating", ascending: false), FetchSort("height")])
        == ["Winki", "Bells", "Lorne", "Jan Juc", "Torquay"])
    #expect(try locations(nil, [FetchSort("notes"), FetchSort("location")]).suffix(2) == ["Bells", "Winki"])
  }

  @Test("rule 94: limit and offset cut a window; an offset beyond the end gives nothing")
  func window() throws {
    #expect(try locations(limit: 2) == ["Bells", "Jan Juc"])
    #expect(try locations(limit: 2, offset: 1) == ["Jan Juc", "Lorne"])
    #expect(try locations(limit: 10, offset: 4) == ["Winki"])
    #expect(try locations(offset: 3) == ["Torquay", "Winki"])
    #expect(try locations(offset: 5).isEmpty)
    #expect(try locations(limit: 3, offset: 500).isEmpty)
  }

  @Test("rule 91: a count is what the fetch would return, window included")
  func countEqualsFetch() throws {
    #expect(try context.entryCount() == 5)
    for (limit, offset, expected) in [(0, 0, 5), (2, 0, 2), (2, 4, 1), (0, 2, 3), (3, 9, 0)] {
      let request = FetchRequest<Entry>(entityName: "Entry", fetchLimit: limit, fetchOffset: offset)
      #expect(try context.count(for: request) == expected)
      #expect(try context.fetch(request).count == expected)
    }
    let epic = FetchRequest<ManagedObjectID>(entityName: "Entry", predicate: Attribute("notes") == "epic")
    #expect(try context.count(for: epic) == 2)
  }

  @Test("rule 108: comparisons, and, or, not")
  func comparisons() throws {
    #expect(try locations(Attribute("rating") == 3) == ["Jan Juc", "Lorne"])
    #expect(try locations(Attribute("rating") != 3) == ["Bells", "Torquay", "Winki"])
    #expect(try locations(Attribute("height") > 1.5) == ["Bells", "Winki"])
    #expect(try locations(Attribute("height") >= 1.5) == ["Bells", "Jan Juc", "Winki"])
    #expect(try locations(Attribute("height") < 1) == ["Torquay"])
    #expect(try locations(Attribute("rating") == 5 && Attribute("height") < 2.25) == ["Winki"])
    #expect(
      try locations(Attribute("rating") == 2 || Attribute("location") == "Bells") == ["Bells", "Torquay"])
    #expect(try locations(!(Attribute("rating") == 3)) == ["Bells", "Torquay", "Winki"])
    #expect(try locations(.everything).count == 5)
    #expect(try locations(.nothing).isEmpty)
  }

  @Test("rule 108: strings begin, contain and end; between includes both ends; in; nil")
  func stringOperatorsAndSets() throws {
    #expect(try locations(Attribute("location").beginsWith("B")) == ["Bells"])
    #expect(try locations(Attribute("location").contains("or")) == ["Lorne", "Torquay"])
    #expect(try locations(Attribute("location").endsWith("i")) == ["Winki"])
    #expect(try locations(Attribute("height").isBetween(1.0, 2.0)) == ["Jan Juc", "Lorne", "Winki"])
    #expect(try locations(Attribute("location").isIn(["Lorne", "Bells", "Nowhere"])) == ["Bells", "Lorne"])
    #expect(try locations(Attribute("notes") == nil) == ["Jan Juc", "Lorne", "Torquay"])
    #expect(try locations(Attribute("notes") != nil) == ["Bells", "Winki"])
  }

  @Test("rule 107: a predicate on the objects themselves takes IDs, saved or not")
  func selfIn() throws {
    let entries = try context.entries()
    let new = Entry.make("new", in: context)
    let ids = [entries[1].objectID, new.objectID]
    #expect(try locations(.selfIn(ids)) == ["Jan Juc", "new"])
    #expect(try locations(.selfIn([])).isEmpty)
    #expect(try locations(!.selfIn(ids)).count == 4)
  }

  @Test("rule 89: an ID fetch gives the IDs of the same objects, in the same order")
  func identifierFetch() throws {
    let sorts = [FetchSort("location", ascending: false)]
    let ids = try context.fetch(
      FetchRequest<ManagedObjectID>(
        entityName: "Entry", sortDescriptors: sorts, fetchLimit: 3, fetchOffset: 1))
    let objects = try context.fetch(
      FetchRequest<Entry>(entityName: "Entry", sortDescriptors: sorts, fetchLimit: 3, fetchOffset: 1))
    #expect(ids == objects.map(\.objectID))
    #expect(ids.allSatisfy { !$0.isTemporaryID })
  }

  @Test("rule 89: an ID fetch makes no objects")
  func identifierFetchMakesNoObjects() throws {
    let ids = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Entry"))
    #expect(ids.count == 5)
    #expect(context.statistics.objectsMade == 0)
  }

  @Test("rule 101: an ID fetch without property values gives the right IDs")
  func identifierFetchWithoutPropertyValues() throws {
    var request = FetchRequest<ManagedObjectID>(
      entityName: "Entry", predicate: Attribute("rating") == 5, sortDescriptors: [FetchSort("location")])
    request.includesPropertyValues = false
    #expect(try Set(context.fetch(request)) == Set(context.entries(Attribute("rating") == 5).map(\.objectID)))
  }

  @Test("rule 103: a request holds the name only; an unknown entity is an error when it is used")
  func unknownEntity() {
    let error = #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Wave"))
    }
    #expect(error?.reason == .unknownEntity && error?.entityName == "Wave")
    #expect(throws: FetchError.self) { try context.count(for: FetchRequest<Entry>(entityName: "Wave")) }
    #expect(throws: FetchError.self) { try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Wave")) }
  }

  @Test("rule 103: unknown keys, transient keys, wrong types and negative windows are errors that name them")
  func wrongRequests() {
    func reason(_ request: FetchRequest<Entry>) -> FetchError.Reason? {
      #expect(throws: FetchError.self) { try context.fetch(request) }?.reason
    }
    func request(_ predicate: FetchPredicate) -> FetchRequest<Entry> {
      FetchRequest(entityName: "Entry", predicate: predicate)
    }
    #expect(reason(request(Attribute("wave") == 1)) == .unknownKey)
    #expect(reason(request(Attribute("mood") == "x")) == .transientKey)
    #expect(reason(FetchRequest(entityName: "Entry", sortDescriptors: [FetchSort("wave")])) == .unknownKey)
    #expect(reason(FetchRequest(entityName: "Entry", fetchLimit: -1)) == .negativeWindow)
    let date = AttributeValue.date(Date(timeIntervalSinceReferenceDate: 0))
    guard case .wrongType = reason(request(.comparison(key: "rating", .equal, date))) else {
      Issue.record("a date is no rating")
      return
    }
  }

  @Test("rule 103: asking for objects of a class the entity does not have is an error, not a crash")
  func wrongClass() {
    let error = #expect(throws: CoreDataError.self) {
      try context.fetch(FetchRequest<Surfer>(entityName: "Entry"))
    }
    #expect(error?.description.contains("Surfer") == true)
  }

  @Test("rule 317: a fetch of the parent gives the children, each of its own entity and class")
  func inheritance() throws {
    let writer = store.context()
    Beach("Bells", in: writer).sand = "gold"
    HiddenBeach("Cove", in: writer).secret = "path"
    Reef("Winki", in: writer).depth = 3.5
    try writer.save()
    let spots = try context.fetch(
      FetchRequest<Spot>(entityName: "Spot", sortDescriptors: [FetchSort("name")]))
    #expect(spots.map(\.entity.name) == ["Beach", "HiddenBeach", "Reef"])
    #expect((spots[0] as? Beach)?.sand == "gold")
    #expect((spots[1] as? HiddenBeach)?.secret == "path")
    #expect((spots[2] as? Reef)?.depth == 3.5)
    let beaches = try context.fetch(
      FetchRequest<Beach>(entityName: "Beach", sortDescriptors: [FetchSort("name")]))
    #expect(beaches.map(\.name) == ["Bells", "Cove"])
    #expect(try context.count(for: FetchRequest<Reef>(entityName: "Reef")) == 1)
  }

  @Test("rule 93: includesSubentities off leaves the children out")
  func withoutSubentities() throws {
    let writer = store.context()
    _ = Beach("Bells", in: writer)
    _ = HiddenBeach("Cove", in: writer)
    try writer.save()
    var request = FetchRequest<Beach>(entityName: "Beach")
    request.includesSubentities = false
    #expect(try context.fetch(request).map(\.name) == ["Bells"])
    #expect(try context.count(for: request) == 1)
  }

  @Test("a transient attribute does not disturb a fetch; an empty entity gives nothing")
  func emptyEntity() throws {
    #expect(try context.fetch(FetchRequest<Surfer>(entityName: "Surfer")).isEmpty)
    #expect(try context.count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 0)
  }

  @Test("rule 124: a fetch posts nothing")
  func fetchPostsNothing() throws {
    let recorder = NotificationRecorder(context)
    _ = try context.entries().map(\.rating)
    context.processPendingChanges()
    #expect(recorder.names.isEmpty)
    #expect(!context.hasChanges)
  }

  @Test("rule 317: an abstract entity has no objects of its own: inserting one traps")
  func insertingAnAbstractEntityTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      _ = Spot(context: context)
    }
    expectTrap(result, says: "Spot", "abstract", "subentity")
  }

  @Test("rule 320: init(context:) of a class that two entities share traps and says what to use")
  func sharedClassTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      _ = Twin(context: context)
    }
    expectTrap(result, says: "Twin", "several entities", "init(entity:insertInto:)")
  }

  @Test("rule 318: an entity of another model traps")
  func entityOfAnotherModelTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      let foreign = try #require(SurfModel.make().entitiesByName["Entry"])
      _ = Entry(entity: foreign, insertInto: context)
    }
    expectTrap(result, says: "Entry", "not of this context's model")
  }

  @Test("rule 45: an ID of another stack's store traps in object(with:)")
  func foreignIDTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let (mine, other) = (try makeDoomedContainer(), try makeDoomedContainer())
      let context = ManagedObjectContext(.confinement, coordinator: mine.persistentStoreCoordinator)
      let foreign = ManagedObjectContext(.confinement, coordinator: other.persistentStoreCoordinator)
      _ = context.object(with: Entry.make("Bells", in: foreign).objectID)
    }
    expectTrap(result, says: "no store of this context's coordinator")
  }
}
