import CoreData
import Foundation
import Testing

@Suite("A container")
struct ContainerStoryTests {
  /// The container as Xcode's template has it.
  static func makeContainer(_ folder: URL) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Journal", managedObjectModel: Journal.makeModel())
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("Journal.sqlite"))
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    var loaded: [NSPersistentStoreDescription] = []
    container.loadPersistentStores { description, error in
      loaded.append(description)
      failure = error
    }
    if let error = failure as NSError? { throw error }
    #expect(loaded.count == 1 && loaded.first === description)
    container.viewContext.automaticallyMergesChangesFromParent = true
    return container
  }

  @Test("Loading stores again adds only those that are not there, and what failed is tried again")
  func loadingTwice() throws {
    let folder = try Journal.makeFolder()
    let container = NSPersistentContainer(name: "Journal", managedObjectModel: Journal.makeModel())
    let first = NSPersistentStoreDescription(url: folder.appendingPathComponent("First.sqlite"))
    let late = folder.appendingPathComponent("late")
    let second = NSPersistentStoreDescription(url: late.appendingPathComponent("Second.sqlite"))
    container.persistentStoreDescriptions = [first, second]
    func load() -> [String] {
      var told: [String] = []
      container.loadPersistentStores { description, error in
        told.append("\(description === first ? "first" : "second") \(error == nil ? "added" : "failed")")
      }
      return told
    }
    #expect(load() == ["first added", "second failed"])
    try FileManager.default.createDirectory(at: late, withIntermediateDirectories: true)
    #expect(load() == ["second added"])
    #expect(load() == [] && container.persistentStoreCoordinator.persistentStores.count == 2)
    let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
    try container.persistentStoreCoordinator.remove(store)
    #expect(load() == ["first added"])
  }

  @Test("An import in a background task, an export in another one")
  @MainActor
  func importAndExport() async throws {
    let folder = try Journal.makeFolder()
    let container = try Self.makeContainer(folder)
    let view = container.viewContext
    #expect(view.concurrencyType == .mainQueueConcurrencyType && view.undoManager == nil)

    await withCheckedContinuation { continuation in
      container.performBackgroundTask { context in
        for number in 1...50 {
          let entry = Entry(context: context)
          entry.title = String(format: "Entry %02d", number)
          entry.rating = number % 6
        }
        do { try context.save() } catch { Issue.record(error) }
        continuation.resume()
      }
    }
    await view.perform {}
    #expect(try Journal.entries(view).count == 50)

    let file = folder.appendingPathComponent("export.csv")
    let count = try await container.performBackgroundTask { context in
      let request = NSFetchRequest<Entry>(entityName: "Entry")
      request.predicate = NSPredicate(format: "rating >= %d", 4)
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      request.fetchBatchSize = 20
      let entries = try context.fetch(request)
      let lines = entries.map { "\($0.title),\($0.rating)" }
      try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
      return entries.count
    }
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    #expect(count == 16 && lines.count == 16 && lines.first == "Entry 04,4")
  }

  @Test("A store is seeded by copying its files on first launch")
  @MainActor
  func seeding() throws {
    let factory = try Journal.makeFolder()
    let seed = factory.appendingPathComponent("Journal.sqlite")
    do {
      let container = try Self.makeContainer(factory)
      let trip = Trip(context: container.viewContext)
      trip.name = "Sample trip"
      let entry = Entry(context: container.viewContext)
      entry.title = "Welcome"
      entry.trip = trip
      try container.viewContext.save()
      for store in container.persistentStoreCoordinator.persistentStores {
        try container.persistentStoreCoordinator.remove(store)
      }
    }
    let home = try Journal.makeFolder()
    let url = home.appendingPathComponent("Journal.sqlite")
    for launch in 1...2 {
      if !FileManager.default.fileExists(atPath: url.path) {
        for suffix in ["", "-wal", "-shm"] {
          let part = URL(fileURLWithPath: seed.path + suffix)
          guard FileManager.default.fileExists(atPath: part.path) else { continue }
          try FileManager.default.copyItem(at: part, to: URL(fileURLWithPath: url.path + suffix))
        }
      }
      let container = try Self.makeContainer(home)
      let view = container.viewContext
      #expect(try Journal.titles(view).count == launch)
      #expect(try Journal.entry("Welcome", view)?.trip?.name == "Sample trip")
      let entry = Entry(context: view)
      entry.title = "Launch \(launch)"
      try view.save()
      for store in container.persistentStoreCoordinator.persistentStores {
        try container.persistentStoreCoordinator.remove(store)
      }
    }
    // What was shipped is as it was.
    #expect(try Journal.titles(Self.makeContainer(factory).viewContext) == ["Welcome"])
  }
}
