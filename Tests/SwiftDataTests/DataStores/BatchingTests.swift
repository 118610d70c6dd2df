import Foundation
import SwiftData
import Testing
import struct StrataCore.Mutex

/// All models of a store in memory, which deletes a whole class itself when it is asked to.
final class MemoryShelf: Sendable {
  struct State {
    var snapshots: [PersistentIdentifier: DefaultSnapshot] = [:]
    var lastKey = 0
    var calls: [String] = []
    var refusesSaves = false
  }
  let state = Mutex(State())
  let name = "memory-\(UUID().uuidString)"
  func takeCalls() -> [String] {
    state.withLock { state in
      defer { state.calls = [] }
      return state.calls
    }
  }
  func count(_ entity: String) -> Int {
    state.withLock { $0.snapshots.keys.count { $0.entityName == entity } }
  }
}

struct MemoryConfiguration: DataStoreConfiguration {
  typealias Store = MemoryDataStore
  var name = "memory"
  var schema: Schema?
  let shelf: MemoryShelf
  static func == (lhs: Self, rhs: Self) -> Bool { lhs.shelf === rhs.shelf }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(shelf)) }
}

final class MemoryDataStore: DataStoreBatching {
  typealias Configuration = MemoryConfiguration
  typealias Snapshot = DefaultSnapshot

  let configuration: MemoryConfiguration
  let schema: Schema
  private let shelf: MemoryShelf
  var identifier: String { shelf.name }

  init(_ configuration: MemoryConfiguration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws {
    self.configuration = configuration
    schema = configuration.schema ?? Schema()
    shelf = configuration.shelf
  }

  func fetch<T>(_ request: DataStoreFetchRequest<T>) throws -> DataStoreFetchResult<T, DefaultSnapshot>
  where T: PersistentModel {
    if request.descriptor.predicate != nil { throw DataStoreError.preferInMemoryFilter }
    if !request.descriptor.sortBy.isEmpty { throw DataStoreError.preferInMemorySort }
    let all = shelf.state.withLock { $0.snapshots }
    let name = Schema.entityName(for: T.self)
    return DataStoreFetchResult(
      descriptor: request.descriptor,
      fetchedSnapshots: all.values.filter { $0.persistentIdentifier.entityName == name },
      relatedSnapshots: all)
  }

  func save(_ request: DataStoreSaveChangesRequest<DefaultSnapshot>) throws
    -> DataStoreSaveChangesResult<DefaultSnapshot>
  {
    try shelf.state.withLock { state in
      state.calls.append("save of \(request.deleted.count) deleted")
      if state.refusesSaves { throw CocoaError(.fileWriteOutOfSpace) }
      var remapped: [PersistentIdentifier: PersistentIdentifier] = [:]
      for snapshot in request.inserted {
        state.lastKey += 1
        remapped[snapshot.persistentIdentifier] = try PersistentIdentifier.identifier(
          for: identifier, entityName: snapshot.persistentIdentifier.entityName, primaryKey: state.lastKey)
      }
      for snapshot in request.inserted + request.updated {
        let id = remapped[snapshot.persistentIdentifier] ?? snapshot.persistentIdentifier
        state.snapshots[id] = snapshot.copy(persistentIdentifier: id, remappedIdentifiers: remapped)
      }
      for snapshot in request.deleted { state.snapshots[snapshot.persistentIdentifier] = nil }
      return DataStoreSaveChangesResult(for: identifier, remappedIdentifiers: remapped)
    }
  }

  func delete<T>(_ request: DataStoreBatchDeleteRequest<T>) throws where T: PersistentModel {
    let name = Schema.entityName(for: T.self)
    shelf.state.withLock { state in
      state.calls.append("deletion of \(name)")
      state.snapshots = state.snapshots.filter { $0.key.entityName != name }
    }
  }
}

@Suite("Deletion by a condition in stores that have it themselves")
struct BatchingTests {
  private let shelf = MemoryShelf()

  private func open() throws -> ModelContainer {
    try ModelContainer(for: Voyage.self, configurations: MemoryConfiguration(shelf: shelf))
  }

  /// Three voyages, two of them with two legs each and a guest.
  private func fill(_ context: ModelContext) throws {
    let guest = Guest("Ada")
    for (name, count) in [("a", 2), ("b", 2), ("c", 0)] {
      let voyage = Voyage(name)
      context.insert(voyage)
      for number in 0..<count { voyage.legs.append(Leg("\(name)\(number)")) }
      if count > 0 { voyage.guests.append(guest) }
    }
    try context.save()
    _ = shelf.takeCalls()
  }

  @Test(
    "S43, S48: what delete rules take with it goes in one save, and the store is not asked for the class alone"
  )
  func cascade() throws {
    let container = try open()
    let (context, sibling) = (ModelContext(container), ModelContext(container))
    try fill(context)
    let legs = try sibling.fetch(FetchDescriptor<Leg>())
    let guest = try #require(try sibling.fetch(FetchDescriptor<Guest>()).first)
    #expect(legs.count == 4 && guest.voyages.count == 2)
    try context.delete(model: Voyage.self)
    #expect(shelf.takeCalls() == ["save of 7 deleted"])
    #expect(shelf.count("Voyage") == 0 && shelf.count("Leg") == 0 && shelf.count("Guest") == 1)
    #expect(try sibling.fetchCount(FetchDescriptor<Leg>()) == 0)
    #expect(legs.allSatisfy { $0.modelContext == nil })
    #expect(guest.voyages.isEmpty)
    #expect(try context.fetchCount(FetchDescriptor<Voyage>()) == 0)
  }

  @Test("S43, S48: of some of the models, with what belongs to them")
  func some() throws {
    let container = try open()
    let context = ModelContext(container)
    try fill(context)
    try context.delete(model: Voyage.self, where: #Predicate { $0.name == "a" })
    #expect(shelf.takeCalls() == ["save of 3 deleted"])
    let other = ModelContext(container)
    let left = try other.fetch(FetchDescriptor<Leg>(sortBy: [SortDescriptor(\.title)]))
    #expect(left.map(\.title) == ["b0", "b1"])
    #expect(left.allSatisfy { $0.voyage?.name == "b" })
  }

  @Test("S48: nothing else goes: the store deletes the class itself")
  func alone() throws {
    let container = try open()
    let (context, sibling) = (ModelContext(container), ModelContext(container))
    for name in ["x", "y"] { context.insert(Voyage(name)) }
    context.insert(Guest("Ada"))
    try context.save()
    let seen = try sibling.fetch(FetchDescriptor<Voyage>())
    _ = shelf.takeCalls()
    try context.delete(model: Voyage.self)
    #expect(shelf.takeCalls() == ["deletion of Voyage"])
    #expect(shelf.count("Voyage") == 0 && shelf.count("Guest") == 1)
    sibling.processPendingChanges()
    #expect(seen.count == 2 && seen.allSatisfy { $0.modelContext == nil })
  }

  @Test("S33, S48: a refused deletion throws what the store throws, and everything stays")
  func refused() throws {
    let container = try open()
    let context = ModelContext(container)
    try fill(context)
    shelf.state.withLock { $0.refusesSaves = true }
    #expect(throws: CocoaError(.fileWriteOutOfSpace)) { try context.delete(model: Voyage.self) }
    #expect(shelf.count("Voyage") == 3 && shelf.count("Leg") == 4)
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Leg>()) == 4)
    shelf.state.withLock { $0.refusesSaves = false }
    try context.delete(model: Voyage.self)
    #expect(shelf.count("Leg") == 0)
  }
}
