import Foundation
import StoreInterposer
import Strata
import StrataCore
import TortureKit

#if os(Linux)

  /// Cuts the power at every point of a story that several processes have told on one disk, in which any of them was killed at any call.
  struct LogCrewCuts: TortureKind {
    static let name = "log-crew-crash-states"
    static let cases = "crash states of a store with a log and several processes"

    private let seed: UInt64
    private(set) var details: [String: Int] = [:]

    init(seed: UInt64) { self.seed = seed }

    mutating func round() throws -> Int {
      let examined = try LogCrewRecord(seed: seed).examineAll()
      details = examined.details
      return examined.count
    }
  }

  /// The same at some points, with one state each: a story takes a few seconds.
  struct LogCrewSample: TortureKind {
    static let name = "log-crew-sample"
    static let cases = "crash states of a store with a log and several processes, here and there"

    private let seed: UInt64
    private(set) var details: [String: Int] = [:]

    init(seed: UInt64) { self.seed = seed }

    mutating func round() throws -> Int {
      let examined = try LogCrewRecord(seed: seed).examineAll(cutEvery: 5, statesPerCut: 1, recoveryCuts: 1)
      details = examined.details
      return examined.count
    }
  }

  /// The same with logs that have a fault: violations must be found, or the harness proves nothing.
  struct LogCrewMutants: TortureKind {
    static let name = "log-crew-mutants"
    static let cases = "violations in logs of several processes with a fault"

    private let seed: UInt64
    private(set) var details: [String: Int] = [:]

    init(seed: UInt64) { self.seed = seed }

    mutating func round() throws -> Int {
      var total = 0
      for mutant in [LogProbe.Mutant.withoutPin, .withoutCut, .trusting] {
        var count = 0
        // One story need not come into the situation.
        for number in 0..<60 where count == 0 {
          details["stories \(mutant.rawValue)", default: 0] += 1
          do {
            let record = try LogCrewRecord(seed: seed &+ UInt64(number) &* 7_919, mutant: mutant)
            _ = try record.examine(recoveryCuts: 0, until: { count > 0 }) { _ in count += 1 }
          } catch is TortureViolation {
            // Found by a member.
            count += 1
          }
        }
        details["found \(mutant.rawValue)"] = count
        if count == 0 { throw TortureViolation("nothing was wrong \(mutant.rawValue)") }
        total += count
      }
      return total
    }
  }

  /// A story that several processes have told, and its record.
  private struct LogCrewRecord {
    let seed: UInt64
    private let story: LogCrewStory
    private let events: [DiskEvent]
    private let folder: String
    private let mutant: LogProbe.Mutant?

    init(seed: UInt64, mutant: LogProbe.Mutant? = nil) throws {
      self.seed = seed
      self.mutant = mutant
      let scratch = try ScratchFolder()
      // Beside the folder, in which every file is watched.
      let own = try ScratchFolder(inMemory: false)
      let record = own("record")
      guard si_record_together(record, 1) == 0 else { throw TortureViolation("there is no common record") }
      defer { si_leave_together() }
      var story = LogCrewStory(
        path: scratch(LogExamination.name), record: record, seed: seed, mutant: mutant)
      try story.tell()
      self.story = story
      events = try DiskRecord.events()
      folder = scratch.path
    }

    /// Examines states; the first one that breaks a promise is the error.
    func examineAll(cutEvery: Int = 1, statesPerCut: Int = 8, recoveryCuts: Int = 4) throws -> (
      count: Int, details: [String: Int]
    ) {
      var violation: TortureViolation?
      let examined = try examine(cutEvery: cutEvery, statesPerCut: statesPerCut, recoveryCuts: recoveryCuts) {
        if violation == nil { violation = $0 }
      }
      if let violation { throw violation }
      return examined
    }

    /// Cuts after every event, or every n-th, examines states, and reports those that break a promise; how many distinct ones there were.
    func examine(
      cutEvery: Int = 1, statesPerCut: Int = 8, recoveryCuts: Int = 4, until isEnough: () -> Bool = { false },
      report: (TortureViolation) -> Void
    ) throws -> (count: Int, details: [String: Int]) {
      let tear = [512, 256, 64][Int(seed % 3)]
      var disk = SimulatedDisk(folder: folder, tears: [LogExamination.logName: tear])
      var promises = LogCrewPromises()
      var random = SeededGenerator(seed: seed ^ 0xC0FFEE)
      let states = LogCrewStates(story)
      let examination = try LogExamination(
        seed: seed, states: states.contents, mutant: mutant, tear: tear, recoveryCuts: recoveryCuts)
      for (number, event) in events.enumerated() {
        try disk.apply(event)
        if case .marked(let kind, let value) = event {
          try promises.take(kind: kind, value: value)
          if let last = promises.lastBuilt { states.note(last, promises.previous[last] ?? 0) }
        }
        guard number % cutEvery == Int(seed % UInt64(cutEvery)) else { continue }
        disk.forEachState(atMost: statesPerCut, &random) { state in
          if isEnough() { return }
          do throws(TortureViolation) {
            let found = try examination.examine(state.files)
            if let objection = promises.objection(to: found) { throw TortureViolation(objection) }
          } catch {
            report(
              TortureViolation(
                "cut after event \(number) of \(events.count), \(LogCutRecord.kind(event)): \(error)"))
          }
        }
      }
      var details = story.details.merging(examination.details) { $0 + $1 }
      details["cuts"] = events.count
      details["attempts"] = promises.previous.count
      details["attempts of the killed whose place was taken"] = promises.deadCount
      try examination.notePairs()
      return (examination.count, details)
    }
  }

  /// What the store has after each attempt.
  private final class LogCrewStates {
    private let story: LogCrewStory
    private var known: [Int: LogProbe.Contents] = [0: [[:], [:], [:]]]
    private var bases: [Int: Int] = [:]

    init(_ story: LogCrewStory) { self.story = story }

    /// An attempt that is made again may build on another one.
    func note(_ attempt: Int, _ base: Int) {
      if bases[attempt] == base { return }
      bases[attempt] = base
      known[attempt] = nil
    }

    func contents(_ attempt: Int) -> LogProbe.Contents? {
      if let found = known[attempt] { return found }
      guard let base = bases[attempt], let (seed, isLarge) = story.attempts[attempt],
        var contents = contents(base)
      else { return nil }
      for change in LogCrewStory.changes(attempt, seed: seed, isLarge: isLarge) {
        LogStory.carryOut(change, &contents)
      }
      known[attempt] = contents
      return contents
    }
  }

#endif
