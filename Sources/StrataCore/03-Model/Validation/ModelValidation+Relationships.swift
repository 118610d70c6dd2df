extension ModelValidation {
  /// Everything that compiling and keeping a relationship relies on.
  mutating func checkRelationship(_ relationship: RelationshipDescription?, _ place: String) {
    guard let relationship else {
      report("Property \(place) is neither an attribute nor a relationship.")
      return
    }
    let name = "Relationship \(place)"
    guard let destination = relationship.destinationEntity else {
      report("\(name) has no destination entity.")
      return
    }
    if !isMember(destination) {
      report("\(name) leads to entity \(destination.name ?? ""), which is not in the model.")
    }
    if relationship.minCount < 0 || relationship.maxCount < 0 {
      report("\(name) has a negative count.")
    } else if relationship.maxCount > 0, relationship.minCount > relationship.maxCount {
      report("\(name) wants at least \(relationship.minCount) and at most \(relationship.maxCount) objects.")
    }
    if relationship.isOrdered, !relationship.isToMany { report("\(name) is ordered but to-one.") }
    if let inverse = relationship.inverseRelationship {
      checkInverse(inverse, of: relationship, destination, name)
    }
  }

  private mutating func checkInverse(
    _ inverse: RelationshipDescription, of relationship: RelationshipDescription,
    _ destination: EntityDescription, _ name: String
  ) {
    guard let inverseOwner = inverse.entity, let owner = relationship.entity else {
      report("The inverse of \(name) belongs to no entity.")
      return
    }
    let inverseName = "\(inverseOwner.name ?? "").\(inverse.name)"
    if inverse.inverseRelationship !== relationship {
      report("\(name) has the inverse \(inverseName), which has another inverse.")
    }
    if !destination.isKindOf(entity: inverseOwner) {
      report(
        "\(name) leads to \(destination.name ?? ""), which does not have its inverse \(inverseName).")
    }
    if let back = inverse.destinationEntity, !back.isKindOf(entity: owner) {
      report(
        "\(name) has the inverse \(inverseName), which leads to \(back.name ?? "") and not to \(owner.name ?? "")."
      )
    }
    if inverse.isTransient != relationship.isTransient {
      report("\(name) and its inverse \(inverseName) must both be transient, or neither.")
    }
  }
}
