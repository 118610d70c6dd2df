import Foundation
import Strata
import Testing

/// Deletions that are merged only after the object has outlived them (rules 174, 199), and rows that come late.
struct LateDeletionTests {
  let store: TemporaryStore
  let mine: ManagedObjectContext
  let theirs: ManagedObjectContext
  let entry: Entry

  init() throws {
    store = try TemporaryStore()
    mine = store.context()
    theirs = store.context()
    mine.mergePolicy = RefusingDuplicates(merge: .mergeByPropertyObjectTrump)
    entry = Entry.make("Bells", rating: 1, in: mine)
    try mine.save()
  }

  /// Deleted there; the notification is kept for later.
  private func deleteThere() throws -> Notification {
    try theirs.catchingSave { theirs.delete(try theirs.entry("Bells")) }
  }

  private func storedRatings() throws -> [Int16] { try store.context().entries().map(\.rating) }

  @Test("rule 199: a row that was written again is not deleted by a late deletion notice")
  func rowWrittenAnewOutlivesItsDeletion() throws {
    let deletion = try deleteThere()
    entry.rating = 5
    try mine.save()
    mine.mergeChanges(fromContextDidSave: deletion)
    #expect(!entry.isDeleted && !mine.hasChanges && entry.managedObjectContext === mine)
    entry.rating = 6
    try mine.save()
    #expect(try storedRatings() == [6])
    mine.delete(entry)
    try mine.save()
    #expect(try storedRatings() == [])
  }

  @Test("rule 199: an object that is still to be written again is not deleted by a late deletion notice")
  func objectToBeWrittenAnewOutlivesItsDeletion() throws {
    let surfer = Surfer.make("a", in: mine)
    try mine.save()
    let deletion = try theirs.catchingSave {
      theirs.delete(try theirs.existingObject(with: surfer.objectID))
      Surfer.make("taken", in: theirs)
    }
    surfer.email = "taken"
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(surfer.isInserted)
    mine.mergeChanges(fromContextDidSave: deletion)
    #expect(surfer.isInserted && !surfer.isDeleted)
    surfer.email = "b"
    try mine.save()
    #expect(surfer.managedObjectContext === mine && !mine.hasChanges)
    let request = FetchRequest<Surfer>(entityName: "Surfer", sortDescriptors: [FetchSort("email")])
    #expect(try store.context().fetch(request).map(\.email) == ["b", "taken"])
  }

  @Test("rules 59, 174: refreshing an object whose deletion was merged asks the store again")
  func refreshForgetsTheDeletion() throws {
    let deletion = try deleteThere()
    entry.rating = 5
    try mine.save()
    // A fault without a row, in a context that has saved nothing since, cannot know that the notification is old.
    let reader = store.context()
    let known = try #require(reader.object(with: entry.objectID) as? Entry)
    reader.mergeChanges(fromContextDidSave: deletion)
    #expect(known.isDeleted)
    reader.refresh(known, mergeChanges: false)
    #expect(try reader.existingObject(with: entry.objectID) === known)
    #expect(!known.isDeleted && known.rating == 5)
    reader.delete(known)
    try reader.save()
    #expect(try storedRatings() == [])
  }

  @Test("rules 48, 172: an object that was looked for before its row was saved is whole once that is merged")
  func objectsLookedForTooEarly() throws {
    let new = Entry.make("new", in: theirs)
    let early = try #require(mine.object(with: new.objectID) as? Entry)
    #expect(early.location == nil)
    #expect(early.isDeleted)
    mine.mergeChanges(fromContextDidSave: try theirs.catchingSave {})
    #expect(early.location == "new")
    #expect(!early.isDeleted)
    #expect(!mine.hasChanges)
    #expect(try mine.entries().last === early)
    early.rating = 5
    try mine.save()
    #expect(try store.context().entry("new").rating == 5)
  }
}
