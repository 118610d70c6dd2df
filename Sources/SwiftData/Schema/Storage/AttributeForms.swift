import StrataCore

/// Finds the form of a type, and what turns its values into it.
enum AttributeForms {
  static func form(of type: Any.Type, isCodable: Bool, isOptional: Bool, depth: Int)
    -> (form: AttributeStorage.Form, codec: AnyAttributeCodec?)
  {
    if !isCodable, let scalar = scalar(type) { return scalar }
    guard let codable = type as? any Codable.Type else {
      return (.none("is of type \(type), which is not Codable: conform to it, or name a transformer"), nil)
    }
    if !isCodable, depth < CompositeShape.mostLevels, !isOfLibrary(type) {
      if let shape = CompositeShape.of(codable, isOptional: isOptional, depth: depth) {
        return (.composite(shape), composite(codable, shape))
      }
    }
    return (.data, data(codable))
  }

  /// The form of a single value, and of one with a raw value.
  private static func scalar(_ type: Any.Type) -> (form: AttributeStorage.Form, codec: AnyAttributeCodec?)? {
    if let type = type as? any AttributeRepresentable.Type { return representable(type) }
    if type == UInt.self { return (.scalar(.decimal), UnsignedCodec<UInt>()) }
    if type == UInt64.self { return (.scalar(.decimal), UnsignedCodec<UInt64>()) }
    if type == CGFloat.self { return (.scalar(.double), CGFloatCodec()) }
    if let type = type as? any RawRepresentable.Type { return raw(type) }
    return nil
  }

  private static func representable<Value: AttributeRepresentable>(_ type: Value.Type)
    -> (form: AttributeStorage.Form, codec: AnyAttributeCodec?)
  {
    (.scalar(Value.attributeType), ScalarCodec<Value>())
  }

  private static func raw<Value: RawRepresentable>(_ type: Value.Type)
    -> (form: AttributeStorage.Form, codec: AnyAttributeCodec?)?
  {
    guard let found = scalar(Value.RawValue.self), let codec = found.codec as? AttributeCodec<Value.RawValue>
    else { return nil }
    return (found.form, RawCodec<Value>(codec))
  }

  private static func data<Value: Codable>(_ type: Value.Type) -> AnyAttributeCodec { DataCodec<Value>() }

  private static func composite<Value: Codable>(_ type: Value.Type, _ shape: CompositeShape)
    -> AnyAttributeCodec
  {
    CompositeCodec<Value>(shape)
  }

  /// Whether a type is of the standard library or of Foundation: what those encode is theirs to change.
  private static func isOfLibrary(_ type: Any.Type) -> Bool {
    let name = String(reflecting: type)
    return ["Swift.", "Foundation.", "FoundationEssentials.", "FoundationInternationalization.", "__C."]
      .contains { name.hasPrefix($0) }
  }
}
