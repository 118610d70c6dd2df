import Dispatch
import Foundation
import Synchronization

/// How long the main queue was held at a stretch: a thread of its own asks it every half millisecond whether it is there, and
/// records the longest time to the answer.
final class MainQueueWatch: Sendable {
  private let isRunning = Atomic<Bool>(true)
  private let longest = Mutex<Duration>(.zero)
  private let ended = DispatchGroup()

  init() {
    ended.enter()
    Thread { [self] in
      let clock = ContinuousClock()
      while isRunning.load(ordering: .relaxed) {
        let start = clock.now
        let answered = DispatchSemaphore(value: 0)
        DispatchQueue.main.async { answered.signal() }
        answered.wait()
        let time = clock.now - start
        longest.withLock { $0 = max($0, time) }
        usleep(500)
      }
      ended.leave()
    }.start()
  }

  /// Ends the watch and tells the longest stall.
  func stop() async -> Duration {
    isRunning.store(false, ordering: .relaxed)
    await withCheckedContinuation { continuation in
      ended.notify(queue: .global()) { continuation.resume() }
    }
    return longest.withLock { $0 }
  }
}
