import Foundation

/// A child process run to its end, with all that it wrote.
struct Command {
  let exitCode: Int32
  let output: String
  let errors: String

  /// Runs the program at `path`. `environment` replaces the child's whole environment when given.
  static func run(
    _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil
  ) throws -> Command {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let outputFile = try folder.write("", to: "output")
    let errorFile = try folder.write("", to: "errors")

    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    if let environment { process.environment = environment }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: outputFile)
    process.standardError = try FileHandle(forWritingTo: errorFile)
    try process.run()
    process.waitUntilExit()
    return Command(
      exitCode: process.terminationStatus,
      output: try String(contentsOf: outputFile, encoding: .utf8),
      errors: try String(contentsOf: errorFile, encoding: .utf8))
  }
}
