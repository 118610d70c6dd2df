import SwiftData
import Testing

/// An actor as it is written without the macro.
actor Handmade: ModelActor {
  nonisolated let modelContainer: ModelContainer
  nonisolated let modelExecutor: any ModelExecutor

  init(container: ModelContainer) {
    modelContainer = container
    modelExecutor = DefaultSerialModelExecutor(modelContext: ModelContext(container))
  }

  func insert(_ name: String) throws -> PersistentIdentifier {
    let trip = Trip(name: name)
    modelContext.insert(trip)
    try modelContext.save()
    return trip.persistentModelID
  }

  func name(_ identifier: PersistentIdentifier) -> String? { self[identifier, as: Trip.self]?.name }
  func hotel(_ identifier: PersistentIdentifier) -> String? { self[identifier, as: Stay.self]?.hotel }
  func isOnMainThread() -> Bool { Thread.isMainThread }
}

@Suite("Concurrency")
struct ConcurrencyRows {
  @Test("protocols ModelActor, ModelExecutor, SerialModelExecutor; class DefaultSerialModelExecutor")
  func actors() async throws {
    let actor = Handmade(container: try makeContainer())
    let identifier = try await actor.insert("a")
    #expect(await actor.name(identifier) == "a")
    #expect(await actor.hotel(identifier) == nil)
    #expect(await !actor.isOnMainThread())
    let executor: any ModelExecutor = actor.modelExecutor
    #expect(executor is any SerialModelExecutor && executor is DefaultSerialModelExecutor)
    #expect(actor.modelContainer.schema.entitiesByName["Trip"] != nil)
  }
}
