import Dispatch
import Foundation
import Strata

/// Imports all flights three more times, each time into a store of its own and by another stack of contexts, while the main
/// context shows a list that scrolls: to see how long the main thread is held.
///
///     B  import ── coordinator, merged into main     C  import ── main ── coordinator     D  import ── main ── writer
@MainActor
struct StackImports {
  let source: DataFolder
  /// The store of the log, beside which the others go; they are deleted afterwards.
  let log: FlightStore

  enum Stack: String, CaseIterable {
    case siblings = "B: beside the main context"
    case childOfMain = "C: child of the main context"
    case writer = "D: writer ← main ← worker"
  }

  struct Result {
    var rows = 0
    var stored = 0
    var stall = Duration.zero
    var windows = 0
  }

  /// Flights in one save.
  static let batchSize = 250

  func run(_ stack: Stack) async throws -> Result {
    let store = log.sibling("stack-\(stack)")
    // An earlier run was ended in the middle.
    try store.destroy()
    let container = try await store.open()
    let result = try await fill(container, stack)
    try store.destroy(with: container)
    return result
  }

  private func fill(_ container: PersistentContainer, _ stack: Stack) async throws -> Result {
    let main: ManagedObjectContext
    let worker: ManagedObjectContext
    let write: @Sendable () async throws -> Void
    switch stack {
    case .siblings:
      main = container.viewContext
      worker = container.newBackgroundContext()
      write = {}
    case .childOfMain:
      main = container.viewContext
      worker = ManagedObjectContext(.privateQueue, parent: main)
      write = { [main] in try await main.saveAsynchronously() }
    case .writer:
      let asynchronous = AsynchronousStack(container, autosaveDelay: nil)
      main = asynchronous.main
      worker = asynchronous.newWorker()
      write = { try await asynchronous.save() }
    }
    worker.name = "import"
    var result = Result()
    let list = ScrollingList(main)
    let watch = MainQueueWatch()
    var reader = try TableReader<FlightRow>(source) { _ in }
    var writing: Task<Void, any Error>?
    while true {
      var batch: [(row: FlightRow, line: Int)] = []
      while batch.count < Self.batchSize, let row = try reader.next() { batch.append((row, reader.line)) }
      if batch.isEmpty { break }
      let rows = batch
      try await worker.perform {
        for (row, line) in rows { row.insert(into: worker, line: line, LinkTables()) }
        try worker.save()
      }
      result.rows += batch.count
      // What the worker has saved goes down to the disk while it goes on with the next batch.
      let previous = writing
      writing = Task { try await write() }
      try await previous?.value
    }
    try await writing?.value
    result.stall = await watch.stop()
    result.windows = try list.stop()
    let reading = container.newBackgroundContext()
    result.stored = try await reading.perform {
      try reading.count(for: FetchRequest<Flight>(entityName: "Flight"))
    }
    return result
  }
}

/// A list on screen: every five milliseconds the main context fetches the next fifty of the first thousand flights.
@MainActor
private final class ScrollingList {
  private let context: ManagedObjectContext
  private let timer = DispatchSource.makeTimerSource(queue: .main)
  private var offset = 0
  private var windows = 0
  private var failure: (any Error)?

  init(_ context: ManagedObjectContext) {
    self.context = context
    timer.schedule(deadline: .now(), repeating: .milliseconds(5))
    timer.setEventHandler { [weak self] in MainActor.assumeIsolated { self?.scroll() } }
    timer.resume()
  }

  private func scroll() {
    do {
      let window = try context.fetch(
        FetchRequest<Flight>(
          entityName: "Flight", sortDescriptors: [FetchSort("line")], fetchLimit: 50, fetchOffset: offset))
      for flight in window { _ = flight.destination }
      offset = window.count < 50 || offset >= 950 ? 0 : offset + 50
      windows += 1
    } catch {
      failure = error
    }
  }

  /// - Returns: how many windows were shown.
  func stop() throws -> Int {
    timer.cancel()
    if let failure { throw failure }
    return windows
  }
}
