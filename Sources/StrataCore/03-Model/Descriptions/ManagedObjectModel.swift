import Foundation
import Synchronization

/// Entities, their properties and their configurations. Core Data's `NSManagedObjectModel`.
///
/// Built in code, changed freely until a coordinator takes it into use; then every mutation traps (rule 298).
/// The entities of the model must include the superentities of its members.
///
/// Equal are models of one version: ``isEqual(_:)``.
public final class ManagedObjectModel: NSObject, @unchecked Sendable {
  // @unchecked Sendable: mutated only before it is frozen, by the one thread that builds it; the compiled
  // schema, which any thread may ask for, is under the mutex.

  /// All entities, in the order they were given. Subentities of members become members.
  public var entities: [EntityDescription] {
    get { members }
    set {
      requireMutable("entities")
      for entity in members where entity.managedObjectModel === self { entity.managedObjectModel = nil }
      members = Self.closure(of: newValue)
      for entity in members { entity.managedObjectModel = self }
    }
  }
  /// Names for this version of the model, kept in the store's metadata (rule 303).
  @_disfavoredOverload public var versionIdentifiers: Set<String> = [] {
    willSet { requireMutable("versionIdentifiers") }
  }

  /// What errors call entities and properties, and say instead of a rule's warning, under the keys `Entity/Name`,
  /// `Property/name/Entity/Name` (or `Property/name` for all entities) and `ErrorString/warning`. Not part of what a store keeps of a
  /// model.
  public var localizationDictionary: [String: String]? {
    willSet { requireMutable("localizationDictionary") }
  }

  /// The versions in the `.xcdatamodeld` that it was read from: models that the program knows. Read when one is asked for.
  var versionsBeside: [ModelVersion] = []

  /// Fetch requests by name, which a floor above knows (rule 110).
  var templates: [String: any Sendable] = [:] { willSet { requireMutable("fetch request templates") } }

  private var members: [EntityDescription] = []
  private(set) var entitiesByConfiguration: [String: [EntityDescription]] = [:]
  private var isFrozen = false
  /// Does not refer back to the model: see `Schema`.
  private let compiled = Mutex<CompiledModel?>(nil)

  /// A model without entities.
  public override init() { super.init() }

  /// A model of `entities`.
  public init(entities: [EntityDescription]) {
    super.init()
    self.entities = entities
  }

  /// The entities by name.
  public var entitiesByName: [String: EntityDescription] {
    Dictionary(entities.map { ($0.name ?? "", $0) }, uniquingKeysWith: { _, last in last })
  }

  // MARK: Configurations

  /// The names of the configurations, sorted. The default configuration, all entities, has no name.
  public var configurations: [String] { entitiesByConfiguration.keys.sorted() }

  /// The entities of a configuration; all of them for nil (rule 323) and for the name that stores give as theirs then, nil for an unknown name.
  public func entities(forConfigurationName name: String?) -> [EntityDescription]? {
    guard let name else { return entities }
    return entitiesByConfiguration[name] ?? (name == Self.defaultConfigurationName ? entities : nil)
  }

  /// What Core Data's stores give as the name of the default configuration.
  package static let defaultConfigurationName = "PF_DEFAULT_CONFIGURATION_NAME"

  /// Defines a configuration. `entities` must be members of the model.
  public func setEntities(_ entities: [EntityDescription], forConfigurationName name: String) {
    requireMutable("configuration \(name)")
    entitiesByConfiguration[name] = entities
  }

  // MARK: Equality

  /// Whether `object` is a model of the same version: it has entities of the same names and version hashes, and configurations of the same names with
  /// the same entities. A copy is equal, and so is what is read from the same file once more.
  ///
  /// What is no part of a version does not count: classes, default values, rules, indexes, user info, version identifiers, names in other languages. Computes
  /// the hashes of both models, unless they are one object or have different numbers of entities.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? ManagedObjectModel else { return false }
    if self === other { return true }
    return members.count == other.members.count && namesByConfiguration == other.namesByConfiguration
      && entityVersionHashesByName == other.entityVersionHashesByName
  }

  /// The same for all models: it must stay what it is while a model in a set or a dictionary is changed, whose version may change with everything else.
  public override var hash: Int { 0 }

  private var namesByConfiguration: [String: Set<String>] {
    entitiesByConfiguration.mapValues { Set($0.map { $0.name ?? "" }) }
  }

  // MARK: Use

  /// Freezes the model (rule 298) and compiles it, the first time. The schema keeps the model alive, and not the other way round; later calls return
  /// one with the same entities, indexes and relationships.
  ///
  /// - Throws: ``ModelError`` with every sentence that applies. The model then stays changeable.
  package func schema() throws -> Schema {
    let kept = try compiled.withLock { compiled in
      if let compiled { return compiled }
      let sentences = ModelValidation.sentences(of: self)
      guard sentences.isEmpty else {
        throw ModelError(sentences, places: declarations)
      }
      let new = try SchemaCompiler(model: self).compile()
      freeze()
      compiled = new
      return new
    }
    return Schema(self, kept)
  }

  /// What the classes of the entities declare.
  private var declarations: [EntityDeclaration] {
    entities.compactMap { ($0.managedObjectClass as? any SlotDeclaring.Type)?.ownDeclaration }
  }

  private func freeze() {
    isFrozen = true
    for entity in entities { entity.freeze() }
  }

  private func requireMutable(_ property: String) {
    guard !isFrozen else {
      trap(
        """
        the model's \(property) was set after the model was taken into use; \
        change the model before a coordinator uses it, or a copy of it
        """)
    }
  }

  /// The entities and everything below them, each once.
  private static func closure(of entities: [EntityDescription]) -> [EntityDescription] {
    var result = entities
    var seen = Set(entities.map { ObjectIdentifier($0) })
    var next = 0
    while next < result.count {
      for entity in result[next].subentities where seen.insert(ObjectIdentifier(entity)).inserted {
        result.append(entity)
      }
      next += 1
    }
    return result
  }
}
