import Foundation

/// What one unit of an operation costs.
struct Figures: Equatable {
  var instructions: Double
  var allocations: Double

  func least(_ other: Figures) -> Figures {
    Figures(
      instructions: min(instructions, other.instructions), allocations: min(allocations, other.allocations))
  }
}

/// Runs this program under callgrind, which counts instructions on all threads. They do not depend on how busy the machine is.
struct Counting {
  let isObserved: Bool

  func count(_ names: [String]) throws -> [String: Figures] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "strata-counts-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let output = try runMeasure(names, folder)
    let instructions = try totals(in: folder)
    var figures: [String: Figures] = [:]
    for line in output.split(separator: "\n") {
      let parts = line.split(separator: "\t")
      guard parts.count == 3, let units = Double(parts[1]), let allocations = Double(parts[2]) else {
        continue
      }
      let name = String(parts[0])
      guard let total = instructions[name] else {
        throw GateError("callgrind has counted nothing for \"\(name)\".")
      }
      let earlier = figures[name]?.allocations ?? .infinity
      figures[name] = Figures(
        instructions: total / units, allocations: min(earlier, allocations / units))
    }
    let missing = names.filter { figures[$0] == nil }
    guard missing.isEmpty else { throw GateError("Not measured: \(missing.joined(separator: ", ")).") }
    return figures
  }

  private func runMeasure(_ names: [String], _ folder: URL) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      [
        "valgrind", "--tool=callgrind", "--quiet", "--callgrind-out-file=\(folder.path)/counts",
        CommandLine.arguments[0], "measure",
      ] + (isObserved ? ["--observed"] : []) + names
    var environment = ProcessInfo.processInfo.environment
    // Hash tables in the same order in every run.
    environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
    process.environment = environment
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw GateError("The run under valgrind ended with \(process.terminationStatus): its message is above.")
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// callgrind writes a file for each round: `desc: Trigger: Client Request: name`, `totals: number`. The least of each operation's.
  private func totals(in folder: URL) throws -> [String: Double] {
    var totals: [String: Double] = [:]
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
      let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
      var name: String?
      var total: Double?
      for line in text.split(separator: "\n") {
        let request = "desc: Trigger: Client Request: "
        if line.hasPrefix(request) { name = String(line.dropFirst(request.count)) }
        for key in ["totals: ", "summary: "] where line.hasPrefix(key) {
          total = Double(line.dropFirst(key.count))
        }
      }
      if let name, let total { totals[name] = min(totals[name] ?? .infinity, total) }
    }
    return totals
  }
}
