import ArgumentParser
import Foundation

@main
struct StrataBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata-bench",
    abstract: "Compares Strata with GRDB and with hand-packed LMDB at the same durability.",
    subcommands: [
      Compare.self, Batches.self, Compaction.self, Fetched.self, Graph.self, Owner.self, Queries.self,
      Saves.self, Stacks.self,
      Memory.self,
    ] + cardsOfCoreData,
    defaultSubcommand: Compare.self)

  #if canImport(AccessorPeers)
    private static let cardsOfCoreData: [any ParsableCommand.Type] = [Accessors.self]
  #else
    private static let cardsOfCoreData: [any ParsableCommand.Type] = []
  #endif
}

struct Compare: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Run the benchmarks and print the tables.")

  @Option(parsing: .upToNextOption, help: "Row counts, such as 1k 10k 100k 1M.")
  var sizes = [Size(1_000), Size(10_000), Size(100_000), Size(1_000_000)]

  @Option(parsing: .upToNextOption, help: "Which benchmarks: insert, fetch, by-id.")
  var only = Benchmark.allCases

  @Option(help: "Counted runs. Default: 11 up to 10k rows, 5 up to 100k, 3 above.")
  var runs: Int?

  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions

  @Flag(help: "Leave out the runs that measure memory.")
  var withoutMemory = false

  @Flag(help: "Exit with 1 when a requirement is not reached.")
  var strict = false

  func validate() throws {
    guard runs ?? 1 > 0 else { throw ValidationError("--runs needs a positive number.") }
    guard !sizes.isEmpty, !only.isEmpty else { throw ValidationError("There is nothing to run.") }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory)
    let runner = try Runner(root: root, runs: runs, measuresMemory: !withoutMemory)
    defer { try? runner.cleanUp() }
    let machine = try Machine(directory: root)
    show("## strata-bench\n")
    show(machine.conditions.map { "- \($0)\n" }.joined())
    var report = Report()
    for size in sizes.map(\.rows).sorted() {
      for benchmark in Benchmark.allCases where only.contains(benchmark) {
        let comparison = try await runner.compare(benchmark, size: size)
        report.comparisons.append(comparison)
        show(report.table(of: comparison))
      }
      try runner.cleanUp()
    }
    show(report.growth())
    let verdict = report.verdict()
    show(verdict.text)
    try output.write("compare", report.figures, on: machine)
    if strict, !verdict.isReached { throw ExitCode.failure }
  }

  /// At once, into a pipe too: a run takes minutes.
  private func show(_ text: String) {
    print(text)
    fflush(nil)
  }
}

/// One run in a process of its own, started by `Compare`.
struct Memory: AsyncParsableCommand {
  static let configuration = CommandConfiguration(shouldDisplay: false)

  @Argument var benchmark: Benchmark
  @Argument var contender: String
  @Argument var size: Int
  @Argument var directory: String

  func run() async throws {
    guard let contender = benchmark.contenders.first(where: { $0.name == contender }) else {
      throw ValidationError("No contender of that name.")
    }
    let use = try await MemoryUse.measure(
      benchmark, contender, size: size, directory: URL(fileURLWithPath: directory))
    print(use.peakBytes, use.privateBytes)
  }
}

extension Benchmark: ExpressibleByArgument {}
