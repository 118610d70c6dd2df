import Foundation
import Strata
import Testing

/// Objects that are made before there is a context for them.
@MainActor @Suite(.serialized) struct NewObjectTests {
  @Test func anObjectIsMadeAndInserted() async throws {
    let reading = try await Reading()
    let context = reading.context
    let book = Book()
    book.title = "New"
    book.pages = 7
    #expect(book.managedObjectContext == nil)
    #expect(book.format == .paper, "defaults are there")
    context.insert(book)
    #expect(book.managedObjectContext === context)
    #expect(book.title == "New")
    try context.save()
    #expect(try context.fetch(Book.self, where: #Predicate { $0.title == "New" && $0.pages == 7 }) == [book])
  }

  @Test func anObjectOfAnotherModelWithTheSameClassIsTaken() async throws {
    let reading = try await Reading()
    // Its model is the newest, so the object is made of that.
    let newest = try await Reading()
    let book = Book()
    book.title = "New"
    reading.context.insert(book)
    try reading.context.save()
    #expect(try reading.context.exists(Book.self, where: #Predicate { $0.title == "New" }))
    #expect(try !newest.context.exists(Book.self, where: #Predicate { $0.title == "New" }))
    reading.context.reset()
    #expect(try reading.context.first(Book.self, where: #Predicate { $0.title == "New" })?.format == .paper)
  }

  @Test func relatingItInsertsIt() async throws {
    let reading = try await Reading()
    let newest = try await Reading()
    let emma = try #require(try reading.context.first(Book.self, where: Attribute("title") == "Emma"))
    let chapter = Chapter()
    chapter.heading = "One"
    emma.chapters.append(chapter)
    #expect(chapter.managedObjectContext === reading.context)
    #expect(chapter.book === emma)
    try reading.context.save()
    #expect(try reading.context.count(Chapter.self) == 4)
    #expect(try newest.context.count(Chapter.self) == 3)
  }

  @Test func newObjectsAreRelatedToEachOther() async throws {
    let reading = try await Reading()
    let author = Author()
    author.name = "New"
    let book = Book()
    book.title = "New"
    author.books.insert(book)
    reading.context.insert(author)
    try reading.context.save()
    #expect(try reading.context.fetch(Book.self, where: #Predicate { $0.author?.name == "New" }) == [book])
  }

  @Test func withoutAModelItSaysWhatIsMissing() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Book()
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("Book() needs a model"), "\(text)")
  }
}
