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
}
