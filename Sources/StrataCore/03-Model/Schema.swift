import Foundation

/// A model frozen and compiled: entities, slots, layouts and indexes by number. Immutable.
public final class Schema: Sendable {
  /// The model it was compiled from, frozen.
  public let model: ManagedObjectModel
  /// The entities; the index is the entity's number. Sorted by name.
  public let entities: [EntitySchema]
  /// The hierarchies; the index is the hierarchy's number.
  public let hierarchies: [HierarchySchema]
  /// All indexes; the index is the index's number.
  public let indexes: [IndexSchema]

  private let numbers: [String: Int]

  init(
    model: ManagedObjectModel, entities: [EntitySchema], hierarchies: [HierarchySchema],
    indexes: [IndexSchema]
  ) {
    self.model = model
    self.entities = entities
    self.hierarchies = hierarchies
    self.indexes = indexes
    numbers = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.number) })
  }

  /// The entity of that name.
  public func entity(named name: String) -> EntitySchema? { numbers[name].map { entities[$0] } }
}

/// The entities below one root. Their rows share a keyspace and a sequence of primary keys.
public final class HierarchySchema: Sendable {
  /// The index in ``Schema/hierarchies``.
  public let number: Int
  /// The root entity's name.
  public let rootName: String
  /// The root entity's number.
  public let root: Int
  /// The numbers of all member entities, ascending.
  public let memberNumbers: [Int]

  init(number: Int, rootName: String, root: Int, memberNumbers: [Int]) {
    self.number = number
    self.rootName = rootName
    self.root = root
    self.memberNumbers = memberNumbers
  }
}

/// One attribute of a compiled entity.
public struct AttributeSchema: Sendable {
  /// The attribute's name.
  public let name: String
  /// The type of its values.
  public let type: AttributeType
  /// Whether the value may be nil in a saved object.
  public let isOptional: Bool
  /// Whether the value is kept in memory only.
  public let isTransient: Bool
  /// The attribute's position in the entity.
  public let slot: Int
  /// What a new object starts with.
  public let defaultValue: AttributeValue
}

/// One entity of a compiled model.
public final class EntitySchema: @unchecked Sendable {
  // @unchecked Sendable: every stored property is constant; only `AnyClass` is not known to be Sendable.

  /// The index in ``Schema/entities``.
  public let number: Int
  /// The entity's name.
  public let name: String
  /// The index in ``Schema/hierarchies``.
  public let hierarchyNumber: Int
  /// The number of the superentity.
  public let superNumber: Int?
  /// Whether the entity has no instances of its own.
  public let isAbstract: Bool
  /// The numbers of the entity and everything below it, ascending.
  public let subtree: [Int]
  /// The attributes; the index is the slot. Inherited ones first, then own ones, in declaration order.
  public let attributes: [AttributeSchema]
  /// Where the values lie in a row.
  public let layout: RowLayout
  /// The indexes that cover this entity, own and inherited.
  public let indexes: [IndexSchema]
  /// The default values by slot.
  public let defaults: [AttributeValue]
  /// The description it was compiled from, frozen.
  public let entityDescription: EntityDescription
  /// The class of the entity's objects; nil means the plain one.
  public let managedObjectClass: AnyClass?
  /// The entity's version hash (rule 299).
  public let versionHash: Data

  private let slots: [String: Int]

  init(
    number: Int, hierarchyNumber: Int, superNumber: Int?, subtree: [Int], attributes: [AttributeSchema],
    layout: RowLayout, indexes: [IndexSchema], description: EntityDescription
  ) {
    self.number = number
    // A model is compiled after its validation, which demands a name.
    self.name = description.name ?? ""
    self.hierarchyNumber = hierarchyNumber
    self.superNumber = superNumber
    self.isAbstract = description.isAbstract
    self.subtree = subtree
    self.attributes = attributes
    self.layout = layout
    self.indexes = indexes
    self.defaults = attributes.map(\.defaultValue)
    self.entityDescription = description
    self.managedObjectClass = description.managedObjectClass
    self.versionHash = description.versionHash
    slots = Dictionary(uniqueKeysWithValues: attributes.map { ($0.name, $0.slot) })
  }

  /// The slot of the attribute of that name. One hash lookup.
  public func slot(named name: String) -> Int? { slots[name] }
}

/// One index of a compiled model, from a fetch index or a uniqueness constraint.
public final class IndexSchema: Sendable {
  /// One attribute of the index.
  public struct Part: Sendable, Hashable {
    /// The slot in the owner's numbering, which is the same in all its subentities.
    public let slot: Int
    /// The direction in which the index sorts the attribute.
    public let isAscending: Bool
    /// How the attribute is stored.
    public let kind: SlotKind
    /// The most bytes of the encoded value that go into the key; longer ones are cut (strings, data, URLs).
    public let keyLimit: Int
  }

  /// The index in ``Schema/indexes``.
  public let number: Int
  /// `Entity.index`, or `Entity.unique(a,b)` for a uniqueness constraint. Unique in the schema.
  public let name: String
  /// The number of the entity that declares it; the index covers the entity's subtree.
  public let owner: Int
  /// The attributes in sort order.
  public let parts: [Part]
  /// Whether it stands for a uniqueness constraint.
  public let isUnique: Bool
  /// Stable text of attribute names, kinds, directions and limits: keys are comparable when it is equal.
  public let signature: String
  /// The indexed slots.
  public let slots: SlotBitmap

  init(number: Int, name: String, owner: Int, parts: [Part], isUnique: Bool, signature: String) {
    self.number = number
    self.name = name
    self.owner = owner
    self.parts = parts
    self.isUnique = isUnique
    self.signature = signature
    slots = parts.reduce(into: SlotBitmap()) { $0.insert($1.slot) }
  }
}
