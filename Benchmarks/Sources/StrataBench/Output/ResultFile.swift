import Foundation

/// Everything that was measured in one run of a card, under the same conditions.
struct CardRun: Equatable, Sendable {
  /// What is known of the machine and the day. Nothing that names a machine or a person.
  enum Fact: String, CaseIterable, Sendable {
    case date, build, cores, system, compiler, libraries, sync, log, note
  }

  /// Shown beside the figures where a run was not made as the others; mostly empty.
  var label = ""
  var facts: [Fact: String] = [:]
  var figures: [Figure] = []
}

/// The results of one card as a text: lines of cells with tabs between them.
///
///     # a comment
///     card        saves
///     run         label               begins a run; the label may be empty
///     cores       2                   facts about it
///     operation   size   contender …  the titles of the columns, once in each run
///     durable …                       one figure in a line
///
/// Sizes, multiples, amounts, requirements and numbers of runs may be left empty; of the amounts the median, or the lowest and the highest, are there.
struct ResultFile: Equatable, Sendable {
  var card: String
  var runs: [CardRun]

  static let columns = [
    "operation", "size", "contender", "measure", "against", "unit", "median", "lowest", "highest", "required",
    "counted",
  ]

  /// The file's text, which `init(_:file:)` reads.
  ///
  /// - Throws: `ResultError` when a name has a tab or a line break in it.
  func text() throws -> String {
    var lines = [
      "# Measured by \(card == "compare" ? "make bench" : "make bench CARD=\(card)"). make performance makes tables of Docs/Performance.md of it."
    ]
    try lines.append(line(["card", card]))
    for run in runs {
      try lines.append(line(["run", run.label]))
      for fact in CardRun.Fact.allCases {
        if let value = run.facts[fact] { try lines.append(line([fact.rawValue, value])) }
      }
      try lines.append(line(Self.columns))
      for figure in run.figures { try lines.append(line(figure.cells)) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func line(_ cells: [String]) throws -> String {
    for cell in cells where cell.contains(where: { $0.isNewline || $0 == "\t" }) {
      throw ResultError(file: "\(card).tsv", line: nil, "“\(cell)” has a tab or a line break in it.")
    }
    return cells.joined(separator: "\t")
  }

  /// - Parameter file: Named in errors.
  /// - Throws: `ResultError` with the line that cannot be read.
  init(_ text: String, file: String) throws {
    var reader = ResultReader(file: file)
    guard text.last?.isNewline == true else {
      throw ResultError(file: file, line: nil, "It does not end with a line break: a part of it is missing.")
    }
    let lines = text.dropLast().split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for line in lines { try reader.read(line) }
    self = try reader.finish()
  }

  init(card: String, runs: [CardRun]) { (self.card, self.runs) = (card, runs) }
}

/// A file of results that cannot be read, or lacks something.
struct ResultError: Error, Equatable, CustomStringConvertible {
  var file: String
  var line: Int?
  var text: String

  init(file: String, line: Int?, _ text: String) {
    (self.file, self.line, self.text) = (file, line, text)
  }

  var description: String { "\(file)\(line.map { ":\($0)" } ?? ""): \(text)" }
}

/// Reads a file of results line by line.
private struct ResultReader {
  let file: String
  private var number = 0
  private var card: String?
  private var runs: [CardRun] = []
  private var hasColumns = false
  private var keys: Set<Figure.Key> = []

  init(file: String) { self.file = file }

  mutating func read(_ line: Substring) throws {
    number += 1
    if line.hasPrefix("#") { return }
    let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    if cells == ResultFile.columns {
      guard !runs.isEmpty, !hasColumns else {
        throw error("The titles of the columns follow the facts of a run, once.")
      }
      hasColumns = true
    } else if cells.count == 2 {
      try readFact(cells[0], cells[1])
    } else if cells.count == ResultFile.columns.count {
      guard hasColumns else { throw error("A figure stands before the titles of the columns.") }
      let figure = try figure(cells)
      guard keys.insert(figure.key).inserted else { throw error("This run has the figure already.") }
      runs[runs.count - 1].figures.append(figure)
    } else {
      throw error("A line has 2 cells, or \(ResultFile.columns.count) for a figure; here are \(cells.count).")
    }
  }

  func finish() throws -> ResultFile {
    guard let card, !runs.isEmpty else {
      throw ResultError(file: file, line: nil, "It has no card, or no run.")
    }
    try requireFigures()
    return ResultFile(card: card, runs: runs)
  }

  private mutating func readFact(_ name: String, _ value: String) throws {
    if name == "card" {
      guard card == nil, runs.isEmpty, !value.isEmpty else {
        throw error("The card is named once, before all runs.")
      }
      card = value
    } else if name == "run" {
      guard card != nil else { throw error("A run stands before the card's name.") }
      if !runs.isEmpty { try requireFigures() }
      runs.append(CardRun(label: value))
      (hasColumns, keys) = (false, [])
    } else if let fact = CardRun.Fact(rawValue: name) {
      guard !runs.isEmpty, !hasColumns, !value.isEmpty, runs[runs.count - 1].facts[fact] == nil else {
        throw error("A fact has a value and stands once, between “run” and the titles of the columns.")
      }
      runs[runs.count - 1].facts[fact] = value
    } else {
      throw error("“\(name)” is no fact: \(CardRun.Fact.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
  }

  private func requireFigures() throws {
    if runs.last?.figures.isEmpty != false {
      throw ResultError(file: file, line: nil, "Run \(runs.count) has no figures.")
    }
  }

  private func figure(_ cells: [String]) throws -> Figure {
    guard !cells[0].isEmpty, !cells[2].isEmpty, !cells[5].isEmpty else {
      throw error("A figure has an operation, a contender and a unit.")
    }
    guard let measure = Figure.Measure(rawValue: cells[3]) else {
      throw error("“\(cells[3])” is no measure.")
    }
    let against = cells[4].isEmpty ? nil : cells[4]
    guard (against != nil) == (cells[5] == "×"), measure != .speed || against != nil else {
      throw error("A multiple, and nothing else, has the unit × and says whose figure it is a multiple of.")
    }
    let key = Figure.Key(
      operation: cells[0], size: try count(cells[1], "size"), contender: cells[2], measure: measure,
      against: against)
    var figure = Figure(key: key, unit: cells[5])
    figure.median = try amount(cells[6])
    figure.lowest = try amount(cells[7])
    figure.highest = try amount(cells[8])
    guard figure.median != nil || (figure.lowest != nil && figure.highest != nil) else {
      throw error("There is no median, nor a lowest and a highest amount.")
    }
    let ascending = [figure.lowest, figure.median, figure.highest].compactMap { $0?.value }
    guard ascending == ascending.sorted() else { throw error("Lowest, median and highest do not ascend.") }
    if !cells[9].isEmpty {
      guard let bound = Bound(cells[9]) else { throw error("“\(cells[9])” is no requirement, such as ≥ 4.") }
      figure.required = bound
    }
    figure.counted = try count(cells[10], "number of runs")
    return figure
  }

  private func amount(_ cell: String) throws -> Amount? {
    if cell.isEmpty { return nil }
    guard let amount = Amount(cell) else { throw error("“\(cell)” is no amount, such as 12.5.") }
    return amount
  }

  private func count(_ cell: String, _ what: String) throws -> Int? {
    if cell.isEmpty { return nil }
    guard let count = Int(cell), count > 0, "\(count)" == cell else {
      throw error("“\(cell)” is no \(what).")
    }
    return count
  }

  private func error(_ text: String) -> ResultError { ResultError(file: file, line: number, text) }
}

extension Figure {
  fileprivate var cells: [String] {
    [
      key.operation, key.size.map { "\($0)" } ?? "", key.contender, key.measure.rawValue, key.against ?? "",
      unit,
      median?.text ?? "", lowest?.text ?? "", highest?.text ?? "", required?.text ?? "",
      counted.map { "\($0)" } ?? "",
    ]
  }
}
