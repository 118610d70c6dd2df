import SwiftData
import Testing
import struct StrataCore.Mutex

@Suite("Observation of models")
struct ObservationTests {
  private func container() throws -> ModelContainer {
    try ModelContainer(
      for: Gauge.self, Journey.self, Flight.self, Book.self,
      configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  /// How often an observer is told who has read `read`, of each of the changes.
  private func told(of read: () -> Void, by changes: (() throws -> Void)...) throws -> [Int] {
    let number = Mutex(0)
    withObservationTracking(read) { number.withLock { $0 += 1 } }
    return try changes.map { change in
      try change()
      return number.withLock { $0 }
    }
  }

  @Test("S18: of a draft the property that was read, once, also when it was inserted meanwhile")
  func draft() throws {
    let gauge = Gauge(1)
    #expect(
      try told(of: { _ = gauge.text }, by: { gauge.whole = 2 }, { gauge.text = "a" }, { gauge.text = "b" })
        == [0, 1, 1])
    // Nobody observes any more.
    gauge.text = "c"
    let context = ModelContext(try container())
    let inserted = try told(
      of: { _ = gauge.noText }, by: { context.insert(gauge) }, { gauge.text = "d" }, { gauge.noText = "e" })
    #expect(inserted == [0, 0, 1])
    #expect(gauge.noText == "e")
  }

  @Test(
    "S18: of a row each property by itself, whatever its type",
    arguments: [false, true])
  func row(isFetched: Bool) throws {
    let container = try container()
    let context = ModelContext(container)
    let made = Gauge(1)
    context.insert(made)
    try context.save()
    let other = ModelContext(container)
    let gauge = isFetched ? try #require(try other.fetch(FetchDescriptor<Gauge>()).first) : made
    #expect(try told(of: { _ = gauge.text }, by: { gauge.whole = 2 }, { gauge.text = "a" }) == [0, 1])
    #expect(try told(of: { _ = gauge.whole }, by: { gauge.text = "b" }, { gauge.whole = 3 }) == [0, 1])
    #expect(try told(of: { _ = gauge.truth }, by: { gauge.real = 3 }, { gauge.truth = false }) == [0, 1])
    #expect(try told(of: { _ = gauge.noReal }, by: { gauge.real = 4 }, { gauge.noReal = 1 }) == [0, 1])
    #expect(try told(of: { _ = gauge.mood }, by: { gauge.level = 3 }, { gauge.mood = .sad }) == [0, 1])
    #expect(try told(of: { _ = gauge.packed }, by: { gauge.level = 4 }, { gauge.packed = "x" }) == [0, 1])
    #expect(try told(of: { _ = (gauge.text, gauge.level) }, by: { gauge.level = 5 }) == [1])
  }

  @Test("S18: what rollback, another context and an undo manager bring is told")
  func fromBelow() throws {
    let container = try container()
    let context = ModelContext(container)
    let gauge = Gauge(1)
    context.insert(gauge)
    try context.save()
    gauge.text = "changed"
    #expect(try told(of: { _ = gauge.text }, by: { context.rollback() }) == [1])
    #expect(gauge.text == "text 1")
    context.undoManager = UndoManager()
    gauge.text = "changed again"
    context.processPendingChanges()
    for (step, text) in [
      ({ context.undoManager?.undo() }, "text 1"), ({ context.undoManager?.redo() }, "changed again"),
    ] {
      let told = try told(
        of: { _ = gauge.text },
        by: {
          step()
          context.processPendingChanges()
        })
      #expect(told == [1])
      #expect(gauge.text == text)
    }
    context.rollback()
    context.undoManager = nil
    let other = ModelContext(container)
    let same = try #require(try other.fetch(FetchDescriptor<Gauge>()).first)
    let merged = try told(
      of: { _ = gauge.text },
      by: {
        same.whole = 9
        try other.save()
        context.processPendingChanges()
      },
      {
        same.text = "theirs"
        try other.save()
        context.processPendingChanges()
      })
    #expect(merged == [0, 1])
    #expect(gauge.text == "theirs")
  }

  @Test("S18, K7: of a dead model")
  func dead() throws {
    let context = ModelContext(try container())
    let gauge = Gauge(1)
    context.insert(gauge)
    try context.save()
    context.delete(gauge)
    try context.save()
    #expect(gauge.modelContext == nil)
    #expect(try told(of: { _ = gauge.text }, by: { gauge.whole = 3 }, { gauge.text = "a" }) == [0, 1])
    #expect(gauge.text == "a")
  }

  @Test("S18, S20: of a submodel, what it inherits and what is its own")
  func submodel() throws {
    let context = ModelContext(try container())
    let flight = Flight("KL", to: "Oslo", miles: 5)
    for isDraft in [true, false] {
      if !isDraft { context.insert(flight) }
      #expect(
        try told(
          of: { _ = flight.goal }, by: { flight.carrier = "A\(isDraft)" }, { flight.goal = "B\(isDraft)" })
          == [0, 1])
      #expect(
        try told(
          of: { _ = flight.carrier }, by: { flight.goal = "C\(isDraft)" }, { flight.carrier = "D\(isDraft)" })
          == [0, 1])
    }
  }

  @Test("S18: of relationships, from both of their ends")
  func relationships() throws {
    let context = ModelContext(try container())
    let (author, book) = (Author(name: "Ann"), Book("One"))
    context.insert(author)
    context.insert(book)
    #expect(
      try told(
        of: { _ = author.books.count }, by: { author.born = .distantPast },
        {
          book.author = author
          // What comes from the other end is told when the event is over.
          context.processPendingChanges()
        }) == [0, 1])
    #expect(try told(of: { _ = book.author }, by: { author.books = [] }) == [1])
  }

  @Test("S2: access and withMutation stand for a property that the class computes")
  func byHand() throws {
    let gauge = Gauge(1)
    let told = try told(
      of: { gauge.access(keyPath: \.values) }, by: { gauge.withMutation(keyPath: \.values) {} })
    #expect(told == [1])
  }
}
