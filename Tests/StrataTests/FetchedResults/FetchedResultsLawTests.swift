import Foundation
import Strata
import Testing

/// The law of fetched results (rules 178, 245–256, 260–265): whatever happens in whichever context, replaying what a controller tells on
/// the old list gives what its context would fetch, in each form of telling.
///
/// `STRATA_EDITS=n`: how many edits are made in all. `STRATA_SEED=n`: which rounds come first.
@Suite struct FetchedResultsLawTests {
  private static let edits =
    ProcessInfo.processInfo.environment["STRATA_EDITS"].flatMap { Int($0) } ?? 300
  private static let firstSeed =
    ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? 1

  @Test func replayingWhatIsToldGivesANewFetch() throws {
    var (edits, reports, seed) = (0, 0, Self.firstSeed)
    while edits < Self.edits {
      print("fetched results: seed \(seed)")
      let store = try TemporaryStore(LawModel.make(isIndexed: seed % 2 == 0)) { $0.durability = .none }
      if seed % 3 == 0 {
        var second = PersistentStoreDescription(url: store.folderURL.appendingPathComponent("Second.strata"))
        second.durability = .none
        try store.coordinator.addPersistentStore(second)
      }
      let world = try LawWorld(store.coordinator, seed: seed, onMainQueue: seed % 4 == 3)
      for step in 0..<150 where edits < Self.edits {
        let failures = try world.step()
        edits += world.edits
        if !failures.isEmpty {
          Issue.record(
            "seed \(seed), step \(step): \(failures.prefix(4).joined(separator: "\n"))\n\(world.story.suffix(5))"
          )
          return
        }
      }
      reports += world.reports
      seed += 1
    }
    #expect(reports > 0)
  }
}
