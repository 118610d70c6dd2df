import CoreData
import Foundation
import Testing

@Suite("Contexts that get their coordinator late")
struct LateBindingTests {
  @Test("Settings made before the coordinator is there hold afterwards")
  func settings() throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.name = "importer"
    context.transactionAuthor = "tests"
    context.undoManager = nil
    context.stalenessInterval = 0
    context.shouldDeleteInaccessibleFaults = true
    context.automaticallyMergesChangesFromParent = true
    context.mergePolicy = NSMergeByPropertyStoreTrumpMergePolicy
    context.performAndWait {
      context.retainsRegisteredObjects = true
      context.userInfo["held"] = "x"
      #expect(!context.hasChanges && context.registeredObjects.isEmpty)
      #expect(throws: Never.self) { try context.save() }
    }
    let coordinator = try Journal.makeCoordinator(at: nil)
    context.persistentStoreCoordinator = coordinator
    // The same once more changes nothing.
    context.persistentStoreCoordinator = coordinator
    #expect(context.name == "importer" && context.transactionAuthor == "tests")
    #expect(context.mergePolicy as? NSMergePolicy === NSMergePolicy.mergeByPropertyStoreTrump)
    try context.performAndWait {
      #expect(context.userInfo["held"] as? String == "x" && context.retainsRegisteredObjects)
      let entry = Entry(context: context)
      entry.title = "a"
      try context.save()
    }
    #expect(try Journal.savedTitles(coordinator) == ["a"])
  }

  @Test("Rule 2: a whole stack put together from the top; a child of a child has the coordinator too")
  func fromTheTop() throws {
    let contexts = (0..<4).map { _ in NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType) }
    for (child, parent) in zip(contexts, contexts.dropFirst()) { child.parent = parent }
    #expect(contexts.allSatisfy { $0.persistentStoreCoordinator == nil })
    let coordinator = try Journal.makeCoordinator(at: nil)
    contexts[3].persistentStoreCoordinator = coordinator
    #expect(contexts.allSatisfy { $0.persistentStoreCoordinator === coordinator })
    try contexts[0].performAndWait {
      Entry(context: contexts[0]).title = "deep"
      try contexts[0].save()
    }
    #expect(try contexts[1].performAndWait { try Journal.titles(contexts[1]) } == ["deep"])
    #expect(try contexts[3].performAndWait { try Journal.titles(contexts[3]) } == [])
    for context in contexts.dropFirst() { try context.performAndWait { try context.save() } }
    #expect(try Journal.savedTitles(coordinator) == ["deep"])
  }

  @Test("Objects inserted before a store is added are saved once one has come, with their relationships")
  func insertedBeforeAStore() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let (entry, trip) = (Entry(context: context), Trip(context: context))
    (entry.title, trip.name, entry.trip) = ("early", "Alps", trip)
    #expect(context.insertedObjects == [entry, trip] && entry.objectID.isTemporaryID)
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.errorCode == NSPersistentStoreOperationError)
    #expect(context.insertedObjects == [entry, trip])
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    Entry(context: context).title = "late"
    try context.save()
    #expect(!context.hasChanges && !entry.objectID.isTemporaryID && !trip.objectID.isTemporaryID)
    #expect(entry.objectID.persistentStore === coordinator.persistentStores.first)
    #expect(try Journal.savedTitles(coordinator) == ["early", "late"])
    context.reset()
    let saved = try #require(try Journal.entries(context).first { $0.title == "early" })
    #expect(saved.trip?.name == "Alps")
  }

  @Test("Rule 11: taken off its coordinator, a context has nothing any more, and may get another one")
  func takenOff() throws {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
    let entry = Entry(context: context)
    entry.title = "a"
    try context.save()
    context.persistentStoreCoordinator = nil
    #expect(context.persistentStoreCoordinator == nil && entry.managedObjectContext == nil)
    #expect(context.registeredObjects.isEmpty && !context.hasChanges)
    let second = try Journal.makeCoordinator(at: nil)
    context.persistentStoreCoordinator = second
    Entry(context: context).title = "b"
    try context.save()
    #expect(try Journal.savedTitles(second) == ["b"])
  }

  @Test(
    "Rule 11: children of a context that goes to another coordinator go on reading the first one, and cannot save"
  )
  func childrenLeftBehind() throws {
    func make() -> NSManagedObjectContext {
      NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    }
    let (parent, child, grandchild) = (make(), make(), make())
    let first = try Journal.makeCoordinator(at: nil)
    parent.persistentStoreCoordinator = first
    (child.parent, grandchild.parent) = (parent, child)
    child.automaticallyMergesChangesFromParent = true
    try parent.performAndWait {
      Entry(context: parent).title = "a"
      try parent.save()
      parent.persistentStoreCoordinator = nil
    }
    #expect(try child.performAndWait { try Journal.titles(child) } == ["a"])
    let second = try Journal.makeCoordinator(at: nil)
    parent.persistentStoreCoordinator = second
    try parent.performAndWait {
      // Its keys are those that records of the first store have.
      let entry = Entry(context: parent)
      entry.title = "b"
      try parent.save()
      entry.title = "c"
      parent.processPendingChanges()
    }
    try grandchild.performAndWait {
      let entry = try #require(try Journal.entries(grandchild).first)
      #expect(entry.title == "a")
      entry.title = "edited"
      Entry(context: grandchild).title = "new"
      try grandchild.save()
    }
    try child.performAndWait { () throws in
      #expect(try Journal.titles(child) == ["edited", "new"])
      let error = #expect(throws: CocoaError.self) { try child.save() }
      #expect(error?.errorCode == NSCoreDataError && child.hasChanges)
    }
    try parent.performAndWait {
      #expect(try Journal.titles(parent) == ["c"])
      try parent.save()
    }
    #expect(try Journal.savedTitles(first) == ["a"] && Journal.savedTitles(second) == ["c"])
    // One that is made now is over the second.
    let late = make()
    late.parent = parent
    try late.performAndWait {
      Entry(context: late).title = "late"
      try late.save()
    }
    #expect(try parent.performAndWait { try Journal.titles(parent) } == ["c", "late"])
    #expect(try child.performAndWait { try Journal.titles(child) } == ["edited", "new"])
  }

  @Test("Rule 11: commits of the first coordinator that were not merged yet mean nothing over the next")
  func commitsLeftBehind() throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    let first = try Journal.makeCoordinator(at: nil)
    context.persistentStoreCoordinator = first
    context.automaticallyMergesChangesFromParent = true
    let writer = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    writer.persistentStoreCoordinator = first
    let second = try Journal.makeCoordinator(at: nil)
    try context.performAndWait {
      try writer.performAndWait {
        let entry = Entry(context: writer)
        for title in ["first", "second"] {
          entry.title = title
          try writer.save()
        }
      }
      // Its queue is told of the save behind this.
      context.persistentStoreCoordinator = nil
      context.persistentStoreCoordinator = second
      Entry(context: context).title = "mine"
      try context.save()
    }
    context.performAndWait {}
    #expect(try context.performAndWait { try Journal.titles(context) } == ["mine"])
    #expect(context.performAndWait { !context.hasChanges })
    #expect(try Journal.savedTitles(second) == ["mine"])
  }

  @Test("Rule 11: new objects left behind touch no records of the next store that have the same keys")
  func sameKeys() throws {
    let second = try Journal.makeCoordinator(at: nil)
    let writer = Self.make(second)
    try writer.performAndWait {
      let trip = Trip(context: writer)
      trip.name = "t"
      for title in ["a", "b"] {
        let entry = Entry(context: writer)
        entry.title = title
        entry.trip = trip
      }
      try writer.save()
    }
    let (parent, child) = (Self.make(try Journal.makeCoordinator(at: nil)), Self.make())
    child.parent = parent
    parent.performAndWait {
      // Entries and trips, so that each record of the second store has a namesake.
      for number in 0..<3 {
        Entry(context: parent).title = "left \(number)"
        Trip(context: parent).name = "left \(number)"
      }
      parent.persistentStoreCoordinator = nil
    }
    parent.persistentStoreCoordinator = second
    try parent.performAndWait { () throws in
      let entries = try Journal.entries(parent)
      for entry in entries { entry.title += " edited" }
      #expect(entries.map(\.trip?.name) == ["t", "t"])
      try parent.save()
    }
    let reader = Self.make(second)
    try reader.performAndWait { () throws in
      #expect(try Journal.titles(reader) == ["a edited", "b edited"])
      #expect(try Journal.entries(reader).map(\.trip?.name) == ["t", "t"])
    }
    withExtendedLifetime(child) {}
  }

  @Test("Rule 11: children left behind take nothing from the records of the next store with the same keys")
  func childrenTakeNothing() throws {
    let first = try Journal.makeCoordinator(at: nil)
    let (parent, child, grandchild) = (Self.make(first), Self.make(), Self.make())
    (child.parent, grandchild.parent) = (parent, child)
    try parent.performAndWait {
      let entry = Entry(context: parent)
      (entry.title, entry.rating) = ("a", 1)
      try parent.save()
    }
    // What the grandchild has read before the parent leaves.
    nonisolated(unsafe) let read = try grandchild.performAndWait {
      let entry = try #require(try Journal.entries(grandchild).first)
      #expect(entry.rating == 1)
      // Safe: used on the grandchild's queue only.
      nonisolated(unsafe) let found = entry
      return found
    }
    parent.performAndWait { parent.persistentStoreCoordinator = nil }
    parent.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
    let late = Self.make()
    late.parent = parent
    try parent.performAndWait {
      let entry = Entry(context: parent)
      entry.rating = 2
      // Several versions of the row: newer ones than the grandchild's.
      for number in 0..<3 {
        entry.title = "b\(number)"
        try parent.save()
      }
    }
    // The row that the grandchild has read is no more the newest of the first store either.
    let other = Self.make(first)
    try other.performAndWait {
      let entry = try #require(try Journal.entries(other).first)
      for number in 0..<5 {
        entry.title = "o\(number)"
        try other.save()
      }
    }
    try grandchild.performAndWait {
      read.title = "edited"
      try grandchild.save()
    }
    let newest = Self.make()
    newest.parent = child
    for context in [child, newest] {
      try context.performAndWait {
        let entries = try Journal.entries(context)
        #expect(entries.map(\.title) == ["edited"] && entries.map(\.rating) == [1])
      }
    }
    #expect(try late.performAndWait { try Journal.titles(late) } == ["b2"])
  }

  @Test("Rule 11: what an observer inserts while a context leaves its coordinator is not taken to the next")
  func observerInserts() throws {
    let context = Self.make(try Journal.makeCoordinator(at: nil))
    let second = try Journal.makeCoordinator(at: nil)
    // Safe: the notification is posted on the context's queue, while this thread waits.
    nonisolated(unsafe) var inserted = 0
    nonisolated(unsafe) var isLeaving = false
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) { notification in
      guard isLeaving, let context = notification.object as? NSManagedObjectContext else { return }
      isLeaving = false
      inserted += 1
      Entry(context: context).title = "of the observer"
    }
    defer { NotificationCenter.default.removeObserver(token) }
    context.performAndWait {
      Entry(context: context).title = "left"
      context.processPendingChanges()
      isLeaving = true
      context.persistentStoreCoordinator = nil
      isLeaving = false
    }
    context.persistentStoreCoordinator = second
    try context.performAndWait { () throws in
      #expect(context.insertedObjects.isEmpty && !context.hasChanges)
      Entry(context: context).title = "mine"
      try context.save()
    }
    #expect(inserted < 2)
    #expect(try Journal.savedTitles(second) == ["mine"])
  }

  @Test("Rule 11: children of a pinned context that leaves its coordinator go on to newer commits")
  func childrenOfPinned() throws {
    let folder = try Journal.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let first = try Journal.makeCoordinator(at: folder.appendingPathComponent("journal.store"))
    let (writer, parent, child) = (Self.make(first), Self.make(first), Self.make())
    child.parent = parent
    func write(_ title: String) throws {
      try writer.performAndWait {
        Entry(context: writer).title = title
        try writer.save()
      }
    }
    func titles() throws -> [String] { try child.performAndWait { try Journal.titles(child) } }
    try write("a")
    try parent.performAndWait {
      try parent.setQueryGenerationFrom(.current)
      _ = try Journal.titles(parent)
    }
    parent.performAndWait { parent.persistentStoreCoordinator = nil }
    #expect(try titles() == ["a"])
    try write("b")
    child.performAndWait { child.reset() }
    #expect(try titles() == ["a", "b"])
  }

  /// A context of a private queue, over `coordinator` if there is one.
  private static func make(_ coordinator: NSPersistentStoreCoordinator? = nil) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    if let coordinator { context.persistentStoreCoordinator = coordinator }
    return context
  }

  @Test(
    "An exchanged coordinator or parent, and a context as a parent of its own, stop the process with advice")
  func traps() async throws {
    await #expect(processExitsWith: .failure) {
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
      context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
    }
    await #expect(processExitsWith: .failure) {
      let (a, b) = (NSManagedObjectContext(.privateQueue), NSManagedObjectContext(.privateQueue))
      a.parent = b
      b.parent = a
    }
    await #expect(processExitsWith: .failure) {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
      context.parent = NSManagedObjectContext(.privateQueue)
    }
  }
}
