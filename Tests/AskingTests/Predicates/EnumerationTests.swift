import Foundation
import Strata
import Testing

/// Attributes that a class hands out as enumerations, in predicates and sort keys.
@MainActor @Suite struct EnumerationTests {
  @Test func aCaseIsComparedByItsRawValue() async throws {
    let context = try await Reading().context
    let paper = Format.paper
    func titles(_ predicate: Predicate<Book>) throws -> [String] {
      try context.fetch(Book.self, where: predicate, sortedBy: \.title).map(\.title)
    }
    #expect(try titles(#Predicate { $0.format == paper }) == ["Café stories", "Emma", "Middlemarch"])
    #expect(try titles(#Predicate { $0.format != paper }).count == 3)
    #expect(try titles(#Predicate { $0.format.rawValue == "audio" }) == ["Persuasion", "cafe notes"])
    let spoken: [Format] = [.audio, .braille]
    #expect(try titles(#Predicate { spoken.contains($0.format) }).count == 3)
    let tree = try FetchPredicate(
      #Predicate<Book> { $0.format == paper }, model: context.persistentStoreCoordinator!.managedObjectModel)
    #expect("\(tree)" == "format == \"paper\"")
  }

  @Test func anOptionalAndAStructure() async throws {
    let context = try await Reading().context
    let emma = try #require(try context.first(Book.self, where: Attribute("title") == "Emma"))
    emma.language = .english
    let english: Language? = .english
    #expect(try context.count(Book.self, where: #Predicate { $0.language == english }) == 1)
    #expect(try context.count(Book.self, where: #Predicate { $0.language == nil }) == 5)
    #expect(try context.count(Book.self, where: #Predicate { $0.language?.rawValue == "en" }) == 1)
    #expect(try context.first(Book.self, sortedBy: .reverse(\.language))?.title == "Emma")
  }

  @Test func casesThatNobodyListsAreRefusedWithAdvice() async throws {
    let context = try await Reading().context
    let upper: Shelf? = .upper
    let error = #expect(throws: PredicateTranslationError.self) {
      try context.count(Book.self, where: #Predicate { $0.shelf == upper })
    }
    #expect(error?.description.contains("CaseIterable") == true, "\(error?.description ?? "")")
    #expect(error?.description.contains("Shelf") == true)
    #expect(try context.count(Book.self, where: Attribute("shelf") == Shelf.upper.rawValue) == 0)
  }

  @Test func whatIsComputedIsNoStoredValue() async throws {
    let context = try await Reading().context
    let error = #expect(throws: PredicateTranslationError.self) {
      try context.count(Book.self, where: #Predicate { $0.isLong })
    }
    #expect(error?.description.contains("computes something of pages") == true)
    #expect(throws: PredicateTranslationError.self) {
      try context.count(Book.self, where: #Predicate { $0.label == "Emma, 474" })
    }
  }

  @Test func sortingByCasesIsByRawValues() async throws {
    let context = try await Reading().context
    let books = try context.fetch(Book.self, sortedBy: [.forward(\.format), .forward(\.pages)])
    #expect(books.map(\.format) == [.audio, .audio, .braille, .paper, .paper, .paper])
    #expect(try context.fetch(FetchRequest<Book>(sortDescriptors: [FetchSort(\Book.format)])).count == 6)
  }
}
