/// How far a piece of work has come, as one line.
///
///     flights  [############················]  9,000 of 20,000 · main context counts 8,000
struct ProgressBar: Sendable {
  let title: String
  var done = 0
  let total: Int
  /// What else is to be said, after the numbers.
  var note = ""

  private static let width = 28

  var tenths: Int { total > 0 ? min(10, done * 10 / total) : 10 }

  var line: String {
    let filled = total > 0 ? min(Self.width, done * Self.width / total) : Self.width
    let bar = String(repeating: "#", count: filled) + String(repeating: "·", count: Self.width - filled)
    return "\(title)  [\(bar)]  \(numbers)"
  }

  var plainLine: String { "\(title): \(numbers)" }

  private var numbers: String {
    "\(done.grouped) of \(total.grouped)" + (note.isEmpty ? "" : " · \(note)")
  }
}
