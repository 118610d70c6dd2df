import StrataCore
import Synchronization

/// The entities of a group of models: what their classes say of themselves, and of those that their relationships lead to.
///
///     let schema = Schema([Trip.self, Place.self], version: Schema.Version(2, 0, 0))
///
/// Made once and never changed; may be used from any thread. Making one reads the classes' metadata, which evaluates the initial values of their
/// properties.
public final class Schema: Codable, Sendable {
  /// The entities, in the order in which the classes were given or found.
  public let entities: [Entity]
  /// The entities by name.
  public let entitiesByName: [String: Entity]
  /// The version of this schema.
  public let version: Version
  /// The version of the form in which this schema was encoded.
  public let encodingVersion: Version
  /// The version of the form in which schemas are encoded now.
  public static let schemaEncodingVersion = Version(1, 0, 0)

  /// What is wrong with the classes, one sentence each; told when a container is made.
  let faults: [String]
  private let model = Mutex<ManagedObjectModel?>(nil)

  /// A schema without entities.
  public convenience init() { self.init([any PersistentModel.Type](), version: Version(1, 0, 0)) }

  /// The schema of `types` and of all classes that they lead to: by relationships, as superclasses.
  public init(_ types: [any PersistentModel.Type], version: Version = Version(1, 0, 0)) {
    let built = SchemaBuilder.entities(of: types)
    entities = built.entities
    entitiesByName = Self.byName(built.entities)
    faults = built.faults
    self.version = version
    encodingVersion = Self.schemaEncodingVersion
  }

  /// The schema of `types` and of all classes that they lead to.
  public convenience init(_ types: any PersistentModel.Type..., version: Version = Version(1, 0, 0)) {
    self.init(types, version: version)
  }

  /// A schema of entities that were made by hand. A container needs classes: it refuses entities that have none.
  public init(_ entities: Entity..., version: Version = Version(1, 0, 0)) {
    self.entities = entities
    entitiesByName = Self.byName(entities)
    faults = []
    self.version = version
    encodingVersion = Self.schemaEncodingVersion
  }

  /// The schema of a version.
  public convenience init(versionedSchema: any VersionedSchema.Type) {
    self.init(versionedSchema.models, version: versionedSchema.versionIdentifier)
  }

  private static func byName(_ entities: [Entity]) -> [String: Entity] {
    Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  // MARK: Asking

  /// The entity of a class; nil when the schema does not have it.
  public func entity<T: PersistentModel>(for type: T.Type) -> Entity? {
    entitiesByName[Self.entityName(for: type)].flatMap {
      $0.modelType == nil || $0.modelType == type ? $0 : nil
    }
  }

  /// The name of a class's entity: that of the class, without what it is nested in.
  public static func entityName<T: PersistentModel>(for type: T.Type) -> String { "\(type)" }

  /// The name of the entity of a class that is known at run time only.
  static func name(of type: any PersistentModel.Type) -> String { "\(type)" }

  /// The classes of all entities.
  var types: [any PersistentModel.Type] { entities.compactMap(\.modelType) }

  /// The class of an entity.
  func type(forEntity name: String) -> (any PersistentModel.Type)? { entitiesByName[name]?.modelType }

  /// The names of an entity and of all that inherit from it.
  func subentities(of name: String) -> [String] {
    [name] + (entitiesByName[name]?.subentities ?? []).flatMap { subentities(of: $0.name) }
  }

  /// The model that a store of this schema has: the same object each time.
  ///
  /// - Parameter rowClass: The class of the rows of each model.
  /// - Throws: ``SchemaError`` with a sentence for everything that is wrong.
  func managedObjectModel(rowClass: @escaping (any PersistentModel.Type) -> AnyClass) throws
    -> ManagedObjectModel
  {
    try model.withLock { model in
      if let model { return model }
      let made = try SchemaTranslation(self, rowClass: rowClass).model()
      model = made
      return made
    }
  }

  // MARK: Files

  /// Writes the schema to a file, as JSON.
  /// - Throws: `EncodingError`, and what writing throws.
  public func save(to toURL: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
    try encoder.encode(self).write(to: toURL, options: .atomic)
  }

  /// The schema in a file. Its entities have the classes that the program has under their names.
  /// - Throws: `DecodingError`, and what reading throws.
  public static func load(from fromURL: URL) throws -> Schema {
    try JSONDecoder().decode(Schema.self, from: Data(contentsOf: fromURL))
  }

  private enum CodingKeys: CodingKey { case entities, version, encodingVersion }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    entities = try container.decode([Entity].self, forKey: .entities)
    version = try container.decode(Version.self, forKey: .version)
    encodingVersion = try container.decode(Version.self, forKey: .encodingVersion)
    guard encodingVersion <= Self.schemaEncodingVersion else {
      throw DecodingError.dataCorruptedError(
        forKey: .encodingVersion, in: container,
        debugDescription: "The schema is of the form \(encodingVersion), which is newer than this program's.")
    }
    entitiesByName = Self.byName(entities)
    faults = []
    for entity in entities {
      guard let name = entity.superentityName, let parent = entitiesByName[name] else { continue }
      parent.add(subentity: entity)
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entities, forKey: .entities)
    try container.encode(version, forKey: .version)
    try container.encode(encodingVersion, forKey: .encodingVersion)
  }
}

extension Schema: Hashable, CustomDebugStringConvertible {
  public static func == (lhs: Schema, rhs: Schema) -> Bool {
    lhs === rhs || lhs.version == rhs.version && Set(lhs.entities) == Set(rhs.entities)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(version)
    hasher.combine(Set(entities.map(\.name)))
  }

  public var debugDescription: String {
    "Schema \(version)\n" + entities.map { "  " + $0.debugDescription }.joined(separator: "\n")
  }
}

extension Schema {
  /// The number of a version: major, minor, patch.
  public struct Version: Codable, Comparable, CustomStringConvertible, Hashable, Sendable {
    public let major: Int
    public let minor: Int
    public let patch: Int

    /// A version. No part is negative.
    public init(_ major: Int, _ minor: Int, _ patch: Int) {
      precondition(major >= 0 && minor >= 0 && patch >= 0, "a part of a schema's version is negative")
      self.major = major
      self.minor = minor
      self.patch = patch
    }

    public static func < (lhs: Version, rhs: Version) -> Bool {
      (lhs.major, lhs.minor, lhs.patch) < (rhs.major, rhs.minor, rhs.patch)
    }

    public var description: String { "\(major).\(minor).\(patch)" }
  }
}
