import Foundation
import Synchronization

/// The turn to post a notification. It keeps threads that save at once from queueing up inside Foundation's notification center.
///
/// Outside of Apple's systems a center has one `Synchronization.Mutex`. A thread that has to sleep for it is handed the mutex when it is released, long
/// before it runs again, and every other thread that posts meanwhile has to sleep as well. With more threads than processors that does not end by itself: each post
/// is a change of threads. So a thread takes the turn first, for which nobody sleeps: it lets other threads run until the turn is free.
///
/// Nobody depends on it. Observers run in the turn of the thread that posts, they may post, and may wait for other threads. A thread that has waited a little posts without
/// the turn, and whoever comes after it does not wait for that turn at all.
package final class PostingTurn: Sendable {
  /// For the default center.
  package static let shared = PostingTurn()
  /// How often a thread lets others run.
  static let mostYields = 16

  /// The thread that has the turn, shifted by one bit, or 0. The lowest bit says that a thread has waited for it in vain.
  private let holder = Atomic<UInt>(0)

  init() {}

  /// Calls `post`, in the turn if it is to be had soon.
  package func withTurn(_ post: () -> Void) {
    #if canImport(Darwin)
      post()
    #else
      let isMine = take()
      post()
      if isMine { giveBack() }
    #endif
  }

  /// Whether the turn is taken now, by `thread`. If so, `giveBack` must follow. An observer that posts is inside a turn of its thread, and takes none.
  func take(
    for thread: SystemThread.Number = SystemThread.current, yield: () -> Void = { sched_yield() }
  ) -> Bool {
    let mine = thread << 1
    for round in 0...Self.mostYields {
      let (isTaken, other) = holder.compareExchange(
        expected: 0, desired: mine, ordering: .acquiringAndReleasing)
      if isTaken { return true }
      if other == mine || other & 1 == 1 { return false }
      if round < Self.mostYields {
        yield()
      } else {
        _ = holder.compareExchange(expected: other, desired: other | 1, ordering: .relaxed)
      }
    }
    return false
  }

  /// Ends the turn of the thread that took it.
  func giveBack() { holder.store(0, ordering: .releasing) }

  /// Whether the calling thread has the turn: for tests.
  package var isMine: Bool { holder.load(ordering: .relaxed) >> 1 == SystemThread.current }
}
