import Foundation

/// Figures of an earlier state of the code, and what they were counted with.
struct Baseline {
  /// Compiler, C library, processor and the vector instructions that the C library chooses its routines by: counts made with others are
  /// not comparable.
  let conditions: String
  let figures: [String: Figures]

  init(conditions: String, figures: [String: Figures]) {
    self.conditions = conditions
    self.figures = figures
  }

  init(from file: URL) throws {
    guard let text = try? String(contentsOf: file, encoding: .utf8) else {
      throw GateError("There is no baseline at \(file.relativePath): make one with --record.")
    }
    var conditions = ""
    var figures: [String: Figures] = [:]
    for line in text.split(separator: "\n") {
      if line.hasPrefix("# conditions: ") { conditions = String(line.dropFirst("# conditions: ".count)) }
      if line.hasPrefix("#") { continue }
      let parts = line.split(separator: "\t")
      guard parts.count == 4, let instructions = Double(parts[1]), let allocations = Double(parts[2]) else {
        throw GateError("The baseline has a line that cannot be read: \(line)")
      }
      figures[String(parts[0])] = Figures(instructions: instructions, allocations: allocations)
    }
    self.init(conditions: conditions, figures: figures)
  }

  func write(to file: URL) throws {
    var lines = [
      "# What one unit of common operations costs. Written by `make bench-gate ARGUMENTS=--record`.",
      "# conditions: \(conditions)", "# operation\tinstructions\tallocations\tunit",
    ]
    for operation in Operation.all {
      guard let figures = figures[operation.name] else { continue }
      lines.append("\(operation.name)\t\(figures.shown.0)\t\(figures.shown.1)\t\(operation.unit)")
    }
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
  }

  struct Verdict {
    let text: String
    /// Operations above the tolerance.
    let failed: [String]
    var isPassed: Bool { failed.isEmpty }
  }

  /// Why nothing is compared here: the conditions differ; nil when they are the same.
  func difference() throws -> String? {
    let here = try Self.conditionsHere()
    if here == conditions { return nil }
    return "Not compared: the baseline was counted with \(conditions); here is \(here)."
  }

  func compare(_ counted: [String: Figures], tolerance: Double) throws -> Verdict {
    var lines = [Self.row("operation", "instructions", "baseline", "", "allocations", "baseline", "")]
    var failed: [String] = []
    for operation in Operation.all {
      guard let now = counted[operation.name] else { continue }
      let before = figures[operation.name]
      let instructions = Self.growth(now.instructions, before?.instructions)
      // A tenth of an allocation per unit is one in a table that grows.
      let allocations = Self.growth(now.allocations, before?.allocations)
      let grew = (before.map { now.allocations > $0.allocations * (1 + tolerance / 100) + 0.1 }) ?? false
      if before == nil || (instructions ?? 0) > tolerance || grew { failed.append(operation.name) }
      lines.append(
        Self.row(
          operation.name, now.shown.0, before?.shown.0 ?? "-", Self.percent(instructions), now.shown.1,
          before?.shown.1 ?? "-", Self.percent(allocations)))
    }
    if let difference = try difference() {
      lines.append(difference)
      return Verdict(text: lines.joined(separator: "\n"), failed: [])
    }
    lines.append(
      failed.isEmpty
        ? "No operation costs more than \(tolerance) % above the baseline."
        : "More than \(tolerance) % above the baseline, or not in it: \(failed.joined(separator: ", ")). "
          + "If that is meant, say why in the commit and write the baseline with make bench-gate ARGUMENTS=--record."
    )
    return Verdict(text: lines.joined(separator: "\n"), failed: failed)
  }

  private static func growth(_ now: Double, _ before: Double?) -> Double? {
    guard let before, before > 0 else { return nil }
    return (now / before - 1) * 100
  }

  private static func percent(_ growth: Double?) -> String {
    guard let growth else { return "" }
    return String(format: "%+.1f %%", growth)
  }

  private static func row(_ cells: String...) -> String {
    let widths = [16, 13, 10, 9, 12, 9, 9]
    return zip(cells, widths).enumerated().map { place, cell in
      let space = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
      return place == 0 ? cell.0 + space : space + cell.0
    }.joined(separator: " ")
  }

  static func conditionsHere() throws -> String {
    #if arch(x86_64)
      let processor = "x86_64"
    #elseif arch(arm64)
      let processor = "arm64"
    #else
      let processor = "another processor"
    #endif
    let swift = try output(of: ["swift", "--version"])
    let version =
      swift.components(separatedBy: "Swift version ").dropFirst().first?.split(separator: " ").first.map(
        String.init) ?? "unknown"
    let library = try output(of: ["getconf", "GNU_LIBC_VERSION"]).trimmingCharacters(
      in: .whitespacesAndNewlines)
    return "Swift \(version), \(library), \(processor)\(vectors())"
  }

  private static func vectors() -> String {
    guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) else { return "" }
    return text.split(whereSeparator: \.isWhitespace).contains("avx2") ? " with AVX2" : ""
  }

  private static func output(of command: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }
}

extension Figures {
  /// Whole instructions, allocations to a hundredth.
  var shown: (String, String) { (String(format: "%.0f", instructions), String(format: "%.2f", allocations)) }
}
