import ArgumentParser
import Foundation

/// Makes the tables of Docs/Performance.md and the chart Docs/performance.svg from the results in Benchmarks/Results.
@main
struct PerformancePage: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes the tables of Docs/Performance.md, and Docs/performance.svg, from Benchmarks/Results.",
    discussion:
      "Without arguments it makes them from the results that are there. It writes nothing when a result is missing or cannot be read."
  )

  @Option(
    parsing: .upToNextOption,
    help: "Cards whose results of the last benchmark take the place of those in Benchmarks/Results.")
  var take: [String] = []
  @Option(
    parsing: .upToNextOption,
    help: "Cards whose results of the last benchmark are put behind those that are there.")
  var add: [String] = []
  @Option(help: "The folder that the benchmarks have written results to.")
  var measured = ".build/bench-results"
  @Option(help: "The folder of the repository.") var root = "."
  @Flag(help: "Write nothing; end with 1 when the page or the chart is not what the results make.")
  var check = false

  func validate() throws {
    guard !check || take.isEmpty, !check || add.isEmpty else {
      throw ValidationError("--check takes no results over.")
    }
  }

  func run() throws {
    let files = PageFiles(root: URL(fileURLWithPath: root))
    if check {
      try files.check()
      print("performance: the tables and the chart are what \(PageFiles.results) makes")
    } else {
      let folder = URL(fileURLWithPath: measured)
      let written = try files.make(taking: take, adding: add, from: folder)
      for name in written { print("performance: \(name) is written") }
      if written.isEmpty { print("performance: the page and the chart are what \(PageFiles.results) makes") }
    }
  }
}
