import Foundation
import StrataCore

/// Comma-separated values as RFC 4180 has them, in UTF-8. An empty cell is nil, an empty text is `""`.
enum CSV {
  static func quoted(_ text: String) -> String {
    let needsQuotes =
      text.utf8.contains { $0 == 0x2C || $0 == 0x22 || $0 == 0x0A || $0 == 0x0D }
      || text.utf8.first == 0x20 || text.utf8.last == 0x20
    return needsQuotes ? "\"" + text.replacing(mark: "\"", with: "\"\"") + "\"" : text
  }

  /// A cell that was read: whether it stood in quotes tells an empty text from nil.
  struct Cell: Equatable {
    var text: String
    var isQuoted: Bool
  }
}

/// Reads records of comma-separated values; a cell in quotes may have several lines.
final class CSVReader {
  private let lines: LineReader
  /// The line on which the last record began, from 1.
  private(set) var line = 0

  init(_ lines: LineReader) {
    self.lines = lines
    // One inside of a cell belongs to it.
    lines.dropsReturns = false
  }

  /// The next record; nil behind the last.
  func next() throws -> [CSV.Cell]? {
    guard var text = try nextLine() else { return nil }
    line = lines.number
    var cells: [CSV.Cell] = []
    var place = 0
    while true {
      if place < text.count, text[place] == 0x22 {
        cells.append(CSV.Cell(text: try quotedCell(&text, &place), isQuoted: true))
        if place == text.count - 1, text[place] == 0x0D { place += 1 }
        guard place == text.count || text[place] == 0x2C else {
          throw Fault("There is something behind the closing quote of column \(cells.count)")
        }
      } else {
        let end = text[place...].firstIndex(of: 0x2C) ?? text.count
        let last = end == text.count && end > place && text[end - 1] == 0x0D ? end - 1 : end
        cells.append(CSV.Cell(text: try utf8(text[place..<last]), isQuoted: false))
        place = end
      }
      if place == text.count { return cells }
      place += 1
    }
  }

  /// What is wrong with a record, without its place.
  struct Fault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  private func quotedCell(_ text: inout [UInt8], _ place: inout Int) throws -> String {
    var cell: [UInt8] = []
    place += 1
    while true {
      guard place < text.count else {
        // The record goes on in the next line.
        guard let more = try nextLine() else { throw Fault("A cell in quotes does not end") }
        cell.append(0x0A)
        text = more
        place = 0
        continue
      }
      let byte = text[place]
      place += 1
      if byte != 0x22 {
        cell.append(byte)
      } else if place < text.count, text[place] == 0x22 {
        cell.append(0x22)
        place += 1
      } else {
        return try utf8(cell[...])
      }
    }
  }

  private func nextLine() throws -> [UInt8]? { try lines.next().map { Array($0) } }

  private func utf8(_ bytes: ArraySlice<UInt8>) throws -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Fault("A cell is not UTF-8") }
    return text
  }
}
