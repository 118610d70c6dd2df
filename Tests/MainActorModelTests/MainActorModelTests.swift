import SwiftData
import Testing
import struct StrataCore.Mutex

@Suite("Models where the main actor is the default")
struct MainActorModelTests {
  private func container() throws -> ModelContainer {
    try ModelContainer(
      for: Line.self, Terminus.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  @Test("R8: a class of the main actor and an actor work with models of their contexts")
  func actors() async throws {
    let container = try container()
    let surveyor = Surveyor(modelContainer: container)
    let id = try await surveyor.add("Blue", stops: ["Harbour", "Square"])
    #expect(await surveyor.platforms(of: id) == [2])
    let timetable = Timetable(container)
    try timetable.load()
    let line = try #require(timetable.lines.first)
    #expect(line.name == "Blue" && line.colour == nil)
    #expect(names(of: line) == ["End", "Harbour", "Square"])
    line.colour = "blue"
    try timetable.context.save()
    #expect(try ModelContext(container).fetch(FetchDescriptor<Line>()).map(\.colour) == ["blue"])
  }

  @Test("R8: a draft of the main actor's code is observed, inserted and deleted with what belongs to it")
  func drafts() throws {
    let line = Line(name: "Red")
    line.stops = [Stop("Gate", zone: 2), Terminus("Hill", platforms: 4)]
    let told = Mutex(0)
    withObservationTracking {
      _ = line.name
    } onChange: {
      told.withLock { $0 += 1 }
    }
    line.name = "Ruby"
    #expect(told.withLock { $0 } == 1)
    let context = try container().mainContext
    context.insert(line)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Stop>(predicate: #Predicate { $0.zone == 2 })) == 1)
    context.delete(line)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Stop>()) == 0)
  }
}
