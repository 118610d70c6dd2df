import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// States of a store that are pinned.
@Suite struct PinnedTests {
  @Test func aFetchThatIsStoppedLeavesThePinnedStateInUse() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let subject = try #require(stand.coordinator.managedObjectModel.entitiesByName["Subject"])
    for name in ["a", "b", "c"] {
      ManagedObject(entity: subject, insertInto: context).setValue(name, forKey: "name")
    }
    try context.save()
    let snapshot = try #require(try stand.store.makeSnapshot())
    defer { snapshot.release() }
    // The server cannot decide it: rows come through a cursor.
    let request = try FetchRequest<ManagedObjectID>(
      entityName: "Subject", predicate: FetchPredicate(format: "name MATCHES '[ab]'"))
    var resolved = try ResolvedFetchRequest(request, schema: stand.store.mapping.schema)
    let monitor = FetchMonitor()
    monitor.stop()
    resolved.monitor = monitor
    #expect(throws: CancellationError.self) { try snapshot.fetch(resolved, mode: .rows) }
    resolved.monitor = nil
    #expect(try snapshot.fetch(resolved, mode: .rows).count == 2)
    #expect(try snapshot.fetch(resolved, mode: .identifiers).count == 2)
  }
}
