/// A set of slot numbers (property positions in an entity).
///
/// The first 64 slots live inline in one word, so sets of ordinary entities never allocate.
public struct SlotBitmap: Hashable, Sendable {
  @usableFromInline var low: UInt64 = 0
  @usableFromInline var high: [UInt64] = []

  /// The empty set.
  @inlinable public init() {}

  /// The set of all slots below `count`.
  public init(allBelow count: Int) {
    low = count >= 64 ? .max : (1 << UInt64(count)) &- 1
    var rest = count - 64
    while rest > 0 {
      high.append(rest >= 64 ? .max : (1 << UInt64(rest)) &- 1)
      rest -= 64
    }
  }

  /// Whether no slot is in the set.
  @inlinable public var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

  /// How many slots are in the set.
  public var count: Int { high.reduce(low.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  /// Whether `slot` is in the set. Constant time.
  @inlinable public func contains(_ slot: Int) -> Bool {
    if slot < 64 { return low & (1 << UInt64(slot)) != 0 }
    let word = slot / 64 - 1
    return word < high.count && high[word] & (1 << UInt64(slot % 64)) != 0
  }

  /// Puts `slot` into the set.
  @inlinable public mutating func insert(_ slot: Int) {
    if slot < 64 {
      low |= 1 << UInt64(slot)
    } else {
      let word = slot / 64 - 1
      while high.count <= word { high.append(0) }
      high[word] |= 1 << UInt64(slot % 64)
    }
  }

  /// Takes `slot` out of the set.
  public mutating func remove(_ slot: Int) {
    if slot < 64 {
      low &= ~(1 << UInt64(slot))
    } else if slot / 64 - 1 < high.count {
      high[slot / 64 - 1] &= ~(1 << UInt64(slot % 64))
      while high.last == 0 { high.removeLast() }
    }
  }

  /// Adds every slot of `other`.
  public mutating func formUnion(_ other: SlotBitmap) {
    low |= other.low
    while high.count < other.high.count { high.append(0) }
    for (index, word) in other.high.enumerated() { high[index] |= word }
  }

  /// Whether the two sets share a slot.
  public func intersects(_ other: SlotBitmap) -> Bool {
    low & other.low != 0 || zip(high, other.high).contains { $0 & $1 != 0 }
  }

  /// Calls `body` with every slot of the set, in ascending order.
  @inlinable public func forEach(_ body: (Int) throws -> Void) rethrows {
    var word = low
    while word != 0 {
      try body(word.trailingZeroBitCount)
      word &= word &- 1
    }
    for (index, bits) in high.enumerated() {
      var word = bits
      while word != 0 {
        try body((index + 1) * 64 + word.trailingZeroBitCount)
        word &= word &- 1
      }
    }
  }
}
