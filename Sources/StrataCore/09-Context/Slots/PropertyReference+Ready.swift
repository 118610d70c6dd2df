import Foundation

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

// Setters: one look at the entry says where the slot is and of which kind. A call in StrataCore, as setters by slot number are, so that what edits are made
// of stays in here.

extension PropertyReference {
  /// Where a setter may store its value at once, see `openEdits(_:_:)`, with the slot.
  @inline(__always)
  private borrowing func openEdits(of object: ManagedObject, _ kind: SlotKind) -> (RowDraft.Pointers, Int)? {
    guard let entry = newest.load(ordering: .acquiring), entry.pointee.table == object.table,
      RowBytes.kind(entry.pointee.word) == kind, let edits = object.openEdits()
    else { return nil }
    return (edits, entry.pointee.place.slot)
  }

  /// Sets the value when the object has been edited in this event; false when it must be set by its slot.
  public borrowing func putReady(_ value: Int64, in object: ManagedObject) -> Bool {
    guard let (edits, slot) = openEdits(of: object, .int64) else { return false }
    edits.put(bits: UInt64(bitPattern: value), slot)
    return true
  }
  /// Sets the value when the object has been edited in this event; false when it must be set by its slot.
  public borrowing func putReady(_ value: Int32, in object: ManagedObject) -> Bool {
    guard let (edits, slot) = openEdits(of: object, .int32) else { return false }
    edits.put(bits: UInt64(bitPattern: Int64(value)), slot)
    return true
  }
  /// Sets the value when the object has been edited in this event; false when it must be set by its slot.
  public borrowing func putReady(_ value: Int16, in object: ManagedObject) -> Bool {
    guard let (edits, slot) = openEdits(of: object, .int16) else { return false }
    edits.put(bits: UInt64(bitPattern: Int64(value)), slot)
    return true
  }
  /// Sets the value when the object has been edited in this event; false when it must be set by its slot.
  public borrowing func putReady(_ value: Double, in object: ManagedObject) -> Bool {
    guard let (edits, slot) = openEdits(of: object, .double) else { return false }
    edits.put(bits: value.bitPattern, slot)
    return true
  }
  /// Sets the value when the object has been edited in this event; false when it must be set by its slot.
  public borrowing func putReady(_ value: Float, in object: ManagedObject) -> Bool {
    guard let (edits, slot) = openEdits(of: object, .float) else { return false }
    edits.put(bits: UInt64(value.bitPattern), slot)
    return true
  }
  /// Sets the value when the object has been edited in this event; false when it must be set by its slot.
  public borrowing func putReady(_ value: Bool, in object: ManagedObject) -> Bool {
    guard let (edits, slot) = openEdits(of: object, .boolean) else { return false }
    edits.put(bits: value ? 1 : 0, slot)
    return true
  }
  /// Sets the value when the object has been edited in this event; false when it must be set by its slot.
  public borrowing func putReady(_ value: Date, in object: ManagedObject) -> Bool {
    guard let (edits, slot) = openEdits(of: object, .date) else { return false }
    edits.put(bits: value.timeIntervalSinceReferenceDate.bitPattern, slot)
    return true
  }
  /// Sets the value when the object has been edited in this event; false when it must be set by its slot.
  public borrowing func putReady(_ value: String, in object: ManagedObject) -> Bool {
    guard let (edits, slot) = openEdits(of: object, .string) else { return false }
    edits.put(value, slot)
    return true
  }
}
