import Dispatch
import Synchronization

/// A piece of work for another thread, which lets go of all that it holds before those who wait for it go on.
///
/// Dispatch keeps a block a little longer than it runs. What the block held lived on for that moment after an `await` had returned: a container that went out of
/// scope right then was still open. So a block holds an errand, which is empty by then.
package final class Errand: @unchecked Sendable {
  // @unchecked Sendable: `work` is set before the errand is handed over, and belongs to the thread that runs it from then on.
  private var work: (@Sendable () -> Void)?
  private let isCounted: Bool
  private let isForMainQueue: Bool

  private static let count = ErrandCount()

  /// Whether an errand holds something that its owner may have given up: it lets go of it soon, or when it is done.
  static var areUnderWay: Bool { count.areUnderWay }

  /// - Parameters:
  ///   - isCounted: Whether those who wait for somebody to let go of a store have reason to wait for this. Not for what opens stores, which would wait for itself.
  ///   - isForMainQueue: Whether the main queue runs it, if anything serves that.
  ///   - work: What is to be done. It has to be run, once.
  package init(
    isCounted: Bool = true, isForMainQueue: Bool = false, _ work: @escaping @Sendable () -> Void
  ) {
    self.work = work
    self.isCounted = isCounted
    self.isForMainQueue = isForMainQueue
    if isCounted { Self.count.add(isForMainQueue: isForMainQueue) }
  }

  /// Does the work, and lets go of it.
  // Not inlined: what a caller's frame holds would end later.
  @inline(never)
  package func run() {
    if isForMainQueue { Self.count.noteMainQueue() }
    work?()
    work = nil
    if isCounted { Self.count.remove(isForMainQueue: isForMainQueue) }
  }

  /// Has `queue` do `work`, let go of it, and call `then`, which holds nothing but those who wait. `isForMainQueue` says whether `queue` is the main queue: it cannot be asked.
  // Consuming: the thread that hands it over may go on later than those who wait.
  package static func hand(
    to queue: DispatchQueue, isCounted: Bool = true, isForMainQueue: Bool = false,
    _ work: consuming @escaping @Sendable () -> Void, then: (@Sendable () -> Void)? = nil
  ) {
    let errand = Errand(isCounted: isCounted, isForMainQueue: isForMainQueue, work)
    queue.async {
      errand.run()
      then?()
    }
  }
}

/// How many errands hold something. May be used from any thread.
final class ErrandCount: Sendable {
  private let elsewhere = Atomic<Int>(0)
  private let onMainQueue = Atomic<Int>(0)
  private let isMainQueueServed = Atomic<Bool>(false)

  /// Whether some errand is going to let go of what it holds. Those for the main queue count once it has run one: in a command-line program without a main loop it never does,
  /// and nobody has reason to wait for them.
  var areUnderWay: Bool {
    elsewhere.load(ordering: .acquiring) > 0
      || isMainQueueServed.load(ordering: .relaxed) && onMainQueue.load(ordering: .acquiring) > 0
  }

  func add(isForMainQueue: Bool) {
    if isForMainQueue {
      onMainQueue.add(1, ordering: .relaxed)
    } else {
      elsewhere.add(1, ordering: .relaxed)
    }
  }

  func remove(isForMainQueue: Bool) {
    if isForMainQueue {
      onMainQueue.subtract(1, ordering: .releasing)
    } else {
      elsewhere.subtract(1, ordering: .releasing)
    }
  }

  /// The main queue runs an errand.
  func noteMainQueue() {
    // Mostly known: no line of the cache is taken from others.
    if !isMainQueueServed.load(ordering: .relaxed) { isMainQueueServed.store(true, ordering: .relaxed) }
  }
}

/// What an errand has come to, for the task that waits for it: nothing else keeps it.
package final class ErrandAnswer<Value>: @unchecked Sendable {
  // @unchecked Sendable: given before the task goes on that takes it.
  private var value: Value?

  package init() {}

  package func give(_ value: Value) { self.value = value }

  /// The answer, which was given. Once.
  package func take() -> Value {
    guard let value else { trap("an errand was waited for that has no answer") }
    self.value = nil
    return value
  }
}
