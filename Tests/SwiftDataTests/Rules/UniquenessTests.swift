import SwiftData
import Testing

@Model
final class Stamp {
  #Unique<Stamp>([\.country, \.number])
  #Index<Stamp>([\.year])
  var country: String
  var number: Int
  var year: Int?
  var label = "none"
  init(_ country: String, _ number: Int, year: Int? = nil) {
    self.country = country
    self.number = number
    self.year = year
  }
}

@Suite("Uniqueness")
struct UniquenessTests {
  @Test(
    "S57: two models with equal unique values are both there until the save leaves one, under the identifier that was there"
  )
  func upsert() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let first = Author(name: "Ann", born: Date(timeIntervalSinceReferenceDate: 1))
    first.books = [Book("Kept")]
    context.insert(first)
    try context.save()
    let identifier = first.persistentModelID
    let second = Author(name: "Ann")
    context.insert(second)
    #expect(try context.fetchCount(FetchDescriptor<Author>()) == 2)
    try context.save()
    let found = try context.fetch(FetchDescriptor<Author>())
    #expect(found.map(\.persistentModelID) == [identifier])
    // S58: what the new model did not set overwrites what was stored.
    #expect(found.first?.born == nil)
    #expect(second.persistentModelID == identifier)
    #expect(second.name == "Ann")
    second.born = Date(timeIntervalSinceReferenceDate: 2)
    #expect(first.born == Date(timeIntervalSinceReferenceDate: 2))
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Author>()) == 1)
  }

  @Test("S57, K10, D2: of several new models the last one wins, and all of them read one row")
  func pendingDuplicates() throws {
    let context = ModelContext(try makeContainer())
    let one = Author(name: "Ann", born: Date(timeIntervalSinceReferenceDate: 1))
    let two = Author(name: "Ann", born: Date(timeIntervalSinceReferenceDate: 2))
    context.insert(one)
    context.insert(two)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Author>()) == 1)
    #expect(one.persistentModelID == two.persistentModelID)
    #expect(one.born == Date(timeIntervalSinceReferenceDate: 2))
    #expect(two.born == Date(timeIntervalSinceReferenceDate: 2))
  }

  @Test("S58, U8: #Unique over several attributes, and nil is equal to nothing")
  func compound() throws {
    let container = try ModelContainer(
      for: Stamp.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    context.insert(Stamp("NO", 1, year: 1900))
    context.insert(Stamp("NO", 2, year: 1900))
    try context.save()
    let again = Stamp("NO", 1, year: 1950)
    again.label = "red"
    context.insert(again)
    try context.save()
    let found = try context.fetch(FetchDescriptor<Stamp>(sortBy: [SortDescriptor(\.number)]))
    #expect(found.map(\.year) == [1950, 1900])
    #expect(found.first?.label == "red")
  }
}
