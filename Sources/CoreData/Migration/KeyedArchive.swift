import Foundation

/// The objects of a keyed archive as they lie in it: nothing is made of a class that the archive names.
///
/// | class in the archive | value |
/// |---|---|
/// | plain texts, numbers, truth values, bytes | themselves |
/// | `NSString`, `NSMutableString` | `NS.string` |
/// | `NSData`, `NSMutableData` | `NS.data` |
/// | `NSDate` | `NS.time`, seconds since 2001 |
/// | `NSUUID` | `NS.uuidbytes` |
/// | `NSURL` | `NS.relative`, with `NS.base` |
/// | `NSDecimalNumber`, `NSDecimalNumberPlaceholder` | `NS.mantissa` in words of 16 bits, `NS.exponent`, `NS.negative` |
/// | `NSArray`, `NSMutableArray` | `NS.objects` |
/// | `NSNull` | nil |
final class KeyedArchive {
  /// An object with a class.
  struct Coded {
    let className: String
    fileprivate let members: [String: BinaryPropertyList.Object]
  }

  private let list: BinaryPropertyList
  private let objects: [Int]
  /// What was read already, by number: an archive that refers to one large object again and again is read in the time of its bytes.
  private var known: [Int: Coded?] = [:]
  /// The outermost object.
  let root: Coded
  /// How many more objects are read, long texts and data counting as several: references make an archive of a few bytes a tree without end.
  private var remaining = 100_000

  /// Nil when `data` is no keyed archive of one object.
  init?(_ data: Data) {
    guard let list = BinaryPropertyList(data), let top = Self.members(list, list[list.top]),
      case .string("NSKeyedArchiver")? = top["$archiver"], case .array(let objects)? = top["$objects"],
      let first = top["$top"], case .identifier(let number)? = Self.members(list, first)?["root"]
    else { return nil }
    self.list = list
    self.objects = objects
    guard let root = Self.coded(number, list, objects) else { return nil }
    self.root = root
  }

  private static func members(_ list: BinaryPropertyList, _ object: BinaryPropertyList.Object?)
    -> [String: BinaryPropertyList.Object]?
  {
    guard case .dictionary(let keys, let values)? = object else { return nil }
    var members: [String: BinaryPropertyList.Object] = [:]
    for (key, value) in zip(keys, values) {
      guard case .string(let name)? = list[key], let object = list[value] else { return nil }
      members[name] = object
    }
    return members
  }

  private static func coded(_ number: Int, _ list: BinaryPropertyList, _ objects: [Int]) -> Coded? {
    guard objects.indices.contains(number), let members = members(list, list[objects[number]]),
      case .identifier(let type)? = members["$class"], objects.indices.contains(type),
      case .string(let name)? = Self.members(list, list[objects[type]])?["$classname"]
    else { return nil }
    return Coded(className: name, members: members)
  }

  private func coded(_ number: Int) -> Coded? {
    if let found = known[number] { return found }
    let found = Self.coded(number, list, objects)
    known[number] = .some(found)
    return found
  }

  // MARK: Members

  /// The object with a class that `object` has under `key`; nil for none and for anything else.
  func coded(_ key: String, of object: Coded) -> Coded? {
    guard remaining > 0, case .identifier(let number)? = object.members[key] else { return nil }
    remaining -= 1
    return coded(number)
  }

  func integer(_ key: String, of object: Coded) -> Int? {
    guard case .integer(let number)? = object.members[key] else { return nil }
    return Int(exactly: number)
  }

  func text(_ key: String, of object: Coded) -> String? {
    (try? value(key, of: object, 0)) as? String
  }

  /// The objects with a class in the list under `key`; none where there is no list. Nil when an element is something else.
  func codedList(_ key: String, of object: Coded) -> [Coded]? {
    guard let array = coded(key, of: object) else { return [] }
    guard case .array(let numbers)? = array.members["NS.objects"] else { return nil }
    var found: [Coded] = []
    for number in numbers {
      remaining -= 1
      guard remaining > 0, case .identifier(let reference)? = list[number],
        let object = coded(reference)
      else { return nil }
      found.append(object)
    }
    return found
  }

  /// A value that is none of the table's.
  struct UnknownValue: Error { let description: String }

  /// The value under `key` as the table says; nil where there is none.
  /// - Throws: ``UnknownValue``.
  func value(_ key: String, of object: Coded) throws -> Any? { try value(key, of: object, 0) }

  private func value(_ key: String, of object: Coded, _ depth: Int) throws -> Any? {
    guard let member = object.members[key] else { return nil }
    return try value(member, depth)
  }

  private func value(_ object: BinaryPropertyList.Object, _ depth: Int) throws -> Any? {
    // An archive may contain itself.
    remaining -= 1
    guard depth < 32, remaining > 0 else { throw UnknownValue(description: "a list of lists without end") }
    switch object {
    case .null: return nil
    case .boolean(let value): return value
    case .integer(let value): return value
    case .real(let value): return value
    case .date(let value): return value
    case .data(let value):
      remaining -= value.count / 64
      return value
    case .string(let value):
      remaining -= value.utf8.count / 64
      return value == "$null" ? nil : value
    case .identifier(let number):
      guard objects.indices.contains(number), let found = list[objects[number]] else {
        throw UnknownValue(description: "a reference to nothing")
      }
      if case .dictionary = found {
        guard let object = coded(number) else {
          throw UnknownValue(description: "an object without a class")
        }
        return try value(of: object, depth + 1)
      }
      if case .identifier = found { throw UnknownValue(description: "a reference to a reference") }
      return try value(found, depth + 1)
    case .array, .dictionary: throw UnknownValue(description: "a collection without a class")
    }
  }

  private func value(of object: Coded, _ depth: Int) throws -> Any? {
    let unknown = UnknownValue(description: "a value of class \(object.className)")
    switch object.className {
    case "NSNull": return nil
    case "NSString", "NSMutableString": return try value("NS.string", of: object, depth)
    case "NSData", "NSMutableData": return try value("NS.data", of: object, depth)
    case "NSDate":
      guard case .real(let seconds)? = object.members["NS.time"] else { throw unknown }
      return Date(timeIntervalSinceReferenceDate: seconds)
    case "NSUUID":
      guard case .data(let bytes)? = object.members["NS.uuidbytes"], bytes.count == 16 else { throw unknown }
      return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    case "NSURL":
      guard let text = try value("NS.relative", of: object, depth) as? String else { throw unknown }
      let base = try value("NS.base", of: object, depth) as? URL
      guard let url = URL(string: text, relativeTo: base) else { throw unknown }
      return url.absoluteURL
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder":
      guard let number = decimal(object) else { throw unknown }
      return number
    case "NSArray", "NSMutableArray":
      guard case .array(let numbers)? = object.members["NS.objects"] else { throw unknown }
      return try numbers.map { number -> Any in
        guard let element = list[number] else { throw unknown }
        return try value(element, depth) ?? NSNull()
      }
    default: throw unknown
    }
  }

  /// The mantissa's words are of 16 bits; the archive says in which byte order (1 is the least significant byte first).
  private func decimal(_ object: Coded) -> Decimal? {
    guard case .data(let mantissa)? = object.members["NS.mantissa"], mantissa.count == 16,
      case .integer(let exponent)? = object.members["NS.exponent"], (-128...127).contains(exponent),
      case .integer(let length)? = object.members["NS.length"], (0...8).contains(length)
    else { return nil }
    let isLittle: Bool
    if case .integer(let order)? = object.members["NS.mantissa.bo"] {
      isLittle = order != 2
    } else {
      isLittle = true
    }
    var isNegative = false
    if case .boolean(true)? = object.members["NS.negative"] { isNegative = true }
    if length == 0 { return isNegative ? .nan : 0 }
    let bytes = [UInt8](mantissa)
    var number = Decimal(0)
    for word in (0..<Int(length)).reversed() {
      let (first, second) = (Int(bytes[2 * word]), Int(bytes[2 * word + 1]))
      number = number * 65_536 + Decimal(isLittle ? first | second << 8 : first << 8 | second)
    }
    let scaled = Decimal(sign: .plus, exponent: Int(exponent), significand: number)
    return isNegative ? -scaled : scaled
  }
}
