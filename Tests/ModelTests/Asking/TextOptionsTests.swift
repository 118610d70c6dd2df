import Foundation
import StrataModels
import Testing

@Suite("Texts in conditions in code, with and without case and marks")
struct TextOptionsTests {
  private static let cases: [(FetchPredicate, String)] = [
    (Attribute("title").contains("emile"), "title CONTAINS 'emile'"),
    (Attribute("title").contains("emile", options: .caseInsensitive), "title CONTAINS[c] 'emile'"),
    (
      Attribute("title").contains("emile", options: [.caseInsensitive, .diacriticInsensitive]),
      "title CONTAINS[cd] 'emile'"
    ),
    (Attribute("title").beginsWith("em", options: .caseInsensitive), "title BEGINSWITH[c] 'em'"),
    (Attribute("title").endsWith("LE", options: .caseInsensitive), "title ENDSWITH[c] 'LE'"),
    (Attribute("title").like("?mi*"), "title LIKE '?mi*'"),
    (
      Attribute("title").like("E?I*", options: [.caseInsensitive, .diacriticInsensitive]),
      "title LIKE[cd] 'E?I*'"
    ),
    (Attribute("title").matches("[A-ZÉ].*"), "title MATCHES '[A-ZÉ].*'"),
    (Attribute("title").matches("e.*", options: .caseInsensitive), "title MATCHES[c] 'e.*'"),
    (
      Attribute("title").equals("EMILE", options: [.caseInsensitive, .diacriticInsensitive]),
      "title ==[cd] 'EMILE'"
    ),
    (!Attribute("title").equals("emma", options: .caseInsensitive), "NOT title ==[c] 'emma'"),
    (
      Attribute("title").isIn(["emile", "EMMA"], options: [.caseInsensitive, .diacriticInsensitive]),
      "title IN[cd] {'emile', 'EMMA'}"
    ),
    (
      Attribute("author.name").contains("AUSTEN", options: .caseInsensitive),
      "author.name CONTAINS[c] 'AUSTEN'"
    ),
  ]

  @Test("Each is the tree that its format string is")
  func trees() throws {
    for (predicate, format) in Self.cases {
      #expect(try predicate == FetchPredicate(format: format), "\(format)")
    }
  }

  @Test("They find what they say")
  func answers() async throws {
    let container = try await PersistentContainer(for: Book.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      for (isbn, title) in ["Émile", "emile", "Emma", "EMMA", "Persuasion"].enumerated() {
        let book = Book(context: context)
        (book.isbn, book.title) = ("\(isbn)", title)
        book.author = Author(context: context)
        book.author?.name = isbn == 2 ? "Jane Austen" : "other"
      }
      try context.save()
      let expected = ["1", "1", "01", "123", "01", "01", "01", "0234", "123", "01", "014", "0123", "2"]
      for ((predicate, format), found) in zip(Self.cases, expected) {
        #expect(
          try context.fetch(Book.self, values: \.isbn, where: predicate, sortedBy: \.isbn).joined() == found,
          "\(format)")
      }
    }
  }

  @Test("An expression that cannot be read fails the request")
  func unreadable() async throws {
    let container = try await PersistentContainer(for: Book.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      _ = #expect(throws: TextMatchError.self) {
        try context.count(Book.self, where: Attribute("title").matches("("))
      }
    }
  }
}

@Suite("A #Predicate that may be nil")
struct OptionalPredicateTests {
  private func library() async throws -> PersistentContainer {
    let container = try await PersistentContainer(for: Book.self, at: .inMemory)
    try await container.background { context in
      for (isbn, format) in Format.allCases.enumerated() {
        let book = Book(context: context)
        (book.isbn, book.format) = ("\(isbn)", format)
      }
    }
    return container
  }

  @Test("Requests of every kind take one; nil stands for all objects")
  func requests() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let order = [SortDescriptor(\Book.isbn)]
      for (condition, found) in [
        (#Predicate<Book> { $0.format == .audio } as ManagedPredicate<Book>?, "1"), (nil, "012"),
      ] {
        let fetched = [
          try context.fetch(Book.self, where: condition, sortedBy: \.isbn),
          try context.fetch(Book.self, where: condition, sortedBy: .forward(\.isbn)),
          try context.fetch(Book.self, where: condition, sortedBy: order),
          try context.fetch(FetchRequest(where: condition, sortedBy: \.isbn)),
          try context.fetch(FetchRequest(where: condition, sortedBy: .forward(\.isbn))),
          try context.fetch(FetchRequest(where: condition, sortedBy: order)),
        ]
        for (place, books) in fetched.enumerated() {
          #expect(books.map(\.isbn).joined() == found, "\(place)")
        }
        let values = [
          try context.fetch(Book.self, values: \.isbn, where: condition, sortedBy: \.isbn),
          try context.fetch(Book.self, values: \.isbn, where: condition, sortedBy: .forward(\.isbn)),
          try context.fetch(Book.self, values: \.isbn, where: condition, sortedBy: order),
        ]
        for (place, isbn) in values.enumerated() { #expect(isbn.joined() == found, "\(place)") }
        let first = [
          try context.first(Book.self, where: condition, sortedBy: \.isbn),
          try context.first(Book.self, where: condition, sortedBy: .forward(\.isbn)),
          try context.first(Book.self, where: condition, sortedBy: order),
        ]
        #expect(first.map(\.?.isbn) == Array(repeating: String(found.prefix(1)), count: 3))
        #expect(try context.count(Book.self, where: condition) == found.count)
        #expect(try context.exists(Book.self, where: condition))
      }
      let plain = try context.fetch(Book.self, where: nil, sortedBy: \.isbn)
      #expect(try plain.count == 3 && context.count(Book.self, where: nil) == 3)
    }
  }

  @MainActor @Test("Live lists take one")
  func liveLists() async throws {
    let container = try await library()
    var condition: ManagedPredicate<Book>? = #Predicate { $0.format != .paper }
    let list = try container.liveList(Book.self, where: condition, sortedBy: \.isbn)
    #expect(list.objects.map(\.isbn) == ["1", "2"])
    condition = nil
    try list.configure(where: condition, sortedBy: [SortDescriptor(\.isbn, order: .reverse)])
    #expect(list.objects.map(\.isbn) == ["2", "1", "0"])
    condition = #Predicate { $0.format == .paper }
    try list.configure(where: condition, sortedBy: .forward(\.isbn))
    #expect(list.objects.map(\.isbn) == ["0"])
    try list.configure(where: condition, sortedBy: \.isbn)
    #expect(try container.liveList(Book.self, where: condition).count == 1)
    #expect(
      try container.liveList(Book.self, where: condition, sortedBy: [SortDescriptor(\.isbn)]).count == 1)
  }
}
