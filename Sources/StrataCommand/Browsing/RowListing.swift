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
package final class RowListings: Sendable {
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
    /// Stopped when the last of those who want the list has left, whoever makes it.
    let monitor = FetchMonitor()
  }

  /// A list that is being made, and who wants it.
  private struct Wanted {
    let turn: Turn
    var numbers: Set<Int> = []
  }

  /// Called by whoever makes a list, before that; `waiting` says how many wait for it. For tests, which hold a list open with it.
  package typealias WillMake =
    @Sendable (
      _ entity: String, _ condition: String?, _ waiting: () -> Int
    ) -> Void

  /// Eight bytes for each row of each.
  private static let most = 4
  private let entries = Mutex<[Entry]>([])
  /// One list is made once: windows of one table that are asked for together share it. Nobody waits for the list of another table.
  private let wanted = Mutex<(last: Int, lists: [Making: Wanted])>((0, [:]))
  private let willMake: WillMake?

  init(willMake: WillMake?) { self.willMake = willMake }

  /// The list of `commit` if there is one, or else what `make` makes: a list of `newest`. It is made as long as somebody wants it, which the monitor says that `make`
  /// is given.
  /// - Throws: `CancellationError` when `asker` has left; what `make` throws.
  func listing(
    _ key: RowListing.Key, of store: OpenStore, at commit: UInt64, newest: UInt64, for asker: Asker,
    make: (FetchMonitor) throws -> RowListing
  ) throws -> RowListing {
    if let found = find(key, store, commit) { return found }
    let making = Making(store: store.identity, key: key, commit: newest)
    let (turn, number) = wanted.withLock { wanted in
      wanted.last += 1
      let turn = wanted.lists[making]?.turn ?? Turn()
      wanted.lists[making, default: Wanted(turn: turn)].numbers.insert(wanted.last)
      return (turn, wanted.last)
    }
    // More than once does no harm.
    let leave: @Sendable () -> Void = { [self] in
      wanted.withLock { wanted in
        guard wanted.lists[making]?.turn === turn else { return }
        wanted.lists[making]?.numbers.remove(number)
        if wanted.lists[making]?.numbers.isEmpty == true {
          // Who asks from now on begins anew.
          wanted.lists[making] = nil
          turn.monitor.stop()
        }
      }
    }
    defer { leave() }
    return try asker.whileThere(leave) {
      try turn.lock.withLock { _ in
        if asker.isGone { throw CancellationError() }
        if let found = find(key, store, commit) ?? find(key, store, newest) { return found }
        willMake?(key.entity, key.condition) {
          wanted.withLock { $0.lists[making].map { $0.turn === turn ? $0.numbers.count : 0 } ?? 0 }
        }
        if turn.monitor.wasStopped { throw CancellationError() }
        let listing = try make(turn.monitor)
        keep(listing, key, store)
        return listing
      }
    }
  }

  private func keep(_ listing: RowListing, _ key: RowListing.Key, _ store: OpenStore) {
    entries.withLock { entries in
      entries.removeAll { $0.store != store.identity }
      // Who was slower keeps the list of a later commit.
      if entries.contains(where: { $0.key == key && $0.listing.commit > listing.commit }) { return }
      entries.removeAll { $0.key == key }
      entries.append(Entry(store: store.identity, key: key, listing: listing))
      if entries.count > Self.most { entries.removeFirst() }
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
