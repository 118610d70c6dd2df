import Foundation
import StrataCore

/// The types of columns and parameters, by PostgreSQL's names, and their binary form on the wire (big-endian).
enum SQLType: Sendable, Hashable, CaseIterable {
  case bool, int2, int4, int8, float4, float8, numeric, text, bytea, uuid

  /// The server's number of the type: the same in every database.
  var oid: UInt32 {
    switch self {
    case .bool: 16
    case .bytea: 17
    case .int8: 20
    case .int2: 21
    case .int4: 23
    case .text: 25
    case .float4: 700
    case .float8: 701
    case .numeric: 1700
    case .uuid: 2950
    }
  }

  /// The same of arrays of the type.
  var arrayOID: UInt32 {
    switch self {
    case .bool: 1000
    case .bytea: 1001
    case .int8: 1016
    case .int2: 1005
    case .int4: 1007
    case .text: 1009
    case .float4: 1021
    case .float8: 1022
    case .numeric: 1231
    case .uuid: 2951
    }
  }

  /// The type's name in statements.
  var name: String {
    switch self {
    case .bool: "boolean"
    case .int2: "smallint"
    case .int4: "integer"
    case .int8: "bigint"
    case .float4: "real"
    case .float8: "double precision"
    case .numeric: "numeric"
    case .text: "text"
    case .bytea: "bytea"
    case .uuid: "uuid"
    }
  }

  /// The type as a column is declared with: texts are compared by their bytes.
  var columnDeclaration: String { self == .text ? "text COLLATE \"C\"" : name }

  /// The type that holds the values of a slot; nil for slots that take no place in rows.
  init?(_ kind: SlotKind) {
    switch kind {
    case .transient: return nil
    case .int16: self = .int2
    case .int32: self = .int4
    case .int64, .reference: self = .int8
    case .boolean: self = .bool
    case .float: self = .float4
    case .double, .date: self = .float8
    case .uuid: self = .uuid
    case .string, .url: self = .text
    case .data: self = .bytea
    case .decimal: self = .numeric
    }
  }

  /// The type in which a value is sent that is compared with a column: integers as the widest.
  init?(comparing value: AttributeValue) {
    switch value {
    case .null, .reference: return nil
    case .integer: self = .int8
    case .boolean: self = .bool
    case .double, .date: self = .float8
    case .float: self = .float4
    case .decimal: self = .numeric
    case .string, .url: self = .text
    case .data: self = .bytea
    case .uuid: self = .uuid
    }
  }
}

extension [UInt8] {
  /// Appends an integer, the highest byte first.
  mutating func append<Word: FixedWidthInteger>(bigEndian word: Word) {
    Swift.withUnsafeBytes(of: word.bigEndian) { append(contentsOf: $0) }
  }

  /// Appends a value in the binary form of `type`; false when there is none: the value is of another type, or out of its range.
  mutating func append(_ value: AttributeValue, as type: SQLType) -> Bool {
    switch (value, type) {
    case (.integer(let value), .int8): append(bigEndian: value)
    case (.integer(let value), .int4):
      guard let narrow = Int32(exactly: value) else { return false }
      append(bigEndian: narrow)
    case (.integer(let value), .int2):
      guard let narrow = Int16(exactly: value) else { return false }
      append(bigEndian: narrow)
    case (.boolean(let value), .bool): append(value ? 1 : 0)
    case (.double(let value), .float8): append(bigEndian: value.bitPattern)
    case (.date(let value), .float8): append(bigEndian: value.timeIntervalSinceReferenceDate.bitPattern)
    case (.float(let value), .float4): append(bigEndian: value.bitPattern)
    case (.decimal(let value), .numeric): NumericBytes.append(value, to: &self)
    case (.string(let value), .text): append(contentsOf: value.utf8)
    case (.url(let value), .text): append(contentsOf: value.absoluteString.utf8)
    case (.data(let value), .bytea): append(contentsOf: value)
    case (.uuid(let value), .uuid): Swift.withUnsafeBytes(of: value.uuid) { append(contentsOf: $0) }
    case (.reference(let bits), .int8): append(bigEndian: StoreReference.primaryKey(bits))
    default: return false
    }
    return true
  }
}

/// One value of a result, in its binary form.
struct SQLValue {
  let bytes: UnsafeRawBufferPointer

  /// An integer of that width; nil when the value is of another one.
  func integer<Word: FixedWidthInteger>(_: Word.Type) -> Word? {
    bytes.count == MemoryLayout<Word>.size ? Word(bigEndian: bytes.loadUnaligned(as: Word.self)) : nil
  }

  /// The value as one of a slot of `kind`; nil when it is of another type.
  func attribute(_ kind: SlotKind) -> AttributeValue? {
    switch kind {
    case .int16: integer(Int16.self).map { .integer(Int64($0)) }
    case .int32: integer(Int32.self).map { .integer(Int64($0)) }
    case .int64: integer(Int64.self).map { .integer($0) }
    case .boolean: bytes.count == 1 ? .boolean(bytes[0] != 0) : nil
    case .float: integer(UInt32.self).map { .float(Float(bitPattern: $0)) }
    case .double: integer(UInt64.self).map { .double(Double(bitPattern: $0)) }
    case .date:
      integer(UInt64.self).map { .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0))) }
    case .uuid: bytes.count == 16 ? .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))) : nil
    case .string: .string(text)
    case .url: URL(string: text).map { .url($0) }
    case .data: .data(Data(bytes))
    case .decimal: NumericBytes.decimal(bytes).map { .decimal($0) }
    case .reference, .transient: nil
    }
  }

  /// The value as text, which the server has checked to be UTF-8.
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
