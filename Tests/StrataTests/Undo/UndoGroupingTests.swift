import Foundation
import Strata
import Testing

/// What is undone together: events and groups (rules 7, 127, 235, 236), and what ends it all (rules 18, 237).
struct UndoGroupingTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let manager = UndoManager()

  init() throws {
    store = try TemporaryStore()
    context = store.context()
    context.undoManager = manager
  }

  @Test("rule 236: all changes of one event are one action; nothing is registered before it is processed")
  func oneActionForEachEvent() throws {
    try store.save("Bells")
    let entry = try context.entry("Bells")
    for rating in 0..<9 { entry.rating = Int16(rating) }
    Entry.make("Winki", in: context)
    #expect(!manager.canUndo)
    context.processPendingChanges()
    #expect(manager.undoCount == 1)
    entry.rating = 1
    entry.rating = 8
    context.processPendingChanges()
    #expect(manager.undoCount == 1, "what is as it was is nothing to undo")
    context.undo()
    #expect(entry.rating == 3 && context.insertedObjects.isEmpty)
  }

  @Test("rule 236: to keep changes out of undo, process, disable, change, process, enable")
  func keptOut() throws {
    let entry = Entry.make("Bells", in: context)
    context.processPendingChanges()
    manager.disableUndoRegistration()
    entry.notes = "not to be undone"
    context.processPendingChanges()
    manager.enableUndoRegistration()
    entry.rating = 5
    context.undo()
    #expect(entry.rating == 3 && entry.notes == "not to be undone")
    context.undo()
    #expect(entry.managedObjectContext == nil)
  }

  @Test("a fetch reports changes, and does not divide what is undone together")
  func fetchInTheMiddle() throws {
    let recorder = NotificationRecorder(context)
    let entry = Entry.make("Bells", in: context)
    #expect(try context.entryCount() == 1)
    entry.rating = 5
    #expect(try context.entryCount() == 1)
    entry.rating = 1
    #expect(recorder.all(.didChange).count == 2)
    context.undo()
    #expect(entry.managedObjectContext == nil && !manager.canUndo)
    context.redo()
    #expect(entry.isInserted && entry.rating == 1)
  }

  @Test(
    "a group begun by hand takes in what was changed before it ends, not what was changed before it began")
  func groupsByHand() {
    manager.groupsByEvent = false
    let entry = Entry(context: context)
    manager.beginUndoGrouping()
    context.processPendingChanges()
    entry.location = "Bells"
    context.processPendingChanges()
    entry.rating = 5
    manager.endUndoGrouping()
    manager.beginUndoGrouping()
    entry.rating = 1
    manager.beginUndoGrouping()
    entry.height = 2
    manager.endUndoGrouping()
    manager.undoNestedGroup()
    #expect(entry.rating == 1 && entry.height == 0)
    manager.endUndoGrouping()
    context.undo()
    #expect(entry.rating == 5 && entry.location == "Bells")
    context.undo()
    #expect(entry.managedObjectContext == nil && !manager.canUndo)
  }

  @Test("actions of the application share a group with the context's, in order, for undo and redo")
  func mixedGroups() throws {
    let entry = Entry.make("Bells", in: context)
    context.processPendingChanges()
    final class Lamp { var isOn = false }
    let lamp = Lamp()
    func light(_ isOn: Bool) {
      lamp.isOn = isOn
      manager.registerUndo { light(!isOn) }
    }
    entry.rating = 5
    light(true)
    manager.setActionName("Light")
    context.processPendingChanges()
    #expect(manager.undoCount == 2 && manager.undoMenuItemTitle == "Undo Light")
    context.undo()
    #expect(!lamp.isOn && entry.rating == 3 && entry.isInserted)
    context.redo()
    #expect(lamp.isOn && entry.rating == 5 && manager.undoActionName == "Light")
  }

  @Test("an action of the application may edit objects: that belongs to the redo")
  func actionsThatEdit() throws {
    let entry = Entry.make("Bells", in: context)
    context.processPendingChanges()
    manager.registerUndo(withTarget: entry) { $0.rating = 5 }
    context.processPendingChanges()
    manager.undo()
    #expect(entry.rating == 5 && manager.canRedo)
    manager.redo()
    #expect(entry.rating == 3)
    context.undo()
    #expect(entry.rating == 5)
  }

  @Test("any change after an undo ends what can be redone")
  func changesEndRedo() {
    let entry = Entry.make("Bells", in: context)
    context.processPendingChanges()
    entry.rating = 5
    context.undo()
    entry.notes = "?"
    context.redo()
    #expect(entry.rating == 3 && entry.notes == "?" && !manager.canRedo)
  }

  // MARK: Queues

  @Test("rules 5, 235: each perform block is a group of its own")
  func performBlocks() async throws {
    let context = store.context(.privateQueue)
    await context.perform {
      context.undoManager = UndoManager()
      Entry.make("Bells", in: context)
    }
    await context.perform {
      Entry.make("Winki", in: context)
      // Says nothing about the event: performAndWait ends none.
      context.performAndWait { _ = Entry.make("Gunna", in: context) }
    }
    await context.perform {
      #expect(context.insertedObjects.count == 3 && context.undoManager?.undoCount == 2)
      context.undo()
      #expect(context.insertedObjects.count == 1)
      context.undo()
      #expect(context.insertedObjects.isEmpty)
      context.redo()
      context.redo()
      #expect(context.insertedObjects.count == 3)
      context.undoManager = nil
    }
  }

  @MainActor
  @Test("rule 127: on the main queue, without perform, a turn of the queue is a group")
  func mainQueueTurns() async throws {
    let context = store.context(.mainQueue)
    let manager = UndoManager()
    context.undoManager = manager
    Entry.make("Bells", in: context)
    Entry.make("Winki", in: context)
    await nextMainQueueTurn()
    let entry = Entry.make("Gunna", in: context)
    #expect(try context.entryCount() == 3)
    entry.rating = 5
    await nextMainQueueTurn()
    #expect(manager.undoCount == 2 && manager.groupingLevel == 0)
    context.undo()
    #expect(context.insertedObjects.count == 2)
    context.undo()
    #expect(context.insertedObjects.isEmpty)
  }

  @MainActor
  @Test("rule 4: a block of performAndWait that the main queue waits for is no event of the main queue")
  func waitedForByMainQueue() async throws {
    let context = store.context(.privateQueue)
    let count = try context.performAndWait {
      context.undoManager = UndoManager()
      Entry.make("Bells", in: context)
      let count = try context.entryCount()
      #expect(context.undoManager?.groupingLevel == 1)
      return count
    }
    #expect(count == 1)
    await nextMainQueueTurn()
    context.performAndWait {
      #expect(context.undoManager?.groupingLevel == 1)
      context.undo()
      #expect(!context.hasChanges)
    }
  }

  @Test(
    "rule 7: the manager can be set and read from any thread; blocks enqueued afterwards are undone by it")
  func setElsewhere() async throws {
    let context = store.context(.privateQueue)
    let manager = UndoManager()
    context.undoManager = manager
    #expect(context.undoManager === manager)
    await context.perform { _ = Entry.make("Bells", in: context) }
    await context.perform {
      context.undo()
      #expect(!context.hasChanges)
    }
    context.undoManager = nil
    #expect(context.undoManager == nil)
    await context.perform {
      context.redo()
      #expect(!context.hasChanges)
    }
  }

  @Test("undo on the wrong queue stops the process with a sentence")
  func wrongQueue() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try makeDoomedContainer().newBackgroundContext()
      context.undo()
    }
    expectTrap(result, says: "wrong queue", "perform")
  }

  // MARK: The end of it

  @Test("rules 19, 237: rollback forgets everything that could be undone or redone")
  func rollback() throws {
    try store.save("Bells")
    let entry = try context.entry("Bells")
    entry.rating = 4
    context.processPendingChanges()
    entry.rating = 5
    context.undo()
    #expect(manager.canUndo && manager.canRedo)
    context.rollback()
    #expect(!manager.canUndo && !manager.canRedo)
    context.redo()
    context.undo()
    #expect(entry.rating == 3 && !context.hasChanges)
    entry.rating = 1
    context.undo()
    #expect(entry.rating == 3, "afterwards it begins anew")
  }

  @Test("rule 18: reset forgets everything that could be undone or redone")
  func reset() throws {
    let entry = Entry.make("Bells", in: context)
    context.processPendingChanges()
    entry.rating = 5
    context.undo()
    Entry.make("Winki", in: context)
    context.reset()
    #expect(!manager.canUndo && !manager.canRedo)
    context.undo()
    #expect(entry.managedObjectContext == nil && !context.hasChanges)
  }

  @Test("levelsOfUndo bounds what can be undone, and the objects it holds")
  func levels() throws {
    manager.levelsOfUndo = 2
    weak var first: Entry?
    do {
      let entry = Entry.make("0", in: context)
      first = entry
      try context.save()
      context.delete(entry)
      try context.save()
    }
    #expect(first != nil)
    for number in 1...3 {
      Entry.make("\(number)", in: context)
      context.processPendingChanges()
    }
    #expect(first == nil && manager.undoCount == 2)
    context.undo()
    context.undo()
    context.undo()
    #expect(try context.entries().map(\.location) == ["1"])
  }
}
