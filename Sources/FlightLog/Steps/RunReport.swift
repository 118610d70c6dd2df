/// What a run did, step by step, and whether every answer was the expected one.
@MainActor
final class RunReport {
  /// The steps' lines for the final table.
  private var table = TextTable([("step", .left), ("count", .right), ("time", .right), ("", .left)])
  private(set) var checkCount = 0
  private(set) var failures: [String] = []

  func add(_ step: String, count: Int, of things: String, time: Duration) {
    table.add(step, count.grouped, time.short, things)
  }

  /// Compares an answer of the store with what the CSV files say.
  func check<Value: Equatable>(_ what: String, _ found: Value, expected: Value) {
    checkCount += 1
    if found != expected { failures.append("\(what): \(found) instead of \(expected)") }
  }

  var lines: [String] { table.lines }
}
