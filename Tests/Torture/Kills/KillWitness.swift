import Foundation
import Strata
import TortureKit

/// What is known of a store whose writers are killed: what was promised, what must be there.
final class KillWitness {
  let url: URL
  /// By worker, the plan as the store was last seen to have carried it out.
  private var plans: [Int: WorkerPlan] = [:]
  /// By worker, the last save that returned.
  private(set) var promised: [Int: Int] = [:]
  /// Saves that were in the store although their return was never reported.
  private(set) var surprises = 0

  init(_ url: URL) { self.url = url }

  var exists: Bool { FileManager.default.fileExists(atPath: url.path) }

  /// Records what a writer reports.
  func hear(_ line: String) throws {
    let words = line.split(separator: " ")
    if words.count == 2, let worker = Int(words[0]), let save = Int(words[1]) {
      guard save == (promised[worker] ?? 0) + 1 else {
        throw TortureViolation("worker \(worker) made save \(save) after \(promised[worker] ?? 0)")
      }
      promised[worker] = save
    } else if line != "open" {
      throw TortureViolation("a writer says: \(line)")
    }
  }

  /// Opens the store and compares: the saves that returned, and of each worker at most the one in flight.
  ///
  /// - Parameter workers: those that have been killed; others write on and cannot be compared. Nil for all.
  func examine(only workers: Set<Int>? = nil) throws {
    guard exists else {
      if promised.isEmpty { return }
      throw TortureViolation("the store is gone")
    }
    let container = try CrashModel.open(url)
    defer { try? CrashModel.close(container) }
    guard let store = container.persistentStoreCoordinator.persistentStores.first as? LMDBStore else {
      throw TortureViolation("the container has no store")
    }
    let check = try store.check()
    guard check.isSound else { throw TortureViolation("the check found \(check.problems)") }
    let context = container.newBackgroundContext()
    let state = try context.performAndWait { try StoredState(context) }
    if workers == nil {
      guard check.rowCount == state.entryCount + state.lastSaves.count else {
        throw TortureViolation(
          "\(check.rowCount) rows, but \(state.entryCount) entries and \(state.lastSaves.count) journals")
      }
    }
    for worker in workers ?? Set(state.lastSaves.keys).union(promised.keys) { try compare(worker, state) }
  }

  private func compare(_ worker: Int, _ state: StoredState) throws {
    if let broken = state.brokenEntries[worker] { throw TortureViolation("broken entries: \(broken)") }
    let found = state.plan(worker)
    let last = promised[worker] ?? 0
    guard found.lastSave == last || found.lastSave == last + 1 else {
      throw TortureViolation(
        "worker \(worker) was promised save \(last), the store holds save \(found.lastSave)")
    }
    if found.lastSave > last { surprises += 1 }
    var plan = plans[worker] ?? WorkerPlan(worker: worker)
    while plan.lastSave < found.lastSave { plan.advance() }
    guard plan.stamps == found.stamps else {
      throw TortureViolation(
        "after save \(found.lastSave) of worker \(worker) its places are \(found.stamps), not \(plan.stamps)")
    }
    plans[worker] = plan
    promised[worker] = found.lastSave
  }
}
