extension Schema {
  /// One attribute of an entity: what `@Attribute` says, and what the schema makes of it.
  public class Attribute: SchemaProperty, CustomDebugStringConvertible, @unchecked Sendable {
    // @unchecked Sendable: changed only by the code that makes it, before a schema has it.

    public var name: String
    public var originalName: String
    /// The options, in the order in which they were given.
    public var options: [Option]
    public var valueType: any Any.Type
    /// What a new object starts with; nil for none.
    public var defaultValue: Any?
    /// Text that marks a version that nothing else would tell from another.
    public var hashModifier: String?

    /// Options as `@Attribute` gives them; the schema adds name and type.
    public init(_ options: Option..., originalName: String? = nil, hashModifier: String? = nil) {
      name = ""
      self.originalName = originalName ?? ""
      self.options = options
      valueType = Void.self
      self.hashModifier = hashModifier
    }

    /// An attribute as a whole.
    public required init(
      name: String, originalName: String? = nil, options: [Option] = [], valueType: any Any.Type,
      defaultValue: Any? = nil, hashModifier: String? = nil
    ) {
      self.name = name
      self.originalName = originalName ?? name
      self.options = options
      self.valueType = valueType
      self.defaultValue = defaultValue
      self.hashModifier = hashModifier
    }

    public var isUnique: Bool { options.contains(.unique) }
    public var isTransient: Bool { options.contains(.ephemeral) }
    /// Whether a transformer keeps the values.
    public var isTransformable: Bool { transformerName != nil }
    /// Whether the values are kept as encoded bytes, whatever their type.
    public var isCodable: Bool { options.contains(.codable) }

    /// The name of the transformer.
    var transformerName: String? { options.lazy.compactMap(\.transformerName).first }

    // MARK: Coding

    private enum CodingKeys: CodingKey { case name, originalName, options, valueType, hashModifier }

    public required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      originalName = try container.decode(String.self, forKey: .originalName)
      options = try container.decode([Option].self, forKey: .options)
      hashModifier = try container.decodeIfPresent(String.self, forKey: .hashModifier)
      valueType = TypeCoding.type(named: try container.decode(String.self, forKey: .valueType)) ?? Void.self
    }

    /// The default value is not encoded: the class has it.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(originalName, forKey: .originalName)
      try container.encode(options, forKey: .options)
      try container.encode(TypeCoding.name(of: valueType), forKey: .valueType)
      try container.encodeIfPresent(hashModifier, forKey: .hashModifier)
    }

    public static func == (lhs: Attribute, rhs: Attribute) -> Bool {
      lhs === rhs
        || Swift.type(of: lhs) == Swift.type(of: rhs) && lhs.name == rhs.name
          && lhs.originalName == rhs.originalName
          && Set(lhs.options) == Set(rhs.options) && lhs.valueType == rhs.valueType
          && lhs.hashModifier == rhs.hashModifier
    }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(name)
      hasher.combine(originalName)
    }

    public var debugDescription: String {
      let notes = options.map(\.debugDescription).joined(separator: ", ")
      return "\(name): \(valueType)\(notes.isEmpty ? "" : " (\(notes))")"
    }
  }

  /// An attribute whose value is a struct, each of whose properties a store keeps for itself.
  public final class CompositeAttribute: Attribute, @unchecked Sendable {
    // @unchecked Sendable: see Attribute.

    /// The properties of the struct, composite ones among them. They follow from the type, and are not encoded.
    public var properties: [Attribute] = []

    public required init(
      name: String, originalName: String? = nil, options: [Option] = [], valueType: any Any.Type,
      defaultValue: Any? = nil, hashModifier: String? = nil
    ) {
      super.init(
        name: name, originalName: originalName, options: options, valueType: valueType,
        defaultValue: defaultValue, hashModifier: hashModifier)
    }

    public required init(from decoder: any Decoder) throws {
      try super.init(from: decoder)
      let storage = AttributeStorage.of(valueType, options: options)
      let whole = storage.schemaAttribute(
        name, originalName: originalName, options: options, valueType: valueType, defaultValue: nil,
        hashModifier: nil)
      properties = (whole as? CompositeAttribute)?.properties ?? []
    }
  }
}

extension Schema.Attribute {
  /// One thing that `@Attribute` says.
  public struct Option: Codable, Hashable, CustomDebugStringConvertible, Sendable {
    private enum Kind: String, Codable {
      case unique, externalStorage, transformable, ephemeral, preserveValueOnDeletion, spotlight
      case allowsCloudEncryption, codable
    }
    private let kind: Kind
    /// The name of the transformer, of ``transformable(by:)`` only.
    let transformerName: String?

    private init(_ kind: Kind, _ transformerName: String? = nil) {
      self.kind = kind
      self.transformerName = transformerName
    }

    /// No two objects have the same value: of two, a save leaves one.
    public static var unique: Option { Option(.unique) }
    /// A wish to keep large data beside the row. Stores here always do so from 1,024 bytes on.
    public static var externalStorage: Option { Option(.externalStorage) }
    /// Changes are tracked, observed and undone, and no store keeps them.
    public static var ephemeral: Option { Option(.ephemeral) }
    /// History keeps the last value of a deleted object.
    public static var preserveValueOnDeletion: Option { Option(.preserveValueOnDeletion) }
    /// No effect here: there is no Spotlight.
    public static var spotlight: Option { Option(.spotlight) }
    /// No effect here: there is no CloudKit.
    public static var allowsCloudEncryption: Option { Option(.allowsCloudEncryption) }
    /// The value is kept as encoded bytes, even where its type has properties that could be kept for themselves. Nothing can be fetched or sorted by it.
    public static var codable: Option { Option(.codable) }
    /// The transformer that is registered under the name of this class makes bytes of the values.
    public static func transformable(by transformerType: ValueTransformer.Type) -> Option {
      Option(.transformable, "\(transformerType)")
    }
    /// The transformer that is registered under this name makes bytes of the values.
    public static func transformable(by transformerName: String) -> Option {
      Option(.transformable, transformerName)
    }

    public var debugDescription: String {
      transformerName.map { "transformable(by: \($0))" } ?? kind.rawValue
    }
  }
}
