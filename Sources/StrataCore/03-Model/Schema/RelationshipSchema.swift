/// One relationship of a compiled model. Immutable.
///
/// Where the members are kept follows from both ends:
///
/// ```
///   to-one                       in the row (a reference), and the source among the edges of the inverse
///   to-many, inverse to-one      nothing of its own: the edges follow from the rows at the other end
///   to-many otherwise            edges of its own, and those of the inverse
///   without inverse              as above, with hidden edges that lead back
/// ```
package final class RelationshipSchema: Sendable {
  /// The index in ``Schema/relationships``.
  package let number: Int
  /// The relationship's name.
  package let name: String
  /// The number of the entity that declares it; its subentities inherit it.
  package let owner: Int
  /// `Entity.name`, unique in the model.
  package let qualifiedName: String
  /// The same as stores keep it.
  var storedName: String { StoredName.ofRelationship(qualifiedName) }
  /// The property's slot in the owner and all its subentities. A to-many's slot takes no bytes in rows.
  package let slot: Int
  /// The number of the destination entity.
  package let destination: Int
  /// The number of the destination's hierarchy.
  package let destinationHierarchy: Int
  /// The number of the relationship that leads back; nil without one.
  package let inverse: Int?
  package let isToMany: Bool
  package let isOrdered: Bool
  package let isOptional: Bool
  package let isTransient: Bool
  /// The fewest objects at the other end of a relationship that is not empty (rule 220).
  package let minCount: Int
  /// The most objects at the other end; 0 for any number.
  package let maxCount: Int
  package let deleteRule: DeleteRule
  /// Whether the inverse is a to-one relationship.
  package let isInverseToOne: Bool

  init(
    number: Int, owner: Int, slot: Int, destination: Int, destinationHierarchy: Int, inverse: Int?,
    description: RelationshipDescription
  ) {
    self.number = number
    name = description.name
    self.owner = owner
    qualifiedName = "\(description.entity?.name ?? "").\(description.name)"
    self.slot = slot
    self.destination = destination
    self.destinationHierarchy = destinationHierarchy
    self.inverse = inverse
    isToMany = description.isToMany
    isOrdered = description.isOrdered
    isOptional = description.isOptional
    isTransient = description.isTransient
    minCount = description.minCount
    maxCount = description.maxCount
    deleteRule = description.deleteRule
    isInverseToOne = description.inverseRelationship.map { !$0.isToMany } ?? false
  }

  /// Whether the members are kept as edges, and nowhere else.
  package var isEdgeStored: Bool { isToMany && !isInverseToOne && !isTransient }
  /// Whether the number of members is bound.
  var isCounted: Bool { isToMany && (minCount > 0 || maxCount > 0) }
  /// Whether hidden edges lead back from the destination.
  package var hasHiddenInverse: Bool { inverse == nil && !isTransient }
}
