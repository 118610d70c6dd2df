import Foundation
import Strata
import Testing

/// The undo manager by itself: groups, stacks, names, notifications (rules 234–236 build on it).
struct UndoManagerTests {
  /// Something that can be set, and set back.
  final class Lamp {
    var colour: String
    var log: [String] = []
    init(_ colour: String = "white") { self.colour = colour }

    /// Sets the colour and registers the way back, which registers the way forth.
    func set(_ new: String, _ manager: UndoManager) {
      let old = colour
      manager.registerUndo(withTarget: self) { [unowned manager] in $0.set(old, manager) }
      colour = new
      log.append(new)
    }
  }

  let manager = UndoManager()
  let lamp = Lamp()

  /// Groups end where they are ended, whatever queue a test runs on.
  init() { manager.groupsByEvent = false }

  private func group(_ body: () -> Void) {
    manager.beginUndoGrouping()
    body()
    manager.endUndoGrouping()
  }

  // MARK: Stacks

  @Test("undo takes back what was registered, redo does it again, and so on")
  func undoAndRedo() {
    group { lamp.set("red", manager) }
    group { lamp.set("green", manager) }
    #expect(manager.canUndo && !manager.canRedo && manager.undoCount == 2 && manager.redoCount == 0)
    manager.undo()
    #expect(lamp.colour == "red" && manager.canRedo && manager.undoCount == 1 && manager.redoCount == 1)
    manager.undo()
    #expect(lamp.colour == "white" && !manager.canUndo)
    manager.undo()
    #expect(lamp.colour == "white")
    manager.redo()
    manager.redo()
    #expect(lamp.colour == "green" && !manager.canRedo)
    manager.redo()
    #expect(lamp.colour == "green")
    manager.undo()
    #expect(lamp.colour == "red")
  }

  @Test("the actions of a group run last first, and redo runs them in the order they were first done")
  func orderInGroup() {
    group {
      lamp.set("red", manager)
      lamp.set("green", manager)
      lamp.set("blue", manager)
    }
    lamp.log = []
    manager.undo()
    #expect(lamp.log == ["green", "red", "white"])
    lamp.log = []
    manager.redo()
    #expect(lamp.log == ["red", "green", "blue"])
  }

  @Test("something new ends what can be redone")
  func newActionClearsRedo() {
    group { lamp.set("red", manager) }
    manager.undo()
    #expect(manager.canRedo)
    group { lamp.set("green", manager) }
    #expect(!manager.canRedo)
  }

  @Test("isUndoing and isRedoing are true while actions run, and only then")
  func states() {
    var seen: [String] = []
    func act() {
      seen.append("\(manager.isUndoing) \(manager.isRedoing) \(manager.groupingLevel)")
      manager.registerUndo { act() }
    }
    group { act() }
    manager.undo()
    manager.redo()
    #expect(seen == ["false false 1", "true false 1", "false true 1"])
    #expect(!manager.isUndoing && !manager.isRedoing && manager.groupingLevel == 0)
  }

  @Test("a group in which nothing was registered is nothing to undo")
  func emptyGroups() {
    group { group {} }
    #expect(!manager.canUndo && manager.undoCount == 0)
    group { lamp.set("red", manager) }
    group {}
    manager.undo()
    #expect(lamp.colour == "white")
  }

  // MARK: Groups

  @Test("a group inside another is undone with it, or alone by undoNestedGroup")
  func nestedGroups() {
    manager.beginUndoGrouping()
    lamp.set("red", manager)
    group { lamp.set("green", manager) }
    #expect(manager.groupingLevel == 1)
    manager.undoNestedGroup()
    #expect(lamp.colour == "red" && manager.redoCount == 1 && manager.groupingLevel == 1)
    manager.redo()
    #expect(lamp.colour == "green")
    group { lamp.set("blue", manager) }
    manager.endUndoGrouping()
    manager.undo()
    #expect(lamp.colour == "white" && !manager.canUndo)
    manager.redo()
    #expect(lamp.colour == "blue")
  }

  @Test("with groupsByEvent a group opens by itself, one begun by hand lies inside it, and undo ends it")
  func groupsByEvent() {
    let manager = UndoManager()
    #expect(manager.groupsByEvent && manager.groupingLevel == 0)
    lamp.set("red", manager)
    #expect(manager.groupingLevel == 1 && manager.canUndo && manager.undoCount == 1)
    manager.beginUndoGrouping()
    #expect(manager.groupingLevel == 2)
    lamp.set("green", manager)
    manager.endUndoGrouping()
    manager.undo()
    #expect(lamp.colour == "white" && manager.groupingLevel == 0)
  }

  @MainActor
  @Test("on the main queue an event ends in a job there: two turns, two groups")
  func eventsOnTheMainQueue() async {
    let manager = UndoManager()
    lamp.set("red", manager)
    lamp.set("green", manager)
    #expect(manager.groupingLevel == 1)
    await nextMainQueueTurn()
    #expect(manager.groupingLevel == 0)
    lamp.set("blue", manager)
    await nextMainQueueTurn()
    manager.undo()
    #expect(lamp.colour == "green")
    manager.undo()
    #expect(lamp.colour == "white")
  }

  @Test("levelsOfUndo keeps the newest groups")
  func levels() {
    for colour in ["red", "green", "blue", "black"] { group { lamp.set(colour, manager) } }
    manager.levelsOfUndo = 3
    #expect(manager.undoCount == 3)
    group { lamp.set("grey", manager) }
    #expect(manager.undoCount == 3)
    for _ in 0..<5 { manager.undo() }
    #expect(lamp.colour == "green" && manager.redoCount == 3)
    manager.levelsOfUndo = 0
    for _ in 0..<5 { manager.redo() }
    #expect(lamp.colour == "grey")
    for colour in ["1", "2", "3", "4"] { group { lamp.set(colour, manager) } }
    #expect(manager.undoCount == 7)
  }

  // MARK: Registration

  @Test("disabled registration notes nothing; calls count")
  func disabling() {
    manager.disableUndoRegistration()
    manager.disableUndoRegistration()
    manager.enableUndoRegistration()
    #expect(!manager.isUndoRegistrationEnabled)
    lamp.set("red", manager)
    manager.enableUndoRegistration()
    #expect(manager.isUndoRegistrationEnabled && !manager.canUndo)
  }

  @Test("actions without a target run as well, and a target is not kept alive: what it did is skipped")
  func targets() {
    var seen: [String] = []
    group { manager.registerUndo { seen.append("closure") } }
    var mortal: Lamp? = Lamp()
    weak let trace = mortal
    group {
      if let mortal { manager.registerUndo(withTarget: mortal) { _ in seen.append("lamp") } }
    }
    #expect(manager.undoCount == 2)
    mortal = nil
    #expect(trace == nil)
    manager.undo()
    #expect(seen == ["closure"])
    #expect(!manager.canUndo)
  }

  @Test(
    "removeAllActions forgets everything and enables registration; with a target, only what it registered")
  func removing() {
    let other = Lamp("dark")
    group { lamp.set("red", manager) }
    group {
      lamp.set("green", manager)
      group { other.set("light", manager) }
    }
    group { lamp.set("blue", manager) }
    manager.undo()
    manager.removeAllActions(withTarget: lamp)
    #expect(manager.undoCount == 1 && manager.redoCount == 0)
    manager.undo()
    #expect(other.colour == "dark" && lamp.colour == "green")
    manager.redo()
    manager.disableUndoRegistration()
    manager.removeAllActions()
    #expect(!manager.canUndo && !manager.canRedo && manager.isUndoRegistrationEnabled)
    manager.beginUndoGrouping()
    lamp.set("grey", manager)
    manager.removeAllActions()
    manager.endUndoGrouping()
    #expect(!manager.canUndo)
  }

  // MARK: Names

  @Test("names, titles, discardability and custom values belong to the group and move with it to redo")
  func names() {
    #expect(manager.undoMenuItemTitle == "Undo" && manager.redoMenuItemTitle == "Redo")
    group {
      lamp.set("red", manager)
      manager.setActionName("Paint")
      manager.setActionUserInfoValue(7, forKey: "brush")
    }
    group {
      group {
        lamp.set("green", manager)
        manager.setActionName("Repaint")
      }
      manager.setActionIsDiscardable(true)
    }
    #expect(manager.undoActionName == "Repaint" && manager.undoMenuItemTitle == "Undo Repaint")
    #expect(manager.undoActionIsDiscardable && !manager.redoActionIsDiscardable)
    manager.undo()
    #expect(manager.undoActionName == "Paint" && manager.redoActionName == "Repaint")
    #expect(manager.redoMenuItemTitle == "Redo Repaint")
    #expect(!manager.undoActionIsDiscardable && manager.redoActionIsDiscardable)
    #expect(manager.undoActionUserInfoValue(forKey: "brush") as? Int == 7)
    manager.undo()
    #expect(manager.redoActionName == "Paint" && manager.undoActionName == "")
    #expect(manager.redoActionUserInfoValue(forKey: "brush") as? Int == 7)
    #expect(manager.undoMenuTitle(forUndoActionName: "X") == "Undo X")
    #expect(manager.redoMenuTitle(forUndoActionName: "X") == "Redo X")
    manager.redo()
    manager.setActionName("Prime")
    #expect(manager.undoActionName == "Prime")
  }

  // MARK: Notifications

  /// What a manager posts, in order, without its prefix.
  private func posts(_ body: () -> Void) -> [String] {
    let names: [Notification.Name] = [
      .NSUndoManagerCheckpoint, .NSUndoManagerDidOpenUndoGroup, .NSUndoManagerWillCloseUndoGroup,
      .NSUndoManagerDidCloseUndoGroup, .NSUndoManagerWillUndoChange, .NSUndoManagerDidUndoChange,
      .NSUndoManagerWillRedoChange, .NSUndoManagerDidRedoChange,
    ]
    let seen = Guarded<[String]>([])
    let tokens = names.map { name in
      NotificationCenter.default.addObserver(forName: name, object: manager, queue: nil) { notification in
        var text = notification.name.rawValue
        text.removeFirst("NSUndoManager".count)
        text.removeLast("Notification".count)
        if notification.userInfo?[NSUndoManagerGroupIsDiscardableKey] as? Bool == true { text += "!" }
        seen.withLock { $0.append(text) }
      }
    }
    body()
    for token in tokens { NotificationCenter.default.removeObserver(token) }
    return seen.withLock { $0 }
  }

  @Test("notifications come in Apple's order; an outermost group opens without a checkpoint")
  func notifications() {
    #expect(
      posts {
        group {
          lamp.set("red", manager)
          manager.setActionIsDiscardable(true)
          group {}
        }
      } == [
        "DidOpenUndoGroup", "Checkpoint", "DidOpenUndoGroup", "Checkpoint", "WillCloseUndoGroup",
        "DidCloseUndoGroup",
        "Checkpoint", "WillCloseUndoGroup!", "DidCloseUndoGroup",
      ])
    let undo = posts { manager.undo() }
    #expect(
      undo.first == "Checkpoint" && undo.filter { $0 != "Checkpoint" } == ["WillUndoChange", "DidUndoChange"])
    #expect(posts { _ = manager.canRedo } == ["Checkpoint"])
    let redo = posts { manager.redo() }
    #expect(
      redo.first == "Checkpoint" && redo.filter { $0 != "Checkpoint" } == ["WillRedoChange", "DidRedoChange"])
    #expect(posts { _ = manager.canUndo } == [])
  }

  @Test("what is registered at the checkpoint of an ending group belongs to that group")
  func checkpointRegisters() {
    let (manager, lamp) = (Smuggled(manager), Smuggled(lamp))
    let isPending = Guarded(true)
    let token = NotificationCenter.default.addObserver(
      forName: .NSUndoManagerCheckpoint, object: manager.value, queue: nil
    ) { _ in
      if isPending.withLock({ isPending in
        defer { isPending = false }
        return isPending
      }) {
        lamp.value.set("green", manager.value)
      }
    }
    group { lamp.value.set("red", manager.value) }
    NotificationCenter.default.removeObserver(token)
    #expect(lamp.value.colour == "green")
    manager.value.undo()
    #expect(lamp.value.colour == "white")
  }

  // MARK: Traps

  @Test("what does not balance stops the process with a sentence")
  func traps() async {
    let enabling = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      UndoManager().enableUndoRegistration()
    }
    expectTrap(enabling, says: "enableUndoRegistration()", "disableUndoRegistration()")
    let ending = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      UndoManager().endUndoGrouping()
    }
    expectTrap(ending, says: "endUndoGrouping()", "beginUndoGrouping()")
    let registering = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let manager = UndoManager()
      manager.groupsByEvent = false
      manager.registerUndo {}
    }
    expectTrap(registering, says: "outside any undo group", "beginUndoGrouping()")
    let undoing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let manager = UndoManager()
      manager.beginUndoGrouping()
      manager.undo()
    }
    expectTrap(undoing, says: "2 groups are open", "undoNestedGroup()")
    let nesting = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let manager = UndoManager()
      manager.registerUndo {}
      manager.undoNestedGroup()
    }
    expectTrap(nesting, says: "undoNestedGroup()", "end that group first")
    let twice = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let manager = UndoManager()
      manager.registerUndo { [unowned manager] in manager.undo() }
      manager.undo()
    }
    expectTrap(twice, says: "called by an action")
  }
}
