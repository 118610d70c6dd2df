import Dispatch
import Foundation
import Synchronization

/// The stack in which no save ever stalls the main thread: a private writer on the coordinator, the main context above it,
/// workers above that (stack D of Docs/Concurrency.md).
///
///     workers   newWorker()    private, children of `main`: their saves reach `main`
///        ▼
///     main                     on the main queue: what the user interface shows
///        ▼
///     writer                   private: the only one that waits for the disk
///        ▼
///     coordinator
///
/// What is changed in `main`, or saved to it by workers, is written by itself after a quiet moment, and whenever `save()` is
/// called. Keep the stack as long as its contexts are used: what was changed before it is released is still written, what is
/// changed in `main` afterwards is written by saves alone. May be used from any thread.
public final class AsynchronousStack: Sendable {
  /// Saves to the coordinator.
  public let writer: ManagedObjectContext
  /// The main-queue context. A child of `writer`.
  public let main: ManagedObjectContext
  /// How long nothing must have changed before changes are written by themselves; nil to write only on `save()`.
  public let autosaveDelay: Duration?

  private let autosave: Autosave
  private let token: Token

  /// An observer's token. Unchecked: it is handed back once, by `deinit`.
  private final class Token: @unchecked Sendable { var value: (any NSObjectProtocol)? }

  /// Makes the two contexts. Load the container's stores first.
  ///
  /// - Parameters:
  ///   - container: The container, with its stores loaded.
  ///   - autosaveDelay: see the property; two seconds by default.
  ///   - failure: called when an autosave fails, on no particular thread; the changes stay pending, and are tried again after
  ///     the next change. By default the error goes to standard error.
  public init(
    _ container: PersistentContainer, autosaveDelay: Duration? = .seconds(2),
    failure: (@Sendable (any Error) -> Void)? = nil
  ) {
    writer = container.newBackgroundContext()
    writer.name = "writer"
    main = ManagedObjectContext(.mainQueue, parent: writer)
    main.name = "main"
    self.autosaveDelay = autosaveDelay
    autosave = Autosave(writer: writer, main: main, failure: failure)
    token = Token()
    guard let autosaveDelay else { return }
    token.value = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: main, queue: nil
    ) { [autosave] _ in autosave.schedule(after: autosaveDelay) }
  }

  deinit {
    if let value = token.value { NotificationCenter.default.removeObserver(value) }
    // What has changed in this event has not been told yet.
    if let autosaveDelay { autosave.schedule(after: autosaveDelay) }
  }

  /// A new private context whose saves go to `main`.
  public func newWorker() -> ManagedObjectContext { ManagedObjectContext(.privateQueue, parent: main) }

  /// Runs `block` with a fresh worker on its queue and returns its value. What `block` saves is in `main` then.
  /// - Throws: what `block` throws.
  public func performInWorker<T: Sendable>(
    _ block: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let worker = newWorker()
    return try await worker.perform { try block(worker) }
  }

  /// Writes everything that is in `main` and returns when it is as durable as the store promises. Blocks no queue.
  ///
  /// While one save is written another may already be handed down: each context saves once at a time, and what is asked for
  /// meanwhile follows.
  /// - Throws: what `ManagedObjectContext.saveAsynchronously()` throws, of `main` or of `writer`; what could not be written
  ///   stays pending there.
  public func save() async throws { try await autosave.save() }

  /// Saves what has changed when nothing has for a while. A save that is due keeps it, and with it the contexts: a stack that is
  /// released takes nothing with it.
  private final class Autosave: Sendable {
    let writer: ManagedObjectContext
    let main: ManagedObjectContext
    let failure: (@Sendable (any Error) -> Void)?
    /// Counts what has changed, so that a timer can tell whether it is the last one.
    let changes = Mutex(0)

    init(
      writer: ManagedObjectContext, main: ManagedObjectContext, failure: (@Sendable (any Error) -> Void)?
    ) {
      (self.writer, self.main, self.failure) = (writer, main, failure)
    }

    func save() async throws {
      try await main.saveAsynchronously()
      try await writer.saveAsynchronously()
    }

    func schedule(after delay: Duration) {
      let number = changes.withLock { count in
        count += 1
        return count
      }
      Task {
        try await Task.sleep(for: delay)
        guard changes.withLock({ $0 == number }) else { return }
        do { try await save() } catch { report(error) }
      }
    }

    private func report(_ error: any Error) {
      if let failure { return failure(error) }
      Diagnostics.write("an autosave failed", error, .error)
    }
  }
}
