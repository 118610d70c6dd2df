import SwiftData
import Testing

@Model private final class Priced {
  struct Line: Codable {
    var price: Decimal
    var share: Double
    var name: String
  }
  var prices: [Decimal] = []
  var byName: [String: Decimal] = [:]
  var lines: [Line] = []
  init() {}
}

@Suite("Values")
struct ValueTests {
  private func fill(_ all: Everything) {
    all.int = .min
    all.int8 = -128
    all.int16 = .max
    all.int32 = .min
    all.int64 = .max
    all.uint = .max
    all.uint8 = 255
    all.uint16 = .max
    all.uint32 = .max
    all.uint64 = .max - 1
    all.float = 1.5
    all.double = -.pi
    all.decimal = Decimal(string: "12345678901234567890.123") ?? 0
    all.bool = true
    all.string = "Grüße, 世界"
    all.date = Date(timeIntervalSinceReferenceDate: 1234.5)
    all.data = Data([1, 2, 3])
    all.uuid = UUID(uuid: (9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6))
    all.url = URL(string: "https://swift.org/a?b=c") ?? all.url
    all.optionalInt = 0
    all.optionalString = ""
    all.optionalDate = Date(timeIntervalSinceReferenceDate: -1)
    all.optionalUUID = all.uuid
    all.ints = [3, 1, 2]
    all.optionalInts = [1, nil, 3]
    all.strings = ["b", "a", ""]
    all.dictionary = ["one": 1, "two": 2]
    all.mood = .merry
    all.optionalMood = .sad
    all.address = Residence(street: "Main 1", city: "Oslo", zip: 150)
    all.optionalAddress = Residence(street: "", city: "Rome", zip: nil)
    all.payment = .card(number: "42", month: 7)
    all.payments = [.cash, .card(number: "1", month: 1)]
    all.picture = Data(repeating: 7, count: 300_000)
  }

  private func check(_ all: Everything) {
    #expect(all.int == .min)
    #expect(all.int8 == -128)
    #expect(all.int16 == .max)
    #expect(all.int32 == .min)
    #expect(all.int64 == .max)
    #expect(all.uint == .max)
    #expect(all.uint8 == 255)
    #expect(all.uint16 == .max)
    #expect(all.uint32 == .max)
    #expect(all.uint64 == UInt64.max - 1)
    #expect(all.float == 1.5)
    #expect(all.double == -.pi)
    #expect(all.decimal == Decimal(string: "12345678901234567890.123"))
    #expect(all.bool)
    #expect(all.string == "Grüße, 世界")
    #expect(all.date == Date(timeIntervalSinceReferenceDate: 1234.5))
    #expect(all.data == Data([1, 2, 3]))
    #expect(all.uuid == UUID(uuid: (9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6)))
    #expect(all.url.absoluteString == "https://swift.org/a?b=c")
    #expect(all.optionalInt == 0)
    #expect(all.optionalString == "")
    #expect(all.optionalDate == Date(timeIntervalSinceReferenceDate: -1))
    #expect(all.optionalUUID == all.uuid)
    #expect(all.ints == [3, 1, 2])
    #expect(all.optionalInts == [1, nil, 3])
    #expect(all.strings == ["b", "a", ""])
    #expect(all.dictionary == ["one": 1, "two": 2])
    #expect(all.mood == .merry)
    #expect(all.optionalMood == .sad)
    #expect(all.address == Residence(street: "Main 1", city: "Oslo", zip: 150))
    #expect(all.optionalAddress == Residence(street: "", city: "Rome", zip: nil))
    #expect(all.payment == .card(number: "42", month: 7))
    #expect(all.payments == [.cash, .card(number: "1", month: 1)])
    #expect(all.picture == Data(repeating: 7, count: 300_000))
  }

  @Test("S67, S68, S69, S72, K13: every type of value comes back as it was, from a draft, a row and a file")
  func roundTrip() throws {
    let folder = try Folder()
    let configuration = ModelConfiguration(url: folder.file())
    do {
      let container = try ModelContainer(for: Everything.self, configurations: configuration)
      let context = ModelContext(container)
      let all = Everything()
      fill(all)
      check(all)
      context.insert(all)
      check(all)
      let empty = Everything()
      empty.string = "empty"
      context.insert(empty)
      try context.save()
      check(all)
      // Set again as a row.
      empty.string = "filled"
      fill(empty)
      check(empty)
      try context.save()
    }
    let context = ModelContext(try ModelContainer(for: Everything.self, configurations: configuration))
    let found = try context.fetch(FetchDescriptor<Everything>())
    #expect(found.count == 2)
    for all in found { check(all) }
    found[0].optionalInt = nil
    found[0].optionalString = nil
    found[0].optionalMood = nil
    found[0].optionalAddress = nil
    found[0].picture = nil
    try context.save()
    let again = try #require(
      try ModelContext(context.container).fetch(
        FetchDescriptor<Everything>(predicate: #Predicate { $0.optionalString == nil })
      ).first)
    #expect(again.optionalInt == nil)
    #expect(again.optionalMood == nil)
    #expect(again.optionalAddress == nil)
    #expect(again.picture == nil)
  }

  @Test("S68: a Decimal that is no number comes back from JSON, too")
  func decimalNaN() throws {
    let container = try ModelContainer(
      for: Priced.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let priced = Priced()
    priced.prices = [1.5, .nan]
    priced.byName = ["'NaN' / \"x\" [[": .nan]
    priced.lines = [Priced.Line(price: .nan, share: .infinity, name: "NaN")]
    context.insert(priced)
    try context.save()
    let found = try #require(try ModelContext(container).fetch(FetchDescriptor<Priced>()).first)
    #expect(found.prices.count == 2)
    #expect(found.prices.first == 1.5)
    #expect(found.prices.last?.isNaN == true)
    #expect(found.byName.keys.first == "'NaN' / \"x\" [[")
    #expect(found.byName.values.first?.isNaN == true)
    #expect(found.lines.first?.price.isNaN == true)
    #expect(found.lines.first?.share == .infinity)
    #expect(found.lines.first?.name == "NaN")
  }

  @Test("S69: unsigned numbers are ordered by their value")
  func unsignedOrder() throws {
    let context = ModelContext(try makeContainer())
    for number in [UInt.max, 0, UInt(Int.max), UInt(Int.max) + 1] {
      let all = Everything()
      all.uint = number
      context.insert(all)
    }
    try context.save()
    let found = try context.fetch(FetchDescriptor<Everything>(sortBy: [SortDescriptor(\.uint)])).map(\.uint)
    #expect(found == [0, UInt(Int.max), UInt(Int.max) + 1, .max])
    let limit = UInt(Int.max)
    #expect(
      try context.fetchCount(FetchDescriptor<Everything>(predicate: #Predicate { $0.uint > limit })) == 2)
  }

  @Test("S72: an ephemeral attribute is tracked and not stored")
  func ephemeral() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let all = Everything()
    context.insert(all)
    try context.save()
    all.session = "open"
    #expect(context.hasChanges)
    #expect(all.session == "open")
    try context.save()
    let there = try #require(try ModelContext(container).fetch(FetchDescriptor<Everything>()).first)
    #expect(there.session == nil)
  }

  @Test("S17: a transient property belongs to the instance")
  func transient() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let book = Book("One")
    context.insert(book)
    try context.save()
    book.scratch = 5
    #expect(!context.hasChanges)
    #expect(try context.fetch(FetchDescriptor<Book>()).first?.scratch == 5)
    #expect(try ModelContext(container).fetch(FetchDescriptor<Book>()).first?.scratch == 0)
  }

  @Test("S18: observers are told of setters, of the other end, of rollbacks and of merges")
  func observation() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    context.insert(book)
    try context.save()
    func told(_ read: () -> Void, _ change: () throws -> Void) rethrows -> Bool {
      let log = Log()
      withObservationTracking(read) { log.entries.append("") }
      try change()
      return !log.entries.isEmpty
    }
    #expect(told({ _ = book.title }, { book.title = "Two" }))
    #expect(!told({ _ = book.title }, { book.pages = 3 }))
    #expect(told({ _ = author.books }, { book.author = nil }))
    #expect(told({ _ = book.title }, { context.rollback() }))
    #expect(book.title == "One")
    let other = ModelContext(container)
    let there = try #require(try other.fetch(FetchDescriptor<Book>()).first)
    let merged = try told({ _ = book.title }) {
      there.title = "Three"
      try other.save()
      _ = try context.fetchCount(FetchDescriptor<Book>())
    }
    #expect(merged)
    let draft = Book("Draft")
    #expect(told({ _ = draft.title }, { draft.title = "Other" }))
  }
}
