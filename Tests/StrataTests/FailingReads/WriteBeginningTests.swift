import Foundation
import Strata
import Testing

/// Every transaction that is to write does not begin in turn: the call that needed it throws, edits stay, and doing it again does it.
struct WriteBeginningTests {
  @Test func saveKeepsItsEdits() throws {
    let count = try forEveryFailingRead(
      recordsHistory: true, failing: .beginningsOfWrites,
      ReadStory(
        prepare: { world in
          let books = try world.holdBooks()
          books[0]["pages"] = 11
          books[3]["shelf"] = try world.shelf("a")
          world.context.new("Book", ["isbn": 5, "title": "new"])
          world.context.delete(books[2])
          world.context.processPendingChanges()
        },
        act: { try $0.context.save() },
        failed: { world in
          #expect(world.context.insertedObjects.count == 1 && world.context.deletedObjects.count == 1)
        },
        finished: { #expect(!$0.context.hasChanges) }))
    #expect(count > 0)
  }

  @Test func saveOfAChildReachesItsParent() throws {
    let count = try forEveryFailingRead(
      failing: .beginningsOfWrites,
      ReadStory(
        prepare: { world in
          let child = ManagedObjectContext(.confinement, parent: world.context)
          child.new("Tag", ["name": "child"])
          world.other = child
        },
        act: { world in
          try world.other?.save()
          try world.context.save()
        },
        // The parent has what the child has saved.
        failed: { #expect($0.context.insertedObjects.count == 1 && $0.other?.hasChanges == false) },
        finished: { #expect(!$0.context.hasChanges) }, edits: true))
    #expect(count > 0)
  }

  @Test func conflictIsSettledLater() throws {
    let count = try forEveryFailingRead(
      failing: .beginningsOfWrites,
      ReadStory(
        prepare: { world in
          world.context.mergePolicy = .mergeByPropertyObjectTrump
          try world.holdBooks()
          world.context.new("Book", ["isbn": 1, "title": "again"])
          try world.elsewhere { try world.book(1, $0)["pages"] = 100 }
        },
        act: { try $0.context.save() },
        failed: { #expect($0.context.hasChanges) },
        finished: { world in
          try #expect(world.picture().contains { $0.hasPrefix("1 again ") })
        }, settles: true))
    #expect(count > 0)
  }

  @Test(arguments: [MergePolicyType.mergeByPropertyObjectTrump, .error])
  func batchesWriteNothing(policy: MergePolicyType) throws {
    let count = try forEveryFailingRead(
      recordsHistory: true, failing: .beginningsOfWrites,
      ReadStory(
        prepare: { $0.context.mergePolicy = MergePolicy(merge: policy) },
        act: { world in
          try world.context.execute(
            BatchInsertRequest(entityName: "Book", objects: [["isbn": 8, "title": "eight"]]))
        }))
    #expect(count > 0)
    let updates = try forEveryFailingRead(
      failing: .beginningsOfWrites,
      ReadStory(act: { world in
        var update = BatchUpdateRequest(entityName: "Book")
        update.propertiesToUpdate = ["pages": 5]
        try world.context.execute(update)
      }))
    #expect(updates > 0)
    let deletes = try forEveryFailingRead(
      failing: .beginningsOfWrites,
      ReadStory(act: { world in
        try world.context.execute(
          BatchDeleteRequest(
            fetchRequest: FetchRequest<ManagedObject>(entityName: "Book", predicate: Attribute("isbn") == 2)))
      }))
    #expect(deletes > 0)
  }

  @Test func historyIsDeletedLater() throws {
    let count = try forEveryFailingRead(
      recordsHistory: true, failing: .beginningsOfWrites,
      ReadStory(act: { world in
        try world.context.execute(PersistentHistoryRequest.deleteHistory(before: Date.distantFuture))
      }))
    #expect(count > 0)
  }

  /// A store that cannot be written while it is opened is refused, and opens later as it was.
  @Test func openingSaysSo() throws {
    var nth = 1
    while true {
      let world = try ReadWorld()
      let before = try world.picture()
      let path = world.store.url
      let model = ReadWorld.model()
      // One more index, which is to be added when the store is opened.
      model.entitiesByName["Book"]?.indexes.append(
        FetchIndexDescription(name: "byPages", attributes: ["pages"]))
      try world.store.close()
      let writes = try FailingReads(below: world.store.folderURL, nth: nth, .all, .beginningsOfWrites)
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      let error = failure {
        try coordinator.addPersistentStore(PersistentStoreDescription(url: path))
      }
      for store in coordinator.persistentStores { try coordinator.remove(store) }
      let fired = writes.mend()
      let place: Comment = "beginning \(nth)"
      if fired > 0 {
        #expect((error as? StorageError)?.kind == .io, place)
      } else {
        #expect(error == nil, place)
      }
      try coordinator.addPersistentStore(PersistentStoreDescription(url: path))
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      #expect(try ReadWorld.picture(context) == before, place)
      for store in coordinator.persistentStores { try coordinator.remove(store) }
      guard fired > 0 else { break }
      nth += 1
    }
    #expect(nth > 1)
  }
}
