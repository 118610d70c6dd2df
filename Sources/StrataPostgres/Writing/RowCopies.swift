import Foundation
import StrataCore

/// Many new rows of one entity in the binary form of COPY, which the server takes in faster than any statement.
///
/// ```
///   "PGCOPY\\n" 255 13 10 0 │ flags i32 │ length of what follows i32
///   i16 number of fields │ for each: i32 length, -1 for null │ bytes          row by row
///   i16 -1
/// ```
struct RowCopies: CopiedBytes {
  private let mapping: StoreMapping
  private let entity: EntitySchema
  private let changes: [RowChange]
  private let slots: [Int]
  private let columns: [(slot: Int, column: ColumnMapping)]
  private let text: String
  private let fieldCount: Int16
  /// How values are sent as they lie in a row, by place in `columns`; nil for entities with values that have another form there.
  private let widths: [Width]?

  /// What a value takes.
  private enum Width { case one, two, four, eight, bytes, text, reference(isCoded: Bool) }
  private static let head: [UInt8] = Array("PGCOPY\n".utf8) + [255, 13, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0]

  /// - Parameter changes: New rows of the entity.
  init(_ changes: [RowChange], mapping: StoreMapping, entity number: Int, slots: [Int]) {
    self.mapping = mapping
    self.changes = changes
    self.slots = slots
    entity = mapping.schema.entities[number]
    let table = mapping.table(ofEntity: number)
    columns = slots.compactMap { slot in table.column(number, slot).map { (slot, $0) } }
    let names =
      ["pk", "entity", "version", table.outside]
      + columns.flatMap { _, column in [column.name] + (column.codeColumn.map { [$0] } ?? []) }
    fieldCount = Int16(names.count)
    let widths = columns.map { _, column in Self.width(column) }
    self.widths = widths.contains { $0 == nil } ? nil : widths.compactMap(\.self)
    text = "COPY \(table.name) (\(names.joined(separator: ", "))) FROM STDIN (FORMAT binary)"
  }

  /// So many bytes are handed over at once, and those of a row more.
  private static let partSize = 1 << 16

  var rowCount: Int { changes.count }
  var statement: SQLStatement {
    SQLStatement(copy: text, self, subject: SQLStatement.Subject(entity: entity.name))
  }

  /// - Throws: What `send` throws; ``StorageError`` `.invalid` for a value that the server cannot store, `.tooLarge`.
  func write(_ send: ([UInt8]) throws -> Bool) throws {
    var bytes = Self.head
    bytes.reserveCapacity(Self.partSize * 2)
    let fields = FieldBuffer()
    for change in changes {
      if !(try appendRaw(change, fields, to: &bytes)) { try append(change, to: &bytes) }
      if bytes.count >= Self.partSize {
        guard try send(bytes) else { return }
        bytes.removeAll(keepingCapacity: true)
      }
    }
    bytes.append(bigEndian: Int16(-1))
    _ = try send(bytes)
  }

  private static func width(_ column: ColumnMapping) -> Width? {
    if column.relationship != nil { return .reference(isCoded: column.codeColumn != nil) }
    switch column.kind {
    case .boolean: return .one
    case .int16: return .two
    case .int32, .float: return .four
    case .int64, .double, .date: return .eight
    case .uuid, .data: return .bytes
    case .string: return .text
    case .url, .decimal, .reference, .transient: return nil
    }
  }

  /// Appends the row as it lies in memory. False, and nothing is appended, when some of its values lie elsewhere or have another form.
  private func appendRaw(_ change: RowChange, _ fields: FieldBuffer, to bytes: inout [UInt8]) throws -> Bool {
    guard let widths else { return false }
    let row = change.row
    try RowStatements.requireVersion(change, entity)
    fields.begin(columnCount: columns.count, byteCount: row.byteCount)
    fields.put(fieldCount)
    fields.field(change.primaryKey)
    fields.field(Int16(bitPattern: mapping.codes[entity.number]))
    fields.field(Int32(bitPattern: row.version))
    fields.null()
    for (place, width) in widths.enumerated() {
      let (slot, column) = columns[place]
      let isWhole = try row.withRaw(slot, of: entity) { value in
        switch (value, width) {
        case (nil, _): return false
        case (.null, .reference(isCoded: true)), (.word(0), .reference(isCoded: true)):
          fields.null()
          fields.null()
        case (.null, _), (.word(0), .reference): fields.null()
        case (.word(let word), .one): fields.field(UInt8(truncatingIfNeeded: word))
        case (.word(let word), .two): fields.field(UInt16(truncatingIfNeeded: word))
        case (.word(let word), .four): fields.field(UInt32(truncatingIfNeeded: word))
        case (.word(let word), .eight): fields.field(word)
        case (.word(let word), .reference(let isCoded)):
          fields.field(StoreReference.primaryKey(word))
          if isCoded { fields.field(StoreReference.entityCode(word)) }
        case (.bytes(let value), .text):
          if value.contains(0) { throw RowStatements.holdsNUL(column, change.primaryKey) }
          return fields.field(value)
        case (.bytes(let value), .bytes): return fields.field(value)
        case (.word, _), (.bytes, _): return false
        }
        return true
      }
      if !isWhole { return false }
    }
    bytes.append(contentsOf: fields.written)
    return true
  }

  private func append(_ change: RowChange, to bytes: inout [UInt8]) throws {
    func field<Word: FixedWidthInteger>(_ word: Word) {
      bytes.append(bigEndian: Int32(MemoryLayout<Word>.size))
      bytes.append(bigEndian: word)
    }
    func field(_ data: some Collection<UInt8>) {
      bytes.append(bigEndian: Int32(data.count))
      bytes.append(contentsOf: data)
    }
    try RowStatements.requireVersion(change, entity)
    bytes.append(bigEndian: fieldCount)
    field(change.primaryKey)
    field(Int16(bitPattern: mapping.codes[entity.number]))
    field(Int32(bitPattern: change.row.version))
    if let outside = RowStatements.outside(change, entity, slots) {
      field(outside)
    } else {
      bytes.append(bigEndian: Int32(-1))
    }
    for (slot, column) in columns {
      switch change.row.content(slot, of: entity) {
      case .outside: field(try RowStatements.large(change, slot, column))
      case .value(.null):
        bytes.append(bigEndian: Int32(-1))
        if column.codeColumn != nil { bytes.append(bigEndian: Int32(-1)) }
      case .value(.reference(let bits)):
        field(StoreReference.primaryKey(bits))
        if column.codeColumn != nil { field(Int16(bitPattern: StoreReference.entityCode(bits))) }
      case .value(let value):
        try RowStatements.requireStorable(value, column, change.primaryKey)
        let place = bytes.count
        bytes.append(bigEndian: Int32(0))
        guard bytes.append(value, as: column.type) else {
          throw RowStatements.isOfOtherType(column, change.primaryKey)
        }
        bytes.set(bigEndian: UInt32(bytes.count - place - 4), at: place)
      }
    }
  }
}

/// The fields of one row, in memory that is used again for the next. Used by one thread.
private final class FieldBuffer {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_024, alignment: 8)
  private var end = 0
  /// How many bytes of texts and data there may be yet.
  private var left = 0

  deinit { memory.deallocate() }

  /// What was written since `begin`. Valid until the next one.
  var written: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<end]) }

  /// Begins a row of so many columns, which takes so many bytes itself.
  func begin(columnCount: Int, byteCount: Int) {
    (end, left) = (0, byteCount)
    // The columns that every row has, and a reference with its code for each other, are the most beside texts and data.
    let count = 64 + columnCount * 32 + byteCount
    if count <= memory.count { return }
    memory.deallocate()
    memory = .allocate(byteCount: count * 2, alignment: 8)
  }

  /// Writes an integer, the highest byte first.
  @inline(__always)
  func put<Word: FixedWidthInteger>(_ word: Word) {
    memory.storeBytes(of: word.bigEndian, toByteOffset: end, as: Word.self)
    end += MemoryLayout<Word>.size
  }

  @inline(__always)
  func null() { put(Int32(-1)) }

  @inline(__always)
  func field<Word: FixedWidthInteger>(_ word: Word) {
    put(Int32(MemoryLayout<Word>.size))
    put(word)
  }

  /// Writes a text, or data. False, and nothing is written, when all of them are longer than the row, which is damaged then: `begin` has made room for no more.
  @inline(__always)
  func field(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if bytes.count > left { return false }
    left -= bytes.count
    put(Int32(bytes.count))
    UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + bytes.count]).copyMemory(from: bytes)
    end += bytes.count
    return true
  }
}

extension [UInt8] {
  /// Writes an integer over the bytes at a place, the highest byte first.
  mutating func set(bigEndian word: UInt32, at place: Int) {
    self[place] = UInt8(truncatingIfNeeded: word >> 24)
    self[place + 1] = UInt8(truncatingIfNeeded: word >> 16)
    self[place + 2] = UInt8(truncatingIfNeeded: word >> 8)
    self[place + 3] = UInt8(truncatingIfNeeded: word)
  }
}
