// Values that accessors read in the user's module, with a few loads: numbers and truth values of objects that are realised and unedited. Nil is not
// an answer then: it sends the caller the long way, through the slot. The bytes of nil are those of 0.

extension PropertyReference {
  /// The value when it lies ready in the object's row; nil when it must be read by its slot.
  @inlinable @inline(__always)
  public borrowing func readyInt64(in object: ManagedObject) -> Int64? {
    #if DEBUG
      object.checkConfinement()
    #endif
    guard let word = word(in: object, .int64), let row = object.fastRow else { return nil }
    return RowBytes.int64(row, word)
  }
  /// The value when it lies ready in the object's row; nil when it must be read by its slot.
  @inlinable @inline(__always)
  public borrowing func readyInt32(in object: ManagedObject) -> Int32? {
    #if DEBUG
      object.checkConfinement()
    #endif
    guard let word = word(in: object, .int32), let row = object.fastRow else { return nil }
    return RowBytes.int32(row, word)
  }
  /// The value when it lies ready in the object's row; nil when it must be read by its slot.
  @inlinable @inline(__always)
  public borrowing func readyInt16(in object: ManagedObject) -> Int16? {
    #if DEBUG
      object.checkConfinement()
    #endif
    guard let word = word(in: object, .int16), let row = object.fastRow else { return nil }
    return RowBytes.int16(row, word)
  }
  /// The value when it lies ready in the object's row; nil when it must be read by its slot.
  @inlinable @inline(__always)
  public borrowing func readyDouble(in object: ManagedObject) -> Double? {
    #if DEBUG
      object.checkConfinement()
    #endif
    guard let word = word(in: object, .double), let row = object.fastRow else { return nil }
    return RowBytes.double(row, word)
  }
  /// The value when it lies ready in the object's row; nil when it must be read by its slot.
  @inlinable @inline(__always)
  public borrowing func readyFloat(in object: ManagedObject) -> Float? {
    #if DEBUG
      object.checkConfinement()
    #endif
    guard let word = word(in: object, .float), let row = object.fastRow else { return nil }
    return RowBytes.float(row, word)
  }
  /// The value when it lies ready in the object's row; nil when it must be read by its slot.
  @inlinable @inline(__always)
  public borrowing func readyBool(in object: ManagedObject) -> Bool? {
    #if DEBUG
      object.checkConfinement()
    #endif
    guard let word = word(in: object, .boolean), let row = object.fastRow else { return nil }
    return RowBytes.boolean(row, word)
  }
}
