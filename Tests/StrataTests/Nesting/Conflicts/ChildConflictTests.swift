import Foundation
import Strata
import Testing

/// What a child has edited counts from the row it has read, however long ago (rules 189–194 through contexts above contexts).
struct ChildConflictTests {
  private let store: TemporaryStore
  private let id: ManagedObjectID

  init() throws {
    store = try TemporaryStore()
    id = try #require(try store.save("Bells", rating: 3).first)
  }

  /// A child of `root` that edits a row, which another context writes before the child saves.
  private func editFromAnOlderRow(_ root: ManagedObjectContext, _ edit: (Entry) -> Void) throws {
    let child = ManagedObjectContext(.confinement, parent: root)
    let entry = try child.entry("Bells")
    let other = store.context()
    try other.entry("Bells").rating = 5
    try other.save()
    edit(entry)
    try child.save()
  }

  @Test("rule 190: the error policy of the root reports a row that was written after the child had read it")
  func errorPolicy() throws {
    let root = store.context()
    try editFromAnOlderRow(root) { $0.rating = 1 }
    let error = #expect(throws: CoreDataError.self) { try root.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(try store.savedEntries() == ["Bells 5"])
    root.rollback()
    root.refreshAllObjects()
    #expect(try root.entry("Bells").rating == 5 && !root.hasChanges)
  }

  @Test("rule 190: what the root has merged before the child saves is no conflict", arguments: [true, false])
  func mergedBefore(isTold: Bool) throws {
    let root = store.context()
    let known = try root.entry("Bells")
    let child = ManagedObjectContext(.confinement, parent: root)
    let entry = try child.entry("Bells")
    let other = store.context()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: other, queue: nil
    ) { if isTold { root.mergeChanges(fromContextDidSave: $0) } }
    defer { NotificationCenter.default.removeObserver(token) }
    try other.entry("Bells").rating = 5
    try other.save()
    if !isTold {
      let key = ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue
      ManagedObjectContext.mergeChanges(fromRemoteContextSave: [key: [id]], into: [root])
    }
    #expect(known.rating == 5)
    entry.location = "Winki"
    try child.save()
    try root.save()
    #expect(try store.savedEntries() == ["Winki 5"])
  }

  @Test(
    "rules 194–197: a policy of the root decides between the child's edit and the newer row",
    arguments: [
      (MergePolicyType.mergeByPropertyObjectTrump, "Bells 1"), (.mergeByPropertyStoreTrump, "Bells 5"),
      (.overwrite, "Bells 1"), (.rollback, "Bells 5"),
    ])
  func policies(type: MergePolicyType, expected: String) throws {
    let root = store.context()
    root.mergePolicy = MergePolicy(merge: type)
    try editFromAnOlderRow(root) { $0.rating = 1 }
    try root.save()
    #expect(try store.savedEntries() == [expected])
    #expect(!root.hasChanges)
  }

  @Test("rule 195: what only the other writer has changed is kept under object trump")
  func disjointEdits() throws {
    let root = store.context()
    root.mergePolicy = MergePolicy(merge: .mergeByPropertyObjectTrump)
    try editFromAnOlderRow(root) { $0.location = "Winki" }
    try root.save()
    #expect(try store.savedEntries() == ["Winki 5"])
  }

  @Test("rule 190: so it is where the child's parent is itself a child")
  func deeper() throws {
    let root = store.context()
    let middle = ManagedObjectContext(.confinement, parent: root)
    try editFromAnOlderRow(middle) { $0.rating = 1 }
    try middle.save()
    #expect(throws: CoreDataError.self) { try root.save() }
    root.mergePolicy = MergePolicy(merge: .mergeByPropertyObjectTrump)
    try root.save()
    #expect(try store.savedEntries() == ["Bells 1"])
  }

  /// A child reads; the root changes the location to Winki and saves; another context changes the rating to 5; the child, which still has the
  /// first row, edits and saves.
  private func editFromBeforeTheRootsSave(_ root: ManagedObjectContext, _ edit: (Entry) -> Void) throws {
    let child = ManagedObjectContext(.confinement, parent: root)
    let entry = try child.entry("Bells")
    try root.entry("Bells").location = "Winki"
    try root.save()
    let other = store.context()
    try other.entry("Winki").rating = 5
    try other.save()
    edit(entry)
    try child.save()
  }

  @Test(
    "rule 155: a child's edit of an older row does not take its parent back behind what that has saved",
    arguments: [
      (MergePolicyType.mergeByPropertyObjectTrump, "Winki 1"), (.mergeByPropertyStoreTrump, "Winki 5"),
      (.overwrite, "Winki 1"), (.rollback, "Winki 5"),
    ])
  func behindTheRootsSave(type: MergePolicyType, expected: String) throws {
    let root = store.context()
    root.mergePolicy = MergePolicy(merge: type)
    try editFromBeforeTheRootsSave(root) { $0.rating = 1 }
    let entry = try #require(root.existingObject(with: id) as? Entry)
    #expect(entry.location == "Winki" && entry.rating == 1)
    let beside = ManagedObjectContext(.confinement, parent: root)
    #expect(try beside.entry("Winki").rating == 1)
    try root.save()
    #expect(try store.savedEntries() == [expected])
    #expect("\(entry.location ?? "nil") \(entry.rating)" == expected && !root.hasChanges)
  }

  @Test("rule 155: nor to what it failed to save")
  func behindAFailedSave() throws {
    let root = store.context()
    let child = ManagedObjectContext(.confinement, parent: root)
    let entry = try child.entry("Bells")
    let held = try root.entry("Bells")
    held.location = "Winki"
    try root.save()
    let other = store.context()
    try other.entry("Winki").rating = 5
    try other.save()
    held.location = "Uluwatu"
    #expect(throws: CoreDataError.self) { try root.save() }
    root.rollback()
    try other.entry("Winki").rating = 4
    try other.save()
    entry.rating = 1
    try child.save()
    let known = try #require(root.existingObject(with: id) as? Entry)
    #expect(known.location == "Winki" && known.rating == 1)
    let error = #expect(throws: CoreDataError.self) { try root.save() }
    #expect(error?.code == .managedObjectMerge && held === known)
    #expect(try store.savedEntries() == ["Winki 4"])
  }

  @Test("rule 190: a save that failed because of another context's row does not make that row known")
  func conflictAfterAFailedSave() throws {
    let root = store.context()
    let child = ManagedObjectContext(.confinement, parent: root)
    let entry = try child.entry("Bells")
    let held = try root.entry("Bells")
    let other = store.context()
    try other.entry("Bells").rating = 5
    try other.save()
    held.location = "Uluwatu"
    #expect(throws: CoreDataError.self) { try root.save() }
    root.rollback()
    entry.rating = 1
    try child.save()
    let error = #expect(throws: CoreDataError.self) { try root.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("rule 190: another context's row over what the child has read unsaved and the parent has saved since")
  func overASaveOfTheParent() throws {
    let root = store.context()
    let held = try root.entry("Bells")
    let child = ManagedObjectContext(.confinement, parent: root)
    held.location = "Winki"
    root.processPendingChanges()
    let entry = try child.entry("Winki")
    try root.save()
    let other = store.context()
    try other.entry("Winki").rating = 5
    try other.save()
    entry.rating = 1
    try child.save()
    #expect(held.location == "Winki" && held.rating == 1)
    let error = #expect(throws: CoreDataError.self) { try root.save() }
    #expect(error?.code == .managedObjectMerge)
    root.mergePolicy = MergePolicy(merge: .mergeByPropertyStoreTrump)
    try root.save()
    #expect(try store.savedEntries() == ["Winki 5"])
  }

  @Test("rule 190: a merge that comes late does not make the root forget what it has saved since")
  func mergedLate() throws {
    let root = store.context()
    let child = ManagedObjectContext(.confinement, parent: root)
    let entry = try child.entry("Bells")
    let heard = Log<Notification>()
    let other = store.context()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: other, queue: nil
    ) { heard.add($0) }
    defer { NotificationCenter.default.removeObserver(token) }
    try other.entry("Bells").rating = 5
    try other.save()
    try root.entry("Bells").location = "Winki"
    try root.save()
    root.mergeChanges(fromContextDidSave: try #require(heard.first))
    entry.rating = 1
    try child.save()
    // Only the root has written since.
    try root.save()
    #expect(try store.savedEntries() == ["Winki 1"])
  }

  @Test(
    "rule 152: a child's save reaches an object that was edited beneath its accessors",
    arguments: ["rating", "location"])
  func primitiveValues(key: String) throws {
    let root = store.context()
    let known = try root.entry("Bells")
    known.setPrimitiveValue(known.primitiveValue(forKey: key), forKey: key)
    let child = ManagedObjectContext(.confinement, parent: root)
    try child.entry("Bells").rating = 5
    try child.save()
    #expect(known.rating == 5)
    known.location = "Winki"
    try root.save()
    #expect(known.rating == 5 && !root.hasChanges)
    #expect(try store.savedEntries() == ["Winki 5"])
  }
}
