import Foundation
import Strata
import Testing

/// Texts in predicates, regardless of case and marks.
@MainActor @Suite struct TextPredicateTests {
  private func titles(_ context: ManagedObjectContext, _ predicate: Predicate<Book>) throws -> [String] {
    try context.fetch(Book.self, where: predicate, sortedBy: \.title).map(\.title)
  }

  @Test func containsRegardlessOfCaseAndMarks() async throws {
    let context = try await Reading().context
    let text = "CAFE"
    #expect(
      try titles(context, #Predicate { $0.title.localizedStandardContains(text) }) == [
        "Café stories", "cafe notes",
      ])
    #expect(try titles(context, #Predicate { !$0.title.localizedStandardContains("ÀR") }).count == 4)
    #expect(
      try titles(context, #Predicate { $0.author?.name?.localizedStandardContains("AUSTEN") == true }) == [
        "Emma", "Persuasion",
      ])
    #expect(
      try titles(
        context, #Predicate { $0.chapters.contains { $0.heading.localizedStandardContains("waiting") } })
        == ["Middlemarch"])
    #expect(
      try context.count(Book.self, where: FetchPredicate(format: "title CONTAINS[cd] %@", "CAFE")) == 2)
  }

  @Test func comparesRegardlessOfCase() async throws {
    let context = try await Reading().context
    let same = ComparisonResult.orderedSame
    let before = ComparisonResult.orderedAscending
    let after = ComparisonResult.orderedDescending
    #expect(try titles(context, #Predicate { $0.title.caseInsensitiveCompare("EMMA") == same }) == ["Emma"])
    #expect(try titles(context, #Predicate { $0.title.caseInsensitiveCompare("EMMA") != same }).count == 5)
    #expect(
      try titles(context, #Predicate { $0.title.caseInsensitiveCompare("D") == before }) == [
        "Café stories", "cafe notes",
      ])
    #expect(
      try titles(context, #Predicate { $0.title.caseInsensitiveCompare("n") == after }) == [
        "Persuasion", "Silas Marner",
      ])
  }

  @Test func foundationAgrees() async throws {
    let context = try await Reading().context
    let same = ComparisonResult.orderedSame
    let predicates: [Predicate<Book>] = [
      #Predicate { $0.title.localizedStandardContains("MA") },
      #Predicate { $0.title.localizedStandardContains("zz") },
      #Predicate { $0.title.caseInsensitiveCompare("cafe NOTES") == same },
    ]
    for predicate in predicates {
      let expected = try context.fetch(Book.self).filter { try predicate.evaluate($0) }
      #expect(Set(try context.fetch(Book.self, where: predicate)) == Set(expected), "\(predicate)")
    }
  }

  @Test func aComparisonThatIsNotComparedIsNamed() async throws {
    let context = try await Reading().context
    let order: [ComparisonResult] = [.orderedSame, .orderedAscending]
    let error = #expect(throws: PredicateTranslationError.self) {
      try context.count(Book.self, where: #Predicate { order.contains($0.title.caseInsensitiveCompare("x")) })
    }
    #expect(
      error?.description.contains("StringCaseInsensitiveCompare") == true, "\(error?.description ?? "")")
  }

  @Test func ordinaryTexts() async throws {
    let context = try await Reading().context
    #expect(try titles(context, #Predicate { $0.title.contains("mm") }) == ["Emma"])
    #expect(try titles(context, #Predicate { $0.title.starts(with: "cafe") }) == ["cafe notes"])
  }
}
