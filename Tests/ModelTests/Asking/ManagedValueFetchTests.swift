import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("Fetches of Book.Value: what objects say, without the objects")
struct ManagedValueFetchTests {
  /// Books of two authors with chapters.
  private func library(_ count: Int = 12) async throws -> PersistentContainer {
    let container = try await PersistentContainer(for: Book.self, at: .inMemory)
    try await container.background { context in
      let authors = ["Austen", "Eliot"].map { name in
        let author = Author(context: context)
        author.name = name
        return author
      }
      for number in 0..<count {
        let book = Book(context: context)
        book.isbn = Self.isbn(number)
        book.title = "title \(number % 5)"
        book.format = Format.allCases[number % 3]
        book.published = number.isMultiple(of: 4) ? nil : Date(timeIntervalSinceReferenceDate: Double(number))
        if !number.isMultiple(of: 5) { book.author = authors[number % 2] }
        for heading in 0..<(number % 4) {
          let chapter = Chapter(context: context)
          chapter.heading = "\(number).\(heading)"
          if heading.isMultiple(of: 2) {
            book.chapters.append(chapter)
          } else {
            book.chapters.insert(chapter, at: 0)
          }
        }
      }
    }
    return container
  }

  static func isbn(_ number: Int) -> String { String(1_000_000 + number) }

  @Test("The values are those of the objects, in every order and window, and no object is made")
  func clean() async throws {
    let container = try await library()
    let (all, window, none, made) = try await container.performBackgroundTask { context in
      let all = try context.fetch(Book.Value.self, sortedBy: \.isbn)
      let window = try context.fetch(
        Book.Value.self, where: Attribute("title") == "title 1", sortedBy: .reverse(\.isbn), limit: 2,
        offset: 1)
      let none = try context.fetch(Book.Value.self, limit: 0)
      #expect(context.registeredObjects.isEmpty && !context.hasChanges)
      return (all, window, none, context.statistics.objectsMade)
    }
    #expect(made == 0 && none.isEmpty)
    try await container.performBackgroundTask { context in
      #expect(try all == context.fetch(Book.self, sortedBy: \.isbn).map(\.value))
      #expect(
        all.count == 12 && all[7].chapters.count == 3 && all[7].author != nil && all[7].format == .audio)
      #expect(window.map(\.isbn) == [Self.isbn(6), Self.isbn(1)])
      let authors = try context.fetch(Author.Value.self, sortedBy: \.name)
      #expect(try authors == context.fetch(Author.self, sortedBy: \.name).map(\.value))
      #expect(authors.map(\.name) == ["Austen", "Eliot"] && authors.allSatisfy { $0.books.count > 3 })
    }
  }

  @Test("Conditions and orders of every spelling are taken")
  func spellings() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let wanted = try context.fetch(Book.self, where: Attribute("format") == "audio", sortedBy: \.isbn).map(
        \.value)
      #expect(wanted.count == 4)
      let plain: Predicate<Book> = #Predicate { $0.format == .audio }
      let cases: ManagedPredicate<Book>? = #Predicate { $0.format == .audio }
      let descriptors = [SortDescriptor(\Book.isbn)]
      var found: [[Book.Value]] = []
      found.append(
        try context.fetch(Book.Value.self, where: #Predicate { $0.format == .audio }, sortedBy: \.isbn))
      found.append(
        try context.fetch(
          Book.Value.self, where: #Predicate { $0.format == .audio }, sortedBy: .forward(\.isbn)))
      found.append(
        try context.fetch(Book.Value.self, where: #Predicate { $0.format == .audio }, sortedBy: descriptors))
      found.append(
        try context.fetch(Book.Value.self, where: plain, sortedBy: \.isbn))
      found.append(
        try context.fetch(Book.Value.self, where: plain, sortedBy: .forward(\.isbn)))
      found.append(
        try context.fetch(Book.Value.self, where: plain, sortedBy: descriptors))
      found.append(
        try context.fetch(Book.Value.self, where: cases, sortedBy: \.isbn))
      found.append(
        try context.fetch(Book.Value.self, where: cases, sortedBy: .forward(\.isbn)))
      found.append(
        try context.fetch(Book.Value.self, where: cases, sortedBy: descriptors))
      found.append(
        try context.fetch(Book.Value.self, where: Attribute("format") == "audio", sortedBy: .forward(\.isbn)))
      found.append(
        try context.fetch(Book.Value.self, where: Attribute("format") == "audio", sortedBy: descriptors))
      for (place, values) in found.enumerated() { #expect(values == wanted, "\(place)") }
      #expect(throws: PredicateTranslationError.self) {
        try context.fetch(Book.Value.self, where: #Predicate<Book> { $0.isOpen })
      }
      #expect(throws: FetchError.self) {
        try context.fetch(Book.Value.self, where: Attribute("pages") > 1, limit: 0)
      }
    }
  }

  @Test("Values of every type, also large ones, are those of the objects")
  func everyType() async throws {
    let container = try await PersistentContainer(for: Everything.self, at: .inMemory)
    try await container.background { context in
      for number in 0..<6 {
        let thing = Everything(context: context)
        thing.address = Address(street: "Elm \(number)", number: nil, kind: .work)
        thing.owner = thing
        (thing.int, thing.int16) = (number, Int16(number))
        if number.isMultiple(of: 2) {
          thing.data = Data(repeating: UInt8(number), count: 5_000 + number)
          thing.text = String(repeating: "\(number)", count: 4_000)
          thing.color.green = number
          thing.numbers = Array(0...number)
          thing.former = Address(street: "Oak", number: 5)
          thing.maybeColor = Color(red: 0, green: number)
          thing.maybeRating = .fair
          thing.picture = Data([7])
          thing.lookup["a"] = number
        }
      }
    }
    let values = try await container.performBackgroundTask { context in
      let values = try context.fetch(Everything.Value.self, sortedBy: \.int)
      #expect(context.registeredObjects.isEmpty)
      return values
    }
    try await container.performBackgroundTask { context in
      let things = try context.fetch(Everything.self, sortedBy: \.int)
      #expect(values == things.map(\.value))
      #expect(values[4].data.count == 5_004 && values[4].numbers.count == 5 && values[5].maybeColor == nil)
    }
  }

  @Test("Values of a superclass are those of all subclasses' objects")
  func inheritance() async throws {
    let container = try await PersistentContainer(for: Thriller.self, Magazine.self, at: .inMemory)
    try await container.background { context in
      let shelf = Shelf(context: context)
      for number in 0..<9 {
        let publication: Publication
        switch number % 3 {
        case 0: publication = Novel(context: context)
        case 1:
          let thriller = Thriller(context: context)
          thriller.deaths = number
          publication = thriller
        default: publication = Magazine(context: context)
        }
        publication.code = "\(number)"
        if number.isMultiple(of: 2) { publication.shelf = shelf }
      }
    }
    try await container.performBackgroundTask { context in
      let publications = try context.fetch(Publication.Value.self, sortedBy: \.code)
      let novels = try context.fetch(Novel.Value.self, sortedBy: \.code)
      let thrillers = try context.fetch(Thriller.Value.self, sortedBy: \.code)
      let shelves = try context.fetch(Shelf.Value.self)
      #expect(context.registeredObjects.isEmpty)
      #expect(
        try publications == context.fetch(Publication.self, sortedBy: \.code).map { Publication.Value($0) })
      #expect(try novels == context.fetch(Novel.self, sortedBy: \.code).map { Novel.Value($0) })
      #expect(try thrillers == context.fetch(Thriller.self, sortedBy: \.code).map(\.value))
      #expect(try shelves == context.fetch(Shelf.self).map(\.value))
      #expect(
        novels.count == 6 && thrillers.map(\.deaths) == [1, 4, 7] && shelves[0].publications.count == 5)
    }
  }

  @Test("Members of many rows are read together")
  func together() async throws {
    let container = try await library(2_500)
    try await container.performBackgroundTask { context in
      context.resetStatistics()
      let values = try context.fetch(Book.Value.self, sortedBy: \.isbn)
      let statistics = context.statistics
      #expect(statistics.objectsMade == 0 && statistics.faultsFired == 0)
      #expect(statistics.relationshipFaultsFired == 1 && statistics.fetches < 6)
      #expect(try values == context.fetch(Book.self, sortedBy: \.isbn).map(\.value))
    }
  }

  // MARK: Unsaved changes

  /// The values that a fetch finds and those of the objects, of two classes.
  private func expectSame(
    _ context: ManagedObjectContext, _ words: String, _ source: SourceLocation = #_sourceLocation
  )
    throws
  {
    let books = try context.fetch(Book.Value.self, sortedBy: \.isbn)
    let window = try context.fetch(
      Book.Value.self, where: #Predicate { $0.format != .screen }, sortedBy: .reverse(\.title), limit: 4,
      offset: 2)
    let chapters = try context.fetch(Chapter.Value.self, sortedBy: [.forward(\.heading), .forward(\.pages)])
    let authors = try context.fetch(Author.Value.self, sortedBy: \.name)
    #expect(
      try books == context.fetch(Book.self, sortedBy: \.isbn).map(\.value), "\(words)", sourceLocation: source
    )
    #expect(
      try window
        == context.fetch(
          Book.self, where: #Predicate { $0.format != .screen }, sortedBy: .reverse(\.title), limit: 4,
          offset: 2
        ).map(\.value), "\(words)", sourceLocation: source)
    #expect(
      try chapters
        == context.fetch(Chapter.self, sortedBy: [.forward(\.heading), .forward(\.pages)]).map(\.value),
      "\(words)",
      sourceLocation: source)
    #expect(
      try authors == context.fetch(Author.self, sortedBy: \.name).map(\.value), "\(words)",
      sourceLocation: source)
  }

  @Test("Unsaved changes take part: new, edited and deleted objects, and edits of relationships alone")
  func unsaved() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let books = try context.fetch(Book.self, sortedBy: \.isbn)
      books[3].title = "edited"
      context.delete(books[5])
      books[7].chapters.reverse()
      books[2].chapters.append(try #require(books[11].chapters.first))
      context.delete(try #require(books[6].chapters.first))
      books[1].author = nil
      books[4].author = books[3].author
      let new = Book(context: context)
      new.isbn = Self.isbn(500)
      new.chapters.append(Chapter(context: context))
      let values = try context.fetch(Book.Value.self, sortedBy: \.isbn)
      #expect(values.count == 12 && values[3].title == "edited" && values.last?.chapters.count == 1)
      #expect(!values.contains { $0.isbn == Self.isbn(5) })
      try expectSame(context, "unsaved")
      try context.save()
      try expectSame(context, "saved")
      context.rollback()
    }
  }

  @Test("Random edits, saves and children: values are what objects say at every step", arguments: 0..<6)
  func random(_ number: Int) async throws {
    let seed = UInt64(number) &+ 41
    print("seed \(seed)")
    let container = try await library(20)
    let context = container.newBackgroundContext()
    let child = ManagedObjectContext(.privateQueue, parent: context)
    var random = SeededGenerator(seed: seed)
    for step in 0..<30 {
      let (inChild, draw) = (Bool.random(using: &random), UInt64.random(in: 0 ... .max, using: &random))
      let target = inChild ? child : context
      try await target.perform {
        var random = SeededGenerator(seed: draw)
        for _ in 0..<3 { try Self.edit(target, step, &random) }
        try expectSame(target, "seed \(seed), step \(step)")
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try target.save()
        case 1: target.rollback()
        case 2: target.refreshAllObjects()
        default: break
        }
      }
      try await context.perform { try expectSame(context, "seed \(seed), step \(step), parent") }
      try await child.perform { try expectSame(child, "seed \(seed), step \(step), child") }
    }
  }

  private static func edit(
    _ context: ManagedObjectContext, _ step: Int, _ random: inout some RandomNumberGenerator
  ) throws {
    let number = Int.random(in: 0..<20, using: &random)
    let book = try context.first(Book.self, where: Attribute("isbn") == isbn(number))
    switch Int.random(in: 0..<7, using: &random) {
    case 0: book?.title = "step \(step)"
    case 1:
      let new = Book(context: context)
      new.isbn = isbn(1_000 + step * 100 + Int.random(in: 0..<100, using: &random))
      new.author = try context.first(Author.self)
    case 2: if let book { context.delete(book) }
    case 3:
      let chapter = Chapter(context: context)
      chapter.heading = "step \(step)"
      chapter.pages = Int32.random(in: 0..<1_000_000, using: &random)
      chapter.book = book
    case 4: if let chapter = book?.chapters.first { context.delete(chapter) }
    case 5: book?.chapters.reverse()
    default: book?.author = book?.author == nil ? try context.first(Author.self) : nil
    }
  }

  @Test("An object of the context shows what it knows, however old")
  func known() async throws {
    let container = try await library()
    let context = container.newBackgroundContext()
    context.automaticallyMergesChangesFromParent = false
    context.retainsRegisteredObjects = true
    let id = try await context.perform {
      let book = try #require(try context.first(Book.self, sortedBy: \.isbn))
      #expect(book.title == "title 0")
      return book.objectID
    }
    try await container.background { other in
      let book = try #require(try other.existingObject(with: id) as? Book)
      book.title = "newer"
    }
    try await context.perform {
      let values = try context.fetch(Book.Value.self, sortedBy: \.isbn)
      #expect(try values == context.fetch(Book.self, sortedBy: \.isbn).map(\.value))
      #expect(values[0].title == "title 0" && values.count == 12)
    }
  }

  @Test("A raw value that the enum does not know is told with its record")
  func unknownRawValues() async throws {
    let container = try await library()
    let context = container.newBackgroundContext()
    let failures = Mutex<[ReadFailure]>([])
    let id = try await context.perform {
      let book = try #require(try context.first(Book.self, where: Attribute("isbn") == Self.isbn(4)))
      book["format"] = "papyrus"
      try context.save()
      return book.objectID
    }
    let other = container.newBackgroundContext()
    other.readFailureHandler = { failure in failures.withLock { $0.append(failure) } }
    try await other.perform {
      let values = try other.fetch(Book.Value.self, sortedBy: \.isbn)
      #expect(values[4].format == .paper && values.count == 12 && other.registeredObjects.isEmpty)
    }
    #expect(failures.withLock { $0 }.map(\.objectIDs) == [[id]])
  }

  @Test("What a value written by hand does to the object that stands for its record changes nothing")
  func stubbornValues() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let titles = try context.fetch(ShoutedTitle.self, sortedBy: \.isbn, limit: 3).map(\.title)
      #expect(titles == ["TITLE 0", "TITLE 1", "TITLE 2"])
      #expect(!context.hasChanges && context.registeredObjects.isEmpty)
      #expect(
        try context.fetch(Book.self, sortedBy: \.isbn, limit: 3).map(\.title) == [
          "title 0", "title 1", "title 2",
        ])
    }
  }
}

/// A value of books that is written by hand, and edits what it should only read.
private struct ShoutedTitle: ManagedValue {
  let title: String

  init(_ object: Book) {
    object.title = object.title.uppercased()
    title = object.title
  }
  static func makeObject(in context: ManagedObjectContext) -> Book { Book(context: context) }
  func write(to object: Book) { object.title = title }
}
