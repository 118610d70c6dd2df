import Foundation
import Strata
import Testing

/// A child has edited a record above what its parent had not saved, and the parent has taken that back (rules 153, 155).
struct TakenBackBaseTests {
  private let store: TemporaryStore
  private let id: ManagedObjectID

  /// How a parent takes back what it has edited.
  enum Way: CaseIterable, Sendable { case rollback, reset, undo, refresh }

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

  private func takeBack(_ way: Way, _ entry: Entry, in context: ManagedObjectContext) throws {
    switch way {
    case .rollback: context.rollback()
    case .reset: context.reset()
    case .undo: context.undo()
    case .refresh: context.refresh(entry, mergeChanges: false)
    }
  }

  /// A context whose edit of the record its child has seen.
  private func edited() throws -> (context: ManagedObjectContext, child: ManagedObjectContext, entry: Entry) {
    let context = store.context()
    context.undoManager = UndoManager()
    let child = ManagedObjectContext(.confinement, parent: context)
    let entry = try context.entry("Bells")
    entry.notes = "draft"
    context.processPendingChanges()
    return (context, child, entry)
  }

  @Test(
    "rule 155: what a child edits above it meets what another context has written", arguments: Way.allCases,
    [false, true])
  func edit(way: Way, deletes: Bool) throws {
    let (context, child, entry) = try edited()
    let copy = try child.entry("Bells")
    #expect(copy.notes == "draft")
    if deletes { child.delete(copy) } else { copy.rating = 4 }
    try takeBack(way, entry, in: context)
    try writeElsewhere()
    try child.save()
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(try store.savedEntries() == ["Bells 5"])
    #expect(try store.fresh { try $0.entry("Bells").notes } == nil)
  }

  @Test("so it does two levels up")
  func deeper() throws {
    let (context, middle, _) = try edited()
    try middle.entry("Bells").location = "Dunes"
    middle.processPendingChanges()
    let child = ManagedObjectContext(.confinement, parent: middle)
    try child.entry("Dunes").rating = 4
    middle.rollback()
    context.rollback()
    try writeElsewhere()
    try child.save()
    try middle.save()
    #expect(throws: CoreDataError.self) { try context.save() }
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("what the parent had read itself is no conflict", arguments: Way.allCases)
  func knownToParent(way: Way) throws {
    try writeElsewhere()
    let (context, child, entry) = try edited()
    try child.entry("Bells").rating = 4
    try takeBack(way, entry, in: context)
    try child.save()
    try context.save()
    #expect(try store.savedEntries() == ["Bells 4"])
  }

  @Test("nor is what a child has read anew since", arguments: Way.allCases)
  func readAnew(way: Way) throws {
    let (context, child, entry) = try edited()
    _ = try child.entry("Bells")
    try takeBack(way, entry, in: context)
    try writeElsewhere()
    child.refreshAllObjects()
    let copy = try child.entry("Bells")
    #expect(copy.rating == 5 && copy.notes == nil)
    copy.rating = 4
    try child.save()
    try context.save()
    #expect(try store.savedEntries() == ["Bells 4"])
  }

  @Test(
    "rule 199: a child's edit of what a batch has deleted meanwhile is not lost in silence",
    arguments: Way.allCases)
  func deletedByBatch(way: Way) throws {
    let (context, child, entry) = try edited()
    let copy = try child.entry("Bells")
    copy.rating = 4
    _ = try context.execute(BatchDeleteRequest(objectIDs: [id]))
    try takeBack(way, entry, in: context)
    try child.save()
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
  }
}
