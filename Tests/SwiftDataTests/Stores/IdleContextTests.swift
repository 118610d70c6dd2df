@testable import StrataCore
import SwiftData
import Testing

/// Contexts that nobody uses for long (rule S37, beyond).
@Suite("Idle contexts")
struct IdleContextTests {
  @Test("what waits for an idle context is bounded, and it shows the newest values when it is used again")
  func bounded() throws {
    let container = try ModelContainer(
      for: Book.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let idle = ModelContext(container)
    let book = Book("One", pages: 1)
    idle.insert(book)
    try idle.save()
    let writer = ModelContext(container)
    let there = try #require(try writer.fetch(FetchDescriptor<Book>()).first)
    for round in 0..<12 {
      for number in 0..<1_000 { writer.insert(Book("\(round).\(number)")) }
      there.pages = 2 + round
      try writer.save()
    }
    let inbox = try #require(idle.managedObjectContext.inbox)
    #expect(inbox.weight <= CommitInbox.mostRows)
    // Some of it came after what is forgotten.
    #expect(inbox.weight > 0)
    #expect(try idle.fetchCount(FetchDescriptor<Book>()) == 12_001)
    #expect(book.pages == 13)
    #expect(inbox.weight == 0)
  }

  @Test(
    "unsaved values stay beside what siblings have saved, whether that was kept or is read again",
    arguments: [10, CommitInbox.mostRows])
  func unsavedValuesStay(count: Int) throws {
    let container = try ModelContainer(
      for: Book.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let idle = ModelContext(container)
    let (book, second) = (Book("One", pages: 1), Book("Two"))
    idle.insert(book)
    idle.insert(second)
    try idle.save()
    book.title = "Mine"
    let writer = ModelContext(container)
    let found = try writer.fetch(FetchDescriptor<Book>())
    found.first { $0.title == "One" }?.pages = 5
    found.filter { $0.title == "Two" }.forEach { writer.delete($0) }
    for number in 0..<count { writer.insert(Book("\(number)")) }
    try writer.save()
    #expect((idle.managedObjectContext.inbox?.weight == 0) == (count == CommitInbox.mostRows))
    #expect(try idle.fetchCount(FetchDescriptor<Book>()) == count + 1)
    #expect(book.title == "Mine")
    #expect(book.pages == 5)
    try idle.save()
    #expect(try writer.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.title == "Mine" })).count == 1)
  }
}
