import CoreData
import Foundation
import Testing

@Suite("Contexts that get their coordinator late")
struct LateBindingTests {
  @Test("Settings made before the coordinator is there hold afterwards")
  func settings() throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.name = "importer"
    context.transactionAuthor = "tests"
    context.undoManager = nil
    context.stalenessInterval = 0
    context.shouldDeleteInaccessibleFaults = true
    context.automaticallyMergesChangesFromParent = true
    context.mergePolicy = NSMergeByPropertyStoreTrumpMergePolicy
    context.performAndWait {
      context.retainsRegisteredObjects = true
      context.userInfo["held"] = "x"
      #expect(!context.hasChanges && context.registeredObjects.isEmpty)
      #expect(throws: Never.self) { try context.save() }
    }
    let coordinator = try Journal.makeCoordinator(at: nil)
    context.persistentStoreCoordinator = coordinator
    // The same once more changes nothing.
    context.persistentStoreCoordinator = coordinator
    #expect(context.name == "importer" && context.transactionAuthor == "tests")
    #expect(context.mergePolicy as? NSMergePolicy === NSMergePolicy.mergeByPropertyStoreTrump)
    try context.performAndWait {
      #expect(context.userInfo["held"] as? String == "x" && context.retainsRegisteredObjects)
      let entry = Entry(context: context)
      entry.title = "a"
      try context.save()
    }
    #expect(try Journal.savedTitles(coordinator) == ["a"])
  }

  @Test("Rule 2: a whole stack put together from the top; a child of a child has the coordinator too")
  func fromTheTop() throws {
    let contexts = (0..<4).map { _ in NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType) }
    for (child, parent) in zip(contexts, contexts.dropFirst()) { child.parent = parent }
    #expect(contexts.allSatisfy { $0.persistentStoreCoordinator == nil })
    let coordinator = try Journal.makeCoordinator(at: nil)
    contexts[3].persistentStoreCoordinator = coordinator
    #expect(contexts.allSatisfy { $0.persistentStoreCoordinator === coordinator })
    try contexts[0].performAndWait {
      Entry(context: contexts[0]).title = "deep"
      try contexts[0].save()
    }
    #expect(try contexts[1].performAndWait { try Journal.titles(contexts[1]) } == ["deep"])
    #expect(try contexts[3].performAndWait { try Journal.titles(contexts[3]) } == [])
    for context in contexts.dropFirst() { try context.performAndWait { try context.save() } }
    #expect(try Journal.savedTitles(coordinator) == ["deep"])
  }

  @Test("Rule 11: taken off its coordinator, a context has nothing any more, and may get another one")
  func takenOff() throws {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
    let entry = Entry(context: context)
    entry.title = "a"
    try context.save()
    context.persistentStoreCoordinator = nil
    #expect(context.persistentStoreCoordinator == nil && entry.managedObjectContext == nil)
    #expect(context.registeredObjects.isEmpty && !context.hasChanges)
    let second = try Journal.makeCoordinator(at: nil)
    context.persistentStoreCoordinator = second
    Entry(context: context).title = "b"
    try context.save()
    #expect(try Journal.savedTitles(second) == ["b"])
  }

  @Test(
    "An exchanged coordinator or parent, and a context as a parent of its own, stop the process with advice")
  func traps() async throws {
    await #expect(processExitsWith: .failure) {
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
      context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
    }
    await #expect(processExitsWith: .failure) {
      let (a, b) = (NSManagedObjectContext(.privateQueue), NSManagedObjectContext(.privateQueue))
      a.parent = b
      b.parent = a
    }
    await #expect(processExitsWith: .failure) {
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
      context.parent = NSManagedObjectContext(.privateQueue)
    }
  }
}
