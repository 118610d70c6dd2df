import Synchronization

/// Commits of siblings that wait for a context that has no queue: whoever uses the context has them merged when it is used next.
///
/// A context may lie idle for long. Of so many rows no more is kept than which stores have changed: then the objects that the context holds are read again.
package final class CommitInbox: Sendable {
  private struct Waiting {
    var notices: [CommitNotice] = []
    /// How many rows they are about, and one for each.
    var weight = 0
    /// By the number of a store, its newest commit of which nothing is kept.
    var forgotten: [Int: UInt64] = [:]

    var isEmpty: Bool { notices.isEmpty && forgotten.isEmpty }
  }

  /// The most rows that wait.
  static let mostRows = 10_000

  private let waiting = Mutex(Waiting())
  private let isFilled = Atomic<Bool>(false)
  private let arrived: @Sendable () -> Void
  /// Whether the context is used on the main queue.
  let isOfMainQueue: Bool

  /// `arrived` is called for the first commit that waits, on a thread of the store or one that saves; it must not wait, and must not keep the context. It is called as well when a
  /// context above has saved elsewhere.
  package init(isOfMainQueue: Bool = false, _ arrived: @escaping @Sendable () -> Void) {
    self.isOfMainQueue = isOfMainQueue
    self.arrived = arrived
  }

  /// How many rows wait.
  var weight: Int { waiting.withLock { $0.weight } }

  func put(_ notice: CommitNotice) {
    let isFirst = waiting.withLock { waiting in
      defer {
        waiting.notices.append(notice)
        waiting.weight += notice.count + notice.changes.resaved.count + 1
        if waiting.weight > Self.mostRows {
          for notice in waiting.notices {
            // What wrote nothing has no number.
            let known = waiting.forgotten[notice.storeIndex] ?? 0
            waiting.forgotten[notice.storeIndex] = max(known, notice.commitNumber)
          }
          (waiting.notices, waiting.weight) = ([], 0)
        }
        // Within the lock: what is taken out meanwhile leaves no mark behind.
        isFilled.store(true, ordering: .releasing)
      }
      return waiting.isEmpty
    }
    if isFirst { arrived() }
  }

  /// A context above has saved, where the context may not be used: its layers have what is to be merged.
  func noteReceived() {
    if !isFilled.exchange(true, ordering: .acquiringAndReleasing) { arrived() }
  }

  /// Whether something waits.
  @inline(__always)
  var hasCommits: Bool { isFilled.load(ordering: .acquiring) }

  /// What waits: first the stores of which it is only known that they have changed, and up to which commit.
  func takeAll() -> (forgotten: [Int: UInt64], notices: [CommitNotice])? {
    guard hasCommits else { return nil }
    return waiting.withLock { waiting in
      // What a context above has saved before it said so is seen from here on.
      _ = isFilled.exchange(false, ordering: .acquiringAndReleasing)
      defer { waiting = Waiting() }
      return (waiting.forgotten, waiting.notices)
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

  /// Merges what siblings have committed since, and what contexts above have saved elsewhere. Costs a load when that is nothing.
  @inline(__always)
  package final func mergeArrived() {
    // The context keeps its inbox: to ask it counts no references.
    guard let asked = inbox.map({ Unmanaged.passUnretained($0) }),
      asked._withUnsafeGuaranteedRef({ $0.hasCommits }), let (forgotten, notices) = inbox?.takeAll()
    else { return }
    if strata.mustMerge { showReceived() }
    let unknown = forgotten.compactMap { coordinator.unknownNotice(ofStore: $0.key, upTo: $0.value) }
    merge(arrived: unknown + notices)
  }

  /// When all there is to save are deletions of objects whose rows others have deleted, or that were looked for and not found: takes these out of the context, as nothing is
  /// left to be written. `willLeave` is called for each before any of them leaves. Otherwise, and when one of them was edited, costs a comparison.
  @inline(__always)
  package final func letGoMissing(_ willLeave: (ManagedObject) -> Void) {
    if changes.hasOnlyMissing { letGoAllMissing(willLeave) }
  }

  @inline(never)
  private func letGoAllMissing(_ willLeave: (ManagedObject) -> Void) {
    // Observers are told of objects that are in the context; they may change something.
    if changes.hasNoted { tellChanges() }
    guard changes.hasOnlyMissing, !hasReceivedChanges else { return }
    let gone = changes.deleted
    for object in gone { willLeave(object) }
    changes.forget(missing: gone)
    letGo(deleted: gone)
  }

  private func merge(arrived notices: [CommitNotice]) {
    ThreadScope.current.run(in: self) { for notice in notices { mergeBySlices(notice) } }
  }
}
