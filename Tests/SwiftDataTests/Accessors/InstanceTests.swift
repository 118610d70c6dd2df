import StrataCore
import SwiftData
import Testing

/// A row knows its instance, and does not keep it: by an address while nobody has asked for it a second time, by a weak reference afterwards.
@Suite("How a row knows its instance")
struct InstanceTests {
  private static func container(_ count: Int) throws -> ModelContainer {
    let container = try makeContainer()
    let context = ModelContext(container)
    for number in 0..<count { context.insert(Book("book \(number)", pages: number)) }
    try context.save()
    return container
  }

  private final class Gone {
    private(set) weak var book: Book?
    init(_ book: Book) { self.book = book }
  }

  private static func fetch(_ context: ModelContext) throws -> [Book] {
    try context.fetch(FetchDescriptor<Book>(sortBy: [SortDescriptor(\.pages)]))
  }

  @Test("an instance that was let go is made anew, one that is held stays")
  func letGo() throws {
    let context = ModelContext(try Self.container(3))
    var books = try Self.fetch(context)
    let gone = Gone(books[0])
    let kept = books[1]
    books = []
    #expect(gone.book == nil)
    books = try Self.fetch(context)
    #expect(books[0].title == "book 0")
    #expect(books[1] === kept)
    // Asked for once more: known weakly now.
    books = []
    books = try Self.fetch(context)
    #expect(books[1] === kept)
    #expect(try Self.fetch(context)[0] === books[0])
  }

  @Test("an instance that gets its backing data once more is still the row's")
  func sameBackingData() throws {
    let context = ModelContext(try Self.container(2))
    let books = try Self.fetch(context)
    books[0].persistentBackingData = books[0].persistentBackingData
    #expect(try Self.fetch(context)[0] === books[0])
    books[0].persistentBackingData = books[0].persistentBackingData
    #expect(try Self.fetch(context)[0] === books[0])
    #expect(books[0].title == "book 0")
  }

  @Test("an instance that shows another row leaves the one that this row knows, and is not known by it")
  func secondInstance() throws {
    let context = ModelContext(try Self.container(2))
    let books = try Self.fetch(context)
    do {
      let other = Book(backingData: books[0].persistentBackingData)
      #expect(other.title == "book 0")
      #expect(try Self.fetch(context)[0] === books[0])
    }
    #expect(try Self.fetch(context)[0] === books[0])
    books[1].persistentBackingData = books[0].persistentBackingData
    #expect(books[1].title == "book 0")
    #expect(try Self.fetch(context)[0] === books[0])
  }

  @Test(
    "an instance that was made by hand for a row without one holds it: the one that the row makes is safe")
  func madeByHand() throws {
    let context = ModelContext(try Self.container(1))
    var first: Book? = try Self.fetch(context)[0]
    let row = try #require(first).persistentBackingData
    first = nil
    var byHand: Book? = Book(backingData: row)
    var known: Book? = try Self.fetch(context)[0]
    #expect(known !== byHand)
    #expect(try Self.fetch(context)[0] === known)
    known = nil
    #expect(try Self.fetch(context)[0].title == "book 0")
    byHand = nil
    #expect(byHand == nil)
    let last = try Self.fetch(context)[0]
    #expect(try Self.fetch(context)[0] === last)
  }

  @Test("other threads let instances go while the context looks them up")
  func letGoElsewhere() async throws {
    let context = ModelContext(try Self.container(50))
    /// Addresses of instances that are handed over to be released, which any thread may do.
    final class Hands: Sendable {
      let books = Mutex<[UInt]>([])
      let isOver = Mutex(false)
    }
    let hands = Hands()
    let thread = Thread {
      while true {
        let isOver = hands.isOver.withLock { $0 }
        let taken = hands.books.withLock { books in
          let taken = books
          books = []
          return taken
        }
        for book in taken {
          // Unsafe: retained when it was handed over.
          UnsafeRawPointer(bitPattern: book).map { Unmanaged<Book>.fromOpaque($0).release() }
        }
        if isOver, taken.isEmpty { return }
      }
    }
    thread.start()
    for round in 0..<300 {
      let books = try Self.fetch(context)
      #expect(books.count == 50)
      for (number, book) in books.enumerated() {
        if book.pages != number { Issue.record("round \(round): \(book.title) has \(book.pages) pages") }
      }
      let handed = books.map { UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) }
      hands.books.withLock { $0 += handed }
    }
    hands.isOver.withLock { $0 = true }
    while !thread.isFinished { await Task.yield() }
    #expect(try Self.fetch(context).map(\.pages) == Array(0..<50))
  }
}
