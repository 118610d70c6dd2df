import ArgumentParser
import Foundation
import TortureKit
import struct StrataCore.Mutex

/// Runs all kinds in turn, each slice in a worker process, and prints the totals.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Tortures for a given time (the default).")

  @Option(help: "How long, in minutes.") var minutes = 1.0
  @Option(parsing: .upToNextOption, help: "The kinds to run; all of them without.") var only: [String] = []
  @Option(help: "The seed of the first slice, from which the others follow.") var seed: UInt64?
  @Option(help: "How many workers run at once.") var jobs = 2
  @Option(help: "The length of a slice, in seconds.") var slice = 20.0
  @Option(help: "Only so many rounds of each kind instead of a time.") var rounds: Int?

  func run() throws {
    let kinds = try only.isEmpty ? Torture.kinds : only.map(Torture.kind)
    guard !kinds.isEmpty else { throw ValidationError("There is no kind to run.") }
    let seed = seed ?? .random(in: 1...999_999_999)
    Worker.say("torture: seed \(seed), \(kinds.map { $0.name }.joined(separator: ", "))")
    let schedule = Schedule(
      kinds: kinds, seed: seed, rounds: rounds, slice: slice,
      deadline: .now.advanced(by: .seconds(minutes * 60)))
    DispatchQueue.concurrentPerform(iterations: max(jobs, 1)) { _ in schedule.work() }
    if schedule.printTotals() > 0 { throw ExitCode.failure }
  }
}

/// What runs next, and its results.
private final class Schedule: Sendable {
  private struct State {
    var seeds: SeededGenerator
    var nextSeed: UInt64
    /// By kind, the seconds it has had, slices under way included.
    var spent: [Double]
    var slices: [Int]
    var totals: [TortureTotals]
  }
  private let kinds: [any TortureKind.Type]
  private let rounds: Int?
  private let slice: Double
  private let deadline: ContinuousClock.Instant
  private let state: Mutex<State>

  init(
    kinds: [any TortureKind.Type], seed: UInt64, rounds: Int?, slice: Double,
    deadline: ContinuousClock.Instant
  ) {
    self.kinds = kinds
    self.rounds = rounds
    self.slice = slice
    self.deadline = deadline
    state = Mutex(
      State(
        seeds: SeededGenerator(seed: seed), nextSeed: seed,
        spent: Array(repeating: 0, count: kinds.count), slices: Array(repeating: 0, count: kinds.count),
        totals: Array(repeating: TortureTotals(), count: kinds.count)))
  }

  /// Runs slices until the time is over.
  func work() {
    while let (number, seed, seconds) = next() {
      let start = ContinuousClock.now
      let totals = run(kinds[number], seed, seconds)
      let took = ContinuousClock.now - start
      state.withLock { state in
        state.totals[number].add(totals)
        state.spent[number] += took / .seconds(1) - seconds
      }
    }
  }

  /// The kind that has had least time, a seed for it, and how long it may run.
  private func next() -> (Int, UInt64, Double)? {
    state.withLock { state in
      let left = deadline - .now
      if rounds == nil && left <= .zero { return nil }
      let open = kinds.indices.filter { rounds == nil || state.slices[$0] == 0 }
      guard let number = open.min(by: { state.spent[$0] < state.spent[$1] }) else { return nil }
      let seconds = rounds == nil ? min(slice, left / .seconds(1)) : slice
      state.spent[number] += seconds
      state.slices[number] += 1
      // With a given number of rounds every kind has the seed that was asked for.
      defer { if rounds == nil { state.nextSeed = state.seeds.next() >> 16 } }
      return (number, state.nextSeed, seconds)
    }
  }

  /// One worker, from start to end.
  private func run(_ kind: any TortureKind.Type, _ seed: UInt64, _ seconds: Double) -> TortureTotals {
    var totals = TortureTotals()
    var roundSeed = seed
    do {
      let limit = rounds.map { ["--rounds", "\($0)"] } ?? ["--seconds", "\(seconds)"]
      let child = try ChildProcess(
        ChildProcess.program("Torture"), ["worker", kind.name, "--seed", "\(seed)"] + limit)
      while let line = child.readLine() {
        if let one = TortureTotals(line: line) {
          totals.add(one)
        } else if line.hasPrefix("seed ") {
          roundSeed = UInt64(line.dropFirst(5)) ?? 0
        } else {
          Worker.say("\(kind.name): \(line)")
        }
      }
      let code = child.wait()
      if code != 0 && totals.violations == 0 {
        totals.violations += 1
        Worker.say("\(kind.name): violation seed \(roundSeed): the worker ended with \(code)")
      }
    } catch {
      totals.violations += 1
      Worker.say("\(kind.name): no worker: \(error)")
    }
    return totals
  }

  /// Prints what there is; how many violations.
  func printTotals() -> Int {
    state.withLock { state in
      for (kind, totals) in zip(kinds, state.totals) {
        Worker.say(
          "\(kind.name): \(totals.cases) \(kind.cases) in \(totals.rounds) rounds, \(totals.violations) violations"
        )
        for (name, count) in totals.details.sorted(by: { $0.key < $1.key }) {
          Worker.say("    \(name): \(count)")
        }
      }
      return state.totals.reduce(0) { $0 + $1.violations }
    }
  }
}
