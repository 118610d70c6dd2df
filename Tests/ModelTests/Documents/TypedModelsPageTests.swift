import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("Docs/TypedModels.md")
struct TypedModelsPageTests {
  private static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Text without indentation and ends of lines.
  private func flat(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  private func sources() throws -> String {
    let folder = Self.top.appendingPathComponent("Tests/ModelTests")
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(".swift")
    }
    #expect(files.count > 5)
    return try flat(
      files.sorted().map { try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8) }
        .joined(separator: "\n"))
  }

  private func page() throws -> String {
    try String(contentsOf: Self.top.appendingPathComponent("Docs/TypedModels.md"), encoding: .utf8)
  }

  @Test("Every block of code is part of the sources that are compiled")
  func blocks() throws {
    let sources = try sources()
    let blocks = try page().components(separatedBy: "```swift\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    #expect(blocks.count >= 7)
    for block in blocks where !block.hasPrefix(".product") {
      if !sources.contains(flat(block)) { Issue.record("\(block)") }
    }
  }

  @Test("Every spelling in the tables for people who come from elsewhere is compiled")
  func tables() throws {
    let sources = try sources()
    let guides = try #require(try page().components(separatedBy: "## From SwiftData").last)
    var count = 0
    for line in guides.split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.components(separatedBy: " | ")
      let own = try #require(cells.last)
      for (number, part) in own.components(separatedBy: "`").enumerated() where number % 2 == 1 {
        count += 1
        if !sources.contains(flat(part)) { Issue.record("\(part)") }
      }
    }
    #expect(count > 30)
  }

  @Test("The page's first class with the two that it leads to takes at most 26 lines")
  func shortness() throws {
    let file = Self.top.appendingPathComponent("Tests/ModelTests/Library.swift")
    let source = try String(contentsOf: file, encoding: .utf8)
    let start = try #require(source.range(of: "@Managed final class Book"))
    let end = try #require(source.range(of: "/// The same model written by hand"))
    let lines = source[start.lowerBound..<end.lowerBound].split(separator: "\n")
    #expect(lines.filter { $0.hasPrefix("@Managed") }.count == 3)
    #expect(lines.count <= 26, "\(lines.count)")
  }

  @Test("The library and the account do what the page says")
  func works() async throws {
    let folder = try ScratchFolder()
    let library = try await Spellings.fill(folder.url("library.strata"))
    try await library.performBackgroundTask { context in
      let book = try #require(try context.fetch(FetchRequest<Book>(entityName: "Book")).first)
      #expect(book.title == "Middlemarch" && book.chapters.map(\.heading) == ["Miss Brooke"])
      let copy = try Spellings.copy(book, context)
      #expect(copy.title == "Middlemarch" && copy !== book)
      context.rollback()
    }
    let bank = try await PersistentContainer(for: Account.self, Memo.self, at: .inMemory)
    try await bank.performBackgroundTask { context in
      let account = Account(context: context)
      account.number = "7"
      account.balance += 12.5
      account.owner = Person(context: context)
      #expect(account.owner?.accounts == [account])
      Memo(context: context).text = "remember"
      try context.save()
      context.refreshAllObjects()
      #expect(account.number == "7" && account.balance == 12.5 && account.owner?.name == "")
    }
  }
}
