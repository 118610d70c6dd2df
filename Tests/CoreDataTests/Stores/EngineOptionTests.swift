import CoreData
import Foundation
import StrataCore
import Testing

/// URLs of other schemes than a file's, and options that are an engine's own.
@Suite("Options of engines, and URLs that are not of files")
struct EngineOptionTests {
  /// Remembers what it is asked to open, and opens nothing.
  private final class RecordingKind: StoreEngineKind {
    let storeType = PersistentStoreDescription.StoreType(rawValue: "Recording-\(UUID().uuidString)")
    let seen = Mutex<[[String: String]]>([])

    private func note(_ description: PersistentStoreDescription) -> CoreDataError {
      seen.withLock { $0.append(description.engineOptions) }
      return CoreDataError(.persistentStoreOpen, "Nothing is opened.")
    }

    func open(
      _ description: PersistentStoreDescription, schema: Schema, patience: Patience,
      for coordinator: PersistentStoreCoordinator
    ) throws -> any StoreEngine { throw note(description) }
    func metadata(of description: PersistentStoreDescription) throws -> StoreMetadata {
      throw note(description)
    }
    func setMetadata(_ metadata: StoreMetadata, of description: PersistentStoreDescription) throws {
      throw note(description)
    }
    func model(of description: PersistentStoreDescription, withClasses: Bool) throws -> ManagedObjectModel {
      throw note(description)
    }
    func migrate(
      _ description: PersistentStoreDescription, to model: ManagedObjectModel,
      permission: MigrationPermission, patience: Patience
    ) throws { throw note(description) }
    func destroy(_ description: PersistentStoreDescription) throws { throw note(description) }
    func replace(_ description: PersistentStoreDescription, with source: PersistentStoreDescription) throws {
      throw note(description)
    }
  }

  @Test("An engine gets the options that are not Core Data's, numbers as texts")
  func passedOn() throws {
    let kind = RecordingKind()
    StoreEngines.register(kind)
    defer { StoreEngines.unregister(kind.storeType) }
    let url = try #require(URL(string: "recording://example/store"))
    let description = NSPersistentStoreDescription(url: url)
    description.type = kind.storeType.rawValue
    description.isReadOnly = true
    description.setOption("public" as NSString, forKey: "adoptsTables")
    description.setOption(NSNumber(value: 8), forKey: "maximumConnections")
    let container = NSPersistentContainer(name: "Journal", managedObjectModel: Journal.makeModel())
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    #expect(failure != nil)
    let options: [AnyHashable: Any] = ["maximumConnections": 3, NSPersistentHistoryTrackingKey: true]
    #expect(throws: (any Error).self) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: kind.storeType.rawValue, at: url, options: options)
    }
    let seen = kind.seen.withLock { $0 }
    #expect(seen.first == ["adoptsTables": "public", "maximumConnections": "8"])
    #expect(seen.last == ["maximumConnections": "3"])
  }

  @Test(
    "A URL of another scheme is that of no file, whatever its path",
    arguments: [NSSQLiteStoreType, NSBinaryStoreType])
  func otherSchemes(type: String) throws {
    let file = try Journal.makeFolder().appendingPathComponent("victim.store")
    let coordinator = try Journal.makeCoordinator(at: file)
    let context = NSManagedObjectContext(.confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    Entry(context: context).title = "kept"
    try context.save()
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let url = try #require(URL(string: "https://example.org\(file.path)"))
    let other = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    func expectRefusal(_ body: () throws -> Void) {
      #expect(throws: (any Error).self) { try body() }
    }
    expectRefusal { try other.destroyPersistentStore(at: url, ofType: type) }
    expectRefusal {
      _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: type, at: url, options: nil)
    }
    expectRefusal {
      try NSPersistentStoreCoordinator.setMetadata(
        ["a": 1], forPersistentStoreOfType: type, at: url, options: nil)
    }
    expectRefusal {
      try other.replacePersistentStore(at: url, withPersistentStoreFrom: file, ofType: type)
    }
    let again = try Journal.makeCoordinator(at: file)
    let reader = NSManagedObjectContext(.confinementConcurrencyType)
    reader.persistentStoreCoordinator = again
    #expect(try reader.fetch(NSFetchRequest<Entry>(entityName: "Entry")).map(\.title) == ["kept"])
  }
}
