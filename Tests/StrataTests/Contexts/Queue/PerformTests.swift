import Foundation
import Strata
import Testing
import struct StrataCore.Mutex

/// Work is brought to a context's queue by `perform`, `performAndWait` and `await perform`
/// (rules 3–6; contexts 3, 5).
struct PerformTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  @Test("rule 3: perform returns at once and runs the block on the context's queue")
  func performReturnsAtOnce() async {
    let context = store.context(.privateQueue)
    let gate = DispatchSemaphore(value: 0)
    let hasReturned = Mutex(false)
    await withCheckedContinuation { continuation in
      context.enqueue { gate.wait() }
      context.enqueue {
        #expect(hasReturned.withLock { $0 })
        continuation.resume()
      }
      hasReturned.withLock { $0 = true }
      gate.signal()
    }
  }

  @Test("rule 3: pending changes are processed after a perform block, not before its end")
  func performProcessesPendingChangesAfterTheBlock() async {
    let context = store.context(.privateQueue)
    let recorder = NotificationRecorder(context)
    context.enqueue {
      Entry.make("Bells", in: context)
      Entry.make("Winki", in: context)
      #expect(recorder.names.isEmpty)
    }
    context.enqueue { #expect(recorder.names == [.didChange]) }
    await context.perform {}
    #expect(recorder.all(.didChange).map(\.inserted.count) == [2])
  }

  @Test("rule 3: await perform processes pending changes too")
  func awaitPerformProcessesPendingChanges() async {
    let context = store.context(.privateQueue)
    let recorder = NotificationRecorder(context)
    await context.perform { _ = Entry.make("Bells", in: context) }
    // The task continues when the event is over: what it did is published (contexts 5).
    #expect(recorder.names == [.didChange])
    _ = try? await context.perform { () throws in Entry.make("Winki", in: context).objectID }
    #expect(recorder.names == [.didChange, .didChange])
  }

  @Test("rule 4: performAndWait waits, returns the block's value, rethrows its error")
  func performAndWaitReturnsAndRethrows() {
    struct Wave: Error {}
    let context = store.context(.privateQueue)
    #expect(context.performAndWait { Entry.make("Bells", in: context).location } == "Bells")
    #expect(throws: Wave.self) { try context.performAndWait { throw Wave() } }
    #expect(context.performAndWait { context.insertedObjects.count } == 1)
  }

  @Test(
    "rule 4: performAndWait is re-entrant",
    arguments: [ConcurrencyType.privateQueue, .confinement, .mainQueue])
  func performAndWaitIsReentrant(_ type: ConcurrencyType) {
    let context = store.context(type)
    let depth = context.performAndWait { context.performAndWait { context.performAndWait { 3 } } }
    #expect(depth == 3)
  }

  @Test("rule 4: performAndWait runs on the calling thread and does not process pending changes")
  func performAndWaitDoesNotProcessPendingChanges() {
    let context = store.context(.privateQueue)
    let recorder = NotificationRecorder(context)
    let caller = currentThreadNumber()
    context.performAndWait {
      #expect(currentThreadNumber() == caller)
      Entry.make("Bells", in: context)
    }
    #expect(recorder.names.isEmpty)
    context.performAndWait { context.processPendingChanges() }
    #expect(recorder.names == [.didChange])
  }

  @Test("rule 5: blocks run in the order they were enqueued")
  func blocksRunInOrder() async {
    let context = store.context(.privateQueue)
    let order = Mutex<[Int]>([])
    for number in 0..<200 { context.enqueue { order.withLock { $0.append(number) } } }
    await context.perform(schedule: .enqueued) {}
    #expect(order.withLock { $0 } == Array(0..<200))
  }

  @Test("rule 5: what is enqueued from inside a block runs after the block")
  func enqueuedFromInsideRunsAfterTheBlock() async {
    let context = store.context(.privateQueue)
    let order = Mutex<[String]>([])
    await withCheckedContinuation { continuation in
      context.enqueue {
        context.enqueue {
          order.withLock { $0.append("inner") }
          continuation.resume()
        }
        order.withLock { $0.append("outer") }
      }
    }
    #expect(order.withLock { $0 } == ["outer", "inner"])
  }

  @Test(
    "rule 6: both schedules run behind what is enqueued when the caller is outside the context",
    arguments: [ScheduledTaskType.immediate, .enqueued])
  func schedulesKeepTheOrderFromOutside(_ schedule: ScheduledTaskType) async {
    let context = store.context(.privateQueue)
    let order = Mutex<[Int]>([])
    for number in 0..<20 { context.enqueue { order.withLock { $0.append(number) } } }
    await context.perform(schedule: schedule) { order.withLock { $0.append(99) } }
    #expect(order.withLock { $0 } == Array(0..<20) + [99])
  }

  @Test("contexts 3: await perform returns values and throws the block's error, from any task")
  func awaitPerformWorksFromAnyTask() async throws {
    struct Wave: Error {}
    let context = store.context(.privateQueue)
    let id = try await Task.detached {
      try await context.perform {
        let entry = Entry.make("Bells", in: context)
        try context.save()
        return entry.objectID
      }
    }.value
    let location = await context.perform { (context.object(with: id) as? Entry)?.location }
    #expect(location == "Bells")
    await #expect(throws: Wave.self) { try await context.perform { throw Wave() } }
  }

  @MainActor
  @Test("contexts 3: await perform works from the main actor, on private and on main-queue contexts")
  func awaitPerformWorksFromTheMainActor() async {
    let background = store.context(.privateQueue)
    let view = store.container.viewContext
    let inBackground = await background.perform { background.registeredObjects.count }
    let inView = await view.perform { view.registeredObjects.count }
    #expect(inBackground == 0 && inView == 0)
  }

  @MainActor
  @Test("contexts 3: performAndWait on a main-queue context runs inline on the main actor")
  func performAndWaitRunsInlineOnTheMainActor() {
    let view = store.container.viewContext
    #expect(view.performAndWait { view.performAndWait { 1 } } == 1)
  }

  @Test("contexts 3: performAndWait on a main-queue context works from a background thread")
  func performAndWaitOnTheMainQueueFromOutside() async throws {
    let view = store.container.viewContext
    let id = try await store.container.performBackgroundTask { context in
      let entry = Entry.make("Bells", in: context)
      try context.save()
      return entry.objectID
    }
    let location = view.performAndWait { (view.object(with: id) as? Entry)?.location }
    #expect(location == "Bells")
  }

  @MainActor
  @Test(
    "rule 127, contexts 5: a main-queue context's edits outside perform are processed at the event's end"
  )
  func mainQueueEditsAreProcessedAtTheEndOfTheEvent() async {
    let view = store.container.viewContext
    let recorder = NotificationRecorder(view)
    let entry = Entry.make("Bells", in: view)
    entry.rating = 5
    #expect(recorder.names.isEmpty)
    await nextMainQueueTurn()
    #expect(recorder.all.map(\.name) == [.didChange])
    #expect(recorder.take().first?.inserted == [entry.objectID])
    await nextMainQueueTurn()
    #expect(recorder.names.isEmpty)
    entry.rating = 4
    await nextMainQueueTurn()
    // Not saved yet: an insert is reported once, later edits of it are updates (rule 123).
    #expect(recorder.take().map(\.updated) == [[entry.objectID]])
  }

  @Test("rule 127: so are edits made in performAndWait on a main-queue context")
  func performAndWaitEditsOfAMainQueueContextAreProcessed() async {
    let view = store.container.viewContext
    let recorder = NotificationRecorder(view)
    view.performAndWait { _ = Entry.make("Bells", in: view) }
    await nextMainQueueTurn()
    #expect(recorder.names == [.didChange])
  }

  @Test("rule 127: a private context used through performAndWait processes nothing by itself")
  func privateContextProcessesNothingByItself() async {
    let context = store.context(.privateQueue)
    let recorder = NotificationRecorder(context)
    context.performAndWait { _ = Entry.make("Bells", in: context) }
    await nextMainQueueTurn()
    #expect(recorder.names.isEmpty)
    await context.perform {}
    await context.perform { #expect(recorder.names == [.didChange]) }
  }

  @Test("contexts 5: handing work to another context processes the current one's changes first")
  func handingWorkToAnotherContextIsAFlushPoint() {
    let (mine, other) = (store.context(.privateQueue), store.context(.privateQueue))
    let recorder = NotificationRecorder(mine)
    mine.performAndWait {
      Entry.make("Bells", in: mine)
      #expect(recorder.names.isEmpty)
      other.performAndWait { #expect(recorder.names == [.didChange]) }
      Entry.make("Winki", in: mine)
      other.enqueue {}
      #expect(recorder.names == [.didChange, .didChange])
    }
  }

  @Test("rule 126: notifications are posted on the thread that runs the context's code")
  func notificationsArePostedOnTheContextsThread() async {
    let context = store.context(.privateQueue)
    let recorder = NotificationRecorder(context)
    let caller = currentThreadNumber()
    context.performAndWait {
      Entry.make("Bells", in: context)
      context.processPendingChanges()
    }
    #expect(recorder.take().map(\.thread) == [caller])
    let thread = await context.perform {
      Entry.make("Winki", in: context)
      context.processPendingChanges()
      return currentThreadNumber()
    }
    #expect(recorder.take().map(\.thread) == [thread])
  }

  @Test("rule 331: the coordinator has a queue of its own")
  func coordinatorHasAQueue() async {
    let coordinator = store.coordinator
    let order = Mutex<[Int]>([])
    coordinator.perform { order.withLock { $0.append(1) } }
    coordinator.performAndWait { order.withLock { $0.append(2) } }
    #expect(order.withLock { $0 } == [1, 2])
  }

  @Test("contexts 1: perform on a confinement context traps, there is no queue")
  func performOnAConfinementContextTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator).perform {}
    }
    expectTrap(result, says: "no queue", ".privateQueue")
  }
}
