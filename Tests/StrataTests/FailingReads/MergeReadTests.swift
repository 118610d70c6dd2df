import Foundation
import Strata
import Testing

/// Merges of what other contexts, batches and other processes have committed, and batches themselves, while the store cannot be read.
struct MergeReadTests {
  private static func changeElsewhere(_ world: ReadWorld, _ context: ManagedObjectContext) throws {
    try world.book(1, context)["title"] = "one"
    try world.book(3, context)["tags"] = Set([try world.tag("old", context)])
    context.delete(try world.book(2, context))
    context.new("Book", ["isbn": 5, "title": "five", "shelf": try world.shelf("b", context)])
  }

  /// Once everything can be read, the held books show what is stored, and the one that is gone says so.
  private static func expectNewest(_ world: ReadWorld) throws {
    for book in world.held where !book.isDeleted { world.context.refresh(book, mergeChanges: true) }
    #expect(world.held[0]["title"] as? String == "one")
    #expect((world.held[2]["tags"] as? Set<ManagedObject>)?.first?["name"] as? String == "old")
    #expect(world.held[3]["title"] as? String == "edited" && world.held[3].isUpdated)
    try world.context.save()
  }

  enum Way: CaseIterable { case notification, identifiers }

  @Test(arguments: Way.allCases, [false, true])
  func mergesMarkNothingDeletedThatIsThere(way: Way, isRead: Bool) throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          let books = isRead ? try world.holdBooks() : try world.holdFaults()
          books[3]["title"] = "edited"
          if isRead { for book in books { _ = (book["tags"] as? Set<ManagedObject>)?.count } }
          let name =
            way == .notification
            ? ManagedObjectContext.didSaveObjectsNotification
            : ManagedObjectContext.didSaveObjectIDsNotification
          let log = Log<Notification>()
          let other = world.store.context()
          let token = NotificationCenter.default.addObserver(forName: name, object: other, queue: nil) {
            log.add($0)
          }
          defer { NotificationCenter.default.removeObserver(token) }
          try Self.changeElsewhere(world, other)
          try other.save()
          world.other = other
          world.notes = log.list
          if way == .identifiers {
            let ids = try #require(log.first?.userInfo)
            world.notes = [Notification(name: name, object: nil, userInfo: ids)]
          }
        },
        act: { world in
          for note in world.notes { world.context.mergeChanges(fromContextDidSave: note) }
        },
        failed: { world in
          #expect(world.held.enumerated().allSatisfy { !$1.isDeleted || $0 == 1 })
          #expect(world.held[3]["title"] as? String == "edited" && world.held[3].isUpdated)
        },
        finished: { try Self.expectNewest($0) }, edits: true))
  }

  @Test(arguments: [false, true])
  func batchesThatCannotReadWriteNothingAndMarkNothing(isDeletion: Bool) throws {
    try forEveryFailingRead(
      recordsHistory: true,
      ReadStory(
        prepare: { try $0.holdBooks() },
        act: { world in
          let predicate = Attribute("shelf.name") == "a" && Attribute("pages") > 15
          if isDeletion {
            _ = try world.context.execute(
              BatchDeleteRequest(
                fetchRequest: FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate)))
          } else {
            var request = BatchUpdateRequest(
              entityName: "Book", propertiesToUpdate: ["pages": 1, "shelf": try world.shelf("b").objectID])
            request.predicate = predicate
            _ = try world.context.execute(request)
          }
        },
        failed: { world in
          #expect(world.held.map(\.isDeleted) == [false, false, false, false] || isDeletion)
          #expect(!world.held[0].isDeleted && !world.held[3].isDeleted)
        },
        finished: { world in
          let picture = try world.picture()
          #expect(picture.contains(isDeletion ? "a(1): 1" : "b(3): 2 3 4"))
          #expect(isDeletion || picture.contains("2 t2 1 on b [new old]"))
        }, edits: true, mayHaveSaved: true))
  }

  @Test func batchDeletionOfOwnersIsWholeOrNot() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { try $0.holdBooks() },
        act: { world in
          let ids = try world.context.all("Shelf", Attribute("name") == "a").map(\.objectID)
          if !ids.isEmpty { _ = try world.context.execute(BatchDeleteRequest(objectIDs: ids)) }
        },
        failed: { #expect(!$0.held[3].isDeleted) },
        finished: { world in
          try #expect(world.picture() == ["4 t4 40 on b []", "b(1): 4", "new of ", "old of "])
        }, edits: true, mayHaveSaved: true))
  }

}
