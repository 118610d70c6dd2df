import SwiftData
import Testing
import struct StrataCore.Mutex

@Suite("Observers of results and of history")
@MainActor
struct ObserverTests {
  private func makeContainer() throws -> ModelContainer {
    try ModelContainer(for: Voyage.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  /// Waits until something that is told some time later is so.
  private func until(_ what: String, _ isSo: () -> Bool) async {
    for _ in 0..<2_000 {
      if isSo() { return }
      try? await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("\(what) did not come")
  }

  @Test("ResultsObserver follows the saves of siblings, of actors and of batches")
  func results() async throws {
    let container = try makeContainer()
    let observer = try ResultsObserver(
      filterBy: #Predicate<Voyage> { $0.name < "x" }, sortBy: [SortDescriptor(\.name)],
      modelContainer: container)
    #expect(observer.modelContext === container.mainContext)
    #expect(observer.results.isEmpty)
    #expect(observer.sections == nil)
    let told = Mutex(0)
    withObservationTracking {
      _ = observer.results
    } onChange: {
      told.withLock { $0 += 1 }
    }
    let context = ModelContext(container)
    for name in ["b", "a", "z"] { context.insert(Voyage(name)) }
    try context.save()
    await until("the change") { told.withLock { $0 } == 1 }
    #expect(observer.results.map(\.name) == ["a", "b"])
    let id = try await Navigator(modelContainer: container).add("c", legs: [])
    await until("the third") { observer.results.count == 3 }
    let third = try #require(observer.element(at: IndexPath(indexes: [0, 2])))
    #expect(third.persistentModelID == id)
    #expect(observer.indexPath(for: third) == IndexPath(indexes: [0, 2]))
    #expect(observer.element(at: IndexPath(indexes: [0, 3])) == nil)
    try context.delete(model: Voyage.self, where: #Predicate { $0.name == "a" })
    await until("the deletion") { observer.results.map(\.name) == ["b", "c"] }
    observer.sortBy = [SortDescriptor(\.name, order: .reverse)]
    #expect(observer.results.map(\.name) == ["c", "b"])
    observer.filterBy = nil
    #expect(observer.results.map(\.name) == ["z", "c", "b"])
  }

  @Test("ResultsObserver puts results into sections by the values of a text")
  func sections() async throws {
    let container = try makeContainer()
    let context = container.mainContext
    let (north, south) = (Voyage("North"), Voyage("South"))
    for (title, voyage) in [("a", north), ("b", south), ("c", north), ("d", nil)] {
      context.insert(Leg(title, voyage: voyage))
    }
    try context.save()
    let observer = try ResultsObserver(
      sortBy: [SortDescriptor(\Leg.title)], sectionBy: \Leg.voyage?.name, modelContext: context)
    let sections = try #require(observer.sections)
    #expect(sections.map(\.id) == ["North", "South", nil])
    #expect(sections.map { $0.map(\.title) } == [["a", "c"], ["b"], ["d"]])
    let last = try #require(observer.element(at: IndexPath(indexes: [2, 0])))
    #expect(last.title == "d")
    #expect(observer.indexPath(for: last) == IndexPath(indexes: [2, 0]))
    last.voyage = south
    try context.save()
    await until("the new section") { observer.sections?.map(\.id) == ["North", "South"] }
    #expect(observer.sections?[1].map(\.title) == ["b", "d"])
    let byTitle = try ResultsObserver(
      fetchDescriptor: FetchDescriptor<Leg>(sortBy: [SortDescriptor(\.title)]), sectionBy: \Leg.title,
      modelContext: context)
    #expect(byTitle.sections?.count == 4)
    #expect(byTitle.sections == byTitle.sections)
  }

  @Test("HistoryObserver counts the transactions of some authors that are about some models")
  func history() async throws {
    let container = try makeContainer()
    let all = try HistoryObserver(modelContainer: container)
    let some = try HistoryObserver(
      observedModels: [Voyage.self], authors: ["sync"], modelContainer: container)
    #expect(all.eventCounter == 0)
    let told = Mutex(0)
    withObservationTracking {
      _ = some.eventCounter
    } onChange: {
      told.withLock { $0 += 1 }
    }
    let context = ModelContext(container)
    context.author = "app"
    context.insert(Voyage("a"))
    try context.save()
    context.author = "sync"
    context.insert(Guest("Ada"))
    try context.save()
    await until("two transactions") { all.eventCounter == 2 }
    #expect(some.eventCounter == 0)
    let token = try #require(
      try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).last?.token)
    context.insert(Voyage("b"))
    try context.save()
    await until("the third") { some.eventCounter == 1 && all.eventCounter == 3 }
    #expect(told.withLock { $0 } == 1)
    // What came since a moment counts at once.
    let late = try HistoryObserver(historyTokens: [token], modelContainer: container)
    #expect(late.eventCounter == 1)
    #expect(late.authors.isEmpty)
    try context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(throws: SwiftDataError.historyTokenExpired) {
      try HistoryObserver(historyTokens: [token], modelContainer: container)
    }
  }

  @Test("A HistoryObserver goes on where history was deleted before it had looked at it")
  func deletedHistory() async throws {
    let container = try makeContainer()
    let observer = try HistoryObserver(modelContainer: container)
    let context = ModelContext(container)
    // Both in one turn of the main actor, on which the observer looks.
    context.insert(Voyage("a"))
    try context.save()
    try context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    await until("what was deleted counts once") { observer.eventCounter == 1 }
    context.insert(Voyage("b"))
    try context.save()
    await until("the next") { observer.eventCounter == 2 }
  }

  @Test(
    "HistoryObserver counts the history of Strata's stores beside stores without one and with one of another kind"
  )
  func severalKinds() async throws {
    let server = Server()
    let shelf = MemoryShelf()
    let container = try ModelContainer(
      for: Schema([Book.self, Voyage.self, Visitor.self]),
      configurations: [
        ModelConfiguration("books", schema: Schema([Book.self]), isStoredInMemoryOnly: true),
        MemoryConfiguration(schema: Schema([Voyage.self]), shelf: shelf),
        ServerConfiguration(schema: Schema([Visitor.self]), server: server),
      ])
    let observer = try HistoryObserver(modelContainer: container)
    let books = try HistoryObserver(observedModels: [Book.self], modelContainer: container)
    let context = ModelContext(container)
    context.insert(Voyage("a"))
    context.insert(Visitor("Ada"))
    try context.save()
    context.insert(Book("One"))
    try context.save()
    await until("the book") { observer.eventCounter == 1 && books.eventCounter == 1 }
    context.insert(Book("Two"))
    context.insert(Voyage("b"))
    try context.save()
    await until("the second book") { observer.eventCounter == 2 && books.eventCounter == 2 }
    #expect(server.visitors == ["Ada"] && shelf.count("Voyage") == 2)
    // Each kind is asked for by its own type.
    #expect(try context.fetchHistory(HistoryDescriptor<ServerTransaction>()).count == 1)
    #expect(try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).count == 2)
  }
}
