import CoreData
import Testing
import struct StrataCore.Mutex

@Suite("Notifications of coordinators")
struct StoreNotificationTests {
  private final class Heard: Sendable {
    let texts = Mutex<[String]>([])
    func add(_ text: String) { texts.withLock { $0.append(text) } }
  }

  @Test("rule 132: the stores in a coordinator's notifications are the NSPersistentStores that it has")
  func stores() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: BirdStand.model())
    let heard = Heard()
    let token = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreCoordinatorStoresDidChange, object: coordinator, queue: nil
    ) { note in
      for key in [NSAddedPersistentStoresKey, NSRemovedPersistentStoresKey] {
        for store in note.userInfo?[key] as? [NSPersistentStore] ?? [] {
          heard.add("\(key) \(store.type) \(store.options?["colour"] ?? "-") \(store.identifier ?? "?")")
        }
      }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    let folder = try Journal.makeFolder()
    let store = try coordinator.addPersistentStore(
      ofType: NSBinaryStoreType, configurationName: nil, at: folder.appendingPathComponent("A.store"),
      options: ["colour": "red"])
    let identifier = try #require(store.identifier)
    try coordinator.remove(store)
    #expect(
      heard.texts.withLock { $0 }
        == ["added Binary red \(identifier)", "removed Binary red \(identifier)"])
  }

  @Test("rule 132: the notification before a removal is posted by the store, while it is attached")
  func willRemove() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: BirdStand.model())
    let store = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    let heard = Heard()
    let name = NSNotification.Name.NSPersistentStoreCoordinatorWillRemoveStore
    let center = NotificationCenter.default
    let tokens = [
      center.addObserver(forName: name, object: store, queue: nil) { note in
        let told = note.object as? NSPersistentStore
        heard.add("store \(told?.type ?? "-") \(told?.persistentStoreCoordinator != nil)")
      },
      center.addObserver(forName: name, object: coordinator, queue: nil) { _ in heard.add("coordinator") },
    ]
    defer { for token in tokens { center.removeObserver(token) } }
    try coordinator.remove(store)
    #expect(throws: CocoaError.self) { try coordinator.remove(store) }
    #expect(heard.texts.withLock { $0 } == ["store \(NSInMemoryStoreType) true"])
  }

  @Test("A list of fetched results ends when its store is removed")
  func removedUnderAList() throws {
    let stand = try BirdStand()
    let context = stand.context()
    BirdStand.bird("wren", 1, 1, nil, context)
    try context.save()
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let list = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    try list.performFetch()
    #expect(list.fetchedObjects?.count == 1)
    try stand.coordinator.remove(try #require(stand.coordinator.persistentStores.first))
    #expect(stand.coordinator.persistentStores.isEmpty)
  }

  @Test("Nothing of a lightweight migration is put off, whatever the option says")
  func deferredMigration() throws {
    let url = try Journal.makeFolder().appendingPathComponent("Birds.sqlite")
    let old = NSPersistentStoreCoordinator(managedObjectModel: BirdStand.model())
    try old.remove(
      try old.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil))
    let model = BirdStand.model()
    let note = NSAttributeDescription()
    note.name = "note"
    note.attributeType = .stringAttributeType
    let bird = try #require(model.entitiesByName["Bird"])
    bird.properties += [note]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
        NSPersistentStoreDeferredLightweightMigrationOptionKey: true,
      ])
    #expect(store.metadata[NSPersistentStoreDeferredLightweightMigrationOptionKey] == nil)
    #expect(
      model.isConfiguration(withName: nil, compatibleWithStoreMetadata: coordinator.metadata(for: store)))
    try coordinator.finishDeferredLightweightMigrationTask()
    try coordinator.finishDeferredLightweightMigration()
  }
}
