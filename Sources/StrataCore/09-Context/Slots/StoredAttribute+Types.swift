import Foundation

// How each type is read and written. Numbers, truth values and dates are read in the user's module where the object is realised and unedited: the same
// loads as by slot number. The other types make a value, and a call is little beside that.

extension Int64: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Int64? {
    object.readOptionalInt64(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Int64 {
    property.readyInt64(in: object) ?? object.readInt64(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: Int64?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    if let value {
      object.write(value, slot: property.slot(in: object))
    } else {
      object.write(value, slot: property.slot(in: object))
    }
  }
}

extension Int: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Int? {
    Int64.read(property, of: object).map { Int(truncatingIfNeeded: $0) }
  }
  @inlinable @inline(__always)
  public static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Int {
    Int(truncatingIfNeeded: Int64.readPresent(property, of: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: Int?, _ property: borrowing PropertyReference, of object: ManagedObject) {
    Int64.write(value.map { Int64($0) }, property, of: object)
  }
}

extension Int32: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Int32? {
    object.readOptionalInt32(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Int32 {
    property.readyInt32(in: object) ?? object.readInt32(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: Int32?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    if let value {
      object.write(value, slot: property.slot(in: object))
    } else {
      object.write(value, slot: property.slot(in: object))
    }
  }
}

extension Int16: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Int16? {
    object.readOptionalInt16(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Int16 {
    property.readyInt16(in: object) ?? object.readInt16(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: Int16?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    if let value {
      object.write(value, slot: property.slot(in: object))
    } else {
      object.write(value, slot: property.slot(in: object))
    }
  }
}

/// An integer that an attribute of a wider type holds.
public protocol NarrowInteger: StoredAttribute, FixedWidthInteger {
  /// The type of the attribute's own values.
  associatedtype Wide: StoredAttribute, FixedWidthInteger
}

extension NarrowInteger {
  /// The number; nil, and a message, for one that another program has stored and the type cannot hold.
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Self? {
    // No number that a probe answers need be one of the type's.
    if object.isProbe {
      object.noteOpaqueRead(property)
      return 0
    }
    guard let wide = Wide.read(property, of: object) else { return nil }
    if let number = Self(exactly: wide) { return number }
    return object.reportUnfit(property.name.description, "\(wide)", Self.self)
  }
  /// Sets the number.
  public static func write(_ value: Self?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    // `Wide` holds every number of the narrow type.
    Wide.write(value.map { Wide(truncatingIfNeeded: $0) }, property, of: object)
  }
}

extension Int8: NarrowInteger { public typealias Wide = Int16 }
extension UInt8: NarrowInteger { public typealias Wide = Int16 }
extension UInt16: NarrowInteger { public typealias Wide = Int32 }
extension UInt32: NarrowInteger { public typealias Wide = Int64 }

extension Double: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Double? {
    object.readOptionalDouble(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Double
  {
    property.readyDouble(in: object) ?? object.readDouble(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(
    _ value: Double?, _ property: borrowing PropertyReference, of object: ManagedObject
  ) {
    if let value {
      object.write(value, slot: property.slot(in: object))
    } else {
      object.write(value, slot: property.slot(in: object))
    }
  }
}

extension Float: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Float? {
    object.readOptionalFloat(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Float {
    property.readyFloat(in: object) ?? object.readFloat(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: Float?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    if let value {
      object.write(value, slot: property.slot(in: object))
    } else {
      object.write(value, slot: property.slot(in: object))
    }
  }
}

extension Bool: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Bool? {
    object.readOptionalBool(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Bool {
    property.readyBool(in: object) ?? object.readBool(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: Bool?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    if let value {
      object.write(value, slot: property.slot(in: object))
    } else {
      object.write(value, slot: property.slot(in: object))
    }
  }
}

extension Date: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Date? {
    object.readDate(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: Date?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    object.write(value, slot: property.slot(in: object))
  }
}

extension String: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> String? {
    object.readString(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(
    _ value: String?, _ property: borrowing PropertyReference, of object: ManagedObject
  ) {
    object.write(value, slot: property.slot(in: object))
  }
}

extension Data: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Data? {
    object.readData(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: Data?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    object.write(value, slot: property.slot(in: object))
  }
}

extension UUID: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> UUID? {
    object.readUUID(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: UUID?, _ property: borrowing PropertyReference, of object: ManagedObject)
  {
    object.write(value, slot: property.slot(in: object))
  }
}

extension URL: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> URL? {
    object.readURL(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(_ value: URL?, _ property: borrowing PropertyReference, of object: ManagedObject) {
    object.write(value, slot: property.slot(in: object))
  }
}

extension Decimal: StoredAttribute {
  @inlinable @inline(__always)
  public static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Decimal? {
    object.readDecimal(slot: property.slot(in: object))
  }
  @inlinable @inline(__always)
  public static func write(
    _ value: Decimal?, _ property: borrowing PropertyReference, of object: ManagedObject
  ) {
    object.write(value, slot: property.slot(in: object))
  }
}
