import StrataCore
import SwiftData
import Synchronization
import Testing

/// What the initial values of a class were evaluated for.
enum Evaluations {
  private static let count = Mutex(0)
  static func next() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
  static var number: Int { count.withLock { $0 } }
}

@Model
final class Admission {
  var number = Evaluations.next()
  var note: String?
  var title: String
  private(set) var stamps = 0
  var code: String!
  var mood = Mood.merry

  init(title: String) {
    self.title = title
    // All of self is there now: these go through the setters.
    self.title += "!"
    note = "\(number) \(self.title)"
  }
  func stamp() { stamps += 1 }
}

/// Codable by itself, and nevertheless a relationship where it is a property.
@Model
final class Wheel: Codable {
  var size: Int
  init(size: Int) { self.size = size }
  init(from decoder: any Decoder) throws { size = try decoder.singleValueContainer().decode(Int.self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(size)
  }
}

@Model
final class Cart {
  var front: Wheel?
  var others: [Wheel] = []
  init() {}
}

@Suite("Making models")
struct MakingTests {
  private func container() throws -> ModelContainer {
    try ModelContainer(
      for: Admission.self, Cart.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  @Test("S5, S11: assignments of an initialiser fill the object, and go through the setters when it is whole")
  func initialisers() throws {
    let ticket = Admission(title: "Opera")
    #expect(ticket.title == "Opera!")
    #expect(ticket.note == "\(ticket.number) Opera!")
    #expect(ticket.mood == .merry)
    let told = Mutex(0)
    withObservationTracking {
      _ = ticket.title
    } onChange: {
      told.withLock { $0 += 1 }
    }
    ticket.title = "Ballet"
    #expect(told.withLock { $0 } == 1)
  }

  @Test("S10, S12: neither the initialiser nor initial values touch what is fetched")
  func fetched() throws {
    let container = try container()
    let first = ModelContext(container)
    let ticket = Admission(title: "Opera")
    first.insert(ticket)
    try first.save()
    let context = ModelContext(container)
    let same = try #require(try context.fetch(FetchDescriptor<Admission>()).first)
    #expect(same.number == ticket.number)
    #expect(same.title == "Opera!")
    #expect(!context.hasChanges)
    #expect(context.insertedModelsArray.isEmpty)
  }

  @Test("S8, R9: metadata are read once for each class, and new objects have values of their own")
  func initialValues() throws {
    _ = Schema([Admission.self])
    let before = Evaluations.number
    for _ in 0..<3 { _ = Schema([Admission.self]) }
    #expect(Evaluations.number == before)
    #expect(Admission(title: "a").number != Admission(title: "b").number)
  }

  @Test("R5: key paths to properties of every kind: private setters, inferred types, implicitly unwrapped")
  func keyPaths() throws {
    let names = Schema([Admission.self]).entitiesByName["Admission"]?.storedProperties.map(\.name)
    #expect(names == ["number", "note", "title", "stamps", "code", "mood"])
    let context = ModelContext(try container())
    let ticket = Admission(title: "a")
    context.insert(ticket)
    ticket.stamp()
    ticket.code = "x"
    try context.save()
    let found = try ModelContext(context.container).fetch(
      FetchDescriptor<Admission>(predicate: #Predicate { $0.stamps == 1 && $0.code == "x" }))
    #expect(found.first?.code == "x")
  }

  @Test("R7: a model that is Codable is a relationship all the same")
  func codableModels() throws {
    let entity = try #require(Schema([Cart.self]).entitiesByName["Cart"])
    #expect(entity.relationships.map(\.name).sorted() == ["front", "others"])
    let context = ModelContext(try container())
    let cart = Cart()
    cart.front = Wheel(size: 3)
    cart.others = [Wheel(size: 1), Wheel(size: 2)]
    context.insert(cart)
    try context.save()
    let other = ModelContext(context.container)
    let same = try #require(try other.fetch(FetchDescriptor<Cart>()).first)
    #expect(same.front?.size == 3)
    #expect(Set(same.others.map(\.size)) == [1, 2])
  }

  @Test("S86: a schema can be looked at, kept and compared")
  func schemas() throws {
    let schema = Schema([Book.self], version: Schema.Version(1, 2, 0))
    let author = try #require(schema.entitiesByName["Author"])
    let books = try #require(author.relationshipsByName["books"])
    #expect(books.inverseName == "author")
    #expect(books.inverseKeyPath == \Book.author)
    #expect(books.deleteRule == .cascade)
    #expect(author.uniquenessConstraints == [["name"]])
    #expect(author.attributesByName["born"]?.isOptional == true)
    let read = try JSONDecoder().decode(Schema.self, from: JSONEncoder().encode(schema))
    #expect(read == schema)
    #expect(Set([read, schema]).count == 1)
    #expect(Schema.Version(1, 2, 0) < Schema.Version(1, 10, 0))
  }
}
