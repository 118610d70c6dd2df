import ArgumentParser
import CoreData

/// Runs many stories, in processes of their own.
struct Stories: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Tells many stories.", shouldDisplay: false)

  @Option(help: "How many models.") var graphs = 3
  @Option(help: "How many operations on each.") var operations = 500
  @Option(help: "The first seed.") var seed: UInt64 = 1
  @Option(help: "How many processes at once.") var processes = 2
  @Option(help: "How many stories may be told again to shorten one.") var attempts = 60

  func run() throws {
    let outcomes = Outcomes()
    DispatchQueue.concurrentPerform(iterations: max(processes, 1)) { worker in
      var number = worker
      while number < graphs {
        outcomes.add(tell(seed &+ UInt64(number)))
        number += max(processes, 1)
      }
    }
    if outcomes.failures > 0 { throw ExitCode.failure }
  }

  private func tell(_ seed: UInt64) -> Bool {
    let story = Story(seed: seed, operations: operations)
    let outcome = story.tell([])
    if outcome.agreed {
      say(outcome.words)
      return true
    }
    say("seed \(seed) failed:\n\(outcome.words)\nthe model:\n\(ModelPlan.random(seed: seed))")
    let (steps, words) = story.shortened(outcome, attempts: attempts)
    say("seed \(seed), shortened to steps \(Self.ranges(of: steps)):\n\(words)")
    return false
  }

  /// Numbers as short as they can be told: `1–40 52`.
  private static func ranges(of steps: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for step in steps.sorted() {
      if let last = ranges.last, step <= last.upperBound + 1 {
        ranges[ranges.count - 1] = last.lowerBound...max(step, last.upperBound)
      } else {
        ranges.append(step...step)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)–\($0.upperBound)" }
      .joined(separator: " ")
  }

  private func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
  }
}

/// How many stories did not agree.
private final class Outcomes: @unchecked Sendable {
  // The lock is held for each access.
  private let lock = NSLock()
  private var failed = 0

  func add(_ agreed: Bool) { lock.withLock { if !agreed { failed += 1 } } }
  var failures: Int { lock.withLock { failed } }
}
