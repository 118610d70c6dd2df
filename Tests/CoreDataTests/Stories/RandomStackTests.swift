import CoreData
import Testing

/// Random models, random operations by Apple's names in stacks of contexts, and a plain reference that says what must be seen.
///
/// `STRATA_GRAPHS=20 STRATA_OPERATIONS=50000` sets how many models and how many operations on each, `STRATA_SEED=n` the first seed.
/// A failure names the seed, the model and the steps that led there.
@Suite struct RandomStackTests {
  @Test func randomStacksAgreeWithAPlainReference() async throws {
    let environment = ProcessInfo.processInfo.environment
    let arguments = [
      "stories", "--graphs", environment["STRATA_GRAPHS"] ?? "3", "--operations",
      environment["STRATA_OPERATIONS"] ?? "500", "--seed", environment["STRATA_SEED"] ?? "1",
    ]
    let (code, words) = try await Self.run(arguments)
    print(words)
    #expect(code == 0, "\(words)")
  }

  /// Runs the program beside the tests; its exit code and what it says.
  private static func run(_ arguments: [String]) async throws -> (code: Int32, words: String) {
    try await withCheckedThrowingContinuation { continuation in
      // Waiting takes a thread of its own: those that tests share are few.
      let thread = Thread {
        continuation.resume(
          with: Result {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
              .appendingPathComponent("RandomStacks")
            process.arguments = arguments
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let words = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationStatus, words)
          })
      }
      thread.start()
    }
  }
}
