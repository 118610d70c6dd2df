import Testing

@testable import FlightLog

struct TerminalTests {
  @Test func tableAlignsItsColumns() {
    var table = TextTable([("step", .left), ("count", .right), ("note", .left)])
    table.add("import", "24,796", "kept")
    table.add("query", "9")
    #expect(
      table.lines == [
        "step     count  note",
        "import  24,796  kept",
        "query        9",
      ])
  }

  @Test func numbersAreGrouped() {
    #expect(
      [0, 7, 999, 1000, 336_776, -1_234_567].map(\.grouped) == [
        "0", "7", "999", "1,000", "336,776", "-1,234,567",
      ])
  }

  @Test func durationsReadWell() {
    #expect(Duration.microseconds(412).short == "412 µs")
    #expect(Duration.microseconds(3_210).short == "3.2 ms")
    #expect(Duration.milliseconds(1_250).short == "1.25 s")
  }

  @Test func progressBarFillsUp() {
    var bar = ProgressBar(title: "flights", total: 2_000)
    #expect(bar.line == "flights  [····························]  0 of 2,000")
    bar.done = 1_000
    bar.note = "main counts 900"
    #expect(bar.line == "flights  [##############··············]  1,000 of 2,000 · main counts 900")
    bar.done = 2_000
    #expect(bar.tenths == 10)
    #expect(ProgressBar(title: "nothing", total: 0).tenths == 10)
  }
}
