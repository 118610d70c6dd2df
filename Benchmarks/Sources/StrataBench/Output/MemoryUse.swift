import Foundation

/// How much memory one run of a contender took, in a process of its own.
struct MemoryUse {
  /// Growth of the resident set at its highest, mapped pages of the store's file included.
  var peakBytes: Int
  /// Growth of the private part of the resident set when the run ended, its results still alive.
  var privateBytes: Int
}

extension MemoryUse {
  /// Starts this program again for one run.
  static func ofChild(
    _ benchmark: Benchmark, _ contender: Contender, size: Int, directory: URL
  ) throws -> MemoryUse? {
    #if os(Linux)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["memory", benchmark.rawValue, contender.name, "\(size)", directory.path]
      let output = Pipe()
      process.standardOutput = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
      guard process.terminationStatus == 0, numbers.count == 2 else {
        throw BenchmarkError("The memory run of \(contender.name) failed")
      }
      return MemoryUse(peakBytes: numbers[0], privateBytes: numbers[1])
    #else
      return nil
    #endif
  }

  /// The child's work: sets up, then measures one run from a clean mark.
  static func measure(_ benchmark: Benchmark, _ contender: Contender, size: Int, directory: URL) async throws
    -> MemoryUse
  {
    let flights = benchmark == .insert ? Flight.make(count: size) : []
    let folder = benchmark == .insert ? directory.appendingPathExtension("memory") : directory
    if benchmark == .insert {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    let store = try await contender.open(folder)
    if benchmark == .byID {
      try store.prepare(positions: Flight.positions(count: benchmark.rows(of: size), of: size))
    }
    let before = ResidentSet.markPeak()
    let outcome =
      switch benchmark {
      case .insert: try store.insert(flights)
      case .fetch: try store.fetchAll()
      case .byID: try store.fetchByID()
      }
    let after = ResidentSet.current()
    withExtendedLifetime((outcome, flights)) {}
    try store.close()
    if benchmark == .insert { try FileManager.default.removeItem(at: folder) }
    return MemoryUse(
      peakBytes: after.peak - before.current, privateBytes: after.anonymous - before.anonymous)
  }
}

/// What the kernel says of this process; zeros where there is no `/proc`.
struct ResidentSet {
  var current = 0
  var peak = 0
  var anonymous = 0

  /// Forgets the highest mark so far.
  static func markPeak() -> ResidentSet {
    try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    return current()
  }

  static func current() -> ResidentSet {
    var result = ResidentSet()
    // Read by handle: files of /proc have no size to read up to.
    guard let handle = FileHandle(forReadingAtPath: "/proc/self/status") else { return result }
    let text = String(decoding: handle.readDataToEndOfFile(), as: UTF8.self)
    for line in text.split(separator: "\n") {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count > 1, let kilobytes = Int(words[1]) else { continue }
      switch words[0] {
      case "VmRSS:": result.current = kilobytes * 1_024
      case "VmHWM:": result.peak = kilobytes * 1_024
      case "RssAnon:": result.anonymous = kilobytes * 1_024
      default: break
      }
    }
    return result
  }
}
