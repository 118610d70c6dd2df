// Apple's systems have a CoreData of their own.
#if canImport(AccessorPeers)
  import AccessorPeers
  import ArgumentParser
  import Foundation

  /// The card “accessors”: what `@NSManaged` costs beside accessors by slot number that were written by hand, in one run.
  struct Accessors: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "@NSManaged properties against hand-written accessors: reading, writing, fetching, inserting."
    )

    @Option(help: "Rows, such as 100k.") var size = Size(100_000)
    @Option(help: "Counted runs, of both by turns.") var runs = 9
    @OptionGroup var output: ResultsOptions
    @Option(help: "The most that @NSManaged may cost, as a multiple.") var limit = Measured.limit
    @Flag(help: "Exit with 1 when a ratio is above the limit.") var strict = false

    func validate() throws {
      guard runs > 0 else { throw ValidationError("--runs needs a positive number.") }
    }

    func run() async throws {
      print("## strata-bench accessors\n")
      print(
        "- \(size.rows) rows of ten attributes in a store in memory, medians of \(runs) runs, both by turns\n"
      )
      var table = Table(header: ["", "by hand", "@NSManaged", "×"])
      var isReached = true
      var figures: [Figure?] = []
      for measurement in Measured.allCases {
        let times = try measure(measurement)
        let ratio = times.plugin.median / times.hand.median
        figures += measurement.figures(rows: size.rows, hand: times.hand, plugin: times.plugin)
        isReached = isReached && ratio <= limit
        func cell(_ seconds: [Double]) -> String {
          let value = seconds.median * measurement.scale(rows: size.rows)
          return "\((value * 100).rounded() / 100)"
        }
        table.rows.append([
          "\(measurement.rawValue), \(measurement.unit)", cell(times.hand), cell(times.plugin),
          "\((ratio * 100).rounded() / 100)",
        ])
      }
      print(table)
      print("\n\(isReached ? "Every" : "Not every") ratio is at most \(limit).")
      // The stores are in memory, so no disk is asked.
      try output.write("accessors", figures, on: Machine(directory: nil))
      if strict, !isReached { throw ExitCode.failure }
    }

    /// Of each run, in seconds.
    private func measure(_ measurement: Measured) throws -> (hand: [Double], plugin: [Double]) {
      var (hand, plugin): ([Double], [Double]) = ([], [])
      // One round more than counted, to warm up.
      for run in 0...runs {
        let first = try take(measurement, try .byHand(rows: size.rows))
        let second = try take(measurement, try .byPlugin(rows: size.rows))
        if run == 0 { continue }
        hand.append(first)
        plugin.append(second)
      }
      return (hand, plugin)
    }

    private func take(_ measurement: Measured, _ peer: AccessorPeer) throws -> Double {
      defer { try? peer.close() }
      func time(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start).seconds
      }
      if measurement == .insert { return try time { try peer.insert(size.rows) } }
      try peer.insert(size.rows)
      switch measurement {
      case .insert, .fetch:
        var sum: Int64 = 0
        let seconds = try time { sum = try peer.fetchAndTouch() }
        guard sum > 0 else { throw BenchmarkError("\(peer.name) has read nothing") }
        return seconds
      case .read: return try peer.read(5)
      case .write: return try peer.write(5)
      }
    }
  }

  private enum Measured: String, CaseIterable {
    case read = "read an attribute"
    case write = "set an attribute"
    case fetch = "fetch all, read all ten attributes"
    case insert = "make all, set all ten attributes, save"

    /// The most that they may cost; what is written as required, whatever a run was asked to check.
    static let limit = 1.3

    var unit: String {
      switch self {
      case .read, .write: "ns"
      case .fetch, .insert: "ms"
      }
    }

    func figures(rows: Int, hand: [Double], plugin: [Double]) -> [Figure?] {
      func times(_ contender: String, _ seconds: [Double]) -> Figure? {
        .measured(rawValue, size: rows, contender, seconds, scale: scale(rows: rows), unit: unit)
      }
      let ratio = plugin.median / hand.median
      return [
        times("by hand", hand), times("@NSManaged", plugin),
        .multiple(
          rawValue, size: rows, "@NSManaged", as: .time, ratio, of: "by hand", required: .atMost(Self.limit)),
      ]
    }

    /// What a time in seconds is multiplied by to be shown.
    func scale(rows: Int) -> Double {
      switch self {
      case .read: 1e9 / Double(rows * 10)
      case .write: 1e9 / Double(rows * 5)
      case .fetch, .insert: 1e3
      }
    }
  }
#endif
