import CoreData
import Foundation
import Testing

@Suite("Contexts above contexts")
struct NestedStoryTests {
  @Test(
    "Main context as the child of a private writer: on disk once the writer has saved",
    arguments: [true, false])
  @MainActor
  func privateWriter(parentFirst: Bool) async throws {
    let url = try Journal.makeFolder().appendingPathComponent("Journal.sqlite")
    let coordinator = try Journal.makeCoordinator(at: url)
    let writer = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    let main = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    #expect(main.persistentStoreCoordinator == nil && main.parent == nil)
    if parentFirst { main.parent = writer }
    writer.persistentStoreCoordinator = coordinator
    if !parentFirst { main.parent = writer }
    #expect(main.parent === writer && main.persistentStoreCoordinator === coordinator)

    let entry = Entry(context: main)
    entry.title = "Beach"
    try main.save()
    #expect(!main.hasChanges)
    #expect(try Journal.savedTitles(coordinator) == [])
    try await writer.perform {
      #expect(writer.hasChanges && writer.insertedObjects.count == 1)
      try writer.save()
    }
    #expect(try Journal.savedTitles(coordinator) == ["Beach"])
  }

  @Test("Worker as the child of main: its saves are the main context's changes")
  @MainActor
  func worker() async throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let main = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    main.persistentStoreCoordinator = coordinator
    let worker = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    worker.parent = main
    try await worker.perform {
      let trip = NSEntityDescription.insertNewObject(forEntityName: "Trip", into: worker) as! Trip
      trip.name = "Coast"
      for number in 1...20 {
        let entry = Entry(context: worker)
        entry.title = "Day \(number)"
        entry.trip = trip
      }
      try worker.save()
    }
    #expect(main.insertedObjects.count == 21)
    #expect(try Journal.titles(main).count == 20)
    #expect(try Journal.savedTitles(coordinator) == [])
    try main.save()
    #expect(try Journal.savedTitles(coordinator).count == 20)
  }

  @Test(
    "A scratchpad for editing: saved, its edits are in the context below; thrown away, they never were",
    arguments: [true, false])
  @MainActor
  func scratchpad(isSaved: Bool) throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let main = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    main.persistentStoreCoordinator = coordinator
    let entry = Entry(context: main)
    entry.title = "Before"
    try main.save()

    let scratchpad = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    scratchpad.parent = main
    let edited = try #require(scratchpad.object(with: entry.objectID) as? Entry)
    edited.title = "After"
    let note = Entry(context: scratchpad)
    note.title = "Note"
    #expect(entry.title == "Before" && !main.hasChanges && scratchpad.hasChanges)
    if isSaved {
      try scratchpad.save()
      #expect(entry.title == "After" && main.hasChanges)
      try main.save()
      #expect(try Journal.savedTitles(coordinator) == ["After", "Note"])
    } else {
      scratchpad.rollback()
      #expect(edited.title == "Before" && !scratchpad.hasChanges && !main.hasChanges)
      #expect(try Journal.savedTitles(coordinator) == ["Before"])
    }
  }

  @Test("A child that is made late, on any thread, sees what its parent's blocks have done")
  func lateChild() async throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    for _ in 0..<20 {
      let parent = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      parent.persistentStoreCoordinator = coordinator
      let titles = try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          parent.performAndWait {
            Entry(context: parent).title = "Beach"
            parent.processPendingChanges()
          }
          parent.performAndWait { Entry(context: parent).title = "Cape" }
          let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
          child.parent = parent
          continuation.resume(with: Result { try child.performAndWait { try Journal.titles(child) } })
        }
      }
      #expect(titles.sorted() == ["Beach", "Cape"])
    }
  }

  @Test("A child that saves on its parent's queue: the parent has reported all of it when save() returns")
  @MainActor
  func savingTellsAtOnce() throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let main = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    main.persistentStoreCoordinator = coordinator
    let child = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    child.parent = main
    // Set on the main thread alone, where the notification is posted.
    nonisolated(unsafe) var told = 0
    let token = NotificationCenter.default.addObserver(
      forName: NSNotification.Name.NSManagedObjectContextObjectsDidChange, object: main, queue: nil
    ) { told += ($0.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count ?? 0 }
    defer { NotificationCenter.default.removeObserver(token) }
    for number in 0..<5_000 { Entry(context: child).title = "Day \(number)" }
    try child.save()
    #expect(told == 5_000)
  }
}
