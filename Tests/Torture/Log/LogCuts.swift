import Foundation
import Strata
import StrataCore
import TortureKit

/// Cuts the power at every point of a recorded story of a store with a log, and opens what may be left of both files.
struct LogCuts: TortureKind {
  static let name = "log-crash-states"
  static let cases = "crash states of data file and log"

  private let seed: UInt64
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) { self.seed = seed }

  mutating func round() throws -> Int {
    let record = try LogCutRecord(seed: seed)
    let examined = try record.examine()
    details = examined.details
    details["cuts"] = record.events.count
    details["stories with .\(record.durability)"] = 1
    details["stories with tears at \(record.tear) bytes"] = 1
    details["failed commits"] = record.failures
    return examined.count
  }
}

/// The same where something is wrong on purpose: violations must be found, or the harness proves nothing.
struct LogMutants: TortureKind {
  static let name = "log-mutants"
  static let cases = "violations in logs with a fault"

  private let seed: UInt64
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) { self.seed = seed }

  mutating func round() throws -> Int {
    var total = 0
    for mutant in [.withoutPin, .withoutChain, .withoutCut, nil] as [LogProbe.Mutant?] {
      let name = mutant?.rawValue ?? "ignoring flushes"
      // One story need not come into the situation.
      let isFound = try (0..<20).contains { number in
        details["stories", default: 0] += 1
        return try Self.isWrong(mutant, seed: seed &+ UInt64(number) &* 7_919)
      }
      guard isFound else { throw TortureViolation("nothing was wrong \(name)") }
      details["found \(name)"] = 1
      total += 1
    }
    return total
  }

  /// Whether a story violates a promise; the first violation will do.
  private static func isWrong(_ mutant: LogProbe.Mutant?, seed: UInt64) throws -> Bool {
    let record: LogCutRecord
    do {
      record = try LogCutRecord(seed: seed, mutant: mutant)
    } catch let error as StorageError where mutant != nil && error.kind == .damaged {
      // The story itself has come upon it, after a failed write.
      return true
    }
    do {
      _ = try record.examine(ignoringFlushes: mutant == nil, recoveryCuts: 0)
      return false
    } catch is TortureViolation {
      return true
    }
  }
}

/// A recorded story and what was promised in it.
struct LogCutRecord {
  let seed: UInt64
  let durability: Durability
  let events: [DiskEvent]
  let failures: Int
  /// How the log is torn: nothing in its format relies on sectors.
  let tear: Int
  private let mutant: LogProbe.Mutant?
  private let states: [Int: LogProbe.Contents]
  private let folder: String

  /// Runs a story and records it.
  init(seed: UInt64, mutant: LogProbe.Mutant? = nil) throws {
    self.seed = seed
    self.mutant = mutant
    durability = seed % 3 == 2 ? .relaxed : .full
    let scratch = try ScratchFolder()
    folder = scratch.path
    var settings = LogProbe.Settings()
    settings.durability = durability
    settings.mutant = mutant
    settings.mostPages = [12, 40, 200][Int(seed / 3 % 3)]
    settings.commitsBefore = Int(seed / 9 % 3)
    settings.mapSize = 1 << 22
    tear = [512, 256, 64][Int(seed / 27 % 3)]
    var story = LogStory(path: scratch(LogExamination.name), settings: settings, seed: seed)
    events = try DiskRecord.of(scratch.path) { try story.tell() }
    states = story.states
    failures = story.failures
  }

  /// Cuts after every event, and examines states until one breaks a promise; how many distinct ones there were.
  func examine(
    ignoringFlushes: Bool = false, recoveryCuts: Int = 4
  ) throws -> (count: Int, details: [String: Int]) {
    var disk = SimulatedDisk(
      folder: folder, ignoresFlushes: ignoringFlushes, tears: [LogExamination.logName: tear])
    var promises = LogPromises(durability)
    var random = SeededGenerator(seed: seed ^ 0xC0FFEE)
    let states = states
    let examination = try LogExamination(
      seed: seed, states: { states[$0] }, mutant: mutant, tear: tear, recoveryCuts: recoveryCuts)
    for (number, event) in events.enumerated() {
      try disk.apply(event)
      if case .marked(let kind, let value) = event { try promises.take(kind: kind, value: value) }
      try disk.forEachState(atMost: 8, &random) { state in
        do throws(TortureViolation) {
          let found = try examination.examine(state.files)
          if let objection = promises.objection(to: found) { throw TortureViolation(objection) }
        } catch {
          throw TortureViolation(
            "cut after event \(number) of \(events.count), .\(durability), \(Self.kind(event)): \(error)")
        }
      }
    }
    try examination.notePairs()
    return (examination.count, examination.details)
  }

  static func kind(_ event: DiskEvent) -> String {
    switch event {
    case .written(let inode, let offset, let bytes, let isDurable):
      "\(bytes.count) bytes at \(offset) of \(inode)\(isDurable ? ", durable" : "")"
    default: "\(event)"
    }
  }
}
