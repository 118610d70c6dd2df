import Foundation
import Testing

@testable import StrataCore

/// `flush()`: what it refuses, and that it disturbs nothing. That it makes saves durable is shown by power cuts (`PowerCutTests`).
struct FlushTests {
  private func options(_ durability: Durability, isReadOnly: Bool = false) -> LMDBStoreOptions {
    var options = LMDBStoreOptions()
    options.durability = durability
    options.isReadOnly = isReadOnly
    return options
  }

  @Test(arguments: Durability.allCases)
  func aStoreIsFlushedAgainAndAgain(durability: Durability) throws {
    let fixture = try StoreFixture(options: options(durability))
    let commit = try fixture.store.commitNumber()
    for _ in 0..<3 { try fixture.store.flush() }
    #expect(try fixture.store.commitNumber() == commit)
  }

  @Test func storesInMemoryAndReadOnlyOnesHaveNothingToFlush() throws {
    let inMemory = try StoreFixture(inMemory: true)
    try inMemory.store.flush()
    let fixture = try StoreFixture()
    try fixture.reopen(options: options(.full, isReadOnly: true))
    try fixture.store.flush()
  }

  @Test func aClosedStoreIsNotFlushed() throws {
    let fixture = try StoreFixture()
    fixture.close()
    #expect(try storageError { try fixture.store.flush() }.kind == .closed)
  }

  @Test func aCoordinatorFlushesItsStores() throws {
    let fixture = try StoreFixture(options: options(.relaxed))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: fixture.schema.model)
    try coordinator.attach(fixture.store)
    try coordinator.flush()
    fixture.close()
    #expect(try storageError { try coordinator.flush() }.kind == .closed)
  }
}
