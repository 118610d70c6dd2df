import Foundation
import Strata
import Testing

/// Faults, uniquing, refreshing (section C).
struct FaultingTests {
  let store: TemporaryStore
  /// Makes and changes what the others read.
  let writer: ManagedObjectContext
  let reader: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    writer = store.context()
    reader = store.context()
  }

  /// A saved entry at “Bells”, as the writer sees it.
  private func makeEntry() throws -> Entry {
    let entry = Entry.make("Bells", rating: 3, in: writer)
    try writer.save()
    return entry
  }

  /// A saved diary, as the writer sees it.
  private func makeDiary() throws -> Diary {
    let diary = Diary(context: writer)
    diary.title = "Winter"
    try writer.save()
    return diary
  }

  // MARK: Uniquing

  @Test("rule 40: one object per record and context, however it is come by")
  func oneObjectPerRecord() throws {
    let id = try makeEntry().objectID
    let entry = try reader.entry("Bells")
    #expect(try reader.entry("Bells") === entry)
    #expect(reader.object(with: id) === entry)
    #expect(try reader.existingObject(with: id) === entry)
    #expect(reader.registeredObject(for: id) === entry)
    #expect(
      try reader.fetch(FetchRequest<Entry>(entityName: "Entry", predicate: .selfIn([id]))).first === entry)
  }

  @Test("rule 40: a fetch through the superentity gives the same objects")
  func superentityFetchGivesTheSameObjects() throws {
    _ = Beach("Bells", in: writer)
    try writer.save()
    let spot = try #require(try reader.fetch(FetchRequest<Spot>(entityName: "Spot")).first)
    #expect(try reader.fetch(FetchRequest<Beach>(entityName: "Beach")).first === spot)
  }

  // MARK: Firing

  @Test("rule 41: reading a persistent attribute fires the fault, by accessor or by key")
  func readingFires() throws {
    _ = try makeEntry()
    let entry = try reader.entry("Bells")
    #expect(entry.isFault)
    #expect(entry.rating == 3)
    #expect(!entry.isFault)
    reader.refresh(entry, mergeChanges: false)
    #expect(entry.isFault)
    #expect(entry.value(forKey: "rating") as? Int64 == 3)
    #expect(!entry.isFault)
    reader.refresh(entry, mergeChanges: false)
    #expect(entry["rating"] as? Int64 == 3)
    #expect(!entry.isFault)
  }

  @Test("rule 41: willAccessValue(forKey: nil) fires explicitly, writing fires too")
  func explicitFiring() throws {
    _ = try makeEntry()
    let entry = try reader.entry("Bells")
    entry.willAccessValue(forKey: nil)
    #expect(!entry.isFault)
    reader.refresh(entry, mergeChanges: false)
    entry.rating = 5
    #expect(!entry.isFault && entry.location == "Bells")
  }

  @Test("rules 39, 42: identity, description and state never fire")
  func stateNeverFires() throws {
    let id = try makeDiary().objectID
    let diary = try #require(reader.object(with: id) as? Diary)
    _ = diary.isEqual(diary)
    _ = diary.hash
    _ = diary.description
    _ = diary.managedObjectContext
    _ = diary.entity
    _ = diary.objectID
    _ = (diary.isInserted, diary.isUpdated, diary.isDeleted, diary.hasChanges)
    _ = (diary.faultingState, diary.isFault)
    _ = diary.changedValues()
    #expect(diary.isFault)
    #expect(diary.calls.isEmpty)
    #expect(reader.statistics.faultsFired == 0)
    #expect(diary.description.contains("fault"))
    #expect(diary.description.contains("Diary"))
  }

  @Test("rule 43: a fetched fault may have its row in memory: firing it reads nothing (rule 51)")
  func fetchedFaultHasItsRow() throws {
    _ = try makeEntry()
    let entry = try reader.entry("Bells")
    #expect(entry.isFault)
    #expect(entry.location == "Bells")
    #expect(reader.statistics.faultsFired == 0)
  }

  @Test("rule 52: with includesPropertyValues off the row is read when the fault fires")
  func withoutPropertyValuesTheRowIsReadLater() throws {
    _ = try makeEntry()
    var request = FetchRequest<Entry>(entityName: "Entry")
    request.includesPropertyValues = false
    let entry = try #require(try reader.fetch(request).first)
    #expect(entry.isFault)
    #expect(reader.statistics.faultsFired == 0)
    #expect(entry.location == "Bells")
    #expect(reader.statistics.faultsFired == 1)
  }

  @Test("rule 53: returnsObjectsAsFaults off gives realised objects, also new and edited ones")
  func realisedObjects() throws {
    _ = try makeDiary()
    var request = FetchRequest<Diary>(entityName: "Diary")
    #expect(try reader.fetch(request).first?.isFault == true)
    request.returnsObjectsAsFaults = false
    let diaries = try reader.fetch(request)
    #expect(diaries.first?.isFault == false)
    #expect(diaries.first?.calls == ["awakeFromFetch"])
    _ = Diary(context: reader)
    #expect(try reader.fetch(request).allSatisfy { !$0.isFault })
  }

  @Test("rule 54: awakeFromFetch comes each time a fault is fulfilled, not when a fault is fetched")
  func awakeFromFetchComesWithEachFulfilment() throws {
    _ = try makeDiary()
    let diary = try #require(try reader.diary())
    #expect(diary.calls.isEmpty)
    _ = diary.title
    _ = diary.pages
    #expect(diary.takeCalls() == ["awakeFromFetch"])
    reader.refresh(diary, mergeChanges: false)
    #expect(diary.takeCalls() == ["willTurnIntoFault", "didTurnIntoFault"])
    _ = diary.title
    #expect(diary.takeCalls() == ["awakeFromFetch"])
  }

  @Test("rule 55: changes made in awakeFromFetch show but do not dirty object or context")
  func changesInAwakeFromFetchAreNotTracked() throws {
    _ = try makeDiary()
    let diary = try #require(try reader.diary())
    diary.onAwakeFromFetch = { diary in
      diary.remark = "seen"
      diary.tide = "high"
    }
    #expect(diary.title == "Winter")
    #expect(diary.remark == "seen" && diary.tide == "high")
    #expect(!diary.hasChanges && !reader.hasChanges && !diary.hasPersistentChangedValues)
    #expect(diary.changedValues().isEmpty)
    try reader.save()
    #expect(try store.context().diary()?.remark == nil)
    diary.remark = "mine"
    #expect(diary.changedValues()["remark"] as? String == "mine")
    try reader.save()
    #expect(try store.context().diary()?.remark == "mine")
  }

  @Test("rule 78: faultingState is zero once realised, not zero as a fault and while waking up")
  func faultingState() throws {
    _ = try makeDiary()
    let diary = try #require(try reader.diary())
    #expect(diary.faultingState != 0)
    var stateInHook = 0
    diary.onAwakeFromFetch = { stateInHook = $0.faultingState }
    _ = diary.title
    #expect(stateInHook != 0)
    #expect(diary.faultingState == 0)
  }

  // MARK: By ID

  @Test("rule 44: registeredObject never reads and knows only what is here")
  func registeredObjectNeverReads() throws {
    let id = try makeEntry().objectID
    #expect(reader.registeredObject(for: id) == nil)
    #expect(reader.statistics.fetches == 0 && reader.statistics.faultsFired == 0)
  }

  @Test("rule 45: object(with:) never reads, gives a fault, also for records that do not exist")
  func objectWithIDNeverReads() throws {
    let entry = try makeEntry()
    let fault = reader.object(with: entry.objectID)
    #expect(fault.isFault && fault is Entry)
    #expect(reader.statistics.fetches == 0 && reader.statistics.faultsFired == 0)
    writer.delete(entry)
    try writer.save()
    let dangling = store.context().object(with: entry.objectID)
    #expect(dangling.isFault)
  }

  @Test("rule 46: existingObject is never a fault")
  func existingObjectIsNeverAFault() throws {
    let id = try makeEntry().objectID
    let entry = try reader.existingObject(with: id)
    #expect(!entry.isFault)
    reader.refresh(entry, mergeChanges: false)
    #expect(entry.isFault)
    #expect(try reader.existingObject(with: id) === entry)
    #expect(!entry.isFault)
    let fault = store.context().object(with: id)
    #expect(try fault.managedObjectContext?.existingObject(with: id).isFault != true)
  }

  @Test("rule 47: a missing record is error 133000")
  func missingRecordIsAnError() throws {
    let entry = try makeEntry()
    let id = entry.objectID
    writer.delete(entry)
    try writer.save()
    for context in [writer, reader] {
      let error = #expect(throws: CoreDataError.self) { try context.existingObject(with: id) }
      #expect(error?.code == .managedObjectReferentialIntegrity)
      #expect(error.map { ($0 as NSError).code } == 133_000)
    }
  }

  @Test("rule 34: an object is of its own entity's class, also when its ID was made from a parent's")
  func objectsAreOfTheirOwnClass() throws {
    let cove = HiddenBeach("Cove", in: writer)
    try writer.save()
    let text = cove.objectID.uriRepresentation().absoluteString.replacing("/HiddenBeach/", with: "/Beach/")
    let id = try #require(
      URL(string: text).flatMap { store.coordinator.managedObjectID(forURIRepresentation: $0) })
    #expect(try reader.existingObject(with: id) is HiddenBeach)
    // Made without a look at the store, the object is what the ID says, and has no row. The record's own
    // object is another one.
    let other = store.context()
    let mistaken = other.object(with: id)
    #expect(mistaken.value(forKey: "name") == nil)
    let found = try other.fetch(FetchRequest<Beach>(entityName: "Beach"))
    #expect((found.only as? HiddenBeach)?.name == "Cove")
    let unread = store.context()
    let fault = unread.object(with: id)
    #expect(try unread.fetch(FetchRequest<HiddenBeach>(entityName: "HiddenBeach")).map(\.name) == ["Cove"])
    #expect(try unread.existingObject(with: id) is HiddenBeach)
    #expect(fault.managedObjectContext == nil)
  }

  // MARK: Refreshing

  @Test("rule 59: refresh without merging drops edits and transient values, then reads the newest row")
  func refreshDropsEdits() throws {
    let entry = try makeEntry()
    let mine = try reader.entry("Bells")
    mine.rating = 1
    mine.mood = "stoked"
    entry.rating = 5
    try writer.save()
    reader.refresh(mine, mergeChanges: false)
    #expect(mine.isFault && !mine.hasChanges && !reader.hasChanges)
    #expect(mine.changedValues().isEmpty)
    #expect(mine.rating == 5)
    #expect(mine.mood == nil)
    try reader.save()
    #expect(try store.context().entry("Bells").rating == 5)
  }

  @Test("rule 59: refresh without merging takes back a deletion that was not saved")
  func refreshTakesBackADeletion() throws {
    let entry = try makeEntry()
    let recorder = NotificationRecorder(writer)
    writer.delete(entry)
    writer.refresh(entry, mergeChanges: false)
    #expect(!entry.isDeleted && !writer.hasChanges)
    writer.processPendingChanges()
    #expect(recorder.take().allSatisfy { $0.deleted.isEmpty })
    try writer.save()
    #expect(try store.context().entryCount() == 1)
  }

  @Test("rule 60: refresh with merging puts the newest row under the edits; transient values stay")
  func refreshKeepsEdits() throws {
    let entry = try makeEntry()
    let mine = try reader.entry("Bells")
    mine.rating = 1
    mine.mood = "stoked"
    entry.rating = 5
    entry.notes = "theirs"
    try writer.save()
    reader.refresh(mine, mergeChanges: true)
    #expect(!mine.isFault && mine.isUpdated)
    #expect(mine.rating == 1 && mine.notes == "theirs" && mine.mood == "stoked")
    #expect(mine.changedValues().keys.sorted() == ["rating"])
    #expect(mine.committedValues(forKeys: ["rating"])["rating"] as? Int64 == 5)
    try reader.save()
    #expect(try store.context().entry("Bells").rating == 1)
  }

  @Test("rule 60: refresh with merging shows an unchanged object's newest values")
  func refreshOfAnUnchangedObject() throws {
    let entry = try makeEntry()
    let mine = try reader.entry("Bells")
    #expect(mine.rating == 3)
    entry.rating = 5
    try writer.save()
    #expect(mine.rating == 3)
    reader.refresh(mine, mergeChanges: true)
    #expect(mine.rating == 5)
  }

  @Test("rule 60: refreshing a new object with its changes changes nothing")
  func refreshOfANewObject() throws {
    let entry = Entry.make("Bells", in: writer)
    writer.refresh(entry, mergeChanges: true)
    #expect(entry.isInserted && entry.location == "Bells")
    try writer.save()
    #expect(try reader.entryCount() == 1)
  }

  @Test("rule 61: will- and didTurnIntoFault come once each")
  func turnIntoFaultHooksComeOnce() throws {
    _ = try makeDiary()
    let diary = try #require(try reader.diary())
    _ = diary.title
    _ = diary.takeCalls()
    reader.refresh(diary, mergeChanges: false)
    reader.refresh(diary, mergeChanges: false)
    #expect(diary.takeCalls() == ["willTurnIntoFault", "didTurnIntoFault"])
  }

  @Test("rules 62, 63: refreshAllObjects turns unchanged objects into faults, keeps edits, and reports all")
  func refreshAllObjects() throws {
    for name in ["a", "b", "c"] { Entry.make(name, in: writer) }
    try writer.save()
    let entries = try reader.entries()
    for entry in entries { _ = entry.rating }
    entries[1].rating = 5
    reader.processPendingChanges()
    let inserted = Entry.make("new", in: reader)
    reader.processPendingChanges()
    for entry in try writer.entries() { entry.notes = "theirs" }
    try writer.save()
    let recorder = NotificationRecorder(reader)
    reader.refreshAllObjects()
    #expect(entries[0].isFault && !entries[1].isFault && entries[2].isFault)
    #expect(inserted.isInserted && inserted.location == "new")
    let event = try #require(recorder.take().only)
    #expect(event.keys == ["refreshed"])
    #expect(event.refreshed.isSuperset(of: entries.map(\.objectID)))
    #expect(entries.map(\.notes) == ["theirs", "theirs", "theirs"])
    #expect(entries.map(\.rating) == [3, 5, 3])
    #expect(reader.updatedObjects == [entries[1]])
  }

  @Test("rule 64: by default a fault is fulfilled by the row in memory, however old")
  func rowsInMemoryDoNotAge() throws {
    let entry = try makeEntry()
    #expect(reader.stalenessInterval < 0)
    let mine = try reader.entry("Bells")
    entry.rating = 5
    try writer.save()
    #expect(mine.rating == 3)
  }

  @Test("rule 64: with a staleness interval of zero the store is asked; objects in use stay")
  func stalenessIntervalOfZero() throws {
    let entry = try makeEntry()
    reader.stalenessInterval = 0
    let mine = try reader.entry("Bells")
    entry.rating = 5
    try writer.save()
    #expect(mine.rating == 5)
    entry.rating = 4
    try writer.save()
    #expect(mine.rating == 5)
  }

  @Test("rule 64: rows younger than the interval serve, and the interval is the context's own")
  func stalenessIntervalOfAnHour() throws {
    let entry = try makeEntry()
    reader.stalenessInterval = 3_600
    #expect(store.context().stalenessInterval < 0)
    let mine = try reader.entry("Bells")
    entry.rating = 5
    try writer.save()
    #expect(mine.rating == 3)
  }

  @Test("rule 65: a fetch does not change objects in use, edited or not")
  func fetchDoesNotChangeObjectsInUse() throws {
    for name in ["a", "b"] { Entry.make(name, in: writer) }
    try writer.save()
    let mine = try reader.entries()
    #expect(mine[0].rating == 3)
    mine[1].rating = 1
    for entry in try writer.entries() { entry.rating = 5 }
    try writer.save()
    #expect(try reader.entries().map(\.rating) == [3, 1])
  }

  @Test("rule 66 (better): shouldRefreshRefetchedObjects brings store values, keeps edits on top")
  func refetchedObjectsAreRefreshed() throws {
    for name in ["a", "b"] { Entry.make(name, in: writer) }
    try writer.save()
    let mine = try reader.entries()
    #expect(mine[0].rating == 3)
    mine[1].rating = 1
    for entry in try writer.entries() {
      entry.rating = 5
      entry.notes = "theirs"
    }
    try writer.save()
    var request = FetchRequest<Entry>(entityName: "Entry", sortDescriptors: [FetchSort("location")])
    request.shouldRefreshRefetchedObjects = true
    #expect(try reader.fetch(request).map(\.rating) == [5, 1])
    #expect(mine.map(\.notes) == ["theirs", "theirs"])
    #expect(mine[1].isUpdated)
  }

  @Test("rule 71: transient values survive a save; refresh, refreshAllObjects and reset drop them")
  func transientValues() throws {
    let entry = try makeEntry()
    entry.mood = "stoked"
    entry["scratch"] = ["anything": 1]
    try writer.save()
    #expect(entry.mood == "stoked")
    #expect((entry["scratch"] as? [String: Int]) == ["anything": 1])
    writer.refresh(entry, mergeChanges: false)
    #expect(entry.mood == nil && entry["scratch"] == nil)
    entry.mood = "calm"
    try writer.save()
    writer.refreshAllObjects()
    #expect(entry.mood == nil)
    #expect(try reader.entry("Bells").mood == nil)
  }

  @Test("rule 62: refreshAllObjects keeps the transient values of changed objects")
  func refreshAllKeepsTransientsOfChangedObjects() throws {
    let entry = try makeEntry()
    entry.mood = "stoked"
    writer.refreshAllObjects()
    #expect(entry.mood == "stoked" && entry.hasChanges)
  }

  // MARK: Keys

  @Test("rule 80: an override of value(forKey:) serves computed keys")
  func overriddenKeysAreServed() throws {
    let model = SurfModel.make { $0.entitiesByName["Note"]?.managedObjectClass = KeyedNote.self }
    let store = try TemporaryStore(model)
    let context = store.context()
    let note = KeyedNote(context: context)
    note.setValue("Bells", forKey: "text")
    #expect(note.value(forKey: "shout") as? String == "BELLS!")
    #expect(note["shout"] as? String == "BELLS!")
    note["unheard"] = 1
    #expect(note.lastUndefined == "unheard")
  }

  @Test("rule 79: an unknown key traps, with entity and key", arguments: ["read", "write", "primitive"])
  func unknownKeyTraps(_ how: String) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [how] in
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      let entry = Entry.make("Bells", in: context)
      switch how {
      case "read": _ = entry.value(forKey: "wavelength")
      case "write": entry.setValue(1, forKey: "wavelength")
      default: _ = entry.primitiveValue(forKey: "wavelength")
      }
    }
    expectTrap(result, says: "Entry", "wavelength")
  }
}

/// A note that answers more keys than its entity has.
final class KeyedNote: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  private(set) var lastUndefined: String?

  override func value(forKey key: String) -> Any? {
    key == "shout"
      ? (value(forKey: "text") as? String).map { $0.uppercased() + "!" } : super.value(forKey: key)
  }
  override func setValue(_ value: Any?, forUndefinedKey key: String) { lastUndefined = key }
}
