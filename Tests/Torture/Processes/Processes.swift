import Foundation
import Strata
import TortureKit

#if os(Linux)

  /// Eight processes write to one store and two read it, while they are killed, stopped and replaced.
  struct Processes: TortureKind {
    static let name = "processes"
    static let cases = "acknowledged saves"

    static let writers = 8
    static let readers = 2
    private static let savesPerWriter = 250

    private var random: SeededGenerator
    private let folder: ScratchFolder
    private(set) var details: [String: Int] = [:]

    init(seed: UInt64) throws {
      random = SeededGenerator(seed: seed)
      folder = try ScratchFolder()
    }

    mutating func round() throws -> Int {
      let path = folder("crowd.strata")
      // This process has the store open all the time, with a map that the others outgrow, and writes nothing after this.
      let container = try Crowd.open(path, mapSize: 1 << 16)
      try Crowd.prepare(container)
      let troupe = Troupe(path, until: Self.savesPerWriter, seed: random.next())
      defer { details = troupe.details }
      try troupe.perform(writers: Self.writers, readers: Self.readers)
      try examine(container, troupe)
      try requireCruelty(troupe)
      return troupe.saves
    }

    private func examine(_ container: PersistentContainer, _ troupe: Troupe) throws {
      guard let store = container.persistentStoreCoordinator.persistentStores.first as? LMDBStore else {
        throw TortureViolation("the container has no store")
      }
      let check = try store.check()
      guard check.isSound else { throw TortureViolation("the check found \(check.problems)") }
      let context = container.newBackgroundContext()
      let state = try context.performAndWait {
        try CrowdState(reading: context, whileOthersWrite: false)
      }
      let expected = Dictionary(uniqueKeysWithValues: (1...Self.writers).map { ($0, Self.savesPerWriter) })
      guard state.lastSaves == expected else {
        throw TortureViolation("\(expected) saves were made, the store has \(state.lastSaves)")
      }
      try examineSize(store, troupe)
      try container.persistentStoreCoordinator.remove(store)
    }
    /// Slots of dead readers are freed, and their pages used again.
    private func examineSize(_ store: LMDBStore, _ troupe: Troupe) throws {
      // A process that opens the store looks for slots of dead processes: of all that were killed up to now.
      try troupe.visit()
      let statistics = try store.statistics()
      // This process has read on one thread at a time; a second one may have been at work for the store itself.
      guard statistics.readersInUse <= 2 else {
        throw TortureViolation("\(statistics.readersInUse) reader slots are taken, all others have ended")
      }
      let copy = folder.url("copy.strata")
      try store.backup(to: copy)
      let live =
        (try FileManager.default.attributesOfItem(atPath: copy.path)[.size] as? Int ?? 0)
        / statistics.pageSize
      // A reader that died keeps pages until a process opens the store or has committed 64 times, one that was stopped
      // until it goes on. A save replaces the pages on the way to what it changes: 25 at most, in trees as low as these.
      // A process with a log keeps the pages of its checkpoint until the file has grown by 1,024 pages.
      let bound = 2 * live + (64 * Self.writers + troupe.longestStop) * 25 + 1_024
      guard statistics.pageCount <= bound else {
        throw TortureViolation(
          "\(live) pages would do, there are \(statistics.pageCount), more than \(bound)")
      }
      troupe.count("pages at the end", statistics.pageCount)
      troupe.count("pages that would do", live)
    }

    /// A round in which nothing terrible happened shows nothing.
    private func requireCruelty(_ troupe: Troupe) throws {
      for name in [
        "writers killed", "readers killed", "writers stopped", "deadlines kept by all", "looks", "conflicts",
      ]
      where troupe.details[name] ?? 0 == 0 {
        throw TortureViolation("the round was too kind: no \(name)")
      }
    }
  }

#endif
