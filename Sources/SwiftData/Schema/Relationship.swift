extension Schema {
  /// One relationship of an entity: what `@Relationship` says, and what the schema makes of it.
  public final class Relationship: SchemaProperty, CustomDebugStringConvertible, @unchecked Sendable {
    // @unchecked Sendable: changed only by the code that makes it, before a schema has it.

    public var name: String
    public var originalName: String
    /// The key path to the property; nil in a schema that was read from a file.
    public var keypath: AnyKeyPath?
    /// The options, in the order in which they were given.
    public var options: [Option]
    public var valueType: any Any.Type
    /// The name of the entity at the other end.
    public var destination: String
    /// What the deletion of an object does to those at the other end.
    public var deleteRule: DeleteRule
    /// The name of the property that leads back; nil when none does.
    public var inverseName: String?
    /// The property that leads back, where it was named.
    public var inverseKeyPath: AnyKeyPath?
    /// The fewest objects; nil and 0 are no bound.
    public var minimumModelCount: Int?
    /// The most objects; nil and 0 are no bound.
    public var maximumModelCount: Int?
    /// Text that marks a version that nothing else would tell from another.
    public var hashModifier: String?

    /// What `@Relationship` says; the schema adds name, type and the other end.
    public init(
      _ options: Option..., deleteRule: DeleteRule = .nullify, minimumModelCount: Int? = 0,
      maximumModelCount: Int? = 0, originalName: String? = nil, inverse: AnyKeyPath? = nil,
      hashModifier: String? = nil
    ) {
      name = ""
      self.originalName = originalName ?? ""
      self.options = options
      valueType = Void.self
      destination = ""
      self.deleteRule = deleteRule
      inverseKeyPath = inverse
      self.minimumModelCount = minimumModelCount
      self.maximumModelCount = maximumModelCount
      self.hashModifier = hashModifier
    }

    /// A relationship with the same options for a property of an entity.
    init(_ name: String, like other: Relationship?, keypath: AnyKeyPath, destination: String) {
      self.name = name
      let original = other?.originalName ?? ""
      originalName = original.isEmpty ? name : original
      self.keypath = keypath
      options = other?.options ?? []
      valueType = Swift.type(of: keypath).valueType
      self.destination = destination
      deleteRule = other?.deleteRule ?? .nullify
      inverseKeyPath = other?.inverseKeyPath
      minimumModelCount = other?.minimumModelCount ?? 0
      maximumModelCount = other?.maximumModelCount ?? 0
      hashModifier = other?.hashModifier
    }

    public var isUnique: Bool { options.contains(.unique) }
    /// Whether it leads to one object at most.
    public var isToOneRelationship: Bool { toOneType(valueType) != nil }

    /// What happens to the objects at the other end when an object is deleted.
    public enum DeleteRule: String, Codable, Sendable {
      /// Nothing: they keep referring to an object that is gone.
      case noAction
      /// They refer to it no longer.
      case nullify
      /// They are deleted too.
      case cascade
      /// The save is refused while there are any.
      case deny
    }

    /// One thing that `@Relationship` says.
    public struct Option: Codable, Hashable, CustomDebugStringConvertible, Sendable {
      private let name: String
      /// No two objects refer to the same one.
      public static var unique: Option { Option(name: "unique") }
      public var debugDescription: String { name }
    }

    // MARK: Coding

    private enum CodingKeys: CodingKey {
      case name, originalName, options, valueType, destination, deleteRule, inverseName, minimumModelCount
      case maximumModelCount, hashModifier
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      originalName = try container.decode(String.self, forKey: .originalName)
      options = try container.decode([Option].self, forKey: .options)
      valueType = TypeCoding.type(named: try container.decode(String.self, forKey: .valueType)) ?? Void.self
      destination = try container.decode(String.self, forKey: .destination)
      deleteRule = try container.decode(DeleteRule.self, forKey: .deleteRule)
      inverseName = try container.decodeIfPresent(String.self, forKey: .inverseName)
      minimumModelCount = try container.decodeIfPresent(Int.self, forKey: .minimumModelCount)
      maximumModelCount = try container.decodeIfPresent(Int.self, forKey: .maximumModelCount)
      hashModifier = try container.decodeIfPresent(String.self, forKey: .hashModifier)
    }

    /// Key paths are not encoded.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(originalName, forKey: .originalName)
      try container.encode(options, forKey: .options)
      try container.encode(TypeCoding.name(of: valueType), forKey: .valueType)
      try container.encode(destination, forKey: .destination)
      try container.encode(deleteRule, forKey: .deleteRule)
      try container.encodeIfPresent(inverseName, forKey: .inverseName)
      try container.encodeIfPresent(minimumModelCount, forKey: .minimumModelCount)
      try container.encodeIfPresent(maximumModelCount, forKey: .maximumModelCount)
      try container.encodeIfPresent(hashModifier, forKey: .hashModifier)
    }

    public static func == (lhs: Relationship, rhs: Relationship) -> Bool {
      lhs === rhs
        || lhs.name == rhs.name && lhs.originalName == rhs.originalName && lhs.options == rhs.options
          && lhs.valueType == rhs.valueType && lhs.destination == rhs.destination
          && lhs.deleteRule == rhs.deleteRule && lhs.inverseName == rhs.inverseName
          && lhs.minimumModelCount == rhs.minimumModelCount && lhs.maximumModelCount == rhs.maximumModelCount
          && lhs.hashModifier == rhs.hashModifier
    }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(name)
      hasher.combine(destination)
    }

    public var debugDescription: String {
      "\(name): \(valueType) → \(destination)\(inverseName.map { ".\($0)" } ?? "") (\(deleteRule.rawValue))"
    }
  }
}

/// The model that a to-one relationship of this type leads to; nil when the type is no such thing.
func toOneType(_ type: Any.Type) -> (any PersistentModel.Type)? {
  ((type as? any OptionalType.Type)?.unwrappedType ?? type) as? any PersistentModel.Type
}

/// The model that a to-many relationship of this type leads to; nil when the type is no such thing.
func toManyType(_ type: Any.Type) -> (any PersistentModel.Type)? {
  func element<Collection: RelationshipCollection>(_: Collection.Type) -> any PersistentModel.Type {
    Collection.PersistentElement.self
  }
  return (type as? any RelationshipCollection.Type).map { element($0) }
}
