import Foundation
import Strata
import Testing

/// Predicates through relationships, and what is refused.
@MainActor @Suite struct RelatedPredicateTests {
  private func titles(_ context: ManagedObjectContext, _ predicate: Predicate<Book>) throws -> [String] {
    try context.fetch(Book.self, where: predicate, sortedBy: \.title).map(\.title)
  }

  @Test func throughToOne() async throws {
    let context = try await Reading().context
    #expect(try titles(context, #Predicate { $0.author?.name == "Jane Austen" }) == ["Emma", "Persuasion"])
    #expect(try titles(context, #Predicate { $0.author == nil }) == ["Café stories", "cafe notes"])
    let author = try #require(try context.first(Author.self, where: Attribute("name") == "George Eliot"))
      .objectID
    #expect(
      try titles(context, #Predicate { $0.author?.objectID == author }) == ["Middlemarch", "Silas Marner"])
  }

  @Test func throughToMany() async throws {
    let context = try await Reading().context
    #expect(
      try titles(context, #Predicate { $0.tags.contains { $0.name == "village" } }) == [
        "Emma", "Middlemarch",
      ])
    #expect(try titles(context, #Predicate { $0.chapters.contains { $0.length > 20 } }) == ["Middlemarch"])
    #expect(try titles(context, #Predicate { $0.tags.isEmpty }).count == 3)
    #expect(try titles(context, #Predicate { $0.chapters.count == 3 }) == ["Middlemarch"])
    #expect(
      try titles(context, #Predicate { $0.tags.allSatisfy { $0.name == "novel" } && !$0.tags.isEmpty }) == [
        "Persuasion"
      ])
    let names: Set<String> = ["village", "nothing"]
    #expect(
      try titles(context, #Predicate { $0.tags.contains { names.contains($0.name ?? "") } }) == [
        "Emma", "Middlemarch",
      ])
    #expect(
      try context.fetch(Author.self, where: #Predicate { $0.books.contains { $0.pages > 800 } }).map(\.name)
        == [
          "George Eliot"
        ])
  }

  @Test func collectionsOfConstants() async throws {
    let context = try await Reading().context
    let wanted = ["Emma", "Persuasion", "Nothing"]
    #expect(try titles(context, #Predicate { wanted.contains($0.title) }) == ["Emma", "Persuasion"])
    #expect(
      try titles(context, #Predicate { (200...300).contains($0.pages) }) == ["Persuasion", "Silas Marner"])
    let (first, last) = (Library.date(1815), Library.date(1817))
    #expect(
      try titles(
        context, #Predicate { if let day = $0.published { (first...last).contains(day) } else { false } })
        == [
          "Emma", "Persuasion",
        ])
  }

  @Test func whatCannotBeTranslatedIsNamed() async throws {
    let context = try await Reading().context
    func refusal(_ predicate: Predicate<Book>) -> String {
      do {
        _ = try context.fetch(Book.self, where: predicate)
        return ""
      } catch { return "\(error)" }
    }
    #expect(refusal(#Predicate { $0.chapters[0].heading == "x" }).contains("CollectionIndexSubscript"))
    let day = 3.0
    #expect(refusal(#Predicate { $0.published!.timeIntervalSinceReferenceDate > day }).contains("Date"))
  }

  @Test func aPredicateOfAKindIsKeptInAList() async throws {
    let context = try await Reading().context
    let predicates: [FetchPredicate] = [
      FetchPredicate(#Predicate<Book> { $0.pages > 100 }), Attribute("title").contains("m"),
    ]
    #expect(try context.count(Book.self, where: .and(predicates)) == 2)
    #expect(try context.count(Book.self, where: .or(predicates)) == 4)
    #expect("\(predicates[0])" == "#Predicate<Book>")
    #expect(predicates[0] == predicates[0])
    #expect(FetchPredicate(#Predicate<Book> { $0.pages > 100 }) != predicates[0])
  }
}
