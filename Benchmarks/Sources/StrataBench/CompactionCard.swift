import ArgumentParser
import Foundation
import Strata
import Synchronization

/// The card “compaction”: what saves wait for while the file of their store gets shorter.
struct Compaction: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Compact a store of which three quarters were deleted, beside a context that saves without a pause.")

  @Option(parsing: .upToNextOption, help: "Row counts before the deletion, such as 100k 1M.")
  var sizes = [Size(100_000), Size(1_000_000)]
  @Option(help: "Counted runs, each with a store of its own.") var runs = 5
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions

  func validate() throws {
    guard runs > 0, !sizes.isEmpty else { throw ValidationError("--runs and --sizes need positive numbers.") }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory).appendingPathComponent("compaction-\(getpid())")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    print("## strata-bench compaction\n")
    let machine = try Machine(directory: root)
    print(machine.conditions.map { "- \($0)\n" }.joined())
    var table = Table(header: [
      "rows, of which a quarter stays", "file before, MB", "after", "compaction, ms", "saves beside it",
      "a save alone, 50 %, ms", "99 %", "slowest", "beside it, 50 %, ms", "99 %", "slowest",
    ])
    var figures: [Figure?] = []
    for size in sizes.map(\.rows).sorted() {
      var results: [CompactionTimes] = []
      for number in 0..<runs {
        let folder = root.appendingPathComponent("\(size)-\(number)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        results.append(try await CompactionStand(folder, size: size).measure())
        try FileManager.default.removeItem(at: folder)
      }
      let summary = CompactionSummary(size: size, runs: results)
      table.rows.append(summary.cells)
      figures += summary.figures
    }
    print(table)
    try output.write("compaction", figures, on: machine)
  }
}

/// One run: seconds, bytes, and the seconds of each save.
private struct CompactionTimes {
  var seconds = 0.0
  var bytesBefore = 0
  var bytesAfter = 0
  var alone: [Double] = []
  var beside: [Double] = []
}

private struct CompactionSummary {
  let size: Int
  let runs: [CompactionTimes]

  /// What is required of the slowest save of all runs.
  private static let mostWait = Bound.atMost(100)

  private static func share(_ part: Double, of times: [Double]) -> Double {
    times.sorted().latency(part) ?? .nan
  }

  private func cells(of saves: (CompactionTimes) -> [Double]) -> [String] {
    [
      runs.map { Self.share(0.5, of: saves($0)) }.median, runs.map { Self.share(0.99, of: saves($0)) }.median,
      runs.flatMap(saves).max() ?? .nan,
    ].map { String(format: "%.2f", $0 * 1_000) }
  }

  var cells: [String] {
    [
      "\(size)", String(format: "%.1f", runs.map { Double($0.bytesBefore) }.median * 1e-6),
      String(format: "%.1f", runs.map { Double($0.bytesAfter) }.median * 1e-6),
      String(format: "%.0f", runs.map(\.seconds).median * 1_000),
      "\(Int(runs.map { Double($0.beside.count) }.median))",
    ] + cells { $0.alone } + cells { $0.beside }
  }

  private func latencies(
    _ operation: String, _ saves: (CompactionTimes) -> [Double], required: Bound?
  ) -> [Figure?] {
    [
      .seconds(
        operation, size: size, "Strata", as: .latency50, runs.map { Self.share(0.5, of: saves($0)) },
        .milliseconds),
      .seconds(
        operation, size: size, "Strata", as: .latency99, runs.map { Self.share(0.99, of: saves($0)) },
        .milliseconds),
      // Of all runs: what is required holds for every save.
      .seconds(
        operation, size: size, "Strata", as: .slowest, [runs.flatMap(saves).max() ?? .nan], .milliseconds,
        required: required),
    ]
  }

  var figures: [Figure?] {
    [
      .seconds("compaction", size: size, "Strata", runs.map(\.seconds), .milliseconds),
      .measured(
        "before", size: size, "Strata", as: .file, runs.map { Double($0.bytesBefore) }, scale: 1e-6,
        unit: "MB"),
      .measured(
        "after", size: size, "Strata", as: .file, runs.map { Double($0.bytesAfter) }, scale: 1e-6, unit: "MB"),
    ] + latencies("save alone", { $0.alone }, required: nil)
      + latencies("save beside a compaction", { $0.beside }, required: Self.mostWait)
  }
}

private struct CompactionStand {
  private let container: PersistentContainer
  private let size: Int
  private let flights: [Flight]
  private static let savesAlone = 1_000

  init(_ folder: URL, size: Int) async throws {
    self.size = size
    flights = Flight.make(count: size)
    container = PersistentContainer(name: "Flights", model: FlightObject.model)
    var description = PersistentStoreDescription.measured(folder.appendingPathComponent("flights.strata"))
    description.durability = .full
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
  }

  func measure() async throws -> CompactionTimes {
    try await fill()
    var times = CompactionTimes()
    let writer = container.newBackgroundContext()
    // What stays: the rows that the deletion has left, in the order of the store.
    let ids = try await writer.perform {
      var request = FetchRequest<ManagedObject>(entityName: "Flight")
      request.fetchLimit = 1_000
      return try writer.fetch(request).map(\.objectID)
    }
    guard !ids.isEmpty else { throw BenchmarkError("no row is left") }
    /// Saves one edit and answers what that took.
    @Sendable func save(_ number: Int) async throws -> Double {
      try await writer.perform {
        guard let flight = try writer.existingObject(with: ids[number % ids.count]) as? FlightObject else {
          throw BenchmarkError("a row is of another class")
        }
        flight.delay = Double(number)
        let start = ContinuousClock.now
        try writer.save()
        return (ContinuousClock.now - start).seconds
      }
    }
    for number in 0..<Self.savesAlone { times.alone.append(try await save(number)) }
    let coordinator = container.persistentStoreCoordinator
    guard let store = coordinator.persistentStores.first else { throw BenchmarkError("there is no store") }
    let isOver = Atomic(false)
    async let beside: [Double] = {
      var beside: [Double] = []
      while !isOver.load(ordering: .acquiring) {
        beside.append(try await save(Self.savesAlone + beside.count))
      }
      return beside
    }()
    let start = ContinuousClock.now
    let report = try await coordinator.compact(store)
    times.seconds = (ContinuousClock.now - start).seconds
    isOver.store(true, ordering: .releasing)
    times.beside = try await beside
    (times.bytesBefore, times.bytesAfter) = (report.sizeBefore, report.size)
    guard report.size < report.sizeBefore else { throw BenchmarkError("the file is not shorter") }
    try await check()
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    return times
  }

  /// Rows with less go.
  private static let leastDistance: Int64 = 3_750

  /// Fills the store, and deletes three rows in four, here and there.
  private func fill() async throws {
    let context = container.newBackgroundContext()
    for first in stride(from: 0, to: size, by: 100_000) {
      let part = flights[first..<min(first + 100_000, size)]
      try await context.perform {
        for flight in part { FlightObject.make(flight, in: context) }
        try context.save()
        context.reset()
      }
    }
    _ = try await context.perform {
      let request = FetchRequest<ManagedObject>(
        entityName: "Flight",
        predicate: .compare(FetchComparison(.key("distance"), .less, .constant(.integer(Self.leastDistance))))
      )
      return try context.execute(BatchDeleteRequest(fetchRequest: request))
    }
  }

  private func check() async throws {
    let context = container.newBackgroundContext()
    let left = try await context.perform {
      try context.count(for: FetchRequest<FlightObject>(entityName: "Flight"))
    }
    let expected = flights.count { $0.distance >= Self.leastDistance }
    guard left == expected else { throw BenchmarkError("\(left) rows are left of \(expected)") }
  }
}
