import Foundation

/// A value of a property list.
indirect enum PropertyListValue: Equatable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  /// Seconds since 2001.
  case date(Double)
  case data(Data)
  case string(String)
  case array([PropertyListValue])
  case dictionary([String: PropertyListValue])
  /// Where an archive has another object.
  case reference(Int)

  var string: String? { if case .string(let value) = self { value } else { nil } }
  var data: Data? { if case .data(let value) = self { value } else { nil } }
  var array: [PropertyListValue]? { if case .array(let value) = self { value } else { nil } }
  var dictionary: [String: PropertyListValue]? {
    if case .dictionary(let value) = self { value } else { nil }
  }
  var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .boolean(let value): value ? 1 : 0
    case .real(let value): Int64(exactly: value)
    default: nil
    }
  }
  var flag: Bool? { integer.map { $0 != 0 } }
}

/// Reads binary property lists of unknown origin: whatever the bytes say, no more than so many values come of them, so deep inside each other.
struct BinaryPropertyList {
  struct Fault: Error, CustomStringConvertible { let description: String }

  private let bytes: [UInt8]
  private let referenceLength: Int
  private let offsets: [Int]
  private var valuesLeft: Int
  private var bytesLeft: Int
  private let mostLevels: Int

  /// - Throws: `BinaryPropertyList.Fault`.
  static func value(
    _ bytes: [UInt8], mostValues: Int = 2_000_000, mostLevels: Int = 64
  ) throws -> PropertyListValue {
    let (list, top) = try BinaryPropertyList.opened(bytes, mostValues, mostLevels)
    var reader = list
    return try reader.value(top, level: 0)
  }

  static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: Array("bplist00".utf8)) }

  private static func opened(
    _ bytes: [UInt8], _ mostValues: Int, _ mostLevels: Int
  ) throws -> (BinaryPropertyList, Int) {
    guard isOne(bytes), bytes.count >= 8 + 32 else {
      throw Fault(description: "it is no binary property list")
    }
    let trailer = bytes.count - 32
    let offsetLength = Int(bytes[trailer + 6])
    let referenceLength = Int(bytes[trailer + 7])
    guard let count = number(bytes, trailer + 8, 8), let top = number(bytes, trailer + 16, 8),
      let table = number(bytes, trailer + 24, 8), (1...8).contains(offsetLength),
      (1...8).contains(referenceLength),
      count > 0, count <= mostValues, top < count, table >= 8, table <= trailer,
      count <= (trailer - table) / offsetLength
    else { throw Fault(description: "the end of the property list is damaged") }
    let offsets = try (0..<count).map { place in
      guard let offset = number(bytes, table + place * offsetLength, offsetLength), offset >= 8,
        offset < table
      else { throw Fault(description: "a value of the property list lies outside of it") }
      return offset
    }
    return (
      BinaryPropertyList(
        bytes: Array(bytes[..<table]), referenceLength: referenceLength, offsets: offsets,
        valuesLeft: mostValues,
        // What several places refer to is read for each of them.
        bytesLeft: 4 * bytes.count + (1 << 20), mostLevels: mostLevels), top
    )
  }

  /// An unsigned number, most significant byte first; nil when it does not fit or lies outside.
  private static func number(_ bytes: [UInt8], _ start: Int, _ length: Int) -> Int? {
    guard start >= 0, length >= 0, start <= bytes.count - length else { return nil }
    var value: UInt64 = 0
    for place in start..<start + length {
      if value >> 56 != 0 { return nil }
      value = value << 8 | UInt64(bytes[place])
    }
    return Int(exactly: value)
  }

  private mutating func value(_ index: Int, level: Int) throws -> PropertyListValue {
    guard index < offsets.count else { throw Fault(description: "the property list refers to nothing") }
    guard level < mostLevels else { throw Fault(description: "the property list is nested too deeply") }
    guard valuesLeft > 0 else { throw Fault(description: "the property list has too many values") }
    valuesLeft -= 1
    let place = offsets[index]
    let (kind, low) = (bytes[place] >> 4, Int(bytes[place] & 0xF))
    switch kind {
    case 0x0:
      switch low {
      case 0: return .null
      case 8: return .boolean(false)
      case 9: return .boolean(true)
      default: throw Fault(description: "the property list has a value of an unknown kind")
      }
    case 0x1: return .integer(try integer(place + 1, low))
    case 0x2: return .real(try real(place + 1, low))
    case 0x3: return .date(try real(place + 1, low))
    case 0x4:
      let (start, count) = try extent(place, low, 1)
      return .data(Data(bytes[start..<start + count]))
    case 0x5:
      let (start, count) = try extent(place, low, 1)
      guard let text = String(validating: bytes[start..<start + count], as: UTF8.self) else {
        throw Fault(description: "a text of the property list is damaged")
      }
      return .string(text)
    case 0x6:
      let (start, count) = try extent(place, low, 2)
      let units = (0..<count).map { UInt16(bytes[start + 2 * $0]) << 8 | UInt16(bytes[start + 2 * $0 + 1]) }
      guard let text = String(validating: units, as: UTF16.self) else {
        throw Fault(description: "a text of the property list is damaged")
      }
      return .string(text)
    case 0x8:
      guard let target = Self.number(bytes, place + 1, low + 1) else {
        throw Fault(description: "a reference of the property list is damaged")
      }
      return .reference(target)
    case 0xA, 0xC:
      let (start, count) = try extent(place, low, referenceLength)
      return .array(try (0..<count).map { try value(reference(start, $0), level: level + 1) })
    case 0xD:
      let (start, count) = try extent(place, low, 2 * referenceLength)
      var dictionary: [String: PropertyListValue] = [:]
      for item in 0..<count {
        guard case .string(let key) = try value(reference(start, item), level: level + 1) else {
          throw Fault(description: "a key of the property list is no text")
        }
        dictionary[key] = try value(reference(start, count + item), level: level + 1)
      }
      return .dictionary(dictionary)
    default: throw Fault(description: "the property list has a value of an unknown kind")
    }
  }

  private func reference(_ start: Int, _ item: Int) throws -> Int {
    guard let index = Self.number(bytes, start + item * referenceLength, referenceLength) else {
      throw Fault(description: "a reference of the property list is damaged")
    }
    return index
  }

  /// Where the contents of a value lie, and how many items they have.
  private mutating func extent(_ place: Int, _ low: Int, _ itemLength: Int) throws -> (Int, Int) {
    var (start, count) = (place + 1, low)
    if low == 0xF {
      guard start < bytes.count, bytes[start] >> 4 == 1 else {
        throw Fault(description: "a length of the property list is damaged")
      }
      let length = 1 << Int(bytes[start] & 0xF)
      guard length <= 8, let value = Self.number(bytes, start + 1, length) else {
        throw Fault(description: "a length of the property list is damaged")
      }
      (start, count) = (start + 1 + length, value)
    }
    guard start <= bytes.count, count <= (bytes.count - start) / itemLength else {
      throw Fault(description: "a value of the property list is cut off")
    }
    guard count * itemLength <= bytesLeft else {
      throw Fault(description: "the property list repeats too much")
    }
    bytesLeft -= count * itemLength
    return (start, count)
  }

  private func integer(_ start: Int, _ power: Int) throws -> Int64 {
    let length = 1 << power
    guard power <= 4, start <= bytes.count - length else {
      throw Fault(description: "a number of the property list is damaged")
    }
    var value: UInt64 = 0
    // Of sixteen bytes the upper eight tell the sign, as the lower do for what fits.
    for place in max(start, start + length - 8)..<start + length { value = value << 8 | UInt64(bytes[place]) }
    return length >= 8 ? Int64(bitPattern: value) : Int64(value)
  }

  private func real(_ start: Int, _ power: Int) throws -> Double {
    guard power == 2 || power == 3, start <= bytes.count - (1 << power) else {
      throw Fault(description: "a number of the property list is damaged")
    }
    let value = bytes[start..<start + (1 << power)].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    return power == 2 ? Double(Float(bitPattern: UInt32(value))) : Double(bitPattern: value)
  }
}
