/// A set of slot numbers (property positions in an entity).
///
/// The first 64 slots live inline in one word, so sets of ordinary entities never allocate.
package struct SlotBitmap: Hashable, Sendable {
  @usableFromInline var low: UInt64 = 0
  /// The words of slots 64 and up, without zeros at the end; nil rather than empty, which costs nothing to copy.
  @usableFromInline var high: [UInt64]?

  /// The empty set.
  @inlinable package init() {}

  /// The set of all slots below `count`.
  package init(allBelow count: Int) {
    low = count >= 64 ? .max : (1 << UInt64(count)) &- 1
    guard count > 64 else { return }
    high = stride(from: count - 64, to: 0, by: -64).map { $0 >= 64 ? .max : (1 << UInt64($0)) &- 1 }
  }

  /// Whether no slot is in the set.
  @inlinable package var isEmpty: Bool { low == 0 && high == nil }

  /// How many slots are in the set.
  package var count: Int { (high ?? []).reduce(low.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  /// Whether `slot` is in the set. Constant time.
  @inlinable @inline(__always) package func contains(_ slot: Int) -> Bool {
    if slot < 64 { return low & (1 << UInt64(slot)) != 0 }
    return containsHigh(slot)
  }

  /// Puts `slot` into the set.
  @inlinable @inline(__always) package mutating func insert(_ slot: Int) {
    if slot < 64 {
      low |= 1 << UInt64(slot)
    } else {
      insertHigh(slot)
    }
  }

  /// The slots of both sets.
  func union(_ other: SlotBitmap) -> SlotBitmap {
    var result = self
    other.forEach { result.insert($0) }
    return result
  }

  /// The slots that are in both sets.
  package func intersection(_ other: SlotBitmap) -> SlotBitmap {
    var result = SlotBitmap()
    forEach { if other.contains($0) { result.insert($0) } }
    return result
  }

  /// Whether every slot is in both of the others. False, too, where there are slots from 64 on.
  func isKnownSubset(_ one: borrowing SlotBitmap, _ other: borrowing SlotBitmap) -> Bool {
    high == nil && low & ~(one.low & other.low) == 0
  }

  @usableFromInline func containsHigh(_ slot: Int) -> Bool {
    let word = slot / 64 - 1
    guard let high, word < high.count else { return false }
    return high[word] & (1 << UInt64(slot % 64)) != 0
  }

  @usableFromInline mutating func insertHigh(_ slot: Int) {
    let word = slot / 64 - 1
    var words = high.take() ?? []
    while words.count <= word { words.append(0) }
    words[word] |= 1 << UInt64(slot % 64)
    high = words
  }

  /// Takes `slot` out of the set.
  package mutating func remove(_ slot: Int) {
    if slot < 64 {
      low &= ~(1 << UInt64(slot))
    } else if containsHigh(slot), var words = high.take() {
      words[slot / 64 - 1] &= ~(1 << UInt64(slot % 64))
      while words.last == 0 { words.removeLast() }
      if !words.isEmpty { high = words }
    }
  }

  /// Adds every slot of `other`.
  package mutating func formUnion(_ other: SlotBitmap) {
    low |= other.low
    guard let others = other.high else { return }
    var words = high.take() ?? []
    while words.count < others.count { words.append(0) }
    for (index, word) in others.enumerated() { words[index] |= word }
    high = words
  }

  /// Whether the two sets share a slot.
  package func intersects(_ other: SlotBitmap) -> Bool {
    low & other.low != 0 || zip(high ?? [], other.high ?? []).contains { $0 & $1 != 0 }
  }

  /// Calls `body` with every slot of the set, in ascending order.
  @inlinable package func forEach(_ body: (Int) throws -> Void) rethrows {
    var word = low
    while word != 0 {
      try body(word.trailingZeroBitCount)
      word &= word &- 1
    }
    guard let high else { return }
    for (index, bits) in high.enumerated() {
      var word = bits
      while word != 0 {
        try body((index + 1) * 64 + word.trailingZeroBitCount)
        word &= word &- 1
      }
    }
  }
}
