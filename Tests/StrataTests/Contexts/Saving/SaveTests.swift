import Foundation
import Strata
import Synchronization
import Testing

/// Saving: its order, its hooks, what it leaves behind (section F; contexts 13, 16).
struct SaveTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  @Test("rule 135: willSave, will-save, validation, write, didSave, did-save: in this order")
  func orderOfASave() throws {
    let diary = Diary(context: context)
    context.processPendingChanges()
    let log = Log<String>()
    let tokens = [
      (Notification.Name.willSave, "will-save"), (.didSave, "did-save"), (.didSaveIDs, "did-save-IDs"),
    ]
    .map { name, word in
      NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { _ in log.add(word)
      }
    }
    defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
    let probe = store.context()
    diary.onWillSave = { _ in log.add("willSave") }
    diary.onValidate = { _ in
      log.add("validate")
      let stored = try probe.diary()
      #expect(stored == nil)
    }
    diary.onDidSave = { _ in
      log.add("didSave")
      #expect(throws: Never.self) { try #require(try probe.diary()) }
    }
    try context.save()
    #expect(
      log.list == ["willSave", "will-save", "validate", "didSave", "did-save", "did-save-IDs"])
  }

  @Test("rule 137: willSave comes to deleted objects, too; isDeleted is true there")
  func willSaveOfDeletedObjects() throws {
    let diary = Diary(context: context)
    try context.save()
    _ = diary.takeCalls()
    context.delete(diary)
    try context.save()
    #expect(diary.wasDeletedAtWillSave)
    #expect(diary.takeCalls() == ["prepareForDeletion", "willSave", "validateForDelete", "didSave"])
  }

  @Test("rule 138: a change in willSave calls it again, until nothing changes")
  func willSaveRepeats() throws {
    let diary = Diary(context: context)
    diary.onWillSave = { if $0.pages < 3 { $0.pages += 1 } }
    try context.save()
    #expect(diary.count(of: "willSave") == 4)
    #expect(diary.pages == 3)
    #expect(try store.context().diary()?.pages == 3)
  }

  @Test(
    "rule 138: an unconditional change fails with an error that names the entity, and changes stay pending")
  func runawayWillSave() throws {
    let diary = Diary(context: context)
    diary.onWillSave = { $0.pages += 1 }
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.description.contains("Diary") == true)
    #expect(error?.description.contains("willSave") == true)
    #expect(context.insertedObjects == [diary])
    diary.onWillSave = { _ in }
    try context.save()
    #expect(try store.context().diary() != nil)
  }

  @Test("rule 138: primitive writes in willSave do not call it again and are saved")
  func primitiveWritesInWillSave() throws {
    let diary = Diary(context: context)
    diary.onWillSave = { $0.setPrimitiveValue("stamped", forKey: "remark") }
    try context.save()
    #expect(diary.count(of: "willSave") == 1)
    #expect(try store.context().diary()?.remark == "stamped")
    #expect(diary.remark == "stamped")
  }

  @Test("rule 139: values set in willSave are saved by the same save, of updated objects as well")
  func willSaveValuesAreSaved() throws {
    let diary = Diary(context: context)
    try context.save()
    diary.pages = 1
    diary.onWillSave = { if $0.remark == nil { $0.remark = "stamped" } }
    try context.save()
    #expect(!context.hasChanges)
    let read = try store.context().diary()
    #expect(read?.remark == "stamped" && read?.pages == 1)
  }

  @Test("rule 139: objects inserted and deleted in willSave take part in the same save")
  func willSaveInsertsAndDeletes() throws {
    let doomed = Entry.make("doomed", in: context)
    let diary = Diary(context: context)
    try context.save()
    diary.pages = 1
    let context = context
    diary.onWillSave = { _ in
      guard !doomed.isDeleted else { return }
      context.delete(doomed)
      Entry.make("made in willSave", in: context)
    }
    try context.save()
    #expect(!context.hasChanges)
    #expect(try store.context().entries().map(\.location) == ["made in willSave"])
  }

  @Test("rule 140: a change in didSave dirties the context again")
  func changeInDidSave() throws {
    let diary = Diary(context: context)
    diary.onDidSave = { if $0.pages == 0 { $0.pages = 1 } }
    try context.save()
    #expect(context.hasChanges && diary.isUpdated)
    #expect(try store.context().diary()?.pages == 0)
    try context.save()
    #expect(!context.hasChanges)
    #expect(try store.context().diary()?.pages == 1)
  }

  @Test("rule 141: one willSave, one validation and one didSave for a plain insert and for a plain update")
  func hookCounts() throws {
    let diary = Diary(context: context)
    try context.save()
    #expect(diary.takeCalls() == ["awakeFromInsert", "willSave", "validateForInsert", "didSave"])
    diary.pages = 1
    try context.save()
    #expect(diary.takeCalls() == ["willSave", "validateForUpdate", "didSave"])
    try context.save()
    #expect(diary.takeCalls().isEmpty)
  }

  @Test(
    "rule 142: after a save nothing is pending, committed values are the saved ones, nothing is refaulted")
  func afterASave() throws {
    let entry = Entry.make("Bells", in: context)
    entry.notes = "big"
    try context.save()
    entry.notes = "bigger"
    entry.rating = 5
    try context.save()
    #expect(!entry.isInserted && !entry.isUpdated && !entry.isDeleted && !entry.isFault)
    #expect(!context.hasChanges)
    #expect(entry.changedValues().isEmpty && entry.changedValuesForCurrentEvent().isEmpty)
    #expect(entry.committedValues(forKeys: nil)["notes"] as? String == "bigger")
    #expect(entry.notes == "bigger" && entry.rating == 5 && entry.location == "Bells")
    #expect(context.statistics.faultsFired == 0)
    #expect(
      context.insertedObjects.isEmpty && context.updatedObjects.isEmpty && context.deletedObjects.isEmpty)
  }

  @Test("rule 136: a save that fails validation writes nothing and keeps all changes; corrected, it succeeds")
  func failedSaveKeepsChanges() throws {
    let (kept, gone) = (Entry.make("kept", in: context), Entry.make("gone", in: context))
    try context.save()
    kept.rating = 5
    context.delete(gone)
    let bad = Entry.make(nil, in: context)
    #expect(throws: CoreDataError.self) { try context.save() }
    #expect(context.insertedObjects == [bad] && context.updatedObjects == [kept])
    #expect(context.deletedObjects == [gone])
    #expect(try store.context().entries().map(\.rating) == [3, 3])
    bad.location = "good"
    try context.save()
    #expect(!context.hasChanges)
    #expect(try store.context().entries().map(\.location) == ["good", "kept"])
  }

  @Test(
    "rule 148: store metadata set through the coordinator is written by the next save, changes or not"
  )
  func metadataIsWrittenByTheNextSave() throws {
    let coordinator = store.coordinator
    try coordinator.setMetadata(["author": "Ann", "edition": 3], for: store.store)
    #expect(coordinator.metadata(for: store.store)["author"] as? String == "Ann")
    let unsaved = try store.reopened()
    #expect(unsaved.coordinator.metadata(for: unsaved.store)["author"] == nil)
    try unsaved.coordinator.setMetadata(["author": "Ann", "edition": 3], for: unsaved.store)
    try unsaved.context().save()
    let saved = try unsaved.reopened()
    let metadata = saved.coordinator.metadata(for: saved.store)
    #expect(metadata["author"] as? String == "Ann")
    #expect(metadata["edition"] as? Int64 == 3)
    #expect(metadata["NSStoreUUID"] as? String == saved.identifier.uuidString)
  }

  @Test("rule 148: metadata that is no property list is refused")
  func badMetadataIsRefused() throws {
    let values: [Any] = [
      NSObject(), Double.nan, Float.infinity, [-Double.infinity], ["deep": Double.nan],
      Date(timeIntervalSinceReferenceDate: .nan), UInt64.max,
    ]
    for value in values {
      let error = #expect(throws: CoreDataError.self) {
        try store.coordinator.setMetadata(["value": value], for: store.store)
      }
      #expect(error?.code == .persistentStoreOperation)
    }
    try store.context().save()
  }

  @Test("contexts 13: saves of many contexts at once all arrive, each alone in success and failure")
  func concurrentSaves() async throws {
    let store = store
    let failures = await withTaskGroup(of: Int.self) { group in
      for task in 0..<12 {
        group.addTask {
          let context = store.context(.privateQueue)
          return await context.perform {
            var failures = 0
            for round in 0..<10 {
              // Every third save has an entry without a location and must fail without harming the others.
              let entry = Entry.make(round % 3 == 2 ? nil : "\(task)/\(round)", in: context)
              do { try context.save() } catch {
                failures += 1
                context.delete(entry)
              }
            }
            return failures
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(failures == 12 * 3)
    #expect(try store.savedEntries().count == 12 * 7)
  }

  @Test(
    "contexts 13: of concurrent saves to one row one wins, the others see a conflict, nothing is lost"
  )
  func concurrentSavesToOneRow() async throws {
    let id = try store.save("Bells", rating: 0)[0]
    let store = store
    let increments = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<6 {
        group.addTask {
          let context = store.context(.privateQueue)
          return await context.perform {
            guard let entry = context.object(with: id) as? Entry else { return 0 }
            var done = 0
            while done < 20 {
              entry.rating += 1
              do {
                try context.save()
                done += 1
              } catch { context.refresh(entry, mergeChanges: false) }
            }
            return done
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(increments == 120)
    #expect(try store.savedEntries() == ["Bells 120"])
  }

  @Test(
    "contexts 16: an observer of did-change may save the context, also when a save is what makes it known")
  func observersOfDidChangeMaySave() throws {
    let store = try TemporaryStore()
    let context = store.context()
    let observed = Smuggled(context)
    let failures = Log<any Error>()
    let token = NotificationCenter.default.addObserver(forName: .didChange, object: context, queue: nil) {
      _ in
      do { try observed.value.save() } catch { failures.add(error) }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    Entry.make("first", in: context)
    context.processPendingChanges()
    #expect(!context.hasChanges)
    Entry.make("second", in: context)
    try context.save()
    for number in 0..<5_000 { Entry.make("\(number)", in: context) }
    try context.save()
    #expect(!context.hasChanges)
    #expect(failures.list.isEmpty)
    #expect(try store.context().count(for: FetchRequest<Entry>(entityName: "Entry")) == 5_002)
  }

  @Test("contexts 16: an observer of did-save may save the same context again")
  func savingInDidSave() throws {
    let context = context
    let token = NotificationCenter.default.addObserver(forName: .didSave, object: context, queue: nil) { _ in
      guard (try? context.entryCount()) == 1 else { return }
      Entry.make("second", in: context)
      #expect(throws: Never.self) { try context.save() }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    Entry.make("first", in: context)
    try context.save()
    #expect(try store.context().entries().map(\.location) == ["first", "second"])
  }

  @Test(
    "contexts 16: hooks and observers run outside the store's transaction: other contexts may save in them")
  func otherContextsSaveInHooks() throws {
    let other = store.context(.privateQueue)
    let diary = Diary(context: context)
    func save(_ name: String) {
      other.performAndWait {
        Entry.make(name, in: other)
        #expect(throws: Never.self) { try other.save() }
      }
    }
    diary.onWillSave = { _ in save("willSave") }
    diary.onValidate = { _ in save("validate") }
    diary.onDidSave = { _ in save("didSave") }
    try context.save()
    #expect(try store.context().entries().map(\.location) == ["didSave", "validate", "willSave"])
  }

  @Test("contexts 16: hooks may fetch, insert and delete")
  func hooksMayUseTheContext() throws {
    let context = context
    func use(_ name: String) {
      #expect(throws: Never.self) { try context.entries() }
      let entry = Entry.make(name, in: context)
      let spare = Entry.make("spare", in: context)
      #expect(entry.location == name)
      context.delete(spare)
    }
    let diary = Diary(context: context)
    var rounds = 0
    diary.onWillSave = { _ in
      rounds += 1
      if rounds == 1 { use("willSave") }
    }
    diary.onValidate = { _ in #expect(throws: Never.self) { try context.entries() } }
    diary.onDidSave = { _ in use("didSave") }
    try context.save()
    #expect(context.insertedObjects.count == 1)
    diary.onDidSave = { _ in }
    try context.save()
    context.refresh(diary, mergeChanges: false)
    diary.onAwakeFromFetch = { _ in use("awakeFromFetch") }
    #expect(diary.title == "untitled")
    diary.onPrepareForDeletion = { _ in use("prepareForDeletion") }
    context.delete(diary)
    try context.save()
    #expect(
      try store.savedEntries() == ["awakeFromFetch 3", "didSave 3", "prepareForDeletion 3", "willSave 3"])
  }

  @Test("rule 138: saving inside a save throws 132001 and says where; the save itself continues")
  func savingInsideASave() throws {
    let container = try makeDoomedContainer()
    let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
    let diary = Diary(context: context)
    var thrown: CoreDataError?
    diary.onWillSave = { _ in
      do { try context.save() } catch { thrown = error as? CoreDataError }
    }
    try context.save()
    #expect(thrown?.code == .recursiveSave && thrown?.localizedDescription.contains("willSave") == true)
    #expect(!context.hasChanges && !diary.objectID.isTemporaryID)
  }

  @Test("an object of another class than its entity's traps and says which class it must be of")
  func wrongClassTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      let entities = container.managedObjectModel.entities
      guard let entity = entities.first(where: { $0.managedObjectClass == Diary.self }) else { return }
      // A diary has stored properties, for which a plain object has no room.
      _ = ManagedObject(entity: entity, insertInto: context)
    }
    expectTrap(result, says: "was made for entity", "Diary(context:)")
  }

  @Test(
    "an object made by its entity's name is of the entity's class")
  func classOfTheEntity() throws {
    let made = try EntityDescription.insertNewObject(forEntityName: "Entry", into: context)
    made["location"] = "Bells"
    #expect(made is Entry && made.isInserted && made.managedObjectContext === context)
    #expect(throws: FetchError.self) {
      _ = try EntityDescription.insertNewObject(forEntityName: "Nobody", into: context)
    }
    try context.save()
    #expect(try context.fetch(FetchRequest<Entry>(entityName: "Entry")).count == 1)
  }

  @Test("rule 298: a model is frozen as soon as a coordinator has it")
  func modelIsFrozen() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      container.managedObjectModel.entitiesByName["Entry"]?.isAbstract = true
    }
    expectTrap(result, says: "Entry.isAbstract", "model")
  }
}
