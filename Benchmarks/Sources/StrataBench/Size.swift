import ArgumentParser

/// A row count as people write it.
struct Size: ExpressibleByArgument {
  var rows: Int

  init(_ rows: Int) {
    self.rows = rows
  }

  init?(argument: String) {
    let factors: [Character: Int] = ["k": 1_000, "m": 1_000_000]
    var digits = argument.lowercased()
    let factor = digits.last.flatMap { factors[$0] }
    if factor != nil { digits.removeLast() }
    guard let number = Int(digits), number > 0 else { return nil }
    let (rows, overflows) = number.multipliedReportingOverflow(by: factor ?? 1)
    guard !overflows else { return nil }
    self.rows = rows
  }

  var defaultValueDescription: String { "\(rows)" }
}
