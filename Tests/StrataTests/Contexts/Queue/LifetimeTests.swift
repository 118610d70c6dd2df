import Foundation
import Strata
import Testing

/// Which objects keep which alive, and what deleted ones still show (rules 13, 14, 48–50; contexts 9, 10).
struct LifetimeTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  @Test("rule 13: an unchanged object that is not held elsewhere leaves the context")
  func unchangedObjectsAreHeldWeakly() throws {
    let id = Entry.make("Bells", in: context).objectID
    try context.save()
    #expect(context.registeredObject(for: id) == nil)
    #expect(context.registeredObjects.isEmpty)
    weak var gone: Entry?
    do {
      let entry = try context.entry("Bells")
      gone = entry
      #expect(context.registeredObjects == [entry])
    }
    #expect(context.registeredObject(for: id) == nil)
    #expect(gone == nil)
  }

  @Test("rule 13: changed objects are kept until they are saved, whether they are held elsewhere or not")
  func changedObjectsAreKept() throws {
    let id = Entry.make("Bells", in: context).objectID
    #expect(context.registeredObject(for: id)?.isInserted == true)
    try context.save()
    (context.object(with: id) as? Entry)?.rating = 5
    #expect(context.registeredObject(for: id)?.isUpdated == true)
    try context.save()
    #expect(context.registeredObject(for: id) == nil)
    context.delete(context.object(with: id))
    #expect(context.registeredObject(for: id)?.isDeleted == true)
    try context.save()
    #expect(try store.context().entryCount() == 0)
  }

  @Test("rule 13: retainsRegisteredObjects keeps all of them")
  func retainsRegisteredObjects() throws {
    context.retainsRegisteredObjects = true
    let id = Entry.make("Bells", in: context).objectID
    try context.save()
    #expect(context.registeredObject(for: id) != nil)
    #expect(context.registeredObjects.count == 1)
    context.retainsRegisteredObjects = false
    #expect(context.registeredObject(for: id) == nil)
  }

  @Test("contexts 9: looping over many rows keeps only what the loop holds")
  func loopingOverManyRowsIsBounded() throws {
    for number in 0..<5_000 { Entry.make("spot \(number)", in: context) }
    try context.save()
    context.reset()
    let kept = try context.fetch(FetchRequest<Entry>(entityName: "Entry", fetchLimit: 1))
    for offset in stride(from: 0, to: 5_000, by: 500) {
      let page = try context.fetch(
        FetchRequest<Entry>(
          entityName: "Entry", sortDescriptors: [FetchSort("location")], fetchLimit: 500, fetchOffset: offset)
      )
      #expect(page.count == 500)
      #expect(page.allSatisfy { $0.location != nil })
    }
    #expect(context.registeredObjects == Set(kept))
  }

  @Test("contexts 9: an object only the context still held shows the newest row when it is fetched again")
  func refetchedAfterBeingLetGoShowsTheNewestRow() throws {
    let id = Entry.make("Bells", in: context).objectID
    try context.save()
    let other = store.context()
    (other.object(with: id) as? Entry)?.rating = 5
    try other.save()
    #expect(try context.entry("Bells").rating == 5)
  }

  @Test("rule 14, contexts 9: objects outlive their context, detached, with their last values")
  func objectsOutliveTheirContext() throws {
    var context: ManagedObjectContext? = store.context()
    let held = Weak(context)
    let (saved, edited, unsaved) = try {
      let context = try #require(context)
      let saved = Entry.make("saved", in: context)
      let edited = Entry.make("edited", in: context)
      try context.save()
      edited.rating = 5
      return (saved, edited, Entry.make("unsaved", in: context))
    }()
    context = nil
    #expect(held.object == nil)
    for object in [saved, edited, unsaved] { #expect(object.managedObjectContext == nil) }
    #expect(saved.location == "saved")
    #expect(edited.rating == 5)
    #expect(unsaved.location == "unsaved")
    unsaved.location = "still editable"
    #expect(unsaved.location == "still editable")
  }

  @Test("rule 14: a fault that outlives its context reads as empty, it does not stop the process")
  func faultOutlivesItsContext() throws {
    let id = Entry.make("Bells", in: context).objectID
    try context.save()
    var reader: ManagedObjectContext? = store.context()
    let fault = try #require(reader?.object(with: id) as? Entry)
    let fetched = try store.context().entry("Bells")
    reader = nil
    #expect(fault.managedObjectContext == nil)
    #expect(fault.isFault)
    #expect(fault.location == nil && fault.rating == 0)
    // Its row was in memory when the context went: the last known value.
    #expect(fetched.location == "Bells")
  }

  @Test("contexts 10: reading what was deleted, reset or rolled back never stops the process")
  func deadObjectsNeverCrash() throws {
    let (deleted, reset) = (Entry.make("deleted", in: context), Entry.make("reset", in: context))
    try context.save()
    let rolledBack = Entry.make("rolled back", in: context)
    context.rollback()
    context.delete(deleted)
    try context.save()
    context.reset()
    for (entry, name) in [(deleted, "deleted"), (reset, "reset"), (rolledBack, "rolled back")] {
      #expect(entry.location == name)
      #expect(entry.value(forKey: "rating") as? Int64 == 3)
      #expect(entry.managedObjectContext == nil)
      #expect(!entry.isDeleted && !entry.isInserted)
      entry.rating = 1
      _ = entry.changedValues()
      _ = entry.committedValues(forKeys: nil)
      _ = entry.description
      #expect(entry.rating == 1)
    }
    #expect(!context.hasChanges)
  }

  @Test("rule 48: a fault whose row is gone becomes a deleted object with nil values, exempt from validation")
  func inaccessibleFaultBecomesDeleted() throws {
    let id = Entry.make("Bells", in: context).objectID
    try context.save()
    let reader = store.context()
    let fault = try #require(reader.object(with: id) as? Entry)
    context.delete(context.object(with: id))
    try context.save()
    #expect(fault.location == nil)
    #expect(fault.rating == 0)
    #expect(fault.isDeleted && !fault.isFault)
    #expect(reader.deletedObjects == [fault])
    try reader.save()
    #expect(!fault.isDeleted && fault.managedObjectContext == nil)
    #expect(!reader.hasChanges)
  }

  @Test("rules 45, 48: a fault whose row is gone can be deleted, and the save succeeds")
  func deletingADanglingFault() throws {
    let id = try store.save("Bells")[0]
    let reader = store.context()
    let fault = reader.object(with: id)
    context.delete(context.object(with: id))
    try context.save()
    reader.delete(fault)
    #expect(fault.isDeleted)
    Entry.make("new", in: reader)
    try reader.save()
    #expect(!reader.hasChanges && fault.managedObjectContext == nil)
    #expect(try store.savedEntries() == ["new 3"])
  }

  @Test("rule 48: reset and rollback remove such an object, too")
  func inaccessibleFaultGoesWithRollback() throws {
    let id = Entry.make("Bells", in: context).objectID
    try context.save()
    let reader = store.context()
    let fault = try #require(reader.object(with: id) as? Entry)
    context.delete(context.object(with: id))
    try context.save()
    _ = fault.location
    reader.rollback()
    #expect(!reader.hasChanges && !fault.isDeleted)
    #expect(fault.managedObjectContext == nil)
  }

  @Test("rule 48: with shouldDeleteInaccessibleFaults off an inaccessible fault traps")
  func strictContextTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let coordinator = try makeDoomedContainer().persistentStoreCoordinator
      let uri = "x-coredata://\(coordinator.persistentStores[0].identifier.uuidString)/Entry/p4711"
      let id = try #require(
        URL(string: uri).flatMap { coordinator.managedObjectID(forURIRepresentation: $0) })
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      context.shouldDeleteInaccessibleFaults = false
      _ = (context.object(with: id) as? Entry)?.location
    }
    expectTrap(result, says: "could not fulfil a fault", "Entry/p4711", "shouldDeleteInaccessibleFaults")
  }

  @Test("contexts 9, rule 184: contexts that come and go while siblings save leave their objects whole")
  func contextsComeAndGoWhileSiblingsSave() async throws {
    let ids = try store.save("a", "b", "c", "d")
    let store = store
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        let writer = store.context(.privateQueue)
        for round in 0..<150 {
          await writer.perform {
            (writer.object(with: ids[round % 4]) as? Entry)?.rating += 1
            #expect(throws: Never.self) { try writer.save() }
          }
        }
      }
      for _ in 0..<3 {
        group.addTask {
          for round in 0..<60 {
            let entry = Smuggled(keepOneObject(of: store, ids[round % 4]))
            #expect(entry.value?.managedObjectContext == nil)
            #expect(entry.value?.location != nil)
            await Task.yield()
          }
        }
      }
    }
    #expect(try store.savedEntries().count == 4)
  }

  @Test("rule 50 (better): a row deleted between fetch and access is still read as it was fetched")
  func rowDeletedBetweenFetchAndAccess() throws {
    for number in 0..<3 { Entry.make("spot \(number)", in: context) }
    try context.save()
    let reader = store.context()
    let fetched = try reader.entries()
    for entry in try context.entries() { context.delete(entry) }
    try context.save()
    #expect(fetched.map(\.location) == ["spot 0", "spot 1", "spot 2"])
    #expect(fetched.allSatisfy { !$0.isDeleted })
  }
}

/// Reads an object in a merging context of its own, which is gone when this returns.
private func keepOneObject(of store: TemporaryStore, _ id: ManagedObjectID) -> Entry? {
  let context = store.context()
  context.automaticallyMergesChangesFromParent = true
  let entry = context.object(with: id) as? Entry
  _ = entry?.rating
  return entry
}

/// Holds an object without keeping it alive.
private struct Weak<Object: AnyObject> {
  weak var object: Object?
  init(_ object: Object?) { self.object = object }
}
