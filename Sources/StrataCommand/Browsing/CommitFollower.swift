import Foundation
import StrataCore

/// Tells those who wait when a store was saved to, by whoever it was.
///
/// Looks ten times a second while somebody waits, as `strata watch` does, and never otherwise.
final class CommitFollower: @unchecked Sendable {
  // @unchecked Sendable: everything that changes is used on `queue` only.

  private struct Waiter {
    let store: OpenStore
    let after: UInt64
    let end: ContinuousClock.Instant
    let asker: Asker
    let reply: @Sendable (Result<BrowseAnswer, any Error>) -> Void
  }

  /// Of more pages than this the one that has waited longest gets its answer early.
  private static let most = 32
  /// More changed objects of an entity are told as all of them.
  private static let mostKeys = 1_000

  private let queue = DispatchQueue(label: "strata.browse.follower")
  private var waiters: [Waiter] = []
  private var isLooking = false

  /// Calls `reply` when there are commits after number `after`, after so many seconds, or when nobody waits for it any more.
  func wait(
    for store: OpenStore, after: UInt64, seconds: Int, asker: Asker,
    reply: @escaping @Sendable (Result<BrowseAnswer, any Error>) -> Void
  ) {
    queue.async { [self] in
      waiters.append(
        Waiter(store: store, after: after, end: .now + .seconds(seconds), asker: asker, reply: reply))
      if waiters.count > Self.most {
        let first = waiters.removeFirst()
        first.reply(Result { try Self.answer(first) })
      }
      if !isLooking {
        isLooking = true
        look()
      }
    }
  }

  private func look() {
    let now = ContinuousClock.now
    waiters.removeAll { waiter in
      let result = Result { () throws -> BrowseAnswer? in
        if waiter.asker.isGone { throw CancellationError() }
        let isNews =
          try waiter.store.followed.commitNumber() != waiter.after || !waiter.store.followed.isInPlace
        return isNews || now >= waiter.end ? try Self.answer(waiter) : nil
      }
      switch result {
      case .success(nil): return false
      case .success(let answer?): waiter.reply(.success(answer))
      case .failure(let error): waiter.reply(.failure(error))
      }
      return true
    }
    if waiters.isEmpty {
      isLooking = false
    } else {
      queue.asyncAfter(deadline: .now() + .milliseconds(100)) { [self] in look() }
    }
  }

  /// What has changed since the commit that the page knows.
  private static func answer(_ waiter: Waiter) throws -> BrowseAnswer {
    let store = waiter.store
    guard store.followed.isInPlace else {
      return BrowseAnswer(["commit": .number(Int(waiter.after)), "isReplaced": true])
    }
    let reading = try store.followed.journal(after: waiter.after)
    // A page of a file that had this place before can know a number that is still to come.
    var isUnknown = waiter.after > reading.newest
    var changed: [String: [Int: Set<UInt64>]] = [:]
    var uncertain: Set<Int> = []
    for commit in reading.commits {
      // What this program has saved itself is there without what has changed.
      if commit.isUnknown || commit.isOwn { isUnknown = true }
      uncertain.formUnion(commit.changes.uncertain)
      let lists = [
        ("inserted", commit.changes.inserted), ("updated", commit.changes.updated),
        ("updated", commit.changes.touched),
        ("deleted", commit.changes.deleted), ("related", commit.changes.related),
      ]
      for (word, keys) in lists {
        for (entity, list) in keys.lists.enumerated() where !list.isEmpty && !uncertain.contains(entity) {
          changed[word, default: [:]][entity, default: []].formUnion(list)
          if changed[word]?[entity]?.count ?? 0 > mostKeys { uncertain.insert(entity) }
        }
      }
    }
    let names = store.schema.entities.map(\.name)
    var members: [(String, JSONValue)] = [
      ("commit", .number(Int(reading.newest))), ("isReplaced", false), ("isUnknown", .boolean(isUnknown)),
      ("opened", .string(store.identity.uuidString)),
      ("uncertain", .strings(uncertain.sorted().map { names[$0] })),
    ]
    for word in ["inserted", "updated", "deleted", "related"] {
      let ids = (changed[word] ?? [:]).filter { !uncertain.contains($0.key) }.sorted { $0.key < $1.key }
        .flatMap { entity, keys in
          keys.sorted().map { "\(names[entity])/p\($0)" }
        }
      members.append((word, .strings(ids)))
    }
    return BrowseAnswer(.object(members))
  }
}
