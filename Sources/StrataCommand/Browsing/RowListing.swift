import Foundation
import StrataCore

/// Which rows a table has, in its order: as long as nobody asks for a newer commit, its windows are parts of one list.
final class RowListing: Sendable {
  struct Key: Hashable {
    let entity: String
    let condition: String?
    let sort: String?
    let isExact: Bool
  }

  let commit: UInt64
  let hierarchy: Int
  let keys: [UInt64]

  init(commit: UInt64, hierarchy: Int, keys: [UInt64]) {
    self.commit = commit
    self.hierarchy = hierarchy
    self.keys = keys
  }
}

/// The lists of the tables that were looked at last.
final class RowListings: Sendable {
  private struct Entry {
    let store: UUID
    let key: RowListing.Key
    let listing: RowListing
  }

  /// A list that is being made.
  private struct Making: Hashable {
    let store: UUID
    let key: RowListing.Key
    let commit: UInt64
  }

  /// Those who make a list, or wait for it, hold this.
  private final class Turn: Sendable {
    let lock = Mutex(())
  }

  /// Eight bytes for each row of each.
  private static let most = 4
  private let entries = Mutex<[Entry]>([])
  /// One list is made once: windows of one table that are asked for together share it. Nobody waits for the list of another table.
  private let turns = Mutex<[Making: (turn: Turn, users: Int)]>([:])
  /// Called by whoever makes a list, before that.
  private let willMake: @Sendable (RowListing.Key) -> Void

  /// - Parameter willMake: For tests, which hold a list open with it.
  init(willMake: @escaping @Sendable (RowListing.Key) -> Void) { self.willMake = willMake }

  /// The list of `commit` if there is one, or else what `make` makes: a list of `newest`.
  func listing(
    _ key: RowListing.Key, of store: OpenStore, at commit: UInt64, newest: UInt64,
    make: () throws -> RowListing
  ) throws -> RowListing {
    if let found = find(key, store, commit) { return found }
    let making = Making(store: store.identity, key: key, commit: newest)
    let turn = turns.withLock { turns in
      let turn = turns[making]?.turn ?? Turn()
      turns[making, default: (turn, 0)].users += 1
      return turn
    }
    defer {
      turns.withLock { turns in
        turns[making]?.users -= 1
        if turns[making]?.users == 0 { turns[making] = nil }
      }
    }
    return try turn.lock.withLock { _ in
      if let found = find(key, store, commit) ?? find(key, store, newest) { return found }
      willMake(key)
      let listing = try make()
      entries.withLock { entries in
        entries.removeAll { $0.store != store.identity }
        // Who was slower keeps the list of a later commit.
        if entries.contains(where: { $0.key == key && $0.listing.commit > listing.commit }) { return }
        entries.removeAll { $0.key == key }
        entries.append(Entry(store: store.identity, key: key, listing: listing))
        if entries.count > Self.most { entries.removeFirst() }
      }
      return listing
    }
  }

  /// The list of that commit; nil when it was not made, or is gone.
  func find(_ key: RowListing.Key, _ store: OpenStore, _ commit: UInt64) -> RowListing? {
    entries.withLock { entries in
      entries.first { $0.key == key && $0.store == store.identity && $0.listing.commit == commit }?
        .listing
    }
  }
}
