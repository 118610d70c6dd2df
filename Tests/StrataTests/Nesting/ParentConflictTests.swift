import Strata
import Testing

/// Checks that a child may ask for when it saves to its parent (rules 155, 156, better).
struct ParentConflictTests {
  let store: TemporaryStore
  let parent: ManagedObjectContext
  let child: ManagedObjectContext
  let other: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    parent = store.context()
    child = ManagedObjectContext(.confinement, parent: parent)
    other = ManagedObjectContext(.confinement, parent: parent)
    child.detectsConflictsWithParent = true
  }

  /// Both children edit the same record; the other one saves first.
  private func collide() throws -> Entry {
    try store.save("Bells")
    let mine = try child.entry("Bells")
    mine.rating = 5
    let theirs = try other.entry("Bells")
    (theirs.rating, theirs.notes) = (1, "theirs")
    try other.save()
    return mine
  }

  @Test("rule 155: under the error policy the save fails, and nothing is handed over")
  func errorPolicy() throws {
    let mine = try collide()
    let error = #expect(throws: CoreDataError.self) { try child.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(child.updatedObjects == [mine] && mine.rating == 5)
    #expect(try parent.entry("Bells").rating == 1)
  }

  @Test(
    "rule 155: the other policies settle it as at a coordinator",
    arguments: [
      (.mergeByPropertyObjectTrump, 5, "theirs"), (.mergeByPropertyStoreTrump, 1, "theirs"),
      (.overwrite, 5, nil), (.rollback, 1, "theirs"),
    ] as [(MergePolicyType, Int16, String?)])
  func otherPolicies(type: MergePolicyType, rating: Int16, notes: String?) throws {
    let mine = try collide()
    child.mergePolicy = MergePolicy(merge: type)
    try child.save()
    #expect(mine.rating == rating && mine.notes == notes && !child.hasChanges)
    let seen = try parent.entry("Bells")
    #expect(seen.rating == rating && seen.notes == notes)
    try parent.save()
    #expect(try store.savedEntries() == ["Bells \(rating)"])
  }

  @Test("rule 155: a record the store's other contexts have changed, or deleted, counts as well")
  func storedChanges() throws {
    try store.save("Bells", "Winki")
    let (bells, winki) = (try child.entry("Bells"), try child.entry("Winki"))
    (bells.rating, winki.rating) = (5, 5)
    let sibling = store.context()
    try sibling.entry("Bells").rating = 1
    sibling.delete(try sibling.entry("Winki"))
    try sibling.save()
    #expect(throws: CoreDataError.self) { try child.save() }
    child.mergePolicy = .mergeByPropertyStoreTrump
    try child.save()
    #expect(bells.rating == 1 && winki.managedObjectContext == nil)
  }

  @Test("no conflict, no question: records nobody else has changed, or changed to the same")
  func noConflict() throws {
    try store.save("Bells")
    let entry = try child.entry("Bells")
    entry.rating = 4
    try child.save()
    entry.rating = 5
    try child.save()
    try parent.save()
    entry.notes = "on"
    try child.save()
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("rule 156: a duplicate is found at the child's save: in the parent, in the store, among its own")
  func uniqueness() throws {
    child.checksUniquenessAtParent = true
    let writer = store.context()
    Surfer.make("stored@example.com", in: writer)
    try writer.save()
    Surfer.make("pending@example.com", in: other)
    try other.save()
    let twin = Surfer.make("stored@example.com", in: child)
    for email in ["stored@example.com", "pending@example.com"] {
      twin.email = email
      let error = #expect(throws: CoreDataError.self) { try child.save() }
      #expect(error?.code == .managedObjectConstraintMerge)
      #expect(error?.userInfo[CoreDataError.Key.affectedObjects] as? [ManagedObject] == [twin])
    }
    twin.email = "own@example.com"
    let second = Surfer.make("own@example.com", in: child)
    #expect(throws: CoreDataError.self) { try child.save() }
    child.delete(second)
    try child.save()
    twin.name = "Layne"
    try child.save()
    try parent.save()
    #expect(try store.context().count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 3)
  }
}
