import Foundation

/// One commit of a store, for tools that know entities and slots but no classes: rows as they are stored, in the order of their keys.
///
/// The commit is pinned until the window is let go: a store that is written meanwhile cannot use again the space of what was
/// replaced since. Used by one thread.
package final class StoreWindow {
  /// The open store.
  package let store: any StoreEngine
  /// The store's model, compiled.
  package let schema: Schema
  let snapshot: any StoreSnapshot
  /// The store and its commit where they are in a file.
  private let file: (store: LMDBStore, snapshot: LMDBSnapshot)?
  /// By the store's code of an entity, its number; -1 for codes without one.
  private let entityNumbers: [Int]
  private let entityCodes: [UInt16]

  /// What a predicate names an object by, whether it is there or not.
  package func identifier(_ object: ObjectAddress) -> ManagedObjectID {
    ManagedObjectID(
      token: StoreEntityToken.token(
        storeIdentifier: store.identifier, entity: schema.entities[object.entity], in: schema),
      primaryKey: object.key)
  }

  /// Pins the newest commit.
  /// - Throws: ``StorageError``.
  package convenience init(_ store: LMDBStore) throws { try self.init(store, schema: store.parts.schema) }

  /// The same of a store of any engine, opened with `schema`.
  /// - Throws: ``StorageError``; of kind `invalid` when the engine can pin no commit now.
  package init(_ store: any StoreEngine, schema: Schema) throws {
    self.store = store
    self.schema = schema
    guard let snapshot = try store.makeSnapshot() else {
      throw StorageError(
        .invalid, operation: "read", path: store.url?.path ?? "",
        detail: "The store has no snapshot to give.")
    }
    self.snapshot = snapshot
    let codes: [UInt16]
    if let store = store as? LMDBStore, let snapshot = snapshot as? LMDBSnapshot {
      file = (store, snapshot)
      codes = try snapshot.read { reader, _ in reader.catalogue.entityCodes }
    } else {
      file = nil
      codes = schema.entities.map { store.rowStamp(entity: $0.number).entityCode }
    }
    var numbers = [Int](repeating: -1, count: Int(codes.max() ?? 0) + 1)
    for (number, code) in codes.enumerated() where code != 0 { numbers[Int(code)] = number }
    (entityCodes, entityNumbers) = (codes, numbers)
  }

  deinit { snapshot.release() }

  /// The store and its commit in a file.
  /// - Throws: ``StorageError`` `.invalid` for a store that is in none.
  func inFile() throws -> (store: LMDBStore, snapshot: LMDBSnapshot) {
    if let file { return file }
    throw StorageError(.invalid, operation: "read", path: "", detail: "The store is in no file.")
  }

  private func walked() throws -> any WalkedSnapshot {
    if let walked = snapshot as? any WalkedSnapshot { return walked }
    throw StorageError(
      .invalid, operation: "read", path: "",
      detail: "The engine of the store cannot go through it from row to row.")
  }

  /// Where the bytes of a store are that is in no file.
  /// - Throws: ``StorageError``; `.invalid` for an engine that does not know.
  package func parts() throws -> [StoredPart] { try walked().parts() }

  /// The store as one that is in a file; nil for another one.
  package var fileStore: LMDBStore? { file?.store }

  /// The same commit for requests.
  package var reading: any StoreReading { snapshot }

  // MARK: Rows

  /// The rows of a hierarchy from `key` on, ascending, some at a time; the key to go on from, nil after the last.
  /// - Throws: ``StorageError``.
  package func rows(of hierarchy: Int, from key: UInt64, most count: Int = 1_000) throws -> (
    rows: [FetchedRow], next: UInt64?
  ) {
    if file == nil {
      let rows = try walked().rows(hierarchy: hierarchy, from: key, most: count)
      return (rows, rows.count < count ? nil : rows.last.map { $0.primaryKey + 1 })
    }
    return try inFile().snapshot.read { reader, transaction in
      guard let keyspace = reader.parts.rows[hierarchy] else { return ([], nil) }
      var rows: [FetchedRow] = []
      var slab = RowSlabWriter(expectedLength: RowSlab.chunkLength)
      let next: UInt64? = try transaction.withCursor(keyspace) { cursor in
        var bytes = 0
        var entry = try PrimaryKeyBytes.with(key) { try cursor.seek(atLeast: $0) }
        while let found = entry {
          guard let key = PrimaryKeyBytes.whole(found.key) else {
            throw reader.parts.damaged("A row has a key of another length.")
          }
          if rows.count >= count || bytes >= Self.bytesAtATime { return key }
          let row = try reader.row(found.value, primaryKey: key, of: hierarchy)
          let copy = row.keeper ?? slab.append(copying: row.bytes)
          rows.append(FetchedRow(primaryKey: key, entity: row.entity, snapshot: copy))
          bytes += row.count
          entry = try cursor.next()
        }
        return nil
      }
      return (rows, next)
    }
  }

  private static let bytesAtATime = 1 << 20

  /// The row of an object; nil when there is none.
  /// - Throws: ``StorageError``.
  package func row(_ address: ObjectAddress) throws -> FetchedRow? {
    try snapshot.row(hierarchy: schema.entities[address.entity].hierarchyNumber, primaryKey: address.key)
  }

  /// How many rows there are in a hierarchy. Constant time in a file.
  /// - Throws: ``StorageError``.
  package func rowCount(of hierarchy: Int) throws -> Int {
    guard let file else {
      let request = FetchRequest<Int>(entityName: schema.hierarchies[hierarchy].rootName)
      return try snapshot.fetch(ResolvedFetchRequest(request, schema: schema), mode: .count).count
    }
    return try file.snapshot.read { reader, transaction in
      try reader.parts.rows[hierarchy].map { try transaction.entryCount($0) } ?? 0
    }
  }

  /// The value of a slot, read from where large values are when it is one.
  /// - Throws: ``StorageError`` of kind `damaged` when a large value is missing.
  package func value(of row: FetchedRow, _ slot: Int) throws -> AttributeValue {
    guard let bytes = row.snapshot else { trap("values are asked of a row that was fetched without them") }
    let layout = schema.entities[row.entity].layout
    if let value = bytes.value(slot, layout) { return value }
    guard let reference = bytes.externalReference(slot, layout) else { return .null }
    guard
      let large = try snapshot.externalValue(
        entity: row.entity, primaryKey: row.primaryKey, slot: slot, version: reference.version),
      let value = RowBytes.externalValue(large, kind: layout.kind(of: slot))
    else {
      throw StorageError(
        .damaged, operation: "read", path: store.url?.path ?? "",
        detail:
          "The large value “\(schema.entities[row.entity].attributes[slot].name)” of the row p\(row.primaryKey) is missing."
      )
    }
    return value
  }

  /// How many bytes a large value has, which is not read; nil for a value that lies in the row, and for none.
  package func largeValueSize(of row: FetchedRow, _ slot: Int) -> Int? {
    row.snapshot?.externalReference(slot, schema.entities[row.entity].layout).map {
      Int(clamping: $0.byteCount)
    }
  }

  // MARK: Links

  /// What a reference leads to; nil for a code that no entity has.
  package func target(_ reference: UInt64) -> ObjectAddress? {
    let code = Int(Reference.entityCode(reference))
    guard code < entityNumbers.count, entityNumbers[code] >= 0 else { return nil }
    return ObjectAddress(entity: entityNumbers[code], key: Reference.primaryKey(reference))
  }

  /// The reference to an object, for predicates and keys.
  package func reference(_ address: ObjectAddress) -> UInt64 {
    Reference.bits(address.key, entityCode: entityCodes[address.entity])
  }

  /// The members of a to-many relationship of some owners, in order.
  /// - Throws: ``StorageError``.
  package func members(_ relationship: RelationshipSchema, of owners: [UInt64]) throws -> [[UInt64]] {
    try snapshot.members(EdgeSet(relationship: relationship.number), of: owners)
  }

  /// How many members a to-many relationship has.
  /// - Throws: ``StorageError``.
  package func memberCount(_ relationship: RelationshipSchema, of owner: UInt64) throws -> Int {
    try snapshot.memberCount(EdgeSet(relationship: relationship.number), of: owner)
  }

  // MARK: The store itself

  /// What the store says of itself, as far as another file would need it to go on in its place.
  /// - Throws: ``StorageError``.
  package func facts() throws -> StoreFacts {
    if file == nil { return try walked().facts() }
    return try inFile().snapshot.read { reader, transaction in
      let (parts, meta) = (reader.parts, reader.parts.meta)
      let header = try StoreHeader(meta, transaction, path: parts.environment.path)
      var counters: [String: UInt64] = [:]
      for hierarchy in parts.schema.hierarchies where parts.rows[hierarchy.number] != nil {
        counters[hierarchy.rootName] = try parts.counter(hierarchy.number, transaction)
      }
      let user = header.metadata.withoutStandardKeys
      return StoreFacts(
        identifier: header.identifier, model: try meta.data("model", transaction) ?? Data(),
        entities: header.versions.hashes.keys.sorted(), counters: counters,
        metadata: user.values.isEmpty ? nil : try user.encoded(path: parts.environment.path),
        lineage: header.lineage.checksums,
        addedIndexes: try meta.entries("added/", transaction).map { Data($0.value) },
        recordsHistory: try meta.bytes(HistoryFormat.metaKey, transaction) != nil)
    }
  }
}

/// An object of a store by entity and key.
package struct ObjectAddress: Sendable, Hashable {
  /// The entity's number in the schema.
  package let entity: Int
  /// The key within the entity's hierarchy.
  package let key: UInt64

  package init(entity: Int, key: UInt64) {
    self.entity = entity
    self.key = key
  }
}
