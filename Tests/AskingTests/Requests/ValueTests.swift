import Foundation
import Strata
import Testing

/// Values of objects without the objects.
@MainActor @Suite struct ValueTests {
  @Test func tuplesOfValues() async throws {
    let reading = try await Reading()
    let context = reading.container.newBackgroundContext()
    let (rows, made) = try await context.perform {
      let before = context.statistics.objectsMade
      let rows = try context.fetch(Book.self, values: \.title, \.pages, sortedBy: .reverse(\.pages), limit: 2)
      return (rows.map { "\($0.0) \($0.1)" }, context.statistics.objectsMade - before)
    }
    #expect(rows == ["Middlemarch 880", "Emma 474"])
    #expect(made == 0)
    #expect(await context.perform { context.registeredObjects.isEmpty })
  }

  @Test func oneValueIsNoTuple() async throws {
    let context = try await Reading().context
    let titles: [String] = try context.fetch(
      Book.self, values: \.title, where: #Predicate { $0.pages > 300 }, sortedBy: .forward(\.title))
    #expect(titles == ["Emma", "Middlemarch"])
    let names: [String?] = try context.fetch(Author.self, values: \.name, sortedBy: .forward(\.name))
    #expect(names == ["George Eliot", "Jane Austen"])
  }

  @Test func accessorsSayWhatValuesAre() async throws {
    let context = try await Reading().context
    let rows = try context.fetch(
      Book.self, values: \.title, \.format, \.published, \.isBorrowed, \.isbn,
      where: Attribute("pages") < 100,
      sortedBy: .forward(\.pages))
    #expect(rows.count == 2)
    #expect(rows[0].0 == "cafe notes" && rows[0].1 == .audio && rows[0].2 == Library.date(2020))
    #expect(rows[1].0 == "Café stories" && rows[1].1 == .paper && rows[1].2 == nil)
    #expect(rows.allSatisfy { $0.3 == false && $0.4 == nil })
  }

  @Test func valuesBehindRelationships() async throws {
    let context = try await Reading().context
    let rows = try context.fetch(
      Book.self, values: \.title, \.author?.name, \.author?.objectID, \.objectID, sortedBy: .forward(\.title))
    #expect(rows.map(\.1) == [nil, "Jane Austen", "George Eliot", "Jane Austen", "George Eliot", nil])
    #expect(rows[0].2 == nil)
    let austen = try #require(try context.first(Author.self, where: Attribute("name") == "Jane Austen"))
    #expect(rows[1].2 == austen.objectID)
    let emma = try #require(try context.first(Book.self, where: Attribute("title") == "Emma"))
    #expect(rows[1].3 == emma.objectID)
  }

  @Test func equalTuplesOnce() async throws {
    let context = try await Reading().context
    let formats = try context.fetch(Book.self, values: \.format, sortedBy: .forward(\.format), distinct: true)
    #expect(formats == [.audio, .braille, .paper])
    let authors = try context.fetch(
      Book.self, values: \.author?.name, \.format, sortedBy: .forward(\.title), distinct: true)
    #expect(authors.count == 6)
    let austen = try #require(try context.first(Author.self, where: Attribute("name") == "Jane Austen"))
    try #require(try context.first(Author.self, where: Attribute("name") == "George Eliot")).name =
      austen.name
    try context.save()
    let names = try context.fetch(
      Book.self, values: \.author?.name, sortedBy: .forward(\.title), distinct: true)
    #expect(names == [nil, "Jane Austen"])
    let second: [String?] = try context.fetch(
      Book.self, values: \.author?.name, sortedBy: .forward(\.title), limit: 1, offset: 1, distinct: true)
    #expect(second == ["Jane Austen"])
    #expect(try context.fetch(Book.self, values: \.format, limit: 0).isEmpty)
    let pages = try context.fetch(
      Book.self, values: \.pages, sortedBy: .forward(\.pages), limit: 2, offset: 1)
    #expect(pages == [90, 249])
  }

  @Test func ordersOfEverySpelling() async throws {
    let context = try await Reading().context
    let titles = ["Emma", "Middlemarch"]
    #expect(
      try context.fetch(Book.self, values: \.title, where: Attribute("pages") > 300, sortedBy: \.title)
        == titles)
    #expect(
      try context.fetch(Book.self, values: \.title, where: #Predicate { $0.pages > 300 }, sortedBy: \.title)
        == titles)
    #expect(
      try context.fetch(
        Book.self, values: \.title, where: Attribute("pages") > 300, sortedBy: [SortDescriptor(\.pages)])
        == titles)
    #expect(
      try context.fetch(
        Book.self, values: \.title, where: #Predicate { $0.pages > 300 },
        sortedBy: [SortDescriptor(\.pages, order: .reverse)]) == titles.reversed())
    let pages: [Int64] = try context.fetch(Book.self, values: \.pages, sortedBy: \.pages, limit: 2)
    #expect(pages == [12, 90])
  }

  /// As long as one value was a tuple of one, the compiler refused most of these.
  @Test func moreIsAskedOfSingleValuesAtOnce() async throws {
    let context = try await Reading().context
    let sorted = try context.fetch(Book.self, values: \.title).sorted()
    #expect(sorted.count == 6 && sorted.first == "Café stories")
    let formats = Set(try context.fetch(Book.self, values: \.format))
    #expect(formats == [.audio, .braille, .paper])
    let longest = try context.fetch(Book.self, values: \.pages, where: Attribute("pages") < 880).max()
    #expect(longest == 474)
    let last = try context.fetch(Book.self, values: \.title, sortedBy: [SortDescriptor(\.pages)]).last
    #expect(last == "Middlemarch")
    let joined = try context.fetch(
      Book.self, values: \.title, where: #Predicate<Book> { $0.pages > 300 }, sortedBy: \.title
    ).joined(separator: ", ")
    #expect(joined == "Emma, Middlemarch")
    let byTitle = Dictionary(uniqueKeysWithValues: try context.fetch(Book.self, values: \.title, \.pages))
    #expect(byTitle["Emma"] == 474)
  }

  @Test func unsavedChangesTakeNoPart() async throws {
    let context = try await Reading().context
    Library.make("Unsaved", 1, in: context)
    #expect(try context.fetch(Book.self, values: \.title).count == 6)
    try context.save()
    #expect(try context.fetch(Book.self, values: \.title).count == 7)
  }

  @Test func whatIsNoValueIsRefused() async throws {
    let context = try await Reading().context
    let error = #expect(throws: PredicateTranslationError.self) {
      try context.fetch(Book.self, values: \.author)
    }
    #expect(error?.description.contains("objectID") == true, "\(error?.description ?? "")")
    #expect(throws: PredicateTranslationError.self) {
      try context.fetch(Book.self, values: \.title, \.isLong)
    }
    #expect(throws: PredicateTranslationError.self) { try context.fetch(Book.self, values: \.chapters) }
    let sort = #expect(throws: PredicateTranslationError.self) {
      try context.fetch(Book.self, values: \.title, sortedBy: .forward(\.isLong))
    }
    #expect(error?.place == .value && error?.description.hasPrefix("Fetched value: ") == true)
    #expect(sort?.place == .sortKey && sort?.description.hasPrefix("Sort key: ") == true)
  }
}
