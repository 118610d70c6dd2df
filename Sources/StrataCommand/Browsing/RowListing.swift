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

  /// Eight bytes for each row of each.
  private static let most = 4
  private let entries = Mutex<[Entry]>([])
  /// One list is made at a time: windows of one table that are asked for together share it.
  private let making = Mutex(())

  /// The list of `commit` if there is one, or else what `make` makes.
  func listing(
    _ key: RowListing.Key, of store: OpenStore, at commit: UInt64, make: () throws -> RowListing
  ) throws -> RowListing {
    if let found = find(key, store, commit) { return found }
    return try making.withLock { _ in
      if let found = find(key, store, commit) { return found }
      let listing = try make()
      entries.withLock { entries in
        entries.removeAll { $0.key == key || $0.store != store.identity }
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
