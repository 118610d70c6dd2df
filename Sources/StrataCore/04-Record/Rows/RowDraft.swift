import Foundation

/// The values of one object while it is edited: a cell per slot and the set of slots that were set.
///
///     header │ cell 0 │ cell 1 │ …        a cell is 16 bytes:
///     numbers, booleans, dates: their 64 bits · UUID: its 16 bytes · string, data: the Swift value itself ·
///     URL, decimal: a reference to a box · transient slots: nothing, their values live elsewhere
///
/// One allocation, and no enum to take apart on the way into a row: a setter stores the bits, the encoder copies them. A new
/// object's draft starts with the defaults and is complete; an edited object's draft starts empty over its snapshot, and
/// only the changed slots mean anything. Belongs to one object and is used on its context's queue only.
final class RowDraft: ManagedBuffer<RowDraft.Header, RowDraft.Cell> {
  /// What a draft knows besides its values.
  struct Header {
    /// See `RowLayout`: immortal memory.
    let table: UnsafePointer<UInt32>
    let variableSlots: UnsafeBufferPointer<Int32>
    let slotCount: Int
    /// The slots that were set.
    var changed: SlotBitmap
    /// The slots set since the last did-change notification.
    var eventChanged = SlotBitmap()
    /// The slots whose cell holds a value; the others are nil.
    var present = SlotBitmap()
    /// The slots set in silence, by primitive setters.
    var primitive = SlotBitmap()
    /// The slots that were given a value of another kind: they cannot be encoded.
    var misfits = SlotBitmap()
  }

  /// Room for one value.
  struct Cell {
    var low: UInt64
    var high: UInt64
  }

  /// What does not fit into a cell.
  fileprivate final class Box {
    let value: AttributeValue
    init(_ value: AttributeValue) { self.value = value }
  }

  /// A draft with no values; `changed` says which slots count as set.
  @inline(__always)
  static func make(_ layout: RowLayout, changed: SlotBitmap = SlotBitmap()) -> RowDraft {
    let draft = create(minimumCapacity: layout.slotCount) { _ in
      Header(
        table: layout.table, variableSlots: layout.variableSlots, slotCount: layout.slotCount,
        changed: changed)
    }
    // `create` makes an instance of the class it is called on.
    return unsafeDowncast(draft, to: RowDraft.self)
  }

  /// A complete draft for a new object, nothing changed.
  static func make(_ layout: RowLayout, defaults: [AttributeValue]) -> RowDraft {
    let draft = make(layout)
    let pointers = draft.pointers
    for (slot, value) in defaults.enumerated() where !value.isNull { pointers.store(value, slot) }
    return draft
  }

  /// Forgets all values, and what was said of them; `changed` says which slots count as set now.
  func restart(changed: SlotBitmap) {
    let pointers = pointers
    for slot in pointers.header.pointee.variableSlots { pointers.clear(Int(slot)) }
    pointers.header.pointee.changed = changed
    pointers.header.pointee.eventChanged = SlotBitmap()
    pointers.header.pointee.present = SlotBitmap()
    pointers.header.pointee.primitive = SlotBitmap()
    pointers.header.pointee.misfits = SlotBitmap()
  }

  deinit {
    // Values that hold nothing need no end.
    let pointers = pointers
    for slot in pointers.header.pointee.variableSlots { pointers.clear(Int(slot)) }
  }

  /// How many slots the object has.
  var slotCount: Int { withUnsafeMutablePointerToHeader { $0.pointee.slotCount } }

  /// The slots that were set.
  var changed: SlotBitmap {
    get { withUnsafeMutablePointerToHeader { $0.pointee.changed } }
    set { withUnsafeMutablePointerToHeader { $0.pointee.changed = newValue } }
  }

  /// The slots set since the last did-change notification.
  var eventChanged: SlotBitmap {
    get { header.eventChanged }
    set { header.eventChanged = newValue }
  }

  /// The slots set in silence, by primitive setters: saved with the object, but no change by themselves.
  var primitive: SlotBitmap {
    get { header.primitive }
    set { header.primitive = newValue }
  }

  /// Whether nothing was edited: all that it holds was set beneath the accessors.
  var isSilent: Bool {
    var edited = changed
    primitive.forEach { edited.remove($0) }
    return edited.isEmpty
  }

  /// Whether the slot was set.
  @inline(__always) func isChanged(_ slot: Int) -> Bool {
    withUnsafeMutablePointerToHeader { $0.pointee.changed.contains(slot) }
  }

  /// Whether the slot's value is nil.
  func isNil(_ slot: Int) -> Bool { !withUnsafeMutablePointerToHeader { $0.pointee.present.contains(slot) } }

  /// Whether all of the slots were changed, to values that are not nil. False, too, where that takes more than a look at the first 64 slots.
  func hasGivenValues(in slots: borrowing SlotBitmap) -> Bool {
    withUnsafeMutablePointerToHeader { slots.isKnownSubset($0.pointee.present, $0.pointee.changed) }
  }

  /// A slot's value; setting it marks the slot as changed. A value of another kind than the slot's is found when the row is
  /// encoded.
  subscript(_ slot: Int) -> AttributeValue {
    get {
      precondition(slot >= 0 && slot < slotCount, "no such slot")
      return pointers.value(slot)
    }
    set {
      precondition(slot >= 0 && slot < slotCount, "no such slot")
      pointers.store(newValue, slot)
      withUnsafeMutablePointerToHeader { $0.pointee.changed.insert(slot) }
    }
  }

  /// Forgets the slot's value and that it was set.
  func clear(_ slot: Int) {
    self[slot] = .null
    header.changed.remove(slot)
  }

  /// For the owner of the draft, which keeps it alive meanwhile.
  @inline(__always)
  var pointers: Pointers {
    withUnsafeMutablePointers { header, cells in
      let pointers = Pointers(header: header)
      assert(pointers.cells == cells, "the cells follow the header")
      return pointers
    }
  }

  /// Where a draft keeps what it knows; valid as long as the draft lives. Counts no references.
  struct Pointers {
    let header: UnsafeMutablePointer<Header>

    /// The cells follow the header, aligned.
    @inline(__always)
    fileprivate var cells: UnsafeMutablePointer<Cell> {
      let offset =
        (MemoryLayout<Header>.size + MemoryLayout<Cell>.alignment - 1) & ~(MemoryLayout<Cell>.alignment - 1)
      return (UnsafeMutableRawPointer(header) + offset).assumingMemoryBound(to: Cell.self)
    }

    /// Where the slot's value is. Means something when the slot is present.
    @inline(__always)
    func cell(_ slot: Int) -> UnsafeRawPointer { UnsafeRawPointer(cells + slot) }
  }
}

// MARK: Typed setters, for slots the caller has checked to be of that kind

extension RowDraft.Pointers {
  /// Sets a slot as an edit of the current event.
  @inline(__always)
  func put(bits: UInt64, _ slot: Int) {
    cells[slot].low = bits
    header.pointee.present.insert(slot)
    mark(slot)
  }

  /// Sets a string slot as an edit of the current event.
  @inline(__always)
  func put(_ value: consuming String, _ slot: Int) {
    own(value, slot)
    mark(slot)
  }

  /// Sets a slot of any kind as an edit of the current event.
  @inline(__always)
  func put(_ value: AttributeValue, _ slot: Int) {
    store(value, slot)
    mark(slot)
  }

  /// Sets a slot of any kind: the one way in for setters that take the slow half.
  /// - Parameters:
  ///   - isEvent: It is an edit of the current event, and not one in silence.
  ///   - beginsEvent: It is the first edit of that event.
  @inline(__always)
  func edit(_ slot: Int, _ value: AttributeValue, isEvent: Bool, beginsEvent: Bool) {
    precondition(slot >= 0 && slot < header.pointee.slotCount, "no such slot")
    store(value, slot)
    header.pointee.changed.insert(slot)
    guard isEvent else { return }
    if !header.pointee.primitive.isEmpty { header.pointee.primitive.remove(slot) }
    if beginsEvent { header.pointee.eventChanged = SlotBitmap() }
    header.pointee.eventChanged.insert(slot)
  }

  @inline(__always)
  private func mark(_ slot: Int) {
    header.pointee.changed.insert(slot)
    header.pointee.eventChanged.insert(slot)
  }

  /// Puts a value that owns memory into a cell of its kind.
  @inline(__always)
  private func own<Value>(_ value: consuming Value, _ slot: Int) {
    // Known when compiled; costs nothing.
    precondition(MemoryLayout<Value>.size <= MemoryLayout<RowDraft.Cell>.size)
    let place = UnsafeMutableRawPointer(cells + slot)
    if header.pointee.present.contains(slot) {
      place.assumingMemoryBound(to: Value.self).pointee = value
    } else {
      place.initializeMemory(as: Value.self, to: value)
      header.pointee.present.insert(slot)
    }
  }
}

// MARK: Values of any kind

extension RowDraft.Pointers {
  /// The slot's value.
  func value(_ slot: Int) -> AttributeValue {
    guard header.pointee.present.contains(slot) else { return .null }
    let bits = cells[slot].low
    switch RowBytes.kind(header.pointee.table[slot]) {
    case .transient: return .null
    case .int16, .int32, .int64: return .integer(Int64(bitPattern: bits))
    case .boolean: return .boolean(bits != 0)
    case .float: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case .double: return .double(Double(bitPattern: bits))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    case .uuid: return .uuid(UUID(uuid: cell(slot).load(as: uuid_t.self)))
    case .reference: return .reference(bits)
    case .string: return .string(cell(slot).assumingMemoryBound(to: String.self).pointee)
    case .data: return .data(cell(slot).assumingMemoryBound(to: Data.self).pointee)
    case .url, .decimal: return cell(slot).assumingMemoryBound(to: RowDraft.Box.self).pointee.value
    }
  }

  /// Puts a value into its cell; one of another kind is remembered as a misfit.
  func store(_ value: AttributeValue, _ slot: Int) {
    if !header.pointee.misfits.isEmpty { header.pointee.misfits.remove(slot) }
    switch (value, RowBytes.kind(header.pointee.table[slot])) {
    case (.integer(let value), .int64), (.integer(let value), .int32), (.integer(let value), .int16):
      set(UInt64(bitPattern: value), slot)
    case (.boolean(let value), .boolean): set(value ? 1 : 0, slot)
    case (.double(let value), .double): set(value.bitPattern, slot)
    case (.float(let value), .float): set(UInt64(value.bitPattern), slot)
    case (.date(let value), .date): set(value.timeIntervalSinceReferenceDate.bitPattern, slot)
    case (.uuid(let value), .uuid):
      UnsafeMutableRawPointer(cells + slot).storeBytes(of: value.uuid, as: uuid_t.self)
      header.pointee.present.insert(slot)
    case (.reference(let value), .reference): set(value, slot)
    case (.string(let value), .string): own(value, slot)
    case (.data(let value), .data): own(value, slot)
    case (.url, .url), (.decimal, .decimal): own(RowDraft.Box(value), slot)
    case (.null, _), (_, .transient): clear(slot)
    default:
      clear(slot)
      header.pointee.misfits.insert(slot)
    }
  }

  /// Takes every value of `other`, which has the same slots; there are none here yet.
  func takeValues(of other: Self) {
    let source = other.header.pointee
    UnsafeMutableRawPointer(cells).copyMemory(
      from: other.cells, byteCount: source.slotCount * MemoryLayout<RowDraft.Cell>.stride)
    header.pointee.present = source.present
    header.pointee.misfits = source.misfits
    // What owns memory owns it twice now.
    for slot in source.variableSlots.lazy.map({ Int($0) }) where source.present.contains(slot) {
      switch RowBytes.kind(source.table[slot]) {
      case .string: share(String.self, of: other, slot)
      case .data: share(Data.self, of: other, slot)
      case .url, .decimal: share(RowDraft.Box.self, of: other, slot)
      default: break
      }
    }
  }

  /// Counts a reference to what the slot's cell of `other` holds, whose bits are here already.
  private func share<Value>(_ type: Value.Type, of other: Self, _ slot: Int) {
    UnsafeMutableRawPointer(cells + slot).initializeMemory(
      as: type, to: other.cell(slot).assumingMemoryBound(to: type).pointee)
  }

  /// The bytes the slot's value takes in a row's tail; 0 for fixed ones.
  @inline(__always)
  func variableLength(_ slot: Int) -> Int {
    guard header.pointee.present.contains(slot) else { return 0 }
    switch RowBytes.kind(header.pointee.table[slot]) {
    case .string: return cell(slot).assumingMemoryBound(to: String.self).pointee.utf8.count
    case .data: return cell(slot).assumingMemoryBound(to: Data.self).pointee.count
    case .url, .decimal: return RowEncoder.variableLength(of: value(slot))
    default: return 0
    }
  }

  @inline(__always)
  private func set(_ bits: UInt64, _ slot: Int) {
    cells[slot].low = bits
    header.pointee.present.insert(slot)
  }

  /// Makes the slot nil and releases what its cell held.
  @inline(__always)
  fileprivate func clear(_ slot: Int) {
    guard header.pointee.present.contains(slot) else { return }
    header.pointee.present.remove(slot)
    let place = UnsafeMutableRawPointer(cells + slot)
    switch RowBytes.kind(header.pointee.table[slot]) {
    case .string: place.assumingMemoryBound(to: String.self).deinitialize(count: 1)
    case .data: place.assumingMemoryBound(to: Data.self).deinitialize(count: 1)
    case .url, .decimal: place.assumingMemoryBound(to: RowDraft.Box.self).deinitialize(count: 1)
    default: return
    }
  }
}
