import Foundation

/// A property list in Foundation's binary form, read one object at a time, references among keyed archives' objects included.
///
///     "bplist00" │ objects │ offset of each object │ trailer: widths, number of objects, outermost object, place of the offsets
///
/// Foundation's own reader does not hand out the references (`UID`) that keyed archives consist of, and its unarchiver stops the process where an archive
/// has a class that was not expected. This one takes bytes from anywhere: what does not fit gives nil.
struct BinaryPropertyList {
  /// What an object is. Members are the numbers of objects.
  enum Object {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case date(Date)
    case data(Data)
    case string(String)
    /// A reference to an object of a keyed archive.
    case identifier(Int)
    case array([Int])
    case dictionary(keys: [Int], values: [Int])
  }

  /// The number of the outermost object.
  let top: Int
  private let bytes: [UInt8]
  private let count: Int
  private let offsets: Int
  private let offsetWidth: Int
  private let referenceWidth: Int

  /// Nil when `data` is no binary property list.
  init?(_ data: Data) {
    bytes = [UInt8](data)
    guard bytes.count >= 40, bytes.starts(with: Array("bplist0".utf8)) else { return nil }
    let trailer = bytes.count - 32
    offsetWidth = Int(bytes[trailer + 6])
    referenceWidth = Int(bytes[trailer + 7])
    guard (1...8).contains(offsetWidth), (1...8).contains(referenceWidth),
      let count = Self.number(bytes, trailer + 8, 8), let top = Self.number(bytes, trailer + 16, 8),
      let offsets = Self.number(bytes, trailer + 24, 8),
      (8...trailer).contains(offsets), count <= (trailer - offsets) / offsetWidth, top < count
    else { return nil }
    self.count = count
    self.top = top
    self.offsets = offsets
  }

  /// The unsigned number of `width` bytes at `place`, the most significant first; nil where it does not lie in the bytes or is no `Int`.
  private static func number(_ bytes: [UInt8], _ place: Int, _ width: Int) -> Int? {
    guard place >= 0, width > 0, place <= bytes.count - width else { return nil }
    var number: UInt64 = 0
    for byte in bytes[place..<place + width] {
      if number >> 56 != 0 { return nil }
      number = number << 8 | UInt64(byte)
    }
    return Int(exactly: number)
  }

  /// The object of that number; nil when there is none, or it is damaged.
  subscript(_ index: Int) -> Object? {
    guard (0..<count).contains(index),
      let place = Self.number(bytes, offsets + index * offsetWidth, offsetWidth), place >= 8,
      place < offsets
    else { return nil }
    let (kind, low) = (bytes[place] >> 4, Int(bytes[place] & 15))
    switch kind {
    case 0: return low == 0 ? .null : low == 8 ? .boolean(false) : low == 9 ? .boolean(true) : nil
    case 1: return integer(place + 1, low)
    case 2: return real(place + 1, low).map { .real($0) }
    case 3:
      guard low == 3, let seconds = real(place + 1, 3) else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case 8: return Self.number(bytes, place + 1, low + 1).map { .identifier($0) }
    default: break
    }
    guard let (first, length) = extent(place, low) else { return nil }
    switch kind {
    case 4: return content(first, length).map { .data(Data($0)) }
    case 5:
      guard let text = content(first, length), text.allSatisfy({ $0 < 128 }) else { return nil }
      return .string(String(decoding: text, as: UTF8.self))
    case 6:
      guard let text = content(first, length, 2) else { return nil }
      let units = stride(from: text.startIndex, to: text.endIndex, by: 2).map {
        UInt16(text[$0]) << 8 | UInt16(text[$0 + 1])
      }
      return String(validating: units, as: UTF16.self).map { .string($0) }
    case 10: return references(first, length).map { .array($0) }
    case 13:
      guard length <= bytes.count, let all = references(first, 2 * length) else { return nil }
      return .dictionary(keys: Array(all[..<length]), values: Array(all[length...]))
    default: return nil
    }
  }

  /// Where the content begins and how many elements it has: the low half of the first byte, or a number after it.
  private func extent(_ place: Int, _ low: Int) -> (first: Int, length: Int)? {
    if low < 15 { return (place + 1, low) }
    guard place + 1 < offsets, bytes[place + 1] >> 4 == 1 else { return nil }
    let power = Int(bytes[place + 1] & 15)
    guard power <= 3, let length = Self.number(bytes, place + 2, 1 << power) else { return nil }
    return (place + 2 + 1 << power, length)
  }

  private func content(_ first: Int, _ length: Int, _ width: Int = 1) -> ArraySlice<UInt8>? {
    guard first <= offsets, length <= (offsets - first) / width else { return nil }
    return bytes[first..<first + length * width]
  }

  private func references(_ first: Int, _ length: Int) -> [Int]? {
    guard content(first, length, referenceWidth) != nil else { return nil }
    var found: [Int] = []
    for index in 0..<length {
      guard let number = Self.number(bytes, first + index * referenceWidth, referenceWidth) else {
        return nil
      }
      found.append(number)
    }
    return found
  }

  private func integer(_ place: Int, _ power: Int) -> Object? {
    let width = 1 << power
    guard power <= 4, let part = content(place, width) else { return nil }
    // Sixteen bytes are written for unsigned numbers of eight; shorter ones are unsigned, eight are two's complement.
    guard width <= 8 || part.prefix(8).allSatisfy({ $0 == 0 }) else { return nil }
    let number = part.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    if width == 16 { return Int64(exactly: number).map { .integer($0) } }
    return .integer(Int64(bitPattern: number))
  }

  private func real(_ place: Int, _ power: Int) -> Double? {
    guard power == 2 || power == 3, let part = content(place, 1 << power) else { return nil }
    let number = part.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return power == 3 ? Double(bitPattern: number) : Double(Float(bitPattern: UInt32(number)))
  }
}
