import Foundation
import Strata
import Testing

/// What delegates and sequences get when a list cannot be kept, and requests that give no list.
@Suite struct FetchedResultsEndsTests {
  // MARK: Sequences

  @Test("rule 242: sequences end when sections would not be contiguous; the delegate gets the reason")
  func brokenSections() async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let held = try await context.perform {
      let listener = FailureListener()
      let controller = try Self.controller([FetchSort("name")], delegate: listener, context)
      let changes = controller.changes
      ResultsStand.item("c", "a", 1, context)
      context.processPendingChanges()
      #expect(controller.fetchedObjects == nil && listener.failures == 1)
      return Held(controller, listener, changes)
    }
    // Ends although the controller is there.
    #expect(await Self.counts(held.changes) == [5])
    await context.perform { withExtendedLifetime(held) {} }
  }

  @Test(
    "rule 256: a removed store ends the sequences at once, on whatever thread, and no failure is reported")
  func removedStore() async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let held = try await context.perform {
      let listener = FailureListener()
      let controller = try Self.controller(delegate: listener, context)
      return Held(controller, listener, controller.changes)
    }
    for store in stand.store.coordinator.persistentStores { try stand.store.coordinator.remove(store) }
    // The controller is alive and its context has had no event: the sequence ends all the same.
    #expect(await Self.counts(held.changes) == [5])
    await context.perform {
      #expect(held.controller.fetchedObjects == nil)
      #expect(held.listener.failures == 0)
    }
  }

  @Test("rule 256: another store that is removed ends nothing")
  func otherStore() async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let held = try await context.perform {
      let controller = try Self.controller(delegate: nil, context)
      return Held(controller, FailureListener(), controller.changes)
    }
    let other = try stand.store.coordinator.addPersistentStore(.inMemory)
    try stand.store.coordinator.remove(other)
    await context.perform {
      ResultsStand.item("a4", "a", 4, context)
      context.processPendingChanges()
    }
    var counts: [Int] = []
    for await change in held.changes {
      counts.append(change.snapshot.numberOfItems)
      if counts.count == 2 { break }
    }
    #expect(counts == [5, 6])
    await context.perform { withExtendedLifetime(held) {} }
  }

  @Test("rule 256: after reset() sequences wait, and continue with the list that is fetched next")
  func reset() async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let changes = try await context.perform {
      let controller = try Self.controller(delegate: nil, context)
      let changes = controller.changes
      context.reset()
      #expect(controller.fetchedObjects == nil)
      ResultsStand.item("a4", "a", 4, context)
      context.processPendingChanges()
      try controller.performFetch()
      ResultsStand.item("a5", "a", 5, context)
      context.processPendingChanges()
      return changes
    }
    #expect(await Self.counts(changes) == [5, 6, 7])
  }

  @Test("a sequence that is asked for after the end begins with the next fetch")
  func afterTheEnd() async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let changes = try await context.perform {
      let listener = FailureListener()
      let controller = try Self.controller([FetchSort("name")], delegate: listener, context)
      let first = controller.changes
      let wrong = ResultsStand.item("c", "a", 1, context)
      context.processPendingChanges()
      let second = controller.changes
      context.delete(wrong)
      try controller.performFetch()
      ResultsStand.item("b3", "b", 1, context)
      context.processPendingChanges()
      return withExtendedLifetime(listener) { (first, second) }
    }
    #expect(await Self.counts(changes.0) == [5])
    #expect(await Self.counts(changes.1) == [5, 6])
  }

  /// In sections by kind. On the context's queue.
  private static func controller(
    _ sorts: [FetchSort] = [FetchSort("kind"), FetchSort("value")],
    delegate: (any FetchedResultsControllerDelegate<ManagedObject>)?, _ context: ManagedObjectContext
  ) throws -> FetchedResultsController<ManagedObject> {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Item", sortDescriptors: sorts),
      managedObjectContext: context, sectionNameKeyPath: "kind")
    controller.delegate = delegate
    try controller.performFetch()
    return controller
  }

  private static func counts(_ changes: AsyncStream<FetchedResultsChange>) async -> [Int] {
    var counts: [Int] = []
    for await change in changes { counts.append(change.snapshot.numberOfItems) }
    return counts
  }

  /// Unchecked: made, read and released on the context's queue, but for the sequence.
  private final class Held: @unchecked Sendable {
    let controller: FetchedResultsController<ManagedObject>
    let listener: FailureListener
    let changes: AsyncStream<FetchedResultsChange>

    init(
      _ controller: FetchedResultsController<ManagedObject>, _ listener: FailureListener,
      _ changes: AsyncStream<FetchedResultsChange>
    ) { (self.controller, self.listener, self.changes) = (controller, listener, changes) }
  }

  private final class FailureListener: FetchedResultsChangeDelegate {
    typealias Result = ManagedObject
    var failures = 0

    func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: any Error) {
      failures += 1
    }
  }

  // MARK: A controller that is released

  @Test("rule 246: a controller that is released in will change says did change, too")
  func droppedInTheMiddle() throws {
    let stand = try ResultsStand()
    let owner = Owner()
    owner.controller = try stand.controller(delegate: owner)
    _ = stand.item("a9", "a", 9)
    stand.context.processPendingChanges()
    #expect(owner.calls == ["will", "insert", "did"])
    #expect(owner.shown == nil)
  }

  private final class Owner: FetchedResultsChangeDelegate {
    typealias Result = ManagedObject
    var controller: FetchedResultsController<ManagedObject>? { didSet { shown = controller } }
    private(set) weak var shown: FetchedResultsController<ManagedObject>?
    var calls: [String] = []

    func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
      calls.append("will")
      let kept = shown
      self.controller = nil
      shown = kept
    }

    func controller(
      _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
      at indexPath: IndexPath?, for type: FetchedResultsChangeType, newIndexPath: IndexPath?
    ) { calls.append("\(type)") }

    func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
      calls.append("did")
    }
  }

  // MARK: Wrong requests

  @Test("rule 103: a negative batch size is an error")
  func negativeBatchSize() throws {
    let stand = try ResultsStand()
    var request = FetchRequest<ManagedObject>(entityName: "Item", sortDescriptors: [FetchSort("name")])
    request.fetchBatchSize = -5
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stand.context)
    #expect(throws: FetchError.self) { try controller.performFetch() }
    let error = #expect(throws: FetchError.self) { try stand.context.fetch(request) }
    #expect(error?.reason == .negativeWindow)
    #expect(error?.description.contains("batch size") == true)
  }

  @Test(
    "rules 103, 242: errors of wrong names say in which part of the request they are",
    arguments: [
      ("sort", "group.wave", "no attribute named “wave” (in the sort key “group.wave”)."),
      ("section", "group.wave", "no attribute named “wave” (in the section key path “group.wave”)."),
      ("predicate", "wave == 1", "no attribute named “wave” (in the predicate)."),
      ("prefetch", "group.wave", "Group has no relationship named “wave” (in the key path “group.wave”"),
      ("sort", "tags.@count", "“tags.@count” of Item is computed"),
      ("section", "tags.@count", "“tags.@count” of Item is computed"),
      ("sort", "tags.weight", "many values: a list has one for each object"),
    ])
  func whereNamesStand(part: String, text: String, words: String) throws {
    let stand = try ResultsStand()
    var request = FetchRequest<ManagedObject>(entityName: "Item", sortDescriptors: [FetchSort("kind")])
    switch part {
    case "sort": request.sortDescriptors = [FetchSort(text)]
    case "predicate": request.predicate = try FetchPredicate(format: text)
    case "prefetch": request.relationshipKeyPathsForPrefetching = [text]
    default: break
    }
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: stand.context,
      sectionNameKeyPath: part == "section" ? text : nil)
    let error = #expect(throws: FetchError.self) { try controller.performFetch() }
    #expect(error?.description.contains(words) == true, "\(error?.description ?? "-")")
    if part != "section" {
      let fetched = #expect(throws: FetchError.self) { try stand.context.fetch(request) }
      #expect(fetched == error)
    }
  }

  @Test(
    "rule 9: a controller that is asked on the wrong queue traps and names itself",
    .enabled(if: ManagedObjectContext.checksConfinement))
  func wrongQueue() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try makeDoomedContainer().newBackgroundContext()
      let controller = FetchedResultsController(
        fetchRequest: FetchRequest<ManagedObject>(entityName: "Entry", sortDescriptors: [FetchSort("title")]),
        managedObjectContext: context)
      _ = controller.fetchedObjects
    }
    expectTrap(result, says: "wrong queue", "A FetchedResultsController of Entry", "performAndWait")
  }
}
