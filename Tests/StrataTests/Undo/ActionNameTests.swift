import Foundation
import Strata
import Testing

/// Which changes the name of an action belongs to, where events make the groups (rules 127, 235, 236).
struct ActionNameTests {
  let store: TemporaryStore
  let manager = UndoManager()

  init() throws { store = try TemporaryStore() }

  private func context(_ type: ConcurrencyType = .confinement) throws -> (ManagedObjectContext, Entry) {
    let context = store.context(type)
    let entry = Entry.make("Bells", in: context)
    try context.save()
    context.undoManager = manager
    return (context, entry)
  }

  /// The names of all that can be undone, the last first, which undoes it.
  private func names() -> [String] {
    var names: [String] = []
    while manager.canUndo {
      names.append(manager.undoActionName)
      manager.undo()
    }
    return names
  }

  @MainActor
  @Test("rule 127: on the main queue the name is that of the job's changes, said before them or after them")
  func mainQueueTurns() async throws {
    let (context, entry) = try context(.mainQueue)
    entry.rating = 1
    manager.setActionName("One")
    await nextMainQueueTurn()
    #expect(manager.undoActionName == "One" && manager.groupingLevel == 0)
    manager.setActionName("Two")
    #expect(manager.undoActionName == "One", "nothing is registered under the new name yet")
    entry.rating = 2
    await nextMainQueueTurn()
    await nextMainQueueTurn()
    #expect(manager.undoActionName == "Two" && manager.undoCount == 2)
    entry.rating = 5
    await nextMainQueueTurn()
    manager.setActionName("Nothing")
    await nextMainQueueTurn()
    entry.rating = 7
    await nextMainQueueTurn()
    #expect(manager.undoCount == 4)
    #expect(names() == ["", "", "Two", "One"], "a name without changes is gone with its event")
    #expect(entry.rating == 3 && context.undoManager === manager)
  }

  @Test("name, change, save; change, name, save; change, process, name: each name belongs to its changes")
  func saves() throws {
    let (context, entry) = try context()
    manager.setActionName("One")
    entry.rating = 1
    try context.save()
    entry.rating = 2
    manager.setActionName("Two")
    try context.save()
    entry.rating = 5
    context.processPendingChanges()
    manager.setActionName("Three")
    #expect(manager.undoActionName == "Three")
    entry.rating = 6
    manager.setActionName("Four")
    context.processPendingChanges()
    manager.setActionName("Five")
    context.delete(entry)
    try context.save()
    #expect(manager.undoCount == 5)
    #expect(names() == ["Five", "Four", "Three", "Two", "One"])
    #expect(entry.rating == 3)
    context.redo()
    #expect(manager.undoActionName == "One" && manager.redoActionName == "Two")
  }

  @Test("after an undo or a redo a name is for what comes, and what was undone or done again keeps its own")
  func afterUndo() throws {
    let (context, entry) = try context()
    for (number, name) in ["One", "Two"].enumerated() {
      entry.rating = Int16(number + 6)
      manager.setActionName(name)
      context.processPendingChanges()
    }
    context.undo()
    manager.setActionName("Other")
    #expect(manager.undoActionName == "One" && manager.redoActionName == "Two" && manager.canRedo)
    context.redo()
    #expect(manager.undoActionName == "Two" && manager.groupingLevel == 0)
    context.undo()
    manager.setActionName("Third")
    entry.rating = 8
    try context.save()
    #expect(names() == ["Third", "One"])
  }

  @Test("what else is said of an action goes where its name goes")
  func notes() throws {
    let (context, entry) = try context()
    entry.rating = 1
    manager.setActionName("One")
    context.processPendingChanges()
    manager.setActionIsDiscardable(true)
    manager.setActionUserInfoValue(7, forKey: "place")
    entry.rating = 2
    context.processPendingChanges()
    #expect(manager.undoActionIsDiscardable && manager.undoActionUserInfoValue(forKey: "place") as? Int == 7)
    context.undo()
    #expect(manager.undoActionName == "One" && !manager.undoActionIsDiscardable)
    #expect(manager.undoActionUserInfoValue(forKey: "place") == nil)
  }

  @Test("rule 235: each block of a private queue is named by itself")
  func performBlocks() async throws {
    let (context, manager) = (store.context(.privateQueue), Unshared(manager))
    await context.perform { context.undoManager = manager.value }
    await context.perform { _ = Entry.make("Bells", in: context) }
    await context.perform {
      manager.value.setActionName("Winki")
      _ = Entry.make("Winki", in: context)
    }
    await context.perform { manager.value.setActionName("Nothing") }
    await context.perform { _ = Entry.make("Gunna", in: context) }
    await context.perform {
      _ = Entry.make("Jenny", in: context)
      manager.value.setActionName("Jenny")
    }
    await context.perform {
      var names: [String] = []
      while manager.value.canUndo {
        names.append(manager.value.undoActionName)
        context.undo()
      }
      #expect(names == ["Jenny", "", "Winki", ""])
      context.undoManager = nil
    }
  }

  @Test("of two contexts with one manager, what one registers as the other ends the event is named")
  func sharedManager() throws {
    let (context, entry) = try context()
    let other = store.context()
    other.undoManager = manager
    manager.setActionName("Both")
    entry.rating = 1
    other.processPendingChanges()
    #expect(manager.undoActionName == "Both" && manager.undoCount == 1)
    context.undo()
    #expect(entry.rating == 3)
  }

  @Test("what was changed before registration was disabled can be undone, whatever is named meanwhile")
  func disabled() throws {
    let (context, entry) = try context()
    entry.rating = 1
    manager.disableUndoRegistration()
    manager.setActionName("One")
    manager.enableUndoRegistration()
    context.processPendingChanges()
    #expect(manager.undoActionName == "One")
    context.undo()
    #expect(entry.rating == 3)
  }

  @Test("without events a name is that of the last group, and a name that waits for changes is given up")
  func withoutEvents() throws {
    let (context, entry) = try context()
    manager.setActionName("Lost")
    manager.groupsByEvent = false
    manager.beginUndoGrouping()
    entry.rating = 1
    manager.endUndoGrouping()
    #expect(manager.undoActionName == "")
    manager.setActionName("Late")
    #expect(manager.undoActionName == "Late")
    context.undo()
    #expect(entry.rating == 3 && manager.redoActionName == "Late")
  }

  @Test("a manager of its own: actions are named before they are registered, in a group or without one")
  func noContext() {
    final class Lamp { var isOn = false }
    let lamp = Lamp()
    func light(_ isOn: Bool) {
      lamp.isOn = isOn
      manager.registerUndo { light(!isOn) }
    }
    manager.setActionName("Light")
    #expect(!manager.canUndo && manager.groupingLevel == 0)
    light(true)
    #expect(manager.undoActionName == "Light")
    manager.undo()
    #expect(!lamp.isOn && manager.redoActionName == "Light")
    manager.setActionName("Again")
    manager.beginUndoGrouping()
    light(true)
    manager.endUndoGrouping()
    #expect(manager.undoActionName == "Again")
  }
}

/// A manager on its way to the queue that uses it. Unchecked: only that queue does.
private struct Unshared: @unchecked Sendable {
  let value: UndoManager
  init(_ value: UndoManager) { self.value = value }
}
