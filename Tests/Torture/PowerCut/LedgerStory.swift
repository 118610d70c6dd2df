import Foundation
import StoreInterposer
import Strata
import StrataCore
import Synchronization
import TortureKit

/// What is going on when the power fails: a store is made and written to, alone and by several contexts at once, closed
/// and opened again, copied meanwhile, and made shorter, in use and while nobody has it open; now and then the medium refuses a write.
struct LedgerStory {
  let path: String
  let durability: Durability
  let keepsLog: Bool
  private var random: SeededGenerator
  private var plans: [Int: LedgerPlan] = [:]
  private var backups = 0

  init(path: String, durability: Durability, keepsLog: Bool, seed: UInt64) {
    self.path = path
    self.keepsLog = keepsLog
    self.durability = durability
    random = SeededGenerator(seed: seed)
  }

  static func backupName(_ number: Int) -> String { "Backup \(number).strata" }

  mutating func tell() throws {
    for chapter in 0..<2 {
      let container = try Ledger.open(path, durability: durability, mapSize: 1 << 18, keepsLog: keepsLog)
      Promises.Mark.opened.note()
      try saveAlone(container, saves: 6 + random.below(4))
      if random.chance(50) { try flush(container) }
      if chapter == 0 || random.chance(50) { try copy(container) }
      try saveTogether(container, saves: 3 + random.below(2), copies: chapter == 1)
      if random.chance(50) {
        try Ledger.store(container).compact()
        // What follows uses the pages that are free now.
        try saveAlone(container, saves: 2)
      }
      try close(container)
      Promises.Mark.closed.note()
      if random.chance(50) { try compactAlone() }
    }
  }

  /// A store that nobody has open is written anew beside the file, and takes its place: there is the one or the other.
  private func compactAlone() throws {
    _ = try LMDBStore.compact(at: URL(fileURLWithPath: path))
  }

  /// What was saved before it returns cannot be undone.
  private func flush(_ container: PersistentContainer) throws {
    try container.flush()
    Promises.Mark.flushed.note()
  }

  /// Closing gives back keys that were not used, by a commit that flushes those before it. What closing promises must not hang
  /// on that: it fails here and there.
  private mutating func close(_ container: PersistentContainer) throws {
    if random.chance(50) { si_arm(UInt32(SI_PWRITE | SI_WRITEV), 1, 0, ENOSPC) }
    defer { _ = Fault.heal() }
    try Ledger.close(container)
  }

  /// One context saves repeatedly.
  private mutating func saveAlone(_ container: PersistentContainer, saves: Int) throws {
    let context = container.newBackgroundContext()
    let early = random.below(saves)
    var plan = try Self.save(plans[1] ?? LedgerPlan(writer: 1), times: early, context)
    if random.chance(50) { plan = try saveOnFailingDisk(plan, context) }
    plans[1] = try Self.save(plan, times: saves - early, context)
  }

  /// A save during which the medium refuses a block that the system has taken already: reading shows the write, a power
  /// cut undoes it. Most important where the block is the anchor.
  private mutating func saveOnFailingDisk(
    _ plan: LedgerPlan, _ context: ManagedObjectContext
  ) throws -> LedgerPlan {
    var plan = plan
    let nth = 1 + random.below(3)
    try context.performAndWait {
      try plan.change(context)
      Promises.Mark.begun.note(writer: plan.writer, plan.lastSave + 1)
      Fault(function: .pwrite, code: EIO, manner: .late).arm(nth)
      do {
        try context.save()
        _ = Fault.heal()
      } catch {
        guard Fault.heal() > 0 else { throw error }
        try context.save()
      }
      Promises.Mark.acknowledged.note(writer: plan.writer, plan.lastSave + 1)
    }
    plan.advance()
    return plan
  }

  /// Three contexts save at once, so that saves are written in groups; a copy is made meanwhile.
  private mutating func saveTogether(_ container: PersistentContainer, saves: Int, copies: Bool) throws {
    let before = plans
    let after = Mutex<[Int: LedgerPlan]>([:])
    let failures = Mutex<[any Error]>([])
    let number = backups
    let url = URL(fileURLWithPath: path).deletingLastPathComponent()
      .appendingPathComponent(Self.backupName(number))
    if copies { backups += 1 }
    DispatchQueue.concurrentPerform(iterations: copies ? 4 : 3) { index in
      do {
        if index == 3 { return try Self.copy(container, number, to: url, compacting: false) }
        let writer = index + 1
        let plan = try Self.save(
          before[writer] ?? LedgerPlan(writer: writer), times: saves, container.newBackgroundContext())
        after.withLock { $0[writer] = plan }
      } catch {
        failures.withLock { $0.append(error) }
      }
    }
    if let failure = failures.withLock({ $0.first }) { throw failure }
    plans.merge(after.withLock { $0 }) { $1 }
  }

  private static func save(
    _ plan: LedgerPlan, times: Int, _ context: ManagedObjectContext
  ) throws -> LedgerPlan {
    var plan = plan
    for _ in 0..<times {
      try context.performAndWait {
        try plan.change(context)
        Promises.Mark.begun.note(writer: plan.writer, plan.lastSave + 1)
        try context.save()
        Promises.Mark.acknowledged.note(writer: plan.writer, plan.lastSave + 1)
      }
      plan.advance()
    }
    return plan
  }

  private mutating func copy(_ container: PersistentContainer) throws {
    let url = URL(fileURLWithPath: path).deletingLastPathComponent()
      .appendingPathComponent(Self.backupName(backups))
    try Self.copy(container, backups, to: url, compacting: random.chance(50))
    backups += 1
  }

  private static func copy(
    _ container: PersistentContainer, _ number: Int, to url: URL, compacting: Bool
  ) throws {
    Promises.Mark.backupBegun.note(number)
    try Ledger.store(container).backup(to: url, compacting: compacting)
    Promises.Mark.backupDone.note(number)
  }
}
