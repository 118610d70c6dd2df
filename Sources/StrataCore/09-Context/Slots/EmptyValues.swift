@_spi(Reflection) import Swift

/// The first and emptiest value of types that have one.
enum EmptyValues {
  static func first<Value>(of type: Value.Type) -> Value? {
    if let empty = type as? any EmptyRepresentable.Type { return empty.empty as? Value }
    if let cases = type as? any CaseIterable.Type { return firstCase(cases) as? Value }
    // A set of options without any.
    if let options = type as? any SetAlgebra.Type { return empty(options) as? Value }
    return firstOfPlainEnum(type)
  }

  private static func firstCase<Cases: CaseIterable>(_ type: Cases.Type) -> Any? { type.allCases.first }

  private static func empty<Algebra: SetAlgebra>(_ type: Algebra.Type) -> Any { Algebra() }

  /// The first case of an enum without references.
  private static func firstOfPlainEnum<Value>(_ type: Value.Type) -> Value? {
    guard isEnum(type), _isPOD(type), MemoryLayout<Value>.size <= 8 else { return nil }
    return withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
      guard let start = memory.baseAddress else { return nil }
      // Unsafe: the cases of an enum that is plain memory are numbered from 0, and memory of zeros is the first.
      UnsafeMutableRawPointer(start).initializeMemory(
        as: UInt8.self, repeating: 0, count: MemoryLayout<Value>.stride)
      return start.pointee
    }
  }

  static func isEnum(_ type: Any.Type) -> Bool { kind(of: type) == 0x201 }

  /// A struct, an enum, or an optional.
  private static func isValueType(_ type: Any.Type) -> Bool { (0x200...0x202).contains(kind(of: type)) }

  private static func kind(of type: Any.Type) -> UInt {
    // Unsafe: metadata begin with the kind of the type: 0x200 for a struct, 0x201 for an enum, 0x202 for an optional.
    unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee
  }

  // MARK: Placeholders

  /// How deep types are looked into.
  static let mostLevels = 8

  /// Some value of the type, for code that must be given one and whose result is thrown away; nil where none can be made.
  ///
  /// Asked for in turn: the emptiest value; of raw values the first that the type takes; what is decoded from zeros and empty texts; and a struct whose
  /// stored properties have such values, past its own initialisers.
  static func placeholder<Value>(of type: Value.Type, depth: Int = 0) -> Value? {
    guard depth < mostLevels else { return nil }
    if let none = Any?.none as? Value { return none }
    if let plain = type as? any AttributeRepresentable.Type { return plain.absentValue as? Value }
    if let value = first(of: type) { return value }
    if let raw = type as? any RawRepresentable.Type, let value = firstTaken(by: raw) as? Value {
      return value
    }
    if let type = type as? any Decodable.Type,
      let value = try? type.init(from: EmptyDecoder(type, depth: depth + 1)) as? Value
    {
      return value
    }
    return memberwise(type, depth + 1)
  }

  /// The value of the first common raw value that the type takes.
  private static func firstTaken<Value: RawRepresentable>(by type: Value.Type) -> Any? {
    commonRawValues(Value.RawValue.self).lazy.compactMap {
      ($0 as? Value.RawValue).flatMap { Value(rawValue: $0) }
    }.first
  }

  private static func commonRawValues(_ type: Any.Type) -> [Any] {
    if type is String.Type { return ["", "a", "A", "0", "a@b.example", "https://a.example", "#000000"] }
    if let type = type as? any FixedWidthInteger.Type { return numbers(type) }
    if let plain = type as? any AttributeRepresentable.Type { return [plain.absentValue] }
    return []
  }

  private static func numbers<Number: FixedWidthInteger>(_ type: Number.Type) -> [Any] {
    [0, 1, 2, 10, 100].map { Number($0) }
  }

  /// A struct whose stored properties have placeholders.
  private static func memberwise<Value>(_ type: Value.Type, _ depth: Int) -> Value? {
    guard kind(of: type) == 0x200 else { return nil }
    var members: [(offset: Int, member: any PlaceholderMember)] = []
    var end = 0
    let isWhole = _forEachField(of: type) { _, offset, field, _ in
      func member<Field>(_ type: Field.Type) -> (any PlaceholderMember)? {
        placeholder(of: type, depth: depth).map { Member(value: $0) }
      }
      // References may be weak or unowned, which are kept in another way.
      guard isValueType(unwrappedType(field)), let made = _openExistential(field, do: member) else {
        return false
      }
      members.append((offset, made))
      end = max(end, offset + made.size)
      return true
    }
    // A type of Swift's or C's own may have memory that no field tells of.
    guard isWhole, !members.isEmpty, end == MemoryLayout<Value>.size else { return nil }
    return withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
      guard let start = memory.baseAddress else { return nil }
      // Unsafe: every stored property is initialised once, in its own place and with a value of its own type.
      for (offset, member) in members { member.initialize(UnsafeMutableRawPointer(start) + offset) }
      return start.move()
    }
  }
}

/// The value of one stored property, which is still to be put there.
private protocol PlaceholderMember {
  var size: Int { get }
  func initialize(_ place: UnsafeMutableRawPointer)
}

private struct Member<Value>: PlaceholderMember {
  let value: Value
  var size: Int { MemoryLayout<Value>.size }
  func initialize(_ place: UnsafeMutableRawPointer) {
    place.initializeMemory(as: Value.self, repeating: value, count: 1)
  }
}

/// A collection that can be empty.
private protocol EmptyRepresentable {
  static var empty: Self { get }
}

extension Array: EmptyRepresentable {
  static var empty: [Element] { [] }
}
extension Set: EmptyRepresentable {
  static var empty: Set<Element> { [] }
}
extension Dictionary: EmptyRepresentable {
  static var empty: [Key: Value] { [:] }
}
