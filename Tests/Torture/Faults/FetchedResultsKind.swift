import Foundation
import TortureKit
import struct StrataCore.Mutex

/// The law of fetched results: what controllers report, replayed on the old list, gives what a fetch finds now.
///
/// A round is the life of one small world of contexts. `STRATA_VERBOSE=n` prints more of what led to a violation.
struct FetchedResultsKind: TortureKind {
  static let name = "fetched-results"
  static let cases = "edits"

  /// What a life was like.
  private struct Figures {
    var edits: Int
    var details: [String: Int]
  }

  private final class Outcome: Sendable {
    let result = Mutex<Result<Figures, any Error>?>(nil)
  }

  private let seed: UInt64
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) { self.seed = seed }

  mutating func round() throws -> Int {
    // The main thread, on which rounds run, serves its queue meanwhile: some worlds have a context there.
    let (outcome, seed) = (Outcome(), seed)
    Thread {
      let result = Result { try Self.live(seed) }
      outcome.result.withLock { $0 = result }
      DispatchQueue.main.async {}
    }.start()
    while true {
      if let result = outcome.result.withLock({ $0 }) {
        let figures = try result.get()
        details = figures.details
        return figures.edits
      }
      _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.1))
    }
  }

  private static func live(_ seed: UInt64) throws -> Figures {
    var round = try LawRound(seed: seed)
    try round.run()
    return Figures(
      edits: round.edits, details: ["changes told": round.reports, "objects told of": round.items])
  }
}
