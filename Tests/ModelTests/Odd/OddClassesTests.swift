import Foundation
import StrataModels
import Testing
import TortureKit
import struct StrataCore.Mutex

@Suite("Classes that a macro could stumble over", .serialized)
struct OddClassesTests {
  @Test("Properties with names of ManagedObject's methods, of parameters and of the language")
  func awkwardNames() async throws {
    let container = try await PersistentContainer(for: Awkward.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      let one = Awkward(context: context)
      one.value = 7
      one.object = "object"
      one.read = true
      one.class = "first"
      one.in = "here"
      one.identifiers = [4, 5]
      let two = Awkward(context: context)
      one.parts = [two]
      one.friends = [two]
      #expect(two.whole == one && two.friends == [one])
      try context.save()
      context.refreshAllObjects()
      #expect(one.value == 7 && one.read && one.class == "first" && one.in == "here")
      #expect(one.identifiers == [4, 5] && one.parts == [two] && two.friends == [one])
      let value = Awkward.Value(one)
      let decoded = try JSONDecoder().decode(Awkward.Value.self, from: JSONEncoder().encode(value))
      #expect(decoded == value && decoded.class == "first" && decoded.friends == [two.objectID])
      two.friends = []
      #expect(one.friends.isEmpty)
    }
  }

  @Test("A public class with properties that are less visible")
  func visibility() async throws {
    let container = try await PersistentContainer(for: Window.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      let window = Window(context: context)
      window.open()
      window.glass = .tinted
      try context.save()
      context.refreshAllObjects()
      #expect(window.opened == 1 && window.glass == .tinted && window.isSecret)
      let tinted = Glass.tinted
      #expect(try context.count(Window.self, where: #Predicate<Window> { $0.glass == tinted }) == 1)
    }
  }

  @Test("An ordered relationship to objects of an abstract class")
  func abstract() async throws {
    let container = try await PersistentContainer(
      for: Drawing.self, Circle.self, Square.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      let drawing = Drawing(context: context)
      let (circle, square) = (Circle(context: context), Square(context: context))
      circle.radius = 3
      drawing.shapes = [circle, square]
      try context.save()
      context.refreshAllObjects()
      #expect(drawing.shapes == [circle, square] && square.drawing == drawing)
      #expect(try context.fetch(Shape.self).count == 2)
      #expect((drawing.shapes.first as? Circle)?.radius == 3)
      drawing.shapes.swapAt(0, 1)
      drawing.shapes.removeLast()
      try context.save()
      #expect(circle.drawing == nil && drawing.shapes == [square])
    }
  }

  @Test("Classes inside of an enum, related many to many")
  func nested() async throws {
    let container = try await PersistentContainer(for: Garden.Bed.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      let beds = [Garden.Bed(context: context), Garden.Bed(context: context)]
      let plant = Garden.Plant(context: context)
      plant.name = "thyme"
      plant.beds = Set(beds)
      try context.save()
      beds[0].plants.remove(plant)
      try context.save()
      context.refreshAllObjects()
      #expect(plant.beds == [beds[1]])
    }
  }

  @Test("Two contexts that each append to an array keep both members")
  func appendsMerge() async throws {
    let container = try await PersistentContainer(for: Drawing.self, Circle.self, at: .inMemory)
    let (one, two) = (container.newBackgroundContext(), container.newBackgroundContext())
    let id = try await one.perform {
      let drawing = Drawing(context: one)
      drawing.shapes.append(Circle(context: one))
      try one.save()
      return drawing.objectID
    }
    for context in [one, two] {
      context.mergePolicy = .mergeByPropertyObjectTrump
      try await context.perform {
        let drawing = try #require(try context.existingObject(with: id) as? Drawing)
        drawing.shapes.append(Circle(context: context))
      }
    }
    try await one.perform { try one.save() }
    try await two.perform { try two.save() }
    try await one.perform {
      one.refreshAllObjects()
      let drawing = try #require(try one.existingObject(with: id) as? Drawing)
      #expect(drawing.shapes.count == 3)
    }
  }

  @Test("UUIDs and dates are made for each object, and what was set before the insertion stays")
  func initialValues() async throws {
    let container = try await PersistentContainer(for: Ticket.self, SpecialTicket.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      let before = Date.now
      let tickets = (0..<3).map { _ in Ticket(context: context) }
      #expect(Set(tickets.map(\.id)).count == 3)
      #expect(Set(tickets.map(\.number)).count == 3)
      #expect(tickets.allSatisfy { $0.made >= before && $0.place == Place(row: 4) })
      let loose = Ticket()
      let own = UUID()
      #expect(loose.id != tickets[0].id)
      loose.id = own
      context.insert(loose)
      #expect(loose.id == own)
      let copy = try context.insert(Ticket.Value(id: UUID(), number: 77))
      #expect(copy.number == 77)
      try context.save()
      let ids = tickets.map(\.id)
      context.refreshAllObjects()
      #expect(tickets.map(\.id) == ids && loose.id == own)
      #expect(try context.count(Ticket.self) == 5)
    }
  }

  @Test("JSON that a later version of a type cannot read is told, shows the default, and stays in the store")
  func changedShape() async throws {
    let container = try await PersistentContainer(for: Day.self, at: .inMemory)
    let context = container.newBackgroundContext()
    let failures = Failures()
    context.readFailureHandler = { failure in failures.note("\(failure)") }
    try await context.perform {
      let day = Day(context: context)
      day.mood = Mood(words: ["gay"])
      day.other = Mood(words: ["sad"])
      try context.save()
      context.refreshAllObjects()
      Mood.isLater.withLock { $0 = true }
      defer { Mood.isLater.withLock { $0 = false } }
      #expect(day.mood == Mood(words: ["new"]) && day.other == nil)
      #expect(failures.all.contains { $0.contains("mood") }, "\(failures.all)")
      // Something else is saved meanwhile.
      day.number = 5
      try context.save()
      context.refreshAllObjects()
      Mood.isLater.withLock { $0 = false }
      #expect(day.mood == Mood(words: ["gay"]) && day.other == Mood(words: ["sad"]) && day.number == 5)
    }
  }
}

/// What a context has told.
final class Failures: Sendable {
  private let told = Mutex<[String]>([])
  func note(_ text: String) { told.withLock { $0.append(text) } }
  var all: [String] { told.withLock { $0 } }
}
