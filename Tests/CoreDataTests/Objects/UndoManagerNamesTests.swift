import CoreData
import Testing

@Suite("UndoManager by Apple's names")
struct UndoManagerNamesTests {
  @Test("Rules 234–236: a context registers its changes with its undo manager")
  func contextUndo() throws {
    let context = try BirdStand().stocked()
    let undo = UndoManager()
    undo.groupsByEvent = false
    context.undoManager = undo
    let bird = try #require(
      try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")).first { $0.name == "gull" })
    undo.beginUndoGrouping()
    bird.tally = 6
    context.processPendingChanges()
    undo.setActionName("Count")
    undo.setActionUserInfoValue(7, forKey: UndoManager.UserInfoKey("who"))
    undo.endUndoGrouping()
    #expect(undo.canUndo && !undo.canRedo && undo.groupingLevel == 0)
    #expect(undo.undoActionName == "Count" && undo.undoMenuItemTitle == "Undo Count")
    #expect(undo.undoActionUserInfoValue(forKey: UndoManager.UserInfoKey("who")) as? Int == 7)
    undo.undo()
    #expect(bird.tally == 5 && undo.canRedo && undo.redoCount == 1)
    undo.redo()
    #expect(bird.tally == 6)
    undo.removeAllActions()
    #expect(!undo.canUndo)
  }
}
