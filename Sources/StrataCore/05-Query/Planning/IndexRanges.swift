/// Which stretch of an index part a set of tests leaves over, and the key bytes that stand for it.
///
/// Bytes are made and compared as ``KeyBuilder`` makes them; nil lies below every value (above, where the part
/// is descending).
struct PartRange {
  /// The smallest value, nil for the smallest there is.
  var low: Bound?
  var high: Bound?
  /// For strings that begin with this.
  var prefix: AttributeValue?

  struct Bound {
    var value: AttributeValue
    var isIncluded: Bool
  }

  /// Narrows the range by a test; false when the test is no range.
  mutating func narrow(by test: SlotTest) -> Bool {
    switch test.operation {
    case .greater: raise(Bound(value: test.operands[0], isIncluded: false))
    case .greaterOrEqual: raise(Bound(value: test.operands[0], isIncluded: true))
    case .less: lower(Bound(value: test.operands[0], isIncluded: false))
    case .lessOrEqual: lower(Bound(value: test.operands[0], isIncluded: true))
    case .beginsWith where prefix == nil && low == nil && high == nil: prefix = test.operands[0]
    default: return false
    }
    return true
  }

  private mutating func raise(_ bound: Bound) {
    guard let low else { self.low = bound; return }
    let order = AttributeValue.compare(bound.value, low.value)
    if order > 0 || (order == 0 && !bound.isIncluded) { self.low = bound }
  }

  private mutating func lower(_ bound: Bound) {
    guard let high else { self.high = bound; return }
    let order = AttributeValue.compare(bound.value, high.value)
    if order < 0 || (order == 0 && !bound.isIncluded) { self.high = bound }
  }
}

extension KeyRange {
  /// All keys that begin with `prefix`.
  init(prefix: [UInt8]) {
    lower = prefix
    upper = Self.successor(prefix)
  }

  /// The smallest key after all that begin with `prefix`; nil when there is none.
  static func successor(_ prefix: [UInt8]) -> [UInt8]? {
    var bytes = prefix
    while let last = bytes.last {
      if last < 0xFF {
        bytes[bytes.count - 1] = last + 1
        return bytes
      }
      bytes.removeLast()
    }
    return nil
  }

  /// The keys that lie in both ranges.
  func intersection(_ other: KeyRange) -> KeyRange {
    var result = self
    if lower.lexicographicallyPrecedes(other.lower) { result.lower = other.lower }
    if let end = other.upper, upper.map({ end.lexicographicallyPrecedes($0) }) ?? true { result.upper = end }
    return result
  }

  /// Whether no key lies in the range.
  var isEmpty: Bool {
    guard let upper else { return false }
    return !lower.lexicographicallyPrecedes(upper)
  }
}

extension KeyRange {
  /// The range among keys that begin with `prefix`.
  func prefixed(by prefix: [UInt8]) -> KeyRange {
    KeyRange(lower: prefix + lower, upper: upper.map { prefix + $0 } ?? Self.successor(prefix))
  }

  /// The ranges in ascending order, without empty ones, each key in one range only.
  static func normalized(_ ranges: [KeyRange]) -> [KeyRange] {
    var result: [KeyRange] = []
    for range in ranges.sorted(by: { $0.lower.lexicographicallyPrecedes($1.lower) }) where !range.isEmpty {
      guard let last = result.last, let end = last.upper else {
        if result.isEmpty { result.append(range) }
        continue
      }
      if range.lower.lexicographicallyPrecedes(end) {
        if let upper = range.upper, upper.lexicographicallyPrecedes(end) { continue }
        result[result.count - 1].upper = range.upper
      } else {
        result.append(range)
      }
    }
    return result
  }
}

extension AttributeType {
  /// Whether long values of the type are cut in index keys, so that entries alone do not tell their order.
  var hasCutKeys: Bool { self == .string || self == .binaryData || self == .uri }
}

/// Makes the bytes of one part of an index key.
struct PartEncoder {
  let index: IndexSchema
  let place: Int

  /// The bytes of a value, and whether they stand for other values too.
  func component(_ value: AttributeValue) -> (bytes: [UInt8], isTruncated: Bool) {
    let part = index.parts[place]
    var builder = KeyBuilder()
    let made = builder.append(value, isAscending: part.isAscending, limit: part.keyLimit)
    return (Array(builder.bytes), made == .truncated)
  }

  /// The bytes that stand for a range, and whether exactly for it; nil when the range is not limited.
  func range(_ range: PartRange) -> (range: KeyRange, isExact: Bool)? {
    let part = index.parts[place]
    let isAscending = part.isAscending
    if let prefix = range.prefix {
      var builder = KeyBuilder()
      let made = builder.appendPrefix(prefix, isAscending: isAscending, limit: part.keyLimit)
      return (KeyRange(prefix: Array(builder.bytes)), made == .whole)
    }
    guard range.low != nil || range.high != nil else { return nil }
    var isExact = true
    /// Where values from the bound on begin, in the order of key bytes.
    func edge(_ bound: PartRange.Bound, isFirst: Bool) -> [UInt8]? {
      let (bytes, isTruncated) = component(bound.value)
      if isTruncated { isExact = false }
      let includesBound = bound.isIncluded || isTruncated
      return includesBound == isFirst ? bytes : KeyRange.successor(bytes)
    }
    let null = component(.null).bytes
    let first = isAscending ? range.low : range.high
    let last = isAscending ? range.high : range.low
    var lower = first.map { edge($0, isFirst: true) } ?? []
    var upper = last.map { edge($0, isFirst: false) } ?? nil
    // Nil satisfies no range: it lies before all values, or after all of them in a descending part.
    if first == nil && isAscending { lower = KeyRange.successor(null) }
    if last == nil && !isAscending { upper = null }
    guard let lower else { return (KeyRange(lower: [], upper: []), true) }
    return (KeyRange(lower: lower, upper: upper), isExact)
  }
}
