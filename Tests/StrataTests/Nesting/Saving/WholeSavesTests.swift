import Foundation
import Strata
import Testing

/// What others save is seen whole or not at all, and no context returns to older values (contexts 5,
/// 6; rules 40, 65, 151, 152, 172).
@Suite(.serialized)
struct WholeSavesTests {
  let store: TemporaryStore
  let gate = StoreGate()

  init() throws { store = try TemporaryStore(behind: gate) }

  /// Runs `body` on another thread and waits for it.
  private static func elsewhere(_ body: @escaping @Sendable () throws -> Void) {
    let (done, failure) = (DispatchSemaphore(value: 0), Log<any Error>())
    Thread.detachNewThread {
      do { try body() } catch { failure.add(error) }
      done.signal()
    }
    done.wait()
    if let error = failure.first { Issue.record("\(error)") }
  }

  // MARK: A fetch

  @Test(
    "a child that saves in the middle of its parent's fetch is seen by the next one, not by half of this one")
  func aChildSavesDuringAFetch() throws {
    try store.save("Bells", "Winki")
    let parent = store.context()
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    // Something unsaved, so that layers and stored rows are brought together.
    try child.performAndWait {
      Entry.make("Gunna", in: child)
      try child.save()
    }
    // One of the two is an object here.
    let held = try parent.entry("Bells")
    #expect(held.rating == 3)
    gate.afterNextFetch {
      Self.elsewhere {
        try child.performAndWait {
          for entry in try child.entries() { entry.rating = 5 }
          try child.save()
        }
      }
    }
    #expect(try parent.entries().map(\.rating) == [3, 3, 3])
    #expect(try parent.entries().map(\.rating) == [5, 5, 5])
    #expect(held.rating == 5)
  }

  @Test("the same for what a context below has not saved")
  func aChildSavesDuringAFetchOfUnsavedRows() throws {
    let root = store.context()
    for location in ["Bells", "Winki"] { Entry.make(location, in: root) }
    let parent = ManagedObjectContext(.confinement, parent: root)
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    let held = try parent.entry("Bells")
    #expect(held.rating == 3)
    gate.afterNextFetch {
      Self.elsewhere {
        try child.performAndWait {
          for entry in try child.entries() { entry.rating = 5 }
          try child.save()
        }
      }
    }
    #expect(try parent.entries().map(\.rating) == [3, 3])
    #expect(try parent.entries().map(\.rating) == [5, 5])
  }

  // MARK: An event

  @Test(
    "contexts 5: new objects that are deleted again are seen by children until the event ends, and not afterwards"
  )
  func deletionsOfOneEvent() throws {
    let parent = store.context()
    let pair = ["Bells", "Winki"].map { Entry.make($0, in: parent) }
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    @Sendable func expectChildSees(_ locations: [String]) {
      Self.elsewhere {
        let seen = try child.performAndWait { try child.entries().map(\.location) }
        #expect(seen == locations)
      }
    }
    let ids = pair.map(\.objectID)
    expectChildSees(["Bells", "Winki"])
    parent.delete(pair[0])
    expectChildSees(["Bells", "Winki"])
    // Here it is gone.
    #expect(throws: CoreDataError.self) { try parent.existingObject(with: ids[0]) }
    #expect(!parent.object(with: ids[0]).isInserted)
    #expect(parent.insertedObjects == [pair[1]])
    parent.delete(pair[1])
    expectChildSees(["Bells", "Winki"])
    #expect(!parent.hasChanges && parent.insertedObjects.isEmpty)
    parent.processPendingChanges()
    expectChildSees([])
    #expect(try parent.entryCount() == 0)
    try parent.save()
    #expect(try store.savedEntries() == [])
  }

  @Test("a new object that a hook deletes is not saved")
  func deletedByAHook() throws {
    let parent = store.context()
    let gone = Entry.make("Bells", in: parent)
    let child = ManagedObjectContext(.confinement, parent: parent)
    #expect(try child.entries().count == 1)
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.willSaveObjectsNotification, object: parent, queue: nil
    ) { [parent = Smuggled(parent), gone = Smuggled(gone)] _ in parent.value.delete(gone.value) }
    defer { NotificationCenter.default.removeObserver(token) }
    Entry.make("Winki", in: parent)
    try parent.save()
    #expect(try store.savedEntries() == ["Winki 3"])
    #expect(try child.entries().map(\.location) == ["Winki"] && !parent.hasChanges)
  }

  // MARK: Merging

  @Test("rule 172: merging an old save takes back nothing that a child's change is based on")
  func mergingAnOldSave() throws {
    try store.save("Bells")
    let stranger = store.context()
    let recorder = NotificationBox(ManagedObjectContext.didSaveObjectsNotification, of: stranger)
    try stranger.entry("Bells").height = 9
    try stranger.save()
    let root = store.context()
    let parent = ManagedObjectContext(.confinement, parent: root)
    let child = ManagedObjectContext(.confinement, parent: parent)
    try parent.entry("Bells").rating = 5
    try parent.save()
    try child.entry("Bells").notes = "glassy"
    try child.save()
    // The child's change is above a row that is saved further down only now.
    try root.save()
    parent.mergeChanges(fromContextDidSave: try #require(recorder.first))
    let entry = try parent.entry("Bells")
    #expect(entry.rating == 5 && entry.notes == "glassy" && entry.height == 9)
    parent.processPendingChanges()
    #expect(try child.entry("Bells").rating == 5)
  }

  @Test("the same while the row is being saved to the store") @MainActor
  func mergingAnOldSaveMeanwhile() async throws {
    try store.save("Bells")
    let stranger = store.context()
    let recorder = NotificationBox(ManagedObjectContext.didSaveObjectsNotification, of: stranger)
    try stranger.entry("Bells").height = 9
    try stranger.save()
    let main = store.context(.mainQueue)
    let child = ManagedObjectContext(.mainQueue, parent: main)
    try child.entry("Bells").rating = 5
    try child.save()
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    try child.entry("Bells").notes = "glassy"
    try child.save()
    main.mergeChanges(fromContextDidSave: try #require(recorder.first))
    let entry = try main.entry("Bells")
    #expect(entry.rating == 5 && entry.notes == "glassy" && entry.height == 9)
    gate.open()
    try await saving
    #expect(entry.rating == 5 && entry.notes == "glassy" && main.hasChanges)
    try main.save()
    let saved = try store.context().entry("Bells")
    #expect(saved.rating == 5 && saved.notes == "glassy" && saved.height == 9)
  }

  // MARK: Telling

  @Test("rule 152: an object reported after it was handed down shows its present values")
  func toldOfLate() throws {
    try store.save("Bells")
    let parent = store.context()
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    let theirs = Log<Entry>()
    try child.performAndWait {
      theirs.add(try child.entry("Bells"))
      #expect(theirs.first?.rating == 3)
    }
    try parent.entry("Bells").rating = 5
    try parent.save()
    // Too late to be reported by this save, early enough to be part of it.
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.willSaveObjectsNotification, object: parent, queue: nil
    ) { _ in
      Self.elsewhere {
        try child.performAndWait {
          theirs.first?.notes = "glassy"
          try child.save()
        }
      }
    }
    Entry.make("Winki", in: parent)
    try parent.save()
    NotificationCenter.default.removeObserver(token)
    let told = Log<String>()
    let observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: parent, queue: nil
    ) { notification in
      let updated = notification.userInfo?["updated"] as? Set<ManagedObject> ?? []
      for case let entry as Entry in updated { told.add("\(entry.rating) \(entry.notes ?? "nil")") }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try parent.save()
    #expect(told.list == ["5 glassy"])
    child.performAndWait { theirs.removeAll() }
  }

  // MARK: The first child

  @Test(
    "contexts 5: what a confinement context edited before its first child is published when it is used next"
  )
  func theFirstChildOfAConfinementContext() throws {
    try store.save("Bells")
    let parent = store.context()
    try parent.entry("Bells").rating = 5
    parent.processPendingChanges()
    let made = Log<ManagedObjectContext>()
    Self.elsewhere { made.add(ManagedObjectContext(.privateQueue, parent: parent)) }
    let child = try #require(made.first)
    parent.processPendingChanges()
    Self.elsewhere {
      try child.performAndWait {
        let entry = try child.entry("Bells")
        #expect(entry.rating == 5)
        entry.notes = "glassy"
        try child.save()
      }
    }
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 5"])
    #expect(try store.context().entry("Bells").notes == "glassy")
  }

  @Test("a first child that comes while a save is under way takes nothing of it back")
  func theFirstChildDuringASave() async throws {
    try store.save("Bells")
    let parent = store.context(.privateQueue)
    gate.close()
    async let saving: Void = parent.perform {
      try parent.entry("Bells").rating = 5
      try parent.save()
    }
    await gate.isReached()
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    Self.elsewhere {
      try child.performAndWait {
        try child.entry("Bells").notes = "glassy"
        try child.save()
      }
    }
    gate.open()
    try await saving
    let seen = try await child.perform { try child.entry("Bells").rating }
    #expect(seen == 5)
    try await parent.perform {
      let entry = try parent.entry("Bells")
      #expect(entry.rating == 5 && entry.notes == "glassy")
      // No conflict with itself.
      try parent.save()
    }
    #expect(try store.savedEntries() == ["Bells 5"])
    #expect(try store.context().entry("Bells").notes == "glassy")
  }

  // MARK: Landing

  @Test("a record that a child saves again while its first change is being written stays changed") @MainActor
  func savedAgainMeanwhile() async throws {
    try store.save("Bells", "Winki")
    let main = store.context(.mainQueue)
    let child = ManagedObjectContext(.mainQueue, parent: main)
    let (bells, winki) = (try main.entry("Bells"), try main.entry("Winki"))
    for entry in try child.entries() { entry.rating = 4 }
    try child.save()
    #expect(bells.rating == 4)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    try child.entry("Bells").rating = 5
    child.delete(try child.entry("Winki"))
    try child.save()
    #expect(bells.rating == 5 && winki.isDeleted)
    gate.open()
    try await saving
    #expect(bells.rating == 5 && bells.isUpdated && winki.isDeleted && main.hasChanges)
    #expect(try store.savedEntries() == ["Bells 4", "Winki 4"])
    // An edit lies above what the child saved.
    bells.notes = "glassy"
    main.processPendingChanges()
    #expect(try child.entry("Bells").rating == 5)
    try main.save()
    #expect(try store.savedEntries() == ["Bells 5"])
    #expect(try store.context().entry("Bells").notes == "glassy" && !main.hasChanges)
  }
}

/// Keeps the notifications of one name that a context posts.
final class NotificationBox {
  private let log = Log<Notification>()
  private var token: (any NSObjectProtocol)?

  init(_ name: Notification.Name, of context: ManagedObjectContext) {
    token = NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { [log] in
      log.add($0)
    }
  }

  deinit { if let token { NotificationCenter.default.removeObserver(token) } }

  var first: Notification? { log.first }
}
