import Foundation
import Strata
import Testing

/// Saves of others that are merged late: after this context has itself saved the records that they were about.
struct LateMergeTests {
  let store: TemporaryStore
  let writer: ManagedObjectContext
  let reader: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    writer = store.context()
    reader = store.context()
  }

  /// The ratings of the objects that `context` is told of as inserted while it merges.
  private func merge(_ notification: Notification, _ context: ManagedObjectContext) -> [Int16] {
    let ratings = Log<Int16>()
    let token = NotificationCenter.default.addObserver(forName: .didChange, object: context, queue: nil) {
      let inserted = $0.userInfo?["inserted"] as? Set<ManagedObject> ?? []
      for object in inserted { ratings.add((object as? Entry)?.rating ?? 0) }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    context.mergeChanges(fromContextDidSave: notification)
    return ratings.list
  }

  private func rate(_ rating: Int16, _ context: ManagedObjectContext) throws {
    let entry = try context.entry("Bells")
    entry.rating = rating
    try context.save()
  }

  @Test(
    "rule 176: an insertion that is merged late makes no object of a record as it was before this context's own save"
  )
  func insertion() throws {
    let report = try writer.catchingSave { Entry.make("Bells", rating: 1, in: writer) }
    try rate(5, reader)
    #expect(merge(report, reader) == [5])
  }

  @Test("rule 176: the same in a child, whose parent has saved what the child had saved")
  func insertionInChild() throws {
    let child = ManagedObjectContext(.confinement, parent: reader)
    let report = try reader.catchingSave { Entry.make("Bells", rating: 1, in: reader) }
    try rate(5, child)
    try reader.save()
    #expect(merge(report, child) == [5])
  }

  @Test(
    "rule 179: an insertion that is merged late makes no object of a record that this context has deleted since"
  )
  func insertionOfWhatIsDeleted() throws {
    let report = try writer.catchingSave { Entry.make("Bells", rating: 1, in: writer) }
    reader.delete(try reader.entry("Bells"))
    try reader.save()
    #expect(merge(report, reader) == [])
  }

  @Test(
    "rule 172: a merge that comes late leaves alone what this context has saved and refreshed since",
    arguments: [true, false])
  func lateMergeOfARefreshedObject(refreshesAll: Bool) throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let report = try writer.catchingSave { entry.notes = "theirs" }
    let mine = try reader.entry("Bells")
    mine.rating = 5
    try reader.save()
    if refreshesAll { reader.refreshAllObjects() } else { reader.refresh(mine, mergeChanges: false) }
    reader.mergeChanges(fromContextDidSave: report)
    let found = try #require(try reader.existingObject(with: mine.objectID) as? Entry)
    #expect(found.rating == 5 && mine.rating == 5 && mine.notes == "theirs")
  }

  @Test(
    "rule 199: a deletion that is merged late does not delete what this context has written again and refreshed"
  )
  func deletion() throws {
    Entry.make("Bells", rating: 1, in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    mine.rating = 5
    let report = try writer.catchingSave { writer.delete(try writer.entry("Bells")) }
    reader.mergePolicy = MergePolicy.overwrite
    try reader.save()
    reader.refresh(mine, mergeChanges: false)
    reader.mergeChanges(fromContextDidSave: report)
    #expect(!mine.isDeleted && mine.rating == 5)
    #expect(try store.fresh { try $0.entry("Bells").rating } == 5)
  }
}
