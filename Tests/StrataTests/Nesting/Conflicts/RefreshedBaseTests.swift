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
}
