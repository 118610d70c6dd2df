import Foundation

extension LMDBStore {
  /// A view of the newest commit. See ``PersistentStore``.
  /// - Throws: ``StorageError``.
  public func makeSnapshot() throws -> (any StoreSnapshot)? {
    try requireOpen()
    // Taken before the pin, which knows no later keyspace.
    let open = parts.openKeyspaces
    let pin = try parts.environment.makeSnapshot()
    // The names and codes of that very commit.
    let catalogue = try pin.read { try parts.readCatalogue($0, open: open) }
    return LMDBSnapshot(parts: parts, catalogue: catalogue, pin: pin, storeIdentifier: identifier)
  }
}

/// One commit of an LMDB store, pinned.
final class LMDBSnapshot: StoreSnapshot {
  private let parts: StoreParts
  private let catalogue: StoreCatalogue
  private let pin: SnapshotPin
  private let storeIdentifier: UUID

  init(parts: StoreParts, catalogue: StoreCatalogue, pin: SnapshotPin, storeIdentifier: UUID) {
    self.parts = parts
    self.catalogue = catalogue
    self.pin = pin
    self.storeIdentifier = storeIdentifier
  }

  var age: Duration { pin.age }
  func release() { pin.release() }

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try read { reader, transaction in
      let view = StoredView(reader, transaction)
      return try FetchExecutor(request: request, plan: view.plan(request, mode: mode), mode: mode, view: view)
        .run(transaction)
    }
  }

  func collect(into collector: DictionaryCollector) throws {
    try read { reader, transaction in
      try StoredView(reader, transaction).collect(into: collector, transaction)
    }
  }

  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try read { reader, transaction in
      try primaryKeys.map { try reader.fetch($0, hierarchy: hierarchy, parts, transaction) }
    }
  }

  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try read { reader, transaction in
      try reader.fetch(primaryKey, hierarchy: hierarchy, parts, transaction)
    }
  }

  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try read { reader, transaction in
      let key = LargeValueKey(
        hierarchyCode: catalogue.hierarchyCodes[parts.schema.entities[entity].hierarchyNumber],
        primaryKey: primaryKey, attributeCode: catalogue.attributeCodes[entity][slot], version: version)
      return try parts.largeValue(key, transaction).map { Data($0) }
    }
  }

  func read<R>(_ body: (RowReader, borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      return try pin.read { try body(RowReader(parts: parts, catalogue: catalogue), $0) }
    } catch let unknown as UnknownCode {
      throw parts.damaged(unknown.detail)
    }
  }
}

extension RowReader {
  /// One row by its key.
  fileprivate func fetch(
    _ key: UInt64, hierarchy: Int, _ parts: StoreParts, _ transaction: borrowing ReadTransaction
  ) throws -> FetchedRow? {
    guard let keyspace = parts.rows[hierarchy] else { return nil }
    return try PrimaryKeyBytes.with(key) { bytes in
      guard let found = try transaction.get(keyspace, bytes) else { return nil }
      return fetchedRow(try row(found, primaryKey: key, of: hierarchy), primaryKey: key)
    }
  }
}
