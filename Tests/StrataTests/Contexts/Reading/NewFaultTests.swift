import Foundation
import Strata
import Testing

/// What `refresh(_:mergeChanges:)` makes of new objects, what `reset()` leaves, and transient values of faults (rules 18, 59, 71).
struct NewFaultTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  @Test("rule 59: a new object that is refreshed is a fault, with the values it was made with")
  func refreshedNewObjectIsAFault() throws {
    let diary = Diary(context: context)
    diary.title = "Winter"
    diary.tide = "high"
    context.refresh(diary, mergeChanges: false)
    #expect(diary.isFault && diary.isInserted && !diary.isDeleted)
    #expect(context.insertedObjects == [diary])
    #expect(diary.count(of: "willTurnIntoFault") == 1 && diary.count(of: "didTurnIntoFault") == 1)
    #expect(diary.title == "untitled" && diary.tide == "low")
    #expect(!diary.isFault && diary.count(of: "awakeFromFetch") == 0)
    diary.title = "Spring"
    try context.save()
    #expect(try store.context().diary()?.title == "Spring")
  }

  @Test func refreshedNewObjectThatNobodyLooksAtIsSaved() throws {
    let diary = Diary(context: context)
    diary.title = "Winter"
    context.refresh(diary, mergeChanges: false)
    try context.save()
    #expect(try store.context().diary()?.title == "untitled")
    #expect(diary.title == "untitled" && !diary.isInserted)
  }

  @Test("a refreshed new object stays one when a save fails beside it")
  func refreshedNewObjectOutlivesAFailedSave() throws {
    let diary = Diary(context: context)
    diary.title = "Winter"
    context.refresh(diary, mergeChanges: false)
    let entry = Entry.make(nil, in: context)
    // The location is mandatory.
    #expect(throws: CoreDataError.self) { try context.save() }
    #expect(diary.isInserted && diary.title == "untitled")
    entry.location = "Bells"
    try context.save()
    #expect(try store.context().diary()?.title == "untitled")
  }

  @Test func refreshOfANewObjectThatMergesKeepsItsEdits() throws {
    let diary = Diary(context: context)
    diary.title = "Winter"
    context.refresh(diary, mergeChanges: true)
    #expect(!diary.isFault && diary.title == "Winter")
  }

  @Test func refreshedNewObjectIsFoundAndCanBeDeleted() throws {
    let diary = Diary(context: context)
    context.refresh(diary, mergeChanges: false)
    #expect(try context.existingObject(with: diary.objectID) === diary)
    #expect(try context.diary() === diary)
    context.refresh(diary, mergeChanges: false)
    context.delete(diary)
    #expect(!context.hasChanges)
    try context.save()
    #expect(try store.context().diary() == nil)
  }

  @Test func refreshedNewMemberLeavesItsOwner() throws {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    let sales = context.make(Department.self, "Sales")
    let ann = context.make(Employee.self, "Ann")
    ann.department = sales
    let desk = context.make(Desk.self, "window")
    ann.desk = desk
    context.refresh(ann, mergeChanges: false)
    #expect(ann.department == nil && ann.desk == nil)
    #expect(sales.employees.names.isEmpty && sales.employees.count == 0)
    #expect(desk.employee == nil)
    try context.save()
    #expect(try store.problems().isEmpty)
  }

  @Test("rule 18: after reset() what is still held is a fault and shows its last values")
  func resetLeavesFaults() throws {
    let (saved, new) = (Diary(context: context), Diary(context: context))
    saved.title = "Winter"
    try context.save()
    saved.tide = "high"
    new.title = "Summer"
    context.reset()
    for diary in [saved, new] {
      #expect(diary.isFault && diary.managedObjectContext == nil)
      #expect(diary.tide == "low")
      #expect(diary.isFault)
      #expect(diary.count(of: "awakeFromFetch") == 0)
    }
    #expect(saved.title == "Winter")
  }

  @Test("rule 71: transient values of faults are their defaults, and nil that was set stays nil")
  func transientsOfFaultsAreDefaults() throws {
    let diary = Diary(context: context)
    diary.tide = "high"
    try context.save()
    #expect(diary.tide == "high")
    context.refresh(diary, mergeChanges: false)
    #expect(diary.tide == "low")
    diary.tide = nil
    #expect(diary.tide == nil && diary["tide"] == nil)
    try context.save()
    #expect(diary.tide == nil)
    context.refreshAllObjects()
    #expect(diary["tide"] as? String == "low")
    #expect(try store.context().diary()?.tide == "low")
  }

  @Test("rule 165: a child that has not set a transient value does not set its parent's")
  func childrenDoNotHandDownDefaults() throws {
    let diary = Diary(context: context)
    try context.save()
    diary.tide = "high"
    let child = ManagedObjectContext(.confinement, parent: context)
    let other = try #require(child.object(with: diary.objectID) as? Diary)
    other.title = "Spring"
    try child.save()
    #expect(diary.title == "Spring" && diary.tide == "high")
  }
}
