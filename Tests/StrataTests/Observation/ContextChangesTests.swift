import Foundation
import Strata
import Testing
import TortureKit

/// `context.changes()`: each event and each merge as a value.
struct ContextChangesTests {
  private let stand: LiveStand
  private let context: ManagedObjectContext

  init() throws {
    stand = try LiveStand()
    context = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
  }

  @Test("inserts, updates, deletes and a reset, by ID, in order")
  func kinds() async throws {
    let (made, id) = try await context.perform {
      let changes = context.changes()
      let note = Note(context: context)
      context.processPendingChanges()
      try context.save()
      note.title = "x"
      context.processPendingChanges()
      context.delete(note)
      context.processPendingChanges()
      defer { context.reset() }
      return (changes, note.objectID)
    }
    var changes = made.makeAsyncIterator()
    let first = try #require(await changes.next())
    #expect(first.inserted == [id] && first.all == [id])
    #expect(try #require(await changes.next()).updated == [id])
    var deleted = try #require(await changes.next())
    while deleted.deleted.isEmpty { deleted = try #require(await changes.next()) }
    #expect(deleted.deleted == [id])
    #expect(try #require(await changes.next()).isEverythingInvalidated)
  }

  @Test("rows that are no objects here are reported, too (rule 178, better)")
  func rows() async throws {
    try stand.make("a", "b")
    let main = stand.context()
    var changes = await main.perform { main.changes() }.makeAsyncIterator()
    try stand.elsewhere("rename:a:A", "delete:b", "insert:c")
    #expect(try #require(await changes.next()).all.count == 1)
    #expect(try #require(await changes.next()).deleted.count == 1)
    #expect(try #require(await changes.next()).inserted.count == 1)
  }

  @Test("more than can be listed: all is refreshed")
  func gap() async throws {
    try stand.make("storm")
    let main = stand.context()
    var changes = await main.perform { main.changes() }.makeAsyncIterator()
    let child = Carried(try stand.startElsewhere(["storm:3000"]))
    await main.perform {
      // Asleep while the journal releases what it had.
      _ = child.value.readLines()
      child.value.wait()
    }
    let told = try #require(await changes.next())
    let newest = try await main.perform {
      try main.fetch(FetchRequest<Note>(entityName: "Note")).first?.count
    }
    #expect(newest == 3_000)
    // Whatever was reported concerned the only note there is.
    if !told.isAllRefreshed { #expect(told.all.count == 1) }
  }

  @Test("each consumer has a buffer of his own; a short one says that something is missing")
  func buffers() async throws {
    let (first, second) = await context.perform {
      (context.changes(), context.changes(buffering: .newest(1)))
    }
    var all = first.makeAsyncIterator()
    var newest = second.makeAsyncIterator()
    for _ in 0..<5 { await insert() }
    for _ in 0..<5 { #expect(try #require(await all.next()).inserted.count == 1) }
    let one = try #require(await newest.next())
    #expect(one.isAllRefreshed && one.inserted.count == 1)
    await insert()
    #expect(try #require(await newest.next()).isAllRefreshed == true)
    await insert()
    #expect(try #require(await newest.next()).isAllRefreshed == false)
  }

  @Test("what is missing is told once, also to a consumer who waits for the next change")
  func waitingConsumer() async throws {
    let changes = await context.perform { context.changes(buffering: .newest(1)) }
    for _ in 0..<3 { await insert() }
    let told = Guarded<[Bool]>([])
    let consumer = Task {
      for await change in changes { told.withLock { $0.append(change.isAllRefreshed) } }
    }
    for count in 1...3 {
      #expect(await eventually { told.withLock { $0.count } == count })
      // Until it waits again.
      try await Task.sleep(for: .milliseconds(50))
      await insert()
    }
    #expect(await eventually { told.withLock { $0.count } == 4 })
    consumer.cancel()
    // The one that was kept says so, and the next, which the context cannot know to be needless.
    #expect(told.withLock { $0 } == [true, true, false, false])
  }

  private func insert() async { await context.perform { _ = Note(context: context) } }

  @Test("it ends with the context")
  func ends() async throws {
    var iterator = changesOfAContextThatEnds().makeAsyncIterator()
    #expect(await iterator.next() == nil)
  }

  private func changesOfAContextThatEnds() -> ContextChanges {
    let short = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
    return short.performAndWait { short.changes() }
  }

  #if compiler(>=6.2)
    @Test("typed messages of NotificationCenter, and the classic notifications beside them")
    func messages() async throws {
      guard #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) else { return }
      let saved = Guarded<[Int]>([])
      let token = NotificationCenter.default.addObserver(
        of: context, for: ManagedObjectContext.DidSaveObjectIDsMessage.self
      ) { (message: ManagedObjectContext.DidSaveObjectIDsMessage) async in
        saved.withLock { $0.append(message.insertedObjectIDs.count) }
      }
      defer { NotificationCenter.default.removeObserver(token) }
      let classic = Heard(ManagedObjectContext.didSaveObjectIDsNotification, of: context) { _ in 1 }
      try await context.perform {
        _ = Note(context: context)
        try context.save()
      }
      #expect(classic.all == [1])
      #expect(await eventually { saved.withLock { $0 } == [1] })
    }
  #endif
}
