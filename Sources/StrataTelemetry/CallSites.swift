import Dispatch
import StrataCore

/// Names the places of the program that fire faults, each once. Off the thread that fires: reading debug information takes time.
final class CallSites: Sendable {
  /// So many wait to be named. More have no names: what they keep would grow while a server fires faster than places can be named.
  static let mostWaiting = 16
  /// So many names are kept; then it begins anew.
  static let mostKnown = 1_024

  private struct State {
    /// By their return addresses. Nil inside is a place that has no name.
    var known: [[UInt]: CallSite?] = [:]
    var waitingCount = 0
    var namedCount = 0
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "strata.telemetry.callsites", qos: .utility)

  private enum Answer {
    case known(CallSite?)
    case tooMany
    case enqueued
  }

  /// Hands the place with these return addresses to `done`: at once when it is known; nil at once when too many wait; otherwise later, on a queue of its own.
  /// `capture` looks at the calling functions, on the calling thread and only when that is needed; what it answers finds the name.
  func name(
    _ addresses: [UInt], _ capture: () -> @Sendable () -> CallSite?,
    _ done: @escaping @Sendable (CallSite?) -> Void
  ) {
    let key = Array(addresses.prefix(CallStack.significant))
    let answer = state.withLock { state -> Answer in
      if let known = state.known[key] { return .known(known) }
      if state.waitingCount >= Self.mostWaiting { return .tooMany }
      state.waitingCount += 1
      return .enqueued
    }
    switch answer {
    case .known(let site): done(site)
    case .tooMany: done(nil)
    case .enqueued:
      let find = capture()
      queue.async { done(self.find(key, find)) }
    }
  }

  private func find(_ key: [UInt], _ find: () -> CallSite?) -> CallSite? {
    // Perhaps it was named while this waited. Without addresses nobody knows whether it is the same place.
    let known = state.withLock { key.isEmpty ? nil : $0.known[key] }
    let site = known ?? find()
    state.withLock { state in
      state.waitingCount -= 1
      if known != nil || key.isEmpty { return }
      if state.known.count >= Self.mostKnown { state.known = [:] }
      state.known[key] = .some(site)
      state.namedCount += 1
    }
    return site
  }

  /// How many places were looked up, and a wait until all have been: for tests.
  var namedCount: Int { state.withLock { $0.namedCount } }
  func awaitNaming() { queue.sync {} }
}
