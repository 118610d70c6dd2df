import Foundation
import Testing
import TortureKit

/// The program of the long mode, which tests run for a while.
enum TortureWorker {
  /// Runs rounds of `kind`, two processes at once, until there are `cases` of them; expects no violation.
  @discardableResult
  static func run(
    _ kind: String, cases: Int, seed: UInt64, processes: Int = 2
  ) async throws -> TortureTotals {
    let commands = (0..<UInt64(processes)).map {
      ["worker", kind, "--cases", "\(cases / processes)", "--seed", "\(seed + $0)"]
    }
    let totals = try await totals(of: ChildProcess.program("Torture"), commands)
    let details = totals.details.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    print("torture: \(kind), seed \(seed): \((["\(totals.cases) cases"] + details).joined(separator: ", "))")
    #expect(totals.cases >= cases, "\(kind)")
    return totals
  }

  /// Runs `program` once with each list of arguments, at the same time, and adds up the totals they write; expects nothing
  /// else from them.
  static func totals(of program: String, _ commands: [[String]]) async throws -> TortureTotals {
    // Waiting takes a thread of its own each: those that tests share are few, and others need them meanwhile.
    let results = try await withThrowingTaskGroup(of: (totals: TortureTotals, rest: [String]).self) { group in
      for command in commands {
        group.addTask {
          try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try wait(for: program, command) }) }
            thread.start()
          }
        }
      }
      var results: [(totals: TortureTotals, rest: [String])] = []
      for try await result in group { results.append(result) }
      return results
    }
    var totals = TortureTotals()
    for result in results {
      totals.add(result.totals)
      for line in result.rest { Issue.record("\(commands[0].joined(separator: " ")): \(line)") }
    }
    return totals
  }

  private static func wait(
    for program: String, _ arguments: [String]
  ) throws -> (totals: TortureTotals, rest: [String]) {
    let child = try ChildProcess(program, arguments)
    var totals = TortureTotals()
    var rest: [String] = []
    for line in child.readLines() where !line.hasPrefix("seed ") {
      if let one = TortureTotals(line: line) { totals.add(one) } else { rest.append(line) }
    }
    let code = child.wait()
    if code != 0 { rest.append("ended with \(code)") }
    return (totals, rest)
  }

  /// `STRATA_SEED=n`, or a fixed one.
  static let seed = TortureSettings.seeds.last ?? 1
}
