import Foundation
import Testing

@testable import Bookshelf

@Suite("The example Bookshelf")
struct BookshelfTests {
  @Test(
    "Fills a shelf, lists it, writes it as JSON; half of the JSON goes into the shelf again under other numbers"
  )
  func example() async throws {
    let shelf = try await Bookshelf(at: .inMemory)
    #expect(try await shelf.titles() == [])
    try await shelf.fill()
    #expect(
      try await shelf.titles() == [
        "1815 Jane Austen: Emma, 3 chapters, audio", "1861 George Eliot: Silas Marner, 0 chapters, paper",
        "1871 George Eliot: Middlemarch, 2 chapters, paper",
      ])
    let text = String(decoding: try await shelf.json(), as: UTF8.self)
    #expect(text.contains(#""title" : "Emma""#))
    try await shelf.add(Data(#"[{"isbn": "4", "title": "Persuasion", "published": 1817}]"#.utf8))
    #expect(try await shelf.titles().contains("1817 anonymous: Persuasion, 0 chapters, paper"))
    await #expect(throws: (any Error).self) {
      try await shelf.add(Data(#"[{"isbn": "5", "title": "Lady Susan"}, {"isbn": "6", "title": ""}]"#.utf8))
    }
    #expect(try await shelf.titles().count == 4)
  }
}
