import ArgumentParser
import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// What a command line has said, and how it ended.
struct Said: CustomStringConvertible {
  let code: Int32
  let output: String
  let error: String

  var lines: [String] {
    output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init).dropLast()
  }
  var description: String { "exit code \(code)\n\(output)\n\(error)" }
  /// The output as JSON.
  func json() throws -> Any {
    try JSONSerialization.jsonObject(with: Data(output.utf8), options: .fragmentsAllowed)
  }
  func object() throws -> [String: Any] { try #require(try json() as? [String: Any]) }
}

/// Runs command lines: in this process, or as the program that was built.
enum Tool {
  static func run(_ arguments: String...) -> Said { run(arguments) }

  static func run(_ arguments: [String]) -> Said {
    let (output, errors) = (Output.capturing(), Output.capturing())
    let code = Output.$current.withValue(output) {
      Output.$errors.withValue(errors) { StrataCommand.execute(arguments) }
    }
    return Said(code: code, output: output.text, error: errors.text)
  }

  static var program: String { ChildProcess.program("strata") }

  /// The program in a process of its own; `input` is what it reads, `prefix` another program that starts it.
  static func spawn(
    _ arguments: [String], input: String? = nil, prefix: [String] = [], output: FileHandle? = nil
  )
    throws -> Said
  {
    let process = Process()
    let words = prefix + [program] + arguments
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    let (out, error, stdin) = (Pipe(), Pipe(), Pipe())
    process.standardOutput = output ?? out
    process.standardError = error
    process.standardInput = input == nil ? FileHandle.nullDevice : stdin
    try process.run()
    if let input {
      try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
      try stdin.fileHandleForWriting.close()
    }
    let text =
      output == nil ? String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) : ""
    let complaint = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let isKilled = process.terminationReason == .uncaughtSignal
    return Said(
      code: isKilled ? 128 + process.terminationStatus : process.terminationStatus, output: text,
      error: complaint)
  }

  /// A program that starts another one as nobody, for tests of permissions by root; nil where there is none.
  static var asNobody: [String]? {
    let path = "/usr/bin/setpriv"
    guard geteuid() == 0, access(path, X_OK) == 0 else { return nil }
    return [path, "--reuid=65534", "--regid=65534", "--clear-groups"]
  }
}

/// Names of the files in a folder.
func names(in folder: ScratchFolder) throws -> Set<String> {
  Set(try FileManager.default.contentsOfDirectory(atPath: folder.path))
}
