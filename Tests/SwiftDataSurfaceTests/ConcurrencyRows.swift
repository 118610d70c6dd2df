import SwiftData
import Testing
import struct StrataCore.Mutex

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

/// An executor that counts the jobs it is given.
final class CountingExecutor: SerialModelExecutor {
  private let base: DefaultSerialModelExecutor
  let jobs = Mutex(0)
  init(_ container: ModelContainer) {
    base = DefaultSerialModelExecutor(modelContext: ModelContext(container))
  }
  var modelContext: ModelContext { base.modelContext }
  func enqueue(_ job: consuming ExecutorJob) {
    jobs.withLock { $0 += 1 }
    base.enqueue(job)
  }
  func asUnownedSerialExecutor() -> UnownedSerialExecutor { base.asUnownedSerialExecutor() }
}

actor CountingActor: ModelActor {
  nonisolated let modelContainer: ModelContainer
  nonisolated let executor: CountingExecutor
  nonisolated var modelExecutor: any ModelExecutor { executor }
  nonisolated var unownedExecutor: UnownedSerialExecutor { UnownedSerialExecutor(ordinary: executor) }

  init(container: ModelContainer) {
    modelContainer = container
    executor = CountingExecutor(container)
  }

  func countModels() -> Int? { try? modelContext.fetchCount(FetchDescriptor<Trip>()) }
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

  @Test("extension ModelActor: unownedExecutor; DefaultSerialModelExecutor: enqueue, asUnownedSerialExecutor")
  func executors() async throws {
    let actor = Handmade(container: try makeContainer())
    let executor = try #require(actor.modelExecutor as? DefaultSerialModelExecutor)
    let (asked, own): (UnownedSerialExecutor, UnownedSerialExecutor) = (
      actor.unownedExecutor, executor.asUnownedSerialExecutor()
    )
    // Executors cannot be compared: each is a reference and what it conforms by.
    #expect(withUnsafeBytes(of: asked) { Array($0) } == withUnsafeBytes(of: own) { Array($0) })
    // Jobs come to the executor by way of the function that this one hands them on to.
    let counting = CountingActor(container: try makeContainer())
    #expect(await counting.countModels() == 0)
    #expect(counting.executor.jobs.withLock { $0 } > 0)
  }
}
