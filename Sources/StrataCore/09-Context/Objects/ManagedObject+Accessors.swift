import Foundation

// The frontier: what model classes call, from other modules, on the hottest path there is.
//
// Reads come in two halves. The inlinable half serves a realised, unedited object: three loads and a compare, in the user's
// module. Everything else (faults, edits, transient attributes, large values, a wrong slot) goes the slow way behind a call.
// A slot is an attribute's position in its entity: inherited attributes first, then its own in the order of the model.

extension ManagedObject {
  /// The table entry of `slot` when the fast half may read it, otherwise nil.
  @inlinable @inline(__always)
  final func fastEntry(_ slot: Int, _ kind: SlotKind) -> UInt32? {
    guard UInt(bitPattern: slot) < UInt(bitPattern: Int(slotCount)) else { return nil }
    let entry = table[slot]
    return RowBytes.kind(entry) == kind ? entry : nil
  }

  /// The `Int16` attribute in `slot`; 0 when it is nil (rule 345). Fires a fault. Traps when the slot has another type.
  @inlinable public final func readInt16(slot: Int) -> Int16 {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .int16) {
      return RowBytes.isNil(row, slot) ? 0 : RowBytes.int16(row, entry)
    }
    return readOptionalInt16(slot: slot) ?? 0
  }

  /// The `Int16` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readOptionalInt16(slot: Int) -> Int16? {
    if let row = fastRow, let entry = fastEntry(slot, .int16) {
      checkConfinementHere()
      return RowBytes.isNil(row, slot) ? nil : RowBytes.int16(row, entry)
    }
    guard case .integer(let value) = slowRead(slot, .int16) else { return nil }
    return Int16(truncatingIfNeeded: value)
  }

  /// The `Int32` attribute in `slot`; 0 when it is nil (rule 345). Fires a fault. Traps when the slot has another type.
  @inlinable public final func readInt32(slot: Int) -> Int32 {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .int32) {
      return RowBytes.isNil(row, slot) ? 0 : RowBytes.int32(row, entry)
    }
    return readOptionalInt32(slot: slot) ?? 0
  }

  /// The `Int32` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readOptionalInt32(slot: Int) -> Int32? {
    if let row = fastRow, let entry = fastEntry(slot, .int32) {
      checkConfinementHere()
      return RowBytes.isNil(row, slot) ? nil : RowBytes.int32(row, entry)
    }
    guard case .integer(let value) = slowRead(slot, .int32) else { return nil }
    return Int32(truncatingIfNeeded: value)
  }

  /// The `Int64` attribute in `slot`; 0 when it is nil (rule 345). Fires a fault. Traps when the slot has another type.
  @inlinable public final func readInt64(slot: Int) -> Int64 {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .int64) {
      return RowBytes.isNil(row, slot) ? 0 : RowBytes.int64(row, entry)
    }
    return readOptionalInt64(slot: slot) ?? 0
  }

  /// The `Int64` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readOptionalInt64(slot: Int) -> Int64? {
    if let row = fastRow, let entry = fastEntry(slot, .int64) {
      checkConfinementHere()
      return RowBytes.isNil(row, slot) ? nil : RowBytes.int64(row, entry)
    }
    guard case .integer(let value) = slowRead(slot, .int64) else { return nil }
    return value
  }

  /// The `Double` attribute in `slot`; 0 when it is nil (rule 345). Fires a fault. Traps when the slot has another type.
  @inlinable public final func readDouble(slot: Int) -> Double {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .double) {
      return RowBytes.isNil(row, slot) ? 0 : RowBytes.double(row, entry)
    }
    return readOptionalDouble(slot: slot) ?? 0
  }

  /// The `Double` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readOptionalDouble(slot: Int) -> Double? {
    if let row = fastRow, let entry = fastEntry(slot, .double) {
      checkConfinementHere()
      return RowBytes.isNil(row, slot) ? nil : RowBytes.double(row, entry)
    }
    guard case .double(let value) = slowRead(slot, .double) else { return nil }
    return value
  }

  /// The `Float` attribute in `slot`; 0 when it is nil (rule 345). Fires a fault. Traps when the slot has another type.
  @inlinable public final func readFloat(slot: Int) -> Float {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .float) {
      return RowBytes.isNil(row, slot) ? 0 : RowBytes.float(row, entry)
    }
    return readOptionalFloat(slot: slot) ?? 0
  }

  /// The `Float` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readOptionalFloat(slot: Int) -> Float? {
    guard case .float(let value) = slowRead(slot, .float) else { return nil }
    return value
  }

  /// The `Bool` attribute in `slot`; false when it is nil (rule 345). Fires a fault. Traps when the slot has another type.
  @inlinable public final func readBool(slot: Int) -> Bool {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .boolean) {
      return RowBytes.isNil(row, slot) ? false : RowBytes.boolean(row, entry)
    }
    return readOptionalBool(slot: slot) ?? false
  }

  /// The `Bool` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readOptionalBool(slot: Int) -> Bool? {
    guard case .boolean(let value) = slowRead(slot, .boolean) else { return nil }
    return value
  }

  /// The `String` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readString(slot: Int) -> String? {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .string) {
      if RowBytes.isNil(row, slot) { return nil }
      if let value = RowBytes.string(row, entry) { return value }
    }
    guard case .string(let value) = slowRead(slot, .string) else { return nil }
    return value
  }

  /// The `Date` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readDate(slot: Int) -> Date? {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .date) {
      return RowBytes.isNil(row, slot) ? nil : RowBytes.date(row, entry)
    }
    guard case .date(let value) = slowRead(slot, .date) else { return nil }
    return value
  }

  /// The `Data` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readData(slot: Int) -> Data? {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .data) {
      if RowBytes.isNil(row, slot) { return nil }
      if let value = RowBytes.data(row, entry) { return value }
    }
    guard case .data(let value) = slowRead(slot, .data) else { return nil }
    return value
  }

  /// The `UUID` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readUUID(slot: Int) -> UUID? {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .uuid) {
      return RowBytes.isNil(row, slot) ? nil : RowBytes.uuid(row, entry)
    }
    guard case .uuid(let value) = slowRead(slot, .uuid) else { return nil }
    return value
  }

  /// The `URL` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readURL(slot: Int) -> URL? {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .url) {
      if RowBytes.isNil(row, slot) { return nil }
      if let value = RowBytes.url(row, entry) { return value }
    }
    guard case .url(let value) = slowRead(slot, .url) else { return nil }
    return value
  }

  /// The `Decimal` attribute in `slot`, or nil. Fires a fault. Traps when the slot has another type.
  public final func readDecimal(slot: Int) -> Decimal? {
    #if DEBUG
      checkConfinement()
    #endif
    if let row = fastRow ?? realizedRow(), let entry = fastEntry(slot, .decimal) {
      if RowBytes.isNil(row, slot) { return nil }
      if let value = RowBytes.decimal(row, entry) { return value }
    }
    guard case .decimal(let value) = slowRead(slot, .decimal) else { return nil }
    return value
  }
}

extension ManagedObject {
  /// Sets the `Int16` attribute in `slot`. Traps when the slot has another type.
  public final func write(_ value: Int16, slot: Int) {
    if let edits = openEdits(slot, .int16) { return edits.put(bits: UInt64(bitPattern: Int64(value)), slot) }
    slowWrite(slot, .int16, .integer(Int64(value)))
  }
  /// Sets the `Int16` attribute in `slot`, or makes it nil.
  public final func write(_ value: Int16?, slot: Int) {
    if let value { write(value, slot: slot) } else { slowWrite(slot, .int16, .null) }
  }
  /// Sets the `Int32` attribute in `slot`. Traps when the slot has another type.
  public final func write(_ value: Int32, slot: Int) {
    if let edits = openEdits(slot, .int32) { return edits.put(bits: UInt64(bitPattern: Int64(value)), slot) }
    slowWrite(slot, .int32, .integer(Int64(value)))
  }
  /// Sets the `Int32` attribute in `slot`, or makes it nil.
  public final func write(_ value: Int32?, slot: Int) {
    if let value { write(value, slot: slot) } else { slowWrite(slot, .int32, .null) }
  }
  /// Sets the `Int64` attribute in `slot`. Traps when the slot has another type.
  public final func write(_ value: Int64, slot: Int) {
    if let edits = openEdits(slot, .int64) { return edits.put(bits: UInt64(bitPattern: value), slot) }
    slowWrite(slot, .int64, .integer(value))
  }
  /// Sets the `Int64` attribute in `slot`, or makes it nil.
  public final func write(_ value: Int64?, slot: Int) {
    if let value { write(value, slot: slot) } else { slowWrite(slot, .int64, .null) }
  }
  /// Sets the `Double` attribute in `slot`. Traps when the slot has another type.
  public final func write(_ value: Double, slot: Int) {
    if let edits = openEdits(slot, .double) { return edits.put(bits: value.bitPattern, slot) }
    slowWrite(slot, .double, .double(value))
  }
  /// Sets the `Double` attribute in `slot`, or makes it nil.
  public final func write(_ value: Double?, slot: Int) {
    if let value { write(value, slot: slot) } else { slowWrite(slot, .double, .null) }
  }
  /// Sets the `Float` attribute in `slot`. Traps when the slot has another type.
  public final func write(_ value: Float, slot: Int) {
    if let edits = openEdits(slot, .float) { return edits.put(bits: UInt64(value.bitPattern), slot) }
    slowWrite(slot, .float, .float(value))
  }
  /// Sets the `Float` attribute in `slot`, or makes it nil.
  public final func write(_ value: Float?, slot: Int) {
    if let value { write(value, slot: slot) } else { slowWrite(slot, .float, .null) }
  }
  /// Sets the `Bool` attribute in `slot`. Traps when the slot has another type.
  public final func write(_ value: Bool, slot: Int) {
    if let edits = openEdits(slot, .boolean) { return edits.put(bits: value ? 1 : 0, slot) }
    slowWrite(slot, .boolean, .boolean(value))
  }
  /// Sets the `Bool` attribute in `slot`, or makes it nil.
  public final func write(_ value: Bool?, slot: Int) {
    if let value { write(value, slot: slot) } else { slowWrite(slot, .boolean, .null) }
  }
  /// Sets the `String` attribute in `slot`, or makes it nil. Traps when the slot has another type.
  public final func write(_ value: String?, slot: Int) {
    if let value, let edits = openEdits(slot, .string) { return edits.put(value, slot) }
    slowWrite(slot, .string, value.map { .string($0) } ?? .null)
  }
  /// Sets the `String` attribute in `slot` to a text that the caller gives away: no references are counted. Traps when the slot has another type.
  package final func take(_ value: consuming String, slot: Int) {
    if let edits = openEdits(slot, .string) { return edits.put(value, slot) }
    slowWrite(slot, .string, .string(value))
  }
  /// Sets the `Date` attribute in `slot`, or makes it nil. Traps when the slot has another type.
  public final func write(_ value: Date?, slot: Int) {
    if let value, let edits = openEdits(slot, .date) {
      return edits.put(bits: value.timeIntervalSinceReferenceDate.bitPattern, slot)
    }
    slowWrite(slot, .date, value.map { .date($0) } ?? .null)
  }
  /// Sets the `Data` attribute in `slot`, or makes it nil. Traps when the slot has another type.
  public final func write(_ value: Data?, slot: Int) {
    set(slot, .data, value.map { .data($0) } ?? .null)
  }
  /// Sets the `UUID` attribute in `slot`, or makes it nil. Traps when the slot has another type.
  public final func write(_ value: UUID?, slot: Int) {
    set(slot, .uuid, value.map { .uuid($0) } ?? .null)
  }
  /// Sets the `URL` attribute in `slot`, or makes it nil. Traps when the slot has another type.
  public final func write(_ value: URL?, slot: Int) { set(slot, .url, value.map { .url($0) } ?? .null) }
  /// Sets the `Decimal` attribute in `slot`, or makes it nil. Traps when the slot has another type.
  public final func write(_ value: Decimal?, slot: Int) {
    set(slot, .decimal, value.map { .decimal($0) } ?? .null)
  }

  /// What to read from when `fastRow` is not set: fulfils a fault. Nil when the values are not all in the row.
  @usableFromInline final func realizedRow() -> UnsafeRawPointer? {
    if state.contains(.fault) {
      checkConfinementHere()
      // The slow half follows: once is enough.
      if context?.failures.fault != ObjectIdentifier(self) { fire() }
      if state.contains(.fault) { context?.failures.fault = ObjectIdentifier(self) }
    }
    return fastRow
  }

  /// The value in `slot` when the fast half of a read did not have it.
  final func slowRead(_ slot: Int, _ kind: SlotKind) -> AttributeValue {
    checkSlot(slot, kind)
    if state.contains(.fault), let context, context.failures.fault == ObjectIdentifier(self) {
      context.failures.fault = nil
    } else {
      willAccess(slot)
    }
    noteRead(slot)
    return storedValue(slot)
  }

  /// Where a setter may store its value at once: the object counts as changed in this event, and the slot is of `kind`.
  @inline(__always)
  final func openEdits(_ slot: Int, _ kind: SlotKind) -> RowDraft.Pointers? {
    guard fastEntry(slot, kind) != nil else { return nil }
    return openEdits()
  }

  /// The same where the slot is known to fit.
  @inline(__always)
  final func openEdits() -> RowDraft.Pointers? {
    guard let edits, state.isBeingEdited else { return nil }
    checkConfinementHere()
    return edits
  }

  private final func set(_ slot: Int, _ kind: SlotKind, _ value: AttributeValue) {
    if let edits = openEdits(slot, kind) { edits.put(value, slot) } else { slowWrite(slot, kind, value) }
  }

  @inline(never)
  private final func slowWrite(_ slot: Int, _ kind: SlotKind, _ value: AttributeValue) {
    checkSlot(slot, kind)
    requireSettable(slot)
    if RowBytes.kind(table[slot]) == .transient {
      setTransient(value.anyValue, slot)
    } else {
      edit(slot, value)
    }
  }

  /// Traps for a slot the entity does not have, or has with another type.
  private final func checkSlot(_ slot: Int, _ kind: SlotKind) {
    guard UInt(bitPattern: slot) < UInt(bitPattern: Int(slotCount)) else {
      trap("entity \(home.token.entityName) has \(slotCount) attributes, there is no slot \(slot).")
    }
    let found = RowBytes.kind(table[slot])
    if found != kind && found != .transient {
      let attribute = home.entity.attributes[slot]
      trap(
        "\(home.token.entityName).\(attribute.name) (slot \(slot)) is of type \(attribute.type), the accessor is for \(kind)."
      )
    }
  }

  /// The debug-build check at every access.
  @usableFromInline final func checkConfinement() { checkConfinementHere() }

  @inline(__always)
  final func checkConfinementHere() {
    #if DEBUG
      context?.checkAccess(bound?.token.entityName)
    #else
      // The switch first: asking the context counts references.
      if ManagedObjectContext.checksEveryAccess { context?.checkAccess(bound?.token.entityName) }
    #endif
  }
}
