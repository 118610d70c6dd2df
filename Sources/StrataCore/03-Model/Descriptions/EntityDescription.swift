import Foundation

/// One entity of a model. Core Data's `NSEntityDescription`.
///
/// Mutable until the model is taken into use; then every mutation traps, naming the property (rule 298). An
/// entity belongs to one model and one superentity; the model must hold the superentity too.
///
/// Equal are entities of one name and version: ``isEqual(_:)``.
public final class EntityDescription: NSObject, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// The name, unique in the model.
  public var name: String? { willSet { requireMutable("name") } }
  /// Whether the entity has no instances of its own, only those of its subentities.
  public var isAbstract = false { willSet { requireMutable("isAbstract") } }
  /// Groups of names of attributes and to-one relationships; no two objects may agree in all values of a group. Nil agrees with nothing. Subentities inherit them.
  @_disfavoredOverload public var uniquenessConstraints: [[String]] = [] {
    willSet { requireMutable("uniquenessConstraints") }
  }
  /// The indexes declared here. They cover the instances of subentities too.
  public var indexes: [FetchIndexDescription] = [] {
    willSet { requireMutable("indexes") }
    didSet { for index in indexes { index.entity = self } }
  }
  /// Anything the application wants to keep with the entity; see ``PropertyDescription/userInfo``.
  public var userInfo: [AnyHashable: Any]? {
    get { notes.values }
    set { notes.values = newValue ?? [:] }
  }
  private let notes = UserInfo()
  /// Text that is part of the version hash, to mark a change that the description does not show.
  public var versionHashModifier: String? { willSet { requireMutable("versionHashModifier") } }
  /// The entities that inherit from this one.
  public var subentities: [EntityDescription] = [] {
    willSet { requireMutable("subentities") }
    didSet {
      for entity in oldValue where entity.superentity === self { entity.superentity = nil }
      for entity in subentities { entity.superentity = self }
    }
  }
  /// The entity this one inherits from.
  public internal(set) var superentity: EntityDescription? {
    get { superentityReference?.target }
    set { superentityReference = newValue?.ownReference }
  }
  private var superentityReference: BackReference<EntityDescription>?
  /// The model the entity belongs to.
  @_disfavoredOverload public internal(set) weak var managedObjectModel: ManagedObjectModel?

  /// The properties declared by this entity itself, in order.
  package private(set) var ownProperties: [PropertyDescription] = []
  var explicitRenamingIdentifier: String? { willSet { requireMutable("renamingIdentifier") } }
  var explicitClassName: String? { willSet { requireMutable("managedObjectClassName") } }
  var explicitClass: AnyClass? { willSet { requireMutable("managedObjectClass") } }
  var isFrozen = false

  /// How properties, indexes, subentities and relationships know this entity.
  let ownReference = BackReference<EntityDescription>()

  /// An entity without a name yet.
  public override init() {
    super.init()
    ownReference.lead(to: self)
  }

  deinit { ownReference.end() }

  /// An entity, in one expression.
  public init(
    _ name: String, managedObjectClass: AnyClass? = nil, isAbstract: Bool = false,
    properties: [PropertyDescription] = [], uniquenessConstraints: [[String]] = [],
    indexes: [FetchIndexDescription] = [], subentities: [EntityDescription] = []
  ) {
    super.init()
    ownReference.lead(to: self)
    self.name = name
    self.isAbstract = isAbstract
    self.uniquenessConstraints = uniquenessConstraints
    self.managedObjectClass = managedObjectClass
    self.properties = properties
    setIndexes(indexes)
    setSubentities(subentities)
  }

  // Property observers do not run for assignments in an initialiser's own body.
  private func setIndexes(_ indexes: [FetchIndexDescription]) { self.indexes = indexes }
  private func setSubentities(_ subentities: [EntityDescription]) { self.subentities = subentities }

  /// Whether `object` is an entity of the same name and version hash, in this model or another one. What is no part of the hash does not count. Computes both hashes, unless
  /// the entities are one object or have different names.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? EntityDescription else { return false }
    return self === other || name == other.name && versionHash == other.versionHash
  }

  /// That of the name: an entity is not to be renamed while it is in a set.
  public override var hash: Int { name.hashValue }
}

// MARK: Properties

extension EntityDescription {
  /// All properties, inherited ones first, each entity's in declaration order.
  ///
  /// Setting takes the ones that are not inherited as this entity's own.
  public var properties: [PropertyDescription] {
    get { inheritedProperties + ownProperties }
    set {
      requireMutable("properties")
      let inherited = Set(inheritedProperties.map { ObjectIdentifier($0) })
      for property in ownProperties { property.entity = nil }
      ownProperties = newValue.filter { !inherited.contains(ObjectIdentifier($0)) }
      for property in ownProperties { property.entity = self }
      for property in ownProperties where property.wantsIndex { settleIndex(of: property) }
    }
  }

  /// Adds the index that an attribute asks for by itself, or takes it away. References are kept in order anyway.
  func settleIndex(of property: PropertyDescription) {
    guard property is AttributeDescription else { return }
    let name = "indexed(\(property.name))"
    let isThere = indexes.contains { $0.name == name }
    if property.wantsIndex, !isThere {
      indexes.append(FetchIndexDescription(name: name, attributes: [property.name]))
    } else if !property.wantsIndex, isThere {
      indexes.removeAll { $0.name == name }
    }
  }

  private var inheritedProperties: [PropertyDescription] {
    var chain: [EntityDescription] = []
    var ancestor = superentity
    while let entity = ancestor, entity !== self, !chain.contains(where: { $0 === entity }) {
      chain.append(entity)
      ancestor = entity.superentity
    }
    return chain.reversed().flatMap(\.ownProperties)
  }

  /// All properties in the order of their slots: inherited ones first; of each entity attributes, then relationships.
  var propertiesBySlot: [PropertyDescription] {
    let inherited = superentity?.propertiesBySlot ?? []
    return inherited + ownProperties.filter { $0 is AttributeDescription }
      + ownProperties.filter { !($0 is AttributeDescription) }
  }

  /// Own and inherited properties by name.
  public var propertiesByName: [String: PropertyDescription] { byName(properties) }
  /// Own and inherited attributes by name.
  public var attributesByName: [String: AttributeDescription] {
    byName(properties.compactMap { $0 as? AttributeDescription })
  }
  /// Own and inherited relationships by name.
  public var relationshipsByName: [String: RelationshipDescription] {
    byName(properties.compactMap { $0 as? RelationshipDescription })
  }

  /// The relationships that lead to `entity`.
  public func relationships(forDestination entity: EntityDescription) -> [RelationshipDescription] {
    properties.compactMap { $0 as? RelationshipDescription }.filter { $0.destinationEntity === entity }
  }

  private func byName<P: PropertyDescription>(_ properties: [P]) -> [String: P] {
    Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
  }
}

// MARK: Inheritance

extension EntityDescription {
  /// The direct subentities by name.
  public var subentitiesByName: [String: EntityDescription] {
    Dictionary(subentities.map { ($0.name ?? "", $0) }, uniquingKeysWith: { _, last in last })
  }

  /// Whether this entity is `entity` or inherits from it.
  public func isKindOf(entity: EntityDescription) -> Bool {
    var candidate: EntityDescription? = self
    var steps = 0
    while let current = candidate, steps < 10_000 {
      if current === entity { return true }
      candidate = current.superentity
      steps += 1
    }
    return false
  }
}

// MARK: Class, renaming, version

extension EntityDescription {
  /// The name of the class of the entity's objects, `ManagedObject` unless set. `Module.Class` for Swift classes.
  public var managedObjectClassName: String! {
    get { explicitClassName ?? explicitClass.map { String(reflecting: $0) } ?? "ManagedObject" }
    set {
      explicitClass = nil
      explicitClassName = newValue
    }
  }

  /// The class of the entity's objects; nil means the plain one.
  ///
  /// Looked up by ``managedObjectClassName`` when it was set by name. Code that makes objects of it checks that
  /// it is a managed object's class.
  public var managedObjectClass: AnyClass? {
    get { explicitClass ?? explicitClassName.flatMap { classNamed($0) } }
    set {
      explicitClassName = nil
      explicitClass = newValue
    }
  }

  /// The canonical old name, for migration (rule 308). The name itself unless set.
  public var renamingIdentifier: String? {
    get { explicitRenamingIdentifier ?? name }
    set { explicitRenamingIdentifier = newValue }
  }

  /// The entity's version hash: 32 bytes over what rule 299 lists.
  public var versionHash: Data { VersionHash.hash(of: self) }

  func requireMutable(_ property: String) {
    guard !isFrozen else {
      trap(
        """
        \(name ?? "unnamed entity").\(property) was set after the model was taken into use; \
        change the model before a coordinator uses it, or a copy of it
        """)
    }
  }

  func freeze() {
    isFrozen = true
    for property in ownProperties { property.freeze() }
    for index in indexes { index.isFrozen = true }
  }
}

/// The class of that name, `Module.Class`; of `Class` and `.Class` the one class of managed objects that has this name in whatever module
/// and declares neither slots nor an entity: one that does is made for one model, which names it. Nested and generic classes have no name to
/// be found by.
private func classNamed(_ name: String) -> AnyClass? {
  let parts = name.split(separator: ".", omittingEmptySubsequences: false)
  let isIdentifier = { (part: Substring) in
    !part.isEmpty && part.utf8.count <= 255 && part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
  }
  guard let last = parts.last, isIdentifier(last) else { return nil }
  if parts.count == 2, isIdentifier(parts[0]) { return NSClassFromString(name) }
  guard parts.count == 1 || parts.count == 2 && parts[0].isEmpty else { return nil }
  let classes = LoadedClasses.modules(declaring: String(last)).compactMap { module in
    (NSClassFromString("\(module).\(last)") as? any SlotDeclaring.Type).flatMap {
      $0.declaredSlots?.isEmpty != false && $0.namedSlots == nil ? $0 as AnyClass : nil
    }
  }
  if classes.count > 1 {
    trap(
      "\(classes.map { String(reflecting: $0) }.joined(separator: " and ")) are both called “\(last)”, the name of an entity's "
        + "class: write the module into the model, or set managedObjectClass.")
  }
  return classes.first
}
