import Foundation
import Testing

/// Random graphs of models, random operations in two contexts and an actor, and a plain reference that says what must be seen: the program `RandomModels`.
///
/// `STRATA_GRAPHS=20 STRATA_OPERATIONS=20000` sets how many graphs and how many operations on each, `STRATA_SEED=n` the first seed. A failure names seed and step.
@Suite("Random models")
struct RandomModelTests {
  @Test("two contexts and an actor agree with a plain reference")
  func agree() async throws {
    let environment = ProcessInfo.processInfo.environment
    let (code, words) = try await run([
      "--graphs", environment["STRATA_GRAPHS"] ?? "4", "--operations",
      environment["STRATA_OPERATIONS"] ?? "400",
      "--seed", environment["STRATA_SEED"] ?? "1",
    ])
    print(words)
    #expect(code == 0, "\(words)")
  }

  /// Runs the program beside the tests; its exit code and what it says.
  private func run(_ arguments: [String]) async throws -> (code: Int32, words: String) {
    try await withCheckedThrowingContinuation { continuation in
      // Waiting takes a thread of its own: those that tests share are few.
      let thread = Thread {
        continuation.resume(
          with: Result {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
              .appendingPathComponent("RandomModels")
            process.arguments = arguments
            let output = Pipe()
            process.standardOutput = output
            process.standardError = output
            try process.run()
            let words = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationReason == .exit ? process.terminationStatus : -1, words)
          })
      }
      thread.start()
    }
  }
}
