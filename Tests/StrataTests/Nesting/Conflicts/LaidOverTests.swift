import Foundation
import Strata
import Testing

/// What a child saves is laid over what its parent has by then, value by value (rules 149–155, 157, 165, 169).
struct LaidOverTests {
  let store: TemporaryStore
  let parent: ManagedObjectContext
  let child: ManagedObjectContext
  /// Longer than fits into a row.
  let long = String(repeating: "swell ", count: 2_000)

  init() throws {
    store = try TemporaryStore()
    parent = store.context()
    child = ManagedObjectContext(.confinement, parent: parent)
  }

  // MARK: Newer below than the child has read

  @Test(
    "rule 155 (better): what the parent saved since the child looked is no conflict, and nothing of it is lost"
  )
  func theParentSavedInBetween() throws {
    try store.save("Bells")
    let theirs = try child.entry("Bells")
    #expect(theirs.rating == 3)
    let mine = try parent.entry("Bells")
    mine.rating = 5
    try parent.save()
    theirs.notes = "glassy"
    try child.save()
    #expect(mine.rating == 5 && mine.notes == "glassy")
    #expect(mine.changedValues().keys.sorted() == ["notes"])
    try parent.save()
    let saved = try store.context().entry("Bells")
    #expect(saved.rating == 5 && saved.notes == "glassy")
  }

  @Test(
    "rules 153, 155: what a child gives to a record that it has read anew brings nothing older back, and meets no conflict",
    arguments: [false, true], [Edit.members, .value, .deletion])
  func relatedAnew(undoes: Bool, edit: Edit) throws {
    let store = try TemporaryStore(TeamModel.make())
    let parent = store.context()
    let sales = parent.make(Department.self, "sales")
    let ann = parent.make(Employee.self, "Ann")
    if edit == .deletion { ann.department = sales }
    try parent.save()
    if undoes { parent.undoManager = UndoManager() }
    // Edited here, so that what a child says of it leads to the department before it is the department's turn.
    ann.level = 7
    parent.processPendingChanges()
    let other = store.context()
    try other.find(Department.self, "sales").name = "trade"
    try other.save()
    let child = ManagedObjectContext(.confinement, parent: parent)
    let trade = try child.find(Department.self, "trade")
    switch edit {
    case .members: trade.employees.insert(try child.find(Employee.self, "Ann"))
    case .value:
      try child.find(Employee.self, "Ann").department = trade
      trade.name = "export"
    case .deletion: child.delete(trade)
    }
    try child.save()
    let expected: [String?] = edit == .deletion ? [] : [edit == .value ? "export" : "trade"]
    if edit != .deletion {
      child.refreshAllObjects()
      #expect(trade.name == expected.first)
      #expect(sales.name == expected.first && sales.employees.names == ["Ann"])
    }
    try parent.save()
    let saved = try store.fresh { context in
      let ann = try context.find(Employee.self, "Ann")
      return (
        try context.fetch(FetchRequest<Department>(entityName: "Department")).map(\.name), ann.level,
        ann.department?.name
      )
    }
    #expect(saved == (expected, 7, expected.first ?? nil))
  }

  enum Edit { case members, value, deletion }

  @Test("the same over what a context further down has not saved")
  func unsavedFurtherDown() throws {
    try store.save("Bells")
    let grandchild = ManagedObjectContext(.confinement, parent: child)
    let theirs = try grandchild.entry("Bells")
    #expect(theirs.rating == 3)
    try parent.entry("Bells").rating = 5
    theirs.notes = "glassy"
    try grandchild.save()
    let middle = try child.entry("Bells")
    #expect(middle.rating == 5 && middle.notes == "glassy")
    try child.save()
    try parent.save()
    let saved = try store.context().entry("Bells")
    #expect(saved.rating == 5 && saved.notes == "glassy")
  }

  @Test("rule 169 (better): what the parent deleted and saved stays deleted, and its next save succeeds")
  func theParentSavedADeletion() throws {
    try store.save("Bells", "Winki")
    let (theirs, others) = (try child.entry("Bells"), try child.entry("Winki"))
    parent.delete(try parent.entry("Bells"))
    try parent.save()
    theirs.rating = 5
    others.rating = 4
    try child.save()
    #expect(theirs.managedObjectContext == nil)
    try parent.save()
    #expect(try store.savedEntries() == ["Winki 4"])
    child.delete(others)
    parent.delete(try parent.entry("Winki"))
    try parent.save()
    try child.save()
    #expect(!parent.hasChanges)
  }

  @Test("rule 189: what another context saves after the child's save is a conflict of the root's")
  func conflictsAreTheRoots() throws {
    try store.save("Bells")
    try child.entry("Bells").rating = 5
    try child.save()
    let stranger = store.context()
    try stranger.entry("Bells").rating = 1
    try stranger.save()
    #expect(throws: CoreDataError.self) { try parent.save() }
  }

  // MARK: Objects of records that a child has saved

  @Test("rule 151: an object made for an ID shows what a child did to the record, before it is read")
  func objectsMadeForIDs() throws {
    let ids = try store.save("Bells", "Winki")
    try child.entry("Bells").rating = 5
    child.delete(try child.entry("Winki"))
    let new = Entry.make("Gunna", in: child).objectID
    try child.save()
    let (updated, deleted) = (parent.object(with: ids[0]), parent.object(with: ids[1]))
    let inserted = parent.object(with: new)
    #expect(updated.isUpdated && deleted.isDeleted && inserted.isInserted)
    #expect(inserted.objectID.isTemporaryID && !updated.objectID.isTemporaryID)
    parent.delete(inserted)
    #expect(inserted.managedObjectContext == nil && parent.insertedObjects.isEmpty)
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("what a child deleted looks as it did until the parent saves, and is deleted then")
  func faultsOfDeletedRecords() throws {
    let id = try store.save("Bells", rating: 4)[0]
    let fault = try #require(parent.object(with: id) as? Entry)
    child.delete(try child.entry("Bells"))
    try child.save()
    #expect(fault.isDeleted)
    #expect(fault.rating == 4 && fault.location == "Bells")
    #expect(parent.deletedObjects == [fault])
    try parent.save()
    #expect(try store.savedEntries() == [])
  }

  @Test("rule 87: leaving pending changes out of a fetch leaves them in its objects")
  func fetchWithoutPendingChanges() throws {
    try store.save("Bells")
    try child.entry("Bells").rating = 5
    try child.save()
    var request = FetchRequest<Entry>(entityName: "Entry", predicate: Attribute("rating") == 3)
    request.includesPendingChanges = false
    let found = try #require(try parent.fetch(request).only)
    #expect(found.isUpdated && found.rating == 5)
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  // MARK: IDs

  @Test("rule 157: an ID is temporary until the root saves, whichever context edits the record")
  func temporaryUnderEdits() throws {
    let id = Entry.make("Bells", in: parent).objectID
    let sibling = ManagedObjectContext(.confinement, parent: child)
    try child.entry("Bells").rating = 5
    let seen = try sibling.entry("Bells")
    #expect(seen.objectID.isTemporaryID)
    #expect(
      try sibling.fetch(FetchRequest<ManagedObjectID>(entityName: "Entry")).map(\.isTemporaryID) == [true])
    seen.notes = "glassy"
    try sibling.save()
    let middle = try child.entry("Bells")
    #expect(middle.objectID.isTemporaryID)
    middle.rating = 4
    #expect(middle.objectID.isTemporaryID)
    try child.save()
    #expect(middle.objectID.isTemporaryID && seen.objectID.isTemporaryID)
    sibling.refresh(seen, mergeChanges: false)
    #expect(seen.objectID.isTemporaryID && sibling.object(with: id).objectID.isTemporaryID)
    try parent.save()
    #expect(
      !middle.objectID.isTemporaryID && !seen.objectID.isTemporaryID && !id.with(context: child).isTemporaryID
    )
  }

  // MARK: Large values

  @Test("large values that are in no store stay readable when other values are edited, saved or rolled back")
  func largeValuesStay() throws {
    let entry = Entry.make("Bells", in: child)
    entry.notes = long
    try child.save()
    entry.rating = 5
    let grandchild = ManagedObjectContext(.confinement, parent: child)
    #expect(try grandchild.entry("Bells").notes == long, "seen through an edit of another value")
    try child.save()
    #expect(entry.notes == long, "after another save")
    child.delete(entry)
    child.rollback()
    #expect(entry.notes == long, "after a rollback")
    let mine = try parent.entry("Bells")
    mine.height = 2
    #expect(mine.notes == long, "edited by the parent")
    try parent.save()
    #expect(entry.notes == long)
    let reader = store.context()
    #expect(try reader.entry("Bells").notes == long)
  }

  @Test("a large value that was rolled back below does not cling to a fault")
  func replacedLargeValues() throws {
    try store.save("Bells")
    let other = String(repeating: "chop ", count: 2_000)
    try parent.entry("Bells").notes = other
    try parent.save()
    let sibling = ManagedObjectContext(.confinement, parent: parent)
    let held = try child.entry("Bells")
    try sibling.entry("Bells").notes = long
    let caught = Log<Notification>()
    let token = NotificationCenter.default.addObserver(forName: .didSave, object: sibling, queue: nil) {
      caught.add($0)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try sibling.save()
    // Held, but not looked at: it takes the row of the merge, and then the one of the fetch.
    child.mergeChanges(fromContextDidSave: try #require(caught.first))
    #expect(held.isFault)
    parent.reset()
    #expect(try child.entry("Bells") === held && held.notes == other)
  }
}

extension ManagedObjectID {
  /// What `context` says of the ID of its object.
  fileprivate func with(context: ManagedObjectContext) -> ManagedObjectID {
    context.object(with: self).objectID
  }
}
