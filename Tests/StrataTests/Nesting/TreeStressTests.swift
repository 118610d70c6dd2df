import Foundation
import Strata
import Testing
import TortureKit

/// Trees of contexts against plain dictionaries (contexts 4–8; rules 149–169, 172–186).
///
/// `STRATA_SEED=n STRATA_TREE_STEPS=n swift test --filter TreeStressTests` repeats one seed.
struct TreeStressTests {
  @Test(
    "a tree of contexts and its store agree with layered dictionaries", arguments: TortureSettings.treeSeeds)
  func treeAgreesWithLayeredDictionaries(seed: UInt64) throws {
    try Self.run(seed: seed, steps: TortureSettings.treeSteps, kinds: [.privateQueue, .confinement])
  }

  @Test("the same with contexts of the main queue among them", arguments: TortureSettings.seeds.prefix(2))
  @MainActor func treeWithMainQueueContexts(seed: UInt64) throws {
    try Self.run(
      seed: seed, steps: TortureSettings.treeSteps / 5, kinds: [.mainQueue, .privateQueue, .confinement])
  }

  @Test(
    "rules 170, 240: the same with undo managers: what is undone and done again has changed nothing",
    arguments: TortureSettings.treeSeeds)
  func treeWithUndo(seed: UInt64) throws {
    try Self.run(
      seed: seed, steps: TortureSettings.treeSteps, kinds: [.privateQueue, .confinement], undoes: true)
  }

  private static func run(seed: UInt64, steps: Int, kinds: [ConcurrencyType], undoes: Bool = false) throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    print("tree: seed \(seed), \(steps) steps")
    do {
      let operations = try TreeOperations(
        seed: seed, url: folder.url.appendingPathComponent("tree.strata"), kinds: kinds, undoes: undoes)
      defer { try? operations.close() }
      try operations.run(steps: steps)
      let words = operations.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      print("tree: seed \(seed): \(words.joined(separator: "; "))")
    } catch let mismatch as TreeOperations.Mismatch {
      Issue.record("\(mismatch.description)")
    }
  }

  /// `STRATA_SEED=n STRATA_TREE_SECONDS=60 swift test --filter TreeStressTests`, also with `--sanitize=thread`.
  @Test(
    "eight contexts in a tree, each driven by a thread of its own", arguments: TortureSettings.seeds.prefix(2)
  )
  func everybodyAtOnce(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let crowd = try TreeCrowd(seed: seed, url: folder.url.appendingPathComponent("tree.strata"))
    print("tree crowd: seed \(seed), \(TortureSettings.treeSeconds) s: \(crowd.description)")
    // The threads wait for each other, and one of them for the main queue: nothing of it is for a task.
    var complaints = await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: crowd.run(seconds: TortureSettings.treeSeconds)) }
      thread.start()
    }
    complaints += try crowd.checkStore()
    print("tree crowd: seed \(seed): \(crowd.steps) steps")
    #expect(complaints.isEmpty, "\(complaints.prefix(5).joined(separator: "\n"))")
    for store in crowd.container.persistentStoreCoordinator.persistentStores {
      try crowd.container.persistentStoreCoordinator.remove(store)
    }
  }
}
