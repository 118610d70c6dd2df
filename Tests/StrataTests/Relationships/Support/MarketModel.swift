import Strata

/// The model of the tests in which several contexts, merge policies and undo meet.
///
///     Shop  ──items──▶▶ Item     inverse shop, cascade
///     Item  ──tags──▶▶ Tag       many-to-many, inverse items
///           ──box──▶ Box         one-to-one, inverse item
///           ──steps──▶▶ Step     many-to-many, ordered, inverse items
///     Tag   unique: name
enum MarketModel {
  static func make() -> ManagedObjectModel {
    func named(_ name: String, unique: Bool = false) -> EntityDescription {
      EntityDescription(
        name, properties: [AttributeDescription("name", .string)],
        uniquenessConstraints: unique ? [["name"]] : [])
    }
    let (shop, item, tag) = (named("Shop"), named("Item"), named("Tag", unique: true))
    let (box, step) = (named("Box"), named("Step"))
    join(shop, "items", 0, item, "shop", 1, deleteRule: .cascade)
    join(item, "tags", 0, tag, "items", 0)
    join(item, "box", 1, box, "item", 1)
    join(item, "steps", 0, step, "items", 0, isOrdered: true)
    return ManagedObjectModel(entities: [shop, item, tag, box, step])
  }

  private static func join(
    _ left: EntityDescription, _ name: String, _ maxCount: Int, _ right: EntityDescription,
    _ inverseName: String, _ inverseMaxCount: Int, isOrdered: Bool = false, deleteRule: DeleteRule = .nullify
  ) {
    let relationship = RelationshipDescription(
      name, to: right, maxCount: maxCount, isOrdered: isOrdered, deleteRule: deleteRule)
    let inverse = RelationshipDescription(inverseName, to: left, maxCount: inverseMaxCount)
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
    left.properties.append(relationship)
    right.properties.append(inverse)
  }
}
