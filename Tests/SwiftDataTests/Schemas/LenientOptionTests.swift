import SwiftData
import Testing

// What Apple's framework lets stand, and apps of its have.

private enum Lenient {
  typealias Tracks = [Track]

  @Model final class Record {
    #Unique<Record>([\.number], [])
    #Index<Record>([], [\.title])
    var number: Int
    var title = ""
    // By another name, so that the macro does not warn.
    @Relationship(.unique, deleteRule: .cascade, inverse: \Track.record?) var tracks: Tracks = []
    @Relationship(.unique) var sleeve: Sleeve?

    init(_ number: Int) { self.number = number }
  }

  @Model final class Track {
    var length = 0
    var record: Record?
    init() {}
  }

  @Model final class Sleeve {
    var colour = ""
    init() {}
  }

  @Model final class Wrong {
    @Relationship(inverse: \Track.length) var tracks: [Track] = []
    init() {}
  }
}

@Suite("What a schema leaves out instead of refusing it")
struct LenientOptionTests {
  private func container(for type: any PersistentModel.Type) throws -> ModelContainer {
    try ModelContainer(
      for: Schema([type]), configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  @Test("An empty group of #Unique or #Index, and .unique of a to-many relationship, say nothing")
  func nothing() throws {
    let container = try container(for: Lenient.Record.self)
    let entity = try #require(container.schema.entity(for: Lenient.Record.self))
    #expect(Set(entity.uniquenessConstraints) == [["number"], ["sleeve"]])
    #expect(entity.indices == [["title"]])
    let context = ModelContext(container)
    for number in [1, 2] {
      let record = Lenient.Record(number)
      context.insert(record)
      record.tracks = [Lenient.Track(), Lenient.Track()]
    }
    try context.save()
    context.insert(Lenient.Record(1))
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Lenient.Record>()) == 2)
    #expect(try context.fetchCount(FetchDescriptor<Lenient.Track>()) == 4)
  }

  @Test("An inverse may be named with the mark of an optional")
  func inverse() throws {
    let container = try container(for: Lenient.Record.self)
    let context = ModelContext(container)
    let (record, track) = (Lenient.Record(1), Lenient.Track())
    context.insert(record)
    record.tracks = [track]
    #expect(track.record === record)
    track.record = nil
    #expect(record.tracks.isEmpty)
  }

  @Test("An inverse that is an attribute is refused by its name")
  func attribute() {
    #expect {
      try container(for: Lenient.Wrong.self)
    } throws: { error in
      "\(error)".contains("names the inverse Track.length, which is no relationship of Track")
    }
  }
}
