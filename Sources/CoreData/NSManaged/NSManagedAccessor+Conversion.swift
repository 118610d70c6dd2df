import StrataCore

// The slow half: the model's type is not the class's, or there is no quick way for it.

extension NSManagedAccessor {
  /// What is stored, nil for none. Traps for a relationship.
  private borrowing func stored(_ object: NSManagedObject, _ place: PropertyPlace, as wanted: Any.Type)
    -> Any?
  {
    guard place.kind == .attribute else { trapType(object, place, wanted) }
    let value = object.readValue(slot: place.slot)
    // Casts would take a decimal in Foundation's clothes for a double, and a double for an integer.
    if let value, type(of: value) is NSNumber.Type, let plain = AttributeValue(value, type: .undefined) {
      return plain.anyValue
    }
    return value
  }

  @usableFromInline borrowing func integer<Number: FixedWidthInteger>(
    of object: NSManagedObject, _ place: PropertyPlace
  )
    -> Number?
  {
    guard let value = stored(object, place, as: Number.self) else { return nil }
    let number: Number? =
      switch value {
      case let value as Int64: Number(exactly: value)
      case let value as Bool: value ? 1 : 0
      case let value as Double: Number(exactly: value)
      case let value as Float: Number(exactly: value)
      case let value as Decimal: Number(value.description)
      case let value as NSNumber: Number(exactly: value.int64Value)
      case let value as any FixedWidthInteger: Number(exactly: value)
      default: trapType(object, place, Number.self)
      }
    return number ?? trapFit(object, place, value, Number.self)
  }

  @usableFromInline borrowing func double(of object: NSManagedObject, _ place: PropertyPlace) -> Double? {
    switch stored(object, place, as: Double.self) {
    case nil: return nil
    case let value as Double: return value
    case let value as Float: return Double(value)
    case let value as Int64: return Double(value)
    case let value as Decimal: return Double(value.description)
    case let value as Bool: return value ? 1 : 0
    case let value as Date: return value.timeIntervalSinceReferenceDate
    case let value as NSNumber: return value.doubleValue
    case _?: trapType(object, place, Double.self)
    }
  }

  @usableFromInline borrowing func boolean(of object: NSManagedObject, _ place: PropertyPlace) -> Bool? {
    switch stored(object, place, as: Bool.self) {
    case nil: return nil
    case let value as Bool: return value
    case let value as Int64: return value != 0
    case let value as NSNumber: return value.boolValue
    case _?: trapType(object, place, Bool.self)
    }
  }

  @usableFromInline borrowing func decimal(of object: NSManagedObject, _ place: PropertyPlace) -> Decimal? {
    switch stored(object, place, as: Decimal.self) {
    case nil: return nil
    case let value as Decimal: return value
    case let value as Int64: return Decimal(value)
    case let value as Double: return Decimal(string: value.description) ?? .nan
    case let value as Float: return Decimal(string: value.description) ?? .nan
    case let value as NSNumber: return value.decimalValue
    case _?: trapType(object, place, Decimal.self)
    }
  }

  borrowing func number(of object: NSManagedObject, _ place: PropertyPlace) -> NSNumber? {
    switch stored(object, place, as: NSNumber.self) {
    case nil: return nil
    case let value as Int64: return NSNumber(value: value)
    case let value as Bool: return NSNumber(value: value)
    case let value as Double: return NSNumber(value: value)
    case let value as Float: return NSNumber(value: value)
    case let value as Decimal: return NSDecimalNumber(decimal: value)
    case let value as NSNumber: return value
    case _?: trapType(object, place, NSNumber.self)
    }
  }

  borrowing func rawValue<Raw>(of object: NSManagedObject, _ place: PropertyPlace, _ type: Raw.Type) -> Raw? {
    if let integers = type as? any FixedWidthInteger.Type { return integer(integers, object, place) as? Raw }
    return anyValue(of: object, place)
  }

  private borrowing func integer<Number: FixedWidthInteger>(
    _ type: Number.Type, _ object: NSManagedObject, _ place: PropertyPlace
  ) -> Number? { integer(of: object, place) }

  /// Whatever is stored, as a `Value`. Foundation's classes are made of the values they stand for.
  @usableFromInline borrowing func anyValue<Value>(of object: NSManagedObject, _ place: PropertyPlace)
    -> Value?
  {
    let value =
      place.kind == .fetched
      ? object.value(forKey: property.name.description) : object.readValue(slot: place.slot)
    guard let value else { return nil }
    if let value = FoundationCollections.unbridged(value, as: Value.self) { return value }
    if let value = Self.reference(value, as: Value.self) as? Value { return value }
    if let value = FoundationCollections.bridged(value, as: Value.self) { return value }
    if Value.self is any FixedWidthInteger.Type || Value.self is NSNumber.Type,
      let number = number(of: object, place) as? Value
    {
      return number
    }
    trapType(object, place, Value.self)
  }

  /// Foundation's class for a value of it, a mutable one where there is one: what casts do not make.
  static func reference(_ value: Any, as wanted: Any.Type) -> Any? {
    if type(of: value) is NSObject.Type, let object = value as? any NSMutableCopying {
      return object.mutableCopy(with: nil)
    }
    return switch value {
    case let value as String: NSMutableString(string: value)
    case let value as Date: NSDate(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate)
    case let value as Data: NSMutableData(data: value)
    case let value as UUID: NSUUID(uuidString: value.uuidString)
    case let value as URL: NSURL(string: value.absoluteString)
    case let value as Set<AnyHashable>: NSMutableSet(array: value.map(\.base))
    case let value as [AnyHashable: Any]: NSMutableDictionary(dictionary: value)
    case let value as [Any]:
      wanted is NSOrderedSet.Type ? NSMutableOrderedSet(array: value) : NSMutableArray(array: value)
    default: nil
    }
  }

  /// What stands for no value where the class does not allow for that; nil when nothing does.
  borrowing func empty<Value>(_ type: Value.Type) -> Value? {
    (type as? any EmptyValue.Type)?.emptyValue as? Value
  }

  // MARK: Setting

  @usableFromInline borrowing func store(_ value: Any?, in object: NSManagedObject, _ place: PropertyPlace) {
    switch place.kind {
    case .fetched: object.setValue(value, forKey: property.name.description)
    case .attribute where place.type == .date: object.write(value: Self.date(value), slot: place.slot)
    case .attribute, .toOne, .toMany, .ordered: object.write(value: value, slot: place.slot)
    }
  }

  /// A date for the seconds since 2001 that some classes have in its place.
  private static func date(_ value: Any?) -> Any? {
    if let seconds = value as? Double { return Date(timeIntervalSinceReferenceDate: seconds) }
    return value
  }

  // MARK: Traps

  @usableFromInline borrowing func trapNil<Value>(_ object: NSManagedObject, _ type: Value.Type) -> Value {
    // Trap: the class promises a value that the object does not have.
    stop(
      "\(Swift.type(of: object)).\(property.name) is nil, but the class declares it as \(type), not \(type)?."
    )
  }

  borrowing func trapType(_ object: NSManagedObject, _ place: PropertyPlace, _ type: Any.Type) -> Never {
    let found =
      switch place.kind {
      case .attribute: "an attribute of type \(place.type)"
      case .toOne: "a to-one relationship"
      case .toMany: "a to-many relationship"
      case .ordered: "an ordered to-many relationship"
      case .fetched: "a fetched property"
      }
    // Trap: class and model do not fit.
    stop(
      "\(Swift.type(of: object)).\(property.name) is declared as \(type), but in the model \(object.entityName).\(property.name) "
        + "is \(found).")
  }

  borrowing func trapFit<Value>(
    _ object: NSManagedObject, _ place: PropertyPlace, _ value: Any, _ type: Value.Type
  ) -> Value {
    // Trap: class and model do not fit.
    stop(
      "\(Swift.type(of: object)).\(property.name) is declared as \(type), which cannot hold \(value), the value of an attribute "
        + "of type \(place.type).")
  }

  borrowing func trapRaw<Value: RawRepresentable>(
    _ object: NSManagedObject, _ raw: Value.RawValue, _ type: Value.Type
  )
    -> Value
  {
    // Trap: the store holds what the class knows no name for.
    stop(
      "\(Swift.type(of: object)).\(property.name) is \(raw), which is the raw value of no \(type).")
  }

  borrowing func trapMember(_ object: NSManagedObject, _ member: Any, _ type: Any.Type) -> Never {
    // Trap: class and model do not fit.
    stop(
      "\(Swift.type(of: object)).\(property.name) leads to an object of class \(Swift.type(of: member)), not \(type)."
    )
  }
}

/// What Swift makes of an absent value of Foundation's where the class does not allow for absence.
protocol EmptyValue {
  static var emptyValue: Self { get }
}

extension String: EmptyValue { static var emptyValue: String { "" } }
extension Data: EmptyValue { static var emptyValue: Data { Data() } }
extension Array: EmptyValue { static var emptyValue: Array { [] } }
extension Dictionary: EmptyValue { static var emptyValue: Dictionary { [:] } }
extension Set: EmptyValue { static var emptyValue: Set { [] } }
extension Int: EmptyValue { static var emptyValue: Int { 0 } }
extension Int16: EmptyValue { static var emptyValue: Int16 { 0 } }
extension Int32: EmptyValue { static var emptyValue: Int32 { 0 } }
extension Int64: EmptyValue { static var emptyValue: Int64 { 0 } }
extension Int8: EmptyValue { static var emptyValue: Int8 { 0 } }
extension UInt: EmptyValue { static var emptyValue: UInt { 0 } }
extension UInt8: EmptyValue { static var emptyValue: UInt8 { 0 } }
extension UInt16: EmptyValue { static var emptyValue: UInt16 { 0 } }
extension UInt32: EmptyValue { static var emptyValue: UInt32 { 0 } }
extension UInt64: EmptyValue { static var emptyValue: UInt64 { 0 } }
extension Double: EmptyValue { static var emptyValue: Double { 0 } }
