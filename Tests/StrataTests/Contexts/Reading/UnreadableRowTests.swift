import Foundation
import Strata
import Testing

/// A row that cannot be read is not a row that is gone (rule 48, better): faults, refreshing, merging, large values.
struct UnreadableRowTests {
  let faults = ReadFaults()
  let store: TemporaryStore
  let writer: ManagedObjectContext
  let reader: ManagedObjectContext
  let log: FailureLog

  init() throws {
    store = try TemporaryStore(failing: faults)
    writer = store.context()
    reader = store.context()
    log = FailureLog(reader)
  }

  private func makeEntry(_ location: String = "Bells") throws -> ManagedObjectID {
    let entry = Entry.make(location, rating: 3, in: writer)
    try writer.save()
    return entry.objectID
  }

  private func fault(_ id: ManagedObjectID) throws -> Entry {
    try #require(reader.object(with: id) as? Entry)
  }

  // MARK: Faults

  @Test func unreadableFaultStaysAFaultAndIsReadWhenItCanBe() throws {
    let entry = try fault(makeEntry())
    faults.fail(.rows)
    #expect(entry.location == nil)
    #expect(entry.rating == 0)
    #expect(entry.isFault && !entry.isDeleted && !reader.hasChanges)
    #expect(reader.deletedObjects.isEmpty)
    #expect(log.failures.count == 2)
    #expect((log.failures.first?.error as? StorageError)?.kind == .io)
    #expect(log.failures.first?.objectIDs == [entry.objectID])
    faults.mend()
    #expect(entry.location == "Bells" && !entry.isFault)
  }

  @Test func rowThatIsGoneStillMakesTheFaultADeletedOne() throws {
    let entry = try fault(makeEntry())
    writer.delete(try writer.entry("Bells"))
    try writer.save()
    #expect(entry.location == nil && entry.isDeleted)
    #expect(log.failures.isEmpty)
  }

  @Test func strictContextsDoNotStopForWhatCannotBeRead() throws {
    let entry = try fault(makeEntry())
    reader.shouldDeleteInaccessibleFaults = false
    faults.fail(.rows)
    #expect(entry.location == nil && entry.isFault)
  }

  @Test func keyedReadsOfAnUnreadableFaultAreNil() throws {
    let entry = try fault(makeEntry())
    faults.fail(.rows)
    #expect(entry.value(forKey: "location") == nil)
    #expect(entry.committedValues(forKeys: nil).isEmpty)
    #expect(entry.isFault && log.takeCount() == 2)
  }

  @Test func existingObjectThrowsWhatReadingThrows() throws {
    let id = try makeEntry()
    faults.fail(.rows)
    #expect(throws: StorageError.self) { try reader.existingObject(with: id) }
    let held = try fault(id)
    #expect(throws: StorageError.self) { try reader.existingObject(with: id) }
    #expect(held.isFault && !held.isDeleted)
    faults.mend()
    #expect(try reader.existingObject(with: id) === held)
    #expect(log.failures.isEmpty)
  }

  @Test("rule 64: a stale row is shown as long as the newest one cannot be read")
  func staleRowIsShown() throws {
    let id = try makeEntry()
    let entry = try reader.entry("Bells")
    #expect(entry.objectID == id && entry.isFault)
    reader.stalenessInterval = 0
    faults.fail(.rows)
    #expect(entry.location == "Bells" && !entry.isDeleted)
    #expect(log.takeCount() > 0)
  }

  @Test func faultOfARemovedStoreIsNotDeleted() throws {
    let entry = try fault(makeEntry())
    try store.close()
    #expect(entry.location == nil)
    #expect(entry.isFault && !entry.isDeleted && !reader.hasChanges)
    #expect(log.takeCount() == 1)
  }

  @Test func endedGenerationLeavesFaultsAsTheyAre() throws {
    let store = try TemporaryStore()
    let ids = try store.save("Bells")
    store.coordinator.queryGenerationLimit = .milliseconds(1)
    let reader = store.context()
    let log = FailureLog(reader)
    try reader.setQueryGenerationFrom(.current)
    // On a busy machine the generation has ended by now.
    _ = try? reader.entryCount()
    let entry = try #require(reader.object(with: ids[0]) as? Entry)
    while reader.queryGenerationToken?.isAlive == true { usleep(1_000) }
    #expect(entry.location == nil)
    #expect(entry.isFault && !entry.isDeleted)
    #expect(log.takeCount() == 1)
    try reader.setQueryGenerationFrom(nil)
    #expect(entry.location == "Bells")
  }

  @Test func handlerMayUseTheContext() throws {
    let entry = try fault(makeEntry())
    var seen: [String?] = []
    reader.readFailureHandler = { failure in
      // Fails again, and is reported on standard error.
      seen.append(entry.location)
      #expect(failure.objectIDs == [entry.objectID])
    }
    faults.fail(.rows)
    #expect(entry.rating == 0)
    #expect(seen == [nil])
  }

  // MARK: Refreshing

  @Test func refreshLeavesAnObjectThatCannotBeReadAsItIs() throws {
    _ = try makeEntry()
    let entry = try reader.entry("Bells")
    #expect(entry.rating == 3)
    entry.rating = 5
    faults.fail(.rows)
    reader.refresh(entry, mergeChanges: true)
    #expect(entry.rating == 5 && entry.location == "Bells" && !entry.isDeleted)
    #expect(log.takeCount() == 1)
    reader.refresh(entry, mergeChanges: false)
    #expect(entry.isFault && entry.location == nil && !entry.isDeleted)
    faults.mend()
    #expect(entry.rating == 3)
  }

  // MARK: Large values

  @Test func largeValueThatCannotBeReadFailsNoSaveAndIsNotLost() throws {
    let photo = Data(repeating: 7, count: 100_000)
    let made = Entry.make("Bells", rating: 3, in: writer)
    made.photo = photo
    try writer.save()
    let entry = try reader.entry("Bells")
    faults.fail(.values)
    #expect(entry.photo == nil)
    #expect(log.takeCount() == 1)
    entry.rating = 4
    try reader.save()
    faults.mend()
    #expect(entry.photo == photo)
    #expect(try store.fresh { try $0.entry("Bells").photo } == photo)
  }

  @Test func policyThatNeedsALargeValueFailsTheSave() throws {
    let photo = Data(repeating: 7, count: 100_000)
    let made = Entry.make("Bells", rating: 3, in: writer)
    made.photo = photo
    try writer.save()
    let entry = try reader.entry("Bells")
    entry.rating = 4
    made.rating = 5
    try writer.save()
    reader.mergePolicy = MergePolicy.overwrite
    faults.fail(.values)
    #expect(throws: StorageError.self) { try reader.save() }
    #expect(try store.savedEntries() == ["Bells 5"])
    faults.mend()
    try reader.save()
    #expect(try store.savedEntries() == ["Bells 4"])
    #expect(try store.fresh { try $0.entry("Bells").photo } == photo)
  }

  // MARK: Merging

  @Test(arguments: [ManagedObjectContext.NotificationKey.updatedObjectIDs, .insertedObjectIDs])
  func mergeOfWhatCannotBeReadChangesNothing(key: ManagedObjectContext.NotificationKey) throws {
    let id = try makeEntry()
    let entry = try reader.entry("Bells")
    #expect(entry.rating == 3)
    faults.fail(.rows)
    let changes = [key.rawValue: [id]]
    ManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [reader])
    #expect(entry.rating == 3 && !entry.isDeleted && !reader.hasChanges)
    #expect(log.takeCount() == 1)
  }

  @Test func faultTakesTheNewRowWhenItCanBeRead() throws {
    let id = try makeEntry()
    let entry = try reader.entry("Bells")
    #expect(entry.isFault)
    try writer.entry("Bells").rating = 9
    try writer.save()
    faults.fail(.rows)
    ManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue: [id]],
      into: [reader])
    faults.mend()
    #expect(entry.rating == 9)
  }

  @Test func batchesThatCannotBeReadMarkNothingDeleted() async throws {
    let ids = try store.save("Bells", "Winki")
    let faults = faults
    let reader = store.context(.privateQueue)
    reader.automaticallyMergesChangesFromParent = true
    let batcher = store.context(.privateQueue)
    let held = try reader.performAndWait {
      let entries = try reader.entries()
      #expect(entries.map(\.rating) == [3, 3])
      reader.retainsRegisteredObjects = true
      return entries.map(\.objectID)
    }
    #expect(Set(held) == Set(ids))
    let count = Log<Int>()
    await reader.perform { reader.readFailureHandler = { count.add($0.objectIDs.count) } }
    try batcher.performAndWait {
      faults.fail(.rows)
      _ = try batcher.execute(BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 8]))
      _ = try batcher.execute(
        BatchDeleteRequest(
          fetchRequest: FetchRequest<ManagedObject>(
            entityName: "Entry", predicate: Attribute("location") == "Winki")))
    }
    await reader.perform {
      faults.mend()
      let entries = held.compactMap { reader.registeredObject(for: $0) as? Entry }
      #expect(entries.map(\.rating) == [3, 3])
      #expect(entries.allSatisfy { !$0.isDeleted })
      #expect(count.list.reduce(0, +) >= 3)
      // What cannot be compared now is compared at the next read.
      for entry in entries { reader.refresh(entry, mergeChanges: false) }
      #expect(entries.map(\.rating).max() == 8)
    }
    #expect(try store.savedEntries().count == 1)
  }

  // MARK: Fetching

  @Test func fetchThatRealisesItsObjectsThrows() throws {
    _ = try makeEntry()
    var request = FetchRequest<Entry>(entityName: "Entry")
    request.includesPropertyValues = false
    request.returnsObjectsAsFaults = false
    faults.fail(.rows)
    #expect(throws: StorageError.self) { try reader.fetch(request) }
    #expect(!reader.hasChanges)
    faults.mend()
    #expect(try reader.fetch(request).map(\.location) == ["Bells"])
    #expect(log.failures.isEmpty)
  }

  @Test func pageThatCannotBeReadIsToldOfAndReadLater() throws {
    try store.save("Bells", "Winki")
    var request = FetchRequest<Entry>(entityName: "Entry", sortDescriptors: [FetchSort("location")])
    request.fetchBatchSize = 1
    let batches = try reader.fetchInBatches(request)
    faults.fail(.rows)
    let first = batches[0]
    #expect(log.takeCount() == 1)
    #expect(first.isFault && !first.isDeleted)
    faults.mend()
    #expect(first.location == "Bells")
  }

  @Test func fetchOverAnUnreadableEditThrows() throws {
    let entry = try fault(makeEntry())
    faults.fail(.rows)
    entry.rating = 5
    #expect(throws: StorageError.self) { try reader.entries(Attribute("location") == "Bells") }
    faults.mend()
    #expect(try reader.entries(Attribute("location") == "Bells").map(\.rating) == [5])
  }

  // MARK: Editing and saving

  @Test func editOfAnUnreadableFaultIsSavedWhenItsRowCanBeRead() throws {
    let entry = try fault(makeEntry())
    faults.fail(.rows)
    entry.rating = 5
    #expect(reader.hasChanges && entry.rating == 5)
    #expect(throws: StorageError.self) { try reader.save() }
    #expect(reader.hasChanges && entry.rating == 5 && !entry.isDeleted)
    faults.mend()
    try reader.save()
    #expect(entry.location == "Bells" && entry.rating == 5)
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test func refreshDropsAnEditOfAnUnreadableFault() throws {
    let entry = try fault(makeEntry())
    faults.fail(.rows)
    entry.rating = 5
    reader.refresh(entry, mergeChanges: false)
    #expect(!reader.hasChanges && entry.isFault)
    faults.mend()
    #expect(entry.rating == 3)
    try reader.save()
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test func rollbackDropsAnEditOfAnUnreadableFault() throws {
    let entry = try fault(makeEntry())
    faults.fail(.rows)
    entry.rating = 5
    reader.rollback()
    faults.mend()
    #expect(entry.rating == 3 && !reader.hasChanges)
    try reader.save()
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test func deletionOfAnUnreadableFaultIsCarriedOutLater() throws {
    let entry = try fault(makeEntry())
    faults.fail(.rows)
    reader.delete(entry)
    #expect(throws: StorageError.self) { try reader.save() }
    #expect(try store.savedEntries() == ["Bells 3"])
    #expect(entry.isDeleted && reader.deletedObjects == [entry])
    faults.mend()
    try reader.save()
    #expect(try store.savedEntries().isEmpty)
  }

  @Test func hookThatReadsWhatCannotBeReadFailsTheSave() throws {
    let diary = Diary(context: writer)
    diary.title = "Winter"
    try writer.save()
    let id = try makeEntry()
    let other = try fault(id)
    let mine = try #require(try reader.diary())
    mine.pages = 1
    mine.onWillSave = { if $0.remark == nil { $0.remark = other.location ?? "unknown" } }
    faults.fail(.rows, of: [id])
    #expect(throws: StorageError.self) { try reader.save() }
    #expect(try store.context().diary()?.remark == nil)
    faults.mend()
    mine.remark = nil
    try reader.save()
    #expect(try store.context().diary()?.remark == "Bells")
  }

  @Test func conflictThatCannotBeReadFailsTheSave() throws {
    let id = try makeEntry()
    let entry = try #require(try reader.existingObject(with: id) as? Entry)
    let conflict = MergeConflict(
      source: entry, newVersion: 2, oldVersion: 1, cachedSnapshot: nil, persistedSnapshot: nil)
    faults.fail(.rows)
    #expect(throws: StorageError.self) {
      try MergePolicy.rollback.resolve(mergeConflicts: [conflict])
    }
    #expect(!entry.isDeleted && entry.managedObjectContext === reader)
  }

  @Test func asynchronousSaveFailsAndKeepsTheEdit() async throws {
    let ids = try store.save("Bells")
    let context = store.context(.privateQueue)
    let faults = faults
    await context.perform {
      context.readFailureHandler = { _ in }
      guard let entry = context.object(with: ids[0]) as? Entry else { return }
      faults.fail(.rows)
      entry.rating = 5
    }
    await #expect(throws: StorageError.self) { try await context.saveAsynchronously() }
    #expect(await context.perform { context.hasChanges })
    faults.mend()
    try await context.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  // MARK: Children

  @Test func childKeepsWhatItCannotReadThroughItsParent() throws {
    let id = try makeEntry()
    let child = ManagedObjectContext(.confinement, parent: reader)
    let log = FailureLog(child)
    let entry = try #require(child.object(with: id) as? Entry)
    faults.fail(.rows)
    #expect(entry.location == nil && entry.isFault && !entry.isDeleted)
    entry.rating = 6
    #expect(throws: StorageError.self) { try child.save() }
    #expect(log.takeCount() >= 1)
    faults.mend()
    try child.save()
    try reader.save()
    #expect(try store.savedEntries() == ["Bells 6"])
  }

  @Test func unreadableEditIsPublishedToChildrenWhenItCanBeRead() throws {
    let id = try makeEntry()
    let child = ManagedObjectContext(.confinement, parent: reader)
    let entry = try fault(id)
    faults.fail(.rows)
    entry.rating = 6
    reader.processPendingChanges()
    faults.mend()
    reader.processPendingChanges()
    #expect(try child.entry("Bells").rating == 6)
  }
}
