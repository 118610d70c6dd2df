import CoreData
import Foundation
import Testing

/// rule 329: what is left of a store that was destroyed.
@Suite("Destroyed stores")
struct DestroyedStoreTests {
  private let folder: URL
  private var url: URL { folder.appendingPathComponent("a.sqlite") }

  init() throws { folder = try Journal.makeFolder() }

  private func fill(_ coordinator: NSPersistentStoreCoordinator, _ title: String) throws {
    let context = NSManagedObjectContext(.confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    Entry(context: context).title = title
    try context.save()
  }

  @Test("Destroying what is not there succeeds, but not where the folder is missing")
  func missing() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    let lost = folder.appendingPathComponent("none/a.sqlite")
    #expect(throws: CocoaError.self) {
      try coordinator.destroyPersistentStore(at: lost, type: .sqlite, options: nil)
    }
    // There is no file in memory.
    try coordinator.destroyPersistentStore(at: lost, ofType: NSInMemoryStoreType)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test("An attached store is detached and emptied; the file stays and is opened as a new store")
  func attached() throws {
    let coordinator = try Journal.makeCoordinator(at: url)
    try fill(coordinator, "old")
    let old = coordinator.persistentStores[0].identifier
    try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    #expect(coordinator.persistentStores.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.sqlite"])
    let size = try #require(
      try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? NSNumber
    ).intValue
    #expect(size <= 2 * 65_536)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url)
    #expect(store.identifier != old)
    #expect(try Journal.savedTitles(coordinator) == [])
    try fill(coordinator, "new")
    #expect(try Journal.savedTitles(coordinator) == ["new"])
  }

  @Test("The file of a destroyed store holds no metadata, is not opened for reading only, and says why")
  func emptied() throws {
    let coordinator = try Journal.makeCoordinator(at: url)
    try fill(coordinator, "old")
    try coordinator.remove(coordinator.persistentStores[0])
    try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    let bytes = try Data(contentsOf: url)
    for attempt in 0..<2 {
      let error = #expect(throws: CocoaError.self) {
        if attempt == 0 {
          _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
        } else {
          try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: url,
            options: [NSReadOnlyPersistentStoreOption: true])
        }
      }
      #expect(error?.code == .fileReadCorruptFile)
      #expect(error?.localizedDescription.contains("was destroyed") ?? false, "\(error as Any)")
    }
    #expect(try Data(contentsOf: url) == bytes)
  }

  @Test(
    "A damaged store and a file that is no store are destroyed, too; an empty file of unknown origin stays refused"
  )
  func damaged() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    for content in [Data("no store at all".utf8), Data()] {
      try content.write(to: url)
      #expect(throws: CocoaError.self) {
        try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
      }
      try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url)
      try coordinator.remove(store)
    }
  }

  @Test("A backup is moved to the place of the store that was destroyed")
  func restored() throws {
    let backup = folder.appendingPathComponent("backup.sqlite")
    let coordinator = try Journal.makeCoordinator(at: url)
    try fill(coordinator, "saved")
    try coordinator.replacePersistentStore(at: backup, withPersistentStoreFrom: url, type: .sqlite)
    try fill(coordinator, "later")
    try coordinator.remove(coordinator.persistentStores[0])
    try #require(chmod(url.path, 0o640) == 0)
    try coordinator.destroyPersistentStore(at: url, type: .sqlite)
    let added = try coordinator.addPersistentStore(type: .sqlite, at: backup)
    let restored = try coordinator.migratePersistentStore(added, to: url, type: .sqlite)
    #expect(coordinator.persistentStores == [restored] && restored.url == url)
    #expect(try Journal.savedTitles(coordinator) == ["saved"])
    var status = stat()
    #expect(lstat(url.path, &status) == 0 && status.st_mode & 0o777 == 0o640)
    // Now there is a store, which is not replaced.
    let other = try Journal.makeCoordinator(at: backup)
    #expect(throws: CocoaError.self) {
      try other.migratePersistentStore(other.persistentStores[0], to: url, type: .sqlite)
    }
    #expect(try Journal.savedTitles(coordinator) == ["saved"])
  }

  @Test("A store is moved to no file that holds something; a destroyed one stays so when moving fails")
  func notRestored() throws {
    let source = folder.appendingPathComponent("b.sqlite")
    let coordinator = try Journal.makeCoordinator(at: source)
    let store = coordinator.persistentStores[0]
    try fill(coordinator, "kept")
    // Also a store without records is one.
    let empty = try Journal.makeCoordinator(at: url)
    try empty.remove(empty.persistentStores[0])
    let whole = try Data(contentsOf: url)
    for content in [whole, Data("no store at all".utf8), Data()] {
      try content.write(to: url)
      #expect(throws: CocoaError.self) {
        try coordinator.migratePersistentStore(store, to: url, type: .sqlite)
      }
      #expect(try Data(contentsOf: url) == content)
    }
    try coordinator.destroyPersistentStore(at: url, type: .sqlite)
    let left = try Data(contentsOf: url)
    // The copy cannot be opened: its model's version is not this one's.
    let model = Journal.makeModel()
    let note = NSAttributeDescription()
    note.name = "note"
    note.attributeType = .stringAttributeType
    let entity = try #require(model.entitiesByName["Entry"])
    entity.properties += [note]
    let newer = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.remove(store)
    let opened = try newer.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: source,
      options: [
        NSReadOnlyPersistentStoreOption: true, NSIgnorePersistentStoreVersioningOption: true,
      ])
    #expect(throws: CocoaError.self) { try newer.migratePersistentStore(opened, to: url, type: .sqlite) }
    #expect(newer.persistentStores == [opened])
    #expect(try Data(contentsOf: url) == left)
  }

  @Test("A store that another coordinator of the process has attached is not destroyed")
  func attachedElsewhere() throws {
    let other = try Journal.makeCoordinator(at: url)
    try fill(other, "kept")
    let coordinator = try Journal.makeCoordinator(at: url)
    #expect(throws: CocoaError.self) {
      try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    }
    #expect(coordinator.persistentStores.count == 1)
    #expect(try Journal.savedTitles(coordinator) == ["kept"])
    #expect(try Journal.savedTitles(other) == ["kept"])
  }

  @Test("`/dev/null` is a store in memory for every call")
  func nowhere() throws {
    let description = NSPersistentStoreDescription()
    #expect(description.url == URL(fileURLWithPath: "/dev/null"))
    #expect(description.type == NSSQLiteStoreType)
    let container = NSPersistentContainer(name: "Nowhere", managedObjectModel: Journal.makeModel())
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect(failure == nil)
    let coordinator = container.persistentStoreCoordinator
    let store = try #require(coordinator.persistentStores.first)
    #expect(store.url == URL(fileURLWithPath: "/dev/null") && store.type == NSSQLiteStoreType)
    try fill(coordinator, "nowhere")
    #expect(try Journal.savedTitles(coordinator) == ["nowhere"])
    // Each has a store of its own.
    let other = try Journal.makeCoordinator(at: URL(fileURLWithPath: "/dev/null"))
    #expect(try Journal.savedTitles(other) == [])
    let null = URL(fileURLWithPath: "/dev/null")
    // Who is told that it was destroyed deletes the file.
    #expect(throws: CocoaError.self) {
      try other.destroyPersistentStore(at: null, ofType: NSSQLiteStoreType)
    }
    #expect(other.persistentStores.count == 1)
    try other.destroyPersistentStore(at: null, ofType: NSInMemoryStoreType)
    try other.destroyPersistentStore(at: null.appendingPathComponent("Name"), ofType: NSSQLiteStoreType)
    #expect(throws: CocoaError.self) {
      try other.replacePersistentStore(at: null, withPersistentStoreFrom: null, type: .sqlite)
    }
    #expect(throws: CocoaError.self) {
      try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: null)
    }
    var status = stat()
    #expect(lstat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    let copy = try #require(description.copy() as? NSPersistentStoreDescription)
    #expect(copy.url == description.url)
  }
}
