@preconcurrency import Dispatch
import Foundation
import Synchronization

/// Follows what is committed to one store, by other processes and by this one, and sees that all of it is told in the order in
/// which it happened.
///
/// ```
///   own commit ──────────────────────────▶ tell(own)  ─┐  what others committed before it is told first
///                                                      ├─▶ observers, in commit order
///   write seen by its watch ─▶ check ─▶ others' commits ┘  (the journal says what they changed)
/// ```
///
/// Own commits are told on the thread that wrote them, those of others on `queue`. `told` is the number of the newest commit that was
/// told; nothing is told twice. An own commit that the journal has and that was not told yet is waited for.
final class StoreFollower: @unchecked Sendable {
  // Unchecked: `watch` and `timer` are touched under `watchLock`; the rest has locks of its own or is constant.
  private struct State {
    /// The newest commit that was reported, or that need not be reported.
    var told: UInt64
    /// The newest own commit among those.
    var ownTold: UInt64 = 0
    var isFollowing = false
    var isStopped = false
    /// An own commit that is waited for, and how often it was found missing.
    var awaited: (number: UInt64, checks: Int)?
  }

  /// The receiver of a store's reports.
  struct Listener: Sendable {
    /// Another process has committed; called in commit order, must not wait.
    let commit: @Sendable (JournaledCommit) -> Void
    /// Something was committed: the newest number, and others' commits that are new. Called on the follower's queue.
    let changed: @Sendable (_ newest: UInt64, _ others: [JournaledCommit]) -> Void
  }

  private let store: any FollowedStore
  private let state: Mutex<State>
  /// Held while observers are called. Observers must not wait.
  private let order = NSLock()
  private let listener: Listener
  private let queue = DispatchQueue(label: "strata.follower")
  private let watchLock = NSLock()
  private var watch: (any AnyObject & Sendable)?
  private var timer: (any DispatchSourceTimer)?
  private let isPoked = Atomic<Bool>(false)
  /// Counts rounds of checks: a newer round ends the one before.
  private let round = Atomic<Int>(0)

  private let habits: FollowingHabits
  /// How often a commit of this process that was not reported is waited for; then it is reported like those of others: its context may never have
  /// learned how it ended.
  private static let patience = 200

  /// Follows nothing yet.
  init(store: any FollowedStore, _ listener: Listener) {
    self.store = store
    self.listener = listener
    habits = store.followingHabits
    state = Mutex(State(told: store.firstCommitNumber))
  }

  deinit { timer?.cancel() }

  /// Receives what a watch tells.
  typealias Handler = @Sendable (StoreWatchEvent) -> Void

  /// Begins to watch the store, once. `makeWatch` is for tests; nil for the store's own.
  func start(makeWatch: ((@escaping Handler) -> (any AnyObject & Sendable)?)? = nil) {
    let isFirst = state.withLock { state in
      defer { state.isFollowing = true }
      return !state.isFollowing && !state.isStopped
    }
    guard isFirst else { return }
    let handler: Handler = { [weak self] event in self?.poke(event) }
    let made = makeWatch.map { $0(handler) } ?? store.makeWatch(handler)
    watchLock.withLock {
      watch = made
      if let interval = made == nil ? habits.pollInterval : habits.watchedPollInterval {
        timer = makeTimer(interval)
      }
    }
    // What happened since the store was opened.
    poke(.written)
  }

  private func makeTimer(_ interval: Duration) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + interval.seconds, repeating: interval.seconds)
    timer.setEventHandler { [weak self] in self?.check() }
    timer.activate()
    return timer
  }

  /// Ends all reports.
  func stop() {
    state.withLock { $0.isStopped = true }
    // What the watch holds ends outside of the lock.
    let old = watchLock.withLock { () -> (any AnyObject & Sendable)? in
      defer { watch = nil }
      timer?.cancel()
      timer = nil
      return watch
    }
    withExtendedLifetime(old) {}
  }

  var isFollowing: Bool { state.withLock { $0.isFollowing && !$0.isStopped } }

  // MARK: Own commits

  /// An own commit with this number is to be told by `tell`: others' commits before it come first. On the thread that wrote.
  func tellOwn(_ number: UInt64, reportsChange: Bool, _ tell: () -> Void) {
    let (told, isFollowing) = state.withLock { ($0.told, $0.isFollowing && !$0.isStopped) }
    var missed: [JournaledCommit] = []
    if isFollowing, number > told + 1 {
      // What cannot be read may be anything.
      let reading = try? store.journal(after: told)
      missed = reading?.commits.filter { $0.number < number } ?? [store.unknownCommit(number - 1)]
    }
    order.withLock {
      deliver(missed)
      tell()
      let isAwaited = state.withLock { state in
        // Without followers foreign commits are not needed, but a follower that starts later needs them.
        state.ownTold = max(state.ownTold, number)
        if isFollowing || number <= state.told + 1 { state.told = max(state.told, number) }
        defer { state.awaited = nil }
        return state.awaited != nil
      }
      if isAwaited { poke(.written) }
    }
    let others = missed.filter { !$0.isOwn }
    if reportsChange { Errand.hand(to: queue) { self.listener.changed(number, others) } }
  }

  /// `tell` says what came of a write that has written nothing: no commit was told with it.
  func tellNothingWritten(_ tell: () -> Void) { order.withLock(tell) }

  /// Reports those that were not reported yet. Under `order`.
  private func deliver(_ commits: [JournaledCommit]) {
    for commit in commits {
      let isNew = state.withLock { state in
        if commit.number <= state.told { return false }
        state.told = commit.number
        return true
      }
      if isNew, !commit.isOwn { listener.commit(commit) }
    }
  }

  // MARK: Others' commits

  /// The store was written to.
  private func poke(_ event: StoreWatchEvent) {
    if event == .moved, !store.isInPlace { return stop() }
    if isPoked.exchange(true, ordering: .acquiringAndReleasing) { return }
    Errand.hand(to: queue) { [weak self] in
      guard let self else { return }
      isPoked.store(false, ordering: .releasing)
      check()
      recheck(0, of: round.add(1, ordering: .relaxed).newValue)
    }
  }

  private func recheck(_ number: Int, of round: Int) {
    guard number < habits.recheckDelays.count else { return }
    queue.asyncAfter(deadline: .now() + habits.recheckDelays[number].seconds) { [weak self] in
      guard let self, self.round.load(ordering: .relaxed) == round else { return }
      check()
      recheck(number + 1, of: round)
    }
  }

  /// Looks what is new. On the follower's queue.
  private func check() {
    let (told, isStopped) = state.withLock { ($0.told, $0.isStopped) }
    // A store that cannot be read now tells its readers why; there may be another commit.
    guard !isStopped, var reading = try? store.journal(after: told), reading.newest > told else { return }
    if let own = reading.commits.firstIndex(where: { $0.isOwn && isAwaited($0.number) }) {
      reading.commits.removeSubrange(own...)
    }
    if reading.commits.isEmpty { return }
    // An own commit that was not reported is new to every observer here.
    let ownTold = state.withLock { $0.ownTold }
    for (place, commit) in reading.commits.enumerated() where commit.isOwn && commit.number > ownTold {
      reading.commits[place] = store.unknownCommit(commit.number)
    }
    let new = order.withLock { () -> [JournaledCommit] in
      let told = state.withLock { $0.told }
      deliver(reading.commits)
      return reading.commits.filter { $0.number > told && !$0.isOwn }
    }
    if let newest = new.last?.number { listener.changed(newest, new) }
  }

  /// Whether an own commit is about to be told.
  private func isAwaited(_ number: UInt64) -> Bool {
    let (isAwaited, checks) = state.withLock { state -> (Bool, Int) in
      if number <= max(state.told, state.ownTold) { return (false, 0) }
      let checks = state.awaited?.number == number ? (state.awaited?.checks ?? 0) + 1 : 0
      state.awaited = checks < Self.patience ? (number, checks) : nil
      return (checks < Self.patience, checks)
    }
    if isAwaited {
      // In case that it never comes.
      queue.asyncAfter(deadline: .now() + .milliseconds(checks < 10 ? 5 : 50)) { [weak self] in self?.check()
      }
    }
    return isAwaited
  }
}
