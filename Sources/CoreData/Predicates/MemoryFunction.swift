import Foundation
import StrataCore

/// The functions of expressions that no store evaluates, those that need all values at once, chance or places, and the one of many values that a store evaluates inside of an
/// aggregate only.
enum MemoryFunction: String {
  case median = "median:"
  case mode = "mode:"
  case distinct = "distinct:"
  case standardDeviation = "stddev:"
  case random = "random"
  case randomBelow = "random:"
  case randomBelowToo = "randomn:"
  case withoutIndex = "noindex:"
  case element = "objectFrom:withIndex:"
  case distance = "distanceToLocation:fromLocation:"

  /// The function of that name, also without its one colon.
  init?(selector: String) {
    guard let found = Self(rawValue: selector) ?? Self(rawValue: selector + ":") else { return nil }
    self = found
  }

  /// The value for arguments. Traps for a wrong number of them, and for what is none of the things that the function takes.
  func value(_ arguments: [Any?]) -> Any? {
    switch self {
    case .median: return Self.median(numbers(arguments))
    case .mode: return Self.mode(scalars(arguments))
    case .distinct:
      return require(1, arguments) ? Self.distinct(arguments[0]) : nil
    case .standardDeviation: return Self.deviation(numbers(arguments))
    // `random(3)` has the name of the function without arguments.
    case .random where arguments.isEmpty: return Int.random(in: 0...Int(Int32.max))
    case .random, .randomBelow, .randomBelowToo:
      guard let limit = numbers(arguments).first, limit >= 1 else { return 0 }
      return Int.random(in: 0..<(Int(exactly: limit.rounded(.down)) ?? .max))
    case .withoutIndex: return arguments.first ?? nil
    case .element:
      return require(2, arguments) ? element(of: arguments[0], arguments[1]) : nil
    case .distance:
      guard require(2, arguments), let end = Place(arguments[0]), let start = Place(arguments[1]) else {
        return nil
      }
      return start.distance(to: end)
    }
  }

  private func require(_ count: Int, _ arguments: [Any?]) -> Bool {
    if arguments.count == count { return true }
    refuse("“\(rawValue)” takes \(count) arguments, not \(arguments.count).")
    return false
  }

  // MARK: Values

  /// The values of one list, or the arguments themselves. Nil is none of them.
  private func scalars(_ arguments: [Any?]) -> [AttributeValue] {
    let one = arguments.count == 1 ? KeyedAccess.elements(arguments[0]) : nil
    return (one ?? arguments).compactMap { element in
      guard let element = plain(element) else { return nil }
      guard let value = AttributeValue(element, type: .undefined) else {
        refuse("“\(rawValue)” takes numbers, no \(type(of: element)).")
        return nil
      }
      return value
    }
  }

  private func numbers(_ arguments: [Any?]) -> [Double] {
    scalars(arguments).compactMap { value in
      guard case .double(let number)? = ComparedValues.converted(value, to: .double) else {
        refuse("“\(rawValue)” takes numbers, not \(value).")
        return nil
      }
      return number
    }
  }

  /// The one in the middle, or the mean of the two; nil of none.
  private static func median(_ numbers: [Double]) -> Any? {
    if numbers.isEmpty { return nil }
    let (sorted, middle) = (numbers.sorted(), numbers.count / 2)
    return numbers.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  /// The deviation of all values that there are, not of a sample of them; nil of none.
  private static func deviation(_ numbers: [Double]) -> Any? {
    if numbers.isEmpty { return nil }
    let mean = numbers.reduce(0, +) / Double(numbers.count)
    let squares = numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
    return (squares / Double(numbers.count)).squareRoot()
  }

  /// The values that are there most often, each once, ascending.
  private static func mode(_ values: [AttributeValue]) -> Any? {
    var runs: [(value: AttributeValue, count: Int)] = []
    for value in values.sorted(by: { ComparedValues.order($0, $1) < 0 }) {
      if let last = runs.last, ComparedValues.order(last.value, value) == 0 {
        runs[runs.count - 1].count += 1
      } else {
        runs.append((value, 1))
      }
    }
    let most = runs.map(\.count).max()
    return runs.filter { $0.count == most }.compactMap { $0.value.spelledValue }
  }

  /// The elements that are not nil, each once, as a set; of what is no list or set, itself.
  private static func distinct(_ value: Any?) -> Any? {
    let elements = KeyedAccess.elements(value) ?? [value]
    return DistinctValues.set(elements.compactMap { plain($0) })
  }

  // MARK: Elements

  /// An element of a list by its place, nil where there is none; a value of a dictionary by its key.
  private func element(of collection: Any?, _ index: Any?) -> Any? {
    guard let collection = plain(collection), let index = plain(index) else { return nil }
    if let dictionary = collection as? NSDictionary { return plain(dictionary.object(forKey: index)) }
    if let dictionary = collection as? [AnyHashable: Any] {
      return (index as? AnyHashable).flatMap { plain(dictionary[$0]) }
    }
    guard let elements = KeyedAccess.elements(collection), !(collection is NSSet),
      !(collection is any SetAlgebra)
    else {
      refuse("“\(rawValue)” takes a list or a dictionary, no \(type(of: collection)).")
      return nil
    }
    guard case .integer(let place)? = AttributeValue(index, type: .integer64),
      let place = Int(exactly: place), elements.indices.contains(place)
    else { return nil }
    return elements[place]
  }

  // MARK: Places

  /// A place on the Earth, in degrees.
  private struct Place {
    let latitude: Double
    let longitude: Double
    /// In metres.
    private static let meanRadius = 6_371_008.8

    /// Of a dictionary, a managed object, or stored properties: `latitude` and `longitude`, or a `coordinate` that has them. Nil for anything else.
    init?(_ value: Any?) {
      guard let value = plain(value) else { return nil }
      let owner = Self.property("coordinate", of: value) ?? value
      guard let latitude = Self.degrees("latitude", of: owner),
        let longitude = Self.degrees("longitude", of: owner)
      else { return nil }
      self.latitude = latitude
      self.longitude = longitude
    }

    private static func degrees(_ key: String, of value: Any) -> Double? {
      guard let found = property(key, of: value), let number = AttributeValue(found, type: .undefined),
        case .double(let degrees)? = ComparedValues.converted(number, to: .double)
      else { return nil }
      return degrees
    }

    private static func property(_ key: String, of value: Any) -> Any? {
      switch value {
      case let object as ManagedObject:
        return object.entity.attributesByName[key] == nil ? nil : plain(object.value(forKey: key))
      case let dictionary as NSDictionary: return plain(dictionary.object(forKey: key))
      case let dictionary as [String: Any]: return plain(dictionary[key])
      default:
        return Mirror(reflecting: value).children.first { $0.label == key }.flatMap { plain($0.value) }
      }
    }

    /// Along a great circle, in metres.
    func distance(to other: Place) -> Double {
      let radians = Double.pi / 180
      let half = sin((other.latitude - latitude) * radians / 2)
      let side = sin((other.longitude - longitude) * radians / 2)
      let chord =
        half * half + cos(latitude * radians) * cos(other.latitude * radians) * side * side
      return 2 * Self.meanRadius * asin(min(1, chord.squareRoot()))
    }
  }
}
