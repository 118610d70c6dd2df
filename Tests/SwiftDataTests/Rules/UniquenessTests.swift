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

@Model
final class Album {
  var title: String
  @Relationship(deleteRule: .cascade, inverse: \Place.album) var places: [Place] = []
  init(_ title: String) { self.title = title }
}

/// Where a stamp is in an album.
@Model
final class Place {
  #Unique<Place>([\.album, \.number])
  var number: Int
  var stamp = "none"
  var album: Album?
  init(_ number: Int, in album: Album?) {
    self.number = number
    self.album = album
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

  @Test("S58: #Unique with a to-one relationship")
  func reference() throws {
    let container = try ModelContainer(
      for: Album.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let (old, new) = (Album("old"), Album("new"))
    for album in [old, new] { for number in 1...2 { context.insert(Place(number, in: album)) } }
    for _ in 0..<2 { context.insert(Place(1, in: nil)) }
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Place>()) == 6)
    let again = Place(2, in: old)
    again.stamp = "red"
    context.insert(again)
    try context.save()
    #expect(old.places.map(\.number).sorted() == [1, 2] && new.places.count == 2)
    let number = 2
    let red = try context.fetch(
      FetchDescriptor<Place>(predicate: #Predicate { $0.number == number && $0.stamp == "red" }))
    #expect(red.map(\.album?.title) == ["old"] && red.first?.persistentModelID == again.persistentModelID)
    // An edited one takes the place of the stored one.
    let moved = try #require(new.places.first { $0.number == 2 })
    moved.album = old
    try context.save()
    #expect(Set(old.places.map(\.persistentModelID)).count == 2 && new.places.map(\.number) == [1])
    #expect(old.places.contains { $0 === moved } && moved.stamp == "none")
    context.delete(old)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Place>()) == 3)
  }
}
