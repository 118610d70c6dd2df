import ArgumentParser
import Foundation

/// The card “queries”: predicates with and without indexes, order, counts, related objects; update and delete of what was found.
struct Queries: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Predicates, sorts, counts and relationships, against the same SQL in GRDB.")

  @Option(help: "The folder with airlines, airports, planes, weather and flights, each .csv or .csv.gz.")
  var data: String?
  @Option(help: "Rows of the made-up flights.") var size = Size(100_000)
  @Option(help: "Counted runs.") var runs = 5
  @Option(parsing: .upToNextOption, help: "Only jobs whose names contain one of these.")
  var only: [String] = []
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions
  @Flag(help: "Exit with 1 when a requirement is not reached.")
  var strict = false

  func validate() throws {
    guard runs > 0 else { throw ValidationError("--runs needs a positive number.") }
    guard !jobs.isEmpty else { throw ValidationError("No job is called so.") }
  }

  private var jobs: [QueryJob] {
    QueryJob.allCases.filter { job in only.isEmpty || only.contains { job.rawValue.contains($0) } }
  }

  private struct Times {
    var strata: [Double] = []
    /// By variant.
    var reference: [[Double]] = [[], []]
    /// LMDB alone, for what changes rows.
    var floor: [Double] = []

    var referenceMedian: Double { reference.filter { !$0.isEmpty }.map(\.median).min() ?? .nan }
    var ratio: Double { referenceMedian / strata.median }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory).appendingPathComponent("queries-\(getpid())")
    defer { try? FileManager.default.removeItem(at: root) }
    let flights = Flight.make(count: size.rows)
    let graph =
      jobs.contains(where: \.isAboutGraph)
      ? try GraphData(data.map { URL(fileURLWithPath: $0) } ?? GraphData.sample) : nil
    show("## strata-bench queries\n")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    let machine = try Machine(directory: root)
    show(machine.conditions.map { "- \($0)\n" }.joined())
    show("\(flights.count) made-up flights; \(graph?.flights.count ?? 0) real ones; counted runs: \(runs)\n")
    var times: [QueryJob: Times] = [:]
    let reading = jobs.filter { $0 != .update && $0 != .delete }
    let writing = jobs.filter { $0 == .update || $0 == .delete }
    if !reading.isEmpty {
      let (strata, reference) = try await open(root, flights, graph)
      for job in reading {
        for run in 0...runs { try take(job, strata, reference, &times, isCounted: run > 0) }
      }
      try strata.close()
      try reference.close()
    }
    if !writing.isEmpty {
      // Each run changes a store of its own.
      for run in 0...runs {
        let (strata, reference) = try await open(root, flights, nil)
        let floor = try RawLMDBPeer(directory: try emptyFolder("lmdb", in: root))
        _ = try floor.insert(flights)
        sync()
        for job in writing {
          let answer = try take(job, strata, reference, &times, isCounted: run > 0)
          var count = 0
          let time = try seconds {
            count =
              try job == .update
              ? floor.updateDelays(below: QueryValues.tenth) : floor.delete(below: QueryValues.tenth)
          }
          guard count == answer.count else {
            throw BenchmarkError("\(job.rawValue): Strata changes \(answer.count) rows, LMDB alone \(count)")
          }
          if run > 0 { times[job]?.floor.append(time) }
        }
        floor.close()
        try strata.close()
        try reference.close()
      }
    }
    let isReached = report(times)
    try output.write("queries", figures(times, realFlights: graph?.flights.count ?? 0), on: machine)
    if strict, !isReached { throw ExitCode.failure }
  }

  private func open(_ root: URL, _ flights: [Flight], _ graph: GraphData?) async throws -> (
    StrataQueries, GRDBQueries
  ) {
    let reference = try GRDBQueries(
      directory: try emptyFolder("grdb", in: root), flights: flights, graph: graph)
    let strata = try await StrataQueries(
      directory: try emptyFolder("strata", in: root), flights: flights, graph: graph)
    sync()
    return (strata, reference)
  }

  private func emptyFolder(_ name: String, in root: URL) throws -> URL {
    let folder = root.appendingPathComponent(name)
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  @discardableResult
  private func take(
    _ job: QueryJob, _ strata: StrataQueries, _ reference: GRDBQueries, _ times: inout [QueryJob: Times],
    isCounted: Bool
  ) throws -> QueryAnswer {
    var taken = times[job] ?? Times()
    var answer = QueryAnswer()
    let own = try seconds { answer = try strata.run(job, variant: 0) }
    if isCounted { taken.strata.append(own) }
    for variant in 0..<reference.variants(job) {
      var other = QueryAnswer()
      let time = try seconds { other = try reference.run(job, variant: variant) }
      if isCounted { taken.reference[variant].append(time) }
      guard other == answer else {
        throw BenchmarkError("\(job.rawValue): Strata answers \(answer), GRDB \(other)")
      }
    }
    times[job] = taken
    return answer
  }

  private func seconds(_ work: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try work()
    return (clock.now - start).seconds
  }

  private func report(_ times: [QueryJob: Times]) -> Bool {
    var table = Table(header: [
      "job", "Strata ms", "min", "max", "GRDB ms", "LMDB alone ms", "× GRDB", "required",
    ])
    var isReached = true
    for job in QueryJob.allCases {
      guard let taken = times[job] else { continue }
      if taken.ratio < job.requiredRatio { isReached = false }
      table.rows.append([
        job.rawValue, milliseconds(taken.strata.median), milliseconds(taken.strata.min() ?? .nan),
        milliseconds(taken.strata.max() ?? .nan), milliseconds(taken.referenceMedian),
        taken.floor.isEmpty ? "" : milliseconds(taken.floor.median),
        String(format: "%.2f", taken.ratio) + (taken.ratio < job.requiredRatio ? " ✘" : ""),
        String(format: "%.1f", job.requiredRatio),
      ])
    }
    show("\(table)\n")
    return isReached
  }

  private func figures(_ times: [QueryJob: Times], realFlights: Int) -> [Figure?] {
    QueryJob.allCases.flatMap { job -> [Figure?] in
      guard let taken = times[job] else { return [] }
      let (name, size) = (job.rawValue, job.isAboutGraph ? realFlights : size.rows)
      let fastest = taken.reference.filter { !$0.isEmpty }.min { $0.median < $1.median } ?? []
      return [
        .seconds(name, size: size, "GRDB", fastest, .milliseconds),
        .seconds(name, size: size, "LMDB alone", taken.floor, .milliseconds),
        .seconds(name, size: size, "Strata", taken.strata, .milliseconds),
        .multiple(
          name, size: size, "Strata", taken.ratio, of: "GRDB", required: .atLeast(job.requiredRatio)),
      ]
    }
  }

  private func milliseconds(_ seconds: Double) -> String { String(format: "%.1f", seconds * 1_000) }

  /// At once, into a pipe too: a run takes minutes.
  private func show(_ text: String) {
    print(text)
    fflush(nil)
  }
}
