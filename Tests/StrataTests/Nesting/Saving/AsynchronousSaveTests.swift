import Foundation
import Strata
import Testing
import TortureKit

/// Saving without stopping (contexts 15).
@MainActor @Suite(.serialized)
struct AsynchronousSaveTests {
  let store: TemporaryStore
  let main: ManagedObjectContext
  /// Holds up the store's commits while it is closed.
  let gate = StoreGate()

  init() throws {
    store = try TemporaryStore(behind: gate)
    main = store.context(.mainQueue)
  }

  @Test("what was pending is saved, the objects keep their values, and did-save reports it")
  func savesWhatWasPending() async throws {
    let old = try store.save("Bells", "Winki")
    let (changed, deleted) = (try main.entry("Bells"), try main.entry("Winki"))
    changed.rating = 5
    main.delete(deleted)
    let new = Entry.make("Gunna", rating: 4, in: main)
    let recorder = NotificationRecorder(main)
    try await main.saveAsynchronously()
    #expect(!main.hasChanges && !new.isInserted && !changed.isUpdated && !deleted.isDeleted)
    #expect(!new.objectID.isTemporaryID && new.location == "Gunna" && changed.rating == 5)
    #expect(deleted.managedObjectContext == nil)
    #expect(try store.savedEntries() == ["Bells 5", "Gunna 4"])
    let event = try #require(recorder.all(.didSave).only)
    #expect(event.inserted == [new.objectID] && event.updated == [old[0]] && event.deleted == [old[1]])
    #expect(recorder.names == [.didChange, .willSave, .didSave, .didSaveIDs])
    #expect(recorder.all(.didSaveIDs).only?.insertedIDs.first?.isTemporaryID == false)
  }

  @Test("while it is under way nothing is pending, everything is readable and found, and edits lie above it")
  func editableMeanwhile() async throws {
    try store.save("Bells", "Winki")
    let (changed, deleted) = (try main.entry("Bells"), try main.entry("Winki"))
    changed.rating = 5
    main.delete(deleted)
    let new = Entry.make("Gunna", rating: 4, in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    #expect(!main.hasChanges && main.insertedObjects.isEmpty && deleted.isDeleted)
    #expect(new.rating == 4 && changed.rating == 5 && new.objectID.isTemporaryID)
    #expect(try main.entries().map(\.location) == ["Bells", "Gunna"])
    #expect(try main.entries(Attribute("rating") == 5) == [changed])
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
    new.notes = "later"
    changed.rating = 1
    let later = Entry.make("Jan Juc", in: main)
    #expect(main.updatedObjects == [new, changed] && main.insertedObjects == [later])
    #expect(
      try main.entries().map { "\($0.location ?? "") \($0.rating)" } == ["Bells 1", "Gunna 4", "Jan Juc 3"])
    gate.open()
    try await saving
    #expect(try store.savedEntries() == ["Bells 5", "Gunna 4"])
    #expect(main.updatedObjects == [new, changed] && main.insertedObjects == [later])
    #expect(
      new.changedValues().keys.sorted() == ["notes"] && changed.changedValues().keys.sorted() == ["rating"])
    try await main.saveAsynchronously()
    #expect(!main.hasChanges)
    #expect(try store.savedEntries() == ["Bells 1", "Gunna 4", "Jan Juc 3"])
    #expect(try store.context().entry("Gunna").notes == "later")
  }

  @Test(
    "an edit that was dropped before the save does not prevent one after it",
    arguments: [false, true])
  func editedAgain(isUndone: Bool) async throws {
    try store.save("Bells", "Winki")
    let (dropped, saved) = (try main.entry("Bells"), try main.entry("Winki"))
    main.undoManager = isUndone ? UndoManager() : nil
    dropped.rating = 5
    if isUndone {
      main.processPendingChanges()
      main.undo()
    } else {
      main.refresh(dropped, mergeChanges: false)
    }
    main.processPendingChanges()
    saved.rating = 4
    try await main.saveAsynchronously()
    dropped.rating = 1
    #expect(main.updatedObjects == [dropped])
    #expect(try main.entries(Attribute("rating") == 1) == [dropped])
    try main.save()
    #expect(try store.savedEntries() == ["Bells 1", "Winki 4"])
  }

  @Test("a synchronous save that comes in between waits for it and saves the rest")
  func aSecondSaveWaits() async throws {
    let entry = Entry.make("Bells", rating: 1, in: main)
    gate.close()
    async let first: Void = main.saveAsynchronously()
    await gate.isReached()
    entry.rating = 2
    async let second: Void = main.saveAsynchronously()
    await Task.yield()
    entry.rating = 3
    gate.openSoon()
    try main.save()
    #expect(!main.hasChanges && !entry.hasChanges)
    try await first
    try await second
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test("failed validation throws and leaves everything pending")
  func failedValidation() async throws {
    Entry.make("Bells", in: main)
    let wrong = Entry.make(nil, in: main)
    await #expect(throws: CoreDataError.self) { try await main.saveAsynchronously() }
    #expect(main.insertedObjects.count == 2)
    wrong.location = "Winki"
    try await main.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
  }

  @Test("what the store refuses is pending again, beneath what was edited since")
  func refusedByTheStore() async throws {
    let other = store.context()
    Surfer.make("kelly@example.com", in: other)
    try other.save()
    let (twin, entry) = (Surfer.make("kelly@example.com", in: main), Entry.make("Bells", rating: 1, in: main))
    let gone = Entry.make("Winki", in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    entry.rating = 5
    main.delete(gone)
    gate.open()
    do {
      try await saving
      Issue.record("the store took a duplicate")
    } catch let error as CoreDataError {
      #expect(error.code == .managedObjectConstraintMerge)
    }
    #expect(main.insertedObjects == [twin, entry] && entry.rating == 5 && main.deletedObjects.isEmpty)
    twin.email = "layne@example.com"
    try main.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("conflicts go to the merge policy, on the context's queue", arguments: [false, true])
  func conflicts(isMerged: Bool) async throws {
    try store.save("Bells")
    let entry = try main.entry("Bells")
    entry.rating = 5
    let other = store.context()
    let theirs = try other.entry("Bells")
    (theirs.rating, theirs.notes) = (1, "theirs")
    try other.save()
    if isMerged { main.mergePolicy = .mergeByPropertyObjectTrump }
    do {
      try await main.saveAsynchronously()
      #expect(isMerged)
    } catch let error as CoreDataError {
      #expect(!isMerged && error.code == .managedObjectMerge)
      #expect(main.updatedObjects == [entry])
    }
    #expect(try store.savedEntries() == [isMerged ? "Bells 5" : "Bells 1"])
    #expect(entry.rating == 5 && entry.notes == (isMerged ? "theirs" : nil))
  }

  @Test("conflicts over what only a child has changed go to the merge policy, too")
  func conflictsOfChildren() async throws {
    try store.save("Bells", "Winki")
    let child = ManagedObjectContext(.privateQueue, parent: main)
    try await child.perform {
      for entry in try child.entries() { entry.rating = 5 }
      try child.save()
    }
    let other = store.context()
    for entry in try other.entries() { (entry.rating, entry.notes) = (1, "theirs") }
    try other.save()
    await #expect(throws: CoreDataError.self) { try await main.saveAsynchronously() }
    #expect(main.updatedObjects.count == 2)
    main.mergePolicy = .mergeByPropertyObjectTrump
    try await main.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 5", "Winki 5"])
    #expect(try store.context().entry("Winki").notes == "theirs")
  }

  @Test(
    "a child that asks for it is told of conflicts with its parent and of duplicates, also without stopping")
  func checksAgainstTheParent() async throws {
    try store.save("Bells")
    let (child, sibling) = (
      ManagedObjectContext(.mainQueue, parent: main), ManagedObjectContext(.mainQueue, parent: main)
    )
    child.detectsConflictsWithParent = true
    child.checksUniquenessAtParent = true
    let mine = try child.entry("Bells")
    mine.rating = 5
    try sibling.entry("Bells").rating = 1
    Surfer.make("kelly@example.com", in: sibling)
    try sibling.save()
    await #expect(throws: CoreDataError.self) { try await child.saveAsynchronously() }
    #expect(child.updatedObjects == [mine])
    child.mergePolicy = RefusingDuplicates(merge: .mergeByPropertyObjectTrump)
    let twin = Surfer.make("kelly@example.com", in: child)
    await #expect(throws: CoreDataError.self) { try await child.saveAsynchronously() }
    twin.email = "layne@example.com"
    try await child.saveAsynchronously()
    #expect(try main.entry("Bells").rating == 5 && !child.hasChanges)
  }

  @Test("rollback takes back what was edited since, and nothing of what is under way")
  func rollback() async throws {
    try store.save("Bells")
    let entry = try main.entry("Bells")
    entry.rating = 4
    let new = Entry.make("Winki", rating: 1, in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    entry.rating = 5
    main.delete(new)
    Entry.make("Gunna", in: main)
    main.rollback()
    #expect(!main.hasChanges && entry.rating == 4 && new.rating == 1)
    gate.open()
    try await saving
    #expect(entry.rating == 4 && !main.hasChanges)
    #expect(try store.savedEntries() == ["Bells 4", "Winki 1"])
  }

  @Test("reset forgets the objects; what is under way is saved all the same")
  func reset() async throws {
    let entry = Entry.make("Bells", rating: 4, in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    main.reset()
    #expect(entry.managedObjectContext == nil && entry.rating == 4)
    gate.open()
    try await saving
    #expect(try store.savedEntries() == ["Bells 4"])
    #expect(try main.entries().map(\.rating) == [4])
  }

  @Test("refresh during the save keeps what is being saved")
  func refresh() async throws {
    let entry = Entry.make("Bells", rating: 4, in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    entry.rating = 5
    main.refresh(entry, mergeChanges: false)
    main.refreshAllObjects()
    #expect(entry.rating == 4 && !entry.hasChanges)
    gate.open()
    try await saving
    #expect(entry.rating == 4)
    #expect(try store.savedEntries() == ["Bells 4"])
  }

  @Test("a context with a parent hands down to it, what children saved included")
  func withAParent() async throws {
    let writer = store.context(.privateQueue)
    let middle = ManagedObjectContext(.mainQueue, parent: writer)
    let child = ManagedObjectContext(.mainQueue, parent: middle)
    let own = Entry.make("Bells", in: middle)
    own.photo = Data(repeating: 7, count: 4_000)
    Entry.make("Winki", in: child)
    try child.save()
    try await middle.saveAsynchronously()
    #expect(!middle.hasChanges && own.objectID.isTemporaryID)
    #expect(own.photo?.count == 4_000)
    #expect(await writer.perform { writer.insertedObjects.count } == 2)
    #expect(try store.savedEntries() == [])
    try await writer.saveAsynchronously()
    #expect(!own.objectID.isTemporaryID)
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
    #expect(try middle.entries().map(\.location) == ["Bells", "Winki"])
    own.rating = 5
    try middle.save()
    try await writer.perform { try writer.save() }
    #expect(try store.savedEntries() == ["Bells 5", "Winki 3"])
  }

  @Test("children see what is under way, and what they save meanwhile comes after it")
  func childrenMeanwhile() async throws {
    let child = ManagedObjectContext(.privateQueue, parent: main)
    let entry = Entry.make("Bells", rating: 1, in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    try await child.perform {
      let mine = try child.entry("Bells")
      #expect(mine.rating == 1)
      mine.rating = 2
      Entry.make("Winki", in: child)
      try child.save()
    }
    await main.perform(schedule: .enqueued) {}
    #expect(entry.rating == 2 && main.hasChanges)
    gate.open()
    try await saving
    #expect(try store.savedEntries() == ["Bells 1"])
    #expect(entry.rating == 2 && entry.isUpdated && main.insertedObjects.count == 1)
    try main.save()
    #expect(try store.savedEntries() == ["Bells 2", "Winki 3"])
  }

  @Test("many objects, and no values are lost")
  func manyObjects() async throws {
    for number in 0..<10_000 { Entry.make("\(number)", rating: Int16(number % 6), in: main) }
    async let saving: Void = main.saveAsynchronously()
    await Task.yield()
    Entry.make("later", in: main)
    try await saving
    #expect(main.insertedObjects.count <= 1)
    try main.save()
    #expect(try store.context().entryCount() == 10_001)
    #expect(try main.entryCount() == 10_001)
    #expect(try main.entry("9999").rating == 9_999 % 6)
  }

  @Test(
    "of two stores one is written and the other refuses: what is written is not handed on again",
    arguments: [true, false])
  nonisolated func partlyRefused(isAsynchronous: Bool) async throws {
    let folder = try ScratchFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: LawModel.make(isIndexed: false))
    let names = ["first", "second"]
    let stores = try names.map {
      try coordinator.addPersistentStore(PersistentStoreDescription(url: folder.url($0 + ".strata")))
    }
    let writer = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let ids = try await writer.perform {
      let groups = try zip(names, stores).map { name, store in
        // The model has the entity.
        let group = ManagedObject(
          entity: coordinator.managedObjectModel.entitiesByName["Group"]!, insertInto: writer)
        try writer.assign(group, to: store)
        group.setValue(name, forKey: "name")
        return group
      }
      try writer.save()
      return groups.map(\.objectID)
    }
    let main = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    main.mergePolicy = .mergeByPropertyObjectTrump
    // A context with children publishes what has been edited.
    let child = ManagedObjectContext(.privateQueue, parent: main)
    await main.perform { for id in ids { main.object(with: id).setValue(1, forKey: "rank") } }
    for (place, id) in ids.enumerated() {
      try await writer.perform {
        writer.object(with: id).setValue("\(names[place]) again", forKey: "name")
        // The one that is written first has nothing against it.
        if place > 0 { try writer.save() } else { writer.rollback() }
      }
    }
    if isAsynchronous {
      try await main.saveAsynchronously()
    } else {
      try await main.perform { try main.save() }
    }
    let found = try await child.perform {
      try child.fetch(FetchRequest<ManagedObject>(entityName: "Group", sortDescriptors: [FetchSort("name")]))
        .map { "\($0.value(forKey: "name") ?? "nil") \($0.value(forKey: "rank") ?? "nil")" }
    }
    #expect(found == ["first 1", "second again 1"])
    await main.perform { #expect(!main.hasChanges) }
  }

  @Test("a confinement context has no queue to come back to")
  nonisolated func confinement() async throws {
    let context = store.context()
    await #expect(throws: CoreDataError.self) { try await context.saveAsynchronously() }
  }
}
