import Dispatch
import Foundation
import Synchronization

/// A query generation: one commit of each store, kept readable so that a context sees the same data until it moves on.
///
///     try context.setQueryGenerationFrom(.current)                     // pins at the next read (rule 289)
///     try other.setQueryGenerationFrom(context.queryGenerationToken)   // both see the same (rule 290)
///     try context.setQueryGenerationFrom(nil)                          // sees the newest commit again
///
/// Stores keep the space of what has been replaced since the oldest generation that is held, so their files grow
/// meanwhile (rule 296): look at `age`, and release it. After the coordinator's `queryGenerationLimit` a generation ends by itself.
/// Equal tokens name the same generation. May be used from any thread.
///
/// Of all tokens only ``current`` can be archived. A generation is what this process keeps readable, and an archive of it is refused when it is read:
/// decoding it gives nil, or throws where the decoder does.
public final class QueryGenerationToken: NSObject, NSCopying, NSSecureCoding, Sendable {
  /// Stands for the newest commit at the moment of the next read.
  public static let current = QueryGenerationToken(snapshots: [:], limit: nil)

  /// What can be read.
  let held: HeldSnapshots
  /// Ends the generation after `limit`; it goes with the token.
  private let timer = Mutex<(any DispatchSourceTimer)?>(nil)
  private let birth = ContinuousClock.now
  private let limit: Duration?

  private init(snapshots: [Int: any StoreSnapshot], limit: Duration?) {
    held = HeldSnapshots(snapshots)
    self.limit = limit
    super.init()
  }

  deinit {
    // A timer that is not cancelled stays until its time has come.
    timer.withLock { $0?.cancel() }
    held.end()
  }

  public static var supportsSecureCoding: Bool { true }

  /// A token equal to ``current``; nil when another one was archived.
  public init?(coder: NSCoder) {
    guard coder.decodeObject(of: NSString.self, forKey: Self.codingKey) == Self.codedCurrent else {
      return nil
    }
    held = HeldSnapshots([:])
    limit = nil
    super.init()
  }

  /// Writes that the token is ``current``, or that it is none that can be read again.
  public func encode(with coder: NSCoder) {
    coder.encode(isCurrent ? Self.codedCurrent : "pinned" as NSString, forKey: Self.codingKey)
  }

  private static var codingKey: String { "generation" }
  private static var codedCurrent: NSString { "current" as NSString }
  private var isCurrent: Bool { limit == nil }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? QueryGenerationToken else { return false }
    return self === other || isCurrent && other.isCurrent
  }

  public override var hash: Int { isCurrent ? 0 : ObjectIdentifier(self).hashValue }

  /// The token itself, which does not change.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Pins the newest commit of every store that can be pinned.
  static func make(_ bindings: [StoreBinding], limit: Duration) throws -> QueryGenerationToken {
    var snapshots: [Int: any StoreSnapshot] = [:]
    for binding in bindings { snapshots[binding.index] = try binding.store.makeSnapshot() }
    let token = QueryGenerationToken(snapshots: snapshots, limit: limit)
    token.endLater(limit)
    return token
  }

  private func endLater(_ limit: Duration) {
    let held = held
    timer.withLock { timer in
      let new = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
      new.setEventHandler { held.end() }
      new.schedule(deadline: .now() + limit.seconds)
      new.activate()
      timer = new
    }
  }

  /// How long the generation has been held; zero for `current`.
  public var age: Duration { limit == nil ? .zero : ContinuousClock.now - birth }

  /// Whether it can still be read: false once it has lived as long as the coordinator lets generations live.
  public var isAlive: Bool { held.snapshots.withLock { $0 != nil } }

  /// Whether there is no store in it: none of them can be pinned.
  var isEmpty: Bool { held.snapshots.withLock { $0?.isEmpty ?? false } }

  /// The commit of one store. A store that was added later has none, and shows nothing (rule 294).
  func reading(_ binding: StoreBinding) throws -> any StoreReading {
    let found = held.snapshots.withLock { $0.map { $0[binding.index] } }
    switch found {
    case .some(.some(let snapshot)): return snapshot
    case .some(nil): return NoReading(storeIdentifier: binding.store.identifier)
    case nil:
      throw CoreDataError(
        .persistentStoreOperation,
        "The pinned query generation has ended: generations live for \(limit.map { "\($0)" } ?? "?") here "
          + "(queryGenerationLimit). Pin a new one with setQueryGenerationFrom(.current).")
    }
  }
}

/// The snapshots of a generation, by the indexes of their stores.
final class HeldSnapshots: Sendable {
  /// Nil once the generation has ended.
  let snapshots: Mutex<[Int: any StoreSnapshot]?>

  init(_ snapshots: [Int: any StoreSnapshot]) { self.snapshots = Mutex(snapshots) }

  func end() { snapshots.withLock { $0 = nil } }
}

/// The generation of a context on a coordinator and of all contexts above it (rule 168).
final class PinnedGeneration: Sendable {
  private let token = Mutex<QueryGenerationToken?>(nil)
  private let hasToken = Atomic<Bool>(false)

  var isSet: Bool { hasToken.load(ordering: .acquiring) }
  var current: QueryGenerationToken? { token.withLock { $0 } }

  func set(_ new: QueryGenerationToken?) {
    let old = token.withLock { token in
      defer { token = new }
      hasToken.store(new != nil, ordering: .releasing)
      return token
    }
    withExtendedLifetime(old) {}
  }

  /// What a store is read through; pins now what was to be pinned at the next read.
  func reading(_ binding: StoreBinding, _ coordinator: PersistentStoreCoordinator) throws -> any StoreReading
  {
    try pinned(coordinator)?.reading(binding) ?? binding.store
  }

  /// The generation; pins now what was to be pinned at the next read. Nil when there is none.
  func pinned(_ coordinator: PersistentStoreCoordinator) throws -> QueryGenerationToken? {
    guard let found = current, found == .current else { return current }
    let new = try QueryGenerationToken.make(
      coordinator.bindings, limit: coordinator.queryGenerationLimit)
    return token.withLock { token in
      // A context above may have read first.
      if token == .current { token = new }
      return token
    }
  }

  /// The next read sees the newest commit again, and pins it (rule 291).
  func advance() {
    let old = token.withLock { token in
      defer { if token != nil { token = .current } }
      return token
    }
    withExtendedLifetime(old) {}
  }
}
