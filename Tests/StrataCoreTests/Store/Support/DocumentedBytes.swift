import Foundation

/// The fenced blocks of Docs/FileFormat.md that begin with ```` ```bytes <name> ````.
///
/// A line is `name: bytes ; remark`; lines without a name continue with the bytes of the line before. Bytes are
/// hexadecimal pairs, texts in quotes, `n bytes` for bytes that differ from store to store, or `JSON`.
struct DocumentedBytes {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  struct Line: Equatable {
    var name: String
    /// Nil when the document only gives their number, or that they are JSON.
    var bytes: [UInt8]?
    /// Nil for JSON.
    var count: Int?
  }

  private let blocks: [String: [Line]]

  init() throws {
    let document = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../../../Docs/FileFormat.md"
    ).standardizedFileURL
    var blocks: [String: [Line]] = [:]
    var open: String?
    for line in try String(contentsOf: document, encoding: .utf8).components(separatedBy: "\n") {
      if line.hasPrefix("```") {
        open = line.hasPrefix("```bytes ") ? String(line.dropFirst(9)) : nil
        if let open { blocks[open] = [] }
      } else if let open, !line.isEmpty {
        try Self.add(line, to: &blocks[open, default: []])
      }
    }
    self.blocks = blocks
  }

  /// - Throws: `Failure` when the document has no such block, or an empty one.
  func lines(_ block: String) throws -> [Line] {
    guard let lines = blocks[block], !lines.isEmpty else {
      throw Failure(
        description: "Docs/FileFormat.md has no bytes called “\(block)”; it has \(blocks.keys.sorted())")
    }
    return lines
  }

  private static func add(_ text: String, to lines: inout [Line]) throws {
    var text = text[...]
    if let remark = text.range(of: " ; ") { text = text[..<remark.lowerBound] }
    if let colon = text.range(of: ": ") {
      lines.append(Line(name: String(text[..<colon.lowerBound]), bytes: [], count: 0))
      text = text[colon.upperBound...]
    }
    guard !lines.isEmpty else { throw Failure(description: "bytes without a name: \(text)") }
    text = text.drop(while: \.isWhitespace)
    let words = text.split(separator: " ")
    if words.count == 2, words[1] == "bytes", let count = Int(words[0]) {
      lines[lines.count - 1].bytes = nil
      lines[lines.count - 1].count = count
      return
    }
    if words == ["JSON"] {
      lines[lines.count - 1].bytes = nil
      lines[lines.count - 1].count = nil
      return
    }
    let bytes = try text.hasPrefix("\"") ? quoted(text) : words.map(byte)
    lines[lines.count - 1].bytes?.append(contentsOf: bytes)
    lines[lines.count - 1].count = (lines[lines.count - 1].bytes ?? []).count
  }

  private static func quoted(_ text: Substring) throws -> [UInt8] {
    // A quoted text is what JSON takes for one.
    guard let string = try? JSONDecoder().decode(String.self, from: Data(text.utf8)) else {
      throw Failure(description: "no text: \(text)")
    }
    return Array(string.utf8)
  }

  private static func byte(_ word: Substring) throws -> UInt8 {
    guard word.count == 2, let byte = UInt8(word, radix: 16) else {
      throw Failure(description: "no byte: \(word)")
    }
    return byte
  }
}
