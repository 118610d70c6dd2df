import ArgumentParser
import Foundation

/// Where a card writes its results.
struct ResultsOptions: ParsableArguments {
  @Option(help: "Folder for the results, which `make performance` reads; nothing committed lies there.")
  var results = ".build/bench-results"

  /// Before anything is measured, which takes long.
  func validate() throws {
    do {
      try FileManager.default.createDirectory(
        at: URL(fileURLWithPath: results), withIntermediateDirectories: true)
    } catch {
      throw ValidationError("Results cannot be written to \(results): \(error.localizedDescription)")
    }
  }

  /// Writes the results of one run of a card, in place of those of the run before.
  func write(_ card: String, _ figures: [Figure?], on machine: Machine, note: String? = nil) throws {
    var run = CardRun(facts: machine.facts, figures: figures.compactMap(\.self))
    run.facts[.note] = note
    let folder = URL(fileURLWithPath: results)
    let file = folder.appendingPathComponent("\(card).tsv")
    let text = try ResultFile(card: card, runs: [run]).text()
    try Data(text.utf8).write(to: file, options: .atomic)
    print(
      "Results: \(results)/\(card).tsv. make performance TAKE=\(card) takes them over into Docs/Performance.md."
    )
  }
}

/// The units that times are measured in.
enum TimeUnit: String {
  case nanoseconds = "ns"
  case microseconds = "µs"
  case milliseconds = "ms"

  var perSecond: Double {
    switch self {
    case .nanoseconds: 1e9
    case .microseconds: 1e6
    case .milliseconds: 1e3
    }
  }
}

extension Figure {
  /// A time, or whatever else was measured once in each run; nil where nothing was measured.
  ///
  /// - Parameter scale: What a value is multiplied by to be in `unit`.
  static func measured(
    _ operation: String, size: Int? = nil, _ contender: String, as measure: Measure = .time,
    _ values: [Double],
    scale: Double = 1, unit: String, required: Bound? = nil
  ) -> Figure? {
    guard let median = Amount(measured: values.median * scale) else { return nil }
    var figure = Figure(
      key: Key(operation: operation, size: size, contender: contender, measure: measure), unit: unit)
    figure.median = median
    if values.count > 1 {
      figure.lowest = values.min().flatMap { Amount(measured: $0 * scale) }
      figure.highest = values.max().flatMap { Amount(measured: $0 * scale) }
    }
    figure.required = required
    figure.counted = values.count
    return figure
  }

  static func seconds(
    _ operation: String, size: Int? = nil, _ contender: String, as measure: Measure = .time,
    _ values: [Double],
    _ unit: TimeUnit, required: Bound? = nil
  ) -> Figure? {
    measured(
      operation, size: size, contender, as: measure, values, scale: unit.perSecond, unit: unit.rawValue,
      required: required)
  }

  /// How many times another contender's figure it is; nil where one of them was not measured.
  static func multiple(
    _ operation: String, size: Int? = nil, _ contender: String, as measure: Measure = .speed, _ value: Double,
    of against: String, required: Bound? = nil
  ) -> Figure? {
    guard let median = Amount(measured: value) else { return nil }
    let key = Key(
      operation: operation, size: size, contender: contender, measure: measure, against: against)
    return Figure(key: key, unit: "×", median: median, required: required)
  }
}

extension Bound {
  static func atLeast(_ value: Double) -> Bound { Bound(.atLeast, value) }
  static func atMost(_ value: Double) -> Bound { Bound(.atMost, value) }

  private init(_ side: Side, _ value: Double) {
    let text = value == value.rounded() ? "\(Int(value))" : "\(value)"
    guard let amount = Amount(text) else {
      preconditionFailure("A requirement is a positive number, not \(value).")
    }
    self.init(side, amount)
  }
}
