import CoreData

/// One story, which can be replayed with steps left out.
struct Story {
  let seed: UInt64
  let operations: Int

  struct Outcome {
    let agreed: Bool
    let words: String
    /// The step at which it failed, when it said so.
    var lastStep: Int?

    /// What it complained about, whatever the numbers are.
    var complaint: String {
      let line = words.split(separator: "\n").first { $0.hasPrefix("disagreed") } ?? words.prefix(80)
      return line.filter { !$0.isNumber && $0 != "#" && $0 != " " }.prefix(90).description
    }
  }

  /// Runs the story in a process of its own.
  func tell(_ skipped: Set<Int>, upTo last: Int? = nil) -> Outcome {
    let folder = FileManager.default.temporaryDirectory
    let name = "story-\(ProcessInfo.processInfo.processIdentifier)-\(seed)"
    let (list, output) = (
      folder.appendingPathComponent(name + ".skip"), folder.appendingPathComponent(name + ".out")
    )
    defer {
      for file in [list, output] { try? FileManager.default.removeItem(at: file) }
    }
    do {
      try skipped.sorted().map(String.init).joined(separator: " ").write(
        to: list, atomically: true, encoding: .utf8)
      _ = FileManager.default.createFile(atPath: output.path, contents: nil)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
      process.arguments = [
        "worker", "--seed", "\(seed)", "--operations", "\(last ?? operations)", "--skipping", list.path,
      ]
      let handle = try FileHandle(forWritingTo: output)
      process.standardOutput = handle
      process.standardError = handle
      try process.run()
      process.waitUntilExit()
      try handle.close()
      let words = String(decoding: try Data(contentsOf: output), as: UTF8.self)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      let isSignal = process.terminationReason == .uncaughtSignal
      return Outcome(
        agreed: process.terminationStatus == 0 && !isSignal,
        words: isSignal ? "ended by signal \(process.terminationStatus): \(words.suffix(6_000))" : words,
        lastStep: Self.step(words))
    } catch {
      return Outcome(agreed: false, words: "the story could not be told: \(error)")
    }
  }

  private static func step(_ words: String) -> Int? {
    guard let start = words.range(of: ", step ")?.upperBound else { return nil }
    return Int(words[start...].prefix { $0.isNumber })
  }

  // MARK: Shortening

  /// Leaves out steps as long as the story fails all the same: first halves of them, then smaller parts.
  func shortened(_ outcome: Outcome, attempts: Int) -> (steps: [Int], words: String) {
    var (steps, words) = (Array(1...max(outcome.lastStep ?? operations, 1)), outcome.words)
    var left = attempts
    var size = max(steps.count / 2, 1)
    while left > 0 {
      var start = 0
      var isShorter = false
      while start < steps.count, left > 0 {
        let rest = Array(steps[..<start] + steps[min(start + size, steps.count)...])
        guard let last = rest.last else { break }
        let again = tell(Set(1...last).subtracting(rest), upTo: last)
        left -= 1
        if again.agreed || again.complaint != outcome.complaint {
          start += size
        } else {
          isShorter = true
          words = again.words
          steps = rest
          if let failed = again.lastStep { steps = steps.filter { $0 <= failed } }
        }
      }
      if size == 1, !isShorter { break }
      size = max(size / 2, 1)
    }
    return (steps, words)
  }
}
