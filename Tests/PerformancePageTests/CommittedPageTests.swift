import Foundation
import Testing

@testable import PerformancePage

/// That the repository's page, chart and results agree; and, with a copy of all of them that stays as it is, that nothing is written when they do not.
@Suite struct CommittedPageTests {
  private let root: URL
  private let measured: URL
  private var files: PageFiles { PageFiles(root: root) }

  init() throws {
    let sample = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Sample")
    root = FileManager.default.temporaryDirectory.appendingPathComponent("page-\(UUID().uuidString)")
    measured = root.appendingPathComponent("measured")
    for folder in ["Docs", "Benchmarks", "measured"] {
      try FileManager.default.createDirectory(
        at: root.appendingPathComponent(folder), withIntermediateDirectories: true)
    }
    for (name, copy) in [
      ("Page.txt", PageFiles.page), ("Chart.txt", PageFiles.chart), ("Results", PageFiles.results),
    ] {
      try FileManager.default.copyItem(
        at: sample.appendingPathComponent(name), to: root.appendingPathComponent(copy))
    }
  }

  @Test func thoseOfTheRepositoryAgree() throws {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    try withCopies { try PageFiles(root: repository).check() }
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
  }

  private func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: root.appendingPathComponent(name))
  }

  private func everything() throws -> [String: String] {
    let results = try FileManager.default.contentsOfDirectory(
      atPath: root.appendingPathComponent(PageFiles.results).path)
    let names = [PageFiles.page, PageFiles.chart] + results.map { "\(PageFiles.results)/\($0)" }
    return Dictionary(uniqueKeysWithValues: try names.map { ($0, try text($0)) })
  }

  private func withCopies(_ body: () throws -> Void) throws {
    defer { try? FileManager.default.removeItem(at: root) }
    try body()
  }

  @Test func thePageAndTheChartAreWhatTheResultsMake() throws {
    try withCopies {
      try files.check()
      let before = try everything()
      #expect(try files.make(from: measured).isEmpty)
      #expect(try everything() == before)
      for (name, text) in before where name.hasSuffix(".tsv") {
        #expect(try ResultFile(text, file: name).text() == text)
      }
    }
  }

  @Test func aTableThatWasEditedByHandIsFound() throws {
    try withCopies {
      let page = try text(PageFiles.page)
      try write(page.replacing("| 3.1; 4.1; 3.5 |", with: "| 3.1; 4.2; 3.5 |"), to: PageFiles.page)
      let error = #expect(throws: ResultError.self) { try files.check() }
      #expect(error?.file == PageFiles.page && error?.line != nil)
      #expect(error?.text.contains("“large”") == true)
      #expect(try files.make(from: measured) == [PageFiles.page])
      #expect(try text(PageFiles.page) == page)
    }
  }

  @Test func aResultThatWasEditedByHandIsFound() throws {
    try withCopies {
      let name = "\(PageFiles.results)/compare.tsv"
      try write(try text(name).replacing("\t2.3\t", with: "\t2.4\t"), to: name)
      #expect(throws: ResultError.self) { try files.check() }
      #expect(try files.make(from: measured) == [PageFiles.page, PageFiles.chart])
      try files.check()
    }
  }

  @Test func anOldChartIsFound() throws {
    try withCopies {
      try write("<svg/>", to: PageFiles.chart)
      let error = #expect(throws: ResultError.self) { try files.check() }
      #expect(error?.file == PageFiles.chart)
      try FileManager.default.removeItem(at: root.appendingPathComponent(PageFiles.chart))
      #expect(throws: ResultError.self) { try files.check() }
    }
  }

  @Test func whatIsTakenTakesThePlaceAndWhatIsAddedStandsBehind() throws {
    try withCopies {
      let name = "\(PageFiles.results)/accessors.tsv"
      let faster = try text(name).replacing("\t14.2\t", with: "\t13.9\t")
      try write(faster, to: "measured/accessors.tsv")
      #expect(try files.make(adding: ["accessors"], from: measured) == [name, PageFiles.page])
      #expect(try text(PageFiles.page).contains("| 11.4; 11.4 | 14.2; 13.9 |"))
      try files.check()
      let before = try everything()
      let error = #expect(throws: ResultError.self) { try files.make(adding: ["accessors"], from: measured) }
      #expect(error?.description.contains("are there already") == true)
      #expect(try everything() == before)
      #expect(try files.make(taking: ["accessors"], from: measured) == [name, PageFiles.page])
      #expect(try text(name) == faster)
      #expect(try text(PageFiles.page).contains("| 11.4 | 13.9 |"))
    }
  }

  @Test(arguments: [
    ("damaged", "measured/accessors.tsv:9: "), ("incomplete", "measured/accessors.tsv: “read an attribute”"),
    ("debug", "measured/accessors.tsv: It was measured with a debug build"),
    ("absent", "measured/accessors.tsv: There is no such file"),
    ("foreign", "measured/accessors.tsv: It has the results of the card “saves”"),
    ("no text", "measured/accessors.tsv: It is no text"),
  ])
  func whatCannotBeTakenChangesNothing(kind: String, place: String) throws {
    try withCopies {
      let good = try text("\(PageFiles.results)/accessors.tsv")
      let name = "measured/accessors.tsv"
      switch kind {
      case "damaged": try write(good.replacing("\t11.4\t", with: "\t11,4\t"), to: name)
      case "incomplete": try write(good.replacing("read an attribute", with: "read"), to: name)
      case "debug": try write(good.replacing("build\trelease", with: "build\tdebug"), to: name)
      case "foreign": try write(good.replacing("card\taccessors", with: "card\tsaves"), to: name)
      case "no text": try Data([0xFF, 0xFE, 0x0A]).write(to: root.appendingPathComponent(name))
      default: break
      }
      let before = try everything()
      let error = #expect(throws: ResultError.self) { try files.make(taking: ["accessors"], from: measured) }
      let description = try #require(error?.description)
      #expect(description.contains(place), "\(description)")
      #expect(try everything() == before)
    }
  }

  @Test func aDamagedOrMissingCommittedResultChangesNothing() throws {
    try withCopies {
      let name = "\(PageFiles.results)/saves.tsv"
      let good = try text(name)
      try write(good.replacing("\t538\t", with: "\tmuch\t"), to: name)
      var before = try everything()
      let damaged = #expect(throws: ResultError.self) { try files.make(from: measured) }
      #expect(damaged?.description.hasPrefix("\(name):10: ") == true, "\(String(describing: damaged))")
      #expect(try everything() == before)
      try FileManager.default.removeItem(at: root.appendingPathComponent(name))
      before = try everything()
      let missing = #expect(throws: ResultError.self) { try files.make(from: measured) }
      #expect(missing?.file == name)
      #expect(try everything() == before)
    }
  }

  @Test func aCardThatIsNamedTwiceIsRefused() throws {
    try withCopies {
      #expect(throws: ResultError.self) {
        try files.make(taking: ["accessors"], adding: ["accessors"], from: measured)
      }
    }
  }
}
