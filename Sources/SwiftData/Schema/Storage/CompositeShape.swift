@_spi(Reflection) import Swift

/// The elements that a struct is kept in: its coding keys with the types of their values, found by having it decoded from nothing.
///
/// A struct has a shape when it decodes each value by a key of its own, with the methods that the compiler writes for `Codable`, and encodes by the same
/// keys. One that codes itself in another way, or refuses zeros and empty texts, is kept as JSON. So is one whose keys depend on its values: it has a stored property
/// that zeros give no element, and a coding key of that property's that they do not lead to.
final class CompositeShape: @unchecked Sendable {
  // @unchecked Sendable: constants.

  struct Field {
    let name: String
    let type: Any.Type
    let storage: AttributeStorage
  }
  /// How many structs may be within each other.
  static let mostLevels = 8
  /// The element that tells an empty value from none, where nothing else does.
  static let presence = "hasValue"

  let fields: [Field]
  let marksPresence: Bool
  /// A value with zeros and empty texts.
  let placeholder: Any
  /// Key paths from the struct to its elements, and what those are called.
  let elementPaths: [(keyPath: AnyKeyPath, path: String)]

  private let fieldsByName: [String: Field]
  /// By the names of the struct's stored properties.
  private let fieldsByProperty: [String: Field]
  private let encodeAny: (Any, CompositeShape) throws -> [String: Any]
  private let decodeAny: ([String: Any], CompositeShape) throws -> Any

  /// The shape of a type; nil when it has none.
  static func of(_ type: any Codable.Type, isOptional: Bool, depth: Int) -> CompositeShape? {
    func make<Value: Codable>(_: Value.Type) -> CompositeShape? {
      CompositeShape(of: Value.self, isOptional: isOptional, depth: depth)
    }
    return make(type)
  }

  private init?<Value: Codable>(of type: Value.Type, isOptional: Bool, depth: Int) {
    let recording = ShapeRecording()
    guard let value = try? Value(from: ShapeDecoder(recording: recording)), !recording.isOpaque,
      Mirror(reflecting: value).displayStyle == .struct
    else { return nil }
    let names = recording.fields.map(\.name)
    guard !names.isEmpty, Set(names).count == names.count,
      names.allSatisfy({ !$0.isEmpty && !$0.contains(".") && !$0.contains("/") && $0 != Self.presence })
    else { return nil }
    let fields = recording.fields.map {
      Field(name: $0.name, type: $0.type, storage: AttributeStorage($0.type, depth: depth + 1))
    }
    guard fields.allSatisfy({ $0.storage.fault == nil }) else { return nil }
    let (properties, unmatched) = Self.properties(of: Value.self, fields)
    let missing = recording.keys.filter { !names.contains($0.name) }
    // Properties that have no coding key are nobody's business, and neither are keys that only older values have.
    for property in unmatched {
      if missing.contains(where: { $0.name == property.name || $0.caseName == property.name }) { return nil }
      // The key may have any name. Who asks which keys there are goes by the age of what is read.
      if !missing.isEmpty, !recording.asksForKeys, !fields.contains(where: { $0.type == property.type }) {
        return nil
      }
    }
    self.fields = fields
    fieldsByName = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0) })
    placeholder = value
    marksPresence = isOptional && fields.allSatisfy(\.mayBeEmpty)
    fieldsByProperty = Dictionary(
      properties.map { ($0.name, $0.field) }, uniquingKeysWith: { first, _ in first })
    elementPaths = properties.flatMap { property -> [(keyPath: AnyKeyPath, path: String)] in
      let field = property.field
      return [(property.keyPath, field.name)]
        + field.storage.elementPaths.compactMap { inner in
          property.keyPath.appending(path: inner.keyPath).map { ($0, "\(field.name).\(inner.path)") }
        }
    }
    encodeAny = { value, shape in
      guard let value = value as? Value else { throw UnsuitableValue(value: value, wanted: "\(Value.self)") }
      let encoder = CompositeEncoder(shape)
      try value.encode(to: encoder)
      return try encoder.result()
    }
    decodeAny = { elements, shape in try Value(from: CompositeDecoder(shape, elements)) }
    // What is decoded by one set of keys and encoded by another would lose something.
    guard (try? elements(of: value)) != nil else { return nil }
  }

  func field(named name: String) -> Field? { fieldsByName[name] }

  /// Whether a value may have no element at all.
  var mayBeEmpty: Bool { fields.allSatisfy(\.mayBeEmpty) }

  /// The elements of a value, without those that are nil.
  func elements(of value: Any) throws -> [String: Any] {
    var elements = try encodeAny(value, self)
    if marksPresence { elements[Self.presence] = true }
    return elements
  }

  /// The value of elements.
  func value(of elements: [String: Any]) throws -> Any { try decodeAny(elements, self) }

  // MARK: Key paths

  /// The path of an element by the names of the struct's stored properties; nil for none, and for one that is a struct itself.
  func elementName(ofProperties names: ArraySlice<String>) -> String? {
    guard let field = names.first.flatMap({ fieldsByProperty[$0] }) else { return nil }
    guard case .composite(let shape) = field.storage.form else { return names.count == 1 ? field.name : nil }
    return shape.elementName(ofProperties: names.dropFirst()).map { "\(field.name).\($0)" }
  }

  /// The struct's stored properties are matched with its coding keys: by name, and what is then left by order and type. Those that have none are told too.
  private static func properties<Value>(of type: Value.Type, _ fields: [Field])
    -> (
      pairs: [(name: String, keyPath: AnyKeyPath, field: Field)], unmatched: [(name: String, type: Any.Type)]
    )
  {
    var properties: [(name: String, keyPath: PartialKeyPath<Value>)] = []
    _ = _forEachFieldWithKeyPath(of: Value.self) { name, keyPath in
      properties.append((String(cString: name), keyPath))
      return true
    }
    var left = fields
    var pairs: [(name: String, keyPath: AnyKeyPath, field: Field)] = []
    var unnamed: [(name: String, keyPath: PartialKeyPath<Value>)] = []
    for property in properties {
      if let place = left.firstIndex(where: { $0.name == property.name }) {
        pairs.append((property.name, property.keyPath, left.remove(at: place)))
      } else {
        unnamed.append(property)
      }
    }
    var unmatched: [(name: String, type: Any.Type)] = []
    for property in unnamed {
      let type = Swift.type(of: property.keyPath as AnyKeyPath).valueType
      guard let place = left.firstIndex(where: { $0.type == type }) else {
        unmatched.append((property.name, type))
        continue
      }
      pairs.append((property.name, property.keyPath, left.remove(at: place)))
    }
    return (pairs, unmatched)
  }
}

extension CompositeShape.Field {
  /// Whether a value may have nothing under this key.
  var mayBeEmpty: Bool {
    if storage.isOptional { return true }
    if case .composite(let shape) = storage.form { return shape.mayBeEmpty }
    return false
  }
}
