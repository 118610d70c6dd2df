import Foundation
import Strata
import Testing

/// Undo in contexts above contexts, and while a save is under way (rules 153, 155, 170; contexts 5–7, 15).
struct UndoInChildrenTests {
  let store: TemporaryStore
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    parent = store.context()
    child = ManagedObjectContext(.confinement, parent: parent)
  }

  @Test(
    "rule 170: each context has a manager of its own; a child's undo leaves the parent alone, and the other way round"
  )
  func independent() throws {
    parent.undoManager = UndoManager()
    child.undoManager = UndoManager()
    let below = Entry.make("Bells", in: parent)
    parent.processPendingChanges()
    let above = Entry.make("Winki", in: child)
    child.undo()
    #expect(above.managedObjectContext == nil && below.isInserted)
    child.redo()
    parent.undo()
    #expect(above.isInserted && below.managedObjectContext == nil)
    child.undoManager = nil
    child.undo()
    #expect(above.isInserted)
  }

  @Test(
    "rules 153, 170: what a child saves is one event of a parent with a manager, for records it holds and those it does not"
  )
  func childSaveIsAnEvent() throws {
    try store.save("Bells", "Winki", "Gunna")
    let manager = UndoManager()
    parent.undoManager = manager
    let held = try parent.entry("Bells")
    held.notes = "mine"
    parent.processPendingChanges()
    try child.entry("Bells").rating = 5
    try child.entry("Winki").rating = 5
    child.delete(try child.entry("Gunna"))
    Entry.make("Jan Juc", rating: 5, in: child)
    try child.save()
    func all() throws -> [String] { try parent.entries().map { "\($0.location ?? "?") \($0.rating)" } }
    #expect(try all() == ["Bells 5", "Jan Juc 5", "Winki 5"])
    #expect(manager.undoCount == 2)
    parent.undo()
    #expect(try all() == ["Bells 3", "Gunna 3", "Winki 3"])
    #expect(held.notes == "mine" && parent.updatedObjects == [held])
    parent.redo()
    #expect(try all() == ["Bells 5", "Jan Juc 5", "Winki 5"])
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 5", "Jan Juc 5", "Winki 5"])
    parent.undo()
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 3", "Gunna 3", "Winki 3"])
    parent.undo()
    #expect(held.notes == nil)
  }

  @Test("what a child saved several times, inserted and deleted again leaves nothing to undo")
  func netEffect() throws {
    let manager = UndoManager()
    parent.undoManager = manager
    let entry = Entry.make("Bells", in: child)
    try child.save()
    child.delete(entry)
    try child.save()
    parent.processPendingChanges()
    #expect(!parent.hasChanges)
    parent.undo()
    parent.undo()
    #expect(!parent.hasChanges)
    #expect(try parent.entries().isEmpty)
  }

  @Test("a parent's disabled manager notes nothing of a child's save, and the records stay rows")
  func disabled() throws {
    let manager = UndoManager()
    parent.undoManager = manager
    manager.disableUndoRegistration()
    for number in 0..<50 { Entry.make("\(number)", in: child) }
    try child.save()
    parent.processPendingChanges()
    manager.enableUndoRegistration()
    #expect(parent.registeredObjects.isEmpty && parent.hasChanges && !manager.canUndo)
    let entry = try parent.entry("7")
    entry.rating = 5
    parent.undo()
    #expect(entry.rating == 3)
    try parent.save()
    #expect(try store.savedEntries().count == 50)
  }

  @Test("what a child saved before the parent had a manager is no event, what it edits then is")
  func managerSetLater() throws {
    Entry.make("Bells", in: child)
    try child.save()
    let manager = UndoManager()
    parent.undoManager = manager
    parent.undo()
    #expect(try parent.entryCount() == 1)
    try child.entry("Bells").rating = 5
    try child.save()
    parent.undo()
    #expect(try parent.entry("Bells").rating == 3)
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test("a child sees what its parent has undone")
  func childReadsUndone() throws {
    try store.save("Bells")
    parent.undoManager = UndoManager()
    try parent.entry("Bells").rating = 5
    Entry.make("Winki", in: parent)
    parent.processPendingChanges()
    #expect(try child.entries().map(\.rating) == [5, 3])
    parent.undo()
    let other = ManagedObjectContext(.confinement, parent: parent)
    #expect(try other.entries().map(\.rating) == [3])
    parent.redo()
    #expect(try ManagedObjectContext(.confinement, parent: parent).entries().map(\.rating) == [5, 3])
  }

  @Test(
    "rule 240: a deletion that a child saved to its parent, undone and saved again, is no deletion any more",
    arguments: [false, true], [false, true])
  func deletionSavedToParent(parentHasManager: Bool, isHeld: Bool) throws {
    try store.save("Bells")
    if parentHasManager { parent.undoManager = UndoManager() }
    child.undoManager = UndoManager()
    let held = isHeld ? try parent.entry("Bells") : nil
    let entry = try child.entry("Bells")
    let id = entry.objectID
    entry.photo = Data(repeating: 7, count: 100_000)
    child.processPendingChanges()
    child.delete(entry)
    try child.save()
    #expect(try parent.entries().isEmpty)
    child.undo()
    #expect(entry.isInserted && entry.objectID == id)
    entry.rating = 4
    try child.save()
    #expect(try parent.entries().map(\.rating) == [4])
    if let held { #expect(!held.isDeleted && held.rating == 4 && held.managedObjectContext === parent) }
    try parent.save()
    let reader = store.context()
    let found = try reader.entry("Bells")
    #expect(found.rating == 4 && found.photo?.count == 100_000 && found.objectID == id)
    #expect(try store.context().entryCount() == 1)
  }

  @Test("the same when the parent has saved the deletion meanwhile")
  func deletionSavedToTheEnd() throws {
    try store.save("Bells")
    child.undoManager = UndoManager()
    let entry = try child.entry("Bells")
    child.delete(entry)
    try child.save()
    try parent.save()
    #expect(try store.savedEntries() == [])
    child.undo()
    try child.save()
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 3"])
    #expect(entry.rating == 3 && !entry.hasChanges)
  }

  @Test("an insertion saved to the parent and undone there takes the record from under the child")
  func undoneBelow() throws {
    parent.undoManager = UndoManager()
    let entry = Entry.make("Bells", in: child)
    try child.save()
    parent.undo()
    #expect(!parent.hasChanges)
    entry.rating = 5
    try child.save()
    try parent.save()
    #expect(try store.savedEntries() == [], "what the parent has deleted stays deleted (rule 169)")
    #expect(entry.rating == 5)
  }
}

/// Undo while a save is under way off the queue.
@MainActor @Suite(.serialized)
struct UndoInFlightTests {
  let store: TemporaryStore
  let main: ManagedObjectContext
  let gate = StoreGate()

  init() throws {
    store = try TemporaryStore(behind: gate)
    main = store.context(.mainQueue)
    main.undoManager = UndoManager()
  }

  @Test("an edit and an insertion that are being saved are undone above the save")
  func editAndInsertion() async throws {
    try store.save("Bells")
    let edited = try main.entry("Bells")
    edited.rating = 5
    let inserted = Entry.make("Winki", in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    main.undo()
    #expect(edited.rating == 3 && inserted.isDeleted)
    gate.open()
    try await saving
    #expect(edited.rating == 3 && edited.isUpdated && inserted.isDeleted)
    #expect(try store.savedEntries() == ["Bells 5", "Winki 3"])
    try await main.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 3"])
    main.redo()
    try await main.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 5", "Winki 3"])
  }

  @Test("a deletion that is being saved is waited for, and then undone")
  func deletion() async throws {
    try store.save("Bells")
    let entry = try main.entry("Bells")
    let id = entry.objectID
    main.delete(entry)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    gate.open()
    main.undo()
    #expect(entry.isInserted && entry.objectID == id && entry.rating == 3)
    try await saving
    #expect(try store.savedEntries() == [])
    try await main.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test("what is undone and done again while it is being saved is as it was saved")
  func thereAndBack() async throws {
    try store.save("Bells")
    let edited = try main.entry("Bells")
    edited.rating = 5
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    main.undo()
    main.redo()
    #expect(edited.rating == 5)
    gate.open()
    try await saving
    #expect(edited.rating == 5 && edited.changedValues().isEmpty)
    main.undo()
    try await main.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 3"])
  }
}
