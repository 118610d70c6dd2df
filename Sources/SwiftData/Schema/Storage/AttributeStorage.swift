import StrataCore
import Synchronization

/// How values of one Swift type lie in an attribute. The one table that schemas, rows and predicates go by:
///
/// | type | attribute |
/// |---|---|
/// | `Int8`, `Int16`, `UInt8` | integer16 |
/// | `Int32`, `UInt16` | integer32 |
/// | `Int`, `Int64`, `UInt32` | integer64 |
/// | `UInt`, `UInt64` | decimal: exact, and in the order of the values |
/// | `Double`, `CGFloat` | double |
/// | `Float`, `Decimal`, `Bool`, `String`, `Date`, `Data`, `UUID`, `URL` | the attribute of that name |
/// | an enum or other `RawRepresentable` with such a raw value | that of the raw value |
/// | a struct with plain keyed coding | a composite attribute: an element for each coding key |
/// | what else is `Codable`, and all with `.codable` | binaryData: JSON |
/// | whatever has `.transformable` | transformable |
///
/// May be used from any thread.
final class AttributeStorage: @unchecked Sendable {
  // @unchecked Sendable: constants.

  enum Form {
    case scalar(AttributeType)
    case composite(CompositeShape)
    /// JSON, see ``DataCodec``.
    case data
    /// The name of the transformer.
    case transformable(String)
    /// Why there is no such attribute.
    case none(String)
  }
  let form: Form
  /// Whether values may be nil.
  let isOptional: Bool
  /// The type of the values, without the optional around it.
  let valueType: Any.Type
  /// An `AttributeCodec` of the type of the values, optional or not; nil for transformable attributes.
  let codec: AnyAttributeCodec?

  private struct Key: Hashable {
    let type: ObjectIdentifier
    let isCodable: Bool
    let transformer: String?
  }
  private static let known = Mutex<[Key: AttributeStorage]>([:])

  /// The storage of a type, the same object each time.
  static func of(_ type: Any.Type, options: [Schema.Attribute.Option] = []) -> AttributeStorage {
    let transformer = options.lazy.compactMap(\.transformerName).first
    let key = Key(
      type: ObjectIdentifier(type), isCodable: options.contains(.codable), transformer: transformer)
    if let found = known.withLock({ $0[key] }) { return found }
    // Not under the lock: finding the shape of a struct runs its initialiser.
    let made = AttributeStorage(type, isCodable: key.isCodable, transformer: transformer, depth: 0)
    return known.withLock { known in
      if let found = known[key] { return found }
      known[key] = made
      return made
    }
  }

  /// - Parameter depth: How many structs the attribute is within.
  init(_ type: Any.Type, isCodable: Bool = false, transformer: String? = nil, depth: Int) {
    let optional = type as? any OptionalType.Type
    isOptional = optional != nil
    valueType = optional?.unwrappedType ?? type
    if let transformer {
      form = .transformable(transformer)
      codec = nil
      return
    }
    let found = AttributeForms.form(of: valueType, isCodable: isCodable, isOptional: isOptional, depth: depth)
    form = found.form
    codec = isOptional ? found.codec?.optional : found.codec
  }

  /// What is wrong, as the end of a sentence about the attribute; nil when nothing is.
  var fault: String? {
    if case .none(let reason) = form { return reason }
    return nil
  }

  // MARK: Values

  /// The value as a scalar attribute, or one of bytes, holds it. Nil, also within `Any`, is ``AttributeValue/null``.
  /// - Throws: `EncodingError`, and ``UnsuitableValue`` for a value of another type.
  func stored(_ value: Any?) throws -> AttributeValue {
    guard let value = Self.flattened(value) else { return .null }
    guard let codec else { throw UnsuitableValue(value: value, wanted: "value without a transformer") }
    return try codec.storedAny(value)
  }

  /// The value that a scalar attribute, or one of bytes, holds; nil for ``AttributeValue/null``.
  /// - Throws: `DecodingError`, and ``UnsuitableValue`` for what no value of the type is stored as.
  func value(_ stored: AttributeValue) throws -> Any? {
    if stored.isNull { return nil }
    guard let codec else { throw UnsuitableValue(value: stored, wanted: "value without a transformer") }
    return try codec.anyValue(stored)
  }

  /// The elements of a composite value, without those that are nil; what key-value coding takes. Nil for nil.
  /// - Throws: `EncodingError` when the value encodes anything that the type's shape does not have.
  func elements(_ value: Any?) throws -> [String: Any]? {
    guard case .composite(let shape) = form, let value = Self.flattened(value) else { return nil }
    return try shape.elements(of: value)
  }

  /// The value that the elements of a composite make; nil when there are none and the value may be nil.
  /// - Throws: `DecodingError` when elements are missing or of another type.
  func value(elements: [String: Any]?) throws -> Any? {
    guard case .composite(let shape) = form else { return nil }
    if isOptional, elements?.isEmpty ?? true { return nil }
    return try shape.value(of: elements ?? [:])
  }

  /// The value within optionals, also within `Any`; nil when there is none.
  static func flattened(_ value: Any?) -> Any? {
    guard let value else { return nil }
    if let optional = value as? any OptionalType { return flattened(optional.anyWrapped) }
    return value
  }

  // MARK: Key paths into composite values

  /// Key paths from the composite value to its elements, and what those are called: `city`, `position.latitude`.
  var elementPaths: [(keyPath: AnyKeyPath, path: String)] {
    guard case .composite(let shape) = form, !isOptional else { return [] }
    return shape.elementPaths
  }

  /// What a key path from the composite value to an element is called; nil for one that leads to none.
  func elementName(for keyPath: AnyKeyPath) -> String? {
    guard case .composite(let shape) = form else { return nil }
    return shape.elementPaths.first { $0.keyPath == keyPath }?.path
  }

  // MARK: Descriptions

  /// The attribute as a schema has it.
  func schemaAttribute(
    _ name: String, originalName: String, options: [Schema.Attribute.Option], valueType: Any.Type,
    defaultValue: Any?, hashModifier: String?
  ) -> Schema.Attribute {
    guard case .composite(let shape) = form else {
      return Schema.Attribute(
        name: name, originalName: originalName, options: options, valueType: valueType,
        defaultValue: defaultValue, hashModifier: hashModifier)
    }
    let composite = Schema.CompositeAttribute(
      name: name, originalName: originalName, options: options, valueType: valueType,
      defaultValue: defaultValue, hashModifier: hashModifier)
    composite.properties = shape.fields.map { field in
      field.storage.schemaAttribute(
        field.name, originalName: field.name, options: [], valueType: field.type, defaultValue: nil,
        hashModifier: nil)
    }
    return composite
  }

  /// The attribute as a model of Strata's has it.
  func description(named name: String) -> AttributeDescription {
    switch form {
    case .scalar(let type): return AttributeDescription(name, type, isOptional: isOptional)
    case .data, .none: return AttributeDescription(name, .binaryData, isOptional: isOptional)
    case .transformable(let transformer):
      let attribute = AttributeDescription(name, .transformable, isOptional: isOptional)
      attribute.valueTransformerName = transformer
      return attribute
    case .composite(let shape):
      var elements = shape.fields.map { $0.storage.description(named: $0.name) }
      if shape.marksPresence {
        elements.append(AttributeDescription(CompositeShape.presence, .boolean, isOptional: true))
      }
      // A value all of whose elements are nil is there nevertheless: what must have a value is known to the class, and noted for migrations.
      let composite = CompositeAttributeDescription(name, elements: elements, isOptional: true)
      composite.isNullable = isOptional
      return composite
    }
  }

  /// What a new object starts with.
  /// - Throws: What encoding throws.
  func setDefault(_ value: Any, of description: AttributeDescription) throws {
    switch form {
    case .scalar, .data: description.defaultValue = try stored(value).anyValue
    case .transformable: description.defaultValue = Self.flattened(value)
    case .composite:
      guard let composite = description as? CompositeAttributeDescription else { return }
      Self.start(composite, with: try elements(value) ?? [:])
    case .none: break
    }
  }

  private static func start(_ composite: CompositeAttributeDescription, with values: [String: Any]) {
    for element in composite.elements {
      guard let value = values[element.name] else { continue }
      if let inner = element as? CompositeAttributeDescription {
        start(inner, with: value as? [String: Any] ?? [:])
      } else {
        element.defaultValue = value
      }
    }
  }
}

/// A value that is not of the attribute's type.
struct UnsuitableValue: Error, CustomStringConvertible, LocalizedError {
  let description: String
  var errorDescription: String? { description }

  init(value: Any, wanted: String) { description = "\(value) (\(type(of: value))) is no \(wanted)" }
}
