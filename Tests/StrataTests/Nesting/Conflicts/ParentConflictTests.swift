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

  @Test("records that no other context has changed, or changed to the same, are no conflict")
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

  @Test(
    "rule 156: the policy settles duplicates with the parent's records, and those of the child's own children"
  )
  func settledAtTheParent() throws {
    let store = try TemporaryStore(CatalogueModel.make())
    try store.stock(["a": "stored"])
    let parent = store.context()
    let child = ManagedObjectContext(.confinement, parent: parent)
    let grandchild = ManagedObjectContext(.confinement, parent: child)
    child.checksUniquenessAtParent = true
    parent.new("Product", ["sku": "b", "name": "parent", "note": "kept"])
    parent.processPendingChanges()
    child.new("Product", ["sku": "a", "name": "child"])
    let twin = child.new("Product", ["sku": "b", "name": "child"])
    child.new("Bolt", ["serial": 1])["product"] = twin
    grandchild.new("Product", ["sku": "c", "name": "grandchild"])
    grandchild.new("Product", ["sku": "c", "note": "grandchild"])
    try grandchild.save()
    let error = #expect(throws: CoreDataError.self) { try child.save() }
    let conflicts = error?.userInfo["conflictList"] as? [ConstraintConflict] ?? []
    #expect(conflicts.count == 3 && conflicts.filter { $0.databaseObject == nil }.count == 1)
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.save()
    #expect(!child.hasChanges)
    #expect(try parent.all("Product").count == 3)
    #expect(
      try parent.product("b")["name"] as? String == "child"
        && parent.product("b")["note"] as? String == "kept")
    try parent.save()
    #expect(try store.products() == ["a child 0", "b child 0", "c grandchild 0"])
    #expect(try store.fresh { try $0.product("c")["note"] as? String } == "grandchild")
    #expect(try store.fresh { try $0.all("Bolt")[0].end("product")?["sku"] as? String } == "b")
    #expect(try store.problems().isEmpty)
  }

  @Test("rule 156: a save that does not stop checks as well; many new objects are checked in one pass")
  func checkedInOnePass() async throws {
    let store = try TemporaryStore(CatalogueModel.make())
    let parent = store.context(.privateQueue)
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    child.checksUniquenessAtParent = true
    await child.perform {
      for number in 0..<2_000 { child.new("Product", ["sku": "\(number)", "maker": "m", "model": number]) }
    }
    try await child.saveAsynchronously()
    // One question for each constraint.
    await child.perform { #expect(child.statistics.fetches == 2) }
    await child.perform { _ = child.new("Product", ["sku": "7", "name": "twin"]) }
    await #expect(throws: CoreDataError.self) { try await child.saveAsynchronously() }
    child.mergePolicy = .mergeByPropertyObjectTrump
    try await child.saveAsynchronously()
    try await parent.saveAsynchronously()
    #expect(try store.products().count == 2_000)
    #expect(try store.fresh { try $0.product("7")["name"] as? String } == "twin")
  }
}
