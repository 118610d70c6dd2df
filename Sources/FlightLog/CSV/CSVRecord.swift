/// One record of a CSV file: its fields without quotes, and the line on which it starts.
///
///     bytes     JFK|LAX|say "hi"|
///     ends         3   6       14      end of each field in bytes
struct CSVRecord {
  private(set) var line = 0
  private var bytes: [UInt8] = []
  private var ends: [Int] = []

  var fieldCount: Int { ends.count }

  /// The bytes of field `index`, `0..<fieldCount`.
  subscript(index: Int) -> ArraySlice<UInt8> {
    bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
  }

  mutating func start(line: Int) {
    self.line = line
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  mutating func append(_ piece: ArraySlice<UInt8>) {
    bytes.append(contentsOf: piece)
  }

  mutating func endField() {
    ends.append(bytes.count)
  }
}

/// Why a line of a CSV file was left out. The first line of a file is line 1.
struct DamagedLine: Error, Equatable, CustomStringConvertible {
  let file: String
  let line: Int
  let reason: String

  var description: String { "\(file), line \(line): \(reason); the line is left out" }
}
