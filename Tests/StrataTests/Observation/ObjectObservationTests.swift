import Foundation
import Observation
import Strata
import Testing
import TortureKit

/// `withObservationTracking` sees which properties of which objects are read, and each reader is notified once when one changes.
struct ObjectObservationTests {
  private let stand: LiveStand
  private let context: ManagedObjectContext
  private let note: Note
  private let other: Note

  init() throws {
    stand = try LiveStand()
    context = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    context.observesObjects = true
    note = Note(context: context)
    other = Note(context: context)
    note.title = "a"
    other.title = "b"
    try context.save()
  }

  @Test("a setter notifies the readers of that property of that object, once, before it changes")
  func setter() {
    let seen = Guarded<[String?]>([])
    let carried = Carried(note)
    withObservationTracking {
      _ = note.title
    } onChange: {
      seen.withLock { $0.append(carried.value.title) }
    }
    let count = track { _ = note.count }
    let theirs = track { _ = other.title }
    note.title = "A"
    note.title = "AA"
    #expect(seen.withLock { $0 } == ["a"])
    #expect(count.value == 0, "per property")
    #expect(theirs.value == 0, "per object")
    let again = track { _ = note.title }
    note.title = "AAA"
    #expect(again.value == 1)
  }

  @Test("reading by key, optional accessors and writing by key")
  func byKey() {
    let byKey = track { _ = note.value(forKey: "count") }
    note.setValue(3, forKey: "count")
    #expect(byKey.value == 1)
    let optional = track { _ = note.readOptionalInt64(slot: 1) }
    note.count += 1
    #expect(optional.value == 1)
  }

  @Test("a nil and a value again; edits in a row before the event ends")
  func fastWrites() {
    note.count = 1
    note.count = 2
    let first = track { _ = note.count }
    note.count = 3
    #expect(first.value == 1)
    let second = track { _ = note.count }
    note.count = 4
    #expect(second.value == 1)
    let third = track { _ = note.title }
    note.title = nil
    #expect(third.value == 1)
  }

  @Test("relationships: both ends of what is linked")
  func relationships() throws {
    let folder = Folder(context: context)
    folder.name = "box"
    try context.save()
    let toOne = track { _ = note.folder }
    let members = track { _ = folder.notes }
    let name = track { _ = folder.name }
    let theirs = track { _ = other.folder }
    note.folder = folder
    context.processPendingChanges()
    #expect(toOne.value == 1)
    #expect(members.value == 1)
    #expect(name.value == 0 && theirs.value == 0)
    let out = track { _ = note.folder }
    folder.notes = []
    context.processPendingChanges()
    #expect(out.value == 1)
  }

  @Test("isDeleted and hasChanges")
  func state() throws {
    let changes = track { _ = note.hasChanges }
    note.title = "A"
    #expect(changes.value == 1)
    let saved = track { _ = note.hasChanges }
    let title = track { _ = note.title }
    try context.save()
    #expect(saved.value == 1)
    #expect(title.value == 0, "a save changes no value")
    let deleted = track { _ = note.isDeleted }
    context.delete(note)
    context.processPendingChanges()
    #expect(deleted.value == 1)
    let home = track { _ = note.managedObjectContext }
    try context.save()
    #expect(home.value == 1)
  }

  @Test("a sibling's save that is merged, only what it has changed", arguments: [false, true])
  func merge(batch: Bool) async throws {
    let main = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
    main.automaticallyMergesChangesFromParent = true
    let keeper = Keeper()
    let (title, count) = try await main.perform {
      main.observesObjects = true
      let request = FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == "a")
      keeper.objects = try main.fetch(request)
      return (track { _ = keeper.notes[0].title }, track { _ = keeper.notes[0].count })
    }
    let writer = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
    try await writer.perform {
      if batch {
        _ = try writer.execute(BatchUpdateRequest(entityName: "Note", propertiesToUpdate: ["count": 5]))
      } else {
        for note in try writer.fetch(FetchRequest<Note>(entityName: "Note")) { note.count = 5 }
        try writer.save()
      }
    }
    await main.perform {
      #expect(keeper.notes[0].count == 5)
      #expect(count.value == 1)
      #expect(title.value == 0)
    }
  }

  @Test("another process's commit")
  func elsewhere() async throws {
    let main = stand.context()
    let keeper = Keeper()
    let title = try await main.perform {
      main.observesObjects = true
      let request = FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == "a")
      keeper.objects = try main.fetch(request)
      return track { _ = keeper.notes[0].title }
    }
    try stand.elsewhere("rename:a:A")
    #expect(await eventually { title.value == 1 })
  }

  @Test("refreshing, with or without merging, reports what is different")
  func refresh() throws {
    let sibling = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    let request = FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == "a")
    try #require(try sibling.fetch(request).first).count = 9
    try sibling.save()
    let (title, count) = (track { _ = note.title }, track { _ = note.count })
    context.refresh(note, mergeChanges: true)
    context.processPendingChanges()
    #expect(note.count == 9)
    #expect(count.value == 1 && title.value == 0)
    note.title = "edited"
    let (edited, same) = (track { _ = note.title }, track { _ = note.count })
    let state = track { _ = note.hasChanges }
    context.refresh(note, mergeChanges: false)
    #expect(edited.value == 0, "at the end of the event")
    context.processPendingChanges()
    #expect(edited.value == 1 && same.value == 0 && state.value == 1)
    #expect(note.isFault, "comparing does not fire")
    #expect(note.title == "a")
  }

  @Test("refreshing all objects does not notify readers whose values and members are the same")
  func refreshAll() throws {
    let folder = Folder(context: context)
    folder.notes = [note]
    try context.save()
    let reads: [() -> Void] = [
      { [note] in _ = note.title }, { [note] in _ = note.folder }, { _ = folder.notes },
      { [note] in _ = note.isDeleted }, { [note] in _ = note.hasChanges },
    ]
    let same = reads.map(track)
    context.refreshAllObjects()
    #expect(same.map(\.value) == [0, 0, 0, 0, 0])
    let sibling = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    try #require(try sibling.existingObject(with: other.objectID) as? Note).folder =
      sibling.object(with: folder.objectID) as? Folder
    try sibling.save()
    context.refreshAllObjects()
    #expect(same.map(\.value) == [0, 0, 1, 0, 0], "only the members are others")
  }

  @Test("setting a value, a reference or members to what they are notifies no reader")
  func sameAgain() throws {
    let folder = Folder(context: context)
    folder.notes = [note]
    try context.save()
    let title = track { _ = note.title }
    let owner = track { _ = note.folder }
    let members = track { _ = folder.notes }
    let changes = track { _ = note.hasChanges }
    note.title = "a"
    note.folder = folder
    folder.notes = [note]
    context.processPendingChanges()
    #expect(title.value == 0 && owner.value == 0 && members.value == 0)
    #expect(changes.value == 1, "the object counts as changed all the same, as in Core Data")
    // There and back in one event: the setter cannot know.
    note.title = "b"
    #expect(title.value == 1)
  }

  @Test("isDeleted, hasChanges and managedObjectContext are distinguished")
  func statesApart() throws {
    let (deleted, changes) = (track { _ = note.isDeleted }, track { _ = note.hasChanges })
    let home = track { _ = note.managedObjectContext }
    note.count += 1
    try context.save()
    #expect(deleted.value == 0 && home.value == 0 && changes.value == 1)
  }

  @Test(
    "a deletion elsewhere notifies readers of the state, and not those of values, which stay readable (rules 174, 175)"
  )
  func deletedElsewhere() throws {
    context.automaticallyMergesChangesFromParent = false
    let sibling = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    sibling.delete(try sibling.existingObject(with: note.objectID))
    let heard = Heard<Carried<Notification>>(ManagedObjectContext.didSaveObjectsNotification, of: sibling) {
      Carried($0)
    }
    context.refreshAllObjects()
    // A fault, read for the first time under tracking.
    let title = track { _ = note.value(forKey: "title") }
    let (count, folder) = (track { _ = note.count }, track { _ = note.folder })
    let (deleted, changes) = (track { _ = note.isDeleted }, track { _ = note.hasChanges })
    try sibling.save()
    context.mergeChanges(fromContextDidSave: try #require(heard.all.first).value)
    #expect(note.isDeleted && note.title == "a")
    #expect(title.value == 0 && count.value == 0 && folder.value == 0)
    #expect(deleted.value == 1 && changes.value == 1)
  }

  @Test("a reset takes the context away, and no value")
  func reset() throws {
    let folder = Folder(context: context)
    folder.notes = [note]
    try context.save()
    let (title, members) = (track { _ = note.title }, track { _ = folder.notes })
    let (home, deleted) = (track { _ = note.managedObjectContext }, track { _ = note.isDeleted })
    context.reset()
    #expect(title.value == 0 && members.value == 0 && deleted.value == 0)
    #expect(home.value == 1)
  }

  @Test("a batch deletion of members notifies readers of their owners' members, whichever end leads there")
  func batchDeletion() throws {
    let folder = Folder(context: context)
    folder.notes = [note, other]
    try context.save()
    let members = track { _ = folder.notes }
    _ = try context.execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == "b")))
    #expect(folder.notes.count == 1)
    #expect(members.value == 1)
  }

  @Test("undo, redo and rollback")
  func undo() throws {
    context.undoManager = Strata.UndoManager()
    note.title = "A"
    context.processPendingChanges()
    let undone = track { _ = note.title }
    let count = track { _ = note.count }
    context.undo()
    #expect(note.title == "a")
    #expect(undone.value == 1)
    let redone = track { _ = note.title }
    context.redo()
    #expect(redone.value == 1)
    let back = track { _ = note.title }
    context.rollback()
    #expect(note.title == "a")
    #expect(back.value == 1)
    #expect(count.value == 0)
    let folder = Folder(context: context)
    try context.save()
    folder.notes = [note]
    let members = track { _ = folder.notes }
    context.rollback()
    #expect(members.value == 1)
  }

  @Test("a child's save notifies readers of the parent's object")
  func childSave() throws {
    let child = ManagedObjectContext(.privateQueue, parent: context)
    let id = note.objectID
    let (title, count) = (track { _ = note.title }, track { _ = note.count })
    try child.performAndWait {
      try #require(try child.existingObject(with: id) as? Note).title = "A"
      try child.save()
    }
    context.processPendingChanges()
    #expect(note.title == "A")
    #expect(title.value == 1 && count.value == 0)
  }

  @Test("contexts that do not observe notify no reader, and their objects carry no state for it")
  func optIn() throws {
    let plain = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    let note = try #require(try plain.fetch(FetchRequest<Note>(entityName: "Note")).first)
    let title = track { _ = note.title }
    note.title = "x"
    #expect(title.value == 0)
  }
}

final class TimesTold: Sendable {
  let count = Guarded(0)
  var value: Int { count.withLock { $0 } }
}

/// Counts how often a reader of what `read` reads is notified.
private func track(_ read: () -> Void) -> TimesTold {
  let counter = TimesTold()
  withObservationTracking(read) { counter.count.withLock { $0 += 1 } }
  return counter
}
