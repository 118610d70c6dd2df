import Synchronization

/// New objects for which a store has no keys to give: whoever makes them cannot be told of that, and whoever saves them can. They have keys that no row has, from the end of
/// all that there are. May be used from any thread.
///
/// ```
///   1 … keys of rows … 2^48 - 2^24 │ … keys that stand for none … │ … 2^48
/// ```
package final class UnkeyedObjects: Sendable {
  /// The keys that stand for none, which are given from the last one down. Behind them are as many more: where keys come from elsewhere, the largest are the likeliest.
  package static let keys = PrimaryKeyAllocator.end..<PrimaryKeyAllocator.limit - (1 << 23)

  private struct State {
    /// The least key that was given.
    var least = UnkeyedObjects.keys.upperBound
    /// Why there was no key, the last time.
    var reason: (any Error)?
  }

  private let state = Mutex(State())
  private let isUsed = Atomic<Bool>(false)
  private let giver: String
  private let path: String

  /// - Parameters:
  ///   - giver: Who should have given keys, as a sentence begins with it.
  ///   - path: Of the store's file; empty for one that is in none.
  package init(giver: String, path: String) {
    self.giver = giver
    self.path = path
  }

  /// Whether no key was given: then no change set is refused.
  package var isEmpty: Bool { !isUsed.load(ordering: .acquiring) }

  /// A key that stands for none; nil when they are used up.
  /// - Parameter isFree: Whether no row has the key.
  package func makeKey(after reason: any Error, isFree: (UInt64) -> Bool = { _ in true }) -> UInt64? {
    while true {
      let key = state.withLock { state -> UInt64? in
        guard state.least > Self.keys.lowerBound else { return nil }
        state.reason = reason
        state.least -= 1
        return state.least
      }
      isUsed.store(true, ordering: .releasing)
      guard let key else { return nil }
      if isFree(key) { return key }
    }
  }

  /// For each change set why it cannot be written: it holds one of these objects. Nil when all can be.
  package func refusals(of sets: [ChangeSet], _ schema: Schema) -> [StorageError?]? {
    let (least, reason) = state.withLock { ($0.least, $0.reason) }
    guard let reason else { return nil }
    let given = least..<Self.keys.upperBound
    let refusals = sets.map { set in
      set.inserts.first { given.contains($0.primaryKey) }
        .map { refusal(schema.entities[$0.entity].name, reason) }
    }
    return refusals.contains { $0 != nil } ? refusals : nil
  }

  /// The results of all change sets, of which those without a refusal were written.
  package static func merged<R>(
    _ written: [Result<R, any Error>], _ refusals: [StorageError?]
  ) -> [Result<R, any Error>] {
    var written = written.makeIterator()
    return refusals.map { refusal in
      if let refusal { return .failure(refusal) }
      guard let next = written.next() else { trap("a change set was written without a result") }
      return next
    }
  }

  private func refusal(_ entity: String, _ reason: any Error) -> StorageError {
    let words = (reason as? StorageError)?.detail ?? "\(reason)"
    return StorageError(
      .refused, operation: "commit", path: path,
      detail:
        "\(giver) has given no key for a new \(entity). Nothing was saved. When the reason is gone, make the object again. The reason: \(words)"
    )
  }
}
