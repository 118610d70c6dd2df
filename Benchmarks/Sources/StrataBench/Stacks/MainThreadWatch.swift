import Dispatch
import Foundation
import Strata
import Synchronization

/// Finds out how long the main queue was held at a stretch: a background thread asks it every half millisecond to say that it
/// is there, and records how long the answer took.
final class MainThreadWatch: Sendable {
  private struct State {
    var isRunning = true
    var longest = 0.0
    var asked = 0
  }
  private let state = Mutex(State())
  private let ended = DispatchSemaphore(value: 0)

  init() {
    let thread = Thread { [self] in watch() }
    thread.qualityOfService = .userInteractive
    thread.start()
  }

  private func watch() {
    let clock = ContinuousClock()
    while state.withLock({ $0.isRunning }) {
      let start = clock.now
      let answered = DispatchSemaphore(value: 0)
      DispatchQueue.main.async { answered.signal() }
      answered.wait()
      let seconds = (clock.now - start).seconds
      state.withLock { state in
        state.longest = max(state.longest, seconds)
        state.asked += 1
      }
      usleep(500)
    }
    ended.signal()
  }

  /// Ends, and tells the longest time the main queue took to answer, in seconds.
  func stop() async -> Double {
    state.withLock { $0.isRunning = false }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        self.ended.wait()
        continuation.resume()
      }
    }
    return state.withLock { $0.longest }
  }
}

/// A list on screen: the main context fetches a window of 50 rows every five milliseconds, further down the first 2,000 each
/// time.
@MainActor
final class Scrolling {
  private let context: ManagedObjectContext
  private var timer: (any DispatchSourceTimer)?
  private(set) var fetches = 0
  private(set) var failure: (any Error)?
  private var offset = 0

  init(_ context: ManagedObjectContext) {
    self.context = context
    let timer = DispatchSource.makeTimerSource(queue: .main)
    timer.schedule(deadline: .now(), repeating: .milliseconds(5))
    timer.setEventHandler { [weak self] in MainActor.assumeIsolated { self?.scroll() } }
    timer.resume()
    self.timer = timer
  }

  private func scroll() {
    var request = FetchRequest<FlightObject>(entityName: "Flight", sortDescriptors: [FetchSort("departure")])
    request.fetchLimit = 50
    request.fetchOffset = offset
    do {
      let rows = try context.fetch(request)
      for row in rows { _ = row.location }
      offset = rows.count < 50 || offset >= 2_000 ? 0 : offset + 50
      fetches += 1
    } catch {
      failure = error
    }
  }

  func stop() throws {
    timer?.cancel()
    timer = nil
    if let failure { throw failure }
  }
}
