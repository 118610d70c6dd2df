import Synchronization

/// Commits of siblings that wait for a context that has no queue: whoever uses the context has them merged when it is used next.
package final class CommitInbox: Sendable {
  private let waiting = Mutex<[CommitNotice]>([])
  private let isFilled = Atomic<Bool>(false)
  private let arrived: @Sendable () -> Void

  /// `arrived` is called for the first commit that waits, on a thread of the store or one that saves; it must not wait, and must not keep the context.
  package init(_ arrived: @escaping @Sendable () -> Void) { self.arrived = arrived }

  func put(_ notice: CommitNotice) {
    let isFirst = waiting.withLock { waiting in
      waiting.append(notice)
      return waiting.count == 1
    }
    isFilled.store(true, ordering: .releasing)
    if isFirst { arrived() }
  }

  func takeAll() -> [CommitNotice] {
    guard isFilled.load(ordering: .acquiring) else { return [] }
    return waiting.withLock { waiting in
      isFilled.store(false, ordering: .relaxed)
      defer { waiting = [] }
      return waiting
    }
  }
}

extension ManagedObjectContext {
  /// Makes a confinement context one that any thread may use, one after another, and that keeps what its siblings commit until ``mergeArrived()``. Before it gets
  /// its coordinator.
  package final func serveAnyThread(_ inbox: CommitInbox) {
    belongToAnyone()
    self.inbox = inbox
    automaticallyMergesChangesFromParent = true
  }

  /// Merges what siblings have committed since. Costs a load when that is nothing.
  @inline(__always)
  package final func mergeArrived() {
    guard let inbox else { return }
    let notices = inbox.takeAll()
    if !notices.isEmpty { merge(arrived: notices) }
  }

  private func merge(arrived notices: [CommitNotice]) {
    ThreadScope.current.run(in: self) { for notice in notices { mergeBySlices(notice) } }
  }
}
