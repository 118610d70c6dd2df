import Dispatch
import Foundation
import Synchronization

/// The observers of what Strata does, of the whole process.
///
///     final class SlowFetches: StrataObserver {
///       func observe(_ event: StrataEvent) {
///         if case .fetch(let fetch) = event, fetch.duration > .milliseconds(50) { print(fetch.entityName, fetch.plan ?? "") }
///       }
///     }
///     let installation = StrataObservers.install(SlowFetches(), for: .fetches)
///     …
///     installation.remove()
///
/// Without an observer each place costs one load; no clock is read, and nothing is allocated. The product `StrataTelemetry` has observers that write log lines, metrics
/// and spans. May be used from any thread.
public enum StrataObservers {
  /// When an observer is told.
  public struct Options: Sendable, Hashable {
    /// From how many faults of one place on ``StrataEvent/repeatedFaults(_:)`` is told, at least 2.
    public var repeatedFaultThreshold = 16
    /// Waits for a context's queue are told from this length on. Other waits are told however short they are.
    public var shortestQueueWait = Duration.milliseconds(10)

    /// 16 faults, 10 ms.
    public init() {}
  }

  /// An observer that is installed.
  public final class Installation: Sendable {
    private let number: Int
    init(_ number: Int) { self.number = number }

    /// Ends it. An event that another thread is telling may still arrive afterwards. Calling it again does nothing.
    public func remove() { StrataObservers.remove(number) }
  }

  private struct Entry: Sendable {
    let number: Int
    let observer: any StrataObserver
    let kinds: StrataEvent.Kinds
    let options: Options
  }

  private struct State {
    var entries: [Entry] = []
    var lastNumber = 0
  }

  private static let state = Mutex(State())
  /// For what happens under a lock.
  private static let queue = DispatchQueue(label: "strata.events")

  /// From now on `observer` is told of events of `kinds`. It is kept until the installation is removed, also when nobody keeps the installation. One observer may be installed
  /// several times.
  @discardableResult
  public static func install(
    _ observer: any StrataObserver, for kinds: StrataEvent.Kinds = .all, options: Options = Options()
  ) -> Installation {
    var options = options
    options.repeatedFaultThreshold = max(2, options.repeatedFaultThreshold)
    let number = state.withLock { [options] state in
      state.lastNumber += 1
      state.entries.append(
        Entry(number: state.lastNumber, observer: observer, kinds: kinds, options: options))
      Watching.observed = wanted(state)
      return state.lastNumber
    }
    return Installation(number)
  }

  private static func remove(_ number: Int) {
    let removed = state.withLock { state -> Entry? in
      guard let place = state.entries.firstIndex(where: { $0.number == number }) else { return nil }
      defer { Watching.observed = wanted(state) }
      return state.entries.remove(at: place)
    }
    // Perhaps the last reference: what it does when it ends is the program's code.
    withExtendedLifetime(removed) {}
  }

  private static func wanted(_ state: State) -> StrataEvent.Kinds {
    state.entries.reduce(into: []) { $0.formUnion($1.kinds) }
  }

  // MARK: For the library

  /// Tells those who ask for its kind; whether there are any. The caller holds no lock and is in no transaction.
  @discardableResult
  package static func tell(_ event: StrataEvent) -> Bool {
    let (key, kind) = (threadIsTelling, event.kind)
    let dictionary = Thread.current.threadDictionary
    if dictionary[key] != nil { return false }
    let entries = state.withLock { $0.entries.filter { $0.kinds.contains(kind) } }
    dictionary[key] = true
    defer { dictionary[key] = nil }
    for entry in entries { entry.observer.observe(event) }
    return !entries.isEmpty
  }

  private static let threadIsTelling = "strata.events.telling"

  /// Runs `body`, which may tell, a little later on a queue of its own: for callers that hold locks.
  static func later(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  /// The same for one event, which is made there; nil is not told.
  static func tellLater(_ make: @escaping @Sendable () -> StrataEvent?) {
    later { if let event = make() { tell(event) } }
  }

  /// Waits until everything that was to be told later has been: for tests.
  package static func awaitLater() { queue.sync {} }

  /// The least of what observers of a kind ask for; nil when there is none any more.
  static func least<Value: Comparable & Sendable>(
    _ option: KeyPath<Options, Value> & Sendable, for kinds: StrataEvent.Kinds
  ) -> Value? {
    state.withLock { state in
      state.entries.filter { !$0.kinds.isDisjoint(with: kinds) }.map { $0.options[keyPath: option] }.min()
    }
  }
}

/// What is wanted now, by observers and by ``DebugOutput``: one word, so that each place costs one load.
enum Watching {
  /// The bits above those of events.
  private static let debugShift: UInt32 = 16

  /// Whether an observer asks for one of `kinds`.
  @inline(__always)
  static func concerns(_ kinds: StrataEvent.Kinds) -> Bool {
    watchingSwitch.load(ordering: .relaxed) & UInt32(kinds.rawValue) != 0
  }

  /// The same, or debug output asks for one of `output`.
  @inline(__always)
  static func concerns(_ kinds: StrataEvent.Kinds, _ output: DebugOutput) -> Bool {
    watchingSwitch.load(ordering: .relaxed) & (UInt32(kinds.rawValue) | UInt32(output.rawValue) << debugShift)
      != 0
  }

  static var debugOutput: DebugOutput {
    get {
      DebugOutput(rawValue: UInt8(truncatingIfNeeded: watchingSwitch.load(ordering: .relaxed) >> debugShift))
    }
    set { change(0xFF << debugShift, UInt32(newValue.rawValue) << debugShift) }
  }

  static var observed: StrataEvent.Kinds {
    get { StrataEvent.Kinds(rawValue: UInt16(truncatingIfNeeded: watchingSwitch.load(ordering: .relaxed))) }
    set { change(0xFFFF, UInt32(newValue.rawValue)) }
  }

  private static func change(_ mask: UInt32, _ bits: UInt32) {
    var old = watchingSwitch.load(ordering: .relaxed)
    while true {
      let (exchanged, found) = watchingSwitch.compareExchange(
        expected: old, desired: old & ~mask | bits, ordering: .relaxed)
      if exchanged { return }
      old = found
    }
  }
}

/// A plain flag: set at start-up, read everywhere.
private let watchingSwitch = Atomic<UInt32>(0)
