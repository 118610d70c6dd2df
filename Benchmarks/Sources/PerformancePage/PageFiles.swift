import Foundation

/// The files of a repository that results become.
struct PageFiles {
  let root: URL

  static let results = "Benchmarks/Results"
  static let page = "Docs/Performance.md"
  static let chart = "Docs/performance.svg"

  /// Makes the page and the chart.
  ///
  /// - Parameters:
  ///   - taking: Cards whose results in `measured` take the place of those in the repository.
  ///   - adding: Cards whose results in `measured` are put behind those in the repository.
  /// - Returns: The files that were written, which are those that were to change.
  /// - Throws: `ResultError` when results are missing, cannot be read, are of a debug build, or are to be added and are there already: then nothing has been written. An error of the file system when
  ///   a file cannot be written; the files before it are.
  @discardableResult
  func make(taking: [String] = [], adding: [String] = [], from measured: URL) throws -> [String] {
    var results = try Results(reading: root.appendingPathComponent(Self.results), folder: Self.results)
    var outputs: [(name: String, text: String)] = []
    let cards = taking + adding
    if let twice = cards.first(where: { card in cards.filter { $0 == card }.count > 1 }) {
      throw ResultError(file: "\(twice).tsv", line: nil, "The card is named twice.")
    }
    for card in cards {
      let folder = measured.relativePath
      var file = try Results.read(measured.appendingPathComponent("\(card).tsv"), card: card, in: folder)
      if file.runs.contains(where: { $0.facts[.build] == "debug" }) {
        throw ResultError(
          file: "\(folder)/\(card).tsv", line: nil, "It was measured with a debug build, which says nothing.")
      }
      if adding.contains(card) {
        let known = results.cards[card]?.runs ?? []
        if file.runs.contains(where: known.contains) {
          throw ResultError(
            file: "\(folder)/\(card).tsv", line: nil, "These results are there already.")
        }
        file.runs = known + file.runs
      }
      results.add(file, from: "\(folder)/\(card).tsv")
      outputs.append(("\(Self.results)/\(card).tsv", try file.text()))
    }
    outputs.append((Self.page, try page().filled(with: PageTable.all, from: results).text))
    outputs.append((Self.chart, try Chart(results).svg))
    var written: [String] = []
    for (name, text) in outputs where (try? Data(contentsOf: url(name))) != Data(text.utf8) {
      try Data(text.utf8).write(to: url(name), options: .atomic)
      written.append(name)
    }
    return written
  }

  /// - Throws: `ResultError` when the page or the chart is not what the results make.
  func check() throws {
    let results = try Results(reading: root.appendingPathComponent(Self.results), folder: Self.results)
    let page = try page()
    if let (line, table) = try page.firstDifference(from: page.filled(with: PageTable.all, from: results)) {
      throw ResultError(
        file: Self.page, line: line,
        "The table “\(table)” is not what \(Self.results) makes: run make performance.")
    }
    guard (try? Data(contentsOf: url(Self.chart))) == Data(try Chart(results).svg.utf8) else {
      throw ResultError(
        file: Self.chart, line: nil, "It is not what \(Self.results) makes: run make performance.")
    }
  }

  private func page() throws -> Page {
    guard let data = try? Data(contentsOf: url(Self.page)), let text = String(data: data, encoding: .utf8)
    else {
      throw ResultError(file: Self.page, line: nil, "It is not there, or it is no text in UTF-8.")
    }
    return Page(text, file: Self.page)
  }

  private func url(_ name: String) -> URL { root.appendingPathComponent(name) }
}
