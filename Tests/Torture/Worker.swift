import ArgumentParser
import Foundation
import TortureKit

/// The process in which rounds of one kind run. Says on standard output, line by line, what it does:
///
///     seed <n>                      before each round
///     total <rounds> <cases> …      after it, see `TortureTotals`
///     violation seed <n>: <text>    when a promise was broken
struct Worker: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Runs rounds of one kind.", shouldDisplay: false)

  @Argument var kind: String
  @Option var seed: UInt64 = .random(in: 1...999_999_999)
  @Option(help: "Ends after so many rounds.") var rounds = Int.max
  @Option(help: "Ends after the round that reaches so many cases.") var cases = Int.max
  @Option(help: "Ends after the round in which so many seconds have passed.") var seconds: Double?

  func run() throws {
    let kind = try Torture.kind(kind)
    var limit = TortureLimit()
    limit.rounds = rounds
    limit.cases = cases
    limit.deadline = seconds.map { .now.advanced(by: .seconds($0)) }
    let totals = kind.run(seed: seed, until: limit) { seed in
      Self.say("seed \(seed)")
    } report: { seed, one, failure in
      Self.say(one.line)
      if let failure { Self.say("violation seed \(seed): \(failure)") }
    }
    if totals.violations > 0 { throw ExitCode.failure }
  }

  /// Writes a line at once.
  static func say(_ line: String) {
    let bytes = Array((line.replacing("\n", with: " ⏎ ") + "\n").utf8)
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      // When no process listens any more, there is nothing to report.
      if count < 0 && errno != EINTR { return }
      done += max(count, 0)
    }
  }
}
