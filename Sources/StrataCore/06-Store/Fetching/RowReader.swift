import CLMDBShim
import Foundation

/// A row's bytes where they lie, checked and in the schema's layout.
///
/// The bytes belong to a transaction, or to `keeper` when they had to be made from an older layout.
struct StoredRow {
  let base: UnsafeRawPointer
  let count: Int
  /// The number of the row's entity.
  let entity: Int
  /// Keeps transcoded bytes alive.
  var keeper: RowSnapshot?

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
  var version: UInt32 { RowBytes.version(base) }

  /// Says that the row's first bytes will be needed soon.
  @inline(__always)
  func prefetch() {
    for offset in stride(from: 0, to: min(count, 320), by: 64) { strata_prefetch(base + offset) }
  }
  var hasExternalValues: Bool { RowBytes.hasExternalValues(base) }

  /// Where the value of a slot is, when it lies outside the row.
  func externalReference(_ slot: Int, _ layout: RowLayout) -> ExternalReference? {
    let entry = layout.entry(of: slot)
    return RowBytes.kind(entry).isVariable ? RowBytes.externalReference(base, entry) : nil
  }

  /// Whether the value of a slot lies outside the row.
  func isExternal(_ slot: Int, _ layout: RowLayout) -> Bool {
    let entry = layout.entry(of: slot)
    return RowBytes.kind(entry).isVariable && RowBytes.isExternal(base, entry)
  }
}

extension RowChange {
  /// The new row, in the form stored ones have.
  var storedRow: StoredRow { StoredRow(base: row.base, count: Int(row.count), entity: entity, keeper: row) }
}

/// A row's code or layout is not in the catalogue: another process may have added it.
struct UnknownCode: Error {
  let detail: String
}

/// Turns stored bytes into rows: finds the entity, checks the structure, brings older layouts up to date.
struct RowReader {
  let parts: StoreParts
  let catalogue: StoreCatalogue

  /// The row that `bytes` are.
  ///
  /// - Throws: ``StorageError`` of kind `damaged`; ``UnknownCode``.
  @inline(__always)
  func row(_ bytes: UnsafeRawBufferPointer, primaryKey: UInt64) throws -> StoredRow {
    guard bytes.count >= RowFormat.headerLength, let base = bytes.baseAddress else {
      throw damaged(primaryKey, RowError.tooShort(byteCount: bytes.count))
    }
    guard let entity = catalogue.entity(code: RowBytes.entityCode(base)) else {
      throw UnknownCode(
        detail: "The row p\(primaryKey) is of an unknown entity, code \(RowBytes.entityCode(base)).")
    }
    let number = RowBytes.layoutNumber(base)
    if number != catalogue.layoutNumbers[entity] {
      return try transcoded(bytes, primaryKey: primaryKey, entity: entity, layoutNumber: number)
    }
    let layout = parts.schema.entities[entity].layout
    do {
      if parts.verifiesChecksums {
        try RowDecoder.validate(bytes, primaryKey: primaryKey, layout: layout)
      } else {
        try RowDecoder.checkBounds(bytes, layout)
      }
    } catch {
      throw damaged(primaryKey, error, entity)
    }
    return StoredRow(base: base, count: bytes.count, entity: entity)
  }

  /// The same for a row that was found among those of a hierarchy.
  func row(_ bytes: UnsafeRawBufferPointer, primaryKey: UInt64, of hierarchy: Int) throws -> StoredRow {
    let row = try row(bytes, primaryKey: primaryKey)
    guard parts.schema.entities[row.entity].hierarchyNumber == hierarchy else { throw isAstray(primaryKey) }
    return row
  }

  /// The row of a hierarchy that has the key; nil when there is none.
  func row(_ key: UInt64, of hierarchy: Int, _ transaction: borrowing ReadTransaction) throws -> StoredRow? {
    guard let keyspace = parts.rows[hierarchy], let bytes = try transaction.get(keyspace, key) else {
      return nil
    }
    return try row(bytes, primaryKey: key, of: hierarchy)
  }

  /// A row that says it is of an entity that has no rows where it was found.
  func isAstray(_ primaryKey: UInt64) -> StorageError {
    parts.damaged("The row p\(primaryKey) is of an entity of another hierarchy.")
  }

  /// The entity of a row, by its code alone.
  @inline(__always)
  func entity(of bytes: UnsafeRawBufferPointer, primaryKey: UInt64) throws -> Int {
    guard bytes.count >= RowFormat.headerLength, let base = bytes.baseAddress else {
      throw damaged(primaryKey, RowError.tooShort(byteCount: bytes.count))
    }
    guard let entity = catalogue.entity(code: RowBytes.entityCode(base)) else {
      throw UnknownCode(
        detail: "The row p\(primaryKey) is of an unknown entity, code \(RowBytes.entityCode(base)).")
    }
    return entity
  }

  @inline(never)
  private func transcoded(
    _ bytes: UnsafeRawBufferPointer, primaryKey: UInt64, entity: Int, layoutNumber: UInt16
  ) throws -> StoredRow {
    guard let old = catalogue.layouts[layoutNumber] else {
      throw UnknownCode(detail: "The row p\(primaryKey) is of an unknown layout, number \(layoutNumber).")
    }
    let stamp = RowStamp(
      layoutNumber: catalogue.layoutNumbers[entity], entityCode: catalogue.entityCodes[entity])
    if parts.verifiesChecksums {
      do { try RowDecoder.validate(bytes, primaryKey: primaryKey, layout: old) } catch {
        throw damaged(primaryKey, error, entity, old)
      }
    }
    do {
      let transcoder = try catalogue.transcoder(from: old, number: layoutNumber, entity: entity)
      var writer = RowSlabWriter(expectedLength: bytes.count)
      let snapshot = try transcoder.transcode(bytes, primaryKey: primaryKey, stamp: stamp, into: &writer)
      return StoredRow(base: snapshot.base, count: Int(snapshot.count), entity: entity, keeper: snapshot)
    } catch {
      // What is wrong with the bytes is told in slots of the layout that they are in.
      let isAboutNew =
        switch error {
        case .incompatibleLayouts, .wrongType, .valueTooLong: true
        default: false
        }
      throw damaged(primaryKey, error, entity, isAboutNew ? nil : old)
    }
  }

  /// A copy of the row that outlives the transaction.
  func fetchedRow(_ row: StoredRow, primaryKey: UInt64) -> FetchedRow {
    FetchedRow(
      primaryKey: primaryKey, entity: row.entity, snapshot: row.keeper ?? RowSnapshot(copying: row.bytes))
  }

  @inline(__always)
  func layout(of row: StoredRow) -> RowLayout { parts.schema.entities[row.entity].layout }

  func attribute(of row: StoredRow, _ slot: Int) -> AttributeSchema {
    parts.schema.entities[row.entity].attributes[slot]
  }

  /// The value of a slot, wherever it lies.
  ///
  /// - Parameter externals: Large values that are not stored yet.
  /// - Throws: ``StorageError`` of kind `damaged` when a large value is missing.
  func value(
    _ row: StoredRow, _ slot: Int, primaryKey: UInt64, externals: [ExternalValue],
    _ transaction: borrowing ReadTransaction
  ) throws -> AttributeValue {
    let layout = layout(of: row)
    guard let reference = row.externalReference(slot, layout) else {
      return RowBytes.value(row.base, slot, layout) ?? .null
    }
    let kind = layout.kind(of: slot)
    if let value = externals.first(where: { $0.slot == slot }) {
      return RowBytes.externalValue(value.bytes, kind: kind) ?? .null
    }
    let key = largeValueKey(entity: row.entity, slot, primaryKey: primaryKey, version: reference.version)
    guard let bytes = try parts.largeValue(key, transaction) else {
      throw parts.damaged(
        "The large value “\(attribute(of: row, slot).name)” of the row p\(primaryKey) is missing.")
    }
    return RowBytes.externalValue(Data(bytes), kind: kind) ?? .null
  }

  func largeValueKey(entity: Int, _ slot: Int, primaryKey: UInt64, version: UInt32) -> LargeValueKey {
    let hierarchy = parts.schema.entities[entity].hierarchyNumber
    return LargeValueKey(
      hierarchyCode: catalogue.hierarchyCodes[hierarchy], primaryKey: primaryKey,
      attributeCode: catalogue.attributeCodes[entity][slot], version: version)
  }

  /// Calls `body` with every slot whose value lies outside the row.
  func forEachReference(
    _ row: StoredRow, primaryKey: UInt64, _ body: (_ slot: Int, _ key: LargeValueKey) throws -> Void
  ) rethrows {
    guard row.hasExternalValues else { return }
    let layout = layout(of: row)
    for slot in 0..<layout.slotCount {
      if let reference = row.externalReference(slot, layout) {
        try body(
          slot, largeValueKey(entity: row.entity, slot, primaryKey: primaryKey, version: reference.version))
      }
    }
  }

  /// - Parameters:
  ///   - entity: The number of the row's entity, if it is known.
  ///   - layout: The layout whose slots the error means; nil for the entity's own.
  @inline(never)
  private func damaged(
    _ primaryKey: UInt64, _ error: RowError, _ entity: Int? = nil, _ layout: RowLayout? = nil
  ) -> StorageError {
    let words =
      entity.map { error.words(in: parts.schema.entities[$0], layout) } ?? error.description
    return parts.damaged("The row p\(primaryKey) is damaged: \(words)")
  }
}
