import ArgumentParser
import Foundation
import GateCounters
import Strata

/// Plain, not asynchronous: valgrind does not survive how the system's queues end the main thread.
@main
struct Gate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "strata-gate",
    abstract: "Counts instructions and allocations of common operations and compares them with the baseline.",
    subcommands: [Compare.self, Measure.self], defaultSubcommand: Compare.self)
}

struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Counts, prints a table, and exits with 1 when an operation costs more than the baseline permits.")

  @Option(help: "The file with the baseline.")
  var baseline = "Benchmarks/Baseline/gate.tsv"

  @Option(help: "Growth over the baseline that is permitted, in per cent.")
  var tolerance = 3.0

  @Flag(help: "Write what is counted to the baseline instead of comparing.")
  var record = false

  @Flag(
    help:
      "Count with an observer of everything that does nothing, and print how much more than the baseline that costs."
  )
  var observed = false

  @Flag(
    help:
      "Count nothing where the baseline was counted with another compiler, C library or kind of processor: say so and exit with 0."
  )
  var ifComparable = false

  @Option(parsing: .upToNextOption, help: "Names of operations; all of them by default.")
  var only: [String] = []

  func validate() throws {
    let known = Set(Operation.all.map(\.name))
    if let unknown = only.first(where: { !known.contains($0) }) {
      throw ValidationError(
        "There is no operation \"\(unknown)\": \(known.sorted().joined(separator: ", ")).")
    }
    if record && observed { throw ValidationError("A baseline is of programs without observers.") }
    if ifComparable && (record || observed) {
      throw ValidationError("--if-comparable is for comparisons: leave out --record and --observed.")
    }
    if record && !only.isEmpty { throw ValidationError("A baseline has all operations: leave out --only.") }
    guard tolerance >= 0 else { throw ValidationError("--tolerance is zero or more.") }
  }

  func run() throws {
    guard gate_can_count() != 0 else {
      throw GateError(
        "Built without valgrind's header, on which counting depends: install valgrind and build again.")
    }
    if ifComparable, let difference = try Baseline(from: URL(fileURLWithPath: baseline)).difference() {
      return print(difference)
    }
    let counted = try Counting(isObserved: observed).count(only.isEmpty ? Operation.all.map(\.name) : only)
    let file = URL(fileURLWithPath: baseline)
    if record {
      try Baseline(conditions: Baseline.conditionsHere(), figures: counted).write(to: file)
      print("Written: \(baseline)")
      return
    }
    let earlier = try Baseline(from: file)
    if observed { return print(try earlier.compare(counted, tolerance: .infinity).text) }
    var least = counted
    var verdict = try earlier.compare(least, tolerance: tolerance)
    // Operations with threads differ a little from run to run. What costs more costs more each time.
    for _ in 0..<2 where !verdict.isPassed {
      FileHandle.standardError.write(
        Data("Counting again: \(verdict.failed.joined(separator: ", ")).\n".utf8))
      for (name, again) in try Counting(isObserved: false).count(verdict.failed) {
        least[name] = least[name]?.least(again) ?? again
      }
      verdict = try earlier.compare(least, tolerance: tolerance)
    }
    print(verdict.text)
    if !verdict.isPassed { throw ExitCode(1) }
  }
}

/// What runs under valgrind. Its output is read by `Compare`.
struct Measure: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Does the operations; for `compare`.", shouldDisplay: false)

  @Argument var names: [String]
  @Flag var observed = false

  /// Work on other threads, such as freeing what was replaced, may fall into a round or behind it: the least counts.
  private static let rounds = 3

  func run() throws {
    if observed { StrataObservers.install(Nothing()) }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "strata-gate-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    for operation in Operation.all where names.contains(operation.name) {
      let place = folder.appendingPathComponent(operation.name)
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      let world = try World(in: place)
      // Once to fill caches and to bring in libraries lazily.
      _ = try operation.prepare(world)()
      for _ in 0..<Self.rounds {
        let work = try operation.prepare(world)
        let before = gate_allocations()
        gate_begin()
        let units = try work()
        gate_end(operation.name)
        let allocations = gate_allocations() - before
        guard units > 0 else { throw GateError("The operation \"\(operation.name)\" has done nothing.") }
        print("\(operation.name)\t\(units)\t\(allocations)")
      }
      try world.close()
    }
  }
}

/// Looks at nothing.
private final class Nothing: StrataObserver {
  func observe(_ event: StrataEvent) {}
}

struct GateError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
