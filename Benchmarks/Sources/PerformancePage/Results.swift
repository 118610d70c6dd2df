import Foundation

/// The results of all cards, as a folder of files `<card>.tsv`.
struct Results {
  private(set) var cards: [String: ResultFile] = [:]
  /// Where a card's results are from that are not from the folder.
  private var origins: [String: String] = [:]
  /// Named in errors.
  let folder: String

  init(folder: String) { self.folder = folder }

  /// - Throws: `ResultError` when the folder has no results, or a file cannot be read.
  init(reading directory: URL, folder: String) throws {
    self.folder = folder
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    for name in names.filter({ $0.hasSuffix(".tsv") }).sorted() {
      try add(Self.read(directory.appendingPathComponent(name), card: String(name.dropLast(4)), in: folder))
    }
    if cards.isEmpty { throw ResultError(file: folder, line: nil, "There are no results.") }
  }

  /// - Throws: `ResultError` when there is no such file, or it cannot be read, or has another card's results.
  static func read(_ file: URL, card: String, in folder: String) throws -> ResultFile {
    let name = "\(folder)/\(card).tsv"
    guard let data = try? Data(contentsOf: file) else {
      throw ResultError(file: name, line: nil, "There is no such file, or it may not be read.")
    }
    guard let text = String(data: data, encoding: .utf8) else {
      throw ResultError(file: name, line: nil, "It is no text in UTF-8.")
    }
    let results = try ResultFile(text, file: name)
    guard results.card == card else {
      throw ResultError(file: name, line: nil, "It has the results of the card “\(results.card)”.")
    }
    return results
  }

  /// Takes the place of what there was of the card.
  ///
  /// - Parameter origin: The file they are from, where that is not in the folder.
  mutating func add(_ file: ResultFile, from origin: String? = nil) {
    cards[file.card] = file
    origins[file.card] = origin
  }

  /// The file that errors name.
  func name(of card: String) -> String { origins[card] ?? "\(folder)/\(card).tsv" }

  /// A figure in every run of the card that has it.
  ///
  /// - Throws: `ResultError` when there are no results of the card, or the figure has another unit there.
  func found(_ key: Figure.Key, unit: String, in card: String) throws -> [(run: Int, figure: Figure)] {
    guard let file = cards[card] else {
      throw ResultError(file: name(of: card), line: nil, "There are no results of this card.")
    }
    var found: [(run: Int, figure: Figure)] = []
    for (number, run) in file.runs.enumerated() {
      for figure in run.figures where figure.key == key {
        guard figure.unit == unit else {
          throw ResultError(file: name(of: card), line: nil, "\(key) is in \(figure.unit), not in \(unit).")
        }
        found.append((number, figure))
      }
    }
    return found
  }
}

extension Figure.Key: CustomStringConvertible {
  var description: String {
    let size = size.map { ", \($0)" } ?? ""
    return "“\(operation)”\(size), \(contender), \(measure.rawValue)\(against.map { " against \($0)" } ?? "")"
  }
}
