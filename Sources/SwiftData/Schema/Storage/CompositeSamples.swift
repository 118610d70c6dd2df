import StrataCore

/// What a composite attribute answers while a key path is followed, in place of zeros or nothing.
final class CompositeAnswer: @unchecked Sendable {
  // @unchecked Sendable: made, used and dropped inside one call, on one thread; task-local values must be Sendable.

  /// The answer to whatever is followed on this thread.
  @TaskLocal static var current: CompositeAnswer?

  let property: PropertyDescriptor
  let value: Any?

  init(_ property: PropertyDescriptor, _ value: Any?) {
    self.property = property
    self.value = value
  }
}

// A key path from a subclass, or from a protocol, reads a property by other code than the key path that the class has declared, and so does one to a computed property: nothing
// tells them apart. Each is followed on several values, whose elements differ from each other. A key path that returns the element each time is taken for it; so it is with
// attributes that hold single values.

extension CompositeShape {
  /// Different values of one element: enough for texts and numbers to differ, and for truth values and cases to take turns in different ways.
  private static let variants = 0..<6

  /// Whether what is followed hands out an element, or the whole for an empty path, of whatever value the property has.
  ///
  /// - Parameter follow: What the key path leads to; nil when it cannot be followed.
  func isHandedOut(_ path: String, of property: PropertyDescriptor, following follow: () -> Any?) -> Bool {
    guard case .attribute(let whole) = property.kind else { return false }
    let names = path.split(separator: ".").map(String.init)[...]
    guard let element = storage(at: names, of: whole) else { return false }

    func isHandedOut(_ elements: [String: Any]?, of value: Any?) -> Bool {
      let answer = CompositeAnswer(property, value)
      let found = CompositeAnswer.$current.withValue(answer) { follow() }
      guard let found else { return false }
      do {
        return Self.isSame(try element.elementForm(found), Self.element(at: names, of: elements))
      } catch {
        return false
      }
    }

    for variant in Self.variants {
      // Once with the others in step, and once against it.
      for others in [variant, variant ^ 1] {
        var sample = Sample()
        guard let made = elements(variant, at: names, others, &sample), !sample.isFixed,
          let value = try? value(of: made), isHandedOut(made, of: value)
        else { return false }
      }
    }
    guard let zeros = try? elements(of: placeholder), isHandedOut(zeros, of: placeholder)
    else { return false }
    return !whole.isOptional || isHandedOut(nil, of: nil)
  }

  /// A value that is being made.
  private struct Sample {
    /// How many elements it has so far.
    var count = 0
    /// Whether an element that was asked for has one value only.
    var isFixed = false
  }

  /// The elements of a value for following: they differ from each other as far as their types allow.
  ///
  /// - Parameters:
  ///   - variant: Which value the element has that is asked for; all of them where the path is empty.
  ///   - others: Which values the others have; nil for an element of the placeholder where none can be made.
  private func elements(
    _ variant: Int?, at path: ArraySlice<String>, _ others: Int, _ sample: inout Sample
  ) -> [String: Any]? {
    guard let plain = try? elements(of: placeholder) else { return nil }
    var made: [String: Any] = [:]
    if marksPresence { made[Self.presence] = true }
    for field in fields {
      let isAsked = variant != nil && (path.isEmpty || path.first == field.name)
      if case .composite(let shape) = field.storage.form {
        let inner = shape.elements(isAsked ? variant : nil, at: path.dropFirst(), others, &sample)
        guard let inner else { return nil }
        made[field.name] = inner
        continue
      }
      sample.count += 1
      if let value = field.storage.sample(isAsked ? variant ?? others : others, sample.count) {
        made[field.name] = value.anyValue
        continue
      }
      made[field.name] = plain[field.name]
      // What is encoded as a whole is not looked up within a composite value.
      if isAsked, case .scalar = field.storage.form { sample.isFixed = true }
      if isAsked, !path.isEmpty { sample.isFixed = true }
    }
    return made
  }

  /// The storage of an element.
  private func storage(at path: ArraySlice<String>, of whole: AttributeStorage) -> AttributeStorage? {
    guard let name = path.first else { return whole }
    guard let field = field(named: name) else { return nil }
    guard case .composite(let shape) = field.storage.form else {
      return path.count == 1 ? field.storage : nil
    }
    return shape.storage(at: path.dropFirst(), of: field.storage)
  }

  private static func element(at path: ArraySlice<String>, of elements: [String: Any]?) -> Any? {
    guard let name = path.first else { return elements }
    let found = elements?[name]
    return path.count == 1 ? found : element(at: path.dropFirst(), of: found as? [String: Any])
  }

  private static func isSame(_ one: Any?, _ other: Any?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    if let one = one as? [String: Any], let other = other as? [String: Any] {
      return one.count == other.count && one.allSatisfy { isSame($0.value, other[$0.key]) }
    }
    guard let one = one as? AnyHashable, let other = other as? AnyHashable else { return false }
    return one == other
  }
}

extension AttributeStorage {
  /// A value as an element of a composite attribute holds it.
  fileprivate func elementForm(_ value: Any) throws -> Any? {
    if case .composite = form { return try elements(value) }
    return try stored(value).anyValue
  }

  /// One of several values that the element in a place may hold; nil when none can be made.
  fileprivate func sample(_ variant: Int, _ place: Int) -> AttributeValue? {
    guard case .scalar(let type) = form else { return nil }
    // Truth values and cases: in turns that differ from place to place.
    let turn = (place >> (variant / 2)) + variant
    if type == .boolean, keeps(.boolean(turn & 1 == 1)) { return .boolean(turn & 1 == 1) }
    let number = place * 8 + variant
    // Every other one is negative, and some are large, which what is cut to a range is not. Numbers of one byte are small.
    let wide = (variant < 4 ? number : number * 1_000_003) * (variant & 1 == 0 ? 1 : -1)
    for number in [wide, number, number % 120] {
      if let value = type.sample(number), keeps(value) { return value }
    }
    let cases = EnumCases.of(valueType).compactMap { try? stored($0) }
    return cases.count > 1 ? cases[turn % cases.count] : nil
  }

  /// Whether there is a value that is stored so.
  private func keeps(_ stored: AttributeValue) -> Bool {
    guard let value = try? value(stored), let again = try? self.stored(value) else { return false }
    return again == stored
  }
}

extension AttributeType {
  /// A value for each number.
  fileprivate func sample(_ number: Int) -> AttributeValue? {
    switch self {
    case .integer16, .integer32, .integer64: return .integer(Int64(number))
    case .double: return .double(Double(number) + 0.5)
    case .float: return .float(Float(number) + 0.5)
    case .decimal: return .decimal(Decimal(number))
    // Not the same in other letters, without spaces at its ends, and cut.
    case .string: return .string(" Sample \(number) of Äpfel, \(number) ")
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(number) + 0.25))
    case .binaryData: return .data(Data("sample \(number)".utf8))
    case .uuid:
      let low = UInt8(truncatingIfNeeded: number)
      let high = UInt8(truncatingIfNeeded: number >> 8)
      return .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, high, low)))
    case .uri: return URL(string: "strata:sample-\(number)").map { .url($0) }
    case .boolean, .undefined, .transformable, .objectID, .composite: return nil
    }
  }
}

/// The cases of enumerations.
private enum EnumCases {
  /// All cases of an enumeration; none where they are not known.
  static func of(_ type: Any.Type) -> [Any] {
    if let type = type as? any CaseIterable.Type { return type.everyCase }
    guard let type = type as? any RawRepresentable.Type else { return [] }
    return numbered(type)
  }

  /// The cases of an enumeration with raw values. It has no payloads: they are numbered from 0, and the number behind the last one stands for nil.
  private static func numbered<Value: RawRepresentable>(_ type: Value.Type) -> [Any] {
    guard _isPOD(Value.self), MemoryLayout<Value>.size == 1, MemoryLayout<Value?>.size == 1,
      // Unsafe: 0 is the first case of an enumeration of one byte, and a value of all other types of one byte that have numbers left for nil.
      case let first = unsafeBitCast(UInt8(0), to: Value.self),
      Mirror(reflecting: first).displayStyle == .enum
    else { return [] }
    // Unsafe: both are of one byte.
    let count = unsafeBitCast(Optional<Value>.none, to: UInt8.self)
    // Unsafe: each number below that of nil is a case.
    return (0..<count).map { unsafeBitCast($0, to: Value.self) }
  }
}

extension CaseIterable {
  fileprivate static var everyCase: [Any] { Array(allCases) }
}
