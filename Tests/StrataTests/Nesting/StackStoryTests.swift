import Foundation
import Strata
import Testing

/// The stacks of Docs/Concurrency.md as an app would set them up, for a surfer's journal. Stacks A and B,
/// which need no parents, begin in `StoryTests`.
struct StackStoryTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// What the list on the screen shows.
  @MainActor
  private func list(_ context: ManagedObjectContext) throws -> [String] {
    try context.entries().map { "\($0.location ?? "?") \($0.rating)" }
  }

  // MARK: B. Siblings, merged by did-save

  @MainActor
  @Test(
    "stack B: the app merges did-save by hand, and leaves out its own saves and those of other coordinators")
  func foreignSavesAreIgnored() async throws {
    let view = store.container.viewContext
    let merged = Log<String>()
    let token = NotificationCenter.default.addObserver(forName: .didSave, object: nil, queue: nil) {
      notification in
      guard let origin = notification.object as? ManagedObjectContext, origin !== view,
        origin.persistentStoreCoordinator === view.persistentStoreCoordinator, origin.parent == nil
      else { return }
      let carried = Smuggled(notification)
      view.perform {
        view.mergeChanges(fromContextDidSave: carried.value)
        merged.add(origin.name ?? "?")
      }
    }
    defer { NotificationCenter.default.removeObserver(token) }

    let mine = Entry.make("Bells", rating: 1, in: view)
    try view.save()
    let id = mine.objectID
    let sibling = store.container.newBackgroundContext()
    sibling.name = "sibling"
    try await sibling.perform {
      (try sibling.existingObject(with: id) as? Entry)?.rating = 5
      try sibling.save()
    }
    // Another journal in another file: which does not concern the list.
    let other = try store.neighbour("Other.strata")
    try other.save("Winki")
    await nextMainQueueTurn()
    #expect(merged.list == ["sibling"])
    #expect(mine.rating == 5 && !view.hasChanges)
    #expect(try list(view) == ["Bells 5"])
  }

  // MARK: C. An import as a child of the main context

  @MainActor
  @Test(
    "stack C: a child of the main context imports in batches; the list shows each, the disk has what main saves"
  )
  func importIntoTheMainContext() async throws {
    let view = store.container.viewContext
    let mine = Entry.make("mine", rating: 5, in: view)
    try view.save()
    mine.notes = "being written"
    let importer = ManagedObjectContext(.privateQueue, parent: view)
    for batch in 1...5 {
      try await importer.perform {
        for number in 0..<20 { Entry.make("spot \(batch) \(number)", rating: 1, in: importer) }
        try importer.save()
        #expect(importer.registeredObjects.isEmpty)
      }
      #expect(try view.entryCount() == 1 + batch * 20)
      #expect(view.insertedObjects.count == batch * 20)
      #expect(try store.savedEntries().count == 1)
    }
    #expect(mine.notes == "being written" && mine.isUpdated)
    try view.save()
    #expect(!view.hasChanges)
    #expect(try store.savedEntries().count == 101)
    let reader = store.context()
    #expect(try reader.entry("mine").notes == "being written")
  }

  // MARK: D. A private writer below main, workers above it

  @MainActor
  @Test(
    "stack D: a worker's changes reach the list with its save, the writer with the list's, the disk with the writer's"
  )
  func threeStepSaving() async throws {
    let writer = store.context(.privateQueue)
    writer.name = "writer"
    let main = ManagedObjectContext(.mainQueue, parent: writer)
    let old = Entry.make("Bells", rating: 2, in: main)
    let id = old.objectID

    let workers = (0..<3).map { _ in ManagedObjectContext(.privateQueue, parent: main) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, worker) in workers.enumerated() {
        group.addTask {
          try await worker.perform {
            Entry.make("worker \(number)", rating: 4, in: worker)
            try worker.save()
          }
        }
      }
      try await group.waitForAll()
    }
    try await workers[0].perform {
      let copy = try #require(try workers[0].existingObject(with: id) as? Entry)
      #expect(copy.rating == 2 && id.isTemporaryID)
      copy.rating = 5
      try workers[0].save()
    }
    // One: the list.
    #expect(try list(main) == ["Bells 5", "worker 0 4", "worker 1 4", "worker 2 4"])
    #expect(await writer.perform { !writer.hasChanges })
    // Two: the writer, in memory.
    try main.save()
    #expect(!main.hasChanges)
    #expect(await writer.perform { writer.insertedObjects.count } == 4)
    #expect(try store.savedEntries().isEmpty)
    // The list continues meanwhile.
    old.notes = "glassy"
    // Three: the disk.
    try await writer.perform { try writer.save() }
    #expect(try store.savedEntries().count == 4)
    #expect(old.notes == "glassy" && old.isUpdated && !old.objectID.isTemporaryID && old.objectID == id)
    try main.save()
    try await writer.perform { try writer.save() }
    let reader = store.context()
    #expect(try reader.entry("Bells").notes == "glassy")
  }

  // MARK: E. A scratchpad: SurfJournal

  /// The journal's model: one entity, as the app has it.
  private static func makeJournal() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "JournalEntry",
        properties: [
          AttributeDescription("date", .date), AttributeDescription("height", .string),
          AttributeDescription("period", .string), AttributeDescription("wind", .string),
          AttributeDescription("location", .string), AttributeDescription("rating", .integer16),
        ])
    ])
  }

  @MainActor
  private func journal(_ context: ManagedObjectContext) throws -> [String] {
    let request = FetchRequest<ManagedObject>(
      entityName: "JournalEntry", sortDescriptors: [FetchSort("date", ascending: false)])
    return try context.fetch(request).map {
      "\($0["location"] ?? "–"), \($0["height"] ?? "–"), \($0["rating"] ?? "–")"
    }
  }

  @MainActor
  @Test("stack E: an entry is edited on a scratchpad of the main queue, and thrown away or saved")
  func surfJournal() async throws {
    let surf = try TemporaryStore(Self.makeJournal())
    let main = surf.container.viewContext
    let entity = try #require(surf.coordinator.managedObjectModel.entitiesByName["JournalEntry"])
    func make(in context: ManagedObjectContext, at location: String, on day: Int) -> ManagedObject {
      let entry = ManagedObject(entity: entity, insertInto: context)
      entry["date"] = Date(timeIntervalSince1970: TimeInterval(day) * 86_400)
      (entry["location"], entry["height"], entry["period"]) = (location, "2 m", "14 s")
      (entry["wind"], entry["rating"]) = ("offshore", 3)
      return entry
    }
    let bells = make(in: main, at: "Bells", on: 1)
    try main.save()
    let recorder = NotificationRecorder(main)

    // Edit, cancel: nothing has happened.
    do {
      let scratchpad = ManagedObjectContext(.mainQueue, parent: main)
      let copy = try scratchpad.existingObject(with: bells.objectID)
      copy["rating"] = 1
      copy["wind"] = nil
      _ = make(in: scratchpad, at: "Winki", on: 2)
      #expect(try journal(scratchpad) == ["Winki, 2 m, 3", "Bells, 2 m, 1"])
      #expect(try journal(main) == ["Bells, 2 m, 3"])
    }
    await nextMainQueueTurn()
    #expect(!main.hasChanges && recorder.all.isEmpty)
    #expect(bells["rating"] as? Int64 == 3 && bells["wind"] as? String == "offshore")

    // Edit, save: the list shows it, the disk does not.
    let scratchpad = ManagedObjectContext(.mainQueue, parent: main)
    try scratchpad.existingObject(with: bells.objectID)["rating"] = 5
    _ = make(in: scratchpad, at: "Winki", on: 2)
    try scratchpad.save()
    #expect(try journal(main) == ["Winki, 2 m, 3", "Bells, 2 m, 5"])
    #expect(bells["rating"] as? Int64 == 5 && bells["period"] as? String == "14 s")
    let reader = surf.context()
    #expect(try reader.count(for: FetchRequest<ManagedObject>(entityName: "JournalEntry")) == 1)
    #expect(main.hasChanges && recorder.all(.didChange).count == 1)

    // Only the list's own save reaches the disk.
    try main.save()
    let again = try surf.reopened(Self.makeJournal())
    #expect(try journal(again.container.viewContext) == ["Winki, 2 m, 3", "Bells, 2 m, 5"])
  }
}
