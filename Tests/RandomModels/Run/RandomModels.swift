import ArgumentParser
import SwiftData

/// Random graphs of models against a plain reference.
@main
struct RandomModels: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "random-models",
    abstract:
      "Tells random stories about models in two contexts and an actor, and compares with a plain reference.",
    discussion: "What does not agree is told with the seed and the step. The exit code is 1 then.")

  @Option(help: "How many graphs.") var graphs = 3
  @Option(help: "How many operations on each.") var operations = 500
  @Option(help: "The first seed.") var seed: UInt64 = 1
  @Flag(help: "Tell each step.") var loud = false

  func run() async throws {
    var failures = 0
    for number in 0..<max(graphs, 0) {
      let seed = seed &+ UInt64(number)
      do {
        let story = try Story(seed: seed, operations: operations, isLoud: loud)
        try await story.run()
        let counts = story.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        say("agreed: seed \(seed), \(operations) operations: \(counts.joined(separator: ", "))")
      } catch {
        say("disagreed: seed \(seed), \(error)")
        failures += 1
      }
    }
    if failures > 0 { throw ExitCode.failure }
  }

  private func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
