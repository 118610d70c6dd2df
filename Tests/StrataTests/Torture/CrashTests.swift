import Foundation
import Strata
import Testing
import TortureKit

@testable import CrashWriter

/// Programs that are killed while they save, and programs that save to one store at once (storage.md 1.2, 2.2, 2.4;
/// contexts.md rules 8 and 13).
///
/// `STRATA_KILLS=n` sets how often is killed, `STRATA_SEED=n` when and where.
@Suite(.serialized)
struct CrashTests {
  /// What a test knows of a store that was killed under: what was promised, what must be there.
  private final class Witness {
    let url: URL
    /// By worker, the plan as the store was last seen to have carried it out.
    var plans: [Int: WorkerPlan] = [:]
    /// By worker, the last save that returned.
    var promised: [Int: Int] = [:]
    /// Saves that were in the store although their return was not heard of.
    var surprises = 0

    init(_ url: URL) { self.url = url }

    /// Takes down what a child says. Returns false for what no child should say.
    func hear(_ line: String) -> Bool {
      let numbers = line.split(separator: " ").compactMap { Int($0) }
      if numbers.count == 2 { promised[numbers[0]] = numbers[1] }
      return numbers.count == 2 || line == "open" || line == "done"
    }

    /// Opens the store and compares: the saves that returned, and of each worker at most the one in flight.
    func examine(_ place: String) throws {
      guard FileManager.default.fileExists(atPath: url.path) else {
        #expect(promised.isEmpty, "\(place): the store is gone")
        return
      }
      let container = try CrashModel.open(url)
      defer { try? CrashModel.close(container) }
      let store = try #require(container.persistentStoreCoordinator.persistentStores[0] as? LMDBStore)
      let check = try store.check()
      #expect(check.isSound, "\(place): \(check.problems)")
      let context = container.newBackgroundContext()
      let state = try context.performAndWait { try StoredState(context) }
      #expect(state.brokenEntries.isEmpty, "\(place): \(state.brokenEntries)")
      #expect(check.rowCount == state.entryCount + state.lastSaves.count, "\(place)")
      for worker in Set(state.lastSaves.keys).union(promised.keys) {
        let found = state.plan(worker)
        let last = promised[worker] ?? 0
        #expect(
          found.lastSave == last || found.lastSave == last + 1,
          "\(place): worker \(worker) was promised save \(last), the store holds save \(found.lastSave)")
        if found.lastSave > last { surprises += 1 }
        var plan = plans[worker] ?? WorkerPlan(worker: worker)
        while plan.lastSave < found.lastSave { plan.advance() }
        #expect(plan.stamps == found.stamps, "\(place): worker \(worker) after save \(found.lastSave)")
        plans[worker] = plan
        promised[worker] = found.lastSave
      }
    }
  }

  private static let writer = ChildProcess.program("CrashWriter")
  private static let seed = TortureSettings.seeds.last ?? 1

  // MARK: Killing

  @Test func killedAtAnyMomentTheStoreHoldsTheSavesThatReturned() throws {
    var random = SeededGenerator(seed: Self.seed)
    var tally = Tally()
    print("crash test: seed \(Self.seed), \(TortureSettings.kills) kills")
    while tally.kills < TortureSettings.kills {
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let witness = Witness(folder.url.appendingPathComponent("crash.strata"))
      // A store lives for some kills, then there is a new one: creating it is a moment like others.
      for _ in 0...random.below(20) where tally.kills < TortureSettings.kills {
        tally.kills += 1
        try killOnce(witness, &random, &tally)
        try witness.examine("seed \(Self.seed), kill \(tally.kills)")
      }
      tally.saves += witness.promised.values.reduce(0, +)
      tally.inFlight += witness.surprises
    }
    print("crash test: \(tally.description)")
  }

  /// What a run did.
  private struct Tally {
    var kills = 0
    var saves = 0
    var inFlight = 0
    var creating = 0
    var opening = 0
    /// From start to open, in microseconds.
    var startTime = 20_000

    var description: String {
      "\(kills) kills, \(creating) while creating and \(opening) while opening; \(saves) saves found, "
        + "\(inFlight) of them in flight"
    }
  }

  /// Starts a child on the store and kills it at some moment.
  private func killOnce(_ witness: Witness, _ random: inout SeededGenerator, _ tally: inout Tally) throws {
    let isNew = !FileManager.default.fileExists(atPath: witness.url.path)
    let workers = (1...random.pick([1, 2, 4])).map { "\($0)" }
    let start = DispatchTime.now().uptimeNanoseconds
    let child = try ChildProcess(Self.writer, [witness.url.path, "save"] + workers)
    var hasOpened = false
    func hear(_ line: String) {
      hasOpened = hasOpened || line == "open"
      #expect(witness.hear(line), "seed \(Self.seed), kill \(tally.kills): \(line)")
    }
    if random.chance(isNew ? 70 : 30) {
      // While the program starts, creates, opens, recovers: most of its start is spent before it touches the file.
      let part = random.chance(70) ? 60 + random.below(60) : random.below(120)
      usleep(UInt32(tally.startTime * part / 100))
    } else {
      for count in 0...random.below(60) {
        guard let line = child.readLine() else { break }
        hear(line)
        if count == 0 { tally.startTime = Int(DispatchTime.now().uptimeNanoseconds - start) / 1_000 }
      }
      usleep(UInt32(random.below(3_000)))
    }
    child.kill()
    for line in child.readLines() { hear(line) }
    if !hasOpened { if isNew { tally.creating += 1 } else { tally.opening += 1 } }
  }

  /// A writer that dies with the store's lock in its hands stops nobody else.
  @Test func aKilledWriterDoesNotStopAnother() throws {
    var random = SeededGenerator(seed: Self.seed)
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let witness = Witness(folder.url.appendingPathComponent("crash.strata"))
    let survivor = try ChildProcess(Self.writer, [witness.url.path, "save", "1"])
    #expect(survivor.readLine() == "open")
    for round in 1...max(TortureSettings.kills / 10, 1) {
      let victim = try ChildProcess(Self.writer, [witness.url.path, "save", "2", "3"])
      for _ in 0...random.below(40) {
        guard let line = victim.readLine() else { break }
        #expect(witness.hear(line), "kill \(round): \(line)")
      }
      usleep(UInt32(random.below(3_000)))
      victim.kill()
      for line in victim.readLines() { #expect(witness.hear(line), "kill \(round): \(line)") }
      // The survivor goes on: it saves ten times more.
      for _ in 0..<10 {
        let line = survivor.readLine() ?? "ended"
        #expect(witness.hear(line), "after kill \(round): \(line)")
      }
      try examineBeside(witness, "kill \(round)")
    }
    survivor.kill()
    for line in survivor.readLines() { #expect(witness.hear(line)) }
    try witness.examine("at the end")
  }

  /// While another process writes, only what does not move can be compared: the victim's workers.
  private func examineBeside(_ witness: Witness, _ place: String) throws {
    let container = try CrashModel.open(witness.url)
    defer { try? CrashModel.close(container) }
    let store = try #require(container.persistentStoreCoordinator.persistentStores[0] as? LMDBStore)
    let check = try store.check()
    #expect(check.isSound, "\(place): \(check.problems)")
    let context = container.newBackgroundContext()
    let state = try context.performAndWait { try StoredState(context) }
    for worker in [2, 3] {
      let last = witness.promised[worker] ?? 0
      let found = state.plan(worker).lastSave
      #expect(
        found == last || found == last + 1, "\(place): worker \(worker): \(last) promised, \(found) found")
      witness.promised[worker] = found
    }
  }

  // MARK: Two at once

  /// Primary keys are unique, nothing is lost, and each sees the map the other has grown.
  @Test func twoProcessesInsertIntoOneStoreAtOnce() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let url = folder.url.appendingPathComponent("shared.strata")
    let count = 1_500
    // Both start with one MiB and end with several: growth by one is met by the other again and again.
    let children = try (1...2).map {
      try ChildProcess(Self.writer, [url.path, "insert", "\($0)", "\(count)", "\(1 << 20)"])
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
