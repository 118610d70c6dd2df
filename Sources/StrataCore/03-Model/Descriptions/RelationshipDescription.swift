import Foundation

/// What happens to the objects at the other end when an object is deleted. Core Data's numbers.
public enum DeleteRule: UInt, Sendable {
  case noAction = 0
  case nullify = 1
  case cascade = 2
  case deny = 3
}

/// One relationship of an entity. Core Data's `NSRelationshipDescription`.
///
/// Mutable until the model is taken into use (rule 298).
public final class RelationshipDescription: PropertyDescription, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// The entity at the other end. Held weakly: the model holds its entities.
  public var destinationEntity: EntityDescription? {
    get { destinationReference?.target }
    set {
      requireMutable("destinationEntity")
      destinationReference = newValue?.ownReference
    }
  }
  private var destinationReference: BackReference<EntityDescription>?
  /// The relationship that leads back. Held weakly.
  public weak var inverseRelationship: RelationshipDescription? {
    willSet { requireMutable("inverseRelationship") }
  }
  /// The fewest objects at the other end.
  public var minCount = 0 { willSet { requireMutable("minCount") } }
  /// The most objects at the other end; 1 makes it to-one, 0 means any number.
  public var maxCount = 0 { willSet { requireMutable("maxCount") } }
  /// Whether a to-many relationship keeps an order.
  public var isOrdered = false { willSet { requireMutable("isOrdered") } }
  /// What deleting the object does to the other end.
  @_disfavoredOverload public var deleteRule: DeleteRule = .nullify {
    willSet { requireMutable("deleteRule") }
  }

  /// A relationship without a name yet.
  public init() { super.init(name: "") }

  /// A relationship, in one line. `maxCount` 1 makes it to-one, 0 to-many without limit.
  public init(
    _ name: String, to destination: EntityDescription, minCount: Int = 0, maxCount: Int,
    isOptional: Bool = true,
    isOrdered: Bool = false, deleteRule: DeleteRule = .nullify
  ) {
    super.init(name: name)
    self.destinationEntity = destination
    self.minCount = minCount
    self.maxCount = maxCount
    self.isOptional = isOptional
    self.isOrdered = isOrdered
    self.deleteRule = deleteRule
  }

  /// Whether the relationship can lead to more than one object.
  public var isToMany: Bool { maxCount != 1 }
}
