import Foundation
import StrataCore

/// Values that lie outside of rows, as the column `outside` names them.
///
/// ```
///   slot u16 │ version u32 │ length u64        one after the other, big-endian
/// ```
///
/// The values themselves are in their columns. A row in memory only refers to them, by the version of the row that wrote them.
enum OutsideList {
  private static let entryLength = 14
  /// The most bytes that a text or data has in a row in memory.
  static let limit = 1_024

  static func decode(_ bytes: UnsafeRawBufferPointer) -> [Int: OutsideValue] {
    var values: [Int: OutsideValue] = [:]
    var place = 0
    while place + entryLength <= bytes.count {
      let slot = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self))
      let version = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place + 2, as: UInt32.self))
      let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place + 6, as: UInt64.self))
      values[Int(slot)] = OutsideValue(version: version, byteCount: length)
      place += entryLength
    }
    return values
  }

  /// Whether the list in a column names the slot, in SQL. The column is not NULL.
  static func lists(_ slot: Int, in column: String) -> String {
    let digits = String(slot, radix: 16)
    let bytes = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    return
      "EXISTS (SELECT FROM pg_catalog.generate_series(1, pg_catalog.octet_length(\(column)), \(entryLength)) p(place) WHERE pg_catalog.substring(\(column), p.place, 2) = '\\x\(bytes)'::bytea)"
  }

  static func encode(_ values: [(slot: Int, value: OutsideValue)]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (slot, value) in values {
      bytes.append(bigEndian: UInt16(truncatingIfNeeded: slot))
      bytes.append(bigEndian: value.version)
      bytes.append(bigEndian: value.byteCount)
    }
    return bytes
  }
}

/// The columns of a table as a statement lists them, and how rows are made of what comes back.
///
/// ```
///   pk │ entity │ version │ outside │ columns, each reference with the column of its code behind it
/// ```
///
/// Texts and data too long for a row are not sent: `CASE WHEN octet_length(x) <= 1024 THEN x END` looks at the length only. In tables of somebody else's, those alone that
/// `outside` names.
struct RowDecoding {
  let mapping: StoreMapping
  let table: TableMapping
  /// The words of the list, with `alias` in front of each column.
  let list: String
  /// How many columns the list has.
  let columnCount: Int
  /// By column of the table its place in the result, -1 for those that are not listed.
  private let places: [Int]
  /// Where the first column stands.
  private static let first = 4
  /// By entity number: how rows are made of bytes as they come; nil for entities whose values need a look at each.
  private let plans: [RowPlan?]

  /// The columns of the given entities of the table.
  init(_ mapping: StoreMapping, _ table: TableMapping, entities: [Int], alias: String) {
    self.mapping = mapping
    self.table = table
    var wanted = [Bool](repeating: false, count: table.columns.count)
    for entity in entities {
      for place in table.places[entity] ?? [] where place >= 0 { wanted[place] = true }
    }
    var list = "\(alias).pk, \(alias).entity, \(alias).version, \(alias).\(table.outside)"
    var places = [Int](repeating: -1, count: table.columns.count)
    var next = Self.first
    for (place, column) in table.columns.enumerated() where wanted[place] {
      places[place] = next
      next += 1
      let name = "\(alias).\(column.name)"
      switch column.type {
      case .text, .bytea:
        let outside = "\(alias).\(table.outside)"
        var isSent = "\(outside) IS NULL OR pg_catalog.octet_length(\(name)) <= \(OutsideList.limit)"
        // Another program, or a trigger, may have made it long in a row with large values of the store's: then it is not among those that are read by themselves.
        if table.adopted != nil,
          let slot = entities.lazy.compactMap({ table.places[$0]?.firstIndex(of: place) }).first
        {
          isSent += " OR NOT \(OutsideList.lists(slot, in: outside))"
        }
        list += ", CASE WHEN \(isSent) THEN \(name) END"
      case .int8 where column.isAdopted && column.relationship != nil:
        // A reference of somebody else's may be an integer.
        list += ", \(name)::bigint"
      default: list += ", \(name)"
      }
      if let code = column.codeColumn {
        list += ", \(alias).\(code)"
        next += 1
      }
    }
    self.list = list
    self.places = places
    columnCount = next
    var plans = [RowPlan?](repeating: nil, count: mapping.schema.entities.count)
    for number in entities {
      guard let slots = table.places[number] else { continue }
      plans[number] = RowPlan(mapping.schema.entities[number], slots, places, mapping, table)
    }
    self.plans = plans
  }

  /// The row of a result.
  /// - Throws: ``StorageError`` `.damaged` for values that are not of their column's type.
  func row(_ result: SQLResult, _ number: Int, _ assembler: inout RowAssembler) throws -> FetchedRow {
    let key = try result.key(number, 0)
    let entityNumber = try mapping.entity(code: try result.integer(number, 1))
    guard let version = UInt32(exactly: try result.integer(number, 2)), let slots = table.places[entityNumber]
    else {
      throw SQLResult.damaged
    }
    let entity = mapping.schema.entities[entityNumber]
    let outside = result[number, 3].map { OutsideList.decode($0.bytes) } ?? [:]
    var values = [AttributeValue](repeating: .null, count: slots.count)
    for (slot, place) in slots.enumerated() where place >= 0 {
      let position = places[place]
      if position < 0 { continue }
      guard let value = result[number, position] else { continue }
      if !outside.isEmpty, outside[slot] != nil { continue }
      let column = table.columns[place]
      if let relationship = column.relationship {
        values[slot] = .reference(
          try reference(
            value, column, relationship, code: column.codeColumn == nil ? nil : result[number, position + 1])
        )
        continue
      }
      guard let attribute = value.attribute(column.kind) else {
        throw StorageError(
          .damaged, operation: "read row", path: "",
          detail: "The value of \(column.path) of p\(key) is not one that the store writes.")
      }
      values[slot] = attribute
    }
    let snapshot = try assembler.row(
      of: entity, stamp: RowStamp(layoutNumber: 0, entityCode: mapping.codes[entityNumber]), primaryKey: key,
      version: version, values: values, outside: outside)
    return FetchedRow(primaryKey: key, entity: entityNumber, snapshot: snapshot)
  }

  private func reference(_ value: SQLValue, _ column: ColumnMapping, _ relationship: Int, code: SQLValue?)
    throws
    -> UInt64
  {
    guard let key = value.integer(UInt64.self), key > 0, key < StoreReference.keyLimit else {
      throw SQLResult.damaged
    }
    let schema = mapping.schema.relationships[relationship]
    guard column.codeColumn != nil else {
      return StoreReference.bits(key, entityCode: mapping.soleCode(schema))
    }
    guard let code = code?.integer(Int16.self).flatMap({ UInt16(exactly: $0) }) else {
      throw SQLResult.damaged
    }
    return StoreReference.bits(key, entityCode: code)
  }

  /// All rows of a result. Several threads make many of them.
  /// - Throws: as `row`, for the first row that cannot be read.
  func rows(_ result: SQLResult) throws -> ContiguousArray<FetchedRow> {
    let count = result.rowCount
    if count < 2 * Self.leastRowsOfPart { return try rows(result, 0..<count) }
    let partCount = min(ProcessInfo.processInfo.activeProcessorCount, count / Self.leastRowsOfPart)
    if partCount < 2 { return try rows(result, 0..<count) }
    var parts = [Result<ContiguousArray<FetchedRow>, any Error>?](repeating: nil, count: partCount)
    parts.withUnsafeMutableBufferPointer { parts in
      // Unsafe: each iteration writes an element of its own, and reads the result, which does not change.
      nonisolated(unsafe) let parts = parts
      nonisolated(unsafe) let result = result
      DispatchQueue.concurrentPerform(iterations: partCount) { part in
        let range = count * part / partCount..<count * (part + 1) / partCount
        parts[part] = Result { try rows(result, range) }
      }
    }
    var all = ContiguousArray<FetchedRow>()
    all.reserveCapacity(count)
    for part in parts { all += try part?.get() ?? [] }
    return all
  }

  /// From twice as many rows on, a second thread makes half of them.
  static let leastRowsOfPart = 4_096

  private func rows(_ result: SQLResult, _ range: Range<Int>) throws -> ContiguousArray<FetchedRow> {
    var assembler = RowAssembler(expectedLength: range.count * 128)
    var rows = ContiguousArray<FetchedRow>()
    rows.reserveCapacity(range.count)
    var makers: [UInt16: RowPlan.Maker] = [:]
    // Rows of an entity often follow each other.
    var last: RowPlan.Maker?
    for number in range {
      let code = result[number, 1]?.integer(UInt16.self)
      if let code, last?.code != code {
        last =
          makers[code]
          ?? mapping.entity(ofCode: code).flatMap { plans[$0] }.map { RowPlan.Maker($0, code: code) }
        makers[code] = last
      }
      if code != nil, let row = last?.row(result, number, &assembler) {
        rows.append(row)
      } else {
        rows.append(try row(result, number, &assembler))
      }
    }
    return rows
  }
}
