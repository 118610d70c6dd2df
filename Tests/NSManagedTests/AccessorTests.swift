import CoreData
import Foundation
import Observation
import Testing

@testable import NSManagedSample

/// Ordinary classes with `@NSManaged`, whose accessors the plugin has generated.
@Suite("@NSManaged accessors")
struct AccessorTests {
  private let context: NSManagedObjectContext
  private let model = AccessorTests.makeModel()

  init() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  // MARK: The model

  private static func attribute(_ name: String, _ type: NSAttributeDescription.AttributeType)
    -> NSAttributeDescription
  {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.type = type
    attribute.isOptional = true
    return attribute
  }

  private static func relationship(
    _ name: String, _ to: NSEntityDescription, many: Bool = false, ordered: Bool = false
  )
    -> NSRelationshipDescription
  {
    let relationship = NSRelationshipDescription()
    relationship.name = name
    relationship.destinationEntity = to
    relationship.maxCount = many ? 0 : 1
    relationship.isOrdered = ordered
    relationship.isOptional = true
    return relationship
  }

  private static func entity(_ name: String, _ type: NSManagedObject.Type) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.managedObjectClass = type
    return entity
  }

  static func makeModel() -> NSManagedObjectModel {
    let author = entity("Writer", Writer.self)
    let book = entity("Volume", Volume.self)
    let record = entity("Record", Record.self)
    let chapter = entity("Chapter", Chapter.self)
    let loan = entity("Loan", Loan.self)
    let hidden = entity("Hidden", hiddenClass)
    let internalEntity = entity("Internal", Internal.self)
    record.subentities = [chapter, loan]
    func link(_ one: NSRelationshipDescription, _ other: NSRelationshipDescription) {
      one.inverseRelationship = other
      other.inverseRelationship = one
    }
    let books = relationship("books", book, many: true)
    let bookAuthor = relationship("author", author)
    link(books, bookAuthor)
    let owner = relationship("owner", author)
    let owned = relationship("owned", book, many: true)
    link(owner, owned)
    let loans = relationship("loans", loan, many: true)
    let loanBook = relationship("book", book)
    link(loans, loanBook)
    let chapters = relationship("chapters", chapter, many: true, ordered: true)
    let chapterBook = relationship("book", book)
    link(chapters, chapterBook)
    author.properties = [attribute("name", .string), attribute("born", .date), books, owned]
    let image = attribute("imageName", .string)
    book.properties = [
      attribute("title", .string), attribute("pages", .integer32), attribute("copies", .integer16),
      attribute("number", .integer64), attribute("isLent", .boolean), attribute("weight", .double),
      attribute("rating", .float), attribute("added", .date), attribute("seen", .date),
      attribute("cover", .binaryData), attribute("identifier", .uuid), attribute("page", .uri),
      attribute("price", .decimal), attribute("paid", .decimal), attribute("shelf", .integer32),
      attribute("genre", .integer16), attribute("condition", .string), attribute("mark", .string),
      attribute("tags", .transformable), attribute("extra", .transformable),
      attribute("anything", .transformable),
      attribute("blob", .transformable), attribute("secret", .string), attribute("counted", .integer16),
      attribute("größe", .integer64), image, bookAuthor, owner, loans, chapters,
    ]
    record.properties = [attribute("noted", .date)]
    chapter.properties = [attribute("heading", .string), chapterBook]
    loan.properties = [attribute("to", .string), loanBook]
    hidden.properties = [attribute("word", .string), attribute("genre", .integer16)]
    internalEntity.properties = [attribute("genre", .integer16), attribute("count", .integer16)]
    let model = NSManagedObjectModel()
    model.entities = [author, book, record, chapter, loan, hidden, internalEntity]
    return model
  }

  // MARK: Reading and setting

  @Test("Values without a value read as zero, false, empty or nil (rule 345)")
  func emptyValues() {
    context.performAndWait {
      let book = Volume(context: context)
      #expect(book.title == "" && book.pages == 0 && book.copies == 0 && book.number == 0 && !book.isLent)
      #expect(
        book.weight == 0 && book.rating == 0 && book.seen == 0 && book.genre == .none && book.counted == 0)
      #expect(
        book.cover == nil && book.identifier == nil && book.page == nil && book.price == nil
          && book.paid == nil)
      #expect(
        book.shelf == nil && book.mark == nil && book.tags == nil && book.extra == nil && book.anything == nil
      )
      #expect(book.blob == nil && book.author == nil && book.loans.isEmpty && book.chapters?.count == 0)
      #expect(book.imageName == nil && book.told == nil && book.größe == 0)
      #expect(book.added == Date(timeIntervalSinceReferenceDate: 0))
    }
  }

  @Test("Every kind of value comes back as it was set, from memory, after a save, and from a fault")
  func roundTrip() throws {
    try context.performAndWait {
      let book = Volume(context: context)
      let author = Writer(context: context)
      let identifier = UUID()
      func check() {
        #expect(book.title == "Titel" && book.pages == 412 && book.copies == 3 && book.number == 1 << 40)
        #expect(book.isLent && book.weight == 0.25 && book.rating == 4.5 && book.seen == 86_400)
        #expect(book.value(forKey: "seen") as? Date == Date(timeIntervalSinceReferenceDate: 86_400))
        #expect(book.cover == Data([1, 2, 3]) && book.identifier == identifier)
        #expect(book.page == URL(string: "https://example.org/a"))
        #expect(
          book.price == Decimal(string: "12.34")
            && book.paid == NSDecimalNumber(string: "12345678901234567890.123456789"))
        #expect(
          book.shelf == 77 && book.genre == .poetry && book.condition == .worn && book.mark?.rawValue == "M1")
        #expect(
          book.value(forKey: "genre") as? Int64 == 2 && book.value(forKey: "condition") as? String == "worn")
        #expect(
          book.tags == ["a", "b"] && book.extra?["k"] as? Int == 5 && book.anything as? String == "any")
        #expect(book.blob as? NSString == "blob")
        #expect(book.author === author && book.owner === author && book.told == "secret" && book.counted == 1)
        #expect(book.größe == 9 && book.imageName == "image")
        #expect(author.books?.count == 1 && author.books?.contains(book) == true)
      }
      book.title = "Titel"
      book.pages = 400
      book.pages += 12
      book.copies = 3
      book.number = 1 << 40
      book.isLent = true
      book.weight = 0.25
      book.rating = 4.5
      book.seen = 86_400
      book.cover = Data([1, 2])
      book.cover?.append(3)
      book.identifier = identifier
      book.page = URL(string: "https://example.org/a")
      book.price = Decimal(string: "12.34")
      book.paid = NSDecimalNumber(string: "12345678901234567890.123456789")
      book.shelf = 77
      book.genre = .poetry
      book.condition = .worn
      book.mark = .init(rawValue: "M1")
      book.tags = ["a", "b"]
      book.extra = ["k": 5]
      book.anything = "any"
      book.blob = NSString(string: "blob")
      book.author = author
      book.owner = author
      book.told = "secret"
      book.größe = 9
      book.imageName = "image"
      check()
      try context.save()
      check()
      context.refresh(book, mergeChanges: false)
      context.refresh(author, mergeChanges: false)
      #expect(book.isFault)
      check()
      book.cover = nil
      book.shelf = nil
      book.author = nil
      book.mark = nil
      #expect(
        book.cover == nil && book.shelf == nil && book.author == nil && book.mark == nil
          && author.books?.count == 0)
    }
  }

  @Test("Key paths of managed properties read and write")
  func keyPaths() throws {
    context.performAndWait {
      let book = Volume(context: context)
      let path: ReferenceWritableKeyPath<Volume, Int32> = \.pages
      book[keyPath: path] += 5
      #expect(book.pages == 5 && [book].map(\.pages) == [5])
    }
  }

  @Test("A private class, an internal one and one below another have their accessors")
  func classesOfAllKinds() throws {
    try context.performAndWait {
      let hidden = makeHidden(context, try #require(model.entitiesByName["Hidden"]))
      #expect(
        hidden.value(forKey: "word") as? String == "hidden" && hidden.value(forKey: "genre") as? Int64 == 2)
      let one = Internal(context: context)
      one.genre = .novel
      one.count = 7
      #expect(one.value(forKey: "genre") as? Int64 == 1 && one.count == 7)
      let (chapter, loan) = (Chapter(context: context), Loan(context: context))
      for record: Record in [chapter, loan, chapter] {
        record.noted = Date(timeIntervalSinceReferenceDate: 1)
        #expect(record.noted == Date(timeIntervalSinceReferenceDate: 1))
      }
    }
  }

  // MARK: Relationships

  @Test("Generated methods add and remove members, inverses included")
  func members() throws {
    context.performAndWait {
      let author = Writer(context: context)
      let (one, two, three) = (Volume(context: context), Volume(context: context), Volume(context: context))
      author.addToBooks(one)
      author.addToBooks(NSSet(array: [two, three]))
      #expect(author.books?.count == 3 && two.author === author)
      author.removeFromBooks(two)
      author.removeFromBooks(NSSet(array: [three]))
      #expect(author.books == NSSet(array: [one]) && three.author == nil)
      author.books = NSSet(array: [two])
      #expect(one.author == nil && two.author === author)
      let loan = Loan(context: context)
      one.loans = [loan]
      #expect(loan.book === one && one.loans == [loan])
      one.loans.removeAll()
      #expect(loan.book == nil)
    }
  }

  @Test("Generated methods of ordered relationships keep the order")
  func orderedMembers() throws {
    context.performAndWait {
      let book = Volume(context: context)
      let chapters = (0..<6).map { number in
        let chapter = Chapter(context: context)
        chapter.heading = "\(number)"
        return chapter
      }
      func headings() -> String {
        (book.chapters?.array ?? []).map { ($0 as? Chapter)?.heading ?? "?" }.joined()
      }
      book.addToChapters(chapters[0])
      book.addToChapters(NSOrderedSet(array: [chapters[1], chapters[2]]))
      #expect(headings() == "012")
      book.insertIntoChapters(chapters[3], at: 1)
      #expect(headings() == "0312")
      book.removeFromChapters(at: 0)
      book.replaceChapters(at: 0, with: chapters[4])
      #expect(headings() == "412")
      book.insertIntoChapters([chapters[0], chapters[5]], at: NSIndexSet(indexSet: [0, 2]))
      #expect(headings() == "04512")
      book.removeFromChapters(at: NSIndexSet(indexSet: [1, 2]))
      #expect(headings() == "012")
      book.replaceChapters(at: NSIndexSet(indexSet: [0, 2]), with: [chapters[3], chapters[4]])
      #expect(headings() == "314")
      book.removeFromChapters(chapters[1])
      book.removeFromChapters(NSOrderedSet(array: [chapters[4]]))
      #expect(headings() == "3")
      book.chapters = NSOrderedSet(array: [chapters[2], chapters[0]])
      #expect(headings() == "20")
    }
  }

  @Test("Generated methods that replace several members or insert a present one do what an ordered set does")
  func presentMembers() throws {
    context.performAndWait {
      let book = Volume(context: context)
      let chapters = (0..<4).map { _ in Chapter(context: context) }
      func now() -> [Int] {
        (book.chapters?.array as? [Chapter] ?? []).map { chapters.firstIndex(of: $0) ?? -1 }
      }
      book.chapters = NSOrderedSet(array: [chapters[0], chapters[1], chapters[2]])
      book.replaceChapters(at: NSIndexSet(indexSet: [0, 1]), with: [chapters[1], chapters[0]])
      #expect(now() == [1, 0, 2] && chapters[2].book === book)
      book.removeFromChapters(chapters[2])
      book.replaceChapters(at: NSIndexSet(indexSet: [0, 1]), with: [chapters[0], chapters[1]])
      #expect(now() == [0, 1])
      // One that would stand in two places stands in the first of them.
      book.replaceChapters(at: NSIndexSet(indexSet: [0]), with: [chapters[1]])
      #expect(now() == [1] && chapters[0].book == nil)
      book.addToChapters(chapters[0])
      book.insertIntoChapters(chapters[1], at: 2)
      book.insertIntoChapters(chapters[0], at: 0)
      #expect(now() == [1, 0])
      book.insertIntoChapters([chapters[3], chapters[1]], at: NSIndexSet(indexSet: [1, 3]))
      #expect(now() == [1, 3, 0])
    }
  }

  // MARK: What hangs on accessors

  @Test("A fault fires when a managed property is read, not before")
  func faults() throws {
    try context.performAndWait {
      let book = Volume(context: context)
      book.title = "A"
      try context.save()
      context.refresh(book, mergeChanges: false)
      #expect(book.isFault)
      #expect(book.title == "A")
      #expect(!book.isFault)
    }
  }

  @Test("Changes through managed properties are tracked, undone and done again")
  func undo() throws {
    try context.performAndWait {
      let book = Volume(context: context)
      book.pages = 1
      try context.save()
      #expect(!context.hasChanges)
      context.undoManager = UndoManager()
      book.pages = 2
      book.genre = .novel
      #expect(context.hasChanges && book.changedValues().keys.sorted() == ["genre", "pages"])
      context.processPendingChanges()
      context.undo()
      #expect(book.pages == 1 && book.genre == .none)
      context.redo()
      #expect(book.pages == 2 && book.genre == .novel)
    }
  }

  @Test("Observers of a managed property are notified")
  func observation() throws {
    final class Told: @unchecked Sendable {
      // @unchecked Sendable: used on the context's queue only.
      var count = 0
    }
    context.performAndWait {
      context.observesObjects = true
      let book = Volume(context: context)
      let told = Told()
      withObservationTracking {
        _ = book.pages
        _ = book.genre
      } onChange: {
        told.count += 1
      }
      book.title = "not read"
      #expect(told.count == 0)
      book.genre = .poetry
      #expect(told.count == 1)
    }
  }

  @Test("One class serves entities of several models whose properties lie elsewhere")
  func severalModels() throws {
    let entity = Self.entity("Writer", Writer.self)
    entity.properties = [
      Self.attribute("aaa", .integer64), Self.attribute("born", .date), Self.attribute("bbb", .integer16),
      Self.attribute("name", .string),
    ]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let other = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    other.persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    for _ in 0..<3 {
      other.performAndWait {
        let author = Writer(entity: entity, insertInto: nil)
        author.name = "other"
        #expect(author.name == "other" && author.value(forKey: "name") as? String == "other")
      }
      context.performAndWait {
        let author = Writer(context: context)
        author.name = "one"
        #expect(author.name == "one" && author.value(forKey: "name") as? String == "one")
      }
    }
  }
}
