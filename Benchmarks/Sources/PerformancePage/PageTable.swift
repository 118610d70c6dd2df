/// One table of the page: which figures of a card stand in which row and column.
///
/// A row and a column each say a part of a figure's key; where both say something, the column counts.
struct PageTable {
  /// As in the page's markers.
  var name: String
  var card: String
  /// The titles of the columns with the rows' labels.
  var corner: [String]
  var columns: [Column]
  var rows: [Row]

  struct Part {
    var operation: String?
    var size: Int?
    var contender: String?
    var measure: Figure.Measure?
    var against: String?
    var unit: String?

    func over(_ row: Part) -> Part {
      Part(
        operation: operation ?? row.operation, size: size ?? row.size, contender: contender ?? row.contender,
        measure: measure ?? row.measure, against: against ?? row.against, unit: unit ?? row.unit)
    }
  }

  struct Row {
    var labels: [String]
    var part: Part
    /// What contenders are called in this row's figures, where the columns use a name for all rows.
    var names: [String: String] = [:]
    /// Left out where nothing of it was measured.
    var isOptional = false
  }

  struct Column {
    var title: String
    var content: Content
  }

  enum Content {
    case figure(Part, Shown = .median)
    /// Empty where there is no such figure.
    case figureIfAny(Part, Shown = .median)
    /// What is required and whether it is reached: all figures of one of the lists. Each has words that follow its bound.
    case verdict([[(part: Part, words: String)]])
  }

  enum Shown {
    case median
    /// With the lowest and the highest, where they are known.
    case spread
    /// With the highest, where it is known.
    case worst
  }
}

extension PageTable {
  /// The table's lines.
  ///
  /// - Throws: `ResultError` when a figure is missing.
  func lines(_ results: Results) throws -> [String] {
    let titles = corner + columns.map(\.title)
    let rule = "|" + titles.indices.map { isLeft($0) ? "---|" : "---:|" }.joined()
    return [Self.line(titles), rule] + (try rows.compactMap { try cells(of: $0, results).map(Self.line) })
  }

  /// Labels and sentences stand left, numbers right.
  private func isLeft(_ index: Int) -> Bool {
    if index < corner.count { return rows.contains { Int($0.labels[index].filter { $0 != "," }) == nil } }
    if case .verdict = columns[index - corner.count].content { return true }
    return false
  }

  private static func line(_ cells: [String]) -> String {
    "|" + cells.map { $0.isEmpty ? " |" : " \($0.replacing("|", with: "\\|")) |" }.joined()
  }

  /// Nil for a row that is left out.
  private func cells(of row: Row, _ results: Results) throws -> [String]? {
    if row.isOptional, try !hasFigures(row, results) { return nil }
    var cells: [String] = []
    var runs: Set<Int> = []
    for column in columns {
      switch column.content {
      case .figure(let part, let shown):
        let found = try figures(part, row, results)
        guard !found.isEmpty else {
          let key = key(part, row).key
          throw ResultError(
            file: results.name(of: card), line: nil, "\(key) is missing for the table “\(name)”.")
        }
        runs.formUnion(found.map(\.run))
        cells.append(Self.cell(found.map(\.figure), shown))
      case .figureIfAny(let part, let shown):
        let found = try figures(part, row, results)
        runs.formUnion(found.map(\.run))
        cells.append(Self.cell(found.map(\.figure), shown))
      case .verdict(let alternatives):
        cells.append(try verdict(alternatives, row, results))
      }
    }
    // What comes from one run alone has that run's label.
    let label = runs.count == 1 ? runs.first.flatMap { results.cards[card]?.runs[$0].label } ?? "" : ""
    var labels = row.labels
    if !label.isEmpty { labels[0] += ", \(label)" }
    return labels + cells
  }

  private func hasFigures(_ row: Row, _ results: Results) throws -> Bool {
    try columns.contains { column in
      switch column.content {
      case .figure(let part, _), .figureIfAny(let part, _): try !figures(part, row, results).isEmpty
      case .verdict: false
      }
    }
  }

  private func key(_ part: Part, _ row: Row) -> (key: Figure.Key, unit: String) {
    let part = part.over(row.part)
    func named(_ name: String) -> String { row.names[name] ?? name }
    let key = Figure.Key(
      operation: part.operation ?? "", size: part.size, contender: named(part.contender ?? ""),
      measure: part.measure ?? .time, against: part.against.map(named))
    return (key, part.unit ?? "")
  }

  private func figures(_ part: Part, _ row: Row, _ results: Results) throws -> [(run: Int, figure: Figure)] {
    let (key, unit) = key(part, row)
    return try results.found(key, unit: unit, in: card)
  }

  private static func cell(_ figures: [Figure], _ shown: Shown) -> String {
    figures.map { figure in
      guard let median = figure.median else {
        return "\(figure.lowest?.shown ?? "")–\(figure.highest?.shown ?? "")"
      }
      switch (shown, figure.lowest, figure.highest) {
      case (.spread, let lowest?, let highest?): return "\(median.shown) (\(lowest.shown)–\(highest.shown))"
      case (.worst, _, let highest?): return "\(median.shown) (\(highest.shown))"
      default: return median.shown
      }
    }.joined(separator: "; ")
  }
}

// MARK: - Verdicts

extension PageTable {
  private func verdict(_ alternatives: [[(part: Part, words: String)]], _ row: Row, _ results: Results) throws
    -> String
  {
    var texts: [String] = []
    /// By run, whether one of the alternatives is reached.
    var reached: [Int: Bool] = [:]
    var isRangeOfRuns = false
    for alternative in alternatives {
      var bounds: [String] = []
      var all: [Int: Bool] = [:]
      for (part, words) in alternative {
        for (run, figure) in try figures(part, row, results) {
          guard let required = figure.required else { continue }
          let text = required.text.replacing(required.amount.text, with: required.amount.shown) + words
          if !bounds.contains(text) { bounds.append(text) }
          isRangeOfRuns = isRangeOfRuns || figure.median == nil
          all[run] = all[run, default: true] && figure.meets(required)
        }
      }
      if !bounds.isEmpty { texts.append(bounds.joined(separator: " and ")) }
      reached.merge(all) { $0 || $1 }
    }
    if texts.isEmpty { return "" }
    let count = reached.values.filter { $0 }.count
    return "\(texts.joined(separator: ", or ")): \(Self.words(count, of: reached.count, isRangeOfRuns))"
  }

  /// - Parameter isRangeOfRuns: Whether there is a figure that stands for several runs, of unknown number.
  private static func words(_ reached: Int, of count: Int, _ isRangeOfRuns: Bool) -> String {
    if reached == count { return "reached" }
    if reached == 0 { return "not reached" }
    if isRangeOfRuns { return "not reached everywhere" }
    let numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    func word(_ number: Int) -> String { number < numbers.count ? numbers[number] : "\(number)" }
    return "reached in \(word(reached)) of \(word(count)) runs"
  }
}

extension Figure {
  /// By its median; where that is not known, by all of its range.
  func meets(_ bound: Bound) -> Bool {
    if let median { return bound.isMet(by: median.value) }
    return [lowest, highest].allSatisfy { $0.map { bound.isMet(by: $0.value) } ?? false }
  }
}

extension Amount {
  /// With commas between thousands.
  var shown: String {
    let parts = text.split(separator: ".", maxSplits: 1)
    var whole = ""
    for (index, digit) in parts[0].reversed().enumerated() {
      if index > 0, index % 3 == 0 { whole = "," + whole }
      whole = String(digit) + whole
    }
    return parts.count > 1 ? "\(whole).\(parts[1])" : whole
  }
}
