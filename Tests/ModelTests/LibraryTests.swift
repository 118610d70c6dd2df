import Foundation
import StrataModels
import Testing
import TortureKit
import struct StrataCore.Mutex

@Suite("Classes with @Managed")
struct LibraryTests {
  private func library() async throws -> PersistentContainer {
    try await PersistentContainer(for: Book.self, at: .inMemory)
  }

  @Test("Every property is kept, both ends of relationships follow, and derived values come with the save")
  func everyPropertyIsKept() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let author = Author(context: context)
      #expect(author.name == "anonymous")
      author.name = "George Eliot"
      let book = Book(context: context)
      #expect(book.title == "" && book.format == .paper && book.isbn == "" && book.published == nil)
      book.isbn = "978-0141439549"
      book.title = "Middlemarch"
      book.published = Date(timeIntervalSince1970: -3_000_000_000)
      book.format = .audio
      book.author = author
      book.isOpen = true
      for number in 1...3 {
        let chapter = Chapter(context: context)
        chapter.heading = "Chapter \(number)"
        chapter.pages = Int32(number)
        book.chapters.append(chapter)
      }
      #expect(author.books == [book] && book.chapters.map(\.book) == [book, book, book])
      try context.save()
      #expect(book.length == 3)
    }
    try await container.performBackgroundTask { context in
      let book = try #require(try context.fetch(FetchRequest<Book>(entityName: "Book")).first)
      #expect(book.isbn == "978-0141439549" && book.title == "Middlemarch" && book.format == .audio)
      #expect(book.published == Date(timeIntervalSince1970: -3_000_000_000))
      #expect(book.author?.name == "George Eliot" && book.length == 3 && !book.isOpen)
      #expect(book.chapters.map(\.heading) == ["Chapter 1", "Chapter 2", "Chapter 3"])
      #expect(book.chapters.map(\.pages) == [1, 2, 3])
      book.published = nil
      book.author = nil
      book.chapters.removeFirst()
      try context.save()
      #expect(book.published == nil && book.author == nil && book.chapters.count == 2 && book.length == 2)
    }
  }

  @Test("The version hashes are those of the same model made of descriptions")
  func hashesAreTheSame() throws {
    let typed = try ManagedObjectModel(for: Book.self)
    let plain = PlainLibrary.model()
    #expect(typed.entities.count == 3)
    for entity in plain.entities {
      let name = try #require(entity.name)
      #expect(typed.entitiesByName[name]?.versionHash == entity.versionHash, "\(name)")
    }
    let book = try #require(typed.entitiesByName["Book"])
    #expect(book.uniquenessConstraints == [["isbn"]] && book.indexes.map(\.name) == ["byPublished"])
    #expect(book.relationshipsByName["chapters"]?.deleteRule == .cascade)
    #expect(book.relationshipsByName["author"]?.inverseRelationship?.name == "books")
    #expect(
      book.properties.map(\.name) == [
        "isbn", "title", "published", "format", "chapters", "author", "length", "isOpen",
      ])
  }

  @Test("Rules of the declaration are checked, and a property that was never set is refused by name")
  func rulesAreChecked() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let author = Author(context: context)
      author.name = ""
      let short = #expect(throws: CoreDataError.self) { try context.save() }
      #expect(short?.code == .validationStringTooShort)
      author.name = "G"
      try context.save()
      let book = Book(context: context)
      let missing = #expect(throws: CoreDataError.self) { try context.save() }
      #expect(missing?.code == .validationMissingMandatoryProperty)
      #expect(missing.map { "\($0)".contains("isbn") } == true)
      context.delete(book)
    }
  }

  @Test("A raw value that the enum does not know is told and stays as it is")
  func unknownRawValuesStay() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let book = Book(context: context)
      book.isbn = "1"
      book["format"] = "papyrus"
      try context.save()
      #expect(book.format == .paper)
      book.title = "Odes"
      try context.save()
      #expect(book["format"] as? String == "papyrus")
    }
  }

  @Test("A fetched value that the enum does not know is told with its record, also behind a relationship")
  func unknownRawValuesAmongFetchedValues() async throws {
    let container = try await library()
    let context = container.newBackgroundContext()
    let failures = Mutex<[ReadFailure]>([])
    context.readFailureHandler = { failure in failures.withLock { $0.append(failure) } }
    try await context.perform {
      let books = ["1", "2"].map { isbn in
        let book = Book(context: context)
        book.isbn = isbn
        return book
      }
      books[1]["format"] = "papyrus"
      let chapter = Chapter(context: context)
      chapter.book = books[1]
      try context.save()
      let direct = try context.fetch(Book.self, values: \.isbn, \.format, sortedBy: \.isbn)
      #expect(direct.map(\.1) == [.paper, .paper])
      let behind = try context.fetch(Chapter.self, values: \.book?.format)
      #expect(behind == [.paper])
      let told = failures.withLock { $0 }
      #expect(told.map(\.objectIDs) == [[books[1].objectID], [books[1].objectID]])
      #expect(
        told.allSatisfy {
          "\($0.error)".contains(
            "papyrus of Book.format of \(books[1].objectID.uriRepresentation().lastPathComponent) ")
        })
      // A tuple that stands for several records names none.
      failures.withLock { $0 = [] }
      #expect(try context.fetch(Book.self, values: \.format, distinct: true).count == 2)
      let few = failures.withLock { $0 }
      #expect(few.count == 1 && few[0].objectIDs.isEmpty)
      #expect("\(few[0])".contains("papyrus of Book.format is no Format"))
    }
  }

  @Test("Containers made for the same classes share their model; a class that declares nothing is refused")
  func modelsAreShared() async throws {
    let first = try await library()
    let second = try await PersistentContainer(for: Chapter.self, Author.self, at: .inMemory)
    #expect(first.managedObjectModel === second.managedObjectModel)
    #expect(first.name == "Book")
    final class Nothing: ManagedObject {}
    let error = await #expect(throws: ModelError.self) {
      try await PersistentContainer(for: Nothing.self, at: .inMemory)
    }
    #expect(
      error?.sentences == [
        "Class Nothing declares no entity: write @Managed before it, or override entityDeclaration."
      ])
  }

  @Test("A class that declares its entity is not found by its bare name for another model")
  func declaringClassesAreNotFoundByName() throws {
    let entity = EntityDescription("Book", properties: [AttributeDescription("weight", .double)])
    entity.managedObjectClassName = ".Book"
    #expect(entity.managedObjectClass == nil)
    entity.managedObjectClassName = "ModelTests.Book"
    #expect(entity.managedObjectClass == Book.self)
  }
}
