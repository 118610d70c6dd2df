import Testing

@testable import PerformancePage

/// Results of the card “saves” whose runs have these figures, one list of lines for each run.
func results(_ runs: [String]..., label: String = "") throws -> Results {
  var file = ResultFile(card: "saves", runs: [])
  for lines in runs {
    let text =
      "card\tsaves\nrun\t\(label)\n\(ResultFile.columns.joined(separator: "\t"))\n"
      + lines.map(resultLine).joined()
    file.runs += try ResultFile(text, file: "saves.tsv").runs
  }
  var results = Results(folder: "Results")
  results.add(file)
  return results
}

@Suite struct PageTableTests {
  private let time = PageTable.Part(contender: "Strata", measure: .time, unit: "ms")
  private let speed = PageTable.Part(contender: "Strata", measure: .speed, against: "GRDB", unit: "×")

  private func table(_ columns: [PageTable.Column], isOptional: Bool = false) -> PageTable {
    PageTable(
      name: "t", card: "saves", corner: ["what"], columns: columns,
      rows: [.init(labels: ["insert"], part: .init(operation: "insert", size: 10), isOptional: isOptional)])
  }

  private func row(_ columns: [PageTable.Column], _ results: Results) throws -> String {
    try #require(try table(columns).lines(results).last)
  }

  @Test func amountsAreShownAsTheyAreWrittenWithCommas() throws {
    let found = try results(["insert | 10 | Strata | time | | ms | 1234567.50 | | | | "])
    let lines = try table([.init(title: "Strata", content: .figure(time))]).lines(found)
    #expect(lines == ["| what | Strata |", "|---|---:|", "| insert | 1,234,567.50 |"])
  }

  @Test func rangesAreShownWhereTheColumnShowsThem() throws {
    let found = try results(["insert | 10 | Strata | time | | ms | 5 | 4 | 7 | | "])
    let shown = try [PageTable.Shown.median, .spread, .worst].map {
      try row([.init(title: "", content: .figure(time, $0))], found)
    }
    #expect(shown == ["| insert | 5 |", "| insert | 5 (4–7) |", "| insert | 5 (7) |"])
  }

  @Test func severalRunsStandBesideEachOther() throws {
    let found = try results(
      ["insert | 10 | Strata | time | | ms | 5 | | | | "],
      ["insert | 10 | Strata | time | | ms | | 4 | 6 | | "])
    #expect(try row([.init(title: "", content: .figure(time))], found) == "| insert | 5; 4–6 |")
  }

  @Test(arguments: [
    (["4.0"], "≥ 4: reached"), (["3.99"], "≥ 4: not reached"),
    (["3", "5", "2"], "≥ 4: reached in one of three runs"),
  ])
  func aVerdictSaysInHowManyRunsItIsReached(multiples: [String], expected: String) throws {
    var all = Results(folder: "Results")
    var file = ResultFile(card: "saves", runs: [])
    for multiple in multiples {
      file.runs += try #require(
        results(["insert | 10 | Strata | speed | GRDB | × | \(multiple) | | | ≥ 4 | "]).cards["saves"]
      ).runs
    }
    all.add(file)
    #expect(
      try row([.init(title: "", content: .verdict([[(speed, "")]]))], all) == "| insert | \(expected) |")
  }

  @Test func aRangeOfRunsReachesWhatAllOfItReaches() throws {
    let one = "insert | 10 | Strata | speed | GRDB | × | 5 | | | ≥ 4 | "
    let verdict = PageTable.Column(title: "", content: .verdict([[(speed, "")]]))
    let below = try results([one], ["insert | 10 | Strata | speed | GRDB | × | | 3 | 9 | ≥ 4 | "])
    #expect(try row([verdict], below) == "| insert | ≥ 4: not reached everywhere |")
    let above = try results([one], ["insert | 10 | Strata | speed | GRDB | × | | 4 | 9 | ≥ 4 | "])
    #expect(try row([verdict], above) == "| insert | ≥ 4: reached |")
  }

  @Test(arguments: [
    ("5", "0.7", "1.3", "reached"), ("7", "0.5", "1.4", "reached"), ("7", "0.7", "1.4", "not reached"),
    ("5", "0.5", "1.4", "not reached"),
  ])
  func oneOfTwoRequirementsIsEnough(speed: String, objects: String, floor: String, expected: String) throws {
    let found = try results([
      "insert | 10 | Strata | speed | GRDB | × | \(speed) | | | ≥ 6 | ",
      "insert | 10 | Strata | time | objects | × | \(objects) | | | ≤ 0.6 | ",
      "insert | 10 | Strata | time | floor | × | \(floor) | | | ≤ 1.3 | ",
    ])
    func part(_ against: String) -> PageTable.Part {
      .init(contender: "Strata", measure: .time, against: against, unit: "×")
    }
    let verdict = PageTable.Content.verdict([
      [(self.speed, " × GRDB"), (part("objects"), " of the objects")], [(part("floor"), " of the floor")],
    ])
    #expect(
      try row([.init(title: "", content: verdict)], found)
        == "| insert | ≥ 6 × GRDB and ≤ 0.6 of the objects, or ≤ 1.3 of the floor: \(expected) |")
  }

  @Test func aMissingFigureIsNamedWithItsFile() throws {
    let found = try results(["insert | 11 | Strata | time | | ms | 5 | | | | "])
    let column = PageTable.Column(title: "", content: .figure(time))
    let error = #expect(throws: ResultError.self) { try table([column]).lines(found) }
    #expect(
      error?.description == "Results/saves.tsv: “insert”, 10, Strata, time is missing for the table “t”.")
    #expect(try table([column], isOptional: true).lines(found).count == 2)
    #expect(try row([.init(title: "", content: .figureIfAny(time))], found) == "| insert | |")
  }

  @Test func aFigureInAnotherUnitIsNoFigure() throws {
    let found = try results(["insert | 10 | Strata | time | | µs | 5 | | | | "])
    let error = #expect(throws: ResultError.self) {
      try table([.init(title: "", content: .figure(time))]).lines(found)
    }
    #expect(error?.text.contains("is in µs, not in ms") == true)
  }

  @Test func theLabelOfTheOnlyRunStandsBesideTheRow() throws {
    let found = try results(["insert | 10 | Strata | time | | ms | 5 | | | | "], label: "before | then")
    #expect(
      try row([.init(title: "", content: .figure(time))], found) == "| insert, before \\| then | 5 |")
  }
}

@Suite struct PageTests {
  private let tables = ["a", "b"].map {
    PageTable(
      name: $0, card: "saves", corner: [$0], columns: [],
      rows: [.init(labels: ["one"], part: .init(operation: "insert"))])
  }

  private func filled(_ text: String) throws -> String {
    let found = try results(["insert | | Strata | time | | ms | 5 | | | | "])
    return try Page(text, file: "P.md").filled(with: tables, from: found).text
  }

  @Test func whatStandsBetweenMarkersIsMadeAnewAndNothingElse() throws {
    let text =
      "# Title\n\n<!-- measured: a -->\nold\n\nolder\n<!-- end -->\nprose | <!-- end --> |\n<!-- measured: b -->\n<!-- end -->\n"
    let made = try filled(text)
    #expect(
      made
        == "# Title\n\n<!-- measured: a -->\n| a |\n|---|\n| one |\n<!-- end -->\nprose | <!-- end --> |\n<!-- measured: b -->\n| b |\n|---|\n| one |\n<!-- end -->\n"
    )
    #expect(try filled(made) == made)
  }

  @Test(arguments: [
    ("<!-- measured: a -->\n<!-- measured: b -->\n<!-- end -->", 1), ("<!-- measured: a -->\n", 1),
    ("x\n<!-- end -->", 2), ("<!-- measured: c -->\n<!-- end -->", 1),
    ("<!-- measured: a -->\n<!-- end -->\n<!-- measured: a -->\n<!-- end -->", 3),
  ])
  func markersThatDoNotFitAreNamed(text: String, line: Int) {
    let error = #expect(throws: ResultError.self) { try filled(text) }
    #expect(error?.file == "P.md" && error?.line == line)
  }

  @Test func aTableWithoutAMarkerIsMissed() {
    let error = #expect(throws: ResultError.self) { try filled("<!-- measured: a -->\n<!-- end -->\n") }
    #expect(error?.text.contains("<!-- measured: b -->") == true)
  }
}
