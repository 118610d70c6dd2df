import Foundation
import Strata
import Testing

/// Undo after saves and beside other contexts (rules 64, 140, 170, 172, 173, 240, 241).
struct UndoAndSaveTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let manager = UndoManager()

  init() throws {
    store = try TemporaryStore()
    context = store.context()
    context.undoManager = manager
  }

  // MARK: After a save

  @Test(
    "rule 240: a save forgets nothing; an edit undone after it makes the object dirty again, and is saved")
  func savedEdit() throws {
    try store.save("Bells")
    let entry = try context.entry("Bells")
    entry.rating = 5
    try context.save()
    context.undo()
    #expect(entry.rating == 3 && entry.isUpdated && entry.changedValues().count == 1)
    try context.save()
    #expect(try store.savedEntries() == ["Bells 3"])
    context.redo()
    #expect(entry.rating == 5 && entry.isUpdated)
    context.undo()
    #expect(entry.rating == 3 && !entry.hasChanges, "back at what is saved")
    context.redo()
    try context.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("what an observer edits while a save of many new objects opens an undo group is saved")
  func editedWhileAGroupOpens() throws {
    // Rows of so many are encoded while the event ends.
    let entries = (0..<5_000).map { Entry.make("\($0)", in: context) }
    // Unsafe: the notification is posted where the context is used.
    nonisolated(unsafe) let first = entries[0]
    let token = NotificationCenter.default.addObserver(
      forName: .NSUndoManagerDidOpenUndoGroup, object: manager, queue: nil
    ) { _ in first.notes = "edited" }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    #expect(first.notes == "edited")
    let saved = try store.context().entries().filter { $0.notes == "edited" }
    #expect(saved.map(\.location) == ["0"])
  }

  @Test("rules 71, 240: a transient value undone after a save makes the object dirty again")
  func savedTransient() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.mood = "wild"
    try context.save()
    context.undo()
    #expect(entry.mood == nil && entry.hasChanges)
  }

  @Test(
    "rule 240: an insertion undone after it was saved is a deletion, redone and saved a record with the same ID"
  )
  func savedInsertion() throws {
    let diary = Diary(context: context)
    diary.title = "Summer"
    diary.tide = "high"
    let id = diary.objectID
    try context.save()
    context.undo()
    #expect(diary.isDeleted && context.deletedObjects == [diary] && diary.snapshotEvents == [.undoInsertion])
    context.redo()
    #expect(!diary.hasChanges && diary.title == "Summer")
    context.undo()
    try context.save()
    #expect(try store.context().diary() == nil)
    #expect(diary.managedObjectContext == nil)
    context.redo()
    #expect(diary.isInserted && diary.objectID == id && diary.title == "Summer" && diary.tide == "high")
    #expect(context.registeredObject(for: id) === diary && diary.count(of: "awakeFromInsert") == 1)
    try context.save()
    #expect(try store.context().diary()?.title == "Summer")
    #expect(try store.context().diary()?.objectID == id)
  }

  @Test(
    "rule 240: a deletion undone after it was saved inserts the record again: same ID, same values, also large ones"
  )
  func savedDeletion() throws {
    let photo = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
    let id: ManagedObjectID
    do {
      let entry = Entry.make("Bells", rating: 5, in: context)
      entry.photo = photo
      entry.notes = String(repeating: "glassy ", count: 20_000)
      id = entry.objectID
      try context.save()
    }
    let entry = try #require(context.registeredObject(for: id) as? Entry)
    context.refresh(entry, mergeChanges: false)
    entry.rating = 4
    try context.save()
    context.delete(entry)
    try context.save()
    #expect(entry.managedObjectContext == nil && context.registeredObject(for: id) == nil)
    context.undo()
    #expect(entry.isInserted && entry.objectID == id && context.registeredObject(for: id) === entry)
    #expect(entry.rating == 4 && entry.photo == photo && entry.notes?.count == 140_000)
    try context.save()
    #expect(!entry.hasChanges && entry.rating == 4)
    let reader = store.context()
    let found = try reader.entry("Bells")
    #expect(
      found.objectID == id && found.rating == 4 && found.photo == photo && found.notes?.count == 140_000)
    context.undo()
    #expect(entry.rating == 5)
    context.redo()
    context.redo()
    #expect(entry.isDeleted)
    try context.save()
    #expect(try store.savedEntries() == [])
    context.undo()
    try context.save()
    let second = store.context()
    #expect(try second.entry("Bells").photo == photo)
    let check = try #require(store.store as? LMDBStore).check()
    #expect(check.isSound, "\(check.problems)")
  }

  @Test("a large value edited and saved comes back whole")
  func savedLargeValue() throws {
    let (old, new) = (Data(repeating: 1, count: 200_000), Data(repeating: 2, count: 200_000))
    let entry = Entry.make("Bells", in: context)
    entry.photo = old
    try context.save()
    entry.photo = new
    context.undo()
    #expect(entry.photo == old && !entry.hasChanges, "nothing to save: the store has it")
    context.redo()
    try context.save()
    context.undo()
    #expect(entry.photo == old && entry.isUpdated)
    try context.save()
    let reader = store.context()
    #expect(try reader.entry("Bells").photo == old)
  }

  @Test("a fault that was deleted, and saved so, comes back with its values")
  func savedDeletionOfFault() throws {
    let ids = try store.save("Bells")
    let entry = try #require(context.object(with: ids[0]) as? Entry)
    context.delete(entry)
    try context.save()
    context.undo()
    #expect(entry.isInserted && entry.location == "Bells")
    try context.save()
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test("undone, saved, redone, saved, undone: the record's version never decreases")
  func versions() throws {
    let sibling = store.context(.privateQueue)
    sibling.automaticallyMergesChangesFromParent = true
    let id = try store.save("Bells")[0]
    let held: Smuggled<Entry> = try sibling.performAndWait { Smuggled(try sibling.entry("Bells")) }
    let entry = try context.entry("Bells")
    context.delete(entry)
    try context.save()
    sibling.performAndWait { #expect(held.value.isDeleted) }
    context.undo()
    context.redo()
    try context.save()
    context.undo()
    entry.rating = 5
    try context.save()
    try sibling.performAndWait {
      #expect(!held.value.isDeleted, "whose deletion was taken back where it came from is there again")
      #expect(held.value.rating == 5 && sibling.deletedObjects.isEmpty)
      let found = try sibling.entry("Bells")
      #expect(found.objectID == id && found === held.value)
      found.rating = 1
      try sibling.save()
    }
    #expect(try store.savedEntries() == ["Bells 1"])
  }

  @Test("rules 140, 241: what didSave changes is undone by itself")
  func changesInDidSave() throws {
    let diary = Diary(context: context)
    diary.title = "Summer"
    diary.onDidSave = {
      $0.onDidSave = { _ in }; $0.pages = 7
    }
    try context.save()
    #expect(diary.pages == 7 && diary.hasChanges)
    context.undo()
    #expect(diary.pages == 0 && diary.title == "Summer" && !diary.isDeleted)
    context.undo()
    #expect(diary.isDeleted)
  }

  @Test("what willSave changes is undone with what was saved")
  func changesInWillSave() throws {
    let diary = Diary(context: context)
    try context.save()
    diary.onWillSave = { if $0.pages == 0 { $0.pages = 7 } }
    diary.title = "Summer"
    try context.save()
    #expect(diary.pages == 7)
    context.undo()
    #expect(diary.pages == 0 && diary.title == "untitled")
  }

  @Test("a save that fails forgets nothing")
  func failedSave() throws {
    let entry = Entry.make(nil, in: context)
    #expect(throws: CoreDataError.self) { try context.save() }
    context.undo()
    #expect(entry.managedObjectContext == nil && !context.hasChanges)
  }

  // MARK: Other contexts

  @Test("rule 173: what others save cannot be undone here; what is undone takes precedence over it")
  func merges() throws {
    try store.save("Bells")
    let entry = try context.entry("Bells")
    entry.rating = 5
    context.processPendingChanges()
    let other = store.context()
    let recorder = Guarded<Smuggled<Notification>?>(nil)
    let token = NotificationCenter.default.addObserver(
      forName: .didSave, object: other, queue: nil
    ) { notification in
      let notification = Smuggled(notification)
      recorder.withLock { $0 = notification }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    let theirs = try other.entry("Bells")
    theirs.notes = "theirs"
    theirs.rating = 1
    try other.save()
    context.mergeChanges(fromContextDidSave: try #require(recorder.withLock { $0 }).value)
    #expect(entry.notes == "theirs" && entry.rating == 5 && manager.undoCount == 1)
    context.undo()
    #expect(
      entry.notes == "theirs" && entry.rating == 3 && entry.isUpdated,
      "what was undone is what was here before")
  }

  @Test("what another context has deleted stays deleted, whatever is undone")
  func deletedElsewhere() throws {
    try store.save("Bells")
    context.automaticallyMergesChangesFromParent = false
    let entry = try context.entry("Bells")
    entry.rating = 5
    context.processPendingChanges()
    let other = store.context()
    other.delete(try other.entry("Bells"))
    let id = entry.objectID
    try other.save()
    ManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [ManagedObjectContext.NotificationKey.deletedObjectIDs.rawValue: [id]],
      into: [context])
    #expect(entry.isDeleted)
    context.undo()
    #expect(entry.isDeleted)
    try context.save()
    #expect(try store.savedEntries() == [])
  }

  @Test("when another context has brought the record back, it is not inserted a second time")
  func cameBackElsewhere() throws {
    let id = try store.save("Bells")[0]
    let entry = try context.entry("Bells")
    context.delete(entry)
    try context.save()
    let placeholder = try #require(context.object(with: id) as? Entry)
    #expect(placeholder.location == nil && placeholder.isDeleted, "nothing is there")
    context.undo()
    #expect(context.registeredObject(for: id) === entry && entry.isInserted, "the same object, not the other")
    #expect(placeholder.managedObjectContext == nil)
    try context.save()
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test("a store that was removed is left alone")
  func removedStore() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.rating = 5
    try context.save()
    try store.close()
    context.undo()
    #expect(entry.rating == 5)
  }
}
