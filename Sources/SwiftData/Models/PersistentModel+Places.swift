import StrataCore

// The short way of the accessors that `@Model` writes: the property is known by its place among those of the class, so that no key path is made. It answers for the
// commonest types and for models that have a row; for all others it is nil, which the compiler knows.

extension PersistentModel {
  /// Nothing: the property is of a type, or the class a submodel, for which accessors take the long way.
  @_disfavoredOverload
  @inlinable @inline(__always)
  public func _value<Value>(
    at place: Int, in row: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Value>
  ) -> Value? { nil }
}

// A submodel's places begin behind those that it inherits.
extension PersistentModel where Root == Self {
  /// The text, when there is a row that has one.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, String>
  ) -> String? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.text(row, plan, place)
  }

  /// The text or nil, when there is a row.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, String?>
  ) -> String?? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.optionalText(row, plan, place)
  }

  /// The number, when there is a row that has one.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Int>
  ) -> Int? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.whole(row, plan, place).map { Int(truncatingIfNeeded: $0) }
  }

  /// The number or nil, when there is a row.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Int?>
  ) -> Int?? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.optionalWhole(row, plan, place).map { $0.map { Int(truncatingIfNeeded: $0) } }
  }

  /// The number, when there is a row that has one.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Int64>
  ) -> Int64? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.whole(row, plan, place)
  }

  /// The number or nil, when there is a row.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Int64?>
  ) -> Int64?? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.optionalWhole(row, plan, place)
  }

  /// The number, when there is a row that has one.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Double>
  ) -> Double? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.real(row, plan, place)
  }

  /// The number or nil, when there is a row.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Double?>
  ) -> Double?? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.optionalReal(row, plan, place)
  }

  /// The Boolean, when there is a row that has one.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Bool>
  ) -> Bool? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.truth(row, plan, place)
  }

  /// The Boolean or nil, when there is a row.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Bool?>
  ) -> Bool?? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.optionalTruth(row, plan, place)
  }

  /// The date, when there is a row that has one.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Date>
  ) -> Date? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.moment(row, plan, place)
  }

  /// The date or nil, when there is a row.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, Date?>
  ) -> Date?? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.optionalMoment(row, plan, place)
  }

  /// The identifier, when there is a row that has one.
  @inlinable @inline(__always)
  public func _value(
    at place: Int, in reference: borrowing _RowReference, _ keyPath: @autoclosure () -> KeyPath<Self, UUID>
  ) -> UUID? {
    guard let row = reference.row, let plan = reference.plan else { return nil }
    return _RowReference.uuid(row, plan, place)
  }
}
