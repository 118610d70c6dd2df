import Foundation
import Testing

@testable import PerformancePage

/// A line of a file of results whose cells stand between bars here, so that one sees which are empty.
func resultLine(_ cells: String) -> String {
  cells.split(separator: "|", omittingEmptySubsequences: false).map {
    $0.trimmingCharacters(in: .whitespaces)
  }
  .joined(separator: "\t") + "\n"
}

/// A file of results with one run and these lines of figures, the first of which is the sixth.
func resultText(_ figures: String..., facts: String = "cores\t2\n") -> String {
  "# a comment\ncard\tsaves\nrun\t\n\(facts)\(ResultFile.columns.joined(separator: "\t"))\n"
    + figures.map(resultLine).joined()
}

@Suite struct ResultFileTests {
  @Test func aFigureIsReadWithAllItsCells() throws {
    let file = try ResultFile(
      resultText("insert | 100000 | Strata | speed | GRDB | × | 20.0 | 19 | 21.5 | ≥ 20 | 5"),
      file: "saves.tsv")
    #expect(file.card == "saves")
    #expect(file.runs.map(\.facts) == [[.cores: "2"]])
    let figure = try #require(file.runs.first?.figures.first)
    #expect(
      figure.key
        == .init(operation: "insert", size: 100_000, contender: "Strata", measure: .speed, against: "GRDB"))
    #expect(figure.median?.text == "20.0")
    #expect(figure.lowest?.value == 19)
    #expect(figure.highest?.value == 21.5)
    #expect(figure.required == Bound(.atLeast, try #require(Amount("20"))))
    #expect(figure.counted == 5)
  }

  @Test func cellsMayBeEmptyThatAreNotKnown() throws {
    let file = try ResultFile(
      resultText("a | | b | time | | ms | 7 | | | | "), file: "saves.tsv")
    let figure = try #require(file.runs.first?.figures.first)
    #expect(figure.key.size == nil && figure.lowest == nil && figure.required == nil && figure.counted == nil)
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    let text = try ResultFile(
      resultText(
        "a | 10 | b | time | | ms | 0.50 | 0.4 | 1 | ≤ 1.5 | 3", facts: "date\t2031-05-28\nnote\tn | m\n"
      ),
      file: "saves.tsv")
    #expect(try ResultFile(text.text(), file: "saves.tsv") == text)
  }

  @Test func windowsLineBreaksAreLineBreaks() throws {
    let text = resultText("a | 1 | b | time | | ms | 7 | | | | ")
    #expect(
      try ResultFile(text.replacing("\n", with: "\r\n"), file: "f") == ResultFile(text, file: "f"))
  }

  @Test func aNameWithATabIsNotWritten() throws {
    let figure = Figure(
      key: .init(operation: "a\tb", contender: "c", measure: .time), unit: "ms", median: Amount("1"))
    #expect(throws: ResultError.self) {
      try ResultFile(card: "x", runs: [CardRun(figures: [figure])]).text()
    }
  }

  @Test(arguments: [
    "a | 1 | b | time | ", "a | x | b | time | | ms | 7 | | | | ",
    "a | 0 | b | time | | ms | 7 | | | | ", "a | 1 | b | tim | | ms | 7 | | | | ",
    "a | 1 | b | time | | ms | | | | | ", "a | 1 | b | time | | ms | | 1 | | | ",
    "a | 1 | b | time | | ms | -7 | | | | ", "a | 1 | b | time | | ms | 1e3 | | | | ",
    "a | 1 | b | time | | ms | nan | | | | ", "a | 1 | b | time | | ms | 7. | | | | ",
    "a | 1 | b | time | | ms | 7 | 8 | 9 | | ", "a | 1 | b | time | | ms | 7 | 5 | 6 | | ",
    "a | 1 | b | time | | ms | 7 | | | 4 | ", "a | 1 | b | time | | ms | 7 | | | ≥ four | ",
    "a | 1 | b | time | | ms | 7 | | | | many", "a | 1 | b | time | GRDB | ms | 7 | | | | ",
    "a | 1 | b | time | | × | 7 | | | | ", "a | 1 | b | speed | | ms | 7 | | | | ",
    " | 1 | b | time | | ms | 7 | | | | ", "a | 1 |  | time | | ms | 7 | | | | ",
    "cores | 2", "",
  ])
  func aDamagedLineIsNamed(line: String) {
    let text = resultText(line)
    let error = #expect(throws: ResultError.self) { try ResultFile(text, file: "Results/saves.tsv") }
    #expect(
      error?.description.hasPrefix("Results/saves.tsv:6: ") == true, "\(String(describing: error))")
  }

  @Test func theSameFigureTwiceIsRefused() {
    let line = "a | 1 | b | time | | ms | 7 | | | | "
    let error = #expect(throws: ResultError.self) { try ResultFile(resultText(line, line), file: "f") }
    #expect(error?.line == 7)
  }

  @Test(arguments: [
    "", "card\tsaves\n", "card\tsaves\nrun\t\n", "run\t\n", "card\ta\ncard\tb\n", "card\ta\nrun\t\nhost\tx\n",
    "card\ta\ncores\t2\n", "card\ta\nrun\t\ncores\t2\ncores\t2\n",
  ])
  func aFileThatLacksSomethingIsRefused(text: String) {
    #expect(throws: ResultError.self) { try ResultFile(text, file: "f") }
  }

  @Test func aFileThatEndsInTheMiddleOfALineIsRefused() {
    let text = resultText("a | 1 | b | time | | ms | 75 | | | | 1")
    let error = #expect(throws: ResultError.self) { try ResultFile(String(text.dropLast()), file: "f") }
    #expect(error?.text.contains("line break") == true)
  }

  @Test func amountsAreRoundedToWhatCounts() {
    let shown = [0, 0.00424, 0.098, 0.5, 2.344, 9.99, 9.996, 12.34, 99.94, 99.96, 1234.4].map {
      Amount(measured: $0)?.text
    }
    #expect(
      shown == ["0.00", "0.0042", "0.0980", "0.50", "2.34", "9.99", "10.0", "12.3", "99.9", "100", "1234"])
    #expect(Amount(measured: .nan) == nil)
    #expect(Amount(measured: .infinity) == nil)
    #expect(Amount(measured: -1) == nil)
  }
}
