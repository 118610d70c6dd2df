import Foundation
import Strata
import Testing

/// Undo and redo while the store cannot be read (rules 235–240): what was taken back is taken back, now or when it can be.
struct UndoReadTests {
  @Test func undoOfAnEditOfARefreshedObject() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          world.context.undoManager = UndoManager()
          let books = try world.holdBooks()
          books[0]["title"] = "edited"
          books[1]["tags"] = Set([try world.tag("old")])
          books[2]["shelf"] = try world.shelf("b")
          try world.context.save()
          world.context.refreshAllObjects()
        },
        act: { $0.context.undo() },
        failed: { world in #expect(world.held.allSatisfy { !$0.isDeleted }) },
        complete: { _ in },
        finished: { world in
          try world.context.save()
          try #expect(
            world.picture().filter { $0.contains(" on ") } == [
              "1 t1 10 on a [old] cover", "2 t2 20 on a [new old]", "3 t3 30 on a [new]", "4 t4 40 on b []",
            ])
        }, edits: true))
  }

  @Test(arguments: [false, true])
  func undoWithUnreadableRowsAfterADeletion(isSaved: Bool) throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          world.context.undoManager = UndoManager()
          try world.holdFaults()
          world.context.delete(try world.shelf("a"))
          world.context.processPendingChanges()
          if isSaved { try world.context.save() }
        },
        act: { $0.context.undo() },
        complete: { _ in },
        finished: { world in
          try world.context.save()
          try #expect(
            world.picture().filter { $0.contains(" on ") } == [
              "1 t1 10 on a [old] cover", "2 t2 20 on a [new old]", "3 t3 30 on a [new]", "4 t4 40 on b []",
            ])
        }, edits: true))
  }

  @Test func redoOfADeletion() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          world.context.undoManager = UndoManager()
          world.context.delete(try world.shelf("a"))
          world.context.processPendingChanges()
          world.context.undo()
          world.context.refreshAllObjects()
        },
        act: { $0.context.redo() },
        complete: { _ in },
        finished: { world in
          try world.context.save()
          try #expect(world.picture() == ["4 t4 40 on b []", "b(1): 4", "new of ", "old of "])
        }, edits: true))
  }

  @Test(arguments: [false, true])
  func undoOfADeletionOfWhatCouldNotBeRead(isSaved: Bool) throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          world.context.undoManager = UndoManager()
          try world.holdFaults()
        },
        act: { world in
          world.context.delete(world.held[0])
          world.context.processPendingChanges()
        },
        complete: { _ in },
        finished: { world in
          if isSaved { try world.context.save() }
          world.context.undo()
          #expect(world.held.allSatisfy { !$0.isDeleted && $0.managedObjectContext === world.context })
          try world.context.save()
          try #expect(world.picture().contains("1 t1 10 on a [old] cover"))
        }, edits: true))
  }

  @Test func undoOfAnInsertionAndRedo() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          world.context.undoManager = UndoManager()
          let tag = try world.tag("old")
          world.held = [
            world.context.new(
              "Book", ["isbn": 6, "title": "six", "shelf": try world.shelf("a"), "tags": Set([tag])])
          ]
          try world.context.save()
          world.context.refreshAllObjects()
        },
        act: { world in
          world.context.undo()
          world.context.redo()
        },
        complete: { _ in },
        finished: { world in
          try world.context.save()
          try #expect(world.picture().contains("6 six 0 on a [old]"))
        }, edits: true))
  }
}
