import SwiftData
import Testing

@Suite("Which changes of models the name of an action belongs to")
struct ModelActionNameTests {
  @Test("Insert, change, delete: the name said before or after is that of what is saved then")
  @MainActor func names() async throws {
    let container = try makeContainer()
    let context = container.mainContext
    context.autosaveEnabled = false
    let manager = UndoManager()
    context.undoManager = manager
    let tag = Tag("a")
    context.insert(tag)
    manager.setActionName("Add")
    try context.save()
    #expect(manager.undoActionName == "Add")
    try await turnsOfMainQueue(until: { false })
    tag.label = "b"
    manager.setActionName("Edit")
    try await turnsOfMainQueue(until: { false })
    #expect(manager.undoActionName == "Edit" && manager.undoCount == 2)
    manager.undo()
    #expect(tag.label == "a" && manager.undoActionName == "Add" && manager.redoActionName == "Edit")
    manager.setActionName("Delete")
    context.delete(tag)
    try context.save()
    #expect(manager.undoActionName == "Delete" && manager.undoCount == 2)
    manager.undo()
    #expect(manager.undoActionName == "Add" && manager.redoActionName == "Delete")
  }
}
