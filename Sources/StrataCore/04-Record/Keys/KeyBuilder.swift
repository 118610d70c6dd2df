import Foundation

/// How much of a value went into a key.
enum KeyPart: Sendable, Hashable {
  /// All of it: equal key bytes mean the same value.
  case whole
  /// Only the beginning: rows with the same key bytes must be compared by their values.
  case truncated
  /// Nothing: the value is external and must be fetched and appended as a value.
  case external
}

/// Builds order-preserving keys: their bytes sort as `AttributeValue.compare` sorts the values.
///
/// ```
/// nil        05
/// value      10, then
///   integers   8 bytes big-endian, sign bit flipped
///   boolean    00, 01
///   float 4, double and date 8 bytes: bit pattern, big-endian; negative: inverted, else: sign bit flipped;
///              -0.0 as 0.0, every NaN as the positive quiet one (after infinity)
///   uuid       16 bytes
///   reference  8 bytes big-endian
///   decimal    DecimalBytes in their key form
///   string, url (UTF-8), data: the bytes with 00 → 00 FF, then 00 01; more than `limit` bytes: cut, then 00 02
/// ```
///
/// A descending part has all its bytes inverted. Reusable: `reset` keeps the memory. Not copyable, so that
/// growing never copies behind one's back.
struct KeyBuilder: ~Copyable {
  static let maximumVariableLength = KeyLimits.maximumVariableLength
  private static let nilTag: UInt8 = 0x05
  private static let valueTag: UInt8 = 0x10

  private var start: UnsafeMutableRawPointer
  private var capacity: Int
  /// The bytes so far.
  private(set) var count = 0

  init(capacity: Int = 512) {
    self.capacity = max(capacity, 64)
    start = Self.allocate(self.capacity)
  }

  deinit { free(start) }

  /// What is allocated with an alignment takes three times as long, and this has one that is larger.
  private static func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    // There is no pointer when there is no memory left.
    malloc(count)!
  }

  /// The key. Valid until the next mutation.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  /// Starts again, keeping the memory.
  @inline(__always) mutating func reset() { count = 0 }

  /// Takes back everything from `count` on.
  @inline(__always) mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= self.count, "only what was appended can be taken back")
    self.count = count
  }

  // MARK: Parts

  /// Appends a value. `limit` is the most bytes of an encoded string, data or URL.
  @discardableResult
  mutating func append(
    _ value: AttributeValue, isAscending: Bool, limit: Int = maximumVariableLength
  ) -> KeyPart {
    let from = count
    var part = KeyPart.whole
    switch value {
    case .null: appendByte(Self.nilTag)
    case .integer(let value): appendInteger(value)
    case .boolean(let value): appendBoolean(value)
    case .float(let value): appendFloat(value)
    case .double(let value): appendDouble(value)
    case .date(let value): appendDouble(value.timeIntervalSinceReferenceDate)
    case .uuid(let value): withUnsafeBytes(of: value.uuid) { appendTagged($0) }
    case .reference(let value): appendWord(value)
    case .decimal(let value): appendDecimal(DecimalDigits(value))
    case .string(var value):
      part = value.withUTF8 { appendVariable(UnsafeRawBufferPointer($0), limit, isPrefix: false) }
    case .url(let value):
      var text = value.absoluteString
      part = text.withUTF8 { appendVariable(UnsafeRawBufferPointer($0), limit, isPrefix: false) }
    case .data(let value): part = value.withUnsafeBytes { appendVariable($0, limit, isPrefix: false) }
    }
    if !isAscending { invert(from: from) }
    return part
  }

  /// Appends a slot's value from a row of that layout, which has passed `RowDecoder.checkBounds`.
  ///
  /// Answers `.external`, appending nothing, when the value is not in the row.
  @discardableResult
  mutating func append(
    fromRow base: UnsafeRawPointer, slot: Int, layout: RowLayout, isAscending: Bool,
    limit: Int = maximumVariableLength
  ) -> KeyPart {
    let entry = layout.entry(of: slot)
    let kind = RowBytes.kind(entry)
    let from = count
    var part = KeyPart.whole
    if RowBytes.isNil(base, slot) {
      appendByte(Self.nilTag)
    } else {
      switch kind {
      case .transient: appendByte(Self.nilTag)
      case .int16, .int32, .int64: appendInteger(RowBytes.integer(base, entry))
      case .boolean: appendBoolean(RowBytes.boolean(base, entry))
      case .float: appendFloat(RowBytes.float(base, entry))
      case .double, .date: appendDouble(RowBytes.double(base, entry))
      case .reference: appendWord(RowBytes.reference(base, entry))
      case .uuid: appendTagged(UnsafeRawBufferPointer(start: base + RowBytes.offset(entry), count: 16))
      case .decimal:
        // A damaged decimal, which `validate` finds, sorts as NaN.
        appendDecimal(
          DecimalBytes.decode(RowBytes.variable(base, entry)) ?? DecimalDigits(kind: .notANumber))
      case .string, .data, .url:
        if RowBytes.isExternal(base, entry) { return .external }
        part = appendVariable(RowBytes.variable(base, entry), limit, isPrefix: false)
      }
    }
    if !isAscending { invert(from: from) }
    return part
  }

  /// Appends what all values that begin with the string's or data's bytes have in common.
  ///
  /// Answers `.truncated` when the prefix itself had to be cut.
  @discardableResult
  mutating func appendPrefix(
    _ value: AttributeValue, isAscending: Bool, limit: Int = maximumVariableLength
  ) -> KeyPart {
    let from = count
    let part: KeyPart
    switch value {
    case .string(var value):
      part = value.withUTF8 { appendVariable(UnsafeRawBufferPointer($0), limit, isPrefix: true) }
    case .url(let value):
      var text = value.absoluteString
      part = text.withUTF8 { appendVariable(UnsafeRawBufferPointer($0), limit, isPrefix: true) }
    case .data(let value): part = value.withUnsafeBytes { appendVariable($0, limit, isPrefix: true) }
    default: trap("only strings, data and URLs have prefixes")
    }
    if !isAscending { invert(from: from) }
    return part
  }

  /// Appends a primary key, 8 bytes big-endian.
  @inline(__always)
  mutating func appendPrimaryKey(_ primaryKey: UInt64) {
    reserve(8)
    (start + count).storeBytes(of: primaryKey.bigEndian, as: UInt64.self)
    count += 8
  }

  /// Appends bytes as they are.
  mutating func append(raw bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    reserve(bytes.count)
    (start + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// Appends one byte as it is.
  mutating func append(byte: UInt8) { appendByte(byte) }

  // MARK: Values

  private mutating func appendByte(_ byte: UInt8) {
    reserve(1)
    (start + count).storeBytes(of: byte, as: UInt8.self)
    count += 1
  }

  private mutating func appendInteger(_ value: Int64) {
    appendWord(Self.sortable(value))
  }

  private mutating func appendBoolean(_ value: Bool) {
    appendByte(Self.valueTag)
    appendByte(value ? 1 : 0)
  }

  private mutating func appendDouble(_ value: Double) { appendWord(Self.sortable(value)) }

  private mutating func appendFloat(_ value: Float) {
    reserve(5)
    (start + count).storeBytes(of: Self.valueTag, as: UInt8.self)
    (start + count + 1).storeBytes(of: Self.sortable(value).bigEndian, as: UInt32.self)
    count += 5
  }

  private mutating func appendWord(_ word: UInt64) {
    reserve(9)
    (start + count).storeBytes(of: Self.valueTag, as: UInt8.self)
    (start + count + 1).storeBytes(of: word.bigEndian, as: UInt64.self)
    count += 9
  }

  private mutating func appendTagged(_ bytes: UnsafeRawBufferPointer) {
    appendByte(Self.valueTag)
    append(raw: bytes)
  }

  private mutating func appendDecimal(_ number: DecimalDigits) {
    DecimalBytes.encodeKey(number).withUnsafeBytes { appendTagged($0) }
  }

  /// A prefix gets no end; neither does a cut prefix.
  private mutating func appendVariable(
    _ bytes: UnsafeRawBufferPointer, _ limit: Int, isPrefix: Bool
  ) -> KeyPart {
    reserve(limit + 3)
    let target = start + count
    target.storeBytes(of: Self.valueTag, as: UInt8.self)
    var written = 1
    var isCut = false
    if let source = bytes.baseAddress {
      let common = min(bytes.count, limit)
      if memchr(source, 0, common) == nil {
        (target + 1).copyMemory(from: source, byteCount: common)
        written += common
        isCut = bytes.count > limit
      } else {
        isCut = escape(bytes, to: target, &written, limit)
      }
    }
    if !isPrefix {
      (target + written).storeBytes(of: 0, as: UInt8.self)
      (target + written + 1).storeBytes(of: isCut ? 2 : 1, as: UInt8.self)
      written += 2
    }
    count += written
    return isCut ? .truncated : .whole
  }

  /// Writes the bytes with zeros escaped, at most `limit` of them, an escape whole or not at all.
  ///
  /// Answers whether something was left out.
  private func escape(
    _ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer, _ written: inout Int, _ limit: Int
  ) -> Bool {
    for byte in bytes {
      guard written + (byte == 0 ? 2 : 1) <= limit + 1 else { return true }
      (target + written).storeBytes(of: byte, as: UInt8.self)
      written += 1
      if byte == 0 {
        (target + written).storeBytes(of: 0xFF, as: UInt8.self)
        written += 1
      }
    }
    return false
  }

  private func invert(from: Int) {
    for index in from..<count {
      (start + index).storeBytes(of: ~(start + index).load(as: UInt8.self), as: UInt8.self)
    }
  }

  @inline(__always)
  private mutating func reserve(_ more: Int) {
    if count + more > capacity { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    let larger = max(capacity * 2, count + more)
    let memory = Self.allocate(larger)
    memory.copyMemory(from: start, byteCount: count)
    free(start)
    start = memory
    capacity = larger
  }
}
