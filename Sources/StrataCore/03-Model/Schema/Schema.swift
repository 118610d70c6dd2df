import Foundation

/// A model frozen and compiled: entities, slots, layouts and indexes by number. Immutable.
///
/// It keeps its model alive. The model keeps ``CompiledModel`` and not this: else neither would ever be freed. What is the same in all schemas of a
/// model is `compiled`; this is made for each who asks.
package final class Schema: Sendable {
  /// The model it was compiled from, frozen.
  package let model: ManagedObjectModel
  /// What was compiled, which the model keeps.
  let compiled: CompiledModel
  /// The entities; the index is the entity's number. Sorted by name.
  package let entities: [EntitySchema]
  /// The hierarchies; the index is the hierarchy's number.
  package let hierarchies: [HierarchySchema]
  /// All indexes; the index is the index's number.
  package let indexes: [IndexSchema]
  /// All relationships; the index is the relationship's number.
  package let relationships: [RelationshipSchema]

  /// The relationship that leads back, if there is one.
  func inverse(of relationship: RelationshipSchema) -> RelationshipSchema? {
    relationship.inverse.map { relationships[$0] }
  }

  /// Whether some entity has a stored transformable attribute.
  let hasTransformables: Bool
  /// What derived attributes follow from; nil when no entity has any.
  package let derivedSources: DerivedSources?

  /// What was found out about the classes of the entities.
  var memo: Memo { compiled.memo }

  /// The schema of `model`, which keeps `compiled`.
  init(_ model: ManagedObjectModel, _ compiled: CompiledModel) {
    self.model = model
    self.compiled = compiled
    entities = compiled.entities
    hierarchies = compiled.hierarchies
    indexes = compiled.indexes
    relationships = compiled.relationships
    hasTransformables = compiled.hasTransformables
    derivedSources = compiled.derivedSources
  }

  /// The entity of that name.
  package func entity(named name: String) -> EntitySchema? { compiled.numbers[name].map { entities[$0] } }
}

/// What a model is compiled to, once. Kept by the model; refers to its descriptions and not to the model itself, nor do the answers in `memo`.
final class CompiledModel: Sendable {
  let entities: [EntitySchema]
  let hierarchies: [HierarchySchema]
  let indexes: [IndexSchema]
  let relationships: [RelationshipSchema]
  let hasTransformables: Bool
  let derivedSources: DerivedSources?
  /// Of the entities, by name.
  let numbers: [String: Int]
  let memo = Memo()

  init(
    entities: [EntitySchema], hierarchies: [HierarchySchema], indexes: [IndexSchema],
    relationships: [RelationshipSchema]
  ) {
    self.relationships = relationships
    self.entities = entities
    self.hierarchies = hierarchies
    self.indexes = indexes
    hasTransformables = entities.contains { $0.hasTransformables }
    derivedSources = DerivedSources(entities: entities, relationships: relationships)
    numbers = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.number) })
  }
}

/// The entities below one root. Their rows share a keyspace and a sequence of primary keys.
package final class HierarchySchema: Sendable {
  /// The index in ``Schema/hierarchies``.
  package let number: Int
  /// The root entity's name.
  package let rootName: String
  /// The root entity's number.
  package let root: Int
  /// The numbers of all member entities, ascending.
  package let memberNumbers: [Int]

  init(number: Int, rootName: String, root: Int, memberNumbers: [Int]) {
    self.number = number
    self.rootName = rootName
    self.root = root
    self.memberNumbers = memberNumbers
  }
}

/// One property of a compiled entity: an attribute, or a relationship.
package struct AttributeSchema: Sendable {
  /// The property's name.
  package let name: String
  /// The type of its values; `objectID` for a to-one relationship. Rows hold values of type `transformable` as data.
  package let type: AttributeType
  /// Whether the value may be nil in a saved object.
  package let isOptional: Bool
  /// Whether the value is not in rows: it is kept in memory only, is a to-many relationship, or is composed of its elements.
  package let isTransient: Bool
  /// The property's position in the entity.
  package let slot: Int
  /// What a new object starts with.
  package let defaultValue: AttributeValue
  /// The relationship's number in the schema; nil for an attribute.
  package let relationship: Int?
  /// The slots of a composite attribute's own elements; empty for every other property.
  package let elements: [Int]
  /// The slot of the outermost composite attribute that this is an element of.
  package let composite: Int?
}

/// One entity of a compiled model.
package final class EntitySchema: @unchecked Sendable {
  // @unchecked Sendable: every stored property is constant; only `AnyClass` is not known to be Sendable.

  /// The index in ``Schema/entities``.
  package let number: Int
  /// The entity's name.
  package let name: String
  /// The index in ``Schema/hierarchies``.
  package let hierarchyNumber: Int
  /// The number of the superentity.
  package let superNumber: Int?
  /// Whether the entity has no instances of its own.
  package let isAbstract: Bool
  /// The numbers of the entity and everything below it, ascending.
  package let subtree: [Int]
  /// The properties; the index is the slot. Inherited ones first; then own attributes, then own relationships, each in
  /// declaration order.
  package let attributes: [AttributeSchema]
  /// The relationships, inherited ones first, in declaration order.
  package let relationships: [RelationshipSchema]
  /// The relationships of any entity that may lead to objects of this one.
  package let inbound: [RelationshipSchema]
  private let relationshipsBySlot: [RelationshipSchema?]
  /// Whether the number of members of some relationship is bound.
  let hasCountedRelationships: Bool
  /// The rules of the properties that have any, in slot order.
  let rules: [PropertyRules]
  /// Whether the class of the objects has validators of its own.
  let hasValidators: Bool
  /// Whether the class of the objects wants to see every value in a save.
  let checksEveryValue: Bool
  /// Whether the class of the objects wants to hear of each change of an attribute or a to-one relationship.
  let announcesChanges: Bool
  /// Whether a save has more to look at than values that must be there.
  let hasMoreToValidate: Bool
  /// Whether some to-one relationship has a to-many inverse.
  let leadsToMany: Bool
  /// Whether some stored attribute is transformable.
  let hasTransformables: Bool
  /// Whether some attribute is composite.
  let hasComposites: Bool
  /// The derived attributes.
  package let derived: [DerivedSchema]
  /// Their slots.
  package let derivedSlots: SlotBitmap
  /// Of an entity with derived attributes the last slot, which no property has: the row's version as it was before only derived
  /// values have changed, nil when others changed last. What is based on that version is based on the row.
  package let baselineSlot: Int?
  /// The slots of attributes, not of relationships.
  package let attributeSlots: SlotBitmap
  /// Where the values lie in a row.
  package let layout: RowLayout
  /// The indexes that cover this entity, own and inherited.
  package let indexes: [IndexSchema]
  /// The properties without values of their own by name: fetched ones.
  let computed: [String: PropertyDescription]
  /// The default values by slot.
  package let defaults: [AttributeValue]
  /// The description it was compiled from, frozen.
  package let entityDescription: EntityDescription
  /// The class of the entity's objects; nil means the plain one.
  package let managedObjectClass: AnyClass?
  /// The entity's version hash (rule 299).
  package let versionHash: Data

  private let slots: [String: Int]

  init(
    number: Int, hierarchyNumber: Int, superNumber: Int?, subtree: [Int], attributes: [AttributeSchema],
    relationships: [RelationshipSchema], inbound: [RelationshipSchema], rules: [PropertyRules],
    layout: RowLayout, indexes: [IndexSchema], derived: [DerivedSchema], description: EntityDescription
  ) {
    self.number = number
    // A model is compiled after its validation, which demands a name.
    self.name = description.name ?? ""
    self.hierarchyNumber = hierarchyNumber
    self.superNumber = superNumber
    self.isAbstract = description.isAbstract
    self.subtree = subtree
    self.attributes = attributes
    self.relationships = relationships
    self.inbound = inbound
    relationshipsBySlot = attributes.map { attribute in
      relationships.first { $0.number == attribute.relationship }
    }
    hasCountedRelationships = relationships.contains(where: \.isCounted)
    self.rules = rules
    let type = description.managedObjectClass as? any ValueChecking.Type
    hasValidators = type?.hasValidators ?? false
    checksEveryValue = type?.checksEveryValue ?? false
    announcesChanges = type?.announcesChanges ?? false
    leadsToMany = relationships.contains {
      !$0.isToMany && !$0.isTransient && $0.inverse != nil && !$0.isInverseToOne
    }
    hasTransformables = attributes.contains { $0.type == .transformable && !$0.isTransient }
    hasComposites = attributes.contains { $0.type == .composite }
    self.derived = derived
    derivedSlots = derived.reduce(into: SlotBitmap()) { $0.insert($1.slot) }
    let properties = derived.isEmpty ? attributes[...] : attributes.dropLast()
    baselineSlot = derived.isEmpty ? nil : attributes.count - 1
    hasMoreToValidate =
      hasCountedRelationships || hasComposites || !rules.isEmpty || hasValidators || checksEveryValue
    var attributeSlots = SlotBitmap()
    for attribute in properties where attribute.relationship == nil { attributeSlots.insert(attribute.slot) }
    self.attributeSlots = attributeSlots
    self.layout = layout
    self.indexes = indexes
    self.defaults = attributes.map(\.defaultValue)
    self.entityDescription = description
    computed = description.propertiesByName.filter(\.value.isComputed)
    self.managedObjectClass = description.managedObjectClass
    self.versionHash = description.versionHash
    slots = Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0.slot) })
  }

  /// The relationship in that slot; nil for an attribute.
  @inline(__always)
  package func relationship(slot: Int) -> RelationshipSchema? {
    slot >= 0 && slot < relationshipsBySlot.count ? relationshipsBySlot[slot] : nil
  }

  /// Whether `slot` is an attribute that classes may declare as a type without nil.
  func takesScalar(_ slot: Int) -> Bool { relationship(slot: slot) == nil && attributes[slot].type.isScalar }

  /// The slot of the property of that name. One hash lookup.
  package func slot(named name: String) -> Int? { slots[name] }
}

/// One index of a compiled model, from a fetch index or a uniqueness constraint.
package final class IndexSchema: Sendable {
  /// One attribute of the index.
  package struct Part: Sendable, Hashable {
    /// The slot in the owner's numbering, which is the same in all its subentities.
    package let slot: Int
    /// The direction in which the index sorts the attribute.
    package let isAscending: Bool
    /// How the attribute is stored.
    package let kind: SlotKind
    /// The most bytes of the encoded value that go into the key; longer ones are cut (strings, data, URLs).
    package let keyLimit: Int
  }

  /// The index in ``Schema/indexes``.
  package let number: Int
  /// `Entity.index`, or `Entity.unique(a,b)` for a uniqueness constraint; shortened when it is too long for a store (``StoredName``). Unique in the schema.
  package let name: String
  /// The number of the entity that declares it; the index covers the entity's subtree.
  package let owner: Int
  /// The attributes in sort order.
  package let parts: [Part]
  /// Whether it stands for a uniqueness constraint.
  package let isUnique: Bool
  /// Stable text of attribute names, kinds, directions, limits, and of the predicate of a partial index: keys are comparable when it is equal.
  package let signature: String
  /// The rows that a partial index holds; nil for all of them.
  package let condition: IndexCondition?
  /// The slots that decide which entry a row has, and whether it has one.
  package let slots: SlotBitmap

  init(
    number: Int, name: String, owner: Int, parts: [Part], isUnique: Bool, signature: String,
    condition: IndexCondition? = nil, conditionSlots: [Int] = []
  ) {
    self.number = number
    self.name = name
    self.owner = owner
    self.parts = parts
    self.isUnique = isUnique
    self.signature = signature
    self.condition = condition
    slots = (parts.map(\.slot) + conditionSlots).reduce(into: SlotBitmap()) { $0.insert($1) }
  }
}
