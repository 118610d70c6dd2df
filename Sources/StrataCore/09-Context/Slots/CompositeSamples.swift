import Foundation
@_spi(Reflection) import Swift

// What composite attributes answer while key paths are followed on probes. A key path such as `\Trip.place.latitude` reads the whole attribute, and what it hands out of it
// is seen by the values alone: it is followed several times, on values whose elements all differ from each other.

/// Values of composite attributes for key paths to be followed on.
enum CompositeSamples {
  /// How many different values there are: enough for truth values and cases to take turns in ways of their own, once with the others in step and once against them, and
  /// for a last value whose optional elements are nil.
  static let rounds = 15
  private static let turns = 7

  /// The elements of one value, as far as values can be made for them.
  static func elements(of type: any CompositeValue.Type, _ round: Int) -> [String: Any] {
    var place = 0
    return elements(of: type, round, &place, 0)
  }

  private static func elements(
    of type: any CompositeValue.Type, _ round: Int, _ place: inout Int, _ depth: Int
  ) -> [String: Any] {
    let types = Dictionary(properties(of: type).map { ($0.name, $0.type) }) { first, _ in first }
    var made: [String: Any] = [:]
    for element in type.elements {
      place += 1
      let known = types[element.name]
      if round == rounds - 1, element.isOptional, known.map({ $0 is any OptionalValue.Type }) ?? true {
        continue
      }
      let wrapped = known.map { unwrappedType($0) }
      if element is CompositeAttributeDescription {
        if let inner = wrapped as? any CompositeValue.Type, depth < EmptyValues.mostLevels {
          made[element.name] = elements(of: inner, round, &place, depth + 1)
        }
      } else if let value = sample(element.attributeType, wrapped, round, place) {
        made[element.name] = value
      } else if let value = element.defaultValue ?? wrapped.flatMap({ stored($0) }) {
        made[element.name] = value
      }
    }
    return made
  }

  /// The defaults of the elements, as a new object has them; nil when none has any.
  static func defaults(of elements: [AttributeDescription]) -> [String: Any] {
    var made: [String: Any] = [:]
    for element in elements {
      if let composite = element as? CompositeAttributeDescription {
        let inner = defaults(of: composite.elements)
        if !inner.isEmpty { made[element.name] = inner }
      } else if let value = element.defaultValue {
        made[element.name] = value
      }
    }
    return made
  }

  /// The element that a key path of a composite's struct leads to; nil for everything else.
  static func elementName(_ keyPath: AnyKeyPath) -> String? {
    guard let type = type(of: keyPath).rootType as? any CompositeValue.Type,
      let name = properties(of: type).first(where: { $0.keyPath == keyPath })?.name,
      type.elements.contains(where: { $0.name == name })
    else { return nil }
    return name
  }

  // MARK: Steps

  /// The stored properties of a struct.
  private static func properties(of type: any CompositeValue.Type) -> [(
    name: String, keyPath: AnyKeyPath, type: Any.Type
  )] {
    func find<Value: CompositeValue>(_ type: Value.Type) -> [(
      name: String, keyPath: AnyKeyPath, type: Any.Type
    )] {
      var found: [(name: String, keyPath: AnyKeyPath, type: Any.Type)] = []
      _ = _forEachFieldWithKeyPath(of: type) { name, keyPath in
        let keyPath: AnyKeyPath = keyPath
        found.append((String(cString: name), keyPath, Swift.type(of: keyPath).valueType))
        return true
      }
      return found
    }
    return find(type)
  }

  /// Some value of a type as the attribute holds it.
  private static func stored(_ type: Any.Type) -> Any? {
    func make<Value>(_ type: Value.Type) -> Any? { EmptyValues.placeholder(of: type) }
    let made = _openExistential(type, do: make)
    return (made as? any RawRepresentable).map { $0.rawValue } ?? made
  }

  /// One of several values that the element in a place may hold; nil when none can be made.
  private static func sample(_ type: AttributeType, _ swift: Any.Type?, _ round: Int, _ place: Int) -> Any? {
    let opposes = round >= turns && round < 2 * turns
    let step = round % turns
    // Two places differ in one of these at least, whatever it is divided by.
    let turn = (step < turns - 1 ? place >> step : place + 1) + (opposes ? 1 : 0)
    if let raw = swift as? any RawRepresentable.Type, raw.takesSomeValuesOnly {
      guard let values = raw.everyRawValue, !values.isEmpty else { return nil }
      return values[turn % values.count]
    }
    // Every other number is negative, and some are large, which what is cut to a range is not. Some types take small ones only.
    let small = place * 16 + round
    let isNarrow = swift is any NarrowInteger.Type
    let isLarge = !isNarrow && type != .integer16 && round >= turns
    let number = isNarrow ? small % 120 : (isLarge ? small * 1_000_003 : small) * (round & 1 == 0 ? 1 : -1)
    switch type {
    case .integer16: return Int16(truncatingIfNeeded: number)
    case .integer32: return Int32(truncatingIfNeeded: number)
    case .integer64: return Int64(number)
    case .boolean: return turn & 1 == 1
    case .double: return Double(number) + 0.5
    case .float: return Float(small) * (round & 1 == 0 ? 1 : -1) + 0.5
    case .decimal: return Decimal(number)
    // Not the same in other letters, without spaces at its ends, and cut.
    case .string: return " Sample \(number) of Äpfel, \(number) "
    case .date: return Date(timeIntervalSinceReferenceDate: Double(number) + 0.25)
    case .binaryData: return Data("sample \(number)".utf8)
    case .uuid:
      let (low, high) = (UInt8(truncatingIfNeeded: small), UInt8(truncatingIfNeeded: small >> 8))
      return UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, high, low))
    case .uri: return URL(string: "strata:sample-\(small)")
    case .undefined, .transformable, .objectID, .composite: return nil
    }
  }
}
