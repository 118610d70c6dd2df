import CLMDBShim
import Foundation
import Strata

/// The conditions a table was measured in, as sentences for its head.
enum Machine {
  static func conditions(directory: URL) throws -> [String] {
    var major: Int32 = 0
    var minor: Int32 = 0
    var patch: Int32 = 0
    mdb_version(&major, &minor, &patch)
    let sync = try syncSeconds(in: directory)
    return [
      "\(ProcessInfo.processInfo.activeProcessorCount) cores, \(swiftVersion()), release build",
      "GRDB 7.10.0 on SQLite \(try GRDBPeer.sqliteVersion()), liblmdb \(major).\(minor).\(patch)",
      "Durability: Strata .full and LMDB's default flags (fdatasync, then the meta page through O_DSYNC); "
        + "SQLite with a write-ahead log and synchronous = FULL. A save that returned survives a power cut with each.",
      "Log of small saves: \(PersistentStoreDescription.measured(directory).keepsLog ? "kept" : "not kept")",
      "One 4 KiB write with a sync to this disk: \(Int((sync * 1e6).rounded())) µs (median of 50)",
    ]
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
