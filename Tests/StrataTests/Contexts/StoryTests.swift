import Foundation
import Strata
import Testing

/// The first two stacks of Docs/Concurrency.md, in an app for a surfer's journal: entries are listed, edited, thrown
/// away, imported and exported.
struct StoryTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// What the list on the screen shows: best days first.
  @MainActor
  private func list() throws -> [String] {
    let request = FetchRequest<Entry>(
      entityName: "Entry", sortDescriptors: [FetchSort("rating", ascending: false), FetchSort("location")])
    return try store.container.viewContext.fetch(request).map { "\($0.location ?? "?") \($0.rating)" }
  }

  // MARK: A. One main-queue context on the coordinator

  @MainActor
  @Test("stack A: a journal kept in one main-queue context, from the first entry to the next launch")
  func journalInOneContext() async throws {
    let view = store.container.viewContext
    let recorder = NotificationRecorder(view)

    // The first day: two entries, reported in one notification at the end of the event, saved.
    let bells = Entry.make("Bells", rating: 4, height: 2, in: view)
    Entry.make("Winki", rating: 5, height: 2.5, in: view)
    await nextMainQueueTurn()
    #expect(recorder.take().map(\.inserted.count) == [2])
    #expect(try list() == ["Winki 5", "Bells 4"])
    try view.save()
    #expect(recorder.take().map(\.name) == [.willSave, .didSave, .didSaveIDs])

    // An edit is in the list before it is saved; thrown away, it is as if it had never been.
    bells.rating = 1
    bells.notes = "onshore"
    #expect(try list() == ["Winki 5", "Bells 1"])
    view.rollback()
    #expect(try list() == ["Winki 5", "Bells 4"])
    #expect(bells.notes == nil)

    // A new entry without a place cannot be saved; with a place it can, together with everything else.
    let draft = Entry(context: view)
    bells.notes = "epic"
    let error = #expect(throws: CoreDataError.self) { try view.save() }
    #expect(error?.code == .validationMissingMandatoryProperty)
    draft.location = "Torquay"
    draft.rating = 2
    draft.photo = Data(repeating: 0xAB, count: 200_000)
    try view.save()

    // An entry is deleted, and stays safe to look at.
    let winki = try view.entry("Winki")
    view.delete(winki)
    #expect(try list() == ["Bells 4", "Torquay 2"])
    try view.save()
    #expect(winki.location == "Winki" && winki.managedObjectContext == nil)

    // The next launch.
    let bookmark = bells.objectID.uriRepresentation()
    let again = try store.reopened()
    let later = again.container.viewContext
    let id = try #require(again.coordinator.managedObjectID(forURIRepresentation: bookmark))
    let found = try #require(try later.existingObject(with: id) as? Entry)
    #expect(found.notes == "epic" && found.rating == 4)
    #expect(try later.entries().map(\.location) == ["Bells", "Torquay"])
    #expect(try later.entry("Torquay").photo?.count == 200_000)
  }

  // MARK: B. Siblings on one coordinator, did-save merged into main

  @MainActor
  @Test("stack B: entries are imported in the background in batches; the list on the main queue follows")
  func importIntoAMergingList() async throws {
    let view = store.container.viewContext
    view.automaticallyMergesChangesFromParent = true
    let mine = Entry.make("mine", rating: 5, in: view)
    try view.save()
    mine.notes = "being written"
    let recorder = NotificationRecorder(view)

    let background = store.container.newBackgroundContext()
    var seen = 1
    for batch in 0..<5 {
      try await background.perform {
        for number in 0..<20 {
          Entry.make("spot \(batch * 20 + number)", rating: Int16(number % 5), in: background)
        }
        try background.save()
        background.reset()
      }
      await nextMainQueueTurn()
      let count = try view.entryCount()
      #expect(count == seen + 20)
      seen = count
    }
    #expect(recorder.all(.didChange).map(\.inserted.count).reduce(0, +) == 100)
    #expect(recorder.all(.didMerge).count == 5)
    #expect(mine.notes == "being written" && mine.isUpdated)
    try view.save()
    #expect(try store.savedEntries().count == 101)
  }

  @MainActor
  @Test("stack B: an entry edited in a sibling shows up in the main context after its save, merged by hand")
  func editInASiblingMergedByHand() async throws {
    let view = store.container.viewContext
    let entry = Entry.make("Bells", rating: 1, in: view)
    try view.save()
    let id = entry.objectID

    // The app merges what the editor saves, as Core Data apps do: notification → perform → merge.
    let editor = store.container.newBackgroundContext()
    let token = NotificationCenter.default.addObserver(forName: .didSave, object: editor, queue: nil) {
      notification in
      let carried = Smuggled(notification)
      view.perform { view.mergeChanges(fromContextDidSave: carried.value) }
    }
    defer { NotificationCenter.default.removeObserver(token) }

    try await editor.perform {
      let copy = try #require(editor.object(with: id) as? Entry)
      copy.rating = 5
      copy.notes = "edited"
      Entry.make("found while editing", in: editor)
      try editor.save()
    }
    await nextMainQueueTurn()
    #expect(entry.rating == 5 && entry.notes == "edited")
    #expect(!view.hasChanges)
    #expect(try list() == ["Bells 5", "found while editing 3"])

    // What the editor throws away never arrives.
    await editor.perform {
      (editor.object(with: id) as? Entry)?.rating = 0
      editor.reset()
    }
    await nextMainQueueTurn()
    #expect(entry.rating == 5)
  }

  @MainActor
  @Test(
    "stack B: an entry is edited on both sides; the main context's edit wins by property, nothing is lost")
  func editOnBothSides() async throws {
    let view = store.container.viewContext
    view.mergePolicy = .mergeByPropertyObjectTrump
    view.automaticallyMergesChangesFromParent = true
    let entry = Entry.make("Bells", rating: 1, in: view)
    try view.save()
    let id = entry.objectID
    entry.notes = "mine"
    try await store.container.performBackgroundTask { context in
      let copy = try #require(context.object(with: id) as? Entry)
      copy.notes = "theirs"
      copy.height = 3
      try context.save()
    }
    // Whether the merge has arrived yet or not, the outcome is the same.
    try view.save()
    await nextMainQueueTurn()
    #expect(entry.notes == "mine" && entry.height == 3)
    let saved = try store.context().entry("Bells")
    #expect(saved.notes == "mine" && saved.height == 3)
  }

  @MainActor
  @Test(
    "stack B: an entry deleted in the background leaves the list; the detail on the screen stays readable")
  func deletionInTheBackground() async throws {
    let view = store.container.viewContext
    view.automaticallyMergesChangesFromParent = true
    let entry = Entry.make("Bells", rating: 4, in: view)
    try view.save()
    let id = entry.objectID
    try await store.container.performBackgroundTask { context in
      context.delete(context.object(with: id))
      try context.save()
    }
    await nextMainQueueTurn()
    #expect(try list().isEmpty)
    #expect(entry.isDeleted && entry.location == "Bells" && entry.rating == 4)
    try view.save()
    #expect(entry.managedObjectContext == nil && entry.location == "Bells")
  }

  @MainActor
  @Test("stack B: the journal is exported in the background while the main context continues editing")
  func exportInTheBackground() async throws {
    let view = store.container.viewContext
    for number in 0..<200 { Entry.make("spot \(1_000 + number)", rating: 1, in: view) }
    try view.save()
    let container = store.container
    async let lines = container.performBackgroundTask { context in
      try context.entries().map { "\($0.location ?? ""),\($0.rating)" }
    }
    for entry in try view.entries() { entry.rating = 2 }
    try view.save()
    let exported = try await lines
    // One fetch is one moment: all rows are from before the second save, or all from after it.
    #expect(exported.count == 200)
    #expect(Set(exported.map { $0.suffix(2) }).count == 1)
  }
}
