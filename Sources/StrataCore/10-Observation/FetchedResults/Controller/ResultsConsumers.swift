import Foundation

/// The consumers of a controller's sequences. Each has a buffer of its own.
final class ResultsConsumers: Sendable {
  private struct State {
    var next = 0
    var continuations: [Int: AsyncStream<FetchedResultsChange>.Continuation] = [:]
    /// The stores that the list has objects of.
    var stores: Set<ObjectIdentifier> = []
    var watch: RemovalWatch?
  }

  private let state = Mutex(State())

  var isEmpty: Bool { state.withLock { $0.continuations.isEmpty } }

  /// A sequence that begins with `first` and ends with the controller, or with a store of the list.
  func makeStream(_ first: FetchedResultsChange?, _ coordinator: PersistentStoreCoordinator) -> AsyncStream<
    FetchedResultsChange
  > {
    let (stream, continuation) = AsyncStream<FetchedResultsChange>.makeStream(bufferingPolicy: .unbounded)
    if let first { continuation.yield(first) }
    let number = state.withLock { state in
      if state.watch == nil { state.watch = RemovalWatch(coordinator, self) }
      state.next += 1
      state.continuations[state.next] = continuation
      return state.next
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.continuations.removeValue(forKey: number) }
    }
    return stream
  }

  func yield(_ change: FetchedResultsChange) {
    // A waiting task may end, which takes the lock.
    let all = state.withLock { Array($0.continuations.values) }
    for continuation in all { continuation.yield(change) }
  }

  /// Ends all sequences there are; later ones begin again.
  func finish() {
    let all = state.withLock { state in
      defer { state.continuations = [:] }
      return Array(state.continuations.values)
    }
    for continuation in all { continuation.finish() }
  }

  /// The list has objects of these stores: when one of them is removed, nothing more will be told.
  func follow(_ stores: [StoreBinding]) {
    state.withLock { $0.stores = Set(stores.map { ObjectIdentifier($0.store) }) }
  }

  /// On the thread that removes the stores.
  fileprivate func end(with removed: any PersistentStore) {
    let isOver = state.withLock { $0.stores.contains(ObjectIdentifier(removed)) }
    if isOver { finish() }
  }
}

/// Is notified when stores are removed, which is no event of any context.
private final class RemovalWatch: @unchecked Sendable {
  // Unchecked: the token is set once, and only handed back to the center.
  private let token: any NSObjectProtocol

  init(_ coordinator: PersistentStoreCoordinator, _ consumers: ResultsConsumers) {
    token = NotificationCenter.default.addObserver(
      forName: PersistentStoreCoordinator.storeWasRemoved, object: coordinator, queue: nil
    ) { [weak consumers] notification in
      guard
        let removed = notification.userInfo?[PersistentStoreCoordinator.removedStoreKey]
          as? any PersistentStore
      else { return }
      consumers?.end(with: removed)
    }
  }

  deinit { NotificationCenter.default.removeObserver(token) }
}
