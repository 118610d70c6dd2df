import Foundation

extension LMDBStore {
  /// The rows that match `request`. See ``StoreReading``.
  /// - Throws: ``StorageError``; ``FetchError``; `CancellationError` when the request's monitor stops it.
  public func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try read { reader, transaction in
      try fetch(request, mode: mode, StoredView(reader, transaction), transaction, counters: nil)
    }
  }

  /// Gives the collector's matching rows to it. See ``StoreReading``.
  /// - Throws: ``StorageError``; ``FetchError``; `CancellationError` when the request's monitor stops it.
  public func collect(into collector: DictionaryCollector) throws {
    // Begins again when the catalogue turns out to be old: then nothing has been collected yet.
    try read { reader, transaction in
      let generation = try parts.meta.number("generation", UInt64.self, transaction) ?? 0
      if generation != reader.catalogue.generation {
        throw UnknownCode(detail: "The catalogue changes again and again.")
      }
      try StoredView(reader, transaction).collect(into: collector, transaction)
    }
  }

  func fetch(
    _ request: ResolvedFetchRequest, mode: FetchMode, _ view: StoredView,
    _ transaction: borrowing ReadTransaction,
    counters: FetchCounters?
  ) throws -> FetchedRows {
    let plan = try view.plan(request, mode: mode)
    if plan.usesIndexes || request.travels || !plan.isNarrow {
      // Another process may have struck an index that it could not maintain, or added one.
      let generation = try parts.meta.number("generation", UInt64.self, transaction) ?? 0
      if generation != view.reader.catalogue.generation {
        throw UnknownCode(detail: "The catalogue changes again and again.")
      }
    }
    return try FetchExecutor(request: request, plan: plan, mode: mode, view: view, counters: counters)
      .run(transaction)
  }

  /// The rows with these keys, nil where there is none. See ``StoreReading``.
  /// - Throws: ``StorageError``.
  public func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try read { reader, transaction in
      guard let keyspace = parts.rows[hierarchy] else { return primaryKeys.map { _ in nil } }
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

  /// The row with this key, or nil. See ``StoreReading``.
  /// - Throws: ``StorageError``.
  public func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    switch try plainRow(hierarchy, primaryKey) {
    case .found(let row): row
    case .missing: nil
    case .unusual: try unusualRow(hierarchy, primaryKey)
    }
  }

  private enum PlainRow {
    case found(FetchedRow)
    case missing
    /// Of an older layout, of an unknown entity, damaged, or its checksum is to be looked at.
    case unusual
  }

  /// The hot half of reading one row: a look-up and a copy, without counting a reference on the way.
  @inline(__always)
  private func plainRow(_ hierarchy: Int, _ primaryKey: UInt64) throws -> PlainRow {
    try requireOpen()
    // The store keeps its parts, and `newestCatalogue` is kept by the store.
    let catalogue = newestCatalogue
    return try Unmanaged.passUnretained(parts)._withUnsafeGuaranteedRef { parts in
      guard !parts.verifiesChecksums, let keyspace = parts.rowHandles[hierarchy] else { return .unusual }
      return try Unmanaged.passUnretained(parts.environment)._withUnsafeGuaranteedRef { environment in
        try environment.read { transaction in
          guard let bytes = try PrimaryKeyBytes.with(primaryKey, { try transaction.get(keyspace, $0) }) else {
            return .missing
          }
          guard let entry = catalogue._withUnsafeGuaranteedRef({ $0.codes.entry(bytes) }),
            entry.pointee.hierarchy == hierarchy, entry.pointee.isInBounds(bytes)
          else { return .unusual }
          let row = RowSnapshot(copying: bytes)
          return .found(
            FetchedRow(primaryKey: primaryKey, entity: Int(entry.pointee.entity), snapshot: row))
        }
      }
    }
  }

  @inline(never)
  private func unusualRow(_ hierarchy: Int, _ primaryKey: UInt64) throws -> FetchedRow? {
    try read { reader, transaction in
      guard let keyspace = parts.rows[hierarchy] else { return nil }
      return try PrimaryKeyBytes.with(primaryKey) { key in
        guard let bytes = try transaction.get(keyspace, key) else { return nil }
        return reader.fetchedRow(
          try reader.row(bytes, primaryKey: primaryKey, of: hierarchy), primaryKey: primaryKey)
      }
    }
  }

  /// A value that is kept outside its row, or nil. See ``StoreReading``.
  /// - Throws: ``StorageError``.
  public func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try read { reader, transaction in
      let key = LargeValueKey(
        hierarchyCode: reader.catalogue.hierarchyCodes[parts.schema.entities[entity].hierarchyNumber],
        primaryKey: primaryKey, attributeCode: reader.catalogue.attributeCodes[entity][slot], version: version
      )
      return try parts.largeValue(key, transaction).map { Data($0) }
    }
  }

  /// The plan of a request, for `explain`.
  public func plan(_ request: ResolvedFetchRequest, mode: FetchMode = .rows) -> FetchPlan {
    let indexes = catalogue.indexes
    let rowCount = { [parts] (hierarchy: Int) -> Int in
      guard let keyspace = parts.rows[hierarchy] else { return 0 }
      return (try? parts.environment.read { try $0.entryCount(keyspace) }) ?? 0
    }
    return FetchPlanner.plan(
      request, mode: mode, storeIdentifier: identifier,
      isUsable: { indexes.isUsable($0.number) }, rowCount: rowCount,
      addedIndexes: { indexes.addedByEntity[$0] })
  }
}
