import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("Values and the members in them are those of one commit")
struct OneCommitValueTests {
  @Test("Members are not newer than the values beside them, whoever saves in between")
  func members() async throws {
    let container = try await PersistentContainer(for: Book.self, at: .inMemory)
    try await container.background { context in
      for number in 0..<3 {
        let author = Author(context: context)
        author.name = "1"
        let book = Book(context: context)
        book.isbn = "first \(number)"
        book.author = author
      }
    }
    let values = try await container.performBackgroundTask { context in
      let writer = container.newBackgroundContext()
      return try BetweenReads.run(of: context) {
        try writer.performAndWait {
          for (number, author) in try writer.fetch(Author.self).enumerated() {
            let book = Book(context: writer)
            book.isbn = "second \(number)"
            book.author = author
            author.name = "2"
          }
          try writer.save()
        }
      } during: {
        try context.fetch(Author.Value.self)
      }
    }
    #expect(values.map(\.name) == ["1", "1", "1"])
    #expect(values.allSatisfy { $0.books.count == 1 })
  }
}
