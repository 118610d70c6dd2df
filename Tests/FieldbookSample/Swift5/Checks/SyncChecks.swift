import SwiftData
import Testing

@Suite("Fieldbook: devices that follow each other by their histories")
struct SyncChecks {
  private struct Device {
    let container: ModelContainer
    let context: ModelContext
    let engine: SyncEngine

    init(_ name: String, _ remote: RemoteStore, state: URL? = nil) async throws {
      container = try AppStore.inMemory()
      context = ModelContext(container)
      context.autosaveEnabled = false
      context.author = name
      engine = SyncEngine(modelContainer: container)
      await engine.connect(to: remote, as: name, remembering: state)
    }

    func add(_ note: String, tags: [String] = []) throws -> Sighting {
      let sighting = Sighting(note: note, date: SampleData.day(1))
      context.insert(sighting)
      sighting.tags = try tags.map { try TagRepository(context).tag(named: $0) }
      try context.save()
      return sighting
    }
  }

  @Test("What one device records, changes and deletes comes to the other")
  func following() async throws {
    let remote = RemoteStore()
    let one = try await Device("one", remote)
    let two = try await Device("two", remote)
    let sighting = try one.add("a kite", tags: ["rare"])
    let gone = try one.add("a mistake")
    #expect(try await one.engine.sync() == SyncEngine.Outcome(sent: 2, received: 0))
    #expect(try await two.engine.sync() == SyncEngine.Outcome(sent: 0, received: 2))
    #expect(try two.context.count(Sighting.self) == 2)

    sighting.note = "two kites"
    sighting.count = 2
    one.context.delete(gone)
    try one.context.save()
    #expect(try await one.engine.sync().sent == 2)
    _ = try await two.engine.sync()
    let followed = try #require(try two.context.all(Sighting.self).first)
    #expect(try two.context.count(Sighting.self) == 1)
    #expect(followed.note == "two kites" && followed.count == 2 && followed.uuid == sighting.uuid)
    #expect(followed.tags.map(\.name) == ["rare"])
  }

  @Test("What came from elsewhere is not sent back")
  func noEcho() async throws {
    let remote = RemoteStore()
    let one = try await Device("one", remote)
    let two = try await Device("two", remote)
    _ = try one.add("a kite")
    _ = try await one.engine.sync()
    _ = try await two.engine.sync()
    #expect(try await two.engine.sync() == SyncEngine.Outcome(sent: 0, received: 0))
    #expect(await remote.entries.count == 1)
  }

  @Test("Several changes of one sighting are sent once, as it is in the end")
  func coalescing() async throws {
    let remote = RemoteStore()
    let one = try await Device("one", remote)
    let sighting = try one.add("first")
    for number in 1...5 {
      sighting.count = number
      try one.context.save()
    }
    #expect(try await one.engine.sync().sent == 1)
    #expect(await remote.records[sighting.uuid]?.count == 5)
  }

  @Test("While the other side cannot be reached nothing is lost, and the state stays")
  func offline() async throws {
    let remote = RemoteStore()
    let one = try await Device("one", remote)
    _ = try one.add("a kite")
    await remote.setOffline(true)
    await #expect(throws: RemoteStore.Failure.self) { try await one.engine.sync() }
    _ = try one.add("an owl")
    await remote.setOffline(false)
    #expect(try await one.engine.sync().sent == 2)
  }

  @Test("The state is kept in a file: the next launch goes on where the last one ended")
  func remembering() async throws {
    let folder = try Folder()
    let remote = RemoteStore()
    let one = try await Device("one", remote, state: folder.file("state.json"))
    _ = try one.add("a kite")
    _ = try await one.engine.sync()
    let again = SyncEngine(modelContainer: one.container)
    await again.connect(to: remote, as: "one", remembering: folder.file("state.json"))
    #expect(try await again.sync().sent == 0)
    #expect(try SyncState.load(from: folder.file("state.json")).token != nil)
  }

  @Test("When the history was deleted everything is sent anew")
  func expired() async throws {
    let remote = RemoteStore()
    let one = try await Device("one", remote)
    _ = try one.add("a kite")
    _ = try await one.engine.sync()
    _ = try one.add("an owl")
    try one.context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    _ = try one.add("a rook")
    let outcome = try await one.engine.sync()
    #expect(outcome.wasComplete && outcome.sent == 3)
    #expect(try await one.engine.records().count == 3)
    #expect(await remote.records.count == 3)
  }
}
