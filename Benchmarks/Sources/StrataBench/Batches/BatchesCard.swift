import ArgumentParser
import Foundation

/// The card “batches”: inserts, updates and deletes straight in the store, each in one durable transaction, against the same in SQL.
struct Batches: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Batch insert, update and delete; and what memory a batch takes as it grows.")

  @Option(parsing: .upToNextOption, help: "Row counts, such as 100k 1M.")
  var sizes = [Size(100_000)]
  @Option(help: "Counted runs.") var runs = 5
  @Option(parsing: .upToNextOption, help: "Row counts whose memory is measured; none to leave that out.")
  var memory = [Size(100_000), Size(1_000_000)]
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"

  func validate() throws {
    guard runs > 0 else { throw ValidationError("--runs needs a positive number.") }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory).appendingPathComponent("batches-\(getpid())")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    print("## strata-bench batches\n")
    print(try Machine.conditions(directory: root).map { "- \($0)\n" }.joined())
    for size in sizes.map(\.rows) { try await compare(size, root) }
    if !memory.isEmpty { try await measureMemory(root) }
  }

  private func compare(_ size: Int, _ root: URL) async throws {
    let flights = Flight.make(count: size)
    var seconds: [String: [BatchJob: [Double]]] = [:]
    for run in 0...runs {
      for name in ["GRDB", "Strata", "dictionaries"] {
        let folder = root.appendingPathComponent("store")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let peer: any BatchPeer =
          name == "GRDB"
          ? try GRDBBatches(folder)
          : try await StrataBatches(folder, usesDictionaries: name == "dictionaries")
        for job in BatchJob.allCases {
          // No run pays for what the previous one left to write.
          sync()
          let start = ContinuousClock.now
          let count = try peer.run(job, flights)
          let time = (ContinuousClock.now - start).seconds
          guard count == job.expected(size) else {
            throw BenchmarkError("\(name), \(job.rawValue): \(count) rows instead of \(job.expected(size))")
          }
          if run > 0 { seconds[name, default: [:]][job, default: []].append(time) }
        }
        guard try peer.count() == size - (size + 9) / 10 else { throw BenchmarkError("\(name) lost rows") }
        try peer.close()
        try FileManager.default.removeItem(at: folder)
      }
    }
    var table = Table(header: ["", "GRDB ms", "Strata ms", "min", "max", "× GRDB", "by dictionaries ms"])
    for job in BatchJob.allCases {
      let (theirs, ours) = (seconds["GRDB"]?[job] ?? [], seconds["Strata"]?[job] ?? [])
      table.rows.append([
        job.rawValue, text(theirs.median * 1e3), text(ours.median * 1e3), text((ours.min() ?? 0) * 1e3),
        text((ours.max() ?? 0) * 1e3), text(theirs.median / ours.median),
        job == .insert ? text((seconds["dictionaries"]?[job] ?? []).median * 1e3) : "",
      ])
    }
    print("\(size) rows, counted runs: \(runs)\n")
    print(table)
  }

  private func text(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }

  /// The highest private memory while a batch runs, of this process: LMDB's dirty pages are in it.
  private func measureMemory(_ root: URL) async throws {
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
      }
      try peer.close()
      try FileManager.default.removeItem(at: folder)
    }
    print(table)
  }
}

/// What a contender does.
enum BatchJob: String, CaseIterable {
  case insert = "insert all, two indexes"
  case update = "update 10 %, two constants"
  case compute = "update 10 %, an expression, indexed"
  case delete = "delete 10 %"

  func expected(_ size: Int) -> Int { self == .insert ? size : (size + 9) / 10 }
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
