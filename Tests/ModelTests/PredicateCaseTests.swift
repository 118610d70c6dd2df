import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("Cases of enums in #Predicate, as they are written elsewhere")
struct PredicateCaseTests {
  /// Three books of each format, of one author and two chapters each, and one whose format is none that the enum knows.
  private func library() async throws -> PersistentContainer {
    let container = try await PersistentContainer(for: Book.self, Author.self, at: .inMemory)
    try await container.background { context in
      for (number, format) in Format.allCases.enumerated() {
        for copy in 1...3 {
          let book = Book(context: context)
          book.isbn = "\(number)\(copy)"
          book.title = copy == 1 ? "a \(format)" : "b \(format)"
          book.format = format
          book.published = copy == 1 ? nil : Date(timeIntervalSinceNow: copy == 2 ? -1000 : 100_000)
          book.author = Author(context: context)
          book.author?.name = "\(format)"
        }
      }
    }
    return container
  }

  private func numbers(_ books: [Book]) -> Set<String> { Set(books.map(\.isbn)) }

  @Test("The example of the documents: a text and a case, sorted, with a limit")
  func example() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context throws in
      let late = try context.fetch(
        Book.self, where: #Predicate { $0.title.contains("a") && $0.format == .paper },
        sortedBy: .init(\.published, .reverse), limit: 20)
      #expect(late.map(\.isbn) == ["03", "02", "01"])
    }
  }

  @Test("Every way to write a case finds what a case captured before finds")
  func spellings() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context throws in
      let plain: Set = ["01", "02", "03"]
      let others: Set = ["11", "12", "13", "21", "22", "23"]
      let same: [Predicate<Book>] = [
        #Predicate { $0.format == .paper }, #Predicate { .paper == $0.format },
        #Predicate<Book> { $0.format == Format.paper }, #Predicate<Book> { book in book.format == .paper },
        #Predicate { !($0.format != .paper) }, #Predicate { [.paper].contains($0.format) },
        #Predicate { [Format.paper].contains($0.format) },
        #Predicate { ![.audio, .screen].contains($0.format) },
        #Predicate { $0.format == Format(rawValue: "paper")! },
        #Predicate { $0.format == .init(rawValue: "paper")! },
        #Predicate { $0.format == (true ? .paper : .audio) && $0.format == .paper },
        #Predicate { $0.format.rawValue == "paper" },
        #Predicate { if $0.format == .paper { true } else { false } },
        #Predicate { ($0.format == .paper ? 1 : 2) == 1 },
      ]
      for (place, predicate) in same.enumerated() {
        #expect(try numbers(context.fetch(Book.self, where: predicate)) == plain, "\(place)")
      }
      let rest: [Predicate<Book>] = [
        #Predicate { $0.format != .paper }, #Predicate { $0.format != Format.paper },
        #Predicate { $0.format == .audio || $0.format == .screen },
        #Predicate { [.audio, .screen].contains($0.format) },
        #Predicate { ![Format.paper].contains($0.format) },
      ]
      for (place, predicate) in rest.enumerated() {
        #expect(try numbers(context.fetch(Book.self, where: predicate)) == others, "\(place)")
      }
    }
  }

  @Test("Requests of every kind take one")
  func requests() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context throws in
      #expect(try context.count(Book.self, where: #Predicate { $0.format == .audio }) == 3)
      #expect(
        try context.count(Book.self, where: #Predicate { $0.format == .audio && $0.published != nil }) == 2)
      #expect(
        try context.count(Book.self, where: #Predicate { nil == $0.published && $0.format != .audio }) == 2)
      #expect(try context.count(#Predicate<Book> { $0.format == .audio }) == 3)
      #expect(try context.fetch(#Predicate<Book> { $0.format == .audio }).count == 3)
      let kept = FetchRequest<Book>(where: #Predicate { $0.format == .audio }, sortedBy: .reverse(\.isbn))
      #expect(try context.fetch(kept).map(\.isbn) == ["13", "12", "11"])
      #expect(try context.exists(Book.self, where: #Predicate { $0.format == .audio }))
      #expect(
        try context.first(Book.self, where: #Predicate { $0.format == .audio }, sortedBy: \.isbn)?.isbn
          == "11")
      var request = FetchRequest<Book>()
      request.predicate = #Predicate { $0.format == .screen }
      #expect(try numbers(context.fetch(request)) == ["21", "22", "23"])
      request.predicate = FetchPredicate(#Predicate<Book> { $0.format == .screen && $0.published != nil })
      #expect(try numbers(context.fetch(request)) == ["22", "23"])
      request.predicate =
        FetchPredicate(#Predicate<Book> { $0.format == .screen }) && Attribute("title") == "a screen"
      #expect(try numbers(context.fetch(request)) == ["21"])
      let titles = try context.fetch(
        Book.self, values: \.title, where: #Predicate { $0.format == .paper }, sortedBy: .forward(\.isbn))
      #expect(titles == ["a paper", "b paper", "b paper"])
      #expect(try context.delete(Book.self, where: #Predicate { $0.format == .paper }) == 3)
      #expect(try context.count(Book.self) == 6)
      #expect(try !context.exists(Book.self, where: #Predicate { $0.format == .paper }))
      let tree = try FetchPredicate(
        #Predicate<Book> { $0.format != .audio }, model: container.managedObjectModel)
      #expect("\(tree)" == #"format != "audio""#)
    }
  }

  @MainActor @Test("Live lists follow a case") func liveLists() async throws {
    let container = try await library()
    let list = try container.liveList(Book.self, where: #Predicate { $0.format == .audio }, sortedBy: \.isbn)
    #expect(list.objects.map(\.isbn) == ["11", "12", "13"])
    list.first?.format = .paper
    container.viewContext.processPendingChanges()
    #expect(list.objects.map(\.isbn) == ["12", "13"])
    try list.configure(
      where: #Predicate { $0.format != .audio }, sortedBy: [SortDescriptor(\.isbn, order: .reverse)])
    #expect(list.objects.map(\.isbn) == ["23", "22", "21", "11", "03", "02", "01"])
  }

  @Test("Optional enums, numbers, option sets, cases behind relationships and in closures")
  func otherPlaces() async throws {
    let container = try await PersistentContainer(for: Everything.self, Book.self, at: .inMemory)
    try await container.performBackgroundTask { context throws in
      for (number, rating) in [Rating.fine, .fair, nil].enumerated() {
        let thing = Everything(context: context)
        thing.int = number
        thing.maybeRating = rating
        thing.rating = rating ?? Rating.none
        thing.flags = number == 0 ? [.read, .write] : number == 1 ? .read : []
      }
      func found(_ predicate: Predicate<Everything>) throws -> [Int] {
        try context.fetch(Everything.self, where: predicate, sortedBy: \.int).map(\.int)
      }
      #expect(try found(#Predicate { $0.maybeRating == .fine }) == [0])
      #expect(try found(#Predicate { $0.maybeRating != .fine }) == [1, 2])
      #expect(try found(#Predicate { $0.maybeRating == nil }) == [2])
      #expect(try found(#Predicate { ($0.maybeRating ?? .fair) == .fair }) == [1, 2])
      #expect(try found(#Predicate { [.fine, .fair].contains($0.maybeRating) }) == [0, 1])
      #expect(
        try found(#Predicate { if let rating = $0.maybeRating { rating == .fair } else { false } }) == [1])
      #expect(try found(#Predicate { $0.maybeRating.flatMap { $0 == .fair } == true }) == [1])
      #expect(try found(#Predicate { $0.rating == Rating.none }) == [2])
      #expect(try found(#Predicate { $0.rating == .fair || $0.rating == .fine }) == [0, 1])
      #expect(try found(#Predicate { $0.flags == .read }) == [1])
      #expect(try found(#Predicate { $0.flags == [.read, .write] }) == [0])
      #expect(try found(#Predicate { $0.date < .now && $0.date > Date.distantPast }) == [0, 1, 2])
      #expect(try found(#Predicate { $0.int > Int.zero && $0.int < .max }) == [1, 2])
    }
    let books = try await library()
    try await books.performBackgroundTask { context throws in
      let authors = try context.fetch(
        Author.self, where: #Predicate { $0.books.contains { $0.format == .screen } })
      #expect(authors.count == 3 && authors.allSatisfy { $0.name == "screen" })
      #expect(
        try context.count(Author.self, where: #Predicate { $0.books.allSatisfy { $0.format != .screen } })
          == 6)
      #expect(
        try context.count(
          Author.self,
          where: #Predicate { author in author.books.filter { book in book.format == .paper }.count == 1 })
          == 3)
    }
  }

  @Test("A constant is computed once, where the predicate is made, and sees what stands around it")
  func constants() async throws {
    let container = try await library()
    let wanted = Format.audio
    struct Choice { static let format = Format.screen }
    let text = "b"
    try await container.performBackgroundTask { context throws in
      #expect(
        try context.count(Book.self, where: #Predicate { $0.format == wanted && $0.title.starts(with: text) })
          == 2)
      #expect(try context.count(Book.self, where: #Predicate { $0.format == Choice.format }) == 3)
      #expect(
        try context.count(
          Book.self,
          where: #Predicate { $0.title.caseInsensitiveCompare("A PAPER") == .orderedSame }) == 1)
    }
  }

  @Test("Other types have Foundation's #Predicate")
  func otherTypes() throws {
    struct Point: Codable { var x = 1 }
    let left = #Predicate<Point> { $0.x == 1 }
    let pair = #Predicate<Point, Point> { $0.x == $1.x }
    #expect(try left.evaluate(Point()) && pair.evaluate(Point(), Point()))
  }
}
