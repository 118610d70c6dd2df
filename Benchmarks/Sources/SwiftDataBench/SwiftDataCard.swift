import ArgumentParser
import Foundation

/// The card “swiftdata”: what models cost beside managed objects of Strata's own and beside GRDB's records.
@main
struct SwiftDataBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "swiftdata-bench",
    abstract: "Compares import SwiftData with native Strata and with GRDB's records.",
    subcommands: [SwiftDataCard.self, Memory.self], defaultSubcommand: SwiftDataCard.self)
}

struct SwiftDataCard: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "swiftdata", abstract: "Insert and save, fetch and touch, by identifier; time and memory.")

  @Option(parsing: .upToNextOption, help: "Row counts, such as 10k 100k.") var sizes = [Size(100_000)]
  @Option(parsing: .upToNextOption, help: "Which benchmarks: insert, fetch, by-id.")
  var only = Benchmark.allCases
  @Option(help: "Counted runs, of all by turns.") var runs = 9
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions
  @Flag(help: "Without the runs that measure memory.") var withoutMemory = false
  @Flag(help: "Without GRDB and the store with a history: while one works on something.") var onlyStrata =
    false
  @Flag(help: "Exit with 1 when a ratio is above its limit.") var strict = false

  func validate() throws {
    guard runs > 0 else { throw ValidationError("--runs needs a positive number.") }
    guard !sizes.isEmpty, !only.isEmpty else { throw ValidationError("There is nothing to run.") }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory)
    let runner = try Runner(root: root, runs: runs, measuresMemory: !withoutMemory)
    defer { try? runner.cleanUp() }
    show("## strata-bench swiftdata\n")
    let machine = try Machine(directory: root)
    show(machine.conditions.map { "- \($0)\n" }.joined())
    var verdict = ModelVerdict()
    var figures: [Figure?] = []
    for size in sizes.map(\.rows).sorted() {
      for benchmark in Benchmark.allCases where only.contains(benchmark) {
        let contenders = benchmark.modelContenders.filter { !onlyStrata || $0.role != .information }
        let comparison = try await runner.compare(benchmark, size: size, among: contenders)
        show(ModelReport.table(of: comparison))
        verdict.judge(comparison)
        figures += ModelReport.figures(of: comparison)
      }
      try runner.cleanUp()
    }
    show(verdict.text)
    try output.write("swiftdata", figures, on: machine)
    if strict, !verdict.isReached { throw ExitCode.failure }
  }

  /// At once, into a pipe too: a run takes minutes.
  private func show(_ text: String) {
    print(text)
    fflush(nil)
  }
}

/// One run in a process of its own, started by `SwiftDataCard`.
struct Memory: AsyncParsableCommand {
  static let configuration = CommandConfiguration(shouldDisplay: false)

  @Argument var benchmark: Benchmark
  @Argument var contender: String
  @Argument var size: Int
  @Argument var directory: String

  func run() async throws {
    guard let contender = benchmark.modelContenders.first(where: { $0.name == contender }) else {
      throw ValidationError("No contender of that name.")
    }
    let use = try await MemoryUse.measure(
      benchmark, contender, size: size, directory: URL(fileURLWithPath: directory))
    print(use.peakBytes, use.privateBytes)
  }
}

extension Benchmark: ExpressibleByArgument {}

extension Benchmark {
  /// What models may cost, as a multiple of native objects.
  var mostOfNative: Double {
    switch self {
    case .insert: 1.5
    case .fetch: 1.6
    case .byID: 1.3
    }
  }

  /// The same for memory. What objects by identifier take is little beside what a run varies by.
  var mostMemoryOfNative: Double? { self == .byID ? nil : 1.5 }

  var modelContenders: [Contender] {
    [
      .swiftData, .native, .nativeWithHistory,
      .grdb("GRDB's records", .information, .record),
    ]
  }
}

extension Contender {
  static let swiftData = Contender(name: "SwiftData", role: .strata, library: "swiftdata") {
    try SwiftDataPeer(directory: $0)
  }
  /// What the limits are multiples of.
  static let native = Contender(name: "native Strata", role: .reference, library: "strata") {
    try await StrataPeer(directory: $0)
  }
  /// Stores of a container of models keep a history.
  static let nativeWithHistory = Contender(
    name: "native, with a history", role: .information, library: "strata-history"
  ) {
    try await StrataPeer(directory: $0, recordsHistory: true)
  }
}
