import Foundation
import Strata
import Testing

/// The ready-made stack whose saves stall no queue (stack D of Docs/Concurrency.md), and slices on the main queue
/// (contexts 6, 11).
@MainActor @Suite(.serialized)
struct AsynchronousStackTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  @Test("what workers and the main context change is on disk when save returns")
  func saving() async throws {
    let stack = AsynchronousStack(store.container, autosaveDelay: nil)
    Entry.make("Bells", in: stack.main)
    try await stack.performInWorker { worker in
      #expect(worker.parent === stack.main)
      Entry.make("Winki", in: worker)
      try worker.save()
    }
    #expect(try stack.main.entries().map(\.location) == ["Bells", "Winki"])
    #expect(try store.savedEntries() == [])
    try await stack.save()
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
    #expect(!stack.main.hasChanges)
  }

  @Test("saves follow one another; a failed one leaves its changes pending and does not stop the next")
  func failingSaves() async throws {
    let stack = AsynchronousStack(store.container, autosaveDelay: nil)
    let wrong = Entry.make(nil, in: stack.main)
    await #expect(throws: CoreDataError.self) { try await stack.save() }
    wrong.location = "Bells"
    async let first: Void = stack.save()
    async let second: Void = stack.save()
    _ = try await (first, second)
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  @Test("workers that insert and save at the same time meet no conflict: each record is handed down once")
  func workersTogether() async throws {
    let stack = AsynchronousStack(store.container, autosaveDelay: nil)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let worker = stack.newWorker()
          for round in 0..<200 {
            try await worker.perform {
              Entry.make("place \(number) \(round)", in: worker)
              try worker.save()
            }
            try await stack.save()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.savedEntries().count == 1_600)
    #expect(!stack.main.hasChanges)
  }

  @Test("changes are written by themselves after a quiet moment")
  func autosave() async throws {
    let stack = AsynchronousStack(store.container, autosaveDelay: .milliseconds(20))
    Entry.make("Bells", in: stack.main)
    try await waitUntil { try store.savedEntries() == ["Bells 3"] }
    try stack.main.entry("Bells").rating = 5
    try await waitUntil { try store.savedEntries() == ["Bells 5"] }
  }

  @Test("a stack that is released takes no change with it", arguments: [false, true])
  func released(isTold: Bool) async throws {
    var stack: AsynchronousStack? = AsynchronousStack(store.container, autosaveDelay: .milliseconds(300))
    weak let released = stack
    if let main = stack?.main {
      Entry.make("Bells", in: main)
      if isTold { main.processPendingChanges() }
    }
    stack = nil
    #expect(released == nil)
    try await waitUntil { try store.savedEntries() == ["Bells 3"] }
  }

  @Test("an autosave that fails is reported; what was pending stays so")
  func failingAutosave() async throws {
    let errors = Log<any Error>()
    let stack = AsynchronousStack(store.container, autosaveDelay: .milliseconds(10)) { errors.add($0) }
    let wrong = Entry.make(nil, in: stack.main)
    try await waitUntil { !errors.list.isEmpty }
    #expect(errors.first is CoreDataError && stack.main.insertedObjects == [wrong])
    wrong.location = "Bells"
    try await waitUntil { try store.savedEntries() == ["Bells 3"] }
  }

  @Test(
    "contexts 6, 11: large saves of children and siblings arrive whole, in several did-change notifications"
  )
  func slices() async throws {
    let count = 5_000
    let main = store.context(.mainQueue)
    main.automaticallyMergesChangesFromParent = true
    let child = ManagedObjectContext(.privateQueue, parent: main)
    let recorder = NotificationRecorder(main)
    try await child.perform {
      for number in 0..<count { Entry.make("child \(number)", in: child) }
      try child.save()
    }
    #expect(try main.entryCount() == count, "fetched before it is told")
    try await waitUntil { recorder.all(.didChange).reduce(0) { $0 + $1.inserted.count } == count }
    try main.save()
    let sibling = store.context(.privateQueue)
    try await sibling.perform {
      for entry in try sibling.entries() { entry.rating = 5 }
      for number in 0..<count { Entry.make("sibling \(number)", in: sibling) }
      try sibling.save()
    }
    try await waitUntil { recorder.names.contains(.didMerge) }
    let merged = try #require(recorder.all(.didMerge).only)
    #expect(merged.insertedIDs.count == count && merged.updatedIDs.count == count)
    let told = recorder.all(.didChange).reduce(0) { $0 + $1.inserted.count }
    #expect(told == 2 * count && !main.hasChanges)
    #expect(try main.entries(Attribute("rating") == 5).count == count)
  }

  @Test("an actor pinned to a context uses it directly (contexts 2)")
  func pinnedActor() async throws {
    let journal = Journal(store.context(.privateQueue))
    try await journal.write("Bells")
    try await journal.write("Winki")
    #expect(try await journal.count() == 2)
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
  }

  private actor Journal {
    private let context: ManagedObjectContext
    nonisolated var unownedExecutor: UnownedSerialExecutor { context.asUnownedSerialExecutor() }

    init(_ context: ManagedObjectContext) { self.context = context }

    func write(_ location: String) throws {
      Entry.make(location, in: context)
      try context.save()
    }

    func count() throws -> Int {
      assertIsolated()
      return try context.entryCount()
    }
  }

  /// Polls, and lets the main queue run in between. The time is a way out, not a claim.
  private func waitUntil(_ condition: @MainActor () throws -> Bool) async throws {
    for _ in 0..<60_000 {
      if try condition() { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("what was waited for did not come")
  }
}
