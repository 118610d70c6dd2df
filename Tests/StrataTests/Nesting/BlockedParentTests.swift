import Foundation
import Strata
import Testing

/// No context ever waits for another context's queue (contexts 4, 6; rules 162, 263, better).
@Suite(.serialized)
struct BlockedParentTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// Does in `child` everything a child can do.
  private func work(in child: ManagedObjectContext, seeing expected: [String]) throws {
    try child.performAndWait {
      #expect(try child.entries().map(\.location) == expected)
      #expect(try child.entryCount() == expected.count)
      let first = try #require(try child.entries().first)
      let id = first.objectID
      child.refresh(first, mergeChanges: false)
      #expect((child.object(with: id) as? Entry)?.location == expected[0])
      first.rating = 5
      Entry.make("new", in: child)
      try child.save()
      #expect(!child.hasChanges)
    }
  }

  @Test("with a private parent's queue blocked, at every depth up to 3", arguments: 1...3)
  func privateParent(depth: Int) async throws {
    try store.save("Bells")
    let root = store.context(.privateQueue)
    await root.perform { _ = Entry.make("Unsaved", in: root) }
    var stack = [root]
    for _ in 0..<depth { stack.append(ManagedObjectContext(.privateQueue, parent: stack[stack.count - 1])) }
    // The first child is made above; what the root has is published when its queue gets to it.
    await root.perform {}
    let gate = DispatchSemaphore(value: 0)
    for context in stack.dropLast() { context.enqueue { gate.wait() } }
    let child = stack[depth]
    try await inBackground { try work(in: child, seeing: ["Bells", "Unsaved"]) }
    for _ in stack.dropLast() { gate.signal() }
    let below = stack[depth - 1]
    #expect(
      await below.perform { (try? below.entries().map(\.location)) ?? [] } == ["Bells", "Unsaved", "new"])
  }

  @Test("with the main queue blocked")
  @MainActor func mainParent() throws {
    try store.save("Bells")
    let main = store.context(.mainQueue)
    Entry.make("Unsaved", in: main)
    let (child, done) = (ManagedObjectContext(.privateQueue, parent: main), DispatchSemaphore(value: 0))
    let failure = Log<any Error>()
    DispatchQueue.global().async {
      do { try work(in: child, seeing: ["Bells", "Unsaved"]) } catch { failure.add(error) }
      done.signal()
    }
    // The main queue waits here, as no application should: the child must not need it.
    #expect(done.wait(timeout: .now() + 600) == .success)
    #expect(failure.list.isEmpty)
    #expect(try main.entries().map(\.location) == ["Bells", "Unsaved", "new"])
    #expect(try main.entry("Bells").rating == 5)
  }

  @Test("contexts 6b, 6c: blocks that run on the parent's queue after the save see it")
  func blocksSeeIt() async throws {
    let parent = store.context(.privateQueue)
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    let gate = DispatchSemaphore(value: 0)
    let seen = Log<Int>()
    parent.enqueue { gate.wait() }
    // Enqueued before the save, run after it.
    parent.enqueue { seen.add(parent.insertedObjects.count) }
    try await child.perform {
      Entry.make("Bells", in: child)
      try child.save()
    }
    gate.signal()
    #expect(await parent.perform { parent.insertedObjects.count } == 1)
    #expect(seen.list == [1])
  }

  /// Runs `body` on a thread that may wait.
  private func inBackground(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
    }
  }
}
