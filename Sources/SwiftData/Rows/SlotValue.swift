import StrataCore

/// A type whose values a slot of a row holds as they are, or as a wider number.
protocol SlotValue {
  /// The value; nil when there is none.
  static func read(_ row: ManagedObject, _ slot: Int) -> Self?
  /// Sets the value, to nil for nil.
  static func write(_ value: Self?, _ row: ManagedObject, _ slot: Int)
  /// What a property shows that cannot be nil, where there is no value.
  static var absent: Self { get }
}

extension Int64: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Int64? { row.readOptionalInt64(slot: slot) }
  static func write(_ value: Int64?, _ row: ManagedObject, _ slot: Int) {
    if let value { row.write(value, slot: slot) } else { row.write(value, slot: slot) }
  }
  static var absent: Int64 { 0 }
}

extension Int: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Int? {
    row.readOptionalInt64(slot: slot).map { Int(truncatingIfNeeded: $0) }
  }
  static func write(_ value: Int?, _ row: ManagedObject, _ slot: Int) {
    Int64.write(value.map { Int64($0) }, row, slot)
  }
  static var absent: Int { 0 }
}

extension Int32: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Int32? { row.readOptionalInt32(slot: slot) }
  static func write(_ value: Int32?, _ row: ManagedObject, _ slot: Int) {
    if let value { row.write(value, slot: slot) } else { row.write(value, slot: slot) }
  }
  static var absent: Int32 { 0 }
}

extension Int16: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Int16? { row.readOptionalInt16(slot: slot) }
  static func write(_ value: Int16?, _ row: ManagedObject, _ slot: Int) {
    if let value { row.write(value, slot: slot) } else { row.write(value, slot: slot) }
  }
  static var absent: Int16 { 0 }
}

/// A type that has not all the values its slot may hold.
protocol BoundedSlotValue: SlotValue {
  /// What another program has stored and is no value of the type; nil where there is no such thing.
  static func unfit(_ row: ManagedObject, _ slot: Int) -> Any?
}

/// A number that the slot holds as one of a wider type; nil where another program has stored one that does not fit.
protocol NarrowSlotValue: BoundedSlotValue, FixedWidthInteger {
  associatedtype Wide: SlotValue, FixedWidthInteger
}

extension NarrowSlotValue {
  static func unfit(_ row: ManagedObject, _ slot: Int) -> Any? {
    guard let stored = Wide.read(row, slot), Self(exactly: stored) == nil else { return nil }
    return stored
  }
  static func read(_ row: ManagedObject, _ slot: Int) -> Self? {
    Wide.read(row, slot).flatMap { Self(exactly: $0) }
  }
  static func write(_ value: Self?, _ row: ManagedObject, _ slot: Int) {
    // The wide type has all numbers of the narrow one.
    Wide.write(value.map { Wide(truncatingIfNeeded: $0) }, row, slot)
  }
  static var absent: Self { 0 }
}

extension Int8: NarrowSlotValue { typealias Wide = Int16 }
extension UInt8: NarrowSlotValue { typealias Wide = Int16 }
extension UInt16: NarrowSlotValue { typealias Wide = Int32 }
extension UInt32: NarrowSlotValue { typealias Wide = Int64 }

/// A number beyond those of 64 bits with a sign: a decimal, which is exact and lies where it should when it is sorted by.
protocol DecimalSlotValue: BoundedSlotValue, FixedWidthInteger & UnsignedInteger {}

extension DecimalSlotValue {
  static func unfit(_ row: ManagedObject, _ slot: Int) -> Any? {
    guard let stored = row.readDecimal(slot: slot), Self("\(stored)") == nil else { return nil }
    return stored
  }
  static func read(_ row: ManagedObject, _ slot: Int) -> Self? {
    row.readDecimal(slot: slot).flatMap { Self("\($0)") }
  }
  static func write(_ value: Self?, _ row: ManagedObject, _ slot: Int) {
    // Its digits are those of a decimal.
    row.write(value.flatMap { Decimal(string: "\($0)") }, slot: slot)
  }
  static var absent: Self { 0 }
}

extension UInt64: DecimalSlotValue {}
extension UInt: DecimalSlotValue {}

extension Double: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Double? { row.readOptionalDouble(slot: slot) }
  static func write(_ value: Double?, _ row: ManagedObject, _ slot: Int) {
    if let value { row.write(value, slot: slot) } else { row.write(value, slot: slot) }
  }
  static var absent: Double { 0 }
}

extension CGFloat: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> CGFloat? {
    Double.read(row, slot).map { CGFloat($0) }
  }
  static func write(_ value: CGFloat?, _ row: ManagedObject, _ slot: Int) {
    Double.write(value.map { Double($0) }, row, slot)
  }
  static var absent: CGFloat { 0 }
}

extension Float: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Float? { row.readOptionalFloat(slot: slot) }
  static func write(_ value: Float?, _ row: ManagedObject, _ slot: Int) {
    if let value { row.write(value, slot: slot) } else { row.write(value, slot: slot) }
  }
  static var absent: Float { 0 }
}

extension Bool: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Bool? { row.readOptionalBool(slot: slot) }
  static func write(_ value: Bool?, _ row: ManagedObject, _ slot: Int) {
    if let value { row.write(value, slot: slot) } else { row.write(value, slot: slot) }
  }
  static var absent: Bool { false }
}

extension String: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> String? { row.readString(slot: slot) }
  static func write(_ value: String?, _ row: ManagedObject, _ slot: Int) { row.write(value, slot: slot) }
  static var absent: String { "" }
}

extension Date: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Date? { row.readDate(slot: slot) }
  static func write(_ value: Date?, _ row: ManagedObject, _ slot: Int) { row.write(value, slot: slot) }
  static var absent: Date { Date(timeIntervalSinceReferenceDate: 0) }
}

extension Data: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Data? { row.readData(slot: slot) }
  static func write(_ value: Data?, _ row: ManagedObject, _ slot: Int) { row.write(value, slot: slot) }
  static var absent: Data { Data() }
}

extension UUID: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> UUID? { row.readUUID(slot: slot) }
  static func write(_ value: UUID?, _ row: ManagedObject, _ slot: Int) { row.write(value, slot: slot) }
  static var absent: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
}

extension URL: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> URL? { row.readURL(slot: slot) }
  static func write(_ value: URL?, _ row: ManagedObject, _ slot: Int) { row.write(value, slot: slot) }
  static var absent: URL { URL.absentValue }
}

extension Decimal: SlotValue {
  static func read(_ row: ManagedObject, _ slot: Int) -> Decimal? { row.readDecimal(slot: slot) }
  static func write(_ value: Decimal?, _ row: ManagedObject, _ slot: Int) { row.write(value, slot: slot) }
  static var absent: Decimal { 0 }
}
