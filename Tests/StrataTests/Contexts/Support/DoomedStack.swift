import Foundation
import Strata
import Testing

/// A stack for a process that will not live to clean up: its store is in memory, so nothing is left behind.
func makeDoomedContainer(_ model: ManagedObjectModel = SurfModel.make()) throws -> PersistentContainer {
  let container = PersistentContainer(name: "Doomed", model: model)
  try container.persistentStoreCoordinator.addPersistentStore(.inMemory)
  return container
}

/// Expects that the process ended with a message that has all the words in it.
func expectTrap(
  _ result: ExitTest.Result?, says words: String..., sourceLocation: SourceLocation = #_sourceLocation
) {
  guard let result else { return }  // The exit test itself has failed and said so.
  let text = String(decoding: result.standardErrorContent, as: UTF8.self)
  for word in words {
    #expect(
      text.contains(word), "the message has no “\(word)”: \(text.prefix(2_000))",
      sourceLocation: sourceLocation)
  }
}

/// Runs `body` on a thread of its own, which is no context's and not the caller's, and waits for it.
func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
  let done = DispatchSemaphore(value: 0)
  let thread = Thread {
    body()
    done.signal()
  }
  thread.start()
  done.wait()
}

/// Returns when everything that was on the main queue before has run.
func nextMainQueueTurn() async {
  await withCheckedContinuation { continuation in
    DispatchQueue.main.async { continuation.resume() }
  }
}

extension ManagedObjectContext {
  /// `perform` without waiting, where an async function would get the form that waits.
  func enqueue(_ block: @escaping @Sendable () -> Void) { perform(block) }
}
