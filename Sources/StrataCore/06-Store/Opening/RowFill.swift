import Foundation

/// What the rows of one entity show in slots that they lack, because they were written before the model had them: an entry `fill/<entity code>` of "meta".
///
/// The values are those that the attributes had by default when they came. The model may have another default by now, which is for new objects.
///
/// ```
///   0  u16  the number of layouts that rows of the entity may have
///   2  u16  the number of each, the oldest first; the last is the one that rows are written in
///   …       a row of the last layout with key 0, whose values they are
/// ```
///
/// There are entries only where a change of the model has touched no row.
struct RowFill: Sendable {
  static let prefix = "fill/"

  let layoutNumbers: [UInt16]
  private let row: [UInt8]

  init(layoutNumbers: [UInt16], row: [UInt8]) {
    self.layoutNumbers = layoutNumbers
    self.row = row
  }

  /// Nil for bytes that are none.
  init?(_ bytes: [UInt8]) {
    func number(_ place: Int) -> UInt16 { UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8 }
    guard bytes.count >= 2 else { return nil }
    let end = 2 + 2 * Int(number(0))
    guard end > 2, bytes.count >= end + RowFormat.headerLength else { return nil }
    layoutNumbers = stride(from: 2, to: end, by: 2).map(number)
    row = Array(bytes[end...])
  }

  var bytes: [UInt8] {
    ([UInt16(layoutNumbers.count)] + layoutNumbers).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] } + row
  }

  static func key(_ entityCode: UInt16) -> String { prefix + MetaKeyspace.digits(entityCode, 5) }

  /// The values by slot of `entity`, whose layout may be another one: then slots are matched by name.
  ///
  /// - Throws: `RowError` when the bytes are no row of the layout they name.
  func values(_ layouts: [UInt16: RowLayout], for entity: EntitySchema) throws(RowError) -> [AttributeValue] {
    guard let layout = layoutNumbers.last.flatMap({ layouts[$0] }) else {
      throw .incompatibleLayouts(slot: 0)
    }
    return try Self.values(row, layout, for: entity)
  }

  /// The layout by way of which rows of layout `number` are read in layout `own`, which the entity has now; nil when they are read directly.
  ///
  /// Renaming identifiers are no part of a model's version. When one goes, the layout of now no longer tells what an attribute was called before; the last
  /// one that is noted here does.
  func detour(from number: UInt16, to own: UInt16, _ layouts: [UInt16: RowLayout]) -> RowLayout? {
    guard let last = layoutNumbers.last, last != own, last != number, layoutNumbers.contains(number) else {
      return nil
    }
    return layouts[last]
  }

  private static func values(
    _ row: [UInt8], _ layout: RowLayout, for entity: EntitySchema
  ) throws(RowError) -> [AttributeValue] {
    let snapshot = row.withUnsafeBytes { RowSnapshot(copying: $0) }
    // Typed errors do not come through closures.
    let bytes = UnsafeRawBufferPointer(start: snapshot.base, count: Int(snapshot.count))
    defer { withExtendedLifetime(snapshot) {} }
    try RowDecoder.validate(bytes, primaryKey: 0, layout: layout)
    var result = snapshot
    if layout !== entity.layout {
      let transcoder = try RowTranscoder(from: layout, to: entity.layout, defaults: entity.defaults)
      var writer = RowSlabWriter(expectedLength: bytes.count)
      result = try transcoder.transcode(
        bytes, primaryKey: 0, stamp: RowStamp(layoutNumber: 0, entityCode: 0), into: &writer)
    }
    return (0..<entity.layout.slotCount).map { result.value($0, entity.layout) ?? .null }
  }
}

/// What a change of the model that touches no row writes into the store besides the model: which values older rows show in slots that they lack.
struct RowFills: Sendable {
  struct Fill: Sendable {
    let entityName: String
    /// The layouts of rows that there may be, the oldest first.
    let layoutNumbers: [UInt16]
    /// By slot of the new layout.
    let values: [AttributeValue]
  }

  /// Attributes of an entity that get other names.
  struct Renaming: Sendable {
    let entityName: String
    /// By their names before.
    let names: [String: String]
  }

  /// Of the entities whose rows get another layout.
  let fills: [Fill]
  let renamings: [Renaming]
  /// The version of the model that the store must still be of.
  let versions: StoredVersions
  /// An index that was added to the store, by the names of the new model; nil when it goes.
  let keptIndex: @Sendable (AddedIndex, Schema) -> AddedIndex?

  /// Writes them into a store that has all codes of its new model.
  ///
  /// - Throws: ``StorageError`` of kind `replaced` when the store is of another version by now.
  func write(_ catalogue: StoreCatalogue, _ parts: StoreParts, _ transaction: borrowing WriteTransaction)
    throws
  {
    guard try parts.storedVersions(transaction.read)?.hashes == versions.hashes else {
      throw StoreParts.hasOtherModel(parts.environment.path)
    }
    try writeRenamings(catalogue, parts, transaction)
    try writeAddedIndexes(parts, transaction)
    if fills.isEmpty { return }
    for fill in fills {
      guard let entity = catalogue.schema.entity(named: fill.entityName) else { continue }
      let stamp = RowStamp(
        layoutNumber: catalogue.layoutNumbers[entity.number], entityCode: catalogue.entityCodes[entity.number]
      )
      let draft = RowDraft.make(entity.layout, defaults: fill.values)
      var writer = RowSlabWriter()
      let row: (snapshot: RowSnapshot, externals: [ExternalValue])
      do {
        row = try RowEncoder.encode(
          layout: entity.layout, stamp: stamp, primaryKey: 0, version: 1, base: nil, draft: draft,
          into: &writer)
      } catch {
        throw StorageError(
          .tooLarge, operation: "migrate", path: parts.environment.path, detail: error.words(in: entity))
      }
      guard row.externals.isEmpty else {
        throw StorageError(
          .tooLarge, operation: "migrate", path: parts.environment.path,
          detail: "A default value of \(fill.entityName) is too large for a row.")
      }
      let entry = RowFill(
        layoutNumbers: fill.layoutNumbers + [stamp.layoutNumber], row: row.snapshot.withBytes { Array($0) })
      try parts.meta.put(RowFill.key(stamp.entityCode), entry.bytes, transaction)
    }
    try parts.meta.put("format", number: MetaKeyspace.filledFormat, transaction)
  }

  /// The history names attributes by the codes that their names had.
  private func writeRenamings(
    _ catalogue: StoreCatalogue, _ parts: StoreParts, _ transaction: borrowing WriteTransaction
  ) throws {
    guard try parts.meta.bytes(HistoryFormat.metaKey, transaction.read) != nil else { return }
    let commit = try parts.stamp(transaction.read).commitNumber
    for renaming in renamings {
      guard let entity = catalogue.schema.entity(named: renaming.entityName) else { continue }
      var codes: [UInt16: UInt16] = [:]
      for (old, new) in renaming.names {
        guard let code = catalogue.attributeCodesByName[old] else { continue }
        codes[code] = catalogue.attributeCodesByName[new]
      }
      let key = HistoryRecoding.key(commit, catalogue.entityCodes[entity.number])
      let earlier = try parts.meta.bytes(key, transaction.read).map { Array($0) }
      try parts.meta.put(key, HistoryRecoding.value(codes, after: earlier), transaction)
    }
  }
}

extension RowFills {
  /// Indexes that were added to the store go on under the names of now, or go. The opening builds those anew that have other names.
  private func writeAddedIndexes(_ parts: StoreParts, _ transaction: borrowing WriteTransaction) throws {
    let meta = parts.meta
    for old in try StoredIndexes.added(meta, transaction.read) {
      let new = keptIndex(old, parts.schema)
      if new == old { continue }
      try meta.delete("added/" + old.qualifiedName, transaction)
      guard let new else { continue }
      let mark = try JSONEncoder.sorted.encode(new)
      try meta.put("added/" + new.qualifiedName, mark, transaction)
    }
  }
}

extension StoreParts {
  /// The version of the model that the store is of.
  func storedVersions(_ transaction: borrowing ReadTransaction) throws -> StoredVersions? {
    try meta.data("versions", transaction).flatMap { try? BoundedJSON.decode(StoredVersions.self, from: $0) }
  }

  /// Whether the store is of another version of the model than it was opened with.
  func isOfOtherVersion(_ transaction: borrowing ReadTransaction) throws -> Bool {
    guard comparesVersions, let stored = try storedVersions(transaction) else { return false }
    return schema.entities.contains { entity in
      held[entity.number] && stored.hashes[entity.name] != entity.versionHash
    }
  }

  /// Refuses a store that carries another model by now.
  /// - Throws: ``StorageError`` of kind `replaced`.
  func require(_ carried: LMDBStore.CarriedModel, _ transaction: borrowing ReadTransaction) throws {
    guard try meta.data("model", transaction) == carried.document else {
      throw Self.hasOtherModel(environment.path)
    }
  }

  /// The error for a store whose model was read, and is another one by now.
  static func hasOtherModel(_ path: String) -> StorageError {
    StorageError(
      .replaced, operation: "read model", path: path,
      detail: "Another process has changed the store's model meanwhile.")
  }

  /// The error for a save to a store of another version.
  var isMigrated: StorageError {
    StorageError(
      .replaced, operation: "commit", path: environment.path,
      detail: "Another process has brought the store to another version of its model.")
  }
}
