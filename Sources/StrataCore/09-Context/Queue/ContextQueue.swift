import Dispatch
import Foundation
import Synchronization

/// How a context is confined. The raw values are Core Data's (rule 1).
public enum ConcurrencyType: UInt, Sendable {
  /// Confined to the thread that made it. Core Data calls this deprecated; it is whole here.
  case confinement = 0
  /// Has a private serial queue; every use belongs inside `perform` or `performAndWait`.
  case privateQueue = 1
  /// Lives on the main queue; may be used there directly.
  case mainQueue = 2
}

/// How a context is confined, by Core Data's names.
public enum ManagedObjectContextConcurrencyType: UInt, Sendable, CaseIterable {
  /// To the thread that made it.
  case confinementConcurrencyType = 0
  /// To a queue of its own.
  case privateQueueConcurrencyType = 1
  /// To the main queue.
  case mainQueueConcurrencyType = 2
}

extension ConcurrencyType {
  /// What is called so by Core Data's names.
  init(_ type: ManagedObjectContextConcurrencyType) {
    self =
      switch type {
      case .confinementConcurrencyType: .confinement
      case .privateQueueConcurrencyType: .privateQueue
      case .mainQueueConcurrencyType: .mainQueue
      }
  }
}

/// When an asynchronous `perform` runs its block.
public enum ScheduledTaskType: Sendable {
  /// Behind everything already enqueued on the context's queue (rule 5).
  case enqueued
  /// At once if the caller already runs inside the context, otherwise enqueued (rule 6).
  case immediate
}

/// The queue, or the thread, that one context is confined to.
struct ContextQueue: Sendable {
  let type: ConcurrencyType
  /// The private queue or the main queue; nil for confinement.
  let queue: DispatchQueue?
  /// The thread that made a confined context.
  private let owner: UInt
  /// Whether any thread may use the context, one after another.
  let isForAnyone: Bool

  init(_ type: ConcurrencyType, isForAnyone: Bool = false) {
    self.type = type
    self.isForAnyone = isForAnyone
    owner = Self.threadIdentity
    switch type {
    case .confinement: queue = nil
    case .privateQueue: queue = DispatchQueue(label: "strata.context")
    case .mainQueue:
      Self.markMainQueue()
      queue = .main
    }
  }

  /// Whether the calling thread is, by queue, where the context may be used without `perform`.
  var isOwnedByCaller: Bool {
    switch type {
    case .confinement: return isForAnyone || owner == Self.threadIdentity
    case .privateQueue: return false
    case .mainQueue: return Self.isOnMainQueue
    }
  }

  /// Whether the caller runs on the main queue, or in a block that code on the main queue waits for. By queue, not by
  /// thread: once `dispatchMain()` has been called, the main queue and the main actor run on threads for which
  /// `Thread.isMainThread` is false.
  static var isOnMainQueue: Bool { runsOnMainQueue || ThreadScope.current.servesMainQueue }

  /// Whether the caller itself runs on the main queue, as the main actor does.
  static var runsOnMainQueue: Bool {
    markMainQueue()
    return DispatchQueue.getSpecific(key: mainKey) == true || Thread.isMainThread
  }

  private static let mainKey = DispatchSpecificKey<Bool>()
  private static let marked: Void = DispatchQueue.main.setSpecific(key: mainKey, value: true)
  private static func markMainQueue() { _ = marked }

  /// A number that tells the calling thread from every other living one.
  private static var threadIdentity: UInt {
    #if canImport(Darwin)
      return UInt(bitPattern: pthread_self())
    #else
      return UInt(pthread_self())
    #endif
  }
}

/// Warns once when work for the main queue has waited so long that no loop seems to run it: a command-line tool whose main
/// thread runs no loop would otherwise hang without a word.
enum MainQueueWatch {
  /// How long a `performAndWait` on a main-queue context may wait before the warning, in seconds.
  static let patience = 5.0

  /// Starts the clock; cancel the item when the wait is over.
  static func warnLater(about name: String) -> DispatchWorkItem {
    let alarm = DispatchWorkItem {
      Diagnostics.write(
        "performAndWait on \(name) has waited \(Int(patience)) s for the main queue. Does the main thread run a "
          + "loop (dispatchMain(), RunLoop.main.run(), an async main)? Otherwise use a private-queue context.",
        .warning)
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: alarm)
    return alarm
  }
}
