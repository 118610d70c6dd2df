import SwiftData
import Testing

@Suite("Stores of one's own: a server")
struct ServerTests {
  private let server = Server()

  private func open() throws -> ModelContainer {
    try ModelContainer(for: Visitor.self, configurations: ServerConfiguration(server: server))
  }

  @Test("Snapshots of the program's own type carry the values both ways")
  func snapshots() throws {
    let context = ModelContext(try open())
    context.insert(Visitor("Ada"))
    context.insert(Visitor("Bob"))
    try context.save()
    #expect(server.visitors == ["Ada", "Bob"])
    let other = ModelContext(try open())
    let found = try other.fetch(FetchDescriptor<Visitor>(predicate: #Predicate { $0.name.contains("A") }))
    #expect(found.map(\.name) == ["Ada"])
    found[0].name = "Eve"
    try other.save()
    #expect(server.visitors == ["Bob", "Eve"])
    other.delete(found[0])
    try other.save()
    #expect(server.visitors == ["Bob"])
  }

  @Test(
    "A store that sorts and counts by itself is let do it; what it leaves to others comes in one more question"
  )
  func questions() throws {
    let context = ModelContext(try open())
    for name in ["Bob", "Ada", "Eve"] { context.insert(Visitor(name)) }
    try context.save()
    server.clearCalls()
    #expect(try context.fetchCount(FetchDescriptor<Visitor>()) == 3)
    #expect(server.calls == ["count"])
    server.clearCalls()
    var descriptor = FetchDescriptor<Visitor>(sortBy: [SortDescriptor(\.name, comparator: .lexical)])
    descriptor.fetchLimit = 1
    descriptor.fetchOffset = 1
    #expect(try context.fetch(descriptor).map(\.name) == ["Bob"])
    #expect(server.calls == ["fetch"])
    server.clearCalls()
    #expect(try context.fetchCount(FetchDescriptor<Visitor>(predicate: #Predicate { $0.name > "B" })) == 2)
    #expect(server.calls == ["count", "fetch", "fetch"])
  }

  @Test("A model that is set to the value that it has is handed to the store, and overwrites nothing newer")
  func savedAsItWas() throws {
    let container = try open()
    let (context, other) = (ModelContext(container), ModelContext(container))
    let visitor = Visitor("Ada")
    context.insert(visitor)
    try context.save()
    server.clearCalls()
    visitor.name = visitor.name
    #expect(context.hasChanges)
    try context.save()
    #expect(server.calls.contains("save") && !context.hasChanges && server.visitors == ["Ada"])
    try #require(try other.fetch(FetchDescriptor<Visitor>()).first).name = "Eve"
    try other.save()
    visitor.name = visitor.name
    try context.save()
    #expect(server.visitors == ["Eve"])
  }

  @Test("A model that is known by its identifier is asked of what the store has at hand")
  func faults() throws {
    let first = ModelContext(try open())
    let visitor = Visitor("Ada")
    first.insert(visitor)
    try first.save()
    let container = try open()
    server.clearCalls()
    let context = ModelContext(container)
    let fault = try #require(context.model(for: visitor.persistentModelID) as? Visitor)
    #expect(server.calls.isEmpty)
    #expect(fault.name == "Ada")
    #expect(server.calls == ["cached"])
    #expect(fault.name == "Ada")
    #expect(server.calls == ["cached"])
  }

  @Test("What the store throws reaches whoever has fetched or saved, and nothing is lost")
  func errors() throws {
    let context = ModelContext(try open())
    context.insert(Visitor("Ada"))
    server.state.withLock { $0.failure = ServerFailure(reason: "no network") }
    #expect(throws: ServerFailure(reason: "no network")) { try context.save() }
    #expect(context.hasChanges)
    #expect(throws: ServerFailure(reason: "no network")) { try context.fetch(FetchDescriptor<Visitor>()) }
    #expect(throws: ServerFailure(reason: "no network")) {
      try context.fetchCount(FetchDescriptor<Visitor>())
    }
    let error = #expect(throws: SwiftDataError.self) { try open() }
    #expect(error == .loadIssueModelContainer)
    #expect(error?.underlyingError as? ServerFailure == ServerFailure(reason: "no network"))
    server.state.withLock { $0.failure = nil }
    try context.save()
    #expect(server.visitors == ["Ada"])
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      try ModelContainer(
        for: Visitor.self, configurations: ServerConfiguration(name: "", server: server))
    }
  }

  @Test("A store that gives new models no identifier is told so")
  func forgotten() throws {
    let context = ModelContext(try open())
    context.insert(Visitor("Ada"))
    server.state.withLock { $0.forgetsIdentifiers = true }
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect("\(try #require(error))".contains("remappedIdentifiers"))
    #expect(context.hasChanges)
  }

  @Test("A store that gives two new models one identifier is told so")
  func alike() throws {
    let context = ModelContext(try open())
    for name in ["Ada", "Bob"] { context.insert(Visitor(name)) }
    server.state.withLock { $0.givesOneIdentifier = true }
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect("\(try #require(error))".contains("another new model"))
    #expect(context.hasChanges)
  }

  @Test("A snapshot that cannot be read is an error before anything is written")
  func unreadable() throws {
    let context = ModelContext(try open())
    context.insert(Visitor("Ada"))
    let other = Visitor("unreadable")
    context.insert(other)
    #expect(throws: ServerFailure(reason: "unreadable")) { try context.save() }
    #expect(server.visitors == [] && !server.calls.contains("save"))
    other.name = "Bob"
    try context.save()
    #expect(server.visitors == ["Ada", "Bob"])
  }

  @Test("Values that the store changes while it saves show in all contexts")
  func reregistered() throws {
    server.state.withLock { $0.normalizes = true }
    let container = try open()
    let (context, sibling) = (ModelContext(container), ModelContext(container))
    let visitor = Visitor("Ada")
    context.insert(visitor)
    try context.save()
    #expect(visitor.name == "ADA")
    #expect(!context.hasChanges)
    let same = try #require(try sibling.fetch(FetchDescriptor<Visitor>()).first)
    visitor.name = "Bob"
    try context.save()
    #expect(visitor.name == "BOB")
    _ = try sibling.fetchCount(FetchDescriptor<Visitor>())
    #expect(same.name == "BOB")
    same.name = "Eve"
    try sibling.save()
    #expect(server.visitors == ["EVE"])
  }

  @Test("What others write to the server shows at the next fetch, and a save upon it is settled")
  func outside() throws {
    let context = ModelContext(try open())
    let visitor = Visitor("Ada")
    context.insert(visitor)
    try context.save()
    _ = try context.fetch(FetchDescriptor<Visitor>())
    server.state.withLock { $0.visitors[1] = "Bob" }
    #expect(try context.fetch(FetchDescriptor<Visitor>()).map(\.name) == ["Bob"])
    #expect(visitor.name == "Bob")
    visitor.name = "Eve"
    try context.save()
    #expect(server.visitors == ["Eve"])
    server.state.withLock { $0.visitors = [7: "Bob"] }
    #expect(try context.fetch(FetchDescriptor<Visitor>()).map(\.name) == ["Bob"])
    #expect(try ModelContext(context.container).fetchCount(FetchDescriptor<Visitor>()) == 1)
    let id = visitor.persistentModelID
    let other = ModelContext(context.container)
    let fault = try #require(other.model(for: id) as? Visitor)
    #expect(fault.name == "")
  }

  @Test("The store learns which contexts use it, when they go, and who saves")
  func editingStates() throws {
    let container = try open()
    do {
      let context = ModelContext(container)
      context.author = "sync"
      #expect(context.editingState.author == "sync")
      context.insert(Visitor("Ada"))
      try context.save()
      #expect(server.state.withLock { $0.contexts } == [context.editingState.id])
      #expect(server.state.withLock { $0.authors } == ["sync"])
    }
    #expect(server.state.withLock { $0.contexts.isEmpty })
  }

  @Test("Deletion by a condition and erase() are the store's where it has them")
  func batches() throws {
    let container = try open()
    let (context, sibling) = (ModelContext(container), ModelContext(container))
    for name in ["Ada", "Bob"] { context.insert(Visitor(name)) }
    try context.save()
    #expect(try sibling.fetch(FetchDescriptor<Visitor>()).count == 2)
    server.clearCalls()
    #expect(throws: DataStoreError.invalidPredicate) {
      try context.delete(model: Visitor.self, where: #Predicate { $0.name == "Ada" })
    }
    #expect(server.visitors == ["Ada", "Bob"])
    server.clearCalls()
    try context.delete(model: Visitor.self)
    #expect(server.calls.contains("delete"))
    #expect(!server.calls.contains("save"))
    #expect(server.visitors.isEmpty)
    #expect(try sibling.fetchCount(FetchDescriptor<Visitor>()) == 0)
    context.insert(Visitor("Eve"))
    try context.save()
    server.clearCalls()
    try container.erase()
    #expect(server.calls.contains("erase"))
    #expect(!server.calls.contains("save"))
    #expect(server.visitors.isEmpty)
    #expect(try context.fetchCount(FetchDescriptor<Visitor>()) == 0)
  }

  @Test("A history of the store's own type is asked of the store")
  func history() throws {
    let context = ModelContext(try open())
    for author in ["app", "sync"] {
      context.author = author
      context.insert(Visitor(author))
      try context.save()
    }
    let first = ServerToken(number: 1)
    let found = try context.fetchHistory(
      HistoryDescriptor<ServerTransaction>(predicate: #Predicate { $0.token > first }))
    #expect(found.map(\.author) == ["sync"])
    try context.deleteHistory(HistoryDescriptor<ServerTransaction>())
    #expect(try context.fetchHistory(HistoryDescriptor<ServerTransaction>()).isEmpty)
    #expect(try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).isEmpty)
  }
}
