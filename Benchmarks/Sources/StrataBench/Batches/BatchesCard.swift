import ArgumentParser
import Foundation

/// The card “batches”: inserts, updates and deletes straight in the store, each in one durable transaction, against the same in SQL, by objects, and by hand on
/// LMDB itself, all by turns in one run.
struct Batches: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Batch insert, update and delete; and what memory a batch takes as it grows.")

  @Option(parsing: .upToNextOption, help: "Row counts, such as 100k 1M.")
  var sizes = [Size(100_000)]
  @Option(help: "Counted runs.") var runs = 5
  @Option(parsing: .upToNextOption, help: "Row counts whose memory is measured.")
  var memory = [Size(100_000), Size(1_000_000)]
  @Option(
    parsing: .upToNextOption, help: "Beside the insert only these: update, compute, delete. All without it.")
  var jobs: [BatchJob] = []
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions

  func validate() throws {
    guard runs > 0 else { throw ValidationError("--runs needs a positive number.") }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory).appendingPathComponent("batches-\(getpid())")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    print("## strata-bench batches\n")
    let machine = try Machine(directory: root)
    print(machine.conditions.map { "- \($0)\n" }.joined())
    var figures: [Figure?] = []
    for size in sizes.map(\.rows) { figures += try await compare(size, root) }
    if !memory.isEmpty { figures += try await measureMemory(root) }
    try output.write("batches", figures, on: machine)
  }

  private func compare(_ size: Int, _ root: URL) async throws -> [Figure?] {
    let flights = Flight.make(count: size)
    var seconds: [BatchContender: [BatchJob: [Double]]] = [:]
    var processor: [BatchContender: [BatchJob: [Double]]] = [:]
    for run in 0...runs {
      for contender in BatchContender.allCases {
        let folder = root.appendingPathComponent("store")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let peer = try await contender.peer(folder)
        for job in BatchJob.allCases where jobs.isEmpty || job == .insert || jobs.contains(job) {
          // No run pays for what the previous one left to write.
          sync()
          let (start, before) = (ContinuousClock.now, ProcessorTime.now())
          let count = try peer.run(job, flights)
          let (time, work) = ((ContinuousClock.now - start).seconds, ProcessorTime.now() - before)
          guard count == job.expected(size) else {
            throw BenchmarkError(
              "\(contender.rawValue), \(job.rawValue): \(count) rows instead of \(job.expected(size))")
          }
          if run > 0 {
            seconds[contender, default: [:]][job, default: []].append(time)
            processor[contender, default: [:]][job, default: []].append(work)
          }
        }
        let deletes = jobs.isEmpty || jobs.contains(.delete)
        guard try peer.count() == (deletes ? size - (size + 9) / 10 : size) else {
          throw BenchmarkError("\(contender.rawValue) lost rows")
        }
        try peer.close()
        try FileManager.default.removeItem(at: folder)
      }
    }
    print("\(size) rows, counted runs: \(runs); medians, ms (least–most)\n")
    print(times(seconds))
    print(ratios(seconds))
    print("Processor time of all threads, in the kernel and out of it, ms\n")
    print(times(processor))
    return BatchFigures(size: size, seconds: seconds, processor: processor).all
  }

  private func times(_ seconds: [BatchContender: [BatchJob: [Double]]]) -> Table {
    var table = Table(header: [""] + BatchContender.allCases.map(\.rawValue))
    for job in BatchJob.allCases {
      table.rows.append(
        [job.rawValue]
          + BatchContender.allCases.map { contender in
            guard let times = seconds[contender]?[job] else { return "" }
            return
              "\(text(times.median * 1e3)) (\(text((times.min() ?? 0) * 1e3))–\(text((times.max() ?? 0) * 1e3)))"
          })
    }
    return table
  }

  private func ratios(_ seconds: [BatchContender: [BatchJob: [Double]]]) -> Table {
    var table = Table(header: [
      "median of the batch, by columns", "× GRDB", "of the objects' time", "of the floor's time",
    ])
    for contender in [BatchContender.rows, .quiet] {
      for job in BatchJob.allCases {
        func median(_ contender: BatchContender) -> Double { (seconds[contender]?[job] ?? [.nan]).median }
        func ratio(_ ratio: Double) -> String { ratio.isNaN ? "" : "\((ratio * 100).rounded() / 100)" }
        let own = median(contender)
        table.rows.append([
          "\(job.rawValue)\(contender == .quiet ? ", not merged" : "")", ratio(median(.grdb) / own),
          ratio(own / median(.objects)), ratio(own / median(.floor)),
        ])
      }
    }
    return table
  }

  private func text(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }

  /// The highest private memory while a batch runs, of this process: LMDB's dirty pages are in it.
  private func measureMemory(_ root: URL) async throws -> [Figure?] {
    var figures: [Figure?] = []
    var table = Table(header: ["private MB at most", "rows", "MB", "bytes per row"])
    for size in memory.map(\.rows) {
      let folder = root.appendingPathComponent("memory")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let peer = try await StrataBatches(folder)
      for job in BatchJob.allCases {
        let watch = MemoryWatch()
        _ = try peer.run(job, count: size)
        let bytes = watch.stop()
        let perRow = Double(bytes) / Double(job.expected(size))
        table.rows.append([job.rawValue, "\(size)", text(Double(bytes) / 1e6), text(perRow)])
        figures.append(
          .measured(
            job.rawValue, size: size, BatchContender.rows.rawValue, as: .memory, [Double(bytes)], scale: 1e-6,
            unit: "MB"))
      }
      try peer.close()
      try FileManager.default.removeItem(at: folder)
    }
    print(table)
    return figures
  }
}

/// What a contender does.
enum BatchJob: String, CaseIterable, ExpressibleByArgument {
  case insert = "insert all, two indexes"
  case update = "update 10 %, two constants"
  case compute = "update 10 %, an expression, indexed"
  case delete = "delete 10 %"

  init?(argument: String) {
    guard let job = Self.allCases.first(where: { "\($0)" == argument }) else { return nil }
    self = job
  }

  func expected(_ size: Int) -> Int { self == .insert ? size : (size + 9) / 10 }
}

/// Who does it, by turns.
enum BatchContender: String, CaseIterable {
  case grdb = "GRDB"
  case floor = "hand-packed LMDB"
  case objects = "objects"
  case rows = "batch, by columns"
  case quiet = "the same, not merged"
  case dictionaries = "batch, dictionaries"

  func peer(_ folder: URL) async throws -> any BatchPeer {
    switch self {
    case .grdb: try GRDBBatches(folder)
    case .floor: try HandPackedBatches(folder)
    case .objects: try await ObjectBatches(folder)
    case .rows: try await StrataBatches(folder)
    case .quiet: try await StrataBatches(folder, merges: false)
    case .dictionaries: try await StrataBatches(folder, usesDictionaries: true)
    }
  }
}

protocol BatchPeer {
  /// Does it in one durable transaction; how many rows.
  func run(_ job: BatchJob, _ flights: [Flight]) throws -> Int
  func count() throws -> Int
  func close() throws
}

/// Looks every few milliseconds how much private memory there is.
final class MemoryWatch: @unchecked Sendable {
  // Unchecked: `peak` is written by the thread alone, and read when that has ended.
  private let before = ResidentSet.current().anonymous
  private var peak = 0
  private let isDone = DispatchSemaphore(value: 0)
  private let hasEnded = DispatchSemaphore(value: 0)

  init() {
    Thread.detachNewThread {
      repeat {
        self.peak = max(self.peak, ResidentSet.current().anonymous)
      } while self.isDone.wait(timeout: .now() + .milliseconds(3)) == .timedOut
      self.hasEnded.signal()
    }
  }

  /// By how much it grew at most.
  func stop() -> Int {
    isDone.signal()
    hasEnded.wait()
    return max(peak - before, 0)
  }
}
