import Foundation
import StrataModels

/// A shelf of books in a store: the example of a model that macros write. Puts books in, asks, changes, and writes them out as JSON.
///
///     swift run Bookshelf [file, default: a store in memory]
@main
struct Bookshelf {
  let container: PersistentContainer

  static func main() async throws {
    let shelf =
      if CommandLine.arguments.count > 1 {
        try await Bookshelf(
          at: PersistentStoreDescription(url: URL(fileURLWithPath: CommandLine.arguments[1])))
      } else {
        try await Bookshelf(at: .inMemory)
      }
    if try await shelf.titles().isEmpty { try await shelf.fill() }
    for title in try await shelf.titles() { print(title) }
    print(String(decoding: try await shelf.json(), as: UTF8.self))
  }

  init(at description: PersistentStoreDescription) async throws {
    container = try await PersistentContainer(for: Book.self, Author.self, Chapter.self, at: description)
  }

  /// Puts three books of two authors on the shelf.
  func fill() async throws {
    try await container.performBackgroundTask { context in
      let eliot = Author(context: context)
      eliot.name = "George Eliot"
      let austen = Author(context: context)
      austen.name = "Jane Austen"
      for (isbn, title, year, author, headings) in [
        ("1", "Middlemarch", 1871, eliot, ["Miss Brooke", "Old and Young"]),
        ("2", "Emma", 1815, austen, ["Volume I", "Volume II", "Volume III"]),
        ("3", "Silas Marner", 1861, eliot, []),
      ] {
        let book = Book(context: context)
        book.isbn = isbn
        book.title = title
        book.published = Int16(year)
        book.author = author
        book.format = title == "Emma" ? .audio : .paper
        for (number, heading) in headings.enumerated() {
          let chapter = Chapter(context: context)
          chapter.heading = heading
          chapter.pages = Int32(100 + number)
          chapter.book = book
        }
      }
      try context.save()
    }
  }

  /// A line for each book, the oldest first.
  func titles() async throws -> [String] {
    try await container.performBackgroundTask { context in
      try context.fetch(Book.self, sortedBy: \.published).map { book in
        "\(book.published) \(book.author?.name ?? "anonymous"): \(book.title), \(book.length) chapters, \(book.format)"
      }
    }
  }

  /// All books as JSON, the oldest first.
  func json() async throws -> Data {
    let values = try await container.performBackgroundTask { context in
      try context.fetch(Book.self, sortedBy: \.published).map(\.value)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(values)
  }

  /// Puts books from JSON on the shelf. On a failure none of them is.
  func add(_ data: Data) async throws {
    let values = try JSONDecoder().decode([Book.Value].self, from: data)
    try await container.performBackgroundTask { context in
      for value in values { try context.insert(value) }
      try context.save()
    }
  }
}
