import Foundation

/// What kind of thing a mapping does to an entity (rule 311). Core Data's `NSEntityMappingType`.
public enum EntityMappingType: UInt, Sendable, CaseIterable {
  case undefined = 0
  /// A custom policy decides.
  case custom = 1
  /// The entity is new.
  case add = 2
  /// The entity goes: nothing becomes of its objects.
  case remove = 3
  /// The objects stay what they are.
  case copy = 4
  /// The objects change.
  case transform = 5
}

/// How the objects of one entity become objects of another. Core Data's `NSEntityMapping`.
///
/// Changed freely until a migration uses it; used on one thread. Equal by value, as property mappings and mapping models are: code that makes
/// values, and what `userInfo` holds, as far as they can be compared; a closure equals itself only.
public final class EntityMapping: NSObject, NSCopying {
  /// The name by which the manager's associations are asked for; unique in the mapping model. Where none was set, and after nil was, it is made of the
  /// entities' names, `Source->Destination`.
  public var name: String! {
    get { givenName ?? "\(sourceEntityName ?? "")->\(destinationEntityName ?? "")" }
    set { givenName = newValue }
  }
  private var givenName: String?
  /// What happens to the entity.
  @_disfavoredOverload public var mappingType = EntityMappingType.undefined
  /// The entity of the objects there are; nil for one that is new.
  public var sourceEntityName: String?
  /// The version hash that the source entity must have; nil for any.
  public var sourceEntityVersionHash: Data?
  /// The entity of the objects that are made; nil for one that goes.
  public var destinationEntityName: String?
  /// The version hash that the destination entity must have; nil for any.
  public var destinationEntityVersionHash: Data?
  /// How attributes get their values. Nil in a mapping of type `copy`: all from attributes of the same names.
  public var attributeMappings: [PropertyMapping]?
  /// How relationships get their members. Nil in a mapping of type `copy`: all from relationships of the same names.
  public var relationshipMappings: [PropertyMapping]?
  /// Which objects are migrated: an array of objects, or a fetch request for them. Nil for all of the source entity, without those of
  /// its subentities, which have mappings of their own.
  public var sourceObjects: (any MigrationExpression)?
  /// The name of the policy's class, `Module.Class`; nil for ``EntityMigrationPolicy`` itself.
  public var entityMigrationPolicyClassName: String? {
    didSet { if entityMigrationPolicyClassName != oldValue { policyClass = nil } }
  }
  /// The policy's class, when it is not to be found by its name.
  public var policyClass: EntityMigrationPolicy.Type?
  /// For the policy.
  public var userInfo: [AnyHashable: Any]?

  /// A mapping that says nothing yet.
  public override init() { super.init() }

  /// A mapping of one entity to another.
  public convenience init(
    _ name: String, from source: String?, to destination: String?, type: EntityMappingType = .transform,
    attributes: [PropertyMapping]? = nil, relationships: [PropertyMapping]? = nil,
    policy: EntityMigrationPolicy.Type? = nil
  ) {
    self.init()
    self.name = name
    sourceEntityName = source
    destinationEntityName = destination
    mappingType = type
    attributeMappings = attributes
    relationshipMappings = relationships
    policyClass = policy
  }

  /// A copy with the same contents.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = EntityMapping()
    copy.givenName = givenName
    copy.mappingType = mappingType
    copy.sourceEntityName = sourceEntityName
    copy.sourceEntityVersionHash = sourceEntityVersionHash
    copy.destinationEntityName = destinationEntityName
    copy.destinationEntityVersionHash = destinationEntityVersionHash
    copy.attributeMappings = attributeMappings
    copy.relationshipMappings = relationshipMappings
    copy.sourceObjects = sourceObjects
    copy.entityMigrationPolicyClassName = entityMigrationPolicyClassName
    copy.policyClass = policyClass
    copy.userInfo = userInfo
    return copy
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? EntityMapping else { return false }
    if self === other { return true }
    guard name == other.name, mappingType == other.mappingType,
      sourceEntityName == other.sourceEntityName,
      sourceEntityVersionHash == other.sourceEntityVersionHash,
      destinationEntityName == other.destinationEntityName,
      destinationEntityVersionHash == other.destinationEntityVersionHash,
      entityMigrationPolicyClassName == other.entityMigrationPolicyClassName,
      policyClass == other.policyClass
    else { return false }
    return attributeMappings == other.attributeMappings && relationshipMappings == other.relationshipMappings
      && MigrationExpressions.areSame(sourceObjects, other.sourceObjects)
      && NotedValues.areEqual(userInfo, other.userInfo)
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(name)
    hasher.combine(mappingType)
    hasher.combine(sourceEntityName)
    hasher.combine(destinationEntityName)
    return hasher.finalize()
  }

  /// A policy for one migration.
  /// - Throws: ``CoreDataError`` 134110 when there is no class of that name.
  func makePolicy() throws -> EntityMigrationPolicy {
    if let policyClass { return policyClass.init() }
    guard let className = entityMigrationPolicyClassName else { return EntityMigrationPolicy() }
    let names =
      className.contains(".")
      ? [className] : LoadedClasses.modules(declaring: className).map { "\($0).\(className)" }
    for name in names {
      if let found = NSClassFromString(name) as? EntityMigrationPolicy.Type { return found.init() }
    }
    throw CoreDataError(
      .migration,
      "There is no migration policy of the class “\(className)”, which the mapping “\(name ?? "")” wants.")
  }
}

/// How one property of an object gets its value. Core Data's `NSPropertyMapping`.
public final class PropertyMapping: NSObject {
  /// The property of the destination entity.
  public var name: String?
  /// What makes the value; nil leaves the property as a new object has it.
  public var value: (any MigrationExpression)?
  /// For the policy.
  public var userInfo: [AnyHashable: Any]?

  /// A mapping that says nothing yet.
  public override init() { super.init() }

  /// A mapping whose value is made by `value`.
  public convenience init(_ name: String, _ value: @escaping (MigrationInput) throws -> Any?) {
    self.init()
    self.name = name
    self.value = MigrationClosure(value)
  }

  /// A mapping that takes over what a key path of the source leads to.
  public convenience init(_ name: String, from keyPath: String) {
    self.init()
    self.name = name
    value = SourceKeyPath(path: keyPath)
  }

  /// A mapping of a relationship whose members are what has become of the members of a source's relationship.
  public convenience init(_ name: String, fromRelationship relationship: String) {
    self.init()
    self.name = name
    value = MigratedMembers(relationship: relationship)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? PropertyMapping else { return false }
    return self === other
      || name == other.name && MigrationExpressions.areSame(value, other.value)
        && NotedValues.areEqual(userInfo, other.userInfo)
  }

  public override var hash: Int { name.hashValue }
}

/// What programs note in mappings.
private enum NotedValues {
  /// Whether both hold the same; values that cannot be compared differ.
  static func areEqual(_ first: [AnyHashable: Any]?, _ second: [AnyHashable: Any]?) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    return first.count == second.count
      && first.allSatisfy { key, value in
        guard let other = second[key] else { return false }
        if let value = value as? AnyHashable, let other = other as? AnyHashable { return value == other }
        return type(of: value) is AnyClass && type(of: other) is AnyClass
          && value as AnyObject === other as AnyObject
      }
  }
}
