/// The changes of a context, one element for each event and each merge, in their order.
///
///     for await change in context.changes() { await redraw(change.all) }
///
/// Made by ``ManagedObjectContext/changes(buffering:)``: what happens from then on is kept for this one consumer until he takes it.
/// Ends when the context ends, or with the task that consumes it. It does not keep the context alive.
public struct ContextChanges: AsyncSequence, Sendable {
  public typealias Element = ManagedObjectContextChange
  private let stream: AsyncStream<ManagedObjectContextChange>

  /// What is kept for a consumer that is slower than the context.
  public enum Buffering: Sendable, Hashable {
    /// Everything. IDs only, but as many as have changed.
    case unbounded
    /// The given number of newest changes. If older ones were dropped, a later one has `isAllRefreshed`.
    case newest(Int)
  }

  init(_ stream: AsyncStream<ManagedObjectContextChange>) { self.stream = stream }

  public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

  /// Takes changes out of the buffer, one after another.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncStream<ManagedObjectContextChange>.Iterator

    public mutating func next() async -> ManagedObjectContextChange? { await base.next() }

    public mutating func next(isolation actor: isolated (any Actor)?) async -> ManagedObjectContextChange? {
      await base.next(isolation: actor)
    }
  }
}

extension ManagedObjectContext {
  /// The changes in this context from now on, for one consumer: each call makes a sequence with its own buffer. Call it on the
  /// context's queue; the sequence may be carried to any task.
  ///
  /// Nothing is lost between this call and the first element taken. Contexts without observers pay nothing.
  public func changes(buffering: ContextChanges.Buffering = .unbounded) -> ContextChanges {
    checkAccess()
    let policy: AsyncStream<ManagedObjectContextChange>.Continuation.BufferingPolicy =
      switch buffering {
      case .unbounded: .unbounded
      case .newest(let count): .bufferingNewest(Swift.max(count, 1))
      }
    let (stream, continuation) = AsyncStream.makeStream(
      of: ManagedObjectContextChange.self, bufferingPolicy: policy)
    let observer = ChangeForwarder(continuation, buffering)
    addObserver(observer)
    // Keeps the observer until the consumer is gone.
    continuation.onTermination = { _ in withExtendedLifetime(observer) {} }
    return ContextChanges(stream)
  }
}

/// Hands a context's changes to one consumer.
private final class ChangeForwarder: ContextObserver, Sendable {
  private let continuation: AsyncStream<ManagedObjectContextChange>.Continuation
  /// Some changes were dropped since the last that was kept whole.
  private let hasDropped = Mutex(false)

  private let limit: Int

  init(
    _ continuation: AsyncStream<ManagedObjectContextChange>.Continuation,
    _ buffering: ContextChanges.Buffering
  ) {
    self.continuation = continuation
    limit = if case .newest(let count) = buffering { max(count, 1) } else { .max }
  }

  func contextDidChange(_ change: ContextChange) {
    var value = ManagedObjectContextChange(change)
    if hasDropped.withLock({ $0 }) { value.isAllRefreshed = true }
    switch continuation.yield(value) {
    case .dropped: hasDropped.withLock { $0 = true }
    // The only one in the buffer, or handed to a consumer who waits, and it says so: the consumer will know.
    case .enqueued(let room) where room >= limit - 1: hasDropped.withLock { $0 = false }
    default: break
    }
  }

  func contextDidEnd() { continuation.finish() }
}
