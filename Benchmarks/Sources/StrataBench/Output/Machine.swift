import CLMDBShim
import Foundation
import Strata

/// The conditions something was measured in.
struct Machine {
  /// For the file of results.
  private(set) var facts: [CardRun.Fact: String] = [:]

  /// - Parameter directory: Where the stores lie; nil for stores in memory, which no disk is asked about.
  init(directory: URL?) throws {
    var major: Int32 = 0
    var minor: Int32 = 0
    var patch: Int32 = 0
    mdb_version(&major, &minor, &patch)
    facts[.date] = Self.day()
    #if DEBUG
      facts[.build] = "debug"
    #else
      facts[.build] = "release"
    #endif
    facts[.cores] = "\(ProcessInfo.processInfo.activeProcessorCount)"
    facts[.system] = Self.system
    facts[.compiler] = Self.swiftVersion()
    facts[.libraries] =
      "GRDB 7.10.0, SQLite \(try GRDBPeer.sqliteVersion()), liblmdb \(major).\(minor).\(patch)"
    guard let directory else { return }
    facts[.log] = PersistentStoreDescription.measured(directory).keepsLog ? "kept" : "not kept"
    facts[.sync] = "\(Int((try Self.syncSeconds(in: directory) * 1e6).rounded())) µs"
  }

  /// The same as sentences, for the head of a table.
  var conditions: [String] {
    func fact(_ fact: CardRun.Fact) -> String { facts[fact] ?? "unknown" }
    return [
      "\(fact(.cores)) cores, \(fact(.system)), \(fact(.compiler)), \(fact(.build)) build", fact(.libraries),
      "Durability: Strata .full and LMDB's default flags (fdatasync, then the meta page through O_DSYNC); "
        + "SQLite with a write-ahead log and synchronous = FULL. A save that returned survives a power cut with each.",
      "Log of small saves: \(fact(.log))",
      "One 4 KiB write with a sync to this disk: \(fact(.sync)) (median of 50)",
    ]
  }

  /// As in 2031-05-28, by the calendar that everybody means.
  private static func day() -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let parts = calendar.dateComponents([.year, .month, .day], from: Date())
    return String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
  }

  private static var system: String {
    #if os(Linux)
      let name = "Linux"
    #elseif os(macOS)
      let name = "macOS"
    #else
      let name = "another system"
    #endif
    #if arch(x86_64)
      return "\(name), x86-64"
    #elseif arch(arm64)
      return "\(name), arm64"
    #else
      return name
    #endif
  }

  /// What one durable write costs here: without it, insert times of two machines cannot be compared.
  private static func syncSeconds(in directory: URL) throws -> Double {
    let file = directory.appendingPathComponent("sync")
    guard FileManager.default.createFile(atPath: file.path, contents: nil) else {
      throw BenchmarkError("Cannot write to \(directory.path)")
    }
    defer { try? FileManager.default.removeItem(at: file) }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    let page = Data(repeating: 1, count: 4_096)
    let clock = ContinuousClock()
    var samples: [Double] = []
    for _ in 0..<50 {
      let start = clock.now
      try handle.write(contentsOf: page)
      try handle.synchronize()
      samples.append((clock.now - start).seconds)
    }
    return samples.median
  }

  private static func swiftVersion() -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["swift", "--version"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return "Swift" }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let words = text.split(whereSeparator: \.isWhitespace)
    guard let index = words.firstIndex(of: "version"), index + 1 < words.count else { return "Swift" }
    return "Swift \(words[index + 1])"
  }
}
