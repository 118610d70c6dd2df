import Foundation
import Testing
import TortureKit

/// The program of the long mode, which tests run for a while.
enum TortureWorker {
  /// Runs rounds of `kind`, two processes at once, until there are `cases` of them; expects no violation.
  static func run(_ kind: String, cases: Int, seed: UInt64, processes: Int = 2) throws {
    let children = try (0..<UInt64(processes)).map {
      try ChildProcess(
        ChildProcess.program("Torture"),
        ["worker", kind, "--cases", "\(cases / processes)", "--seed", "\(seed + $0)"])
    }
    var totals = TortureTotals()
    for child in children {
      for line in child.readLines() {
        if let one = TortureTotals(line: line) {
          totals.add(one)
        } else if !line.hasPrefix("seed ") {
          Issue.record("\(kind): \(line)")
        }
      }
      #expect(child.wait() == 0, "\(kind)")
    }
    let details = totals.details.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    print(
      "torture: \(kind), seed \(seed): \(([totals.cases.description + " cases"] + details).joined(separator: ", "))"
    )
    #expect(totals.cases >= cases, "\(kind)")
  }

  /// `STRATA_SEED=n`, or a seed that nobody knew before.
  static let seed = TortureSettings.seeds.last ?? 1
}
