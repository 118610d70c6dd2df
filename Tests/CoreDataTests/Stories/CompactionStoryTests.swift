import CoreData
import Foundation
import Testing

/// What descriptions, options, coordinators and containers of Core Data's names do about a store's file.
@Suite("Files of stores, by Core Data's names")
final class CompactionStoryTests {
  private let folder: URL
  private var url: URL { folder.appendingPathComponent("Lists.sqlite") }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private static func model() -> NSManagedObjectModel {
    let note = NSEntityDescription()
    note.name = "Note"
    note.properties = [CompanyStand.attribute("text", .stringAttributeType)]
    let model = NSManagedObjectModel()
    model.entities = [note]
    return model
  }

  private func open(
    _ change: (NSPersistentStoreDescription) -> Void = { _ in }
  ) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Lists", managedObjectModel: Self.model())
    let description = NSPersistentStoreDescription(url: url)
    change(description)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return container
  }

  /// A store of which most was deleted, and which stays open.
  private func fill() throws -> NSPersistentContainer {
    let container = try open()
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for number in 0..<6_000 {
        let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
        note.setValue(String(repeating: "note \(number) ", count: 30), forKey: "text")
      }
      try context.save()
      let notes = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))
      for note in notes.dropLast(60) { context.delete(note) }
      try context.save()
      // A view of the very commit that has freed pages keeps them.
      notes.last?.setValue("changed", forKey: "text")
      try context.save()
    }
    return container
  }

  private func close(_ container: NSPersistentContainer) throws {
    let coordinator = container.persistentStoreCoordinator
    let stores: [NSPersistentStore] = coordinator.persistentStores
    for store in stores { try coordinator.remove(store) }
  }

  private func size() throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int)
  }

  private func count(_ container: NSPersistentContainer) throws -> Int {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note"))
    }
  }

  @Test("A coordinator makes the file of one of its stores shorter, and a container those of all")
  func compacting() async throws {
    let container = try fill()
    let before = try size()
    let store: NSPersistentStore = try #require(container.persistentStoreCoordinator.persistentStores.first)
    let report = try await container.persistentStoreCoordinator.compact(store)
    #expect(report.sizeBefore == before && report.size < before / 2)
    #expect(try size() == report.size)
    let reports = try await container.compact()
    #expect(reports.count == 1)
    #expect(try count(container) == 60)
    try container.flush()
    try close(container)
    // A store that is attached no more.
    await #expect(throws: CocoaError.self) {
      try await container.persistentStoreCoordinator.compact(store)
    }
    #expect(try await container.compact().isEmpty)
  }

  @Test("NSSQLiteManualVacuumOption makes the file shorter when the store is opened")
  func vacuum() throws {
    try close(try fill())
    let before = try size()
    try close(try open())
    #expect(try size() > before / 2)
    let container = try open { $0.setOption(NSNumber(value: true), forKey: NSSQLiteManualVacuumOption) }
    #expect(try size() < before / 2)
    #expect(try count(container) == 60)
    try close(container)
    // It is no error where nothing may be written.
    let reader = try open {
      $0.setOption(NSNumber(value: true), forKey: NSSQLiteManualVacuumOption)
      $0.isReadOnly = true
    }
    #expect(try count(reader) == 60)
    try close(reader)
  }

  @Test("Descriptions say what a save promises and whether the file shrinks by itself")
  func descriptions() throws {
    let description = NSPersistentStoreDescription(url: url)
    #expect(description.durability == .full && !description.compactsAutomatically)
    description.durability = .relaxed
    description.compactsAutomatically = true
    let copy = try #require(description.copy() as? NSPersistentStoreDescription)
    #expect(copy.durability == .relaxed && copy.compactsAutomatically)
    #expect(copy.options[StrataDurabilityOption] == NSString(string: "relaxed"))
    // Who wants more than the process has the file open with is refused.
    let relaxed = try open { $0.durability = .relaxed }
    #expect(throws: CocoaError.self) { try self.open() }
    try close(try open { $0.durability = .none })
    try close(relaxed)
    try close(try open())
  }

  @Test("What is no durability's name is refused")
  func unknownDurability() throws {
    #expect(throws: CocoaError.self) {
      try self.open { $0.setOption(NSString(string: "some"), forKey: StrataDurabilityOption) }
    }
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }
}
