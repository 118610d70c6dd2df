extension Schema {
  /// One entity: what a class of models keeps.
  public final class Entity: Codable, Hashable, CustomDebugStringConvertible, @unchecked Sendable {
    // @unchecked Sendable: changed only by the code that makes it, before a schema has it.

    /// The name: that of the class, without what it is nested in.
    public let name: String
    /// The entities whose classes inherit from this one's.
    public private(set) var subentities: Set<Entity> = []
    /// The entity whose class this one's inherits from.
    public private(set) weak var superentity: Entity?
    /// Its name, also where it is not in the same schema.
    public private(set) var superentityName: String?
    /// The properties that the class itself declares, in order.
    public private(set) var storedProperties: [any SchemaProperty]
    /// Groups of names of properties; no two objects agree in all of a group.
    public internal(set) var uniquenessConstraints: [[String]] = []
    /// Groups of names of properties that the store keeps an index of.
    public internal(set) var indices: [[String]] = []

    /// The class; nil for an entity that was made by hand.
    let modelType: (any PersistentModel.Type)?
    /// Those of `indices` whose properties are the dimensions of a space.
    var spatialIndices: [[String]] = []
    /// Those of `indices` that are one list in order.
    var orderedIndices: [[String]] {
      spatialIndices.reduce(into: indices) { rest, group in
        if let place = rest.lastIndex(of: group) { rest.remove(at: place) }
      }
    }

    /// An entity without properties.
    public convenience init(_ name: String) { self.init(name, modelType: nil, properties: []) }

    /// An entity of these attributes and relationships.
    public convenience init(_ name: String, properties: any SchemaProperty...) {
      self.init(name, modelType: nil, properties: properties)
    }

    /// An entity of these attributes and relationships that others inherit from.
    public convenience init(
      _ name: String, subentities: Entity..., properties: any SchemaProperty...
    ) {
      self.init(name, modelType: nil, properties: properties)
      for entity in subentities { add(subentity: entity) }
    }

    init(_ name: String, modelType: (any PersistentModel.Type)?, properties: [any SchemaProperty]) {
      self.name = name
      self.modelType = modelType
      storedProperties = properties
    }

    func add(subentity: Entity) {
      subentity.superentity = self
      subentity.superentityName = name
      subentities.insert(subentity)
    }

    // MARK: Properties

    /// The properties of the entities that this one inherits from, the topmost first.
    public var inheritedProperties: [any SchemaProperty] { superentity?.properties ?? [] }
    /// All properties, inherited ones first.
    public var properties: [any SchemaProperty] { inheritedProperties + storedProperties }
    /// All attributes.
    public var attributes: Set<Attribute> { Set(properties.compactMap { $0 as? Attribute }) }
    /// All relationships.
    public var relationships: Set<Relationship> { Set(properties.compactMap { $0 as? Relationship }) }
    /// The properties that the class itself declares, by name.
    public var storedPropertiesByName: [String: any SchemaProperty] { Self.byName(storedProperties) }
    /// The inherited properties by name.
    public var inheritedPropertiesByName: [String: any SchemaProperty] { Self.byName(inheritedProperties) }
    /// All properties by name.
    public var propertiesByName: [String: any SchemaProperty] { Self.byName(properties) }
    /// All attributes by name.
    public var attributesByName: [String: Attribute] {
      Dictionary(attributes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    /// All relationships by name.
    public var relationshipsByName: [String: Relationship] {
      Dictionary(relationships.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func byName(_ properties: [any SchemaProperty]) -> [String: any SchemaProperty] {
      Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Coding

    private enum CodingKeys: CodingKey {
      case name, superentityName, attributes, composites, relationships, order, uniquenessConstraints,
        indices,
        spatialIndices
      case modelType
    }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      name = try container.decode(String.self, forKey: .name)
      superentityName = try container.decodeIfPresent(String.self, forKey: .superentityName)
      uniquenessConstraints = try container.decode([[String]].self, forKey: .uniquenessConstraints)
      indices = try container.decode([[String]].self, forKey: .indices)
      spatialIndices = try container.decodeIfPresent([[String]].self, forKey: .spatialIndices) ?? []
      let type = try container.decodeIfPresent(String.self, forKey: .modelType)
      modelType = type.flatMap { TypeCoding.type(named: $0) } as? any PersistentModel.Type
      var properties: [any SchemaProperty] = try container.decode([Attribute].self, forKey: .attributes)
      properties += try container.decode([CompositeAttribute].self, forKey: .composites)
      properties += try container.decode([Relationship].self, forKey: .relationships)
      let order = try container.decode([String].self, forKey: .order)
      let places = Dictionary(
        order.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
      storedProperties = properties.sorted { places[$0.name] ?? .max < places[$1.name] ?? .max }
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encodeIfPresent(superentityName, forKey: .superentityName)
      let attributes = storedProperties.compactMap { $0 as? Attribute }
      try container.encode(attributes.filter { !($0 is CompositeAttribute) }, forKey: .attributes)
      try container.encode(attributes.compactMap { $0 as? CompositeAttribute }, forKey: .composites)
      try container.encode(storedProperties.compactMap { $0 as? Relationship }, forKey: .relationships)
      try container.encode(storedProperties.map(\.name), forKey: .order)
      try container.encode(uniquenessConstraints, forKey: .uniquenessConstraints)
      try container.encode(indices, forKey: .indices)
      if !spatialIndices.isEmpty { try container.encode(spatialIndices, forKey: .spatialIndices) }
      try container.encodeIfPresent(modelType.map { TypeCoding.name(of: $0) }, forKey: .modelType)
    }

    public static func == (lhs: Entity, rhs: Entity) -> Bool {
      lhs === rhs
        || lhs.name == rhs.name && lhs.superentityName == rhs.superentityName
          && lhs.attributes == rhs.attributes && lhs.relationships == rhs.relationships
          && lhs.uniquenessConstraints == rhs.uniquenessConstraints && lhs.indices == rhs.indices
          && lhs.spatialIndices == rhs.spatialIndices
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    public var debugDescription: String {
      "\(name)\(superentityName.map { ": \($0)" } ?? "") {"
        + properties.map { ($0 as? any CustomDebugStringConvertible)?.debugDescription ?? $0.name }
        .joined(separator: "; ") + "}"
    }
  }
}
