import CoreData
import Foundation
import Testing

@Suite("Coordinators and stores by Apple's names")
struct StoreTests {
  @Test("A store's type, options, metadata, URL and coordinator; one object per store")
  func store() throws {
    let url = try Journal.makeFolder().appendingPathComponent("Journal.sqlite")
    let coordinator = try Journal.makeCoordinator(at: url)
    let store = try #require(coordinator.persistentStores.first)
    #expect(store.type == NSSQLiteStoreType && store.url == url && !store.isReadOnly)
    #expect(
      store === coordinator.persistentStore(for: url) && store.persistentStoreCoordinator === coordinator)
    #expect(store.options?[NSMigratePersistentStoresAutomaticallyOption] as? Bool == true)
    #expect(coordinator.url(for: store) == url)
    var metadata = coordinator.metadata(for: store)
    #expect(metadata[NSStoreUUIDKey] as? String == store.identifier)
    #expect(metadata[NSStoreTypeKey] as? String == NSSQLiteStoreType)
    metadata["launches"] = 3
    metadata["one"] = NSNumber(value: 1)
    metadata["yes"] = NSNumber(value: true)
    metadata["half"] = NSNumber(value: Float(0.5))
    coordinator.setMetadata(metadata, for: store)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait { try context.save() }
    try coordinator.remove(store)
    #expect(coordinator.persistentStores.isEmpty && store.persistentStoreCoordinator == nil)
    let stored = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url, options: nil)
    #expect(stored["launches"] as? Int == 3)
    func kind(_ key: String) -> String? { (stored[key] as? NSNumber).map { String(cString: $0.objCType) } }
    #expect(kind("one") != "c" && kind("yes") == "c" && kind("half") == "d", "numbers keep their kinds")
    #expect(Journal.makeModel().isConfiguration(withName: nil, compatibleWithStoreMetadata: stored))
    try NSPersistentStoreCoordinator.setMetadata(["launches": 4], type: .sqlite, at: url)
    #expect(
      try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)["launches"] as? Int
        == 4)
    #expect(throws: CocoaError.self) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(
        type: .sqlite, at: url.appendingPathExtension("none"))
    }
  }

  @Test("A store is moved to another file with all it holds; IDs stay")
  func moved() throws {
    let folder = try Journal.makeFolder()
    let coordinator = try Journal.makeCoordinator(at: folder.appendingPathComponent("a.sqlite"))
    let context = NSManagedObjectContext(.confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let entry = Entry(context: context)
    entry.title = "kept"
    try context.save()
    let uri = entry.objectID.uriRepresentation()
    context.reset()
    let old = coordinator.persistentStores[0]
    let url = folder.appendingPathComponent("b.sqlite")
    let new = try coordinator.migratePersistentStore(old, to: url, type: .sqlite)
    #expect(coordinator.persistentStores == [new] && new.url == url)
    let id = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
    #expect((try context.existingObject(with: id) as? Entry)?.title == "kept")
    Entry(context: context).title = "later"
    try context.save()
    try coordinator.remove(new)
    #expect(try Journal.savedTitles(Journal.makeCoordinator(at: url)) == ["kept", "later"])
    #expect(
      try Journal.savedTitles(Journal.makeCoordinator(at: folder.appendingPathComponent("a.sqlite"))) == [
        "kept"
      ])
    #expect(throws: CocoaError.self) {
      let again = try Journal.makeCoordinator(at: folder.appendingPathComponent("a.sqlite"))
      try again.migratePersistentStore(
        again.persistentStores[0], to: url, options: nil, withType: NSSQLiteStoreType)
    }
  }

  @Test("A store that cannot be opened at its new place stays attached, and no copy of it is left")
  func notMoved() throws {
    let folder = try Journal.makeFolder()
    let (a, b) = (folder.appendingPathComponent("a.sqlite"), folder.appendingPathComponent("b.sqlite"))
    let first = try Journal.makeCoordinator(at: a)
    try first.remove(first.persistentStores[0])
    let model = Journal.makeModel()
    let note = NSAttributeDescription()
    note.name = "note"
    note.attributeType = .stringAttributeType
    let entity = try #require(model.entitiesByName["Entry"])
    entity.properties += [note]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options: [AnyHashable: Any] = [
      NSReadOnlyPersistentStoreOption: true, NSIgnorePersistentStoreVersioningOption: true,
    ]
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: a, options: options)
    #expect(throws: CocoaError.self) {
      try coordinator.migratePersistentStore(store, to: b, type: .sqlite)
    }
    #expect(coordinator.persistentStores == [store])
    #expect(!FileManager.default.fileExists(atPath: b.path))
    let moved = try coordinator.migratePersistentStore(store, to: b, options: options, type: .sqlite)
    #expect(coordinator.persistentStores == [moved] && moved.url == b)
  }

  @Test("A store in memory is moved to a file, and saves go on there")
  func movedFromMemory() throws {
    let url = try Journal.makeFolder().appendingPathComponent("a.sqlite")
    let coordinator = try Journal.makeCoordinator(at: nil)
    let context = NSManagedObjectContext(.confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    Entry(context: context).title = "kept"
    try context.save()
    context.reset()
    #expect(throws: CocoaError.self) {
      try coordinator.migratePersistentStore(
        coordinator.persistentStores[0], to: url.appendingPathComponent("nowhere"), type: .sqlite)
    }
    Entry(context: context).title = "later"
    try context.save()
    context.reset()
    let moved = try coordinator.migratePersistentStore(
      coordinator.persistentStores[0], to: url, type: .sqlite)
    #expect(coordinator.persistentStores == [moved])
    Entry(context: context).title = "last"
    try context.save()
    #expect(try Journal.savedTitles(coordinator) == ["kept", "last", "later"])
  }

  @Test("A read-only store refuses saves; a destroyed one is empty; one can be put in another's place")
  func wholeStores() throws {
    let folder = try Journal.makeFolder()
    let (a, b) = (folder.appendingPathComponent("a.sqlite"), folder.appendingPathComponent("b.sqlite"))
    for (url, title) in [(a, "of a"), (b, "of b")] {
      let coordinator = try Journal.makeCoordinator(at: url)
      let context = NSManagedObjectContext(.confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      Entry(context: context).title = title
      try context.save()
      try coordinator.remove(coordinator.persistentStores[0])
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    try coordinator.replacePersistentStore(at: a, withPersistentStoreFrom: b, type: .sqlite)
    let description = NSPersistentStoreDescription(url: a)
    description.isReadOnly = true
    description.timeout = 1
    var failure: (any Error)?
    coordinator.addPersistentStore(with: description) { _, error in failure = error }
    #expect(failure == nil && coordinator.persistentStores.first?.isReadOnly == true)
    #expect(try Journal.savedTitles(coordinator) == ["of b"])
    let context = NSManagedObjectContext(.confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try #require(try Journal.entries(context).first).title = "changed"
    #expect(throws: CocoaError.self) { try context.save() }
    try coordinator.remove(coordinator.persistentStores[0])
    try coordinator.destroyPersistentStore(at: a, type: .sqlite, options: nil)
    #expect(FileManager.default.fileExists(atPath: a.path))
    #expect(try Journal.savedTitles(Journal.makeCoordinator(at: a)) == [])
  }

  @Test("Adding and removing stores posts notifications")
  func notifications() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    let told = Told()
    let token = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreCoordinatorStoresDidChange, object: coordinator, queue: nil
    ) { notification in
      told.keys.append(
        notification.userInfo?[NSAddedPersistentStoresKey] != nil
          ? NSAddedPersistentStoresKey : NSRemovedPersistentStoresKey)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    try coordinator.remove(coordinator.persistentStores[0])
    #expect(told.keys == [NSAddedPersistentStoresKey, NSRemovedPersistentStoresKey])
  }

  /// What one thread was notified of.
  private final class Told: @unchecked Sendable { var keys: [String] = [] }
}
