/// Which line each row came from, so that what is found out about it at the end can be told. Takes 40 bytes for each run of consecutive keys in consecutive lines: a dump has
/// few of them.
struct RowOrigins {
  private struct Run {
    let key: UInt64
    let line: Int
    let source: String?
    var count = 1
  }

  private var runs: [Run] = []

  mutating func note(_ key: UInt64, line: Int, source: String?) {
    if let last = runs.last, last.key + UInt64(last.count) == key, last.line + last.count == line,
      last.source == source
    {
      runs[runs.count - 1].count += 1
    } else {
      runs.append(Run(key: key, line: line, source: source))
    }
  }

  /// Where the row of that key came from; nil when it was not noted.
  func origin(of key: UInt64) -> (line: Int, source: String?)? {
    let run = runs.first { key >= $0.key && key - $0.key < UInt64($0.count) }
    return run.map { ($0.line + Int(key - $0.key), $0.source) }
  }
}
