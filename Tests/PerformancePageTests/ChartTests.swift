import Foundation
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

@testable import PerformancePage

@Suite struct ChartTests {
  private func amount(_ text: String) throws -> Amount { try #require(Amount(text)) }

  private func chart(_ bars: Bar...) -> String { Chart(title: "T", subtitle: "S", bars: bars).svg }

  /// The elements of one class, with their attributes and their texts; fails when the picture is no XML.
  private func elements(_ svg: String, _ kind: String) throws -> [SVGElement] {
    let reader = SVGReader()
    let parser = XMLParser(data: Data(svg.utf8))
    parser.delegate = reader
    #expect(parser.parse(), "\(String(describing: parser.parserError))")
    return reader.elements.filter { $0.attributes["class"] == kind || $0.name == kind }
  }

  @Test func textOfEveryKindIsEscaped() throws {
    let nasty = "a < b & \"c\" > </text><script>\u{1}é"
    let svg = Chart(
      title: nasty, subtitle: nasty, bars: [Bar(nasty, nasty, try amount("2"), required: Bound("≥ 1"))]
    ).svg
    let shown = nasty.replacing("\u{1}", with: "\u{FFFD}")
    for kind in ["name", "group", "end"] {
      #expect(try elements(svg, kind).map(\.text) == [shown])
    }
    #expect(try elements(svg, "script").isEmpty)
    #expect(try elements(svg, "title").map(\.text) == [shown])
  }

  @Test func fasterGoesToTheRightAndSlowerToTheLeftOfOne() throws {
    let svg = chart(
      Bar("g", "fast", try amount("10")), Bar("g", "slow", try amount("0.1")),
      Bar("g", "even", try amount("1")))
    // The legend has a box of this class, too.
    let bars = try elements(svg, "reached").dropFirst()
    let one = try #require(
      Double(elements(svg, "one")[0].attributes["d"]?.split(separator: " ")[0].dropFirst() ?? ""))
    let spans = try bars.map { bar in
      let (x, width) = (Double(bar.attributes["x"] ?? ""), Double(bar.attributes["width"] ?? ""))
      return (try #require(x), try #require(width))
    }
    #expect(spans.map(\.0).map { $0 < one } == [false, true, false])
    // As far to either side, on a logarithmic scale.
    #expect(abs(spans[0].1 - spans[1].1) < 0.2)
    #expect(spans[2].1 == 1)
  }

  @Test func aBarSaysWhetherWhatIsRequiredIsReached() throws {
    let svg = chart(
      Bar("g", "yes", try amount("2"), required: Bound("≥ 2")),
      Bar("g", "no", try amount("1.99"), required: Bound("≥ 2")), Bar("g", "free", try amount("0.5")))
    // One of each in the legend.
    #expect(try elements(svg, "reached").count == 3)
    #expect(try elements(svg, "missed").count == 2)
    #expect(try elements(svg, "tick").count == 3)
    let description = try #require(elements(svg, "desc").first?.text)
    #expect(
      description
        == "S. g, yes: 2 ×, required ≥ 2, reached; g, no: 1.99 ×, required ≥ 2, not reached; g, free: 0.5 ×.")
  }

  @Test func theSameFiguresGiveTheSameBytes() throws {
    let bars = [Bar("g", "a", try amount("3.5")), Bar("h", "b", try amount("72.5"))]
    let pictures = Set((0..<5).map { _ in Chart(title: "T", subtitle: "S", bars: bars).svg })
    #expect(pictures.count == 1)
  }

  @Test func thePictureIsForLightAndDarkAndForThoseWhoDoNotSeeIt() throws {
    let svg = chart(Bar("g", "a", try amount("3.5")))
    #expect(svg.contains("@media (prefers-color-scheme: dark)"))
    let root = try #require(elements(svg, "svg").first)
    #expect(root.attributes["role"] == "img")
    let ids = try ["title", "desc"].map { try #require(elements(svg, $0).first?.attributes["id"]) }
    #expect(root.attributes["aria-labelledby"] == ids.joined(separator: " "))
  }

  @Test func aBarOfSeveralRunsIsTheirMedianWithTheirRange() throws {
    let key = Figure.Key(operation: "insert", contender: "Strata", measure: .speed, against: "GRDB")
    let source = Bar.Source(group: "g", label: "a", card: "saves", key: key)
    func line(_ cells: String) -> [String] { ["insert | | Strata | speed | GRDB | × | \(cells) | ≥ 4 | "] }
    let three = try Bar(source, results(line("3.1 | | "), line("4.1 | | "), line("3.5 | | ")))
    #expect(three.text == "3.5" && three.range == 3.1...4.1 && three.isReached == false)
    let ranged = try Bar(source, results(line("1.8 | | "), line(" | 1.3 | 1.5")))
    #expect(ranged.text == "1.8" && ranged.range == 1.3...1.8)
    let one = try Bar(source, results(line("20.0 | | ")))
    #expect(one.text == "20.0" && one.range == nil && one.isReached == true)
    let none = Bar.Source(group: "g", label: "a", card: "graph", key: key)
    #expect(throws: ResultError.self) { try Bar(none, results(line("1 | | "))) }
    #expect(throws: ResultError.self) { try Bar(source, results(line("0 | | "))) }
  }

  @Test func anotherRequirementCanBeEnough() throws {
    let key = Figure.Key(operation: "insert", contender: "Strata", measure: .speed, against: "GRDB")
    var floor = key
    (floor.measure, floor.against) = (.time, "floor")
    var source = Bar.Source(group: "g", label: "a", card: "saves", key: key)
    source.otherwise = (floor, "×", " of LMDB")
    for (multiple, isReached) in [("1.3", true), ("1.4", false)] {
      let bar = try Bar(
        source,
        results([
          "insert | | Strata | speed | GRDB | × | 2 | | | ≥ 3 | ",
          "insert | | Strata | time | floor | × | \(multiple) | | | ≤ 1.3 | ",
        ]))
      #expect(bar.isReached == isReached)
      #expect(bar.requirement == "≥ 3 or ≤ 1.3 of LMDB")
    }
  }
}

@Suite struct BarRequirementTests {
  private let key = Figure.Key(operation: "insert", contender: "Strata", measure: .speed, against: "GRDB")

  @Test(arguments: [("7", "0.5", true), ("7", "0.7", false), ("5", "0.5", false)])
  func whatIsRequiredBesideItHasToBeReachedToo(speed: String, objects: String, isReached: Bool) throws {
    var source = Bar.Source(group: "g", label: "a", card: "saves", key: key)
    var also = key
    (also.measure, also.against) = (.time, "objects")
    source.also = also
    let own = "insert | | Strata | speed | GRDB | × | \(speed) | | | ≥ 6 | "
    let other = "insert | | Strata | time | objects | × | \(objects) | | | "
    #expect(try Bar(source, results([own, other + "≤ 0.6 | "])).isReached == isReached)
    // Nothing is required of it, or it was not measured.
    for lines in [[own, other + " | "], [own]] {
      #expect(try Bar(source, results(lines)).isReached == (speed == "7"))
    }
  }

  @Test func anotherRequirementIsJudgedByTheMedianOfAllRuns() throws {
    var source = Bar.Source(group: "g", label: "a", card: "saves", key: key)
    let work = Figure.Key(operation: "insert", contender: "Strata", measure: .processorTime)
    source.otherwise = (work, "µs", " µs of work")
    func run(_ microseconds: Int) -> [String] {
      [
        "insert | | Strata | speed | GRDB | × | 2 | | | | ",
        "insert | | Strata | processor time | | µs | \(microseconds) | | | ≤ 25 | ",
      ]
    }
    #expect(try Bar(source, results(run(30), run(20), run(22))).isReached == true)
    #expect(try Bar(source, results(run(20), run(30), run(32))).isReached == false)
  }
}

extension Bar {
  fileprivate init(_ group: String, _ label: String, _ amount: Amount, required: Bound? = nil) {
    self.init(
      group: group, label: label, value: amount.value, text: amount.shown, required: required,
      isReached: required?.isMet(by: amount.value), requirement: required?.text ?? "")
  }
}

private struct SVGElement {
  var name: String
  var attributes: [String: String]
  var text = ""
}

/// Reads a picture as XML. Used on one thread.
private final class SVGReader: NSObject, XMLParserDelegate {
  var elements: [SVGElement] = []
  /// Whether the last element is being read. None has both text and elements.
  private var isOpen = false

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String] = [:]
  ) {
    elements.append(SVGElement(name: name, attributes: attributes))
    isOpen = true
  }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?)
  {
    isOpen = false
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    guard isOpen else { return }
    elements[elements.count - 1].text += text
  }
}
