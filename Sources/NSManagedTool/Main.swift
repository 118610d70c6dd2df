import Foundation
import NSManagedGenerator

/// What the build plugin runs: `NSManagedTool arguments-file`, the file having one argument a line.
@main
struct Main {
  static func main() {
    do {
      let order = try GeneratorOrder(arguments: try arguments())
      let problems = try order.carryOut()
      if problems.isEmpty { return }
      FileHandle.standardError.write(Data(problems.map { $0 + "\n" }.joined().utf8))
    } catch {
      FileHandle.standardError.write(Data("error: \(error)\n".utf8))
    }
    exit(1)
  }

  private static func arguments() throws -> [String] {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count == 1 else { return arguments }
    return try String(contentsOfFile: arguments[0], encoding: .utf8).split(separator: "\n").map(String.init)
  }
}
