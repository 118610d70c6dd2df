import Foundation
import Strata
import Testing

/// Orders of texts that no index has.
@MainActor @Suite struct CollationTests {
  nonisolated static let titles = [
    "Chapter 10", "chapter 9", "Chapter 1", "Zoë", "zoo", "Äpfel", "apples", "Apples 2", "Émile", "emile",
    "Ω", "ω and more", "_notes", "10", "9", "",
  ]

  /// What Foundation says of two texts.
  private static func isInOrder(_ left: String, _ right: String, _ comparator: TextCollation) -> Bool {
    let order: ComparisonResult =
      switch comparator {
      case .localizedStandard: left.localizedStandardCompare(right)
      case .localized: left.localizedCompare(right)
      case .caseInsensitive: left.caseInsensitiveCompare(right)
      case .localizedCaseInsensitive: left.localizedCaseInsensitiveCompare(right)
      default: left.utf8.lexicographicallyPrecedes(right.utf8) ? .orderedAscending : .orderedDescending
      }
    return order != .orderedDescending
  }

  private func expectOrder(
    _ titles: [String], _ comparator: TextCollation, reversed: Bool = false, _ count: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let ascending = reversed ? titles.reversed() : titles
    #expect(titles.count == count, sourceLocation: sourceLocation)
    for (left, right) in zip(ascending, ascending.dropFirst()) {
      #expect(
        Self.isInOrder(left, right, comparator), "\(left) before \(right) in \(comparator)",
        sourceLocation: sourceLocation)
    }
  }

  private func stocked() async throws -> PersistentContainer {
    let container = try await Library.open()
    for title in Self.titles { Library.make(title, 1, in: container.viewContext) }
    try container.viewContext.save()
    return container
  }

  nonisolated static let comparators: [TextCollation] = [
    .bytes, .caseInsensitive, .localized, .localizedCaseInsensitive, .localizedStandard,
  ]

  @Test(arguments: comparators) func storedTexts(_ comparator: TextCollation) async throws {
    let context = try await stocked().viewContext
    context.reset()
    let count = Self.titles.count
    for (order, isReversed) in [(SortOrder.forward, false), (.reverse, true)] {
      let byPath = try context.fetch(
        Book.self, sortedBy: .init([FetchSort(\Book.title, order, comparator: comparator)])
      ).map(\.title)
      expectOrder(byPath, comparator, reversed: isReversed, count)
      let byName = FetchRequest<Book>(sortDescriptors: [
        FetchSort("title", ascending: !isReversed, comparator: comparator)
      ])
      #expect(try context.fetch(byName).map(\.title) == byPath)
      let descriptor = SortDescriptor(\Book.title, comparator: comparator, order: order)
      #expect(try context.fetch(Book.self, sortedBy: [descriptor]).map(\.title) == byPath)
      let inMemory = try context.fetch(Book.self).sorted(using: descriptor).map(\.title)
      if comparator != .bytes { expectOrder(inMemory, comparator, reversed: isReversed, count) }
      let values = try context.fetch(
        Book.self, values: \.title, sortedBy: .init(\.title, order, comparator: comparator))
      #expect(values == byPath)
      // Windows are cut from the order that is asked for.
      for (limit, offset) in [(1, 0), (3, 2), (5, 12), (100, 3)] {
        let window = try context.fetch(Book.self, sortedBy: [descriptor], limit: limit, offset: offset)
        #expect(window.map(\.title) == Array(byPath.dropFirst(offset).prefix(limit)))
      }
    }
  }

  @Test func numbersAndCaseAreWhatPeopleExpect() async throws {
    let context = try await stocked().viewContext
    let titles = try context.fetch(
      Book.self,
      where: Attribute("title").contains("hapter"),
      sortedBy: .forward(\.title, comparator: .localizedStandard)
    ).map(\.title)
    #expect(titles == ["Chapter 1", "chapter 9", "Chapter 10"])
    #expect(
      try context.fetch(
        Book.self, where: Attribute("title").contains("hapter"),
        sortedBy: .reverse(\.title, comparator: .localizedStandard)
      ).map(\.title) == titles.reversed())
  }

  @Test func unsavedTextsTakePart() async throws {
    let container = try await stocked()
    let context = container.viewContext
    let child = ManagedObjectContext(.mainQueue, parent: context)
    Library.make("Chapter 2", 1, in: context)
    let zoo = try #require(try context.first(Book.self, where: Attribute("title") == "zoo"))
    zoo.title = "chapter 11"
    Library.make("chapter 3", 1, in: child)
    for (asked, extra) in [(context, 1), (child, 2)] {
      let titles = try asked.fetch(
        Book.self, sortedBy: .forward(\.title, comparator: .localizedStandard)
      ).map(\.title)
      expectOrder(titles, .localizedStandard, Self.titles.count + extra)
      #expect(titles.contains("chapter 11") && !titles.contains("zoo"))
      for (limit, offset) in [(2, 0), (4, 5)] {
        #expect(
          try asked.fetch(
            Book.self, sortedBy: .forward(\.title, comparator: .localizedStandard), limit: limit,
            offset: offset
          ).map(\.title) == Array(titles.dropFirst(offset).prefix(limit)))
      }
    }
  }

  @Test func pagesFollowTheOrder() async throws {
    let context = try await stocked().viewContext
    var request = FetchRequest<Book>()
    request.sortDescriptors = [FetchSort(\Book.title, .reverse, comparator: .localizedStandard)]
    let whole = try context.fetch(request).map(\.title)
    var page = try context.fetchPage(request, size: 3)
    var titles = page.results.map(\.title)
    while !page.results.isEmpty {
      page = try context.fetchPage(request, size: 3, after: page.continuation)
      titles += page.results.map(\.title)
    }
    #expect(titles == whole)
    var other = request
    other.sortDescriptors = [FetchSort(\Book.title, .reverse)]
    let first = try context.fetchPage(request, size: 3)
    #expect(throws: FetchError.self) { try context.fetchPage(other, size: 3, after: first.continuation) }
  }

  @Test func textsOfRelatedObjectsAndNil() async throws {
    let context = try await Reading().context
    for name in ["author 10", "Author 9", nil] {
      let author = Author(context: context)
      author.name = name
      Library.make("by \(name ?? "nobody")", 1, nil, .paper, author, in: context)
    }
    let sort = FetchSort("author.name", comparator: .localizedStandard)
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      let names = try context.fetch(Book.self, sortedBy: .init([sort, FetchSort("title")])).map {
        $0.author?.name
      }
      #expect(names.prefix(3).allSatisfy { $0 == nil })
      #expect(
        names.dropFirst(3).map { $0 ?? "" } == [
          "Author 9", "author 10", "George Eliot", "George Eliot", "Jane Austen", "Jane Austen",
        ])
    }
    let byName = try context.fetch(
      Author.self,
      sortedBy: [
        SortDescriptor(\.name, comparator: .localizedStandard, order: .reverse)
      ])
    #expect(byName.map(\.name) == ["Jane Austen", "George Eliot", "author 10", "Author 9", nil])
    #expect(
      try context.fetch(Author.self).sorted(
        using: SortDescriptor(\Author.name, comparator: .localizedStandard)
      ).map(\.name) == byName.map(\.name).reversed())
  }

  @Test func whatIsNoTextHasNoSuchOrder() async throws {
    let context = try await Reading().context
    let request = FetchRequest<Book>(sortDescriptors: [FetchSort("pages", comparator: .localized)])
    let error = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(
      error?.description.contains("localized order needs a string attribute") == true, "\(error as Any)")
    #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<Book>(sortDescriptors: [FetchSort("author", comparator: .localized)]))
    }
  }

  @Test func anIndexDoesNotStandInForTheOrder() async throws {
    let context = try await Reading().context
    // There is an index of it, since it is unique.
    for (number, isbn) in ["b 10", "B 9", "a", "C"].enumerated() {
      Library.make("\(number)", 1, in: context).isbn = isbn
    }
    try context.save()
    let request = FetchRequest<Book>(
      where: Attribute("isbn") != nil, sortedBy: [SortDescriptor(\.isbn, comparator: .localizedStandard)])
    #expect(try context.fetch(request).map(\.isbn) == ["a", "B 9", "b 10", "C"])
    var window = request
    window.fetchLimit = 2
    #expect(try context.fetch(window).map(\.isbn) == ["a", "B 9"])
    let explanation = try context.explain(window)
    #expect("\(explanation)".contains("isbn in localized standard order"), "\(explanation)")
    var plain = window
    plain.sortDescriptors = [FetchSort("isbn")]
    #expect(try context.fetch(plain).map(\.isbn) == ["B 9", "C"])
  }

  /// The list as it should be: what a fetch finds in the same order.
  private func expectSame(_ list: LiveList<Book>, _ context: ManagedObjectContext, _ order: FetchOrder<Book>)
    throws
  {
    #expect(try list.objects.map(\.title) == context.fetch(Book.self, sortedBy: order).map(\.title))
  }

  @Test(arguments: [SortOrder.forward, .reverse]) func liveListsKeepIt(_ direction: SortOrder) async throws {
    let container = try await stocked()
    let context = container.viewContext
    let order: FetchOrder<Book> = [
      .init(\.title, direction, comparator: .localizedStandard), .forward(\.pages),
    ]
    let list = try container.liveList(Book.self, sortedBy: order)
    expectOrder(
      list.objects.map(\.title), .localizedStandard, reversed: direction == .reverse, Self.titles.count)
    var random = SystemRandomNumberGenerator()
    let words = ["Chapter", "chapter", "Zoë", "ä", "A", "é", "E", "10", ""]
    for step in 0..<200 {
      let books = try context.fetch(Book.self)
      switch step % 4 {
      case 0, 1:
        let word = words.randomElement(using: &random) ?? ""
        Library.make("\(word) \(Int.random(in: 0..<120, using: &random))", Int64(step), in: context)
      case 2: books.randomElement(using: &random)?.title = "chapter \(Int.random(in: 0..<30, using: &random))"
      default: if let book = books.randomElement(using: &random) { context.delete(book) }
      }
      context.processPendingChanges()
      try expectSame(list, context, order)
      if step % 50 == 20 { try context.save() }
      if step % 50 == 45 { context.rollback() }
    }
    #expect(list.error == nil)
  }
}
