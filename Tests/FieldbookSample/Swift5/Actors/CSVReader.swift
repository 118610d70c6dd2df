import SwiftData

/// Lines of comma separated values with a head, as other programs export sightings.
struct CSVReader {
  enum Failure: Error, Equatable {
    case noHead
    case missingColumn(String)
    case wrongCount(line: Int, expected: Int, found: Int)
    case unclosedQuote(line: Int)
  }

  let head: [String]
  private let rows: [(line: Int, fields: [String])]

  init(_ text: String) throws {
    var lines: [(Int, String)] = []
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let trimmed = line.trimmingCharacters(in: .whitespaces)
      if !trimmed.isEmpty { lines.append((number + 1, trimmed)) }
    }
    guard let first = lines.first else { throw Failure.noHead }
    let head = try Self.fields(first.1, line: first.0)
    self.head = head
    rows = try lines.dropFirst().map { line, text in
      let fields = try Self.fields(text, line: line)
      guard fields.count == head.count else {
        throw Failure.wrongCount(line: line, expected: head.count, found: fields.count)
      }
      return (line, fields)
    }
  }

  func require(_ columns: [String]) throws {
    for column in columns where !head.contains(column) { throw Failure.missingColumn(column) }
  }

  var records: [(line: Int, values: [String: String])] {
    rows.map { row in
      (row.line, Dictionary(zip(head, row.fields), uniquingKeysWith: { first, _ in first }))
    }
  }

  private static func fields(_ text: String, line: Int) throws -> [String] {
    var fields: [String] = []
    var current = ""
    var isQuoted = false
    var characters = Array(text)[...]
    while let character = characters.popFirst() {
      switch (character, isQuoted) {
      case ("\"", true) where characters.first == "\"":
        characters.removeFirst()
        current.append("\"")
      case ("\"", _): isQuoted.toggle()
      case (",", false):
        fields.append(current)
        current = ""
      default: current.append(character)
      }
    }
    guard !isQuoted else { throw Failure.unclosedQuote(line: line) }
    return fields + [current]
  }
}
