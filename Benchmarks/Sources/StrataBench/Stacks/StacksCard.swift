import ArgumentParser
import Foundation
import Strata

/// The card “stacks”: what contexts above contexts cost, and whether the main thread ever notices.
struct Stacks: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Import beside a scrolling main context in stacks B, C and D; save without stopping; read through a parent."
  )

  @Option(parsing: .upToNextOption, help: "Row counts of the imports.")
  var sizes = [Size(15_000), Size(100_000)]
  @Option(help: "Counted runs of each.") var runs = 5
  @Option(parsing: .upToNextOption, help: "Which parts: imports, saving, ways, reading, making.")
  var only = Part.allCases
  @Option(help: "Folder for the stores.") var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions

  @MainActor
  func run() async throws {
    let root = URL(fileURLWithPath: directory)
    let machine = try machine(root)
    var figures: [Figure?] = []
    if only.contains(.saving) { figures += try await saveWithoutStopping(100_000, root) }
    if only.contains(.ways) { figures += try await waysToSave(root) }
    if only.contains(.reading) { figures += try await reading(100_000, root) }
    if only.contains(.making) { figures += try await making(root) }
    // Last: they leave a heap behind in which everything else takes longer.
    if only.contains(.imports) { for size in sizes.map(\.rows) { figures += try await imports(size, root) } }
    try output.write("stacks", figures, on: machine)
  }

  enum Part: String, CaseIterable, ExpressibleByArgument {
    case imports, saving, ways, reading, making
  }

  private func machine(_ root: URL) throws -> Machine {
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    return try Machine(directory: root)
  }

  private func show(_ text: String) {
    print(text)
    fflush(nil)
  }

  @MainActor
  private func imports(_ size: Int, _ root: URL) async throws -> [Figure?] {
    let flights = Flight.make(count: size)
    var results: [Stack: [StackResult]] = [:]
    for round in 0...runs {
      for stack in Stack.allCases {
        let folder = root.appendingPathComponent("stack-\(stack)-\(round)")
        let result = try await StackRun(stack: stack, flights: flights, directory: folder).run()
        if round > 0 { results[stack, default: []].append(result) }
      }
    }
    var table = Table(header: [
      "\(size) rows, a save each 250", "ms", "× fastest", "longest stall ms", "MB", "fetches",
    ])
    let fastest = results.values.map { $0.map(\.seconds).median }.min() ?? .nan
    var figures: [Figure?] = []
    for stack in Stack.allCases {
      let mine = results[stack] ?? []
      let median = mine.map(\.seconds).median
      figures += [
        .seconds("import", size: size, stack.rawValue, mine.map(\.seconds), .milliseconds),
        .seconds(
          "import", size: size, stack.rawValue, as: .stall, mine.map(\.stall), .milliseconds,
          required: .atMost(16.7)),
        .multiple(
          "import", size: size, stack.rawValue, as: .time, median / fastest, of: "the fastest",
          required: stack == .siblings ? nil : .atMost(1.3)),
      ]
      table.rows.append([
        stack.rawValue, String(format: "%.0f", median * 1_000), String(format: "%.2f", median / fastest),
        String(
          format: "%.1f (worst %.1f)", mine.map(\.stall).median * 1_000,
          (mine.map(\.stall).max() ?? 0) * 1_000),
        String(format: "%.0f", mine.map { Double($0.memory) / 1e6 }.median),
        "\(mine.map(\.fetches).reduce(0, +) / max(mine.count, 1))",
      ])
    }
    show("\(table)\n")
    return figures
  }

  /// 100,000 new objects of the main context, made in slices as an app would, then saved without stopping.
  @MainActor
  private func saveWithoutStopping(_ size: Int, _ root: URL) async throws -> [Figure?] {
    let flights = Flight.make(count: size)
    var stalls: [Double] = []
    var times: [Double] = []
    for round in 0...runs {
      let container = try await open(root.appendingPathComponent("without-stopping-\(round)"))
      let main = container.viewContext
      for first in stride(from: 0, to: size, by: 500) {
        for flight in flights[first..<min(first + 500, size)] { FlightObject.make(flight, in: main) }
        main.processPendingChanges()
        await Task.yield()
      }
      let watch = MainThreadWatch()
      let clock = ContinuousClock()
      let start = clock.now
      try await main.saveAsynchronously()
      let seconds = (clock.now - start).seconds
      let stall = await watch.stop()
      if round > 0 {
        stalls.append(stall)
        times.append(seconds)
      }
      try close(container)
    }
    var table = Table(header: ["saveAsynchronously of \(size) inserts on the main context", "ms"])
    table.rows.append(["the save", String(format: "%.0f", times.median * 1_000)])
    table.rows.append([
      "longest stall of the main queue",
      String(format: "%.1f (worst %.1f)", stalls.median * 1_000, (stalls.max() ?? 0) * 1_000),
    ])
    show("\(table)\n")
    let operation = "save without stopping on the main context"
    return [
      .seconds(operation, size: size, "Strata", times, .milliseconds),
      .seconds(operation, size: size, "Strata", as: .stall, stalls, .milliseconds, required: .atMost(16.7)),
    ]
  }

  /// `save()` beside `saveAsynchronously()` that is waited for: the same new objects, in a private-queue context. Relaxed, so that the disk's
  /// time does not hide what the two do differently.
  @MainActor
  private func waysToSave(_ root: URL) async throws -> [Figure?] {
    var figures: [Figure?] = []
    var table = Table(header: ["new objects", "save(), ms", "saveAsynchronously(), ms", "×"])
    for (size, count) in [(1, 1_000), (100, 200), (100_000, 1)] {
      let flights = Flight.make(count: size)
      let container = try await open(root.appendingPathComponent("ways-\(size)"), .relaxed)
      let context = container.newBackgroundContext()
      var times: [[Double]] = [[], []]
      for round in 0...(runs * 2) * count {
        for way in 0..<2 {
          try await context.perform {
            for flight in flights { FlightObject.make(flight, in: context) }
          }
          let clock = ContinuousClock()
          let start = clock.now
          if way == 0 {
            try await context.perform { try context.save() }
          } else {
            try await context.saveAsynchronously()
          }
          if round > 0 { times[way].append((clock.now - start).seconds) }
          await context.perform { context.reset() }
        }
      }
      let medians = times.map { $0.median * 1_000 }
      for (way, seconds) in zip(["save()", "saveAsynchronously()"], times) {
        figures.append(.seconds("new objects, relaxed", size: size, way, seconds, .milliseconds))
      }
      table.rows.append(
        ["\(size)"] + medians.map { String(format: "%.3f", $0) } + [
          String(format: "%.2f", medians[1] / medians[0])
        ])
      try close(container)
    }
    show("\(table)\n")
    return figures
  }

  /// The same fetch in a root context and in children.
  @MainActor
  private func reading(_ size: Int, _ root: URL) async throws -> [Figure?] {
    let container = try await open(root.appendingPathComponent("reading"))
    let filler = container.newBackgroundContext()
    try filler.performAndWait {
      for flight in Flight.make(count: size) { FlightObject.make(flight, in: filler) }
      try filler.save()
    }
    var times: [[Double]] = [[], [], []]
    for round in 0...runs * 3 {
      for depth in 0..<3 {
        var context = container.newBackgroundContext()
        for _ in 0..<depth { context = ManagedObjectContext(.privateQueue, parent: context) }
        let clock = ContinuousClock()
        let start = clock.now
        let found = try context.performAndWait {
          try context.fetch(FetchRequest<FlightObject>(entityName: "Flight")).count
        }
        guard found == size else { throw BenchmarkError("a child found \(found) of \(size) rows") }
        if round > 0 { times[depth].append((clock.now - start).seconds) }
      }
    }
    var table = Table(header: ["fetch of \(size) rows", "ms", "× root"])
    var figures: [Figure?] = []
    for depth in 0..<3 {
      let name = depth == 0 ? "root" : "child, depth \(depth)"
      figures.append(.seconds("fetch all", size: size, name, times[depth], .milliseconds))
      if depth > 0 {
        let ratio = times[depth].median / times[0].median
        figures.append(
          .multiple("fetch all", size: size, name, as: .time, ratio, of: "root", required: .atMost(1.15)))
      }
      table.rows.append([
        name, String(format: "%.1f", times[depth].median * 1_000),
        String(format: "%.2f", times[depth].median / times[0].median),
      ])
    }
    show("\(table)\n")
    try close(container)
    return figures
  }

  /// Making a child, using it, letting it go.
  @MainActor
  private func making(_ root: URL) async throws -> [Figure?] {
    let container = try await open(root.appendingPathComponent("making"))
    let parent = container.newBackgroundContext()
    var times: [Double] = []
    for _ in 0..<2_000 {
      let clock = ContinuousClock()
      let start = clock.now
      do {
        let child = ManagedObjectContext(.privateQueue, parent: parent)
        try child.performAndWait {
          _ = try child.fetch(FetchRequest<FlightObject>(entityName: "Flight"))
        }
      }
      times.append((clock.now - start).seconds)
    }
    var table = Table(header: ["a child context", "µs"])
    table.rows.append(["made, one fetch in it, let go", String(format: "%.1f", times.median * 1e6)])
    show("\(table)\n")
    try close(container)
    return [.seconds("a child context made, one fetch in it, let go", "Strata", times, .microseconds)]
  }

  private func open(_ folder: URL, _ durability: Durability = .full) async throws -> PersistentContainer {
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let container = PersistentContainer(name: "Flights", model: FlightObject.model)
    var description = PersistentStoreDescription.measured(folder.appendingPathComponent("flights.strata"))
    description.durability = durability
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
    return container
  }

  private func close(_ container: PersistentContainer) throws {
    let urls = container.persistentStoreCoordinator.persistentStores.compactMap(\.url)
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
    for url in urls { try? FileManager.default.removeItem(at: url.deletingLastPathComponent()) }
  }
}
