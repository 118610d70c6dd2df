import Foundation

/// Which rows have given values of a uniqueness constraint.
package struct UniqueLookup: Sendable {
  /// The schema the index belongs to.
  package let schema: Schema
  /// The constraint's index.
  package let index: IndexSchema
  /// The values looked for, each in the order of the index's parts; none of them is nil.
  package let keys: [[AttributeValue]]

  package init(schema: Schema, index: IndexSchema, keys: [[AttributeValue]]) {
    self.schema = schema
    self.index = index
    self.keys = keys
  }
}

extension StoreReading {
  /// One request per key: the default, for engines without a better way.
  /// - Throws: what the engine's `fetch` throws.
  package func rows(_ lookup: UniqueLookup) throws -> [FetchedRow?] { try rowsOneByOne(lookup) }

  func rowsOneByOne(_ lookup: UniqueLookup) throws -> [FetchedRow?] {
    let owner = lookup.schema.entities[lookup.index.owner]
    // What a reference leads to is compared here: a request asks for objects, which it does not know.
    let references = lookup.index.parts.indices.filter {
      owner.relationship(slot: lookup.index.parts[$0].slot) != nil
    }
    return try lookup.keys.map { key in
      var request = FetchRequest<ManagedObjectID>(entityName: owner.name)
      request.predicate = .and(
        zip(lookup.index.parts, key).enumerated().filter { !references.contains($0.offset) }.map {
          .comparison(key: owner.attributes[$0.element.0.slot].name, .equal, $0.element.1)
        })
      if references.isEmpty { request.fetchLimit = 1 }
      let found = try fetch(try ResolvedFetchRequest(request, schema: lookup.schema), mode: .rows).rows
      return try valued(found, hierarchy: owner.hierarchyNumber).first { row in
        let layout = lookup.schema.entities[row.entity].layout
        return references.allSatisfy { place in
          row.snapshot?.value(lookup.index.parts[place].slot, layout)?.isSame(key[place]) == true
        }
      }
    }
  }
}

extension RowReader {
  /// The rows that have the values of `lookup`: the keys are sorted, and the index and then the rows are gone through once, in
  /// order. Nil when the store does not keep the index.
  func rows(_ lookup: UniqueLookup, _ transaction: borrowing ReadTransaction) throws -> [FetchedRow?]? {
    let number = lookup.index.number
    guard catalogue.indexes.isUsable(number), let keyspace = catalogue.indexes.keyspaces[number] else {
      return nil
    }
    let hierarchy = parts.schema.entities[lookup.index.owner].hierarchyNumber
    guard let rows = parts.rows[hierarchy] else { return nil }
    var found: [(place: Int, key: UInt64, isCertain: Bool)] = []
    try transaction.withCursor(keyspace) { try find(lookup, &$0, &found) }
    found.sort { ($0.key, $0.place) < ($1.key, $1.place) }
    var result = [FetchedRow?](repeating: nil, count: lookup.keys.count)
    var slab = RowSlabWriter()
    try transaction.withCursor(rows) { cursor in
      for (place, key, isCertain) in found {
        guard let bytes = try PrimaryKeyBytes.with(key, { try cursor.seek(exactly: $0)?.value }) else {
          continue
        }
        let row = try row(bytes, primaryKey: key, of: hierarchy)
        if !isCertain, try !has(lookup.keys[place], row, key, lookup.index, transaction) { continue }
        result[place] = FetchedRow(
          primaryKey: key, entity: row.entity, snapshot: row.keeper ?? slab.append(copying: row.bytes))
      }
    }
    return result
  }

  /// The entries of the index that have the keys. Those that stand for other values too are not certain.
  private func find(
    _ lookup: UniqueLookup, _ cursor: inout Cursor,
    _ found: inout [(place: Int, key: UInt64, isCertain: Bool)]
  ) throws {
    var entries = IndexEntries()
    entries.reserve(lookup.keys.count)
    var builder = KeyBuilder()
    for (place, key) in lookup.keys.enumerated() {
      builder.reset()
      var isTruncated = false
      for (part, value) in zip(lookup.index.parts, key) {
        if builder.append(value, isAscending: part.isAscending, limit: part.keyLimit) == .truncated {
          isTruncated = true
        }
      }
      // Where a row's key would be stands the place in the list.
      builder.appendPrimaryKey(UInt64(place))
      entries.append(builder.bytes, isTruncated: isTruncated, isConstrained: true)
    }
    entries.sort()
    var next = try cursor.first()
    for number in 0..<entries.count {
      let value = entries.value(number)
      if let entry = next, KeyOrder.order(entry.key, value) < 0 { next = try cursor.seek(atLeast: value) }
      guard let first = next else { return }
      if !IndexEntries.isEntry(first.key, of: value) { continue }
      let isTruncated = entries.entries[number].isTruncated
      var entry = next
      while let twin = entry, IndexEntries.isEntry(twin.key, of: value) {
        found.append((Int(entries.primaryKey(number)), PrimaryKeyBytes.last(of: twin.key), !isTruncated))
        // Only cut keys may stand for several rows. The cursor moves on, and the next key may be the same.
        entry = isTruncated ? try cursor.next() : nil
      }
      if isTruncated { next = try cursor.seek(atLeast: value) }
    }
  }

  private func has(
    _ values: [AttributeValue], _ row: StoredRow, _ primaryKey: UInt64, _ index: IndexSchema,
    _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    for (part, value) in zip(index.parts, values) {
      let stored = try self.value(row, part.slot, primaryKey: primaryKey, externals: [], transaction)
      if !stored.isSame(value) { return false }
    }
    return true
  }
}

extension LMDBReading {
  /// See ``StoreReading``. Throws ``StorageError``.
  package func rows(_ lookup: UniqueLookup) throws -> [FetchedRow?] {
    let found = try source.read { reader, transaction in
      try source.requireCurrent(reader, transaction)
      return try reader.rows(lookup, transaction)
    }
    // The index was struck, or could not be made in a store that is only read.
    return try found ?? rowsOneByOne(lookup)
  }
}
