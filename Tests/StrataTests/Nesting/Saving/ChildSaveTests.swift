import Foundation
import Strata
import Testing

/// A child saves one level down (rules 149–158, 165, 166, 169; contexts 6–8).
struct ChildSaveTests {
  let store: TemporaryStore
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    parent = store.context()
    child = ManagedObjectContext(.confinement, parent: parent)
  }

  @Test(
    "rules 149, 151: a child save goes one level down and is pending there; the store has it when the root saves"
  )
  func saveGoesOneLevelDown() throws {
    let entry = Entry.make("Bells", rating: 5, in: child)
    let id = entry.objectID
    try child.save()
    #expect(!child.hasChanges && !entry.isInserted)
    #expect(parent.hasChanges)
    #expect(parent.insertedObjects.map(\.objectID) == [id])
    #expect(try store.savedEntries() == [])
    try parent.save()
    #expect(!parent.hasChanges && parent.insertedObjects.isEmpty)
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("rule 149: three levels, one at a time")
  func threeLevels() throws {
    let grandchild = ManagedObjectContext(.confinement, parent: child)
    Entry.make("Bells", in: grandchild)
    try grandchild.save()
    #expect(child.hasChanges && !parent.hasChanges)
    try child.save()
    #expect(!child.hasChanges && parent.hasChanges)
    #expect(try store.savedEntries() == [])
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test("rule 151: updates and deletions are pending in the parent")
  func updatesAndDeletionsArePendingInTheParent() throws {
    let ids = try store.save("Bells", "Winki")
    let (bells, winki) = (child.object(with: ids[0]) as? Entry, child.object(with: ids[1]))
    bells?.rating = 5
    child.delete(winki)
    try child.save()
    #expect(parent.updatedObjects.map(\.objectID) == [ids[0]])
    #expect(parent.deletedObjects.map(\.objectID) == [ids[1]])
    let mine = try #require(parent.updatedObjects.first as? Entry)
    #expect(mine.rating == 5 && mine.isUpdated && !mine.isInserted)
    #expect(mine.changedValues().keys.sorted() == ["rating"])
    #expect(mine.committedValues(forKeys: ["rating"])["rating"] as? Int64 == 3)
    #expect(try parent.entries().map(\.location) == ["Bells"])
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("rule 150: a parent never sees what a child has not saved")
  func aParentNeverPulls() throws {
    let id = try store.save("Bells")[0]
    (child.object(with: id) as? Entry)?.rating = 5
    Entry.make("Winki", in: child)
    #expect(!parent.hasChanges)
    #expect(try parent.entries().map(\.rating) == [3])
  }

  @Test("rule 151: objects the parent holds show what the child saved")
  func heldObjectsShowWhatTheChildSaved() throws {
    let id = try store.save("Bells")[0]
    let held = try parent.entry("Bells")
    #expect(held.rating == 3)
    let mine = try child.entry("Bells")
    mine.rating = 5
    mine.notes = "glassy"
    try child.save()
    #expect(held.rating == 5 && held.notes == "glassy" && held.isUpdated && held.hasPersistentChangedValues)
    #expect(held === parent.object(with: id))
    try parent.save()
    #expect(!held.hasChanges && held.rating == 5)
    held.rating = 4
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 4"])
  }

  @Test("rule 152: the parent posts did-change when a child has saved, before it saves itself")
  func theParentPostsDidChange() throws {
    let ids = try store.save("Bells", "Winki")
    let recorder = NotificationRecorder(parent)
    try child.entry("Bells").rating = 5
    child.delete(try child.entry("Winki"))
    let new = Entry.make("Gunna", in: child).objectID
    try child.save()
    let event = try #require(recorder.all(.didChange).only)
    #expect(event.inserted == [new] && event.updated == [ids[0]] && event.deleted == [ids[1]])
    #expect(recorder.all(.didSave).isEmpty)
  }

  @Test("rule 152: saved on the parent's queue, everything is reported when save() returns, however much")
  @MainActor func aSaveOnTheParentsQueueTellsAll() throws {
    let main = store.context(.mainQueue)
    let child = ManagedObjectContext(.mainQueue, parent: main)
    for number in 0..<5_000 { Entry.make("\(number)", in: child) }
    let recorder = NotificationRecorder(main)
    try child.save()
    #expect(recorder.all(.didChange).reduce(0) { $0 + $1.inserted.count } == 5_000)
  }

  @Test("rule 153: the parent's did-save reports the net effect of several child saves")
  func didSaveTellsTheNetEffect() throws {
    let id = try store.save("Bells")[0]
    let new = Entry.make("Winki", in: child)
    let brief = Entry.make("Gunna", in: child)
    try child.entry("Bells").rating = 4
    try child.save()
    new.rating = 5
    child.delete(brief)
    try child.entry("Bells").notes = "glassy"
    try child.save()
    let recorder = NotificationRecorder(parent)
    try parent.save()
    let event = try #require(recorder.all(.didSave).only)
    #expect(event.inserted == [new.objectID] && event.updated == [id] && event.deleted.isEmpty)
    #expect(try store.savedEntries() == ["Bells 4", "Winki 5"])
    #expect(try store.context().entry("Bells").notes == "glassy")
  }

  @Test("rule 154: validation runs at child save, and nothing reaches the parent when it fails")
  func validationRunsAtChildSave() throws {
    Entry.make("Bells", in: child)
    let wrong = Entry.make(nil, in: child)
    #expect(throws: CoreDataError.self) { try child.save() }
    #expect(child.insertedObjects.count == 2 && !parent.hasChanges)
    wrong.location = "Winki"
    try child.save()
    #expect(parent.insertedObjects.count == 2)
  }

  @Test(
    "rule 155 (better): children that changed different properties of a record both get theirs; the last save wins one"
  )
  func differentPropertiesOfOneRecord() throws {
    try store.save("Bells")
    let other = ManagedObjectContext(.confinement, parent: parent)
    let (mine, theirs) = (try child.entry("Bells"), try other.entry("Bells"))
    mine.rating = 5
    mine.height = 1
    theirs.notes = "glassy"
    theirs.height = 2
    try child.save()
    try other.save()
    let seen = try parent.entry("Bells")
    #expect(seen.rating == 5 && seen.notes == "glassy" && seen.height == 2)
    try parent.save()
    let saved = try store.context().entry("Bells")
    #expect(saved.rating == 5 && saved.notes == "glassy" && saved.height == 2)
  }

  @Test("the parent's own edit of other properties survives a child's save")
  func theParentsEditsSurvive() throws {
    try store.save("Bells")
    let mine = try parent.entry("Bells")
    let theirs = try child.entry("Bells")
    theirs.notes = "glassy"
    mine.rating = 5
    try child.save()
    #expect(mine.rating == 5 && mine.notes == "glassy")
    try parent.save()
    let saved = try store.context().entry("Bells")
    #expect(saved.rating == 5 && saved.notes == "glassy")
  }

  @Test("rules 157, 158 (better): IDs never change along the way; they are temporary until the root saves")
  func identifiersNeverChange() throws {
    let entry = Entry.make("Bells", in: child)
    let id = entry.objectID
    let uri = id.uriRepresentation()
    try child.obtainPermanentIDs(for: [entry])
    try child.save()
    #expect(entry.objectID == id && entry.objectID.isTemporaryID)
    let mine = try #require(parent.insertedObjects.first)
    #expect(mine.objectID == id && mine.objectID.isTemporaryID)
    try parent.save()
    #expect(!entry.objectID.isTemporaryID && !mine.objectID.isTemporaryID)
    #expect(entry.objectID == id && entry.objectID.uriRepresentation() == uri)
    #expect(try store.context().existingObject(with: id).objectID == id)
    #expect(try child.existingObject(with: id) === entry)
  }

  @Test("rule 131: in a child's did-save the inserted IDs are temporary, in the root's they are not")
  func temporaryIDsInDidSave() throws {
    let (above, below) = (NotificationRecorder(child), NotificationRecorder(parent))
    let id = Entry.make("Bells", in: child).objectID
    try child.save()
    try parent.save()
    #expect(above.all(.didSaveIDs).only?.insertedIDs == [id])
    #expect(below.all(.didSaveIDs).only?.insertedIDs == [id])
    #expect(above.all(.didSaveIDs).only?.insertedIDs.first?.isTemporaryID == true)
    #expect(below.all(.didSaveIDs).only?.insertedIDs.first?.isTemporaryID == false)
  }

  @Test("rule 165: transient values go down with a child's save, and children do not read them")
  func transientValuesTravel() throws {
    let id = try store.save("Bells")[0]
    let held = try #require(try parent.existingObject(with: id) as? Entry)
    try child.entry("Bells").mood = "stoked"
    try child.save()
    #expect(held.mood == "stoked" && held.hasChanges && !held.hasPersistentChangedValues)
    held.mood = "tired"
    #expect(try ManagedObjectContext(.confinement, parent: parent).entry("Bells").mood == nil)
    let new = Entry.make("Winki", in: child)
    new.mood = "amazed"
    try child.save()
    #expect(new.mood == "amazed")
    child.refresh(new, mergeChanges: false)
    #expect(new.mood == nil)
    #expect(try ManagedObjectContext(.confinement, parent: parent).entry("Winki").mood == nil)
    new.rating = 2
    try child.save()
    let kept = try parent.entry("Winki")
    #expect(kept.mood == "amazed" && kept.rating == 2)
    try parent.save()
    #expect(!parent.hasChanges)
    #expect(try ManagedObjectContext(.confinement, parent: parent).entry("Winki").mood == nil)
  }

  @Test("rule 165: of a record that is no object of the parent, each child's transient values are kept")
  func transientValuesOfSeveralSaves() throws {
    let id = try store.save("Bells")[0]
    let first = try #require(try child.existingObject(with: id) as? Entry)
    first.mood = "stoked"
    try child.save()
    let other = ManagedObjectContext(.confinement, parent: parent)
    let second = try other.entry("Bells")
    #expect(second.mood == nil)
    second.rating = 4
    try other.save()
    let bells = try parent.entry("Bells")
    #expect(bells.mood == "stoked" && bells.rating == 4)
  }

  @Test(
    "a transient value that a child sets to nil again is nil below, whether the parent holds the object or not",
    arguments: [false, true], [false, true])
  func transientValueTakenBack(isHeld: Bool, isAlone: Bool) throws {
    let id = try store.save("Bells")[0]
    let held = isHeld ? try parent.existingObject(with: id) : nil
    let bells = try child.entry("Bells")
    bells.mood = "stoked"
    bells.setValue("red", forKey: "scratch")
    if !isAlone { bells.rating = 4 }
    try child.save()
    bells.mood = nil
    if !isAlone { bells.rating = 5 }
    try child.save()
    let below = try parent.entry("Bells")
    #expect(below.mood == nil && below.value(forKey: "scratch") as? String == "red")
    #expect(below.rating == (isAlone ? 3 : 5))
    bells.mood = "amazed"
    bells.setValue(nil, forKey: "scratch")
    try child.save()
    #expect(below.mood == "amazed" && below.value(forKey: "scratch") == nil)
    #expect(bells.mood == "amazed" && bells.value(forKey: "scratch") == nil)
    withExtendedLifetime(held) {}
  }

  @Test("rule 166: after its save a child lets its objects go")
  func savedObjectsAreLetGo() throws {
    for place in 0..<50 { Entry.make("\(place)", in: child) }
    try child.save()
    #expect(child.registeredObjects.isEmpty)
    #expect(parent.registeredObjects.isEmpty)
  }

  @Test(
    "rule 169 (better): what the parent deleted stays deleted; the child that edited it saves all the same")
  func theParentDeletesWhatTheChildHolds() throws {
    try store.save("Bells", "Winki")
    let (mine, other) = (try child.entry("Bells"), try child.entry("Winki"))
    mine.rating = 5
    other.rating = 4
    parent.delete(try parent.entry("Bells"))
    try child.save()
    #expect(mine.managedObjectContext == nil && mine.rating == 5)
    #expect(try child.entries().map(\.location) == ["Winki"])
    #expect(try parent.entries().map(\.rating) == [4])
    try parent.save()
    #expect(try store.savedEntries() == ["Winki 4"])
  }

  @Test("rule 169: deleting in the child what the parent has deleted")
  func bothDelete() throws {
    try store.save("Bells")
    let mine = try child.entry("Bells")
    parent.delete(try parent.entry("Bells"))
    child.delete(mine)
    try child.save()
    try parent.save()
    #expect(try store.savedEntries() == [])
  }

  @Test("an object made in a child and deleted in the parent is in no store")
  func insertedAboveDeletedBelow() throws {
    let entry = Entry.make("Bells", in: child)
    try child.save()
    let mine = try parent.entry("Bells")
    parent.delete(mine)
    #expect(!parent.hasChanges)
    #expect(try child.entries().isEmpty)
    entry.rating = 5
    try child.save()
    try parent.save()
    #expect(try store.savedEntries() == [])
  }

  @Test("the parent edits what a child saved, and saves both")
  func theParentEditsWhatAChildSaved() throws {
    let theirs = Entry.make("Bells", rating: 1, in: child)
    try child.save()
    let mine = try parent.entry("Bells")
    #expect(mine.isInserted)
    mine.rating = 5
    #expect(mine.isInserted && parent.insertedObjects == [mine])
    #expect(try child.entry("Bells") === theirs && theirs.rating == 1)
    #expect(try ManagedObjectContext(.confinement, parent: parent).entry("Bells").rating == 5)
    try parent.save()
    #expect(!parent.hasChanges)
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("rollback and reset of the parent drop what children saved; the store keeps what it had")
  func rollbackOfTheParent() throws {
    try store.save("Bells", "Winki")
    let held = try parent.entries()
    for entry in held { _ = entry.rating }
    func change() throws {
      try child.entry("Bells").rating = 5
      child.delete(try child.entry("Winki"))
      Entry.make("Gunna", in: child)
      try child.save()
      #expect(parent.hasChanges)
    }
    try change()
    parent.rollback()
    #expect(!parent.hasChanges)
    #expect(held[0].rating == 3 && !held[0].isUpdated && !held[1].isDeleted)
    #expect(try parent.entries().map(\.location) == ["Bells", "Winki"])
    child.reset()
    try change()
    parent.reset()
    #expect(!parent.hasChanges)
    #expect(try parent.entries().map(\.rating) == [3, 3])
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
  }

  @Test("a refresh of the parent's object drops what a child saved of it")
  func refreshOfOneObject() throws {
    try store.save("Bells", "Winki")
    for entry in try child.entries() { entry.rating = 5 }
    try child.save()
    parent.refresh(try parent.entry("Bells"), mergeChanges: false)
    #expect(try parent.entries().map(\.rating) == [3, 5])
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 3", "Winki 5"])
  }

  @Test("a child continues editing what it saved, before and after the parent's save and rollback")
  func editingOn() throws {
    let entry = Entry.make("Bells", rating: 1, in: child)
    try child.save()
    entry.rating = 2
    try child.save()
    #expect(try parent.entry("Bells").rating == 2)
    try parent.save()
    entry.notes = "glassy"
    try child.save()
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 2"])
    entry.rating = 5
    try child.save()
    parent.rollback()
    entry.height = 2
    try child.save()
    try parent.save()
    let saved = try store.context().entry("Bells")
    #expect(saved.rating == 2 && saved.height == 2 && saved.notes == "glassy")
  }

  @Test("large values travel through all levels")
  func largeValuesTravel() throws {
    let photo = Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0) })
    let notes = String(repeating: "swell ", count: 2_000)
    let entry = Entry.make("Bells", in: child)
    entry.photo = photo
    try child.save()
    #expect(entry.photo == photo)
    #expect(try parent.entry("Bells").photo == photo)
    let grandchild = ManagedObjectContext(.confinement, parent: child)
    let above = try grandchild.entry("Bells")
    #expect(above.photo == photo)
    above.notes = notes
    try grandchild.save()
    try child.save()
    let mine = try parent.entry("Bells")
    #expect(mine.photo == photo && mine.notes == notes)
    mine.rating = 5
    try parent.save()
    let reader = store.context()
    let saved = try reader.entry("Bells")
    #expect(saved.photo == photo)
    #expect(saved.notes == notes)
    #expect(saved.rating == 5)
    #expect(entry.photo == photo)
  }

  @Test("a conflict with the store over what only a child has changed is settled by the root's merge policy")
  func conflictsAtTheRoot() throws {
    try store.save("Bells", "Winki")
    for entry in try child.entries() { entry.rating = 5 }
    try child.save()
    let sibling = store.context()
    for entry in try sibling.entries() { (entry.rating, entry.notes) = (1, "theirs") }
    try sibling.save()
    #expect(throws: CoreDataError.self) { try parent.save() }
    #expect(parent.updatedObjects.count == 2)
    parent.mergePolicy = .mergeByPropertyObjectTrump
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 5", "Winki 5"])
    #expect(try store.context().entry("Bells").notes == "theirs")
  }

  @Test(
    "a child that saves inside the parent's merge policy leaves nothing behind that a later save would trip over"
  )
  func aChildSavesInsideTheMergePolicy() throws {
    try store.save("Bells")
    let mine = try parent.entry("Bells")
    mine.rating = 5
    parent.processPendingChanges()
    let sibling = store.context()
    try sibling.entry("Bells").rating = 1
    try sibling.save()
    Entry.make("Winki", in: child)
    parent.mergePolicy = BusyPolicy { [parent, child] in
      try child.save()
      mine.notes = "settled"
      parent.processPendingChanges()
    }
    try parent.save()
    #expect(try store.context().entry("Bells").notes == "settled")
    #expect(parent.updatedObjects.isEmpty && parent.insertedObjects.count == 1)
    parent.mergePolicy = .error
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 5", "Winki 3"])
  }

  /// Object trump, after some work of its own. Unchecked: used on the thread of the test alone.
  private final class BusyPolicy: MergePolicy, @unchecked Sendable {
    private let work: () throws -> Void

    init(_ work: @escaping () throws -> Void) {
      self.work = work
      super.init(merge: .mergeByPropertyObjectTrump)
    }

    override func resolve(mergeConflicts list: [Any]) throws {
      try work()
      try super.resolve(mergeConflicts: list)
    }
  }

  @Test("a save of the parent that fails keeps what children saved, and a later one writes it")
  func aFailedSaveKeepsEverything() throws {
    Surfer.make("kelly@example.com", in: child)
    try child.save()
    let sibling = store.context()
    let first = Surfer.make("kelly@example.com", in: sibling)
    try sibling.save()
    #expect(throws: CoreDataError.self) { try parent.save() }
    #expect(parent.insertedObjects.count == 1)
    sibling.delete(first)
    try sibling.save()
    try parent.save()
    #expect(try store.context().count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 1)
  }
}
