import Foundation
import Testing

/// The documentation of public functions says what they throw.
struct ThrowsDocumentationTests {
  @Test(arguments: ["Sources/StrataCore", "Sources/CoreData"])
  func everyPublicFunctionSaysWhatItThrows(folder: String) throws {
    let root = repository.appendingPathComponent(folder)
    var count = 0
    for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) where path.hasSuffix(".swift")
    {
      let lines = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        .components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      for (number, line) in lines.enumerated() where isPublicFunction(line) {
        guard throwsItself(signature(from: number, in: lines)) else { continue }
        count += 1
        #expect(saysWhatItThrows(lines, above: number), "\(folder)/\(path):\(number + 1) does not: \(line)")
      }
    }
    #expect(count > 50)
  }

  private func isPublicFunction(_ line: String) -> Bool {
    let words = Set(line.prefix { $0 != "(" }.split(whereSeparator: { " @<".contains($0) }).map(String.init))
    return !line.hasPrefix("//") && !line.contains("@_spi") && !words.isDisjoint(with: ["public", "open"])
      && !words.isDisjoint(with: ["func", "init"])
  }

  /// The declaration without its body.
  private func signature(from number: Int, in lines: [String]) -> String {
    var text = ""
    for line in lines[number..<min(number + 14, lines.count)] {
      if text != "", line.hasPrefix("///") || line.hasPrefix("public ") || line == "}" { break }
      text += " " + line
      let open = text.count { $0 == "(" } - text.count { $0 == ")" }
      if open == 0, line.contains("{") { break }
    }
    return text
  }

  /// Whether `throws` stands outside of all parentheses, before the body.
  private func throwsItself(_ signature: String) -> Bool {
    var depth = 0
    var outside = ""
    for character in signature {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      if depth == 0 {
        if character == "{" { break }
        outside.append(character)
      }
    }
    return outside.split(separator: " ").contains { $0 == "throws" || $0 == ")throws" }
  }

  private func saysWhatItThrows(_ lines: [String], above number: Int) -> Bool {
    var place = number - 1
    while place >= 0, lines[place].hasPrefix("@") { place -= 1 }
    while place >= 0, lines[place].hasPrefix("///") {
      if lines[place].contains("hrows") { return true }
      place -= 1
    }
    return false
  }
}
