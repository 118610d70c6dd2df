import Foundation
import Strata
import Testing

/// Members are edited on the property itself, inverses included.
@MainActor @Suite struct EditingTests {
  private func middlemarch(_ context: ManagedObjectContext) throws -> Book {
    try #require(try context.first(Book.self, where: Attribute("title") == "Middlemarch"))
  }

  private func headings(_ book: Book) -> [String] { book.chapters.map(\.heading) }

  private func chapters(_ names: String..., in context: ManagedObjectContext) -> [Chapter] {
    names.map { name in
      let chapter = Chapter(context: context)
      chapter.heading = name
      return chapter
    }
  }

  /// A book with the chapters a, b, c, d.
  private func lettered(_ context: ManagedObjectContext) -> Book {
    let book = Library.make("letters", 4, in: context)
    book.chapters.append(contentsOf: chapters("a", "b", "c", "d", in: context))
    return book
  }

  @Test func inOrder() async throws {
    let reading = try await Reading()
    let context = reading.context
    let book = lettered(context)
    let new = chapters("e", "f", "g", in: context)
    book.chapters.append(new[0])
    book.chapters.insert(new[1], at: 0)
    #expect(headings(book) == ["f", "a", "b", "c", "d", "e"])
    #expect(new.prefix(2).allSatisfy { $0.book === book })
    book.chapters.move(from: 0, to: 5)
    book.chapters.remove(new[0])
    #expect(headings(book) == ["a", "b", "c", "d", "f"])
    #expect(new[0].book == nil)
    #expect(book.chapters.removeFirst().heading == "a")
    #expect(book.chapters.removeLast() === new[1])
    #expect(book.chapters.popLast()?.heading == "d")
    book.chapters.insert(contentsOf: [new[2], new[0]], at: 1)
    #expect(headings(book) == ["b", "g", "e", "c"])
    book.chapters.swapAt(0, 3)
    #expect(headings(book) == ["c", "g", "e", "b"])
    book.chapters.sort { $0.heading < $1.heading }
    #expect(headings(book) == ["b", "c", "e", "g"])
    book.chapters.reverse()
    book.chapters.removeAll { $0.heading == "e" }
    #expect(headings(book) == ["g", "c", "b"])
    try context.save()
    context.reset()
    let again = try #require(try context.first(Book.self, where: Attribute("title") == "letters"))
    #expect(headings(again) == ["g", "c", "b"])
    again.chapters.removeAll()
    #expect(again.chapters.popLast() == nil)
    #expect(try context.count(Chapter.self, where: #Predicate { $0.book?.title == "letters" }) == 0)
  }

  @Test func byOffsets() async throws {
    let context = try await Reading().context
    let book = lettered(context)
    book.chapters.move(fromOffsets: IndexSet([0, 2]), toOffset: 4)
    #expect(headings(book) == ["b", "d", "a", "c"])
    book.chapters.move(fromOffsets: IndexSet([2, 3]), toOffset: 0)
    #expect(headings(book) == ["a", "c", "b", "d"])
    book.chapters.move(fromOffsets: IndexSet([1]), toOffset: 1)
    #expect(headings(book) == ["a", "c", "b", "d"])
    book.chapters.remove(atOffsets: IndexSet([1, 3]))
    #expect(headings(book) == ["a", "b"])
    book.chapters.removeSubrange(0..<1)
    #expect(headings(book) == ["b"])
  }

  @Test func movesAsAnArrayDoes() async throws {
    let context = try await Reading().context
    // Every set of offsets to every place, against the plain meaning: take them out, put them before what stood there.
    for bits in 0..<16 {
      for destination in 0...4 {
        let book = lettered(context)
        let source = IndexSet((0..<4).filter { bits & (1 << $0) != 0 })
        let letters = ["a", "b", "c", "d"]
        var marked = letters.enumerated().map { (letter: $1, isMoving: source.contains($0)) }
        marked.insert((letter: "|", isMoving: false), at: destination)
        let moving = marked.filter(\.isMoving).map(\.letter)
        let expected = marked.filter { !$0.isMoving }.flatMap { $0.letter == "|" ? moving : [$0.letter] }
        book.chapters.move(fromOffsets: source, toOffset: destination)
        #expect(headings(book) == expected, "\(Array(source)) to \(destination)")
      }
    }
  }

  @Test func membersThatAreThereMove() async throws {
    let context = try await Reading().context
    let book = lettered(context)
    let (a, d) = (book.chapters[0], book.chapters[3])
    book.chapters.insert(contentsOf: [d, a, d], at: 2)
    #expect(headings(book) == ["b", "d", "a", "c"])
    book.chapters.replaceAll(with: [a, d, a])
    #expect(headings(book) == ["a", "d"])
  }

  @Test func withoutOrder() async throws {
    let context = try await Reading().context
    let book = try middlemarch(context)
    let tags = Set(book.tags)
    let rare = Tag(context: context)
    rare.name = "rare"
    book.tags.insert(rare)
    #expect(rare.books.contains(book))
    book.tags.formSymmetricDifference([rare] + Array(tags.prefix(1)))
    #expect(Set(book.tags) == tags.subtracting(tags.prefix(1)))
    book.tags.formUnion([rare])
    book.tags.formIntersection([rare])
    #expect(Set(book.tags) == [rare])
    book.tags.subtract([rare])
    #expect(book.tags.isEmpty)
    #expect(!rare.books.contains(book))
    book.tags.replaceAll(with: tags)
    book.tags.removeAll { $0.name == "village" }
    #expect(book.tags.map(\.name) == ["novel"])
    book.tags.removeAll()
    #expect(
      try context.count(Tag.self, where: #Predicate { $0.books.contains { $0.title == "Middlemarch" } }) == 0)
  }

  @Test func anErrorOfAClosureChangesNothing() async throws {
    struct Stopped: Error {}
    let context = try await Reading().context
    let book = lettered(context)
    #expect(throws: Stopped.self) { try book.chapters.removeAll { _ in throw Stopped() } }
    #expect(throws: Stopped.self) { try book.chapters.sort { _, _ in throw Stopped() } }
    #expect(headings(book) == ["a", "b", "c", "d"])
  }

  @Test func propertiesWithSetters() async throws {
    let context = try await Reading().context
    let book = lettered(context)
    let other = Library.make("other", 1, in: context)
    let letters = Letters(book)
    // Views with a setter, arrays and sets: the same spellings.
    letters.view.append(chapters("e", in: context)[0])
    letters.array.append(chapters("f", in: context)[0])
    letters.array.remove(at: 0)
    letters.array.swapAt(0, 1)
    letters.array += chapters("g", in: context)
    #expect(headings(book) == ["c", "b", "d", "e", "f", "g"])
    #expect(book.chapters.allSatisfy { $0.book === book })
    let tag = Tag(context: context)
    letters.set.insert(tag)
    letters.set.formUnion([])
    #expect(tag.books.contains(book))
    Letters(other).view = letters.view
    #expect(headings(other) == ["c", "b", "d", "e", "f", "g"])
    #expect(book.chapters.isEmpty, "a chapter has one book")
    Letters(other).unordered = letters.unordered
    #expect(other.tags.contains(tag) && book.tags.contains(tag))
    letters.unordered = book.tags
    #expect(book.tags.contains(tag))
  }
}

/// The properties that a class may hand out for one relationship.
@MainActor private final class Letters {
  private let book: Book
  init(_ book: Book) { self.book = book }

  var view: OrderedRelatedObjects<Chapter> {
    get { book.orderedRelated(slot: 9) }
    set { book.write(newValue, slot: 9) }
  }
  var unordered: RelatedObjects<Tag> {
    get { book.related(slot: 10) }
    set { book.write(newValue, slot: 10) }
  }
  var array: [Chapter] {
    get { book.readOrderedObjects(slot: 9) }
    set { book.write(newValue, slot: 9) }
  }
  var set: Set<Tag> {
    get { book.readObjects(slot: 10) }
    set { book.write(newValue, slot: 10) }
  }
}
