import Foundation
import Strata
import Synchronization
import Testing
import TortureKit

/// Many contexts at once (contexts 3, 4, 11–13). Meant for `swift test --sanitize=thread`, too.
struct StressTests {
  private static let counters = 4
  private static let workers = 8
  private static let rounds = TortureSettings.stressRounds

  private static func makeModel() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Counter", managedObjectClass: Counter.self,
        properties: [
          AttributeDescription("number", .integer32, isOptional: false),
          AttributeDescription("value", .integer64, isOptional: false, defaultValue: 0),
        ], uniquenessConstraints: [["number"]]),
      EntityDescription(
        "Mark",
        properties: [
          AttributeDescription("worker", .integer32, isOptional: false),
          AttributeDescription("round", .integer32, isOptional: false), AttributeDescription("text", .string),
        ],
        uniquenessConstraints: [["worker", "round"]],
        indexes: [FetchIndexDescription(name: "byText", attributes: ["text"])]),
    ])
  }

  /// Every worker raises counters that all of them raise, and inserts marks of its own; the view context watches. In the
  /// end every increment is there once.
  @Test func countersRaisedByManyContextsAreExact() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let container = PersistentContainer(name: "Stress", model: Self.makeModel())
    container.persistentStoreDescriptions = [
      PersistentStoreDescription(url: folder.url.appendingPathComponent("stress.strata"))
    ]
    try await container.loadPersistentStores()
    let ids = try await container.performBackgroundTask { context in
      let counters = (0..<Self.counters).map { number in
        let counter = Counter(context: context)
        counter.number = number
        return counter
      }
      try context.save()
      return counters.map(\.objectID)
    }
    let view = container.viewContext
    let watch = Watch()
    await view.perform {
      view.automaticallyMergesChangesFromParent = true
      watch.hold(ids.map { view.object(with: $0) })
    }
    let saves = try await withThrowingTaskGroup(of: Int.self) { group in
      for worker in 0..<Self.workers {
        group.addTask { try await Self.work(worker, container, ids) }
      }
      group.addTask {
        // The main queue is never held up: it reads all the while, and never sees a counter go back.
        for _ in 0..<Self.rounds {
          try await view.perform { try watch.look(view) }
          await Task.yield()
        }
        return 0
      }
      return try await group.reduce(0, +)
    }
    try await expectExactCounters(container, ids, watch)
    let store = try #require(container.persistentStoreCoordinator.persistentStores[0] as? LMDBStore)
    let commits = try store.commitNumber()
    print("stress: \(saves) saves of \(Self.workers) contexts in \(commits) commits")
    #expect(commits <= UInt64(saves) + 1)
    #expect(try store.check().isSound)
    try container.persistentStoreCoordinator.remove(store)
  }

  private func expectExactCounters(
    _ container: PersistentContainer, _ ids: [ManagedObjectID], _ watch: Watch
  ) async throws {
    let expected = Self.workers * Self.rounds
    let view = container.viewContext
    // All merges were enqueued before the saves returned: they are done before this is.
    try await view.perform {
      let merged = watch.values.reduce(0, +)
      #expect(merged == expected, "the merged counters say \(merged)")
      #expect(!view.hasChanges)
      let marks = try view.count(for: FetchRequest<ManagedObject>(entityName: "Mark"))
      #expect(marks == expected)
    }
    let stored = try await container.performBackgroundTask { context in
      try context.fetch(FetchRequest<Counter>(entityName: "Counter")).map(\.value).reduce(0, +)
    }
    #expect(stored == expected, "the stored counters say \(stored)")
  }

  /// One worker. Returns how many saves it made.
  private static func work(
    _ worker: Int, _ container: PersistentContainer, _ ids: [ManagedObjectID]
  ) async throws -> Int {
    let context = container.newBackgroundContext()
    context.name = "worker \(worker)"
    // Half of the workers are notified of the others' saves; the rest find out by conflicts.
    context.automaticallyMergesChangesFromParent = worker % 2 == 0
    var random = SeededGenerator(seed: UInt64(worker))
    for round in 0..<rounds {
      let id = ids[random.below(ids.count)]
      let isMarkFirst = random.chance(50)
      try await context.perform {
        if isMarkFirst { try mark(worker, round, context) }
        try raise(id, context)
        if !isMarkFirst { try mark(worker, round, context) }
      }
    }
    return rounds * 2
  }

  /// Adds one, and tries again as long as another worker was faster.
  private static func raise(_ id: ManagedObjectID, _ context: ManagedObjectContext) throws {
    while true {
      guard let counter = try context.existingObject(with: id) as? Counter else { return }
      counter.value += 1
      do {
        return try context.save()
      } catch let error as CoreDataError where error.code == .managedObjectMerge {
        context.rollback()
        context.refresh(counter, mergeChanges: false)
      }
    }
  }

  private static func mark(_ worker: Int, _ round: Int, _ context: ManagedObjectContext) throws {
    guard let entity = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Mark"] else {
      return
    }
    let mark = ManagedObject(entity: entity, insertInto: context)
    mark["worker"] = worker
    mark["round"] = round
    mark["text"] = "mark \(worker) \(round)"
    try context.save()
  }
}

/// A number that many raise.
private final class Counter: ManagedObject {
  override class var declaredSlots: [String]? { ["number", "value"] }

  var number: Int {
    get { Int(readInt32(slot: 0)) }
    set { write(Int32(newValue), slot: 0) }
  }
  var value: Int {
    get { Int(readInt64(slot: 1)) }
    set { write(Int64(newValue), slot: 1) }
  }
}

/// The view context's counters. Used on the main queue only.
private final class Watch: @unchecked Sendable {  // Safe: see above.
  private var counters: [ManagedObject] = []
  private var last: [Int] = []

  func hold(_ counters: [ManagedObject]) { self.counters = counters }

  /// What the view context's own objects say.
  var values: [Int] { counters.map { ($0 as? Counter)?.value ?? 0 } }

  func look(_ view: ManagedObjectContext) throws {
    let values = values
    for (old, new) in zip(last, values) { #expect(new >= old) }
    last = values
    let marks = try view.fetch(
      FetchRequest<ManagedObject>(
        entityName: "Mark", predicate: Attribute("text").beginsWith("mark 1"),
        sortDescriptors: [FetchSort("round")],
        fetchLimit: 20))
    for mark in marks { #expect(mark["text"] is String) }
  }
}
