import Foundation
import Observation
import Strata
import Testing

/// The spellings of the documents, as they stand there: what is compiled here is what they show.
@MainActor @Suite struct SpellingTests {
  @Test func asking() async throws {
    let context = try await Reading().context
    _ = try context.fetch(Book.self)
    _ = try context.fetch(Book.self, where: #Predicate<Book> { $0.pages > 300 }, sortedBy: \.title)
    _ = try context.fetch(
      Book.self, where: Attribute("pages") > 300, sortedBy: .reverse(\.published), limit: 20, offset: 40)
    _ = try context.first(Book.self, where: #Predicate<Book> { $0.author?.name == "Jane Austen" })
    _ = try context.count(Book.self, where: Attribute("title").beginsWith("M"))
    _ = try context.exists(Book.self, where: #Predicate<Book> { $0.tags.contains { $0.name == "novel" } })
    try context.delete(Book.self, where: #Predicate<Book> { $0.pages < 10 })
    let rows = try context.fetch(Book.self, values: \.title, \.pages, sortedBy: .forward(\.title))
    #expect(rows.count == 6)
    let lines = try context.fetch(
      Book.self, values: \.title, \.pages, as: { "\($0), \($1) pages" }, sortedBy: \.title)
    #expect(lines.first == "Café stories, 90 pages")
    let count = try await context.perform { try context.count(Book.self) }
    #expect(count == 6)

    _ = try context.fetch(Book.self, sortedBy: .init(\.published, .reverse))
    _ = try context.fetch(Book.self, sortedBy: [SortDescriptor(\.title)])
    _ = try context.fetch(Book.self, sortedBy: .init([FetchSort("title")]))
    _ = try context.fetch(Book.self, sortedBy: [SortDescriptor(\.title, comparator: .localizedStandard)])
    _ = try context.fetch(
      Book.self, sortedBy: .reverse(\.title, comparator: .localizedStandard), limit: 20, offset: 40)
    let byISBN = FetchSort("isbn", comparator: .caseInsensitive)
    #expect(try context.fetch(Book.self, sortedBy: .init([byISBN])).count == 6)

    func book(withISBN isbn: String) throws -> Book {
      if let book = try context.first(Book.self, where: #Predicate<Book> { $0.isbn == isbn }) { return book }
      let book = Book(context: context)
      book.isbn = isbn
      return book
    }
    let records: [[String: Any]] = [
      ["isbn": "9780141439587", "title": "Emma", "pages": 474],
      ["isbn": "9780141439686", "title": "Persuasion"],
    ]
    let result = try context.upsert(Book.self, by: ["isbn"], records: records)
    print(
      try book(withISBN: "9780141439587").pages, result.objects.count, result.insertedCount,
      result.updatedCount, result.unchangedCount)
    #expect(try book(withISBN: "9780141439587").pages == 474 && result.objects.count == 2)
    try check("Queries.md", "## Asking a context", "## Predicates")
  }

  @Test func requests() async throws {
    let context = try await Reading().context
    var request = FetchRequest<Book>(
      where: #Predicate<Book> { $0.pages > 300 }, sortedBy: [.reverse(\.published), .forward(\.title)])
    #expect(try context.fetch(request).count == 2)
    request.predicate = #Predicate<Book> { $0.pages > 500 }
    #expect(try context.fetch(request).count == 1)
    request.predicate =
      FetchPredicate(#Predicate<Book> { $0.pages > 500 }) && Attribute("title").beginsWith("M")
    request.sortDescriptors = [FetchSort(\Book.title), FetchSort("pages", ascending: false)]
    #expect(try context.fetch(request).count == 1)
    let either =
      FetchPredicate(#Predicate<Book> { $0.pages > 300 }) && Attribute("title").endsWith("h")
    #expect(try context.count(Book.self, where: either) == 1)
  }

  @Test func lists() async throws {
    let container = try await Reading().container
    func show(_ title: String) {}
    let list = try container.liveList(
      Book.self, where: #Predicate<Book> { $0.pages > 300 }, sortedBy: \.title)
    for position in list.indices { show(list[position].title) }
    withObservationTracking {
      _ = list.count
    } onChange: {
      Task { @MainActor in redrawSoon() }
    }
    try list.configure(where: #Predicate<Book> { $0.pages > 500 }, sortedBy: .reverse(\.published))
    #expect(list.count == 1)
    try check("FetchedResults.md", "## A list that observes itself", "## What it follows")
  }

  @Test func members() async throws {
    let context = try await Reading().context
    let book = try #require(try context.first(Book.self, where: Attribute("title") == "Middlemarch"))
    let (tag, chapter, preface, introduction) =
      (Tag(context: context), Chapter(context: context), Chapter(context: context), Chapter(context: context))
    let tags = try context.fetch(Tag.self)
    let offsets = IndexSet([0])
    book.tags.insert(tag)
    book.tags.formUnion(tags)
    book.tags.removeAll { $0.name == nil }
    book.chapters.append(chapter)
    book.chapters.insert(contentsOf: [preface, introduction], at: 0)
    book.chapters.move(fromOffsets: offsets, toOffset: 2)
    book.chapters.sort { $0.heading < $1.heading }
    #expect(book.chapters.count == 6)
    try check("Models.md", "## Members of to-many relationships", nil)
  }

  /// Every line of code in a part of a document is in this file, whatever the line breaks.
  private func check(_ page: String, _ start: String, _ end: String?) throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("Docs/\(page)"), encoding: .utf8)
    let source = Self.squeezed(try String(contentsOfFile: #filePath, encoding: .utf8))
    let first = try #require(text.range(of: start)).upperBound
    let last = try end.map { try #require(text.range(of: $0, range: first..<text.endIndex)).lowerBound }
    let part = text[first..<(last ?? text.endIndex)]
    var lines = 0
    for block in part.matches(of: /(?s)```swift\n(.*?)```/) {
      for line in block.output.1.split(separator: "\n") {
        let code = line.split(separator: "//", maxSplits: 1).first.map { Self.squeezed(String($0)) } ?? ""
        if code.isEmpty { continue }
        lines += 1
        #expect(source.contains(code), "\(page): \(line)")
      }
    }
    #expect(lines > 3)
  }

  private static func squeezed(_ text: String) -> String { text.filter { !$0.isWhitespace } }
}

@MainActor private func redrawSoon() {}
