import Foundation
import Strata
import TortureKit

/// Cuts the power at every point of a recorded story and opens what may be left.
struct PowerCuts: TortureKind {
  static let name = "crash-states"
  static let cases = "crash states"

  private let seed: UInt64
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) { self.seed = seed }

  mutating func round() throws -> Int {
    let cuts = try CutRecord(seed: seed, durability: seed % 4 == 3 ? .relaxed : .full)
    var violation: TortureViolation?
    let count = try cuts.examine(ignoringFlushes: false) { found in
      if violation == nil { violation = found }
    }
    details["cuts"] = cuts.events.count
    details["stories with .\(cuts.durability)"] = 1
    if let violation { throw violation }
    return count
  }
}

/// The same with a log of small commits: any of the unflushed writes to both files.
struct LogPowerCuts: TortureKind {
  static let name = "log-store-crash-states"
  static let cases = "crash states of stores with a log"

  private let seed: UInt64
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) { self.seed = seed }

  mutating func round() throws -> Int {
    let cuts = try CutRecord(seed: seed, durability: seed % 2 == 1 ? .relaxed : .full, keepsLog: true)
    var violation: TortureViolation?
    let count = try cuts.examine(ignoringFlushes: false) { found in
      if violation == nil { violation = found }
    }
    details["cuts"] = cuts.events.count
    details["stories with .\(cuts.durability)"] = 1
    if let violation { throw violation }
    return count
  }
}

/// The same on a disk that forgets to flush: here violations must be found, or the harness proves nothing.
struct LyingDisk: TortureKind {
  static let name = "lying-disk"
  static let cases = "violations on a disk that lies"

  private let seed: UInt64

  init(seed: UInt64) { self.seed = seed }

  mutating func round() throws -> Int {
    var count = 0
    _ = try CutRecord(seed: seed, durability: .full).examine(ignoringFlushes: true) { _ in count += 1 }
    if count == 0 { throw TortureViolation("nothing was lost although nothing was flushed") }
    return count
  }
}

/// A recorded story and what was promised in it.
private struct CutRecord {
  let seed: UInt64
  let durability: Durability
  let keepsLog: Bool
  let events: [DiskEvent]
  private let folder: String

  /// Runs a story and records it.
  init(seed: UInt64, durability: Durability, keepsLog: Bool = false) throws {
    self.seed = seed
    self.keepsLog = keepsLog
    self.durability = durability
    let scratch = try ScratchFolder()
    folder = scratch.path
    events = try DiskRecord.of(scratch.path) {
      var story = LedgerStory(
        path: scratch("Ledger.strata"), durability: durability, keepsLog: keepsLog, seed: seed)
      try story.tell()
    }
  }

  /// Cuts after every event, examines states, and reports those that break a promise; how many distinct ones there were.
  func examine(ignoringFlushes: Bool, report: (TortureViolation) -> Void) throws -> Int {
    var disk = SimulatedDisk(
      folder: folder, ignoresFlushes: ignoringFlushes, tears: ["-log": [64, 256, 512][Int(seed % 3)]])
    // With a log no save is flushed before the next checkpoint.
    var promises = Promises(undoable: durability == .full ? 0 : keepsLog ? 1 << 30 : 1)
    var random = SeededGenerator(seed: seed ^ 0xC0FFEE)
    let examination = try Examination(seed: seed, keepsLog: keepsLog)
    for (number, event) in events.enumerated() {
      try disk.apply(event)
      if case .marked(let kind, let value) = event { try promises.take(kind: kind, value: value) }
      disk.forEachState(atMost: 8, &random) { state in
        do throws(TortureViolation) {
          try examine(state, promises, examination)
        } catch {
          report(TortureViolation("cut after event \(number) of \(events.count): \(error)"))
        }
      }
    }
    return examination.count
  }

  private func examine(
    _ state: CrashState, _ promises: Promises, _ examination: Examination
  ) throws(TortureViolation) {
    var objections: [String?] = []
    do {
      let found = try state.files["Ledger.strata"].map { content throws(TortureViolation) in
        try examination.examine(content, log: state.files["Ledger.strata-log"]).state
      }
      objections.append(promises.objection(to: found))
    }
    for number in promises.backups.keys {
      let found = try state.files[LedgerStory.backupName(number)].map { content throws(TortureViolation) in
        try examination.examine(content).state
      }
      objections.append(promises.objection(toBackup: number, found))
    }
    if let objection = objections.compactMap({ $0 }).first { throw TortureViolation(objection) }
  }
}
