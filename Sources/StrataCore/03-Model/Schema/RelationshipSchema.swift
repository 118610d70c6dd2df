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
public final class RelationshipSchema: Sendable {
  /// The index in ``Schema/relationships``.
  public let number: Int
  /// The relationship's name.
  public let name: String
  /// The number of the entity that declares it; its subentities inherit it.
  public let owner: Int
  /// `Entity.name`, unique in the model.
  public let qualifiedName: String
  /// The property's slot in the owner and all its subentities. A to-many's slot takes no bytes in rows.
  public let slot: Int
  /// The number of the destination entity.
  public let destination: Int
  /// The number of the destination's hierarchy.
  public let destinationHierarchy: Int
  /// The number of the relationship that leads back; nil without one.
  public let inverse: Int?
  public let isToMany: Bool
  public let isOrdered: Bool
  public let isOptional: Bool
  public let isTransient: Bool
  /// The fewest objects at the other end of a relationship that is not empty (rule 220).
  public let minCount: Int
  /// The most objects at the other end; 0 for any number.
  public let maxCount: Int
  public let deleteRule: DeleteRule
  /// Whether the inverse is a to-one relationship.
  public let isInverseToOne: Bool

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
  public var isEdgeStored: Bool { isToMany && !isInverseToOne && !isTransient }
  /// Whether the number of members is bound.
  var isCounted: Bool { isToMany && (minCount > 0 || maxCount > 0) }
  /// Whether hidden edges lead back from the destination.
  public var hasHiddenInverse: Bool { inverse == nil && !isTransient }
}
