import SwiftData

@Model
final class Author {
  @Attribute(.unique) var name: String
  var born: Date?
  @Relationship(deleteRule: .cascade, inverse: \Book.author) var books: [Book] = []

  init(name: String, born: Date? = nil) {
    self.name = name
    self.born = born
  }
}

enum Mood: String, Codable, CaseIterable { case calm, merry, sad }

struct Residence: Codable, Equatable {
  var street: String
  var city: String
  var zip: Int?
}

enum Payment: Codable, Equatable {
  case cash
  case card(number: String, month: Int)
}

@Model
final class Book {
  var title: String
  var pages = 0
  var rating: Double?
  var mood = Mood.calm
  var published: Date = Date(timeIntervalSinceReferenceDate: 0)
  var author: Author?
  var tags: [Tag] = []
  var notes: [Note]? = []
  @Transient var scratch = 0

  init(_ title: String, pages: Int = 0, author: Author? = nil) {
    self.title = title
    self.pages = pages
    self.author = author
  }
}

@Model
final class Tag {
  var label: String
  @Relationship(inverse: \Book.tags) var books: [Book] = []
  init(_ label: String) { self.label = label }
}

@Model
final class Note {
  var text: String
  var book: Book?
  init(_ text: String, book: Book? = nil) {
    self.text = text
    self.book = book
  }
}

/// A relationship that keeps its owner from being deleted, and one that must have some members.
@Model
final class Shelf {
  var name: String
  @Relationship(deleteRule: .deny, inverse: \Item.shelf) var items: [Item] = []
  init(_ name: String) { self.name = name }
}

@Model
final class Item {
  var name: String
  var shelf: Shelf?
  @Relationship(minimumModelCount: 0, maximumModelCount: 2) var parts: [Part] = []
  init(_ name: String) { self.name = name }
}

@Model
final class Part {
  var name: String
  init(_ name: String) { self.name = name }
}

/// Everything that an attribute may hold.
@Model
final class Everything {
  var int = 0
  var int8: Int8 = 0
  var int16: Int16 = 0
  var int32: Int32 = 0
  var int64: Int64 = 0
  var uint: UInt = 0
  var uint8: UInt8 = 0
  var uint16: UInt16 = 0
  var uint32: UInt32 = 0
  var uint64: UInt64 = 0
  var float: Float = 0
  var double = 0.0
  var decimal = Decimal(0)
  var bool = false
  var string = ""
  var date = Date(timeIntervalSinceReferenceDate: 0)
  var data = Data()
  var uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
  var url = URL(string: "https://example.org")!  // A constant text that is a URL.
  var optionalInt: Int?
  var optionalString: String?
  var optionalDate: Date?
  var optionalUUID: UUID?
  var ints: [Int] = []
  var optionalInts: [Int?] = []
  var strings: [String] = []
  var dictionary: [String: Int] = [:]
  var mood = Mood.calm
  var optionalMood: Mood?
  var address = Residence(street: "", city: "", zip: nil)
  var optionalAddress: Residence?
  var payment = Payment.cash
  var payments: [Payment] = []
  @Attribute(.externalStorage) var picture: Data?
  @Attribute(.ephemeral) var session: String?
  init() {}
}

func makeContainer() throws -> ModelContainer {
  try ModelContainer(
    for: Book.self, Shelf.self, Everything.self,
    configurations: ModelConfiguration(isStoredInMemoryOnly: true))
}

/// A folder that is gone when it is let go.
final class Folder {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent(
    "SwiftDataTests-\(UUID().uuidString)")
  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: url) }
  func file(_ name: String = "Library.store") -> URL { url.appendingPathComponent(name) }
}
