import Foundation

// The one total order of values. Encoded keys (KeyBuilder) sort exactly like it.

extension AttributeValue {
  /// Orders two values: negative when `a` comes first, 0 when they are the same, positive when `b` comes first.
  ///
  /// `null` first, then booleans (`false` before `true`), numbers (by value across integer, float, double and
  /// decimal; `-0.0` is `0.0`; NaN is the same as NaN and above +infinity), strings by UTF-8 bytes, dates,
  /// data by bytes, UUIDs by bytes, URLs by the bytes of their absolute string, references by primary key.
  public static func compare(_ a: AttributeValue, _ b: AttributeValue) -> Int {
    switch (a, b) {
    case (.null, .null): 0
    case (.integer(let x), .integer(let y)): order(x, y)
    case (.string(let x), .string(let y)): orderUTF8(x, y)
    case (.double(let x), .double(let y)): orderFloating(x, y)
    case (.date(let x), .date(let y)):
      orderFloating(x.timeIntervalSinceReferenceDate, y.timeIntervalSinceReferenceDate)
    case (.float(let x), .float(let y)): orderFloating(Double(x), Double(y))
    case (.boolean(let x), .boolean(let y)): (x ? 1 : 0) - (y ? 1 : 0)
    case (.decimal(let x), .decimal(let y)): DecimalDigits.compare(DecimalDigits(x), DecimalDigits(y))
    case (.data(let x), .data(let y)): orderData(x, y)
    case (.uuid(let x), .uuid(let y)):
      withUnsafeBytes(of: x.uuid) { left in withUnsafeBytes(of: y.uuid) { orderBytes(left, $0) } }
    case (.url(let x), .url(let y)): orderUTF8(x.absoluteString, y.absoluteString)
    case (.reference(let x), .reference(let y)): order(x, y)
    default: compareMixed(a, b)
    }
  }

  /// Whether the two values are the same in the order of ``compare(_:_:)``.
  public func isSame(_ other: AttributeValue) -> Bool { Self.compare(self, other) == 0 }

  private static func compareMixed(_ a: AttributeValue, _ b: AttributeValue) -> Int {
    let byRank = a.rank - b.rank
    guard byRank == 0 else { return byRank }
    // Same rank, different cases: both are numbers.
    switch (a, b) {
    case (.integer(let x), .double(let y)): return order(x, y)
    case (.double(let x), .integer(let y)): return -order(y, x)
    case (.integer(let x), .float(let y)): return order(x, Double(y))
    case (.float(let x), .integer(let y)): return -order(y, Double(x))
    case (.double(let x), .float(let y)): return orderFloating(x, Double(y))
    case (.float(let x), .double(let y)): return orderFloating(Double(x), y)
    default: return DecimalDigits.compare(a.digits, b.digits)
    }
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .boolean: 1
    case .integer, .double, .float, .decimal: 2
    case .string: 3
    case .date: 4
    case .data: 5
    case .uuid: 6
    case .url: 7
    case .reference: 8
    }
  }

  private var digits: DecimalDigits {
    switch self {
    case .integer(let value): DecimalDigits(value)
    case .double(let value): DecimalDigits(value)
    case .float(let value): DecimalDigits(Double(value))
    case .decimal(let value): DecimalDigits(value)
    default: DecimalDigits(0 as Int64)
    }
  }

  private static func order<T: Comparable>(_ x: T, _ y: T) -> Int { x < y ? -1 : (x == y ? 0 : 1) }

  private static func orderFloating(_ x: Double, _ y: Double) -> Int {
    if x < y { return -1 }
    if x > y { return 1 }
    if x == y { return 0 }
    return (x.isNaN ? 1 : 0) - (y.isNaN ? 1 : 0)
  }

  /// Exact, also where `Double(integer)` would round.
  private static func order(_ x: Int64, _ y: Double) -> Int {
    if y.isNaN || y >= 0x1p63 { return -1 }
    if y < -0x1p63 { return 1 }
    let whole = Int64(y.rounded(.down))
    if x != whole { return x < whole ? -1 : 1 }
    return y > y.rounded(.down) ? -1 : 0
  }

  static func orderUTF8(_ x: String, _ y: String) -> Int {
    var x = x
    var y = y
    return x.withUTF8 { left in
      y.withUTF8 { orderBytes(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer($0)) }
    }
  }

  private static func orderData(_ x: Data, _ y: Data) -> Int {
    x.withUnsafeBytes { left in y.withUnsafeBytes { orderBytes(left, $0) } }
  }

  static func orderBytes(_ x: UnsafeRawBufferPointer, _ y: UnsafeRawBufferPointer) -> Int {
    let common = min(x.count, y.count)
    if common > 0, let left = x.baseAddress, let right = y.baseAddress {
      let order = memcmp(left, right, common)
      if order != 0 { return Int(order) }
    }
    return x.count - y.count
  }
}

extension AttributeValue: Hashable {
  public static func == (a: AttributeValue, b: AttributeValue) -> Bool { compare(a, b) == 0 }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(rank)
    switch self {
    case .null: break
    case .integer(let value): hasher.combine(value)
    case .boolean(let value): hasher.combine(value)
    case .double(let value): Self.hash(value, into: &hasher)
    case .float(let value): Self.hash(Double(value), into: &hasher)
    case .decimal(let value):
      // Equal numbers hash equally whatever their case: through the integer or the correctly rounded double.
      let text = value.description
      if let integer = Int64(text) {
        hasher.combine(integer)
      } else {
        Self.hash(Double(text) ?? .nan, into: &hasher)
      }
    case .string(let value): Self.hash(value, into: &hasher)
    case .date(let value): Self.hash(value.timeIntervalSinceReferenceDate, into: &hasher)
    case .data(let value): value.withUnsafeBytes { hasher.combine(bytes: $0) }
    case .uuid(let value): hasher.combine(value)
    case .url(let value): Self.hash(value.absoluteString, into: &hasher)
    case .reference(let value): hasher.combine(value)
    }
  }

  private static func hash(_ value: Double, into hasher: inout Hasher) {
    if let integer = Int64(exactly: value) {
      hasher.combine(integer)
    } else {
      hasher.combine(value.isNaN ? UInt64.max : value.bitPattern)
    }
  }

  /// By bytes: `String.hash` would treat canonically equivalent strings alike, which this order does not.
  private static func hash(_ value: String, into hasher: inout Hasher) {
    var value = value
    value.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
