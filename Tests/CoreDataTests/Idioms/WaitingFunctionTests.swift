import CoreData
import Foundation
import Testing

/// What the overlays of queues do, and code for Core Data has copied: a block that may throw and return is run by a function that takes neither.
private func helped<T>(
  fn: (() -> Void) -> Void, execute work: () throws -> T, rescue: (any Error) throws -> T
) rethrows -> T {
  var result: T?
  var failure: (any Error)?
  withoutActuallyEscaping(work) { work in
    fn {
      do { result = try work() } catch { failure = error }
    }
  }
  if let failure { return try rescue(failure) }
  // Set: the block was run, and has not thrown.
  return result!
}

extension NSManagedObjectContext {
  fileprivate func waited<T>(_ block: () throws -> T) rethrows -> T {
    try helped(fn: performAndWait, execute: block, rescue: { throw $0 })
  }
}

extension NSPersistentStoreCoordinator {
  fileprivate func waited<T>(_ block: () throws -> T) rethrows -> T {
    try helped(fn: performAndWait, execute: block, rescue: { throw $0 })
  }
}

@Suite("performAndWait as a function of blocks that neither return nor throw")
struct WaitingFunctionTests {
  private struct Refusal: Error {}

  @Test("A context and a coordinator hand it out; values and errors come through a helper")
  func helpers() throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let count = try context.waited { () throws in
      Entry(context: context).title = "a"
      try context.save()
      return try Journal.titles(context).count
    }
    #expect(count == 1)
    #expect(throws: Refusal.self) { try context.waited { () throws -> Void in throw Refusal() } }
    let stores = coordinator.waited { coordinator.persistentStores.count }
    #expect(stores == 1)
    #expect(throws: Refusal.self) { try coordinator.waited { () throws -> Void in throw Refusal() } }
  }

  @Test("Closures of every form find one method")
  func forms() throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
    var runs = 0
    context.performAndWait { runs += 1 }
    context.performAndWait {
      runs += 1
      runs += 1
    }
    let five = context.performAndWait { 5 }
    let text = context.performAndWait { () -> String in
      runs += 1
      return "x"
    }
    let none: Int? = context.performAndWait { nil }
    let block: () -> Void = { runs += 1 }
    context.performAndWait(block)
    try context.performAndWait { try context.save() }
    #expect(runs == 5 && five == 5 && text == "x" && none == nil)
  }
}
