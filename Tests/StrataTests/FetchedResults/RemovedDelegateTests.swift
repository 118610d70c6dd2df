import Foundation
import Strata
import Testing

@Suite("Delegates that are removed on another thread")
struct RemovedDelegateTests {
  @Test("rule 244: without the delegate that another thread takes away, the results stay what they were")
  func removedElsewhere() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let context = stand.store.context(.privateQueue)
    // Unsafe: used by one thread after the other.
    nonisolated(unsafe) let controller = try context.performAndWait {
      try stand.controller(delegate: listener, in: context)
    }
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      controller.delegate = nil
      done.signal()
    }
    done.wait()
    #expect(controller.delegate == nil)
    context.performAndWait {
      ResultsStand.item("a4", "a", 4, context)
      context.processPendingChanges()
      #expect(listener.isSilent)
      #expect(controller.names == [["a1", "a2", "a3"], ["b1", "b2"]])
      controller.delegate = listener
      ResultsStand.item("b3", "b", 3, context)
      context.processPendingChanges()
      // What was missed comes along.
      #expect(controller.names == [["a1", "a2", "a3", "a4"], ["b1", "b2", "b3"]])
      #expect(!listener.isSilent)
    }
  }

  @Test("A sequence goes on when the delegate is taken away")
  func sequenceStays() async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let listener = Listener()
    // Unsafe: used by one thread after the other.
    nonisolated(unsafe) let controller = try context.performAndWait {
      try stand.controller(delegate: listener, in: context)
    }
    var changes = context.performAndWait { controller.changes }.makeAsyncIterator()
    #expect(await changes.next()?.isInitial == true)
    await Task.detached { controller.delegate = nil }.value
    context.performAndWait {
      ResultsStand.item("a4", "a", 4, context)
      context.processPendingChanges()
      #expect(listener.isSilent)
    }
    #expect(await changes.next()?.snapshot.itemIdentifiers.count == 6)
    await context.perform { withExtendedLifetime(controller) {} }
  }
}
