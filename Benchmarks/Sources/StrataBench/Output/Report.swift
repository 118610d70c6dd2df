import Foundation

/// The tables a run prints.
struct Report {
  var comparisons: [Comparison] = []

  /// One benchmark at one size: printed as soon as it is measured.
  func table(of comparison: Comparison) -> String {
    var table = Table(
      header: [
        "", "median ms", "min", "max", "ns/row", "× GRDB", "release ms", "file MB", "peak MB", "private MB",
      ])
    for series in comparison.series {
      table.rows.append([
        series.contender.name, milliseconds(series.median), milliseconds(series.minimum),
        milliseconds(series.maximum), number(comparison.nanosecondsPerRow(series), digits: 0),
        number(comparison.ratio(of: series), digits: 1), milliseconds(series.releaseMedian),
        megabytes(series.fileBytes), megabytes(series.memory?.peakBytes),
        megabytes(series.memory?.privateBytes),
      ])
    }
    let runs = comparison.series.first?.samples.count ?? 0
    let title = "\(comparison.benchmark.title): \(grouped(comparison.size)) rows, counted runs: \(runs)"
    return "### \(title)\n\n\(table)\n"
  }

  /// Cost per row of every contender at every size.
  func growth() -> String {
    let sizes = Set(comparisons.map(\.size)).sorted()
    var table = Table(header: ["ns per row"] + sizes.map(grouped) + ["1M : 10k"])
    for benchmark in Benchmark.allCases {
      let measured = comparisons.filter { $0.benchmark == benchmark }
      for contender in benchmark.contenders {
        let costs = sizes.map { cost(of: contender, at: $0, in: measured) }
        guard costs.contains(where: { $0 != nil }) else { continue }
        table.rows.append(
          ["\(benchmark.rawValue): \(contender.name)"]
            + costs.map { $0.map { number($0, digits: 0) } ?? "–" }
            + [growthRatio(of: contender, in: measured).map { number($0, digits: 2) } ?? "–"])
      }
    }
    return "### Cost per row as the store grows\n\n\(table)\n"
  }

  func verdict() -> Verdict {
    var verdict = Verdict()
    for benchmark in Benchmark.allCases {
      let measured = comparisons.filter { $0.benchmark == benchmark }
      // The requirement is stated for 100,000 rows; a shorter run is judged by the most it measured.
      let judged = measured.first { $0.size == 100_000 } ?? measured.max { $0.size < $1.size }
      if let judged, let strata = judged.strata {
        for reference in judged.references {
          verdict.lines.append(
            .init(
              name: "\(benchmark.rawValue) at \(grouped(judged.size)), against \(reference.contender.name)",
              found: reference.median / strata.median,
              floor: judged.floor.map { reference.median / $0.median },
              bound: benchmark.requiredRatio, isUpperBound: false))
        }
      }
      if let strata = measured.first?.strata, let growth = growthRatio(of: strata.contender, in: measured) {
        verdict.lines.append(
          .init(
            name: "\(benchmark.rawValue), cost per row at 1M against 10k", found: growth,
            floor: growthRatio(of: .rawLMDB, in: measured), bound: 1.5, isUpperBound: true))
      }
    }
    return verdict
  }

  private func growthRatio(of contender: Contender, in measured: [Comparison]) -> Double? {
    guard let large = cost(of: contender, at: 1_000_000, in: measured),
      let small = cost(of: contender, at: 10_000, in: measured)
    else { return nil }
    return large / small
  }

  private func cost(of contender: Contender, at size: Int, in measured: [Comparison]) -> Double? {
    guard let comparison = measured.first(where: { $0.size == size }),
      let series = comparison.series.first(where: { $0.contender.name == contender.name })
    else { return nil }
    return comparison.nanosecondsPerRow(series)
  }
}

extension Report {
  var figures: [Figure?] {
    comparisons.flatMap(\.figures)
      + Benchmark.allCases.flatMap { benchmark in
        let measured = comparisons.filter { $0.benchmark == benchmark }
        return benchmark.contenders.map { contender in
          growthRatio(of: contender, in: measured).flatMap {
            Figure.multiple(
              benchmark.rawValue, size: 1_000_000, contender.name, as: .timePerRow, $0, of: "10,000 rows",
              required: contender.role == .strata ? .atMost(1.5) : nil)
          }
        }
      }
  }
}

/// Required against reached.
struct Verdict {
  struct Line {
    var name: String
    var found: Double
    /// The same figure of the hand-packed peer: nearly the best that can be had on LMDB here.
    var floor: Double?
    var bound: Double
    var isUpperBound: Bool

    var isReached: Bool { isUpperBound ? found <= bound : found >= bound }
  }

  var lines: [Line] = []

  var isReached: Bool { lines.allSatisfy(\.isReached) }

  var text: String {
    var table = Table(header: ["Strata", "required", "found", "reached", "raw LMDB"])
    for line in lines {
      table.rows.append([
        line.name, "\(line.isUpperBound ? "≤" : "≥") \(number(line.bound, digits: 1)) ×",
        "\(number(line.found, digits: 2)) ×", line.isReached ? "yes" : "NO",
        line.floor.map { "\(number($0, digits: 2)) ×" } ?? "–",
      ])
    }
    return "### Verdict\n\n\(table)\n"
  }
}

private func number(_ value: Double, digits: Int) -> String {
  value.isNaN ? "–" : String(format: "%.\(digits)f", value)
}

/// Three significant figures: 0.42, 6.10, 61.0, 915.
private func milliseconds(_ seconds: Double) -> String {
  let value = seconds * 1_000
  return number(value, digits: value < 10 ? 2 : value < 100 ? 1 : 0)
}

private func megabytes(_ bytes: Int?) -> String {
  bytes.map { number(Double($0) / 1e6, digits: 1) } ?? "–"
}

private func grouped(_ count: Int) -> String {
  var text = ""
  for (index, digit) in String(count).reversed().enumerated() {
    if index > 0, index % 3 == 0 { text = "," + text }
    text = String(digit) + text
  }
  return text
}
