import Foundation
import Testing
import TortureKit

/// The law of fetched results (rules 178, 245–256, 260–265): whatever happens in whichever context, replaying what a controller reports on
/// the old list gives what its context would fetch, in each form of report.
///
/// `STRATA_EDITS=n`: how many edits are made in all. `STRATA_SEED=n`: which rounds come first. The long mode, in an optimised build, is
/// `make torture ONLY=fetched-results`.
@Suite struct FetchedResultsLawTests {
  private static let edits =
    ProcessInfo.processInfo.environment["STRATA_EDITS"].flatMap { Int($0) } ?? 300
  private static let firstSeed =
    ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? 1

  @Test func replayingWhatIsToldGivesANewFetch() throws {
    var (edits, reports, seed) = (0, 0, Self.firstSeed)
    while edits < Self.edits {
      print("fetched results: seed \(seed)")
      var round = try LawRound(seed: seed)
      do {
        try round.run(edits: Self.edits - edits)
      } catch {
        Issue.record("seed \(seed), \(error)")
        return
      }
      edits += round.edits
      reports += round.reports
      seed += 1
    }
    #expect(reports > 0)
  }
}
