import Foundation
import Strata
import Testing

/// Requests in one line, in every spelling of the documents.
@MainActor @Suite struct OneLineRequestTests {
  @Test func aClassAloneFetchesAll() async throws {
    let context = try await Reading().context
    #expect(try context.fetch(Book.self).count == 6)
    #expect(try context.count(Book.self) == 6)
    #expect(try context.exists(Book.self))
    #expect(try context.first(Book.self) != nil)
  }

  @Test func conditionsAreTreesOrFoundations() async throws {
    let context = try await Reading().context
    let tree = try context.fetch(Book.self, where: Attribute("pages") > 300, sortedBy: \.title)
    let foundation = try context.fetch(
      Book.self, where: #Predicate<Book> { $0.pages > 300 }, sortedBy: \.title)
    let inferred = try context.fetch(
      Book.self, where: #Predicate { $0.pages > 300 && $0.title != "x" }, sortedBy: .init(\.title, .forward),
      limit: 20)
    #expect(tree.map(\.title) == ["Emma", "Middlemarch"])
    #expect(foundation == tree)
    #expect(inferred == tree)
    #expect(try context.fetch(Book.self, where: nil).count == 6)
    #expect(try context.fetch(Book.self, where: .nothing).isEmpty)
    #expect(try context.fetch(Book.self, where: FetchPredicate(format: "pages > %d", 300)).count == 2)
  }

  @Test func aConditionMayBeThereOrNot() async throws {
    let context = try await Reading().context
    for (text, count) in [("", 6), ("Emma", 1)] {
      let predicate: Predicate<Book>? = text.isEmpty ? nil : #Predicate { $0.title == text }
      #expect(try context.fetch(Book.self, where: predicate).count == count)
      #expect(try context.count(Book.self, where: predicate) == count)
      let tree = text.isEmpty ? nil : Attribute("title") == text
      #expect(try context.fetch(Book.self, where: tree).count == count)
      #expect(try context.exists(Book.self, where: tree))
    }
  }

  @Test func ordersOfEverySpelling() async throws {
    let context = try await Reading().context
    let byTitle = ["Café stories", "Emma", "Middlemarch", "Persuasion", "Silas Marner", "cafe notes"]
    func titles(_ books: [Book]) -> [String] { books.map(\.title) }
    #expect(try titles(context.fetch(Book.self, sortedBy: \.title)) == byTitle)
    #expect(try titles(context.fetch(Book.self, sortedBy: \Book.title)) == byTitle)
    #expect(try titles(context.fetch(Book.self, sortedBy: .forward(\.title))) == byTitle)
    #expect(try titles(context.fetch(Book.self, sortedBy: .reverse(\.title))) == byTitle.reversed())
    #expect(try titles(context.fetch(Book.self, sortedBy: .init(\.title, .reverse))) == byTitle.reversed())
    #expect(try titles(context.fetch(Book.self, sortedBy: [SortDescriptor(\.title)])) == byTitle)
    #expect(
      try titles(context.fetch(Book.self, sortedBy: [SortDescriptor(\Book.title, order: .reverse)]))
        == byTitle.reversed())
    #expect(
      try titles(context.fetch(Book.self, sortedBy: .init([FetchSort("title", ascending: false)])))
        == byTitle.reversed())
    let formats = try context.fetch(Book.self, sortedBy: [.forward(\.format), .reverse(\.pages)])
    #expect(formats.map(\.pages) == [249, 12, 260, 880, 474, 90])
    #expect(
      try context.fetch(
        Book.self, sortedBy: [SortDescriptor(\.isbn), SortDescriptor(\.pages, order: .reverse)]
      )
      .map(\.pages) == [880, 474, 260, 249, 90, 12])
    #expect(try context.fetch(Book.self, sortedBy: \.isBorrowed).count == 6)
    let stored: [SortDescriptor<Book>] = [SortDescriptor(\.pages)]
    #expect(try context.first(Book.self, where: #Predicate { $0.pages > 12 }, sortedBy: stored)?.pages == 90)
  }

  @Test func nilComesFirstForwardAndLastInReverse() async throws {
    let context = try await Reading().context
    #expect(try context.first(Book.self, sortedBy: \.published)?.published == nil)
    #expect(try context.fetch(Book.self, sortedBy: .reverse(\.published)).last?.published == nil)
    #expect(try context.first(Book.self, sortedBy: .reverse(\.published))?.title == "cafe notes")
  }

  @Test func orderThroughARelationship() async throws {
    let context = try await Reading().context
    let books = try context.fetch(
      Book.self, where: #Predicate<Book> { $0.author != nil },
      sortedBy: [.forward(\.author?.name), .forward(\.title)])
    #expect(books.map(\.title) == ["Middlemarch", "Silas Marner", "Emma", "Persuasion"])
  }

  @Test func windows() async throws {
    let context = try await Reading().context
    #expect(try context.fetch(Book.self, sortedBy: \.pages, limit: 2, offset: 1).map(\.pages) == [90, 249])
    #expect(try context.fetch(Book.self, limit: 0).isEmpty)
    #expect(try context.fetch(Book.self, sortedBy: \.pages, offset: 4).map(\.pages) == [474, 880])
    #expect(throws: FetchError.self) { try context.fetch(Book.self, limit: -1) }
    #expect(throws: FetchError.self) {
      try context.fetch(Book.self, where: Attribute("nothing") == 1, limit: 0)
    }
  }

  @Test func unsavedObjectsTakePart() async throws {
    let context = try await Reading().context
    Library.make("Unsaved", 1, in: context)
    #expect(try context.count(Book.self, where: #Predicate<Book> { $0.title == "Unsaved" }) == 1)
    #expect(try context.exists(Book.self, where: Attribute("title") == "Unsaved"))
    #expect(try context.first(Book.self, sortedBy: \.pages)?.title == "Unsaved")
    context.rollback()
    #expect(try !context.exists(Book.self, where: Attribute("title") == "Unsaved"))
  }

  @Test func aQuestionWhetherThereIsOneMakesNoObjects() async throws {
    let reading = try await Reading()
    let context = reading.container.newBackgroundContext()
    let made = try await context.perform {
      let before = context.statistics.objectsMade
      _ = try context.exists(Book.self, where: #Predicate<Book> { $0.pages > 100 })
      _ = try context.count(Book.self, where: #Predicate<Book> { $0.pages > 100 })
      return context.statistics.objectsMade - before
    }
    #expect(made == 0)
  }

  @Test func requestsInPerform() async throws {
    let reading = try await Reading()
    let context = reading.container.newBackgroundContext()
    let wanted = "Emma"
    let titles = try await context.perform {
      try context.fetch(
        Book.self, where: #Predicate<Book> { $0.title == wanted || $0.pages > 500 },
        sortedBy: .reverse(\.pages)
      ).map(\.title)
    }
    #expect(titles == ["Middlemarch", "Emma"])
    let count = try await context.perform { try context.count(Book.self) }
    #expect(count == 6)
  }

  @Test func deletingFollowsDeleteRulesAndIsUndone() async throws {
    let reading = try await Reading()
    let context = reading.context
    context.undoManager = UndoManager()
    let deleted = try context.delete(Book.self, where: #Predicate<Book> { $0.pages > 800 })
    #expect(deleted == 1)
    context.processPendingChanges()
    #expect(try context.count(Book.self) == 5)
    #expect(try context.count(Chapter.self) == 0, "chapters go with their book")
    context.undo()
    #expect(try context.count(Book.self) == 6)
    #expect(try context.count(Chapter.self) == 3)
    #expect(try context.delete(Book.self, where: Attribute("pages") < 100) == 2)
    try context.save()
    let fresh = reading.container.newBackgroundContext()
    #expect(try await fresh.perform { try fresh.count(Book.self) } == 4)
    try context.delete(Book.self, where: .everything)
    #expect(try context.count(Book.self) == 0)
  }

  @Test func aWrongConditionDeletesNothing() async throws {
    let context = try await Reading().context
    #expect(throws: FetchError.self) { try context.delete(Book.self, where: Attribute("nothing") == 1) }
    #expect(throws: PredicateTranslationError.self) {
      try context.delete(Book.self, where: #Predicate<Book> { $0.isLong })
    }
    #expect(!context.hasChanges)
  }

  @Test func whatIsNoStoredPropertyIsNamed() async throws {
    let context = try await Reading().context
    let error = #expect(throws: PredicateTranslationError.self) {
      try context.fetch(Book.self, sortedBy: \.label)
    }
    #expect(error?.description.contains("title, pages") == true, "\(error?.description ?? "")")
    let computed = #expect(throws: PredicateTranslationError.self) {
      try context.fetch(Book.self, sortedBy: \.isLong)
    }
    #expect(
      computed?.description.contains("computes something of pages") == true, "\(computed?.description ?? "")")
    #expect(
      try context.fetch(Book.self, sortedBy: [SortDescriptor(\.title, comparator: .lexical)]).count == 6)
  }
}
