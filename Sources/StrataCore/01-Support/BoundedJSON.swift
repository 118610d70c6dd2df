import Foundation

/// JSON of unknown origin, decoded only when it is not nested deeply: decoding recurses, and secondary threads have
/// small stacks (512 KiB on Apple's systems).
enum BoundedJSON {
  /// The most arrays and objects inside each other.
  static let limit = 128

  struct TooDeep: Error, CustomStringConvertible {
    let description = "It is nested more than \(BoundedJSON.limit) levels deep, or is no UTF-8."
  }

  /// Decodes UTF-8.
  static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    guard isBounded(data) else { throw TooDeep() }
    return try JSONDecoder().decode(type, from: data)
  }

  /// Whether `NaN` stands outside of strings, and nothing else of JSON5 does: no comment and no other quotation mark, so that what ``isBounded(_:)`` says holds for JSON5 too.
  static func holdsNaN(_ data: Data) -> Bool {
    data.withUnsafeBytes { bytes in
      var isInString = false
      var isEscaped = false
      var found = false
      for byte in bytes {
        switch byte {
        case _ where isEscaped: isEscaped = false
        case UInt8(ascii: "\\"):
          if !isInString { return false }
          isEscaped = true
        case UInt8(ascii: "\""): isInString.toggle()
        case _ where isInString: break
        case UInt8(ascii: "'"), UInt8(ascii: "/"): return false
        // No other word of JSON has one.
        case UInt8(ascii: "N"): found = true
        default: break
        }
      }
      return found
    }
  }

  /// Whether the text is nested at most `limit` levels deep. What is no JSON may get either answer.
  static func isBounded(_ data: Data) -> Bool {
    data.withUnsafeBytes { bytes in
      var depth = 0
      var isInString = false
      var isEscaped = false
      for byte in bytes {
        switch byte {
        // No UTF-8 text has one outside of strings, nor unescaped inside; every UTF-16 or UTF-32 text of JSON has.
        case 0: return false
        case _ where isEscaped: isEscaped = false
        case UInt8(ascii: "\\") where isInString: isEscaped = true
        case UInt8(ascii: "\""): isInString.toggle()
        case _ where isInString: break
        case UInt8(ascii: "["), UInt8(ascii: "{"):
          depth += 1
          if depth > limit { return false }
        case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        default: break
        }
      }
      return true
    }
  }
}
