/// An inferred migration in numbers: from the slots and relationships of one schema to those of another.
package struct MigrationPlan: Sendable {
  /// Where the value of a slot comes from.
  package enum Value: Sendable {
    /// From this slot, which is of the same kind or of one that ``SlotKind/widens(to:)`` it; where that is nil, the default, which is not nil only when the attribute is mandatory.
    case slot(Int, else: AttributeValue)
    /// Always this one.
    case constant(AttributeValue)
  }

  /// How the members of a relationship are found in the source.
  package enum Path: Sendable {
    /// The reference in this slot of the row.
    case reference(slot: Int, mayDangle: Bool)
    /// The members of these edges of the row's key.
    case edges(EdgeSet)
  }

  package struct Relationship: Sendable {
    package let relationship: RelationshipSchema
    package let paths: [Path]
    /// Whether the members of a to-many relationship are told to the destination: where nothing else says who they are, or in
    /// what order.
    package let isTold: Bool
  }

  package struct Entity: Sendable {
    package let source: EntitySchema
    package let destination: EntitySchema
    /// By slot of the destination; references are among the relationships.
    package let values: [Value]
    /// By slot of the destination, the slots of the source of which one must have a value for a default value to count; empty where it counts in all rows. A composite
    /// attribute that may be nil stays nil, whatever default values its elements have.
    package let defaultsNeed: [[Int]]
    /// The values that each row must have, and may not have.
    package let needed: [NeededValue]
    package let toOne: [Relationship]
    package let toMany: [Relationship]
  }

  /// A value that rows must have from now on, without one that stands for it.
  package struct NeededValue: Sendable {
    /// `Entity.attribute`; elements of composite attributes by their key paths.
    package let name: String
    /// What is said of it, a sentence without its end.
    package let words: String
    /// The slots of the source of which one must have a value; none where no row of the source has it.
    package let slots: [Int]
    /// The slots of the source of which one must have a value for it to be needed; empty where all rows need it.
    package let owner: [Int]
  }

  package let source: Schema
  package let destination: Schema
  /// The names of the source's entities that the store holds.
  package let held: Set<String>
  /// By number of the source's entity; nil for those that go.
  package let entities: [Entity?]
  /// By number of the destination's hierarchy, the source's whose keys it takes over.
  package let hierarchies: [Int?]

  /// - Throws: `CoreDataError` for a default value that its transformer refuses.
  init(_ pairing: ModelPairing, from source: Schema, holding held: Set<String>, to destination: Schema) throws
  {
    self.source = source
    self.destination = destination
    self.held = held
    var entities = [Entity?](repeating: nil, count: source.entities.count)
    var hierarchies = [Int?](repeating: nil, count: destination.hierarchies.count)
    let origins = RelationshipOrigins(pairing, source, destination)
    for pair in pairing.pairs {
      guard let old = source.entity(named: pair.source.name ?? ""),
        let new = destination.entity(named: pair.destination.name ?? "")
      else { continue }
      let relationships = new.relationships.filter { !$0.isTransient }.map {
        origins.relationship($0, of: pair, old)
      }
      let values = try Self.values(pair, old, new)
      entities[old.number] = Entity(
        source: old, destination: new, values: values,
        defaultsNeed: Self.defaultsNeed(pair, old, new), needed: Self.needed(pair, values, old, new),
        toOne: relationships.filter { !$0.relationship.isToMany },
        toMany: relationships.filter { $0.relationship.isToMany && $0.isTold && !$0.paths.isEmpty })
      hierarchies[new.hierarchyNumber] = old.hierarchyNumber
    }
    self.entities = entities
    self.hierarchies = hierarchies
  }

  private static func values(_ pair: ModelPairing.EntityPair, _ old: EntitySchema, _ new: EntitySchema) throws
    -> [Value]
  {
    var values = [Value](repeating: .constant(.null), count: new.attributes.count)
    for attribute in pair.attributes {
      guard let slot = new.slot(named: attribute.destination.name) else { continue }
      let schema = new.attributes[slot]
      if schema.isTransient { continue }
      guard let origin = attribute.source, let oldSlot = old.slot(named: origin.name),
        !old.attributes[oldSlot].isTransient,
        Self.holds(new.layout.kind(of: slot), valuesOf: old.layout.kind(of: oldSlot))
      else {
        values[slot] = .constant(try new.storedDefault(slot: slot))
        continue
      }
      values[slot] = .slot(oldSlot, else: schema.isOptional ? .null : try new.storedDefault(slot: slot))
    }
    return values
  }

  private static func holds(_ kind: SlotKind, valuesOf old: SlotKind) -> Bool {
    kind == old || old.widens(to: kind)
  }

  private static func defaultsNeed(
    _ pair: ModelPairing.EntityPair, _ old: EntitySchema, _ new: EntitySchema
  ) -> [[Int]] {
    var result = [[Int]](repeating: [], count: new.attributes.count)
    let composites = CompositePairing(pair)
    for attribute in pair.attributes where attribute.destination.depth > 0 {
      guard let slot = new.slot(named: attribute.destination.name) else { continue }
      result[slot] = Self.owner(of: attribute.destination, composites, old)
    }
    return result
  }

  /// The slots of the source of which one has a value where there is what an element is part of; empty where that is in all rows.
  private static func owner(of slot: SlotDescription, _ composites: CompositePairing, _ old: EntitySchema)
    -> [Int]
  {
    guard slot.depth > 0, let guardian = composites.guardian(of: slot) else { return [] }
    return old.attributes.indices.filter {
      let element = old.attributes[$0]
      return !element.isTransient && element.name.hasPrefix(guardian.name + ".")
    }
  }

  /// What rows must have that neither a default value nor another attribute gives to all of them.
  private static func needed(
    _ pair: ModelPairing.EntityPair, _ values: [Value], _ old: EntitySchema, _ new: EntitySchema
  ) -> [NeededValue] {
    let composites = CompositePairing(pair)
    return InferenceCheck.missingValues(pair).map { missing in
      let name = missing.attribute.name
      // A composite attribute is its elements.
      let isComposite = missing.attribute.property is CompositeAttributeDescription
      let slots = values.indices.filter { slot in
        let attribute = new.attributes[slot].name
        return isComposite ? attribute.hasPrefix(name + ".") : attribute == name
      }
      return NeededValue(
        name: missing.attribute.place(in: pair.destination), words: missing.words,
        slots: slots.compactMap {
          guard case .slot(let origin, _) = values[$0] else { return nil }
          return origin
        },
        owner: Self.owner(of: missing.attribute, composites, old))
    }
  }
}

/// Where relationships of the later schema come from.
private struct RelationshipOrigins {
  let source: Schema
  let destination: Schema
  /// By number of the later relationship, those of the earlier schema that it was, in whatever entity.
  private let origins: [[RelationshipSchema]]

  init(_ pairing: ModelPairing, _ source: Schema, _ destination: Schema) {
    self.source = source
    self.destination = destination
    var origins = [[RelationshipSchema]](repeating: [], count: destination.relationships.count)
    for pair in pairing.pairs {
      guard let new = destination.entity(named: pair.destination.name ?? "") else { continue }
      for relationship in new.relationships {
        guard let origin = Self.origin(of: relationship, pair, source),
          !origins[relationship.number].contains(where: { $0.number == origin.number })
        else { continue }
        origins[relationship.number].append(origin)
      }
    }
    self.origins = origins
  }

  private static func origin(
    of relationship: RelationshipSchema, _ pair: ModelPairing.EntityPair, _ source: Schema
  ) -> RelationshipSchema? {
    let found = pair.relationships.first { $0.destination.name == relationship.name }?.source
    let old = source.entity(named: pair.source.name ?? "")
    return found.flatMap { found in old?.relationships.first { $0.name == found.name && !$0.isTransient } }
  }

  /// How the rows of `old` know the members of a relationship that they will have.
  func relationship(_ relationship: RelationshipSchema, of pair: ModelPairing.EntityPair, _ old: EntitySchema)
    -> MigrationPlan.Relationship
  {
    var paths: [MigrationPlan.Path] = []
    if let origin = Self.origin(of: relationship, pair, source) {
      paths = [path(origin)]
    } else if let inverse = relationship.inverse {
      // What leads there now is what is to lead back.
      paths = origins[inverse].filter { source.entities[$0.destination].subtree.contains(old.number) }.map {
        pathBack($0)
      }
    }
    return MigrationPlan.Relationship(relationship: relationship, paths: paths, isTold: isTold(relationship))
  }

  private func isTold(_ relationship: RelationshipSchema) -> Bool {
    if relationship.isOrdered { return true }
    guard relationship.isEdgeStored else { return false }
    guard let inverse = relationship.inverse.map({ destination.relationships[$0] }) else { return true }
    return !inverse.isOrdered && relationship.number <= inverse.number
  }

  private func path(_ relationship: RelationshipSchema) -> MigrationPlan.Path {
    MigrationPlan.path(to: relationship, in: source)
  }

  private func pathBack(_ relationship: RelationshipSchema) -> MigrationPlan.Path {
    guard let inverse = relationship.inverse else {
      return .edges(EdgeSet(relationship: relationship.number, isHiddenInverse: true))
    }
    return path(source.relationships[inverse])
  }
}
