import Foundation
import Strata

/// The ways to import beside a main context that scrolls (the stacks of Docs/Concurrency.md).
enum Stack: String, CaseIterable {
  /// A background context on the coordinator; its saves are merged into the main context.
  case siblings = "B siblings"
  /// A child of the main context, which saves without stopping.
  case childOfMain = "C child of main"
  /// A worker above main above a private writer.
  case writer = "D writer ← main ← worker"
}

/// What one run of one stack took.
struct StackResult {
  var seconds = 0.0
  /// The longest time the main queue was held.
  var stall = 0.0
  var fetches = 0
  /// Growth of the process's private memory, in bytes.
  var memory = 0
}

@MainActor
struct StackRun {
  let stack: Stack
  let flights: [Flight]
  let directory: URL
  static let batch = 250

  func run() async throws -> StackResult {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let container = PersistentContainer(name: "Flights", model: FlightObject.model)
    var description = PersistentStoreDescription.measured(directory.appendingPathComponent("flights.strata"))
    description.durability = .full
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
    var result = StackResult()
    let memory = ResidentSet.current().anonymous
    let clock = ContinuousClock()
    let (main, write): (ManagedObjectContext, @Sendable () async throws -> Void)
    let worker: ManagedObjectContext
    var writing: Task<Void, any Error>?
    switch stack {
    case .siblings:
      main = container.viewContext
      main.automaticallyMergesChangesFromParent = true
      worker = container.newBackgroundContext()
      write = {}
    case .childOfMain:
      main = container.viewContext
      worker = ManagedObjectContext(.privateQueue, parent: main)
      write = { [main] in try await main.saveAsynchronously() }
    case .writer:
      let stack = AsynchronousStack(container, autosaveDelay: nil)
      main = stack.main
      worker = stack.newWorker()
      write = { try await stack.save() }
    }
    let scrolling = Scrolling(main)
    let watch = MainThreadWatch()
    let start = clock.now
    for first in stride(from: 0, to: flights.count, by: Self.batch) {
      let part = flights[first..<min(first + Self.batch, flights.count)]
      try await worker.perform {
        for flight in part { FlightObject.make(flight, in: worker) }
        try worker.save()
      }
      // The worker goes on while what it has saved goes down to the disk, one batch behind.
      let previous = writing
      writing = Task { try await write() }
      try await previous?.value
    }
    try await writing?.value
    result.seconds = (clock.now - start).seconds
    result.stall = await watch.stop()
    try scrolling.stop()
    result.fetches = scrolling.fetches
    result.memory = ResidentSet.current().anonymous - memory
    let check = container.newBackgroundContext()
    let stored = try await check.perform {
      try check.count(for: FetchRequest<FlightObject>(entityName: "Flight"))
    }
    guard stored == flights.count else {
      throw BenchmarkError("\(stack.rawValue) stored \(stored) of \(flights.count) rows")
    }
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
    return result
  }
}
