import Foundation

/// Reads a CSV file (RFC 4180) record by record in constant memory.
///
/// The first record names the columns. Fields may be quoted, quoted fields may contain commas, line ends and doubled
/// quotes. A record that breaks these rules or has another number of fields than the header is a damaged line: it is handed
/// out as such and reading goes on with the next line, also inside of what an unclosed quote would have swallowed.
struct CSVReader {
  /// A record (with everything its quotes may enclose) longer than this is damaged.
  static let maximumRecordLength = 256 * 1024

  enum Element {
    case record(CSVRecord)
    case damage(DamagedLine)
  }

  /// The file's name, for reports.
  let file: String
  private(set) var header: [String] = []

  private let stream: ByteStream
  private var buffer: [UInt8] = []
  /// Where the next record starts in `buffer`, and which line of the file that is.
  private var position = 0
  private var line = 1
  private var isAtEnd = false
  private var record = CSVRecord()

  /// - Throws: `FlightLogError` when the file is missing, unreadable, or has no header.
  init(_ url: URL) throws {
    file = url.lastPathComponent
    stream = try ByteStream(url)
    guard case .record(let names) = try next(), names.fieldCount > 0 else {
      throw FlightLogError("The file \(url.path) does not begin with a line that names its columns.")
    }
    header = (0..<names.fieldCount).map { String(decoding: names[$0], as: UTF8.self) }
    // A byte order mark is no part of the first column's name.
    if header[0].first == "\u{FEFF}" { header[0].removeFirst() }
  }

  /// The next record or damaged line, nil at the end of the file.
  mutating func next() throws -> Element? {
    while true {
      if position == buffer.count, isAtEnd { return nil }
      switch parseRecord() {
      case .complete(let length, let lines):
        position += length
        line += lines
        if record.fieldCount == 1, record[0].isEmpty { continue }  // an empty line
        guard header.isEmpty || record.fieldCount == header.count else {
          let fields = record.fieldCount == 1 ? "1 field" : "\(record.fieldCount) fields"
          return damage("it has \(fields) instead of \(header.count)", length, lines)
        }
        return .record(record)
      case .damaged(let reason):
        return damage(reason, 0, 0)
      case .incomplete:
        if buffer.count - position > Self.maximumRecordLength {
          return try skipOverlongRecord()
        }
        try fill()
      }
    }
  }

  // MARK: -

  private enum Outcome {
    /// `length` bytes, `lines` line ends among them.
    case complete(length: Int, lines: Int)
    case damaged(String)
    /// The buffer ends before the record does.
    case incomplete
  }

  private static let comma = UInt8(ascii: ",")
  private static let quote = UInt8(ascii: "\"")
  private static let newline = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  /// Parses one record at `position` into `record`, moving nothing.
  private mutating func parseRecord() -> Outcome {
    record.start(line: line)
    var lines = 0
    var index = position
    while true {
      if index < buffer.count, buffer[index] == Self.quote {
        guard let end = endOfQuotedField(from: index, lines: &lines) else {
          return isAtEnd ? .damaged("a quote is not closed") : .incomplete
        }
        index = end
        if index < buffer.count, buffer[index] == Self.carriageReturn { index += 1 }
      } else {
        let start = index
        while index < buffer.count, buffer[index] != Self.comma, buffer[index] != Self.newline {
          if buffer[index] == Self.quote { return .damaged("a quote stands inside of an unquoted field") }
          index += 1
        }
        var end = index
        if end > start, end == buffer.count || buffer[end] == Self.newline,
          buffer[end - 1] == Self.carriageReturn
        {
          end -= 1
        }
        record.append(buffer[start..<end])
      }
      record.endField()
      if index == buffer.count {
        return isAtEnd ? .complete(length: index - position, lines: lines + 1) : .incomplete
      }
      switch buffer[index] {
      case Self.newline: return .complete(length: index + 1 - position, lines: lines + 1)
      case Self.comma: index += 1
      default: return .damaged("something follows the closing quote of a field")
      }
    }
  }

  /// Appends the contents of the quoted field at `start`; the index after its closing quote, nil when the buffer has none.
  private mutating func endOfQuotedField(from start: Int, lines: inout Int) -> Int? {
    var index = start + 1
    while true {
      let piece = index
      while index < buffer.count, buffer[index] != Self.quote {
        if buffer[index] == Self.newline { lines += 1 }
        index += 1
      }
      record.append(buffer[piece..<index])
      // The byte after the quote decides whether it closes the field.
      guard index < buffer.count, index + 1 < buffer.count || isAtEnd else { return nil }
      guard index + 1 < buffer.count, buffer[index + 1] == Self.quote else { return index + 1 }
      record.append(buffer[index...index])
      index += 2
    }
  }

  /// Goes on with the line after the first line of a damaged record, of which `length` bytes and `lines` are consumed already.
  private mutating func damage(_ reason: String, _ length: Int, _ lines: Int) -> Element {
    position -= length
    line -= lines
    let found = DamagedLine(file: file, line: line, reason: reason)
    let end = buffer[position...].firstIndex(of: Self.newline)
    position = end.map { $0 + 1 } ?? buffer.count
    line += 1
    return .damage(found)
  }

  /// A record longer than the limit: an open quote, or a line without end. Only its first line is skipped.
  private mutating func skipOverlongRecord() throws -> Element {
    let found = DamagedLine(
      file: file, line: line, reason: "it does not end within \(Self.maximumRecordLength) bytes")
    while true {
      if let end = buffer[position...].firstIndex(of: Self.newline) {
        position = end + 1
        break
      }
      position = buffer.count
      if isAtEnd { break }
      try fill()
    }
    line += 1
    return .damage(found)
  }

  /// Drops what is consumed and reads on.
  private mutating func fill() throws {
    buffer.removeSubrange(..<position)
    position = 0
    isAtEnd = try !stream.read(upTo: 64 * 1024, into: &buffer)
  }
}
