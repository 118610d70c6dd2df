import StrataCore

/// New objects for which the server refuses to give keys: whoever makes them cannot be told of that, and whoever saves them can. They have keys that no row has, from the end of
/// all that there are. May be used from any thread.
///
/// ```
///   1 … keys of rows … 2^48 - 2^24 │ … keys that stand for none … 2^48
/// ```
final class UnkeyedObjects: Sendable {
  private static let first = StoreReference.keyLimit - (1 << 24)

  private struct State {
    var count: UInt64 = 0
    /// Why there was no key, the last time.
    var reason: (any Error)?
  }

  private let state = Mutex(State())

  /// A key that stands for none; nil when they are used up.
  func makeKey(_ reason: any Error) -> UInt64? {
    state.withLock { state in
      guard state.count < StoreReference.keyLimit - Self.first else { return nil }
      state.reason = reason
      state.count += 1
      return StoreReference.keyLimit - state.count
    }
  }

  /// Has those sets written that hold none of these objects; the others fail.
  /// - Throws: what `write` throws.
  func refusing<R>(
    _ sets: [ChangeSet], _ schema: Schema, _ write: ([ChangeSet]) throws -> [Result<R, any Error>]
  ) throws -> [Result<R, any Error>] {
    let (count, reason) = state.withLock { ($0.count, $0.reason) }
    guard count > 0, let reason else { return try write(sets) }
    let least = StoreReference.keyLimit - count
    let refusals = sets.map { set -> StorageError? in
      set.inserts.first { $0.primaryKey >= least }
        .map { Self.refusal(schema.entities[$0.entity].name, reason) }
    }
    let sound = zip(sets, refusals).compactMap { $1 == nil ? $0 : nil }
    var written = try (sound.isEmpty ? [] : write(sound)).makeIterator()
    return try refusals.map { refusal in
      if let refusal { return .failure(refusal) }
      guard let next = written.next() else { throw SQLResult.damaged }
      return next
    }
  }

  private static func refusal(_ entity: String, _ reason: any Error) -> StorageError {
    let words = (reason as? StorageError)?.detail ?? "\(reason)"
    return StorageError(
      .refused, operation: "commit", path: "",
      detail:
        "The server has given no key for a new \(entity). Nothing was saved. When the reason is gone, make the object again. The reason: \(words)"
    )
  }
}
