import StrataCore

/// Reads and sets one `@NSManaged` property: what the accessors call that the package's build plugin generates.
///
///     nonisolated private let _Book_title = NSManagedAccessor("title")
///
/// Not for hand-written code, which has `value(forKey:)` and the properties themselves. Values are read and set as by key: faults fire,
/// inverses follow, undo and observation take part. On the queue of the object's context, as everything about an object. Where the model has another
/// type than the class, numbers and dates are converted when nothing is lost; everything else traps, naming class, property and both
/// types.
public struct NSManagedAccessor: ~Copyable, Sendable {
  @usableFromInline let property: PropertyReference

  /// For the property of that name.
  @inlinable public init(_ name: StaticString) { property = PropertyReference(name) }
}

// MARK: Numbers

extension NSManagedAccessor {
  /// 0 when there is no value (rule 345).
  @inlinable @inline(__always)
  public borrowing func value(_ type: Int16.Type, of object: NSManagedObject) -> Int16 {
    if let ready = property.readyInt16(in: object) { return ready }
    let place = property.place(in: object)
    return place.holds(.integer16) ? object.readInt16(slot: place.slot) : integer(of: object, place) ?? 0
  }
  /// 0 when there is no value (rule 345).
  @inlinable @inline(__always)
  public borrowing func value(_ type: Int32.Type, of object: NSManagedObject) -> Int32 {
    if let ready = property.readyInt32(in: object) { return ready }
    let place = property.place(in: object)
    return place.holds(.integer32) ? object.readInt32(slot: place.slot) : integer(of: object, place) ?? 0
  }
  /// 0 when there is no value (rule 345).
  @inlinable @inline(__always)
  public borrowing func value(_ type: Int64.Type, of object: NSManagedObject) -> Int64 {
    if let ready = property.readyInt64(in: object) { return ready }
    let place = property.place(in: object)
    return place.holds(.integer64) ? object.readInt64(slot: place.slot) : integer(of: object, place) ?? 0
  }
  /// 0 when there is no value (rule 345).
  @inlinable @inline(__always)
  public borrowing func value(_ type: Int.Type, of object: NSManagedObject) -> Int {
    if let ready = property.readyInt64(in: object) { return Int(ready) }
    let place = property.place(in: object)
    return place.holds(.integer64) ? Int(object.readInt64(slot: place.slot)) : integer(of: object, place) ?? 0
  }
  /// 0 when there is no value (rule 345).
  public borrowing func value<Number: FixedWidthInteger>(_ type: Number.Type, of object: NSManagedObject)
    -> Number
  {
    integer(of: object, property.place(in: object)) ?? 0
  }
  /// The number, if there is one.
  public borrowing func optional<Number: FixedWidthInteger>(_ type: Number.Type, of object: NSManagedObject)
    -> Number?
  {
    integer(of: object, property.place(in: object))
  }
  /// 0 when there is no value (rule 345). Of a date the seconds since 2001.
  @inlinable @inline(__always)
  public borrowing func value(_ type: Double.Type, of object: NSManagedObject) -> Double {
    if let ready = property.readyDouble(in: object) { return ready }
    let place = property.place(in: object)
    return place.holds(.double) ? object.readDouble(slot: place.slot) : double(of: object, place) ?? 0
  }
  /// The number, if there is one. Of a date the seconds since 2001.
  public borrowing func optional(_ type: Double.Type, of object: NSManagedObject) -> Double? {
    double(of: object, property.place(in: object))
  }
  /// 0 when there is no value (rule 345).
  @inlinable @inline(__always)
  public borrowing func value(_ type: Float.Type, of object: NSManagedObject) -> Float {
    if let ready = property.readyFloat(in: object) { return ready }
    let place = property.place(in: object)
    return place.holds(.float)
      ? object.readFloat(slot: place.slot) : double(of: object, place).map { Float($0) } ?? 0
  }
  /// The number, if there is one.
  public borrowing func optional(_ type: Float.Type, of object: NSManagedObject) -> Float? {
    double(of: object, property.place(in: object)).map { Float($0) }
  }
  /// 0 when there is no value (rule 345).
  public borrowing func value(_ type: CGFloat.Type, of object: NSManagedObject) -> CGFloat {
    double(of: object, property.place(in: object)).map { CGFloat($0) } ?? 0
  }
  /// False when there is no value (rule 345); of a number whether it is not 0.
  @inlinable @inline(__always)
  public borrowing func value(_ type: Bool.Type, of object: NSManagedObject) -> Bool {
    if let ready = property.readyBool(in: object) { return ready }
    let place = property.place(in: object)
    return place.holds(.boolean) ? object.readBool(slot: place.slot) : boolean(of: object, place) ?? false
  }
  /// The truth value, if there is one.
  public borrowing func optional(_ type: Bool.Type, of object: NSManagedObject) -> Bool? {
    boolean(of: object, property.place(in: object))
  }

  /// Sets the number.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Int16, of object: NSManagedObject) {
    if !property.putReady(value, in: object) { put(value, in: object) }
  }
  /// Sets the number.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Int32, of object: NSManagedObject) {
    if !property.putReady(value, in: object) { put(value, in: object) }
  }
  /// Sets the number.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Int64, of object: NSManagedObject) {
    if !property.putReady(value, in: object) { put(value, in: object) }
  }
  /// Sets the number.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Int, of object: NSManagedObject) {
    if !property.putReady(Int64(value), in: object) { put(value, in: object) }
  }
  /// Sets the number; a date from the seconds since 2001.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Double, of object: NSManagedObject) {
    if !property.putReady(value, in: object) { put(value, in: object) }
  }
  /// Sets the number.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Float, of object: NSManagedObject) {
    if !property.putReady(value, in: object) { put(value, in: object) }
  }
  /// Sets the number.
  public borrowing func set(_ value: CGFloat, of object: NSManagedObject) {
    set(Double(value), of: object)
  }
  /// Sets the truth value.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Bool, of object: NSManagedObject) {
    if !property.putReady(value, in: object) { put(value, in: object) }
  }
}

// MARK: Values

extension NSManagedAccessor {
  /// The empty string when there is no value.
  @inlinable @inline(__always)
  public borrowing func value(_ type: String.Type, of object: NSManagedObject) -> String {
    let place = property.place(in: object)
    return place.holds(.string)
      ? object.readString(slot: place.slot) ?? "" : anyValue(of: object, place) ?? ""
  }
  /// The string, if there is one.
  @inlinable @inline(__always)
  public borrowing func optional(_ type: String.Type, of object: NSManagedObject) -> String? {
    let place = property.place(in: object)
    return place.holds(.string) ? object.readString(slot: place.slot) : anyValue(of: object, place)
  }
  /// Traps when there is no value.
  @inlinable @inline(__always)
  public borrowing func value(_ type: Date.Type, of object: NSManagedObject) -> Date {
    optional(type, of: object) ?? trapNil(object, type)
  }
  /// The date, if there is one.
  @inlinable @inline(__always)
  public borrowing func optional(_ type: Date.Type, of object: NSManagedObject) -> Date? {
    let place = property.place(in: object)
    return place.holds(.date) ? object.readDate(slot: place.slot) : anyValue(of: object, place)
  }
  /// The data, if there is any.
  @inlinable @inline(__always)
  public borrowing func optional(_ type: Data.Type, of object: NSManagedObject) -> Data? {
    let place = property.place(in: object)
    return place.holds(.binaryData) ? object.readData(slot: place.slot) : anyValue(of: object, place)
  }
  /// The UUID, if there is one.
  @inlinable @inline(__always)
  public borrowing func optional(_ type: UUID.Type, of object: NSManagedObject) -> UUID? {
    let place = property.place(in: object)
    return place.holds(.uuid) ? object.readUUID(slot: place.slot) : anyValue(of: object, place)
  }
  /// The URL, if there is one.
  @inlinable @inline(__always)
  public borrowing func optional(_ type: URL.Type, of object: NSManagedObject) -> URL? {
    let place = property.place(in: object)
    return place.holds(.uri) ? object.readURL(slot: place.slot) : anyValue(of: object, place)
  }
  /// The number, if there is one.
  @inlinable @inline(__always)
  public borrowing func optional(_ type: Decimal.Type, of object: NSManagedObject) -> Decimal? {
    let place = property.place(in: object)
    return place.holds(.decimal) ? object.readDecimal(slot: place.slot) : decimal(of: object, place)
  }
  /// 0 when there is no value.
  public borrowing func value(_ type: Decimal.Type, of object: NSManagedObject) -> Decimal {
    decimal(of: object, property.place(in: object)) ?? 0
  }
  /// The number, if there is one: an `NSDecimalNumber` of a decimal attribute.
  public borrowing func optional(_ type: NSNumber.Type, of object: NSManagedObject) -> NSNumber? {
    number(of: object, property.place(in: object))
  }
  /// The number, if there is one.
  public borrowing func optional(_ type: NSDecimalNumber.Type, of object: NSManagedObject) -> NSDecimalNumber?
  {
    decimal(of: object, property.place(in: object)).map { NSDecimalNumber(decimal: $0) }
  }

  /// Sets the string.
  @inlinable @inline(__always)
  public borrowing func set(_ value: String, of object: NSManagedObject) {
    if !property.putReady(value, in: object) { put(value as String?, in: object) }
  }
  /// Sets the date.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Date, of object: NSManagedObject) {
    if !property.putReady(value, in: object) { put(value as Date?, in: object) }
  }
  /// Sets the string, or makes it nil.
  @inlinable @inline(__always)
  public borrowing func set(_ value: String?, of object: NSManagedObject) {
    if let value, property.putReady(value, in: object) { return }
    put(value, in: object)
  }
  /// Sets the date, or makes it nil.
  @inlinable @inline(__always)
  public borrowing func set(_ value: Date?, of object: NSManagedObject) {
    if let value, property.putReady(value, in: object) { return }
    put(value, in: object)
  }
}

// MARK: Enums and everything else

extension NSManagedAccessor {
  /// The value for the stored raw value, or for 0 or the empty string when nothing is stored. Traps for an unknown raw value.
  public borrowing func value<Value: RawRepresentable>(_ type: Value.Type, of object: NSManagedObject)
    -> Value
  {
    let place = property.place(in: object)
    let raw = rawValue(of: object, place, Value.RawValue.self) ?? empty(Value.RawValue.self)
    guard let raw else { return trapNil(object, Value.self) }
    return Value(rawValue: raw) ?? trapRaw(object, raw, Value.self)
  }
  /// What stands for the stored raw value, if there is one. Traps for a raw value that stands for nothing.
  public borrowing func optional<Value: RawRepresentable>(_ type: Value.Type, of object: NSManagedObject)
    -> Value?
  {
    guard let raw = rawValue(of: object, property.place(in: object), Value.RawValue.self) else { return nil }
    return Value(rawValue: raw) ?? trapRaw(object, raw, Value.self)
  }
  /// Sets the raw value.
  public borrowing func set<Value: RawRepresentable>(_ value: Value, of object: NSManagedObject) {
    store(value.rawValue, in: object, property.place(in: object))
  }
  /// Sets the raw value, or makes it nil.
  public borrowing func set<Value: RawRepresentable>(_ value: Value?, of object: NSManagedObject) {
    store(value?.rawValue, in: object, property.place(in: object))
  }

  /// Whatever `value(forKey:)` answers, as a `Value`; what is empty of its kind when there is none. Traps when there is nothing empty.
  public borrowing func value<Value>(_ type: Value.Type, of object: NSManagedObject) -> Value {
    anyValue(of: object, property.place(in: object)) ?? empty(Value.self) ?? trapNil(object, Value.self)
  }
  /// Whatever `value(forKey:)` answers, as a `Value`.
  public borrowing func optional<Value>(_ type: Value.Type, of object: NSManagedObject) -> Value? {
    anyValue(of: object, property.place(in: object))
  }
  /// Sets what `setValue(_:forKey:)` takes.
  public borrowing func set<Value>(_ value: Value, of object: NSManagedObject) {
    store(value, in: object, property.place(in: object))
  }
  /// Sets what `setValue(_:forKey:)` takes, or makes it nil.
  public borrowing func set<Value>(_ value: Value?, of object: NSManagedObject) {
    store(value, in: object, property.place(in: object))
  }
}
