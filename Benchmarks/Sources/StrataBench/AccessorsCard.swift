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
    @Option(help: "The most that @NSManaged may cost, as a multiple.") var limit = 1.3
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
      for measurement in Measured.allCases {
        let times = try measure(measurement)
        let ratio = times.plugin / times.hand
        isReached = isReached && ratio <= limit
        func cell(_ seconds: Double) -> String {
          let value = seconds * measurement.scale(rows: size.rows)
          return "\((value * 100).rounded() / 100)"
        }
        table.rows.append([
          measurement.rawValue, cell(times.hand), cell(times.plugin), "\((ratio * 100).rounded() / 100)",
        ])
      }
      print(table)
      print("\n\(isReached ? "Every" : "Not every") ratio is at most \(limit).")
      if strict, !isReached { throw ExitCode.failure }
    }

    /// Medians, in seconds.
    private func measure(_ measurement: Measured) throws -> (hand: Double, plugin: Double) {
      var (hand, plugin): ([Double], [Double]) = ([], [])
      // One round more than counted, to warm up.
      for run in 0...runs {
        let first = try take(measurement, try .byHand(rows: size.rows))
        let second = try take(measurement, try .byPlugin(rows: size.rows))
        if run == 0 { continue }
        hand.append(first)
        plugin.append(second)
      }
      return (hand.median, plugin.median)
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
    case read = "read an attribute, ns"
    case write = "set an attribute, ns"
    case fetch = "fetch all, read all ten attributes, ms"
    case insert = "make all, set all ten attributes, save, ms"

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
