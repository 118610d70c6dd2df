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

@Model
class Signatory {
  @Attribute(.unique) var name: String
  var age: Int
  init(name: String, age: Int) {
    self.name = name
    self.age = age
  }
}

@Model
final class Envoy: Signatory {
  var country: String
  init(_ name: String, of country: String) {
    self.country = country
    super.init(name: name, age: 1)
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

  @Test("S35, S57: one undo takes back that a new model has become a row, and one redo does it again")
  func undoOfUpsert() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let (old, new) = (day(1), day(2))
    let first = Author(name: "Ann", born: old)
    let kept = Book("Kept", author: first)
    context.insert(kept)
    try context.save()
    let manager = UndoManager()
    context.undoManager = manager
    let second = Author(name: "Ann", born: new)
    second.books = [Book("New")]
    context.insert(second)
    try context.save()
    func check(_ born: Date, _ titles: Set<String>) throws {
      for context in [context, ModelContext(container)] {
        let authors = try context.fetch(FetchDescriptor<Author>())
        #expect(authors.map(\.persistentModelID) == [first.persistentModelID])
        #expect(authors.map(\.born) == [born])
        #expect(Set(authors.flatMap(\.books).map(\.title)) == titles)
        #expect(try context.fetchCount(FetchDescriptor<Book>()) == titles.count)
      }
    }
    try check(new, ["Kept", "New"])
    // What is saved in between makes no difference.
    for _ in 0..<2 {
      manager.undo()
      #expect(!manager.canUndo && manager.canRedo)
      #expect(context.hasChanges && first.born == old && second.born == old)
      try context.save()
      try check(old, ["Kept"])
      manager.redo()
      #expect(manager.canUndo && !manager.canRedo && first.born == new)
      try context.save()
      try check(new, ["Kept", "New"])
    }
    // Both instances show the one row, as they have since the first save.
    #expect(second.persistentModelID == first.persistentModelID && second.modelContext === context)
  }

  @Test("S35, S57: changes in steps until a model becomes a row are taken back at once, others by themselves")
  func undoOfUpsertInSteps() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let first = Author(name: "Ann", born: day(1))
    context.insert(first)
    try context.save()
    let manager = UndoManager()
    context.undoManager = manager
    let second = Author(name: "Ann")
    context.insert(second)
    context.processPendingChanges()
    context.insert(Book("Beside"))
    context.processPendingChanges()
    first.born = day(2)
    context.processPendingChanges()
    second.born = day(3)
    context.processPendingChanges()
    #expect(manager.undoCount == 4)
    try context.save()
    #expect(first.born == day(3) && manager.undoCount == 2)
    func stored() throws -> [String] {
      let reader = ModelContext(container)
      return try reader.fetch(FetchDescriptor<Author>()).map {
        "\($0.name) \($0.born?.timeIntervalSinceReferenceDate ?? 0)"
      } + reader.fetch(FetchDescriptor<Book>()).map(\.title)
    }
    manager.undo()
    try context.save()
    #expect(try stored() == ["Ann 1.0", "Beside"])
    manager.undo()
    try context.save()
    #expect(try stored() == ["Ann 1.0"])
    #expect(!manager.canUndo && manager.redoCount == 2)
    manager.redo()
    try context.save()
    #expect(try stored() == ["Ann 1.0", "Beside"])
    manager.redo()
    try context.save()
    #expect(try stored() == ["Ann 3.0", "Beside"])
    #expect(!manager.canRedo && manager.undoCount == 2)
  }

  @Test("S35, S57: a row that made way for a changed model is back with what that was, after one undo")
  func undoOfMakingWay() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let (ann, bob) = (Author(name: "Ann", born: day(1)), Author(name: "Bob", born: day(2)))
    context.insert(Book("Of Ann", author: ann))
    context.insert(bob)
    try context.save()
    let manager = UndoManager()
    context.undoManager = manager
    bob.name = "Ann"
    try context.save()
    func check(_ expected: [String: Double]) throws {
      let found = try ModelContext(container).fetch(FetchDescriptor<Author>())
      let pairs = found.map { ($0.name, $0.born?.timeIntervalSinceReferenceDate ?? 0) }
      #expect(Dictionary(pairs) { $0 + $1 } == expected)
    }
    try check(["Ann": 2])
    for _ in 0..<2 {
      manager.undo()
      #expect(!manager.canUndo)
      try context.save()
      try check(["Ann": 1, "Bob": 2])
      #expect(ann.books.map(\.title) == ["Of Ann"] && bob.books.isEmpty)
      manager.redo()
      try context.save()
      try check(["Ann": 2])
      #expect(bob.books.map(\.title) == ["Of Ann"])
    }
  }

  @Test("S35, S57: what a model has made of a row is not undone by itself, when its insertion cannot be")
  func undoOfUpsertAlone() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let first = Author(name: "Ann", born: day(1))
    context.insert(first)
    try context.save()
    let manager = UndoManager()
    context.undoManager = manager
    manager.disableUndoRegistration()
    context.insert(Author(name: "Ann", born: day(2)))
    context.processPendingChanges()
    manager.enableUndoRegistration()
    try context.save()
    #expect(first.born == day(2) && !manager.canUndo)
    #expect(try context.fetchCount(FetchDescriptor<Author>()) == 1)
  }

  @Test("S57: a new model of a superclass leaves when a submodel's row gets its values, which it cannot show")
  func upsertIntoSubmodel() throws {
    let container = try ModelContainer(
      for: Signatory.self, Envoy.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let writer = ModelContext(container)
    writer.insert(Envoy("Ann", of: "NO"))
    try writer.save()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    // It keeps the row in memory, which nobody has asked for its instance.
    context.undoManager = UndoManager()
    let new = Signatory(name: "Ann", age: 7)
    context.insert(new)
    try context.save()
    #expect(new.modelContext == nil && new.name == "Ann" && new.age == 7)
    let found = try context.fetch(FetchDescriptor<Envoy>())
    #expect(found.map(\.country) == ["NO"] && found.map(\.age) == [7])
    context.undoManager?.undo()
    #expect(found.map(\.age) == [1] && new.modelContext == nil)
    #expect(try context.fetchCount(FetchDescriptor<Signatory>()) == 1)
  }

  private func day(_ number: Double) -> Date { Date(timeIntervalSinceReferenceDate: number) }

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
