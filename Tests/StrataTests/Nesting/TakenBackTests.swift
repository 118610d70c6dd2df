import Foundation
import Strata
import Testing

/// What contexts say of records that were deleted, or made, at another level, and of which that was taken back.
struct TakenBackTests {
  let store: TemporaryStore
  let root: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    root = store.context()
    root.make(Employee.self, "Ann")
    try root.save()
  }

  private func child(of parent: ManagedObjectContext) -> ManagedObjectContext {
    ManagedObjectContext(.confinement, parent: parent)
  }

  @Test(
    "rule 46: what is deleted and not saved exists, also when it was never looked at, and when children see the deletion",
    arguments: [false, true], [false, true])
  func deletedObjectExists(hasChildren: Bool, isFault: Bool) throws {
    // A label has no relationships: to delete it reads nothing.
    let red = root.make(Label.self, "Red")
    try root.save()
    let id = red.objectID
    root.reset()
    let children = hasChildren ? [child(of: root)] : []
    for child in children { _ = try child.existingObject(with: id) }
    let label = root.object(with: id)
    if !isFault { _ = label["name"] }
    root.delete(label)
    root.processPendingChanges()
    let found = try root.existingObject(with: id)
    #expect(found === label && found.isDeleted && found["name"] as? String == "Red")
    for child in children {
      #expect(try child.count(for: FetchRequest<Label>(entityName: "Label")) == 0)
    }
    try root.save()
    #expect(throws: CoreDataError.self) { try root.existingObject(with: id) }
  }

  @Test(
    "rule 46: to ask for what the parent has deleted as well takes back no deletion: the record may come back"
  )
  func askingKeepsTheDeletion() throws {
    let red = root.make(Label.self, "Red")
    try root.save()
    let child = child(of: root)
    child.delete(child.object(with: red.objectID))
    root.delete(red)
    root.processPendingChanges()
    #expect(throws: CoreDataError.self) { try child.existingObject(with: red.objectID) }
    root.rollback()
    try child.save()
    try root.save()
    #expect(try store.fresh { try $0.count(for: FetchRequest<Label>(entityName: "Label")) } == 0)
  }

  @Test("rule 174: a deletion that the parent has rolled back is over when a merge finds the record")
  func recordIsBack() throws {
    let (mine, theirs) = (child(of: root), child(of: root))
    let ann = try mine.find(Employee.self, "Ann")
    ann.name = "Anna"
    theirs.delete(try theirs.find(Employee.self, "Ann"))
    try theirs.save()
    let deleted = ["deleted": Set([ann.objectID])]
    ManagedObjectContext.mergeChanges(fromRemoteContextSave: deleted, into: [mine])
    #expect(ann.isDeleted)
    root.rollback()
    let updated = ["updated": Set([ann.objectID])]
    ManagedObjectContext.mergeChanges(fromRemoteContextSave: updated, into: [mine])
    #expect(!ann.isDeleted && ann.isUpdated && ann.name == "Anna")
    try mine.save()
    try root.save()
    #expect(
      try store.fresh { try $0.fetch(FetchRequest<Employee>(entityName: "Employee")).names } == ["Anna"])
  }

  @Test("rule 169: a save does not tell children of edits that its parent has dropped")
  func droppedEditIsNotTold() throws {
    let bob = root.make(Employee.self, "Bob")
    root.processPendingChanges()
    let middle = child(of: root)
    try middle.find(Employee.self, "Bob").name = "Rob"
    try middle.find(Employee.self, "Ann").name = "Anna"
    let last = ManagedObjectContext(.privateQueue, parent: middle)
    last.automaticallyMergesChangesFromParent = true
    let recorder = NotificationRecorder(last)
    root.rollback()
    try middle.save()
    last.performAndWait {}
    let told = recorder.all(.didMerge)
    let ann = try root.find(Employee.self, "Anna")
    #expect(told.map(\.updatedIDs) == [[ann.objectID]])
    #expect(bob.managedObjectContext == nil)
  }

  @Test(
    "rule 169: an object that shows what a child had saved goes when the parent has dropped that",
    arguments: [true, false])
  func droppedRowsTakeTheirObjects(waits: Bool) async throws {
    let top = store.context(.privateQueue)
    let middle = ManagedObjectContext(.privateQueue, parent: top)
    top.performAndWait { _ = top.make(Employee.self, "Bob") }
    let bob = try middle.performAndWait {
      let last = child(of: middle)
      try last.find(Employee.self, "Bob").name = "Rob"
      try last.find(Employee.self, "Ann").name = "Anna"
      try last.save()
      return try middle.find(Employee.self, "Rob")
    }
    top.performAndWait { top.rollback() }
    if waits {
      try middle.performAndWait { try middle.save() }
    } else {
      try await middle.saveAsynchronously()
    }
    let employees = FetchRequest<Employee>(entityName: "Employee")
    try middle.performAndWait {
      #expect(bob.managedObjectContext == nil && !middle.hasChanges)
      let names = try middle.fetch(employees).names
      #expect(names == ["Anna"])
    }
    let names = try top.performAndWait { try top.fetch(employees).names }
    #expect(names == ["Anna"])
  }
}
