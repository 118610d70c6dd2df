import Foundation
import Strata
import Testing

/// Contexts over one store against plain dictionaries (rules 18–20, 24, 40–48, 59–66, 86–94, 135–144,
/// 172–186, 188–199 at once).
///
/// `STRATA_SEED=n STRATA_STEPS=n swift test --filter RandomOperationsTests` repeats one seed.
struct RandomOperationsTests {
  @Test(arguments: TortureSettings.seeds)
  func contextsAndStoreAgreeWithPlainDictionaries(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    print("random operations: seed \(seed), \(TortureSettings.steps) steps")
    do {
      let operations = try RandomOperations(
        seed: seed, url: folder.url.appendingPathComponent("random.strata"))
      do {
        try operations.run(steps: TortureSettings.steps)
      } catch {
        try? operations.close()
        throw error
      }
      for counts in [operations.counts, operations.store.events] {
        let words = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        print("random operations: seed \(seed): \(words.joined(separator: "; "))")
      }
    } catch let mismatch as RandomOperations.Mismatch {
      Issue.record("\(mismatch.description)")
    }
  }
}
