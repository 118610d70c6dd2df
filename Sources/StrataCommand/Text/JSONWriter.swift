import Foundation
import StrataCore

/// Writes JSON into bytes, without spaces, in the order in which it is told.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []

  mutating func clear() { bytes.removeAll(keepingCapacity: true) }

  mutating func raw(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func raw(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

  mutating func byte(_ byte: UInt8) { bytes.append(byte) }

  /// Takes the last byte back when it is a comma.
  mutating func dropComma() {
    if bytes.last == UInt8(ascii: ",") { bytes.removeLast() }
  }

  mutating func string(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      bytes.append(UInt8(ascii: "\""))
      var start = 0
      for place in utf8.indices {
        let byte = utf8[place]
        // Everything else stands for itself, letters of other scripts too.
        if byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") { continue }
        bytes.append(contentsOf: utf8[start..<place])
        escape(byte)
        start = place + 1
      }
      bytes.append(contentsOf: utf8[start...])
      bytes.append(UInt8(ascii: "\""))
    }
  }

  private mutating func escape(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    default:
      raw("u00")
      let digits = Array("0123456789abcdef".utf8)
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 15)])
    }
  }

  mutating func number(_ value: Int64) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    unsigned(value.magnitude)
  }

  mutating func unsigned(_ value: UInt64) {
    // At most twenty digits, from the last one.
    var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
    withUnsafeMutableBytes(of: &digits) { digits in
      var (rest, place) = (value, 24)
      repeat {
        place -= 1
        digits[place] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      bytes.append(contentsOf: digits[place..<24])
    }
  }

  /// A number of binary floating point as the shortest text that reads back as it; what JSON has no number for as a text.
  mutating func number(_ value: Double) {
    if value.isFinite {
      raw(value.description.utf8)
    } else {
      string(ValueText.special(value))
    }
  }

  mutating func number(_ value: Float) {
    if value.isFinite {
      raw(value.description.utf8)
    } else {
      string(ValueText.special(value))
    }
  }

  /// A value of an attribute. References are links and no values: see `link`.
  mutating func value(_ value: AttributeValue) {
    switch value {
    case .null, .reference: raw("null")
    case .integer(let value): number(value)
    case .boolean(let value): if value { raw("true") } else { raw("false") }
    case .double(let value): number(value)
    case .float(let value): number(value)
    case .date(let value): number(value.timeIntervalSinceReferenceDate)
    case .decimal(let value): string(ValueText.decimal(value))
    case .string(let value): string(value)
    case .data(let value): string(value.base64EncodedString())
    case .uuid(let value): string(value.uuidString)
    case .url(let value): string(value.absoluteString)
    }
  }
}

/// A small report as JSON: an object whose keys stand in the order in which they were given.
enum JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral
{
  case null
  case string(String)
  case number(Int)
  case real(Double)
  case boolean(Bool)
  case value(AttributeValue)
  case array([JSONValue])
  case object([(String, JSONValue)])

  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int) { self = .number(value) }
  init(booleanLiteral value: Bool) { self = .boolean(value) }
  init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(elements) }

  static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
  static func strings(_ texts: some Sequence<String>) -> JSONValue { .array(texts.map { .string($0) }) }

  func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.raw("null")
    case .string(let text): writer.string(text)
    case .number(let number): writer.number(Int64(number))
    case .real(let number): writer.number(number)
    case .boolean(let flag): if flag { writer.raw("true") } else { writer.raw("false") }
    case .value(let value): writer.value(value)
    case .array(let elements):
      writer.byte(UInt8(ascii: "["))
      for element in elements {
        element.write(to: &writer)
        writer.byte(UInt8(ascii: ","))
      }
      writer.dropComma()
      writer.byte(UInt8(ascii: "]"))
    case .object(let members):
      writer.byte(UInt8(ascii: "{"))
      for (key, value) in members {
        writer.string(key)
        writer.byte(UInt8(ascii: ":"))
        value.write(to: &writer)
        writer.byte(UInt8(ascii: ","))
      }
      writer.dropComma()
      writer.byte(UInt8(ascii: "}"))
    }
  }

  var text: String {
    var writer = JSONWriter()
    write(to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

extension Output {
  /// A line of JSON.
  func json(_ value: JSONValue) throws { try line(value.text) }
}
