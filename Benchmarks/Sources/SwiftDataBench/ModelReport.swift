import Foundation

/// The table of one benchmark.
enum ModelReport {
  static func table(of comparison: Comparison) -> String {
    var table = Table(header: [
      "", "median ms", "min", "max", "ns/row", "× native", "file MB", "peak MB", "private MB", "× native",
    ])
    let native = comparison.references.first
    for series in comparison.series {
      let memory = ratio(series.memory?.privateBytes, native?.memory?.privateBytes)
      table.rows.append([
        series.contender.name, milliseconds(series.median), milliseconds(series.minimum),
        milliseconds(series.maximum), String(format: "%.0f", comparison.nanosecondsPerRow(series)),
        native.map { times(series.median / $0.median) } ?? "–", megabytes(series.fileBytes),
        megabytes(series.memory?.peakBytes), megabytes(series.memory?.privateBytes),
        memory.map(times) ?? "–",
      ])
    }
    let runs = comparison.series.first?.samples.count ?? 0
    return "### \(comparison.benchmark.title): \(comparison.size) rows, counted runs: \(runs)\n\n\(table)\n"
  }

  /// What is required here is a part of the time and the memory of native objects, not a multiple of their speed.
  static func figures(of comparison: Comparison) -> [Figure?] {
    let measured = comparison.figures.filter { $0?.key.measure != .speed }
    guard let models = comparison.strata, let native = comparison.references.first else { return measured }
    let benchmark = comparison.benchmark
    func multiple(_ measure: Figure.Measure, _ value: Double, _ limit: Double?) -> Figure? {
      .multiple(
        benchmark.rawValue, size: comparison.size, models.contender.name, as: measure, value,
        of: native.contender.name, required: limit.map(Bound.atMost))
    }
    let memory = ratio(models.memory?.privateBytes, native.memory?.privateBytes)
    return measured + [
      multiple(.time, models.median / native.median, benchmark.mostOfNative),
      memory.flatMap { multiple(.memory, $0, benchmark.mostMemoryOfNative) },
    ]
  }

  static func ratio(_ bytes: Int?, _ native: Int?) -> Double? {
    guard let bytes, let native, native > 0 else { return nil }
    return Double(bytes) / Double(native)
  }

  static func times(_ value: Double) -> String { String(format: "%.2f", value) }
  /// Three significant figures.
  private static func milliseconds(_ seconds: Double) -> String {
    let value = seconds * 1_000
    return String(format: "%.\(value < 10 ? 2 : value < 100 ? 1 : 0)f", value)
  }
  private static func megabytes(_ bytes: Int?) -> String {
    bytes.map { String(format: "%.1f", Double($0) / 1e6) } ?? "–"
  }
}

/// The limits against what was found.
struct ModelVerdict {
  private var table = Table(header: ["SwiftData against native Strata", "limit", "found", "reached"])
  private(set) var isReached = true

  mutating func judge(_ comparison: Comparison) {
    guard let models = comparison.strata, let native = comparison.references.first else { return }
    let benchmark = comparison.benchmark
    add(
      "\(benchmark.rawValue) at \(comparison.size), time", benchmark.mostOfNative,
      models.median / native.median)
    if let limit = benchmark.mostMemoryOfNative,
      let found = ModelReport.ratio(models.memory?.privateBytes, native.memory?.privateBytes)
    {
      add("\(benchmark.rawValue) at \(comparison.size), private memory", limit, found)
    }
  }

  private mutating func add(_ name: String, _ limit: Double, _ found: Double) {
    isReached = isReached && found <= limit
    table.rows.append([
      name, "≤ \(ModelReport.times(limit)) ×", "\(ModelReport.times(found)) ×", found <= limit ? "yes" : "NO",
    ])
  }

  var text: String { "### Verdict\n\n\(table)\n" }
}
