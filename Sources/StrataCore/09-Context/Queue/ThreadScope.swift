import Foundation
import Observation

/// What one thread is doing for contexts right now: which of them it has entered, innermost last.
///
/// Reading it is one `pthread_getspecific` and one load, so the confinement check costs a nanosecond or two. A context
/// that stands anywhere in the stack is exclusively this thread's: the frames that entered it are still waiting below.
final class ThreadScope {
  /// The contexts whose blocks are running on this thread, innermost last.
  @exclusivity(unchecked) private(set) var entered: [ManagedObjectContext] = []

  /// True in a block of `performAndWait` that was called on the main queue, which waits for it: contexts of the main queue
  /// stay usable inside.
  @exclusivity(unchecked) private(set) var servesMainQueue = false

  /// True in a block that a private queue runs by itself, for which nobody waits: contexts that belong to no thread may be in use on another one meanwhile.
  @exclusivity(unchecked) private(set) var runsAlone = false

  /// True while a context makes objects from rows, so that `init(entity:insertInto:)` knows not to make a new record.
  @exclusivity(unchecked) private var isMaterializing = false

  /// The key path of an observed property has been hashed on this thread: see `ObservedSlot`.
  @exclusivity(unchecked) var hasHashedSlot = false

  /// The saves that are calling `didSave()` on this thread, innermost last.
  @exclusivity(unchecked) private(set) var toldSaves: [ToldSave] = []

  /// The contexts whose saves settle conflicts, or are told of, on this thread, innermost last: see `ManagedObject.keptBySave`.
  @exclusivity(unchecked) private(set) var settling: [ManagedObjectContext] = []

  /// See `observes`. Unmanaged, so that asking counts no references: this holds one.
  @exclusivity(unchecked) var probe = Unmanaged.passRetained(ReadProbe())

  /// The innermost context, or nil outside every `perform` block.
  var current: ManagedObjectContext? { entered.last }

  /// The calling thread's scope.
  static var current: ThreadScope {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<ThreadScope>.fromOpaque(pointer).takeUnretainedValue()
    }
    let scope = ThreadScope()
    pthread_setspecific(key, Unmanaged.passRetained(scope).toOpaque())
    return scope
  }

  /// Calls `body` with the calling thread's scope, without counting references.
  @inline(__always)
  static func withCurrent<R>(_ body: (ThreadScope) -> R) -> R {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<ThreadScope>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }
    return body(current)
  }

  /// Whether a context is making objects from rows on this thread.
  static var isMaterializing: Bool {
    guard let pointer = pthread_getspecific(key) else { return false }
    return Unmanaged<ThreadScope>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.isMaterializing }
  }

  /// Runs `body`, which makes objects from rows.
  @inline(__always)
  func materializing<R>(_ body: () throws -> R) rethrows -> R {
    let outer = isMaterializing
    isMaterializing = true
    defer { isMaterializing = outer }
    return try body()
  }

  /// Whether the calling thread has entered `context`.
  @inline(__always)
  static func currentHolds(_ context: ManagedObjectContext) -> Bool {
    guard let pointer = pthread_getspecific(key) else { return false }
    return Unmanaged<ThreadScope>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.holds(context) }
  }

  /// Runs `body` with `context` as the current one.
  func run<R>(in context: ManagedObjectContext, _ body: () throws -> R) rethrows -> R {
    entered.append(context)
    defer { entered.removeLast() }
    return try body()
  }

  /// Runs `body`, for which nobody waits, on a private queue with `context` as the current one.
  func runAlone<R>(in context: ManagedObjectContext, _ body: () throws -> R) rethrows -> R {
    let outer = runsAlone
    runsAlone = true
    defer { runsAlone = outer }
    return try run(in: context, body)
  }

  /// Whether a private queue runs, by itself, a block that has entered a context above `context`.
  func runsAlone(above context: ManagedObjectContext) -> Bool {
    guard runsAlone else { return false }
    return entered.contains { one in
      var next = one.parent
      while let below = next {
        if below === context { return true }
        next = below.parent
      }
      return false
    }
  }

  /// Runs `body`, for which the caller of `performAndWait` waits, with `context` as the current one.
  func run<R>(
    in context: ManagedObjectContext, servingMainQueue: Bool, _ body: () throws -> R
  ) rethrows -> R {
    let outer = servesMainQueue
    servesMainQueue = servingMainQueue
    defer { servesMainQueue = outer }
    return try run(in: context, body)
  }

  /// Runs `body`, which calls `didSave()`, while the objects of `save` know what it did to them.
  func telling(_ save: ToldSave, _ body: () -> Void) {
    toldSaves.append(save)
    save.mark()
    defer {
      save.unmark()
      toldSaves.removeLast()
      // Of a save that a hook has begun: the outer one of the same context goes on.
      for outer in toldSaves where outer.context === save.context { outer.mark() }
    }
    body()
  }

  /// A save of `context` asks its merge policy, or tells of what has been settled. Each call is followed by one of `endSettling()`.
  func beginSettling(_ context: ManagedObjectContext) { settling.append(context) }
  func endSettling() { settling.removeLast() }

  /// The context that has deleted `object` and saved that, while `didSave()` is being called.
  func context(ofDeleted object: ManagedObject) -> ManagedObjectContext? {
    if toldSaves.count < 2 { return toldSaves.last?.context }
    return toldSaves.last { save in save.deleted.contains { $0 === object } }?.context
  }

  /// Whether this thread has entered `context`, at any depth.
  @inline(__always)
  func holds(_ context: ManagedObjectContext) -> Bool {
    if entered.last === context { return true }
    return entered.count > 1 && entered.contains { $0 === context }
  }

  deinit { probe.release() }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { pointer in
      #if canImport(Darwin)
        Unmanaged<ThreadScope>.fromOpaque(pointer).release()
      #else
        // The destructor is only called with the value that was set, which is never nil.
        if let pointer { Unmanaged<ThreadScope>.fromOpaque(pointer).release() }
      #endif
    }
    return key
  }()
}

extension ManagedObjectContext {
  /// The coordinators of the contexts that the calling thread has entered, of the innermost first.
  package static var enteredCoordinators: [PersistentStoreCoordinator] {
    ThreadScope.current.entered.reversed().map(\.coordinator)
  }
}
