import Foundation

/// Reads values back from the keys of an index, so that a row need not be looked at.
///
/// The byte picture is that of ``KeyBuilder``. Keys come from the store: what does not look like one is reported, not trusted.
struct IndexKeyReader {
  private let parts: [IndexSchema.Part]

  init(_ index: IndexSchema) { parts = index.parts }

  /// The slots whose values can be read back. Decimals cannot.
  static func readableSlots(_ index: IndexSchema) -> SlotBitmap {
    index.parts.reduce(into: SlotBitmap()) { if $1.kind != .decimal { $0.insert($1.slot) } }
  }

  /// The values of a key in the order of the parts. Nil when one of them was too long for the key, or the key is none of the index's.
  func values(_ key: UnsafeRawBufferPointer, into values: inout [AttributeValue]) -> Bool {
    values.removeAll(keepingCapacity: true)
    guard key.count >= 8 else { return false }
    var rest = UnsafeRawBufferPointer(rebasing: key.dropLast(8))
    for part in parts {
      guard let value = Self.next(part, &rest) else { return false }
      values.append(value)
    }
    return rest.isEmpty
  }

  /// The place of a slot among the values.
  func place(of slot: Int) -> Int? { parts.firstIndex { $0.slot == slot } }

  private static func next(_ part: IndexSchema.Part, _ bytes: inout UnsafeRawBufferPointer) -> AttributeValue?
  {
    let mask: UInt8 = part.isAscending ? 0 : 0xFF
    guard let tag = bytes.first.map({ $0 ^ mask }) else { return nil }
    bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    if tag == 0x05 { return .null }
    guard tag == 0x10 else { return nil }
    switch part.kind {
    case .int16, .int32, .int64: return word(&bytes, mask).map { .integer(Int64(bitPattern: $0 ^ 1 << 63)) }
    case .double: return word(&bytes, mask).map { .double(number($0)) }
    case .date: return word(&bytes, mask).map { .date(Date(timeIntervalSinceReferenceDate: number($0))) }
    case .reference: return word(&bytes, mask).map { .reference($0) }
    case .float:
      guard bytes.count >= 4 else { return nil }
      let bits = bytes.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1 ^ mask) }
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(4))
      return .float(Float(bitPattern: bits >> 31 == 1 ? bits ^ 1 << 31 : ~bits))
    case .boolean:
      guard let byte = bytes.first else { return nil }
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      return .boolean(byte ^ mask != 0)
    case .uuid:
      guard bytes.count >= 16 else { return nil }
      var uuid = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
      withUnsafeMutableBytes(of: &uuid) { target in
        for place in 0..<16 { target[place] = bytes[place] ^ mask }
      }
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(16))
      return .uuid(UUID(uuid: uuid))
    case .string, .data, .url: return variable(part.kind, &bytes, mask)
    case .decimal, .transient: return nil
    }
  }

  private static func word(_ bytes: inout UnsafeRawBufferPointer, _ mask: UInt8) -> UInt64? {
    guard bytes.count >= 8 else { return nil }
    let word = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) ^ (mask == 0 ? 0 : .max)
    bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(8))
    return word
  }

  private static func number(_ word: UInt64) -> Double {
    Double(bitPattern: word >> 63 == 1 ? word ^ 1 << 63 : ~word)
  }

  private static func variable(_ kind: SlotKind, _ bytes: inout UnsafeRawBufferPointer, _ mask: UInt8)
    -> AttributeValue?
  {
    var content: [UInt8] = []
    var place = 0
    while place < bytes.count {
      let byte = bytes[place] ^ mask
      place += 1
      if byte != 0 {
        content.append(byte)
        continue
      }
      guard place < bytes.count else { return nil }
      let next = bytes[place] ^ mask
      place += 1
      switch next {
      case 0xFF: content.append(0)
      case 0x01:
        bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(place))
        return RowBytes.externalValue(Data(content), kind: kind)
      default: return nil
      }
    }
    return nil
  }
}
