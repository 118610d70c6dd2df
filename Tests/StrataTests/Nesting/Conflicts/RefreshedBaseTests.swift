import Foundation
import Strata
import Testing

/// What children have saved is an edit of the parent: a refresh brings the newest rows under it (rules 60, 62, 153).
struct RefreshedBaseTests {
  private let store: TemporaryStore
  private let id: ManagedObjectID

  init() throws {
    store = try TemporaryStore()
    id = try #require(try store.save("Bells", rating: 3).first)
  }

  /// Another context writes the row; the root is not told.
  private func writeElsewhere() throws {
    let other = store.context()
    try other.entry("Bells").rating = 5
    try other.save()
  }

  @Test("rule 62: after refreshAllObjects what a child has edited is no conflict", arguments: [true, false])
  func editedByChild(isHeld: Bool) throws {
    let root = store.context()
    let held = isHeld ? try root.entry("Bells") : nil
    let child = ManagedObjectContext(.confinement, parent: root)
    try child.entry("Bells").location = "Winki"
    try child.save()
    try writeElsewhere()
    root.refreshAllObjects()
    #expect(try ManagedObjectContext(.confinement, parent: root).entry("Winki").rating == 5)
    try root.save()
    #expect(try store.savedEntries() == ["Winki 5"])
    withExtendedLifetime(held) {}
  }

  @Test("rule 62: after refreshAllObjects what a child has deleted is no conflict", arguments: [true, false])
  func deletedByChild(isHeld: Bool) throws {
    let root = store.context()
    let held = isHeld ? try root.entry("Bells") : nil
    let child = ManagedObjectContext(.confinement, parent: root)
    child.delete(try child.entry("Bells"))
    try child.save()
    try writeElsewhere()
    root.refreshAllObjects()
    try root.save()
    #expect(try store.savedEntries() == [])
    withExtendedLifetime(held) {}
  }

  @Test("rule 62: so it is two levels down")
  func deeper() throws {
    let root = store.context()
    let middle = ManagedObjectContext(.confinement, parent: root)
    let child = ManagedObjectContext(.confinement, parent: middle)
    try child.entry("Bells").location = "Winki"
    try child.save()
    try writeElsewhere()
    root.refreshAllObjects()
    middle.refreshAllObjects()
    #expect(try middle.entry("Winki").rating == 5)
    try middle.save()
    try root.save()
    #expect(try store.savedEntries() == ["Winki 5"])
  }

  @Test("rule 60: a child that has read an older row than its refreshed parent lies over the parent's")
  func refreshedParent() throws {
    let root = store.context()
    let known = try root.entry("Bells")
    let child = ManagedObjectContext(.confinement, parent: root)
    let entry = try child.entry("Bells")
    try writeElsewhere()
    known.rating = 4
    root.refresh(known, mergeChanges: true)
    entry.location = "Winki"
    try child.save()
    try root.save()
    #expect(try store.savedEntries() == ["Winki 4"])
  }

  @Test("rule 62: a row that is gone stays a conflict of the child's edit after a refresh")
  func goneElsewhere() throws {
    let root = store.context()
    let child = ManagedObjectContext(.confinement, parent: root)
    try child.entry("Bells").location = "Winki"
    try child.save()
    let other = store.context()
    other.delete(try other.entry("Bells"))
    try other.save()
    root.refreshAllObjects()
    #expect(throws: CoreDataError.self) { try root.save() }
  }

  @Test(
    "rule 62: a record that was gone and is there again is found after refreshAllObjects",
    arguments: [true, false])
  func thereAgain(isEdited: Bool) throws {
    let (here, there) = (store.context(), store.context())
    let known = try here.entry("Bells")
    if isEdited { known.rating = 1 }
    let undo = UndoManager()
    there.undoManager = undo
    there.delete(try there.entry("Bells"))
    // Set on this thread: the contexts are confined to it.
    nonisolated(unsafe) var told: Notification?
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: there, queue: nil
    ) { told = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    try there.save()
    here.mergeChanges(fromContextDidSave: try #require(told))
    #expect(known.isDeleted)
    undo.undo()
    try there.save()
    here.refreshAllObjects()
    #expect(!known.isDeleted && known.isUpdated == isEdited)
    #expect(try here.existingObject(with: id) === known)
    #expect(try here.entry("Bells").rating == (isEdited ? 1 : 3))
    try here.save()
    #expect(try store.savedEntries() == [isEdited ? "Bells 1" : "Bells 3"])
  }

  @Test("rule 62: so it is with what a parent has deleted and brought back")
  func thereAgainBeneath() throws {
    let root = store.context()
    let child = ManagedObjectContext(.confinement, parent: root)
    let known = try child.entry("Bells")
    root.delete(try root.entry("Bells"))
    root.processPendingChanges()
    child.refreshAllObjects()
    #expect(known.location == nil && known.isDeleted)
    root.rollback()
    child.refreshAllObjects()
    #expect(!known.isDeleted && known.location == "Bells" && !child.hasChanges)
    #expect(try child.existingObject(with: id) === known)
  }

  @Test(
    "rules 60, 62: what was given to another owner elsewhere is a member of the one that an edit here gave it to",
    arguments: [true, false], [true, false])
  func movedElsewhere(all: Bool, deletes: Bool) throws {
    let store = try TemporaryStore(TeamModel.make())
    let (here, there) = (store.context(), store.context())
    let (a, b, c) = (
      here.make(Department.self, "A"), here.make(Department.self, "B"), here.make(Department.self, "C")
    )
    let ann = here.make(Employee.self, "Ann")
    ann.department = a
    try here.save()
    if deletes { here.delete(ann) } else { ann.department = b }
    here.processPendingChanges()
    try there.find(Employee.self, "Ann").department = try there.find(Department.self, "C")
    try there.save()
    if all { here.refreshAllObjects() } else { here.refresh(ann, mergeChanges: true) }
    let expected = [[], deletes ? [] : ["Ann"], []]
    #expect([a, b, c].map(\.employees.names) == expected)
    try here.save()
    #expect([a, b, c].map(\.employees.names) == expected)
    let saved = try store.fresh { context in
      try ["A", "B", "C"].map { try context.find(Department.self, $0).employees.names }
    }
    #expect(saved == expected)
  }
}
