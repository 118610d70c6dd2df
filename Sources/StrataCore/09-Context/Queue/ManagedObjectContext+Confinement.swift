import Dispatch
import Foundation
import Synchronization

#if DEBUG
  private let checksUnlessToldOtherwise = true
#else
  private let checksUnlessToldOtherwise = false
#endif

/// Whether accesses are checked. A plain flag: it is set at start-up and read everywhere.
private let confinementSwitch = Atomic<Bool>(checksUnlessToldOtherwise)

extension ManagedObjectContext {
  /// Whether every access to a context and its objects checks that it happens on the context's queue.
  ///
  /// True in debug builds, false in release builds, unless it is set here or at start-up: by the environment variable `STRATA_CHECK_CONFINEMENT`, or
  /// by the launch argument `-com.apple.CoreData.ConcurrencyDebug`, each `1` or `0`. The argument counts where both are there.
  ///
  /// Without the check, an access on the wrong queue is a data race, with whatever follows. In release builds, set it before objects are fetched:
  /// those already realised are not checked.
  public static var checksConfinement: Bool {
    get {
      _ = environmentSwitch
      return confinementSwitch.load(ordering: .relaxed)
    }
    set {
      // Once read, the environment does not come later and undo this.
      _ = environmentSwitch
      confinementSwitch.store(newValue, ordering: .relaxed)
    }
  }

  /// Whether attribute reads must take the slow way to be checked. In debug builds the fast half checks by itself.
  static var checksEveryAccess: Bool {
    #if DEBUG
      return false
    #else
      return confinementSwitch.load(ordering: .relaxed)
    #endif
  }

  /// Reads environment and launch arguments once.
  static let environmentSwitch: Void = {
    let process = ProcessInfo.processInfo
    if let setting = confinementSetting(process.arguments, process.environment) {
      confinementSwitch.store(setting, ordering: .relaxed)
    }
  }()

  /// What launch arguments and environment say of the check; nil for nothing.
  package static func confinementSetting(_ arguments: [String], _ environment: [String: String]) -> Bool? {
    let flag = arguments.lastIndex(of: "-com.apple.CoreData.ConcurrencyDebug")
    if let flag, flag + 1 < arguments.count, let level = Int(arguments[flag + 1]) { return level != 0 }
    return environment["STRATA_CHECK_CONFINEMENT"].flatMap { Int($0) }.map { $0 != 0 }
  }

  /// Traps when the caller is not on the context's queue (contexts 1).
  @inline(__always)
  func checkAccess(_ entity: @autoclosure () -> String? = nil) {
    #if DEBUG
      if !isAccessible, Self.checksConfinement { trapForeignAccess(entity()) }
    #else
      if confinementSwitch.load(ordering: .relaxed), !isAccessible { trapForeignAccess(entity()) }
    #endif
  }

  /// The same for something that belongs to the context, named in the trap's text.
  @inline(__always)
  func checkAccess(toWhat subject: @autoclosure () -> String) {
    #if DEBUG
      if !isAccessible, Self.checksConfinement { trapForeignAccess(to: subject()) }
    #else
      if confinementSwitch.load(ordering: .relaxed), !isAccessible { trapForeignAccess(to: subject()) }
    #endif
  }

  /// The same, whatever the switch says.
  func checkAccessAlways() { if !isAccessible { trapForeignAccess(nil) } }

  /// Whether the caller is on the context's queue.
  var isAccessible: Bool { ThreadScope.currentHolds(self) || queue.isOwnedByCaller }

  /// Whether the calling thread may bring into the context what others have done. As ``isAccessible``, but for a context that any thread may use: that may be in use on
  /// another one, unless the caller is where it is known to be used, or runs no block that a context above it has on a queue of its own.
  var isAtHand: Bool {
    if ThreadScope.currentHolds(self) { return true }
    guard queue.isOwnedByCaller else { return false }
    guard queue.isForAnyone else { return true }
    if inbox?.isOfMainQueue == true { return ContextQueue.isOnMainQueue }
    return !ThreadScope.current.runsAlone(above: self)
  }

  private func trapForeignAccess(_ entity: String?) -> Never {
    trapForeignAccess(to: entity.map { "An object of entity \($0) in \(description)" } ?? "\(description)")
  }

  private func trapForeignAccess(to subject: String) -> Never {
    let remedy =
      switch concurrencyType {
      case .privateQueue: "Wrap the access in perform or performAndWait of that context"
      case .mainQueue: "Use it on the main queue (@MainActor), or through perform or performAndWait"
      case .confinement: "Use it only on the thread that made the context"
      }
    let thread = Thread.current
    let place =
      "thread \(thread.name.flatMap { $0.isEmpty ? nil : "“\($0)”" } ?? "\(Unmanaged.passUnretained(thread).toOpaque())")"
    let current = ThreadScope.current.current.map { ", inside a block of \($0)" } ?? ""
    trap(
      "\(subject) was touched on the wrong queue, on \(place)\(current). \(remedy); "
        + "to hand a record over, pass its objectID and call object(with:) in the other context.")
  }
}

extension ManagedObjectContext {
  /// Enqueues `block` on the context's queue and returns at once. May be called from any thread.
  ///
  /// Blocks run in the order they were enqueued; after each, pending changes are processed (rules 3, 5). Traps for a
  /// confinement context, which has no queue.
  @_disfavoredOverload public func perform(_ block: @escaping @Sendable () -> Void) {
    guard let queue = queue.queue else { trapHasNoQueue("perform") }
    flushCurrentContext()
    Errand.hand(to: queue, isForMainQueue: isOfMainQueue) { self.runAsEvent(block) }
  }

  /// Runs `block` on the context's queue and waits for it. May be called from any thread, and re-entrantly: inside the
  /// context the block runs inline. Pending changes are not processed afterwards (rule 4); children see them when the outermost such block is
  /// over (contexts 5).
  public func performAndWait<T>(_ block: () throws -> T) rethrows -> T { try runAndWait(block) }

  /// The same for a block that neither returns nor throws anything: a function of that type, as code hands it on that was written for Core Data.
  public func performAndWait(_ block: () -> Void) { runAndWait(block) }

  private func runAndWait<T>(_ block: () throws -> T) rethrows -> T {
    let scope = ThreadScope.current
    if scope.holds(self) { return try scope.run(in: self, block) }
    flushCurrentContext()
    switch concurrencyType {
    case .confinement:
      checkAccess()
      return try runInline(block)
    case .mainQueue:
      if ContextQueue.isOnMainQueue {
        return try runInline(block)
      }
      let alarm = MainQueueWatch.warnLater(about: description)
      defer { alarm.cancel() }
      return try runSynchronously(block)
    case .privateQueue:
      return try runSynchronously(block)
    }
  }

  /// Runs `block` on the calling thread, where the context may be used.
  private func runInline<T>(_ block: () throws -> T) rethrows -> T {
    if strata.mustMerge { mergeReceived() }
    return try ThreadScope.current.run(in: self) {
      defer { flushEdits() }
      return try block()
    }
  }

  private func runSynchronously<T>(_ block: () throws -> T) rethrows -> T {
    guard let queue = queue.queue else { trapHasNoQueue("performAndWait") }
    let servesMainQueue = ContextQueue.isOnMainQueue
    let asked = Watching.concerns(.waits) ? ContinuousClock.now : nil
    var waited: Duration?
    defer { if asked != nil { tellQueueWait(waited) } }
    return try queue.sync {
      if let asked { waited = ContinuousClock.now - asked }
      return try ThreadScope.current.run(in: self, servingMainQueue: servesMainQueue) {
        if strata.mustMerge { mergeReceived() }
        defer {
          event.prefetched = []
          flushEdits()
          undoRecorder?.manager.messages.endJob()
          endFaultCounts()
        }
        return try block()
      }
    }
  }

  /// Runs `block` on the context's queue and returns its value. Works from any task, the main actor included.
  ///
  /// - Parameters:
  ///   - schedule: `.immediate` runs inline when the caller is already inside the context (rule 6).
  ///   - block: what to do; its value must be `Sendable`, so managed objects cannot be carried out.
  /// - Returns: what `block` returns.
  /// - Throws: what `block` throws.
  @_disfavoredOverload public func perform<T: Sendable>(
    schedule: ScheduledTaskType = .immediate, _ block: @escaping @Sendable () throws -> T
  ) async throws -> T {
    let answer = ErrandAnswer<Result<T, any Error>>()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      enqueue(schedule) {
        answer.give(Result(catching: block))
      } then: {
        continuation.resume()
      }
    }
    return try answer.take().get()
  }

  /// Runs `block`, which cannot fail, on the context's queue and returns its value.
  @_disfavoredOverload public func perform<T: Sendable>(
    schedule: ScheduledTaskType = .immediate, _ block: @escaping @Sendable () -> T
  ) async -> T {
    let answer = ErrandAnswer<T>()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      enqueue(schedule) {
        answer.give(block())
      } then: {
        continuation.resume()
      }
    }
    return answer.take()
  }

  /// Runs `job`, then `then`: the waiting task goes on when the event is over, its changes are processed, and nothing holds the context for it any more.
  private func enqueue(
    _ schedule: ScheduledTaskType, _ job: @escaping @Sendable () -> Void,
    then: @escaping @Sendable () -> Void
  ) {
    if schedule == .immediate, ThreadScope.current.holds(self) {
      ThreadScope.current.run(in: self, job)
      return then()
    }
    guard let queue = queue.queue else { trapHasNoQueue("perform") }
    flushCurrentContext()
    Errand.hand(to: queue, isForMainQueue: isOfMainQueue, { self.runAsEvent(job) }, then: then)
  }

  /// Whether the main queue runs the context's blocks.
  var isOfMainQueue: Bool { queue.type == .mainQueue }

  /// Runs one enqueued block as an event of its own.
  func runAsEvent<R>(_ block: () -> R) -> R {
    func run() -> R {
      event.begin()
      // What children have saved comes before any block (contexts 6).
      if strata.mustMerge { mergeReceived() }
      let result = block()
      processPendingChanges()
      event.end()
      undoRecorder?.manager.messages.endJob()
      endFaultCounts()
      return result
    }
    let scope = ThreadScope.current
    return queue.type == .privateQueue ? scope.runAlone(in: self, run) : scope.run(in: self, run)
  }

  /// Work handed to another context is a flush point of the current one (contexts 5).
  private func flushCurrentContext() {
    if let current = ThreadScope.current.current, current !== self {
      // Also in the middle of a save of its own, which the other may outlast.
      let wasAboutToWrite = current.saving.pauseWriting()
      current.tellChanges()
      current.saving.resumeWriting(wasAboutToWrite)
    }
    flushAncestors()
  }

  private func trapHasNoQueue(_ verb: String) -> Never {
    trap(
      "\(description) has no queue, so it cannot \(verb) asynchronously; make it with .privateQueue or .mainQueue."
    )
  }
}
