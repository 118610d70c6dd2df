import Foundation

/// Reads one JSON text from bytes, piece by piece and strictly. Takes no memory but for the texts that are asked for.
struct JSONReader {
  /// What is wrong, and at which byte of the text, from 1.
  struct Fault: Error, CustomStringConvertible {
    let column: Int
    let message: String
    var description: String { "\(message) (column \(column))" }
  }

  private let bytes: UnsafeRawBufferPointer
  private(set) var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func fault(_ message: String) -> Fault { Fault(column: position + 1, message: message) }

  /// The next byte that is no space; nil at the end.
  mutating func peek() -> UInt8? {
    while position < bytes.count {
      let byte = bytes[position]
      if byte != 0x20 && byte != 0x09 && byte != 0x0D && byte != 0x0A { return byte }
      position += 1
    }
    return nil
  }

  mutating func expect(_ byte: UInt8) throws {
    guard peek() == byte else {
      throw fault(
        "“\(Character(UnicodeScalar(byte)))” is expected\(position < bytes.count ? "" : ", and the line ends")"
      )
    }
    position += 1
  }

  /// Whether the byte comes next; it is taken then.
  mutating func takes(_ byte: UInt8) -> Bool {
    if peek() != byte { return false }
    position += 1
    return true
  }

  mutating func expectEnd() throws {
    if peek() != nil { throw fault("There is more behind the end of the value") }
  }

  // MARK: Objects and arrays

  /// Calls `body` with each key of an object, as its bytes; `body` takes the value.
  mutating func forEachMember(_ body: (UnsafeRawBufferPointer, inout JSONReader) throws -> Void) throws {
    try expect(UInt8(ascii: "{"))
    if takes(UInt8(ascii: "}")) { return }
    repeat {
      guard peek() == UInt8(ascii: "\"") else { throw fault("A key in quotes is expected") }
      if let key = plainString() {
        try expect(UInt8(ascii: ":"))
        try body(key, &self)
      } else {
        let key = Array(try string().utf8)
        try expect(UInt8(ascii: ":"))
        try key.withUnsafeBytes { try body($0, &self) }
      }
    } while takes(UInt8(ascii: ","))
    try expect(UInt8(ascii: "}"))
  }

  /// Calls `body` for each element of an array; `body` takes it.
  mutating func forEachElement(_ body: (inout JSONReader) throws -> Void) throws {
    try expect(UInt8(ascii: "["))
    if takes(UInt8(ascii: "]")) { return }
    repeat { try body(&self) } while takes(UInt8(ascii: ","))
    try expect(UInt8(ascii: "]"))
  }

  /// Passes over a value of any kind; its bytes.
  mutating func skip(depth: Int = 0) throws -> UnsafeRawBufferPointer {
    guard depth < 200 else { throw fault("The value is nested too deeply") }
    let first = peek()
    let start = position
    switch first {
    case UInt8(ascii: "{"): try forEachMember { _, reader in _ = try reader.skip(depth: depth + 1) }
    case UInt8(ascii: "["): try forEachElement { _ = try $0.skip(depth: depth + 1) }
    case UInt8(ascii: "\""): if plainString() == nil { _ = try string() }
    case UInt8(ascii: "t"), UInt8(ascii: "f"): _ = try boolean()
    case UInt8(ascii: "n"): guard takesNull() else { throw fault("“null” is expected") }
    default: _ = try number()
    }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<position])
  }

  // MARK: Single values

  mutating func takesNull() -> Bool { peek() == UInt8(ascii: "n") && takes("null") }

  mutating func boolean() throws -> Bool {
    switch peek() {
    case UInt8(ascii: "t") where takes("true"): return true
    case UInt8(ascii: "f") where takes("false"): return false
    default: throw fault("“true” or “false” is expected")
    }
  }

  private mutating func takes(_ word: StaticString) -> Bool {
    // Where there are bytes, there is a base.
    guard bytes.count - position >= word.utf8CodeUnitCount,
      memcmp(bytes.baseAddress! + position, word.utf8Start, word.utf8CodeUnitCount) == 0
    else { return false }
    position += word.utf8CodeUnitCount
    return true
  }

  /// The text of a number, as JSON writes them.
  mutating func number() throws -> Substring {
    _ = peek()
    let start = position
    func isDigit() -> Bool { position < bytes.count && bytes[position] &- 48 < 10 }
    if position < bytes.count, bytes[position] == UInt8(ascii: "-") { position += 1 }
    guard isDigit() else { throw fault("A number is expected") }
    if bytes[position] == UInt8(ascii: "0") {
      position += 1
      if isDigit() { throw fault("A number begins with a zero") }
    }
    while isDigit() { position += 1 }
    if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      position += 1
      guard isDigit() else { throw fault("A digit is expected behind the point") }
      while isDigit() { position += 1 }
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      position += 1
      if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
      {
        position += 1
      }
      guard isDigit() else { throw fault("A digit is expected in the exponent") }
      while isDigit() { position += 1 }
    }
    return Substring(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self)
  }

  /// A whole number, which fits into 64 bits.
  mutating func integer() throws -> Int64 {
    let next = peek()
    var place = position
    let isNegative = next == UInt8(ascii: "-")
    if isNegative { place += 1 }
    let start = place
    var value: UInt64 = 0
    while place < bytes.count, case let digit = bytes[place] &- 48, digit < 10, place - start < 18 {
      value = value &* 10 &+ UInt64(digit)
      place += 1
    }
    let isPlain =
      place > start && (place - start == 1 || bytes[start] != UInt8(ascii: "0"))
      && (place == bytes.count || !Self.goesOn(bytes[place]))
    if isPlain {
      position = place
      return isNegative ? -Int64(value) : Int64(value)
    }
    let from = position
    let text = try number()
    guard let whole = Int64(text) else {
      position = from
      throw fault("\(text.prefix(40)) is no whole number of 64 bits")
    }
    return whole
  }

  /// Whether a number goes on with the byte.
  private static func goesOn(_ byte: UInt8) -> Bool {
    byte &- 48 < 10 || byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
  }

  /// The bytes of a text without escapes, which is taken; nil for another one.
  mutating func plainString() -> UnsafeRawBufferPointer? {
    guard peek() == UInt8(ascii: "\"") else { return nil }
    var place = position + 1
    while place < bytes.count {
      let byte = bytes[place]
      if byte == UInt8(ascii: "\"") {
        defer { position = place + 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[position + 1..<place])
      }
      if byte == UInt8(ascii: "\\") || byte < 0x20 { return nil }
      place += 1
    }
    return nil
  }

  /// A text.
  mutating func string() throws -> String {
    if let plain = plainString() {
      guard let text = String(validating: plain, as: UTF8.self) else {
        throw fault("The text before is not UTF-8")
      }
      return text
    }
    try expect(UInt8(ascii: "\""))
    var result: [UInt8] = []
    while true {
      guard position < bytes.count else { throw fault("A text does not end") }
      let byte = bytes[position]
      if byte < 0x20 { throw fault("There is a control character in a text") }
      position += 1
      if byte == UInt8(ascii: "\"") { break }
      if byte != UInt8(ascii: "\\") {
        result.append(byte)
        continue
      }
      guard position < bytes.count else { throw fault("A text does not end") }
      let letter = bytes[position]
      position += 1
      switch letter {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): result.append(letter)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "u"): result.append(contentsOf: String(try scalar()).utf8)
      default:
        position -= 1
        throw fault("There is an unknown escape in a text")
      }
    }
    guard let text = String(validating: result, as: UTF8.self) else {
      throw fault("The text before is not UTF-8")
    }
    return text
  }

  private mutating func scalar() throws -> Character {
    let first = try unit()
    if let scalar = UnicodeScalar(UInt32(first)) { return Character(scalar) }
    guard first < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
      bytes[position + 1] == UInt8(ascii: "u")
    else { throw fault("Half a character is written as \\u") }
    position += 2
    let second = try unit()
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = UnicodeScalar((UInt32(first) - 0xD800) << 10 + UInt32(second) - 0xDC00 + 0x10000)
    else { throw fault("Half a character is written as \\u") }
    return Character(scalar)
  }

  private mutating func unit() throws -> UInt16 {
    guard position + 4 <= bytes.count,
      let value = UInt16(
        String(decoding: UnsafeRawBufferPointer(rebasing: bytes[position..<position + 4]), as: UTF8.self),
        radix: 16), bytes[position] != UInt8(ascii: "+"), bytes[position] != UInt8(ascii: "-")
    else { throw fault("Four hexadecimal digits are expected behind \\u") }
    position += 4
    return value
  }
}
