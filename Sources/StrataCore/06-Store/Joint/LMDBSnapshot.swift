import Foundation

extension LMDBStore {
  /// A view of the newest commit. See ``PersistentStore``.
  /// - Throws: ``StorageError``.
  package func makeSnapshot() throws -> (any StoreSnapshot)? {
    try requireOpen()
    // Taken before the pin, which knows no later keyspace.
    let (known, open) = (self.catalogue, parts.openKeyspaces)
    let pin = try parts.environment.makeSnapshot()
    // The names and codes of that very commit: nearly always those that are known.
    let catalogue = try pin.read { view -> StoreCatalogue in
      let generation = try parts.meta.number("generation", UInt64.self, view) ?? 0
      if generation == known.generation, known.missingKeyspaces.isEmpty { return known }
      return try parts.readCatalogue(view, open: open)
    }
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
