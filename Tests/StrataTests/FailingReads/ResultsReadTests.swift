import Foundation
import Strata
import Testing

/// Lists of fetched results while the store cannot be read: they keep what they show, tell the error and go on.
struct ResultsReadTests {
  enum Kind: CaseIterable { case plain, windowed, related }

  private static func begin(_ world: ReadWorld, _ kind: Kind, delegate: Bool = true) throws {
    var request = FetchRequest<ManagedObject>(
      entityName: "Book", predicate: Attribute("pages") > 5, sortDescriptors: [FetchSort("title")])
    if kind == .windowed { request.fetchLimit = 3 }
    if kind == .related {
      request.predicate = Attribute("shelf.name") == "a"
    }
    let listener = ListListener()
    let results = FetchedResultsController(fetchRequest: request, managedObjectContext: world.context)
    if delegate { results.delegate = listener }
    try results.performFetch()
    (world.listener, world.results) = (listener, results)
  }

  private static func titles(_ world: ReadWorld) -> [String] {
    (world.results?.fetchedObjects).map { $0.compactMap { $0["title"] as? String } } ?? ["no list"]
  }

  private static func fetched(_ world: ReadWorld) throws -> [String] {
    let request = try #require(world.results).fetchRequest
    return try world.context.fetch(request).compactMap { $0["title"] as? String }
  }

  @Test func performFetchKeepsTheListOfBefore() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          try Self.begin(world, .plain)
          #expect(Self.titles(world) == ["t1", "t2", "t3", "t4"])
          world.context.refreshAllObjects()
        },
        act: { try #require($0.results).performFetch() },
        failed: { #expect(Self.titles($0) == ["t1", "t2", "t3", "t4"]) },
        finished: { #expect(Self.titles($0) == ["t1", "t2", "t3", "t4"]) }))
  }

  @Test(arguments: Kind.allCases)
  func listThatCannotBeFollowedGoesOnWithTheNextChange(kind: Kind) throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          try Self.begin(world, kind)
          world.notes = []
          let books = try world.holdFaults()
          world.kept = Kept(Array(try #require(world.results?.fetchedObjects).objectIDs))
          try world.elsewhere { context in
            try world.book(3, context)["title"] = "a3"
            try world.book(2, context)["pages"] = 0
            try world.book(4, context)["shelf"] = try world.shelf("a", context)
            try world.book(4, context)["tags"] = Set([try world.tag("new", context)])
          }
          _ = books
        },
        act: { world in
          let ids = world.held.map(\.objectID)
          let tags = try world.store.fresh { try $0.all("Tag").map(\.objectID) }
          ManagedObjectContext.mergeChanges(
            fromRemoteContextSave: [updatedObjectIDs: ids + tags], into: [world.context])
          if let error = world.listener?.errors.first {
            world.listener?.errors = []
            throw error
          }
        },
        failed: { world in
          // Either the list of before, or, when only a row was missed, one that has been told.
          #expect(world.results?.fetchedObjects != nil)
          let before = (world.kept as? Kept)?.ids ?? []
          let now = Array(try #require(world.results?.fetchedObjects).objectIDs)
          if world.listener?.kinds == [] { #expect(now == before) }
        },
        finished: { world in
          try #expect(Self.titles(world) == Self.fetched(world))
          #expect(world.listener?.kinds.isEmpty == false)
        }, edits: true))
  }

  private final class Kept {
    let ids: [ManagedObjectID]
    init(_ ids: [ManagedObjectID]) { self.ids = ids }
  }

  @Test(arguments: Kind.allCases)
  func editOfWhatCannotBeReadIsListedWhenItCan(kind: Kind) throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          try Self.begin(world, kind)
          try world.holdFaults()
        },
        act: { world in
          world.held[1]["title"] = "z2"
          world.held[3]["pages"] = 3
          world.context.processPendingChanges()
          if let error = world.listener?.errors.first { throw error }
        },
        failed: { #expect($0.results?.fetchedObjects != nil) },
        complete: { world in
          world.listener?.errors = []
          world.held[2]["title"] = "y3"
          world.context.processPendingChanges()
          #expect(world.listener?.errors.isEmpty == true)
        },
        finished: { world in
          try #expect(Self.titles(world) == Self.fetched(world))
          world.held[2]["title"] = "y3"
          try world.context.save()
        }, edits: true))
  }

  @Test func changeThatWasMissedIsToldWithTheNextAndSequencesGoOn() async throws {
    let world = try ReadWorld()
    try Self.begin(world, .plain)
    let changes = try #require(world.results).changes
    try world.holdBooks()
    let reads = try FailingReads(below: world.store.folderURL, nth: 1, .all)
    // The row is at hand, but the list looks at members of the store.
    world.context.refresh(world.held[0], mergeChanges: false)
    world.held[0]["title"] = "x1"
    world.context.processPendingChanges()
    #expect(reads.mend() > 0)
    #expect(world.listener?.errors.count == 1 && world.listener?.kinds == [])
    try #expect(#require(world.results?.fetchedObjects).objectIDs.count == 4)
    world.held[1]["pages"] = 21
    world.context.processPendingChanges()
    #expect(world.listener?.kinds.sorted() == ["move", "update"])
    #expect(Self.titles(world) == ["t2", "t3", "t4", "x1"])
    (world.results, world.listener) = (nil, nil)
    var count = 0
    for await change in changes {
      count += 1
      #expect(change.snapshot.numberOfItems == 4)
    }
    #expect(count == 2)
  }

  @Test func listWithoutADelegateTellsItsContext() throws {
    let world = try ReadWorld()
    try Self.begin(world, .plain, delegate: false)
    let changes = try #require(world.results).changes
    try world.holdFaults()
    let reads = try FailingReads(below: world.store.folderURL, nth: 1, .all)
    world.held[0]["title"] = "x1"
    world.context.processPendingChanges()
    #expect(reads.mend() > 0)
    #expect(!world.takeFailures().isEmpty)
    withExtendedLifetime(changes) {}
  }
}

private let updatedObjectIDs = ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue
