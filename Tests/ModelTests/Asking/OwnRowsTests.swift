import Foundation
import StrataModels
import Testing

/// What a program wants of each book.
private struct Row: Hashable {
  let title: String
  var published: Date?
}

private struct Unfit: Error {}

@Suite("Chosen values as a type of one's own")
struct OwnRowsTests {
  private func library() async throws -> PersistentContainer {
    let container = try await PersistentContainer(for: Book.self, at: .inMemory)
    try await container.background { context in
      for number in 0..<4 {
        let book = Book(context: context)
        (book.isbn, book.title) = ("\(number)", "title \(3 - number)")
        book.format = number == 0 ? .audio : .paper
        if number > 1 { book.published = Date(timeIntervalSinceReferenceDate: Double(number)) }
      }
    }
    return container
  }

  @Test("An initialiser, a closure and a single value's function take them, and no object is made")
  func functions() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let rows = try context.fetch(Book.self, values: \.title, \.published, as: Row.init, sortedBy: \.isbn)
      #expect(rows.map(\.title) == ["title 3", "title 2", "title 1", "title 0"])
      #expect(
        rows[0].published == nil
          && rows[3] == Row(title: "title 0", published: Date(timeIntervalSinceReferenceDate: 3)))
      let lengths = try context.fetch(Book.self, values: \.title, as: \.count, sortedBy: \.isbn)
      #expect(lengths == [7, 7, 7, 7])
      let joined = try context.fetch(
        Book.self, values: \.isbn, \.format, \.title, as: { "\($0) \($1) \($2)" }, sortedBy: .reverse(\.isbn),
        limit: 1,
        offset: 3)
      #expect(joined == ["0 audio title 3"])
      let formats = try context.fetch(
        Book.self, values: \.format, as: { "\($0)" }, sortedBy: \.format, distinct: true)
      #expect(formats == ["audio", "paper"])
      #expect(context.registeredObjects.isEmpty && context.statistics.objectsMade == 0)
      #expect(try context.fetch(Book.self, values: \.title, \.published, as: Row.init, limit: 0) == [])
    }
  }

  @Test("Conditions and orders of every spelling are taken")
  func spellings() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let wanted = try context.fetch(Book.self, where: Attribute("format") == "paper", sortedBy: \.isbn).map {
        Row(title: $0.title, published: $0.published)
      }
      let plain: Predicate<Book> = #Predicate { $0.format == .paper }
      let cases: ManagedPredicate<Book>? = #Predicate { $0.format == .paper }
      let order = [SortDescriptor(\Book.isbn)]
      var found: [[Row]] = []
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: #Predicate { $0.format == .paper },
          sortedBy: \.isbn))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: #Predicate { $0.format == .paper },
          sortedBy: .forward(\.isbn)))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: #Predicate { $0.format == .paper },
          sortedBy: order))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: plain, sortedBy: \.isbn))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: plain, sortedBy: .forward(\.isbn)))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: plain, sortedBy: order))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: cases, sortedBy: \.isbn))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: cases, sortedBy: .forward(\.isbn)))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: cases, sortedBy: order))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: Attribute("format") == "paper",
          sortedBy: .forward(\.isbn)))
      found.append(
        try context.fetch(
          Book.self, values: \.title, \.published, as: Row.init, where: Attribute("format") == "paper",
          sortedBy: order))
      for (place, rows) in found.enumerated() { #expect(rows == wanted, "\(place)") }
    }
  }

  @Test("Single values are no tuples: more is asked of them in the same expression")
  func singleValues() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let last = try context.fetch(
        Book.self, values: \.title, where: #Predicate<Book> { $0.format == .paper }
      ).max()
      #expect(last == "title 2")
      let condition: ManagedPredicate<Book>? = nil
      let sorted = try context.fetch(Book.self, values: \.title, where: condition, sortedBy: \.isbn).sorted()
      #expect(sorted == ["title 0", "title 1", "title 2", "title 3"])
      let formats = Set(
        try context.fetch(
          Book.self, values: \.format, where: #Predicate<Book> { $0.isbn != "0" },
          sortedBy: [SortDescriptor(\.isbn)]))
      #expect(formats == [.paper])
    }
  }

  @Test("What the function throws is thrown, and it may ask the context itself")
  func programs() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      #expect(throws: Unfit.self) {
        try context.fetch(Book.self, values: \.title, as: { _ -> Row in throw Unfit() })
      }
      let counts = try context.fetch(
        Book.self, values: \.isbn,
        as: { isbn in try context.count(Book.self, where: Attribute("isbn") == isbn) })
      #expect(counts == [1, 1, 1, 1])
    }
  }
}
