import CoreData
import Foundation
import Testing

@Suite("Siblings on one coordinator")
struct SiblingsStoryTests {
  @Test("What a background context saves is merged into the main context by its did-save notification")
  @MainActor
  func didSaveMerging() async throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let main = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    main.persistentStoreCoordinator = coordinator
    main.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
    let background = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    background.persistentStoreCoordinator = coordinator
    background.undoManager = nil

    let entry = Entry(context: main)
    entry.title = "Draft"
    try main.save()
    let id = entry.objectID
    #expect(!id.isTemporaryID)

    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: background, queue: nil
    ) { notification in
      #expect((notification.userInfo?[NSUpdatedObjectsKey] as? Set<NSManagedObject>)?.count == 1)
      main.perform { main.mergeChanges(fromContextDidSave: notification) }
    }
    defer { NotificationCenter.default.removeObserver(token) }

    try await background.perform {
      let same = try background.existingObject(with: id) as! Entry
      same.title = "Final"
      same.rating = 5
      let second = Entry(context: background)
      second.title = "Second"
      try background.save()
    }
    // Behind the merge on the main queue.
    await main.perform {}
    #expect(entry.title == "Final" && entry.rating == 5)
    #expect(try Journal.titles(main) == ["Final", "Second"])
    #expect(!main.hasChanges)
  }

  @Test("A context that merges automatically needs no observer; a pending edit survives the merge")
  @MainActor
  func automaticMerging() async throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let main = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    // Before the coordinator is there: it holds from then on.
    main.automaticallyMergesChangesFromParent = true
    main.persistentStoreCoordinator = coordinator
    let entry = Entry(context: main)
    entry.title = "Draft"
    try main.save()
    entry.rating = 3

    let background = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    background.persistentStoreCoordinator = coordinator
    let id = entry.objectID
    try await background.perform {
      (background.object(with: id) as! Entry).title = "Final"
      try background.save()
    }
    await main.perform {}
    #expect(entry.title == "Final" && entry.rating == 3 && main.hasChanges)
    main.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try main.save()
    #expect(try Journal.savedTitles(coordinator) == ["Final"])
  }
}
