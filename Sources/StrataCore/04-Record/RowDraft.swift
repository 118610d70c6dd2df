/// What a draft knows besides its values.
@usableFromInline struct RowDraftHeader {
  @usableFromInline let slotCount: Int
  @usableFromInline var changed: SlotBitmap
  /// The slots set since the last did-change notification.
  @usableFromInline var eventChanged = SlotBitmap()
  /// The slots set in silence, by primitive setters.
  @usableFromInline var primitive = SlotBitmap()

  @inlinable init(slotCount: Int, changed: SlotBitmap) {
    self.slotCount = slotCount
    self.changed = changed
  }
}

/// The values of one object while it is edited: a value per slot and the set of slots that were set.
///
/// One allocation. A new object's draft starts with the defaults and is complete; an edited object's draft
/// starts empty over its snapshot, and only the changed slots mean anything. Belongs to one object and is used
/// on its context's queue only.
@usableFromInline final class RowDraft: ManagedBuffer<RowDraftHeader, AttributeValue> {
  /// A complete draft for a new object, nothing changed.
  static func make(defaults: [AttributeValue]) -> RowDraft {
    let draft = makeUninitialized(slotCount: defaults.count)
    draft.withUnsafeMutablePointerToElements { elements in
      defaults.withUnsafeBufferPointer {
        if let source = $0.baseAddress { elements.initialize(from: source, count: $0.count) }
      }
    }
    return draft
  }

  /// A complete draft for a new object whose defaults are all nil, with `changed` set.
  static func make(allNil slotCount: Int, changed: SlotBitmap) -> RowDraft {
    let draft = make(slotCount: slotCount)
    draft.header.changed = changed
    return draft
  }

  /// An empty draft over a snapshot.
  static func make(slotCount: Int) -> RowDraft {
    let draft = makeUninitialized(slotCount: slotCount)
    draft.withUnsafeMutablePointerToElements { $0.initialize(repeating: .null, count: slotCount) }
    return draft
  }

  /// A draft with the same values and changed slots.
  func copy() -> RowDraft {
    let draft = Self.makeUninitialized(slotCount: slotCount)
    draft.header.changed = header.changed
    withUnsafeMutablePointerToElements { source in
      draft.withUnsafeMutablePointerToElements { $0.initialize(from: source, count: slotCount) }
    }
    return draft
  }

  private static func makeUninitialized(slotCount: Int) -> RowDraft {
    let draft = create(minimumCapacity: slotCount) { _ in
      RowDraftHeader(slotCount: slotCount, changed: SlotBitmap())
    }
    // `create` makes an instance of the class it is called on.
    return unsafeDowncast(draft, to: RowDraft.self)
  }

  deinit {
    _ = withUnsafeMutablePointers { header, elements in elements.deinitialize(count: header.pointee.slotCount)
    }
  }

  /// How many slots the object has.
  @inlinable var slotCount: Int { withUnsafeMutablePointerToHeader { $0.pointee.slotCount } }

  /// The slots that were set.
  @inlinable var changed: SlotBitmap {
    get { withUnsafeMutablePointerToHeader { $0.pointee.changed } }
    set { withUnsafeMutablePointerToHeader { $0.pointee.changed = newValue } }
  }

  /// The slots set since the last did-change notification.
  @inlinable var eventChanged: SlotBitmap {
    get { header.eventChanged }
    set { header.eventChanged = newValue }
  }

  /// The slots set in silence, by primitive setters: saved with the object, but no change by themselves.
  @inlinable var primitive: SlotBitmap {
    get { header.primitive }
    set { header.primitive = newValue }
  }

  /// Where the values and the set of changed slots are. Valid while the draft lives.
  @inline(__always)
  var addresses: (values: UnsafePointer<AttributeValue>, changed: UnsafePointer<SlotBitmap>) {
    withUnsafeMutablePointers { header, elements in
      // The offset of a stored property is known.
      let offset = MemoryLayout<RowDraftHeader>.offset(of: \.changed).unsafelyUnwrapped
      let changed = (UnsafeRawPointer(header) + offset).assumingMemoryBound(to: SlotBitmap.self)
      return (UnsafePointer(elements), changed)
    }
  }

  /// Whether the slot was set.
  @inlinable @inline(__always) func isChanged(_ slot: Int) -> Bool {
    withUnsafeMutablePointerToHeader { $0.pointee.changed.contains(slot) }
  }

  /// A slot's value; setting it marks the slot as changed.
  @inlinable subscript(_ slot: Int) -> AttributeValue {
    get {
      withUnsafeMutablePointers { header, elements in
        precondition(slot >= 0 && slot < header.pointee.slotCount, "no such slot")
        return elements[slot]
      }
    }
    set {
      withUnsafeMutablePointers { header, elements in
        precondition(slot >= 0 && slot < header.pointee.slotCount, "no such slot")
        elements[slot] = newValue
        header.pointee.changed.insert(slot)
      }
    }
  }

  /// Where a draft keeps what it knows; valid as long as the draft lives.
  struct Pointers {
    fileprivate let header: UnsafeMutablePointer<RowDraftHeader>
    fileprivate let values: UnsafeMutablePointer<AttributeValue>

    /// Sets a slot's value as an edit of the current event. The caller has checked the slot.
    @inline(__always)
    func put(_ value: consuming AttributeValue, _ slot: Int) {
      values[slot] = value
      header.pointee.changed.insert(slot)
      header.pointee.eventChanged.insert(slot)
    }
  }

  /// For the owner of the draft, who keeps it alive meanwhile.
  var pointers: Pointers { withUnsafeMutablePointers { Pointers(header: $0, values: $1) } }

  /// Forgets the slot's value and that it was set.
  func clear(_ slot: Int) {
    self[slot] = .null
    header.changed.remove(slot)
  }
}
