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

  /// How many errands still hold something.
  private static let count = Atomic<Int>(0)

  /// Whether an errand holds something that its owner may have given up: it lets go of it soon, or when it is done.
  static var areUnderWay: Bool { count.load(ordering: .acquiring) > 0 }

  /// - Parameters:
  ///   - isCounted: Whether those who wait for somebody to let go of a store have reason to wait for this. Not for what opens stores, which would wait for itself.
  ///   - work: What is to be done. It has to be run, once.
  package init(isCounted: Bool = true, _ work: @escaping @Sendable () -> Void) {
    self.work = work
    self.isCounted = isCounted
    if isCounted { Self.count.add(1, ordering: .relaxed) }
  }

  /// Does the work, and lets go of it.
  // Not inlined: what a caller's frame holds would end later.
  @inline(never)
  package func run() {
    work?()
    work = nil
    if isCounted { Self.count.subtract(1, ordering: .releasing) }
  }

  /// Has `queue` do `work`, let go of it, and call `then`, which holds nothing but those who wait.
  // Consuming: the thread that hands it over may go on later than those who wait.
  package static func hand(
    to queue: DispatchQueue, isCounted: Bool = true, _ work: consuming @escaping @Sendable () -> Void,
    then: (@Sendable () -> Void)? = nil
  ) {
    let errand = Errand(isCounted: isCounted, work)
    queue.async {
      errand.run()
      then?()
    }
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
