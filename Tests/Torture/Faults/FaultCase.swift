import Foundation
import StoreInterposer
import Strata
import TortureKit

/// One task that a program has with its store, and the state before and after.
enum FaultStage: String, CaseIterable {
  case create, open, save, grow, fetch, backup
}

/// One fault in one task: the error has the right name, nothing is lost, done twice or leaked, and once the disk is well again
/// the same task succeeds.
struct FaultCase {
  let stage: FaultStage
  let fault: Fault
  let nth: Int
  /// How many saves the store has behind it, and how it looked then.
  let saves: Int
  let template: [UInt8]
  let folder: ScratchFolder
  let durability: Durability

  private var path: String { folder("Ledger.strata") }
  private var backupPath: String { folder("Backup.strata") }
  private static let writer = 1

  /// Tries it; false when there is no such call, and then the task succeeded.
  func run() throws -> Bool {
    do {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) { unlink(folder(name)) }
      if stage != .create { try Data(template).write(to: URL(fileURLWithPath: path)) }
      si_watch(folder.path)
      defer {
        _ = Fault.heal()
        si_watch(nil)
      }
      let descriptors = try Self.descriptorCount()
      let (didFire, expected) = try perform()
      let left = try Self.descriptorCount()
      guard left == descriptors else { throw TortureViolation("\(descriptors) descriptors became \(left)") }
      try examine(path, expected)
      if stage == .backup { try examine(backupPath, expected) }
      return didFire
    } catch {
      throw TortureViolation("\(stage.rawValue), \(fault), call \(nth), after \(saves) saves: \(error)")
    }
  }

  /// Does the task; whether the fault occurred, and how many saves there must be now.
  private func perform() throws -> (didFire: Bool, saves: Int) {
    switch stage {
    case .create, .open:
      let descriptors = try Self.descriptorCount()
      var container: PersistentContainer?
      let didFire = try attempt {
        container = try Ledger.open(path, durability: durability)
      } whenFailed: { _ in
        let left = try Self.descriptorCount()
        guard left == descriptors else { throw TortureViolation("\(descriptors) descriptors became \(left)") }
        try expectNoLitter()
      }
      if let container { try Ledger.close(container) }
      return (didFire, stage == .create ? 0 : saves)
    case .save: return try performSaves(1, mapSize: 1 << 24)
    // The map is as small as the file, so that it must grow soon.
    case .grow: return try performSaves(8, mapSize: 1 << 16)
    case .fetch:
      let container = try Ledger.open(path, durability: durability)
      defer { try? Ledger.close(container) }
      let didFire = try attempt {
        // Two views at once, so that the parked reader does not suffice.
        let context = container.newBackgroundContext()
        try context.performAndWait { try expect(LedgerState(reading: context), saves) }
        try expect(LedgerState(container), saves)
      } whenFailed: { _ in
      }
      return (didFire, saves)
    case .backup:
      let container = try Ledger.open(path, durability: durability)
      defer { try? Ledger.close(container) }
      let store = try Ledger.store(container)
      let didFire = try attempt {
        try store.backup(to: URL(fileURLWithPath: backupPath), compacting: nth % 2 == 0)
      } whenFailed: { _ in
        try expectNoLitter()
        guard access(backupPath, F_OK) != 0 else { throw TortureViolation("a failed backup is there") }
      }
      return (didFire, saves)
    }
  }

  private func performSaves(_ count: Int, mapSize: Int) throws -> (didFire: Bool, saves: Int) {
    let container = try Ledger.open(path, durability: durability, mapSize: mapSize)
    defer { try? Ledger.close(container) }
    let context = container.newBackgroundContext()
    var plan = LedgerPlan(writer: Self.writer, after: saves)
    var isChanged = false
    return try context.performAndWait {
      let didFire = try attempt {
        // What a failed attempt has done of it is not done again.
        while plan.lastSave < saves + count {
          if !isChanged {
            // What could not be read in full is not changed by half.
            do { try plan.change(context) } catch {
              context.rollback()
              throw error
            }
            isChanged = true
          }
          try context.save()
          isChanged = false
          plan.advance()
        }
      } whenFailed: { error in
        guard context.hasChanges == isChanged else {
          throw TortureViolation("the context has lost its changes")
        }
        // The outcome is open only after the anchor's write failed and the store could not be opened again.
        let isOpen = error.isOutcomeUnknown
        if isOpen && fault.manner != .forever {
          throw TortureViolation("nobody looked at the outcome: \(error)")
        }
        let reader = container.newBackgroundContext()
        let found = try reader.performAndWait { try LedgerState(reading: reader).lastSaves[Self.writer] ?? 0 }
        guard found == plan.lastSave || (isOpen && found == plan.lastSave + 1) else {
          throw TortureViolation("after a failed save \(plan.lastSave + 1) the store has save \(found)")
        }
      }
      guard !context.hasChanges else { throw TortureViolation("changes are left after a save") }
      return (didFire, saves + count)
    }
  }

  // MARK: Trying

  /// Does `task` with the fault; if it fails looks at the error, heals, calls `whenFailed`, and does it again.
  private func attempt(_ task: () throws -> Void, whenFailed: (StorageError) throws -> Void) throws -> Bool {
    fault.arm(nth)
    do {
      try task()
      return Fault.heal() > 0
    } catch {
      let count = Fault.heal()
      if error is TortureViolation { throw error }
      guard count > 0 else { throw TortureViolation("a failure without a fault: \(error)") }
      guard let storage = error as? StorageError else {
        throw TortureViolation("not a StorageError: \(error)")
      }
      guard fault.kinds.contains(storage.kind) else {
        throw TortureViolation("called \(storage.kind): \(storage)")
      }
      try whenFailed(storage)
      do {
        try task()
      } catch {
        throw TortureViolation("failed again once all was well: \(error) (before: \(storage))")
      }
      return true
    }
  }

  private func expectNoLitter() throws {
    // What could not be removed lies there.
    if fault.function == .unlink { return }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let litter = names.filter { $0.hasPrefix(".") }
    guard litter.isEmpty else { throw TortureViolation("left behind: \(litter)") }
  }

  private func expect(_ state: LedgerState, _ count: Int) throws {
    let found = state.lastSaves[Self.writer] ?? 0
    guard found == count else { throw TortureViolation("the store has save \(found), not \(count)") }
  }

  private func examine(_ path: String, _ count: Int) throws {
    let container = try Ledger.open(path, createsIfMissing: false)
    defer { try? Ledger.close(container) }
    try expect(LedgerState(container), count)
  }

  /// How many descriptors this process has open.
  private static func descriptorCount() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
  }
}
