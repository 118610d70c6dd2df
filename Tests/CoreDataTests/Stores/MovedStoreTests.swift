import CoreData
import Foundation
import Synchronization
import Testing

@testable import StrataCore

@Suite("Stores that are moved")
struct MovedStoreTests {
  @Test("What is saved between the copy of a store and its exchange fails")
  func savedBehindTheCopy() throws {
    let folder = try Journal.makeFolder()
    let coordinator = try Journal.makeCoordinator(at: folder.appendingPathComponent("a.sqlite"))
    let url = folder.appendingPathComponent("b.sqlite")
    let outcomes = Mutex<[Bool]>([])
    // The copy is complete when it is opened for the first time.
    MigrationHooks.set(
      { place in
        guard place == .compared, outcomes.withLock({ $0.isEmpty }) else { return }
        let own = NSManagedObjectContext(.privateQueue)
        own.persistentStoreCoordinator = coordinator
        var hasSaved = true
        do {
          try own.performAndWait {
            Entry(context: own).title = "lost"
            try own.save()
          }
        } catch { hasSaved = false }
        outcomes.withLock { $0.append(hasSaved) }
      }, for: url.path)
    defer { MigrationHooks.set(nil, for: url.path) }
    let new = try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: url, type: .sqlite)
    #expect(outcomes.withLock { $0 } == [false])
    try coordinator.remove(new)
    #expect(try Journal.savedTitles(Journal.makeCoordinator(at: url)) == [])
  }

  private func save(_ title: String, _ coordinator: NSPersistentStoreCoordinator) throws {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      Entry(context: context).title = title
      try context.save()
    }
  }

  @Test("A coordinator of its own makes a backup of a store that is in use, and each goes on with its file")
  func backupOfAStoreInUse() throws {
    let folder = try Journal.makeFolder()
    let (a, b) = (folder.appendingPathComponent("a.sqlite"), folder.appendingPathComponent("b.sqlite"))
    let live = try Journal.makeCoordinator(at: a)
    try save("before", live)
    let own = try Journal.makeCoordinator(at: a)
    let backup = try own.migratePersistentStore(own.persistentStores[0], to: b, type: .sqlite)
    #expect(own.persistentStores == [backup] && backup.url == b)
    try save("after", live)
    try save("to the copy", own)
    #expect(try Journal.savedTitles(live) == ["after", "before"])
    #expect(try Journal.savedTitles(own) == ["before", "to the copy"])
    try own.remove(backup)
    try live.remove(live.persistentStores[0])
    #expect(try Journal.savedTitles(Journal.makeCoordinator(at: a)) == ["after", "before"])
    #expect(try Journal.savedTitles(Journal.makeCoordinator(at: b)) == ["before", "to the copy"])
  }

  @Test("What another coordinator saves while the store is moved is in the old file")
  func savedByAnotherMeanwhile() throws {
    let folder = try Journal.makeFolder()
    let (a, b) = (folder.appendingPathComponent("a.sqlite"), folder.appendingPathComponent("b.sqlite"))
    let other = try Journal.makeCoordinator(at: a)
    let coordinator = try Journal.makeCoordinator(at: a)
    let outcomes = Mutex<[Bool]>([])
    // The copy is complete when it is opened for the first time.
    MigrationHooks.set(
      { place in
        guard place == .compared, outcomes.withLock({ $0.isEmpty }) else { return }
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = other
        var hasSaved = true
        do {
          try context.performAndWait {
            Entry(context: context).title = "meanwhile"
            try context.save()
          }
        } catch { hasSaved = false }
        outcomes.withLock { $0.append(hasSaved) }
      }, for: b.path)
    defer { MigrationHooks.set(nil, for: b.path) }
    try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: b, type: .sqlite)
    #expect(outcomes.withLock { $0 } == [true])
    #expect(try Journal.savedTitles(coordinator) == [])
    #expect(try Journal.savedTitles(other) == ["meanwhile"])
  }

  @Test("Metadata that awaits the next save is moved with the store", arguments: [true, false])
  func pendingMetadata(isInMemory: Bool) throws {
    let folder = try Journal.makeFolder()
    let there = folder.appendingPathComponent("b.sqlite")
    let coordinator = try Journal.makeCoordinator(
      at: isInMemory ? nil : folder.appendingPathComponent("a.sqlite"))
    let store = coordinator.persistentStores[0]
    var metadata = coordinator.metadata(for: store)
    metadata["note"] = "pending"
    coordinator.setMetadata(metadata, for: store)
    // When nothing is moved, it goes on waiting.
    #expect(throws: CocoaError.self) {
      try coordinator.migratePersistentStore(
        store, to: folder.appendingPathComponent("none/b.sqlite"), type: .sqlite)
    }
    #expect(coordinator.metadata(for: store)["note"] as? String == "pending")
    let moved = try coordinator.migratePersistentStore(store, to: there, type: .sqlite)
    #expect(coordinator.metadata(for: moved)["note"] as? String == "pending")
    #expect(moved.identifier == coordinator.metadata(for: moved)[NSStoreUUIDKey] as? String)
    try coordinator.remove(moved)
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: there)
    #expect(read["note"] as? String == "pending")
  }

  @Test("A store that is attached no more is not moved, and the error says why")
  func detached() throws {
    let folder = try Journal.makeFolder()
    let coordinator = try Journal.makeCoordinator(at: folder.appendingPathComponent("a.sqlite"))
    let store = coordinator.persistentStores[0]
    try coordinator.remove(store)
    for type in [NSSQLiteStoreType, NSInMemoryStoreType] {
      let error = #expect(throws: CocoaError.self) {
        try coordinator.migratePersistentStore(
          store, to: folder.appendingPathComponent("b.sqlite"), options: nil, withType: type)
      }
      #expect(error?.errorCode == 134_070)
      #expect(error?.localizedDescription.contains("not attached") ?? false, "\(error as Any)")
    }
  }
}
