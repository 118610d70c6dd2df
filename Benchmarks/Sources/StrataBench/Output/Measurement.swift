import Foundation

/// One timed run.
struct Sample {
  var seconds: Double
  /// Letting go of what the run returned.
  var releaseSeconds: Double

  /// Runs `work`, stops the clock, then releases what it returned.
  static func take(_ work: () throws -> Outcome) rethrows -> (sample: Sample, touch: Touch) {
    let clock = ContinuousClock()
    let start = clock.now
    var outcome = try work()
    let end = clock.now
    outcome.results = nil
    let released = clock.now
    return (Sample(seconds: (end - start).seconds, releaseSeconds: (released - end).seconds), outcome.touch)
  }
}

/// All counted runs of one contender.
struct Series {
  var contender: Contender
  var samples: [Sample] = []
  /// Of the closed store, all its files together.
  var fileBytes = 0
  var memory: MemoryUse?

  var median: Double { samples.map(\.seconds).median }
  var minimum: Double { samples.map(\.seconds).min() ?? .nan }
  var maximum: Double { samples.map(\.seconds).max() ?? .nan }
  var releaseMedian: Double { samples.map(\.releaseSeconds).median }
}

/// One benchmark at one size.
struct Comparison {
  var benchmark: Benchmark
  var size: Int
  var series: [Series]

  var strata: Series? { series.first { $0.contender.role == .strata } }
  var floor: Series? { series.first { $0.contender.role == .floor } }
  var references: [Series] { series.filter { $0.contender.role == .reference } }

  /// How many times as fast as the fastest reference.
  func ratio(of series: Series) -> Double {
    (references.map(\.median).min() ?? .nan) / series.median
  }

  func nanosecondsPerRow(_ series: Series) -> Double {
    series.median * 1e9 / Double(benchmark.rows(of: size))
  }
}

extension Comparison {
  /// Everything that was measured. What is required of the ratio is so at 100,000 rows.
  var figures: [Figure?] {
    let name = benchmark.rawValue
    var figures: [Figure?] = []
    for series in series {
      let (contender, seconds) = (series.contender.name, series.samples.map(\.seconds))
      figures += [
        .seconds(name, size: size, contender, seconds, .milliseconds),
        .seconds(
          name, size: size, contender, as: .timePerRow, seconds.map { $0 / Double(benchmark.rows(of: size)) },
          .nanoseconds),
        .seconds(
          name, size: size, contender, as: .release, series.samples.map(\.releaseSeconds), .milliseconds),
        .measured(
          name, size: size, contender, as: .file, [Double(series.fileBytes)], scale: 1e-6, unit: "MB"),
      ]
      guard let memory = series.memory else { continue }
      figures += [
        .measured(
          name, size: size, contender, as: .peakMemory, [Double(memory.peakBytes)], scale: 1e-6, unit: "MB"),
        .measured(
          name, size: size, contender, as: .memory, [Double(memory.privateBytes)], scale: 1e-6, unit: "MB"),
      ]
    }
    guard let strata else { return figures }
    for reference in references {
      figures.append(
        .multiple(
          name, size: size, strata.contender.name, reference.median / strata.median,
          of: reference.contender.name,
          required: size == 100_000 ? .atLeast(benchmark.requiredRatio) : nil))
    }
    return figures
  }
}

extension Array where Element: Comparable {
  /// What a share of the values keeps within, which are in ascending order; nil when there are none.
  func latency(_ share: Double) -> Element? {
    isEmpty ? nil : self[Swift.min(Int(Double(count) * share), count - 1)]
  }
}

extension [Double] {
  /// Not a number when there is nothing to take it of.
  var median: Double {
    guard !isEmpty else { return .nan }
    let sorted = sorted()
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
  }
}

extension Duration {
  var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
