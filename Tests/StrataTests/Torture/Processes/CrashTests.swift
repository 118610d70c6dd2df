import Foundation
import Strata
import Testing
import TortureKit

/// Programs that are killed while they save, and programs that save to one store at once
/// (contexts 8, 13).
///
/// `STRATA_KILLS=n` sets how often is killed, `STRATA_SEED=n` when and where.
@Suite(.serialized)
struct CrashTests {
  @Test func killedAtAnyMomentTheStoreHoldsTheSavesThatReturned() async throws {
    let totals = try await TortureWorker.run(
      "kills", cases: TortureSettings.kills, seed: TortureWorker.seed)
    // Kills that all came too late, or too early, would show little.
    guard TortureSettings.kills >= 100 else { return }
    for name in [
      "killed while creating", "killed while opening", "killed beside a survivor", "saves in flight found",
    ] { #expect(totals.details[name] ?? 0 > 0, "\(name)") }
  }

  /// Primary keys are unique, nothing is lost, and each sees the map the other has grown.
  @Test func twoProcessesInsertIntoOneStoreAtOnce() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let url = folder.url.appendingPathComponent("shared.strata")
    let count = 1_500
    // Both start with one MiB and end with several: each repeatedly meets growth by the other.
    let children = try (1...2).map {
      try ChildProcess(
        ChildProcess.program("Torture"),
        ["writer", url.path, "--workers", "\($0)", "--insert", "\(count)", "--map-size", "\(1 << 20)"])
    }
    for child in children {
      let lines = child.readLines()
      #expect(lines.first == "open" && lines.last == "done", "\(lines.suffix(2))")
      #expect(child.wait() == 0)
    }
    let container = try CrashModel.open(url)
    defer { try? CrashModel.close(container) }
    let store = try #require(container.persistentStoreCoordinator.persistentStores[0] as? LMDBStore)
    let check = try store.check()
    #expect(check.isSound, "\(check.problems)")
    #expect(check.rowCount == 2 * count)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let state = try StoredState(context)
      #expect(state.entryCount == 2 * count)
      #expect(state.brokenEntries.isEmpty)
      for worker in 1...2 { #expect(Set((state.stamps[worker] ?? [:]).keys) == Set(0..<count)) }
      let ids = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Entry"))
      #expect(Set(ids).count == 2 * count)
    }
    let size = try #require(try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int)
    #expect(size > 8 << 20, "the file has \(size) bytes: the map need not have grown")
  }
}
