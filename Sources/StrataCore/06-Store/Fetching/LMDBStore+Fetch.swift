import Foundation

/// A store or a snapshot of one: both read in the same way, and differ in where a read begins.
package protocol LMDBReading: StoreReading {
  /// Begins the reads.
  var source: LMDBSource { get }
}

/// Where the reads of an LMDB store or of a snapshot begin.
package struct LMDBSource: Sendable {
  enum Kind {
    case newest(LMDBStore)
    case pinned(LMDBSnapshot)
  }
  private let kind: Kind

  @inline(__always)
  init(_ kind: Kind) { self.kind = kind }

  /// Runs `body` with a reader of rows in a read transaction. The newest commit is read again when it has a code that the catalogue lacks.
  @inline(__always)
  func read<R>(_ body: (RowReader, borrowing ReadTransaction) throws -> R) throws -> R {
    switch kind {
    case .newest(let store): try store.read(body)
    case .pinned(let snapshot): try snapshot.read(body)
    }
  }

  /// Throws when the catalogue is not that of the commit: another process may have struck an index that it could not maintain, or added one.
  /// A snapshot has the catalogue of its commit.
  @inline(__always)
  func requireCurrent(_ reader: RowReader, _ transaction: borrowing ReadTransaction) throws {
    guard case .newest = kind else { return }
    let generation = try reader.parts.meta.number("generation", UInt64.self, transaction) ?? 0
    if generation != reader.catalogue.generation {
      throw UnknownCode(detail: "The catalogue changes again and again.")
    }
  }
}

extension LMDBReading {
  /// See ``StoreReading``. Throws ``StorageError``, ``FetchError``, and `CancellationError` when the request's monitor stops it.
  package func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try source.read { reader, transaction in
      let view = StoredView(reader, transaction)
      let plan = try view.plan(request, mode: mode)
      if plan.usesIndexes || request.travels || !plan.isNarrow {
        try source.requireCurrent(reader, transaction)
      }
      guard Watching.concerns(.fetches) else {
        return try FetchExecutor(request: request, plan: plan, mode: mode, view: view).run(transaction)
      }
      // Somebody asks for fetches.
      let counters = FetchCounters()
      var found = try FetchExecutor(request: request, plan: plan, mode: mode, view: view, counters: counters)
        .run(transaction)
      found.examinedCount = counters.examined
      return found
    }
  }

  /// See ``StoreReading``. Throws ``StorageError``, ``FetchError``, and `CancellationError` when the request's monitor stops it.
  package func collect(into collector: DictionaryCollector) throws {
    // Begins again when the catalogue turns out to be old: then nothing has been collected yet.
    try source.read { reader, transaction in
      try source.requireCurrent(reader, transaction)
      try StoredView(reader, transaction).collect(into: collector, transaction)
    }
  }

  /// See ``StoreReading``. Throws ``StorageError``.
  package func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try source.read { reader, transaction in
      guard let keyspace = reader.parts.rows[hierarchy] else { return primaryKeys.map { _ in nil } }
      var slab = RowSlabWriter()
      var rows: [FetchedRow?] = []
      rows.reserveCapacity(primaryKeys.count)
      try transaction.forEachValue(of: primaryKeys, in: keyspace) { key, bytes in
        guard let bytes else {
          rows.append(nil)
          return true
        }
        let row = try reader.row(bytes, primaryKey: key, of: hierarchy)
        let snapshot = row.keeper ?? slab.append(copying: row.bytes)
        rows.append(FetchedRow(primaryKey: key, entity: row.entity, snapshot: snapshot))
        return true
      }
      return rows
    }
  }

  /// See ``StoreReading``. Throws ``StorageError``.
  package func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try checkedRow(hierarchy, primaryKey)
  }

  @inline(never)
  func checkedRow(_ hierarchy: Int, _ primaryKey: UInt64) throws -> FetchedRow? {
    try source.read { reader, transaction in
      try reader.row(primaryKey, of: hierarchy, transaction).map {
        reader.fetchedRow($0, primaryKey: primaryKey)
      }
    }
  }

  /// See ``StoreReading``. Throws ``StorageError``.
  package func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try source.read { reader, transaction in
      let key = reader.largeValueKey(entity: entity, slot, primaryKey: primaryKey, version: version)
      return try reader.parts.largeValue(key, transaction).map { Data($0) }
    }
  }
}

extension LMDBStore: LMDBReading {
  package var source: LMDBSource { LMDBSource(.newest(self)) }

  /// The row with this key, or nil. See ``StoreReading``.
  /// - Throws: ``StorageError``.
  package func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    let found = try plainRow(hierarchy, primaryKey) {
      FetchedRow(primaryKey: primaryKey, entity: $0, snapshot: $1)
    }
    switch found {
    case .found(let row): return row
    case .missing: return nil
    case .unusual: return try checkedRow(hierarchy, primaryKey)
    }
  }

  /// See ``StoreReading``.
  /// - Throws: ``StorageError``.
  package func readRow(
    hierarchy: Int, primaryKey: UInt64, _ take: (_ entity: Int, _ row: RowSnapshot) -> Void
  ) throws -> Bool {
    switch try plainRow(hierarchy, primaryKey, take) {
    case .found: return true
    case .missing: return false
    case .unusual:
      guard let row = try checkedRow(hierarchy, primaryKey), let snapshot = row.snapshot else { return false }
      take(row.entity, snapshot)
      return true
    }
  }

  private enum PlainRow<Taken> {
    case found(Taken)
    case missing
    /// Of an older layout, of an unknown entity, damaged, or its checksum is to be looked at.
    case unusual
  }

  /// The hot half of reading one row: a look-up and a copy, without counting a reference on the way.
  @inline(__always)
  private func plainRow<Taken>(
    _ hierarchy: Int, _ primaryKey: UInt64, _ take: (_ entity: Int, _ row: RowSnapshot) -> Taken
  ) throws -> PlainRow<Taken> {
    try requireOpen()
    // The store keeps its parts, and `newestCatalogue` is kept by the store.
    let catalogue = newestCatalogue
    return try Unmanaged.passUnretained(parts)._withUnsafeGuaranteedRef { parts in
      guard !parts.verifiesChecksums, let keyspace = parts.rowHandles[hierarchy] else { return .unusual }
      return try Unmanaged.passUnretained(parts.environment)._withUnsafeGuaranteedRef { environment in
        try environment.read { transaction in
          guard let bytes = try transaction.get(keyspace, primaryKey) else {
            return .missing
          }
          guard let entry = catalogue._withUnsafeGuaranteedRef({ $0.codes.entry(bytes) }),
            entry.pointee.hierarchy == hierarchy, entry.pointee.isInBounds(bytes)
          else { return .unusual }
          return .found(take(Int(entry.pointee.entity), RowSnapshot(copying: bytes)))
        }
      }
    }
  }
}
