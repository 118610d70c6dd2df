import Foundation
import Strata
import Testing

/// Taking over what siblings saved (section H).
struct MergeTests {
  let store: TemporaryStore
  /// Saves.
  let writer: ManagedObjectContext
  /// Merges.
  let reader: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    writer = store.context()
    reader = store.context()
  }

  /// Saves the writer and merges its did-save notification into the reader.
  private func saveAndMerge() throws {
    reader.mergeChanges(fromContextDidSave: try writer.catchingSave())
  }

  @Test("rule 172: merging shows updated values, makes inserts known, deletes what was deleted")
  func mergingTakesOverEverything() throws {
    let (updated, deleted) = (Entry.make("updated", in: writer), Entry.make("deleted", in: writer))
    try writer.save()
    let mine = try reader.entries()
    for entry in mine { _ = entry.rating }
    updated.rating = 5
    writer.delete(deleted)
    let inserted = Entry.make("inserted", in: writer)
    let recorder = NotificationRecorder(reader)
    try saveAndMerge()
    #expect(mine[1].rating == 5)
    #expect(mine[0].isDeleted)
    let change = try #require(recorder.all(.didChange).only)
    #expect(change.inserted == [inserted.objectID])
    #expect(change.deleted == [deleted.objectID])
    #expect(change.refreshed == [updated.objectID])
    #expect(change.updated.isEmpty)
    #expect(try reader.entries().map(\.location) == ["inserted", "updated"])
  }

  @Test("rule 173: merging keeps local edits, on top of the new values")
  func mergingKeepsLocalEdits() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    mine.rating = 1
    mine.mood = "stoked"
    entry.rating = 5
    entry.notes = "theirs"
    try saveAndMerge()
    #expect(mine.rating == 1 && mine.notes == "theirs" && mine.mood == "stoked")
    #expect(mine.isUpdated && mine.changedValues().keys.sorted() == ["rating"])
    try reader.save()
    let saved = try store.context().entry("Bells")
    #expect(saved.rating == 1 && saved.notes == "theirs")
  }

  @Test("rules 174, 175: a merged deletion leaves a held object deleted, whole and pending until the save")
  func mergedDeletionOfAHeldObject() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    writer.delete(entry)
    try saveAndMerge()
    #expect(mine.isDeleted && !mine.isFault)
    #expect(mine.location == "Bells")
    #expect(mine.managedObjectContext === reader)
    #expect(reader.registeredObject(for: mine.objectID) === mine)
    #expect(reader.deletedObjects == [mine] && reader.hasChanges)
    #expect(try reader.entries().isEmpty)
    try reader.save()
    #expect(!reader.hasChanges && mine.managedObjectContext == nil)
    #expect(mine.location == "Bells")
  }

  @Test(
    "rules 173, 174: deleted elsewhere and written again there, an object is there again, with the edits it had here"
  )
  func mergedDeletionThatIsTakenBack() throws {
    let entry = Entry.make("Bells", in: writer)
    let other = Entry.make("Brenta", in: writer)
    try writer.save()
    writer.undoManager = UndoManager()
    let (mine, edited) = (try reader.entry("Bells"), try reader.entry("Brenta"))
    _ = mine.rating
    edited.rating = 5
    writer.delete(entry)
    writer.delete(other)
    try saveAndMerge()
    #expect(reader.deletedObjects == [mine, edited])
    writer.undo()
    entry.notes = "again"
    other.notes = "again"
    let recorder = NotificationRecorder(reader)
    try saveAndMerge()
    #expect(!mine.isDeleted && !edited.isDeleted && reader.deletedObjects.isEmpty)
    #expect(mine.notes == "again" && !mine.hasChanges)
    #expect(edited.notes == "again" && edited.rating == 5 && reader.updatedObjects == [edited])
    #expect(recorder.all(.didChange).map(\.inserted) == [[mine.objectID, edited.objectID]])
    #expect(try reader.entries() == [mine, edited])
    try reader.save()
    #expect(try store.savedEntries() == ["Bells 3", "Brenta 5"])
  }

  @Test(
    "rules 173, 174: what was deleted here stays deleted when its record is written again elsewhere, and the save deletes that"
  )
  func deletionOfWhatIsWrittenAnew() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    writer.undoManager = UndoManager()
    let mine = try reader.entry("Bells")
    reader.delete(mine)
    writer.delete(entry)
    try saveAndMerge()
    writer.undo()
    try saveAndMerge()
    #expect(mine.isDeleted && reader.deletedObjects == [mine])
    #expect(try reader.entries().isEmpty)
    try reader.save()
    #expect(try store.savedEntries() == [])
  }

  @Test("rule 48: what was looked for too early is there when it is saved", arguments: [false, true])
  func lookedForTooEarly(savedTwice: Bool) throws {
    let entry = Entry.make("Bells", in: writer)
    let mine = try #require(reader.object(with: entry.objectID) as? Entry)
    #expect(mine.location == nil && mine.isDeleted)
    if savedTwice {
      try writer.save()
      entry.rating = 5
    }
    try saveAndMerge()
    #expect(!mine.isDeleted && mine.location == "Bells" && !reader.hasChanges)
    #expect(try reader.entries() == [mine])
  }

  @Test("rules 174, 189: an edited object deleted elsewhere and merged is deleted; saving it is no conflict")
  func mergedDeletionOfAnEditedObject() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    mine.rating = 5
    writer.delete(entry)
    try saveAndMerge()
    #expect(mine.isDeleted && reader.updatedObjects.isEmpty)
    try reader.save()
    #expect(try store.context().entryCount() == 0)
  }

  @Test("rule 179: a merged deletion of what is not in use is reported as IDs only")
  func mergedDeletionOfWhatIsNotInUse() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    writer.delete(entry)
    let recorder = NotificationRecorder(reader)
    try saveAndMerge()
    #expect(recorder.names == [.didMerge])
    #expect(recorder.all.first?.deletedIDs == [entry.objectID])
    #expect(!reader.hasChanges)
  }

  @Test("rule 176: merged inserts are reported, but registered only while they are held")
  func mergedInsertsAreRegisteredWeakly() throws {
    let entry = Entry.make("Bells", in: writer)
    let recorder = NotificationRecorder(reader)
    try saveAndMerge()
    #expect(recorder.all(.didChange).map(\.inserted) == [[entry.objectID]])
    #expect(reader.insertedObjects.isEmpty)
    #expect(reader.registeredObject(for: entry.objectID) == nil)
  }

  @Test("rules 176, 130: an object of the did-change set that is held stays registered")
  func keptMergedInsertStaysRegistered() throws {
    let entry = Entry.make("Bells", in: writer)
    let kept = Log<ManagedObject>()
    let token = NotificationCenter.default.addObserver(forName: .didChange, object: reader, queue: nil) {
      for object in $0.userInfo?["inserted"] as? Set<ManagedObject> ?? [] { kept.add(object) }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try saveAndMerge()
    let mine = try #require(kept.first as? Entry)
    #expect(reader.registeredObject(for: entry.objectID) === mine)
    #expect(!mine.isInserted && !mine.objectID.isTemporaryID)
    #expect(mine.location == "Bells")
    #expect(reader.statistics.faultsFired == 0)
  }

  @Test("rule 177: an update of an object that is a fault or not registered posts no did-change")
  func updatesOfFaultsAreSilent() throws {
    let (unknown, fault) = (Entry.make("unknown", in: writer), Entry.make("fault", in: writer))
    try writer.save()
    let mine = try reader.entry("fault")
    #expect(mine.isFault)
    unknown.rating = 5
    fault.rating = 5
    let recorder = NotificationRecorder(reader)
    try saveAndMerge()
    #expect(recorder.names == [.didMerge])
    #expect(mine.isFault)
    #expect(mine.rating == 5)
    #expect(reader.registeredObject(for: unknown.objectID) == nil)
  }

  @Test("rules 120, 181: did-merge-IDs reports inserts, updates, refreshes and deletions")
  func didMergeTellsOfEverything() throws {
    let entries = ["a", "b", "c"].map { Entry.make($0, in: writer) }
    try writer.save()
    let mine = try reader.entries()
    for entry in mine { _ = entry.rating }
    entries[0].rating = 5
    entries[1].rating = 5
    writer.delete(entries[2])
    let inserted = Entry.make("new", in: writer)
    let recorder = NotificationRecorder(reader)
    try saveAndMerge()
    let event = try #require(recorder.all(.didMerge).only)
    let updated = Set(entries[0...1].map(\.objectID))
    #expect(event.insertedIDs == [inserted.objectID])
    #expect(event.updatedIDs == updated && event.refreshedIDs == updated)
    #expect(event.deletedIDs == [entries[2].objectID])
    #expect(recorder.names.last == .didMerge)
  }

  @Test("rule 180: merging updates and inserts leaves the context clean")
  func mergingLeavesTheContextClean() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    _ = mine.rating
    entry.rating = 5
    Entry.make("new", in: writer)
    try saveAndMerge()
    #expect(!reader.hasChanges && !mine.hasChanges)
  }

  @Test("rule 128: a merged update is reported as refreshed, not as updated; the object is notified, too")
  func mergedUpdateIsRefreshed() throws {
    let diary = Diary(context: writer)
    try writer.save()
    let mine = try #require(try reader.diary())
    _ = mine.title
    diary.title = "changed"
    let recorder = NotificationRecorder(reader)
    try saveAndMerge()
    #expect(recorder.all(.didChange).map(\.refreshed) == [[mine.objectID]])
    #expect(recorder.all(.didChange).map(\.updated) == [[]])
    #expect(mine.snapshotEvents == [.refresh])
    #expect(mine.title == "changed")
  }

  @Test("rule 186: without merging a sibling shows what it read before")
  func withoutMergingNothingChanges() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    #expect(mine.rating == 3)
    entry.rating = 5
    try writer.save()
    #expect(mine.rating == 3)
    #expect(try reader.entry("Bells").rating == 3)
  }

  @Test("rule 172: the did-save-IDs notification merges just as well, with rows read")
  func mergingIDNotifications() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    _ = mine.rating
    entry.rating = 5
    try writer.save()
    let ids: [AnyHashable: Any] = ["updated_objectIDs": Set([entry.objectID])]
    reader.mergeChanges(fromContextDidSave: Notification(name: .didSaveIDs, object: nil, userInfo: ids))
    #expect(mine.rating == 5)
    #expect(!reader.hasChanges)
  }

  @Test(
    "rules 173, 189: a merged update of an object that is deleted here leaves it deleted; saving is no conflict"
  )
  func mergedUpdateOfADeletedObject() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    reader.delete(mine)
    entry.rating = 5
    try saveAndMerge()
    #expect(mine.isDeleted && reader.deletedObjects == [mine])
    try reader.save()
    #expect(try store.context().entryCount() == 0)
  }

  @Test("rules 173, 19: rollback after a merge gives the merged values")
  func rollbackAfterAMerge() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    mine.rating = 1
    entry.rating = 5
    try saveAndMerge()
    #expect(mine.rating == 1)
    reader.rollback()
    #expect(mine.rating == 5 && !reader.hasChanges)
    mine.rating = 4
    try reader.save()
    #expect(try store.savedEntries() == ["Bells 4"])
  }

  @Test(
    "rules 172, 189: a merge brings the base version along: the next save of an edited object is no conflict")
  func mergeBringsTheBaseVersion() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    mine.notes = "mine"
    entry.rating = 5
    try saveAndMerge()
    try reader.save()
    #expect(try store.savedEntries() == ["Bells 5"])
    #expect(try store.context().entry("Bells").notes == "mine")
  }

  @Test("rule 172: a save of another coordinator on the same file merges, with rows read")
  func mergingAcrossCoordinators() throws {
    let second = try store.neighbour(store.url.lastPathComponent)
    try store.save("Bells")
    let mine = try reader.entry("Bells")
    #expect(mine.rating == 3)
    let other = second.context()
    let report = try other.catchingSave {
      try other.entry("Bells").rating = 5
      Entry.make("new", in: other)
    }
    let recorder = NotificationRecorder(reader)
    reader.mergeChanges(fromContextDidSave: report)
    #expect(mine.rating == 5)
    #expect(recorder.all(.didMerge).first?.insertedIDs.count == 1)
    #expect(recorder.all(.didChange).first?.inserted.count == 1)
  }

  @Test("rule 172: a context's own notification changes nothing")
  func mergingOnesOwnSave() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let recorder = NotificationRecorder(writer)
    writer.mergeChanges(
      fromContextDidSave: Notification(
        name: .didSave, object: writer, userInfo: ["deleted": Set<ManagedObject>([entry])]))
    #expect(recorder.names.isEmpty && !entry.isDeleted)
  }

  @Test("rule 172: merging the same save twice changes nothing the second time")
  func mergingTwice() throws {
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let mine = try reader.entry("Bells")
    _ = mine.rating
    let notification = try writer.catchingSave { entry.rating = 5 }
    reader.mergeChanges(fromContextDidSave: notification)
    let recorder = NotificationRecorder(reader)
    reader.mergeChanges(fromContextDidSave: notification)
    #expect(recorder.names == [.didMerge])
    #expect(mine.rating == 5)
  }

  @Test("rules 182, 183: mergeChanges(fromRemoteContextSave:into:) takes IDs and URIs, into several contexts")
  func remoteChanges() throws {
    let entries = ["a", "b", "c"].map { Entry.make($0, in: writer) }
    try writer.save()
    let contexts = [store.context(.privateQueue), store.context(.privateQueue)]
    let held = try contexts.map { context in
      try context.performAndWait {
        let held = try context.entries()
        for entry in held { _ = entry.rating }
        return held
      }
    }
    entries[0].rating = 5
    writer.delete(entries[1])
    let inserted = Entry.make("new", in: writer)
    try writer.save()
    let recorders = contexts.map { NotificationRecorder($0) }
    let changes: [AnyHashable: Any] = [
      "updated": [entries[0].objectID],
      "deleted": [entries[1].objectID.uriRepresentation()],
      "inserted": [inserted.objectID.uriRepresentation()],
    ]
    ManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: contexts)
    for (index, context) in contexts.enumerated() {
      try context.performAndWait { () throws in
        #expect(held[index][0].rating == 5)
        #expect(held[index][1].isDeleted && held[index][1].location == "b")
        #expect(try context.entries().map(\.location) == ["a", "c", "new"])
      }
      let change = try #require(recorders[index].all(.didChange).first)
      #expect(change.inserted == [inserted.objectID])
      #expect(change.deleted == [entries[1].objectID])
      #expect(change.refreshed == [entries[0].objectID])
    }
  }

  @Test("rule 182: nonsense in the dictionary is left out")
  func nonsenseIsLeftOut() throws {
    let foreign = try #require(URL(string: "x-coredata://\(UUID().uuidString)/Entry/p1"))
    let changes: [AnyHashable: Any] = ["updated": [1, "two", foreign] as [Any], "inserted": 7, "waves": [1]]
    ManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [reader])
    #expect(!reader.hasChanges)
  }

  @Test("rule 184: automatic merging shows what siblings save, in commit order")
  func automaticMerging() async throws {
    let (mine, theirs) = (store.context(.privateQueue), store.context(.privateQueue))
    mine.automaticallyMergesChangesFromParent = true
    let id = try await theirs.perform {
      let entry = Entry.make("Bells", rating: 0, in: theirs)
      try theirs.save()
      return entry.objectID
    }
    let held = await mine.perform { Smuggled(mine.object(with: id) as? Entry) }
    #expect(await mine.perform { held.value?.rating } == 0)
    let recorder = NotificationRecorder(mine)
    for rating in 1...20 {
      try await theirs.perform {
        (theirs.object(with: id) as? Entry)?.rating = Int16(rating)
        try theirs.save()
      }
      // Anything enqueued after the save runs behind the merge.
      #expect(await mine.perform { held.value?.rating } == Int16(rating))
    }
    #expect(await mine.perform { mine.hasChanges } == false)
    #expect(recorder.all(.didMerge).count == 20)
  }

  @MainActor
  @Test("rule 184: the view context merges a background import by itself, in a job on the main queue")
  func viewContextMergesAutomatically() async throws {
    let view = store.container.viewContext
    view.automaticallyMergesChangesFromParent = true
    let recorder = NotificationRecorder(view)
    let ids = try await store.container.performBackgroundTask { context in
      let entries = (0..<10).map { Entry.make("spot \($0)", in: context) }
      try context.save()
      return Set(entries.map(\.objectID))
    }
    await nextMainQueueTurn()
    #expect(recorder.all(.didChange).map(\.inserted) == [ids])
    #expect(try view.entryCount() == 10)
  }

  @Test("rule 184: automatic merging keeps local edits and does not merge the context's own saves")
  func automaticMergingKeepsEdits() async throws {
    let (mine, theirs) = (store.context(.privateQueue), store.context(.privateQueue))
    mine.automaticallyMergesChangesFromParent = true
    let id = try await mine.perform {
      let entry = Entry.make("Bells", in: mine)
      try mine.save()
      entry.rating = 1
      return entry.objectID
    }
    let recorder = NotificationRecorder(mine)
    try await theirs.perform {
      (theirs.object(with: id) as? Entry)?.notes = "theirs"
      try theirs.save()
    }
    try await mine.perform {
      let entry = try mine.entry("Bells")
      #expect(entry.rating == 1 && entry.notes == "theirs" && entry.isUpdated)
      try mine.save()
    }
    await mine.perform {}
    #expect(recorder.all(.didMerge).count == 1)
    #expect(try store.savedEntries() == ["Bells 1"])
  }

  @Test("rule 185: contexts merge automatically only while they are set to")
  func automaticMergingIsOffByDefault() async throws {
    let mine = store.container.newBackgroundContext()
    #expect(!mine.automaticallyMergesChangesFromParent)
    #expect(!store.container.viewContext.automaticallyMergesChangesFromParent)
    let recorder = NotificationRecorder(mine)
    mine.automaticallyMergesChangesFromParent = true
    mine.automaticallyMergesChangesFromParent = false
    try store.save("Bells")
    await mine.perform {}
    #expect(recorder.names.isEmpty)
  }

  @Test("rule 184: a context that is gone does not hold up its siblings' saves")
  func goneContextsAreForgotten() throws {
    do {
      let gone = store.context(.privateQueue)
      gone.automaticallyMergesChangesFromParent = true
    }
    Entry.make("Bells", in: writer)
    try writer.save()
    #expect(try reader.entryCount() == 1)
  }
}
