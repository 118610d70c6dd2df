import Foundation

extension LMDBStore {
  /// A view of the newest commit. See ``PersistentStore``.
  /// - Throws: ``StorageError``.
  package func makeSnapshot() throws -> (any StoreSnapshot)? {
    try requireOpen()
    // Taken before the pin, which knows no later keyspace.
    let open = parts.openKeyspaces
    let pin = try parts.environment.makeSnapshot()
    // The names and codes of that very commit.
    let catalogue = try pin.read { try parts.readCatalogue($0, open: open) }
    return LMDBSnapshot(parts: parts, catalogue: catalogue, pin: pin)
  }
}

/// One commit of an LMDB store, pinned.
final class LMDBSnapshot: StoreSnapshot, LMDBReading {
  private let parts: StoreParts
  private let catalogue: StoreCatalogue
  private let pin: SnapshotPin

  fileprivate init(parts: StoreParts, catalogue: StoreCatalogue, pin: SnapshotPin) {
    self.parts = parts
    self.catalogue = catalogue
    self.pin = pin
  }

  var source: LMDBSource { LMDBSource(.pinned(self)) }
  var age: Duration { pin.age }
  func release() { pin.release() }

  func read<R>(_ body: (RowReader, borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      return try pin.read { try body(RowReader(parts: parts, catalogue: catalogue), $0) }
    } catch let unknown as UnknownCode {
      throw parts.damaged(unknown.detail)
    }
  }
}
