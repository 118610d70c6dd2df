import Foundation
import Strata
import Testing
import struct StrataCore.Mutex

/// What contexts report, and when (section E).
struct NotificationTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let recorder: NotificationRecorder

  init() throws {
    store = try TemporaryStore()
    context = store.context()
    recorder = NotificationRecorder(context)
  }

  @Test("rule 114: notifications have Core Data's names and the context as their object")
  func namesAndObject() throws {
    #expect(Notification.Name.didChange.rawValue == "NSObjectsChangedInManagingContextNotification")
    #expect(Notification.Name.willSave.rawValue == "NSManagingContextWillSaveChangesNotification")
    #expect(Notification.Name.didSave.rawValue == "NSManagingContextDidSaveChangesNotification")
    // The recorder listens to this context only, so what another one posts does not arrive.
    let other = store.context()
    Entry.make("Bells", in: other)
    try other.save()
    #expect(recorder.names.isEmpty)
    Entry.make("Winki", in: context)
    try context.save()
    #expect(recorder.names == [.didChange, .willSave, .didSave, .didSaveIDs])
  }

  #if !canImport(Darwin)
    /// Other tests post at the same time, and a thread does not wait for the turn for long: so it is tried more than once.
    @Test("decision 61: a save posts its notifications in the turn of its thread", .timeLimit(.minutes(20)))
    func postsInTurn() throws {
      let names = [Notification.Name.didChange, .willSave, .didSave, .didSaveIDs]
      let inTurn = Mutex<Set<Notification.Name>>([])
      let tokens = names.map { name in
        NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { _ in
          if PostingTurn.shared.isMine { inTurn.withLock { _ = $0.insert(name) } }
        }
      }
      defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
      for number in 0..<1000 where inTurn.withLock({ $0.count < names.count }) {
        Entry.make("\(number)", in: context)
        try context.save()
      }
      #expect(inTurn.withLock { $0 } == Set(names))
      #expect(!PostingTurn.shared.isMine, "it is given back")
    }
  #endif

  @Test("rule 116: the keys have Core Data's short strings")
  func shortKeys() {
    typealias Key = ManagedObjectContext.NotificationKey
    #expect(Key.insertedObjects.rawValue == "inserted")
    #expect(Key.updatedObjects.rawValue == "updated")
    #expect(Key.deletedObjects.rawValue == "deleted")
    #expect(Key.refreshedObjects.rawValue == "refreshed")
    #expect(Key.invalidatedObjects.rawValue == "invalidated")
    #expect(Key.invalidatedAllObjects.rawValue == "invalidatedAll")
  }

  @Test("rules 115, 121: did-change has sets of objects, missing sets are missing keys")
  func didChangeHasSetsOfObjects() throws {
    let (updated, deleted) = (Entry.make("updated", in: context), Entry.make("deleted", in: context))
    try context.save()
    recorder.take()
    updated.rating = 5
    context.delete(deleted)
    let inserted = Entry.make("inserted", in: context)
    context.processPendingChanges()
    let event = try #require(recorder.take().only)
    #expect(event.name == .didChange)
    #expect(event.keys == ["inserted", "updated", "deleted"])
    #expect(event.objectKeys == ["inserted", "updated", "deleted"])
    #expect(event.inserted == [inserted.objectID])
    #expect(event.updated == [updated.objectID])
    #expect(event.deleted == [deleted.objectID])
    updated.rating = 4
    context.processPendingChanges()
    #expect(recorder.take().map(\.keys) == [["updated"]])
  }

  @Test("rule 122: did-change gathers everything since the last one; with nothing new nothing is posted")
  func didChangeGathers() {
    let entry = Entry.make("Bells", in: context)
    entry.rating = 1
    entry.rating = 2
    Entry.make("Winki", in: context)
    #expect(recorder.names.isEmpty)
    context.processPendingChanges()
    #expect(recorder.take().map(\.inserted.count) == [2])
    context.processPendingChanges()
    #expect(recorder.names.isEmpty)
  }

  @Test("rule 123: inserted then modified in one event is inserted only; after a save it is updated")
  func insertedThenModified() throws {
    let entry = Entry.make("Bells", in: context)
    entry.rating = 5
    context.processPendingChanges()
    let first = try #require(recorder.take().only)
    #expect(first.inserted == [entry.objectID] && first.updated.isEmpty)
    try context.save()
    recorder.take()
    entry.rating = 4
    context.processPendingChanges()
    let second = try #require(recorder.take().only)
    #expect(second.updated == [entry.objectID] && second.inserted.isEmpty)
  }

  @Test("rule 115: an object deleted after it was edited in the same event is deleted only")
  func editedThenDeleted() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    recorder.take()
    entry.rating = 5
    context.delete(entry)
    context.processPendingChanges()
    #expect(recorder.take().map(\.keys) == [["deleted"]])
  }

  @Test("rule 25: a new object whose insertion was reported is reported as deleted when it is deleted")
  func toldInsertIsToldDeleted() throws {
    let entry = Entry.make("Bells", in: context)
    context.processPendingChanges()
    recorder.take()
    context.delete(entry)
    context.processPendingChanges()
    let event = try #require(recorder.take().only)
    #expect(event.deleted == [entry.objectID])
    try context.save()
    #expect(recorder.all(.didSave).first?.deleted.isEmpty == true)
  }

  @Test("rule 15: a change of a transient attribute is reported as an update")
  func transientChangeIsToldAsUpdate() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    recorder.take()
    entry.mood = "stoked"
    context.processPendingChanges()
    #expect(recorder.take().map(\.updated) == [[entry.objectID]])
  }

  @Test("rule 122: what an observer of did-change changes is reported in a notification of its own")
  func observersMayChangeMore() throws {
    let entry = Entry.make("Bells", in: context)
    let smuggled = Smuggled(entry)
    let token = NotificationCenter.default.addObserver(forName: .didChange, object: context, queue: nil) {
      _ in
      if smuggled.value.notes == nil { smuggled.value.notes = "seen" }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    context.processPendingChanges()
    #expect(recorder.names == [.didChange, .didChange])
    #expect(recorder.all.last?.updated == [entry.objectID])
    #expect(entry.notes == "seen")
  }

  @Test("contexts 16: an observer of did-change sees the changed state and may fetch")
  func observersMayFetch() throws {
    let context = context
    let counts = Log<Int>()
    let token = NotificationCenter.default.addObserver(forName: .didChange, object: context, queue: nil) {
      _ in
      counts.add((try? context.entryCount()) ?? -1)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    Entry.make("Bells", in: context)
    context.processPendingChanges()
    #expect(counts.list == [1])
  }

  @Test("rule 117: will-save has no user info")
  func willSaveHasNoUserInfo() throws {
    Entry.make("Bells", in: context)
    try context.save()
    let event = try #require(recorder.all(.willSave).only)
    #expect(event.keys == nil)
  }

  @Test("rule 118: did-save has object sets, its twin ID sets")
  func didSaveHasSets() throws {
    let (updated, deleted) = (Entry.make("updated", in: context), Entry.make("deleted", in: context))
    try context.save()
    recorder.take()
    updated.rating = 5
    context.delete(deleted)
    let inserted = Entry.make("inserted", in: context)
    try context.save()
    let objects = try #require(recorder.all(.didSave).only)
    #expect(objects.inserted == [inserted.objectID])
    #expect(objects.updated == [updated.objectID])
    #expect(objects.deleted == [deleted.objectID])
    #expect(objects.objectKeys == ["inserted", "updated", "deleted"])
    let ids = try #require(recorder.all(.didSaveIDs).only)
    #expect(ids.insertedIDs == [inserted.objectID])
    #expect(ids.updatedIDs == [updated.objectID])
    #expect(ids.deletedIDs == [deleted.objectID])
    #expect(ids.objectKeys.isEmpty)
  }

  @Test("rule 125: at save did-change comes first, then will-save, did-save, did-save-IDs")
  func orderAtSave() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    #expect(recorder.take().map(\.name) == [.didChange, .willSave, .didSave, .didSaveIDs])
    entry.rating = 5
    context.processPendingChanges()
    recorder.take()
    try context.save()
    #expect(recorder.take().map(\.name) == [.willSave, .didSave, .didSaveIDs])
  }

  @Test("rule 129: a save with nothing changed posts its notifications, with empty sets, and writes nothing")
  func emptySave() throws {
    try context.save()
    #expect(recorder.names == [.willSave, .didSave, .didSaveIDs])
    let event = try #require(recorder.all(.didSave).only)
    #expect(event.inserted.isEmpty && event.updated.isEmpty && event.deleted.isEmpty)
    #expect(context.statistics.saves == 0)
  }

  @Test("rule 130: IDs of did-save-IDs are safe to carry elsewhere")
  func idsOfDidSaveTravel() throws {
    Entry.make("Bells", in: context)
    try context.save()
    let ids = try #require(recorder.all(.didSaveIDs).only).insertedIDs
    let store = store
    onAnotherThread {
      let reader = store.context()
      #expect(ids.compactMap { (reader.object(with: $0) as? Entry)?.location } == ["Bells"])
    }
  }

  @Test("rule 131: in did-save-IDs of a root context all IDs are permanent")
  func idsOfDidSaveArePermanent() throws {
    Entry.make("Bells", in: context)
    context.processPendingChanges()
    #expect(recorder.all(.didChange).first?.inserted.allSatisfy(\.isTemporaryID) == true)
    try context.save()
    #expect(recorder.all(.didSaveIDs).first?.insertedIDs.count == 1)
    #expect(recorder.all(.didSaveIDs).first?.insertedIDs.contains(where: \.isTemporaryID) == false)
    #expect(recorder.all(.didSave).first?.inserted.contains(where: \.isTemporaryID) == false)
  }

  @Test("rule 136: a save that fails posts no did-save")
  func failedSavePostsNoDidSave() {
    Entry.make(nil, in: context)
    #expect(throws: CoreDataError.self) { try context.save() }
    #expect(recorder.names == [.didChange, .willSave])
  }

  @Test("rules 19, 115: rollback reports what came back and what was removed")
  func rollbackTells() throws {
    let (edited, deleted) = (Entry.make("edited", in: context), Entry.make("deleted", in: context))
    try context.save()
    edited.rating = 5
    context.delete(deleted)
    let inserted = Entry.make("inserted", in: context)
    context.processPendingChanges()
    recorder.take()
    context.rollback()
    let event = try #require(recorder.take().only)
    #expect(event.name == .didChange)
    #expect(event.deleted == [inserted.objectID])
    #expect(
      event[.insertedObjects].union(event.refreshed).union(event.updated) == [
        edited.objectID, deleted.objectID,
      ])
    context.processPendingChanges()
    #expect(recorder.names.isEmpty)
  }

  @Test("rule 132: the coordinator posts when stores are added or removed, with the keys added and removed")
  func coordinatorTellsOfStores() throws {
    let coordinator = store.coordinator
    let log = Log<String>()
    func listen(_ name: Notification.Name, _ object: AnyObject, _ word: String) -> any NSObjectProtocol {
      NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { notification in
        let keys = (notification.userInfo ?? [:]).keys.compactMap { $0 as? String }.sorted()
        log.add(([word] + keys).joined(separator: " "))
      }
    }
    var tokens = [listen(PersistentStoreCoordinator.storesDidChangeNotification, coordinator, "changed")]
    defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
    let added = try coordinator.addPersistentStore(.inMemory)
    tokens.append(listen(PersistentStoreCoordinator.willRemoveStoreNotification, added, "will remove"))
    try coordinator.remove(added)
    #expect(throws: CoreDataError.self) { try coordinator.remove(added) }
    #expect(log.list == ["changed added", "will remove", "changed removed"])
  }

  @Test("rule 118: what an observer of will-save inserts in place of another object is reported")
  func willSaveObserversMayExchangeInserts() throws {
    let kept = Entry.make("kept", in: context)
    let doomed = Smuggled((context, Entry.make("doomed", in: context)))
    let token = NotificationCenter.default.addObserver(forName: .willSave, object: context, queue: nil) { _ in
      doomed.value.0.delete(doomed.value.1)
      Entry.make("late", in: doomed.value.0)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    let late = try context.entry("late")
    #expect(recorder.all(.didSave).only?.inserted == [kept.objectID, late.objectID])
    #expect(recorder.all(.didSaveIDs).only?.insertedIDs == [kept.objectID, late.objectID])
  }
}
