extension ModelValidation {
  /// Whether a derived attribute's expression can be computed from what `entity` has (rule 340).
  mutating func checkDerived(
    _ attribute: DerivedAttributeDescription, of entity: EntityDescription, _ place: String
  ) {
    let name = "Derived attribute \(place)"
    if attribute.isTransient { report("\(name) is transient; it would have no place to be stored in.") }
    guard let derivation = attribute.derivation else {
      report(
        "\(name) has the derivation “\(attribute.derivationExpression ?? "")”, which is not supported: use a key path, "
          + "canonical:, uppercase: or lowercase: of one, @count, @sum or now().")
      return
    }
    let expression = "\(name) is derived from “\(attribute.derivationExpression ?? "")”:"
    let type = attribute.attributeType
    switch derivation {
    case .now:
      if type != .date { report("\(expression) that is a date, not a \(type).") }
    case .count(let key):
      guard toMany(key, of: entity, expression) != nil else { return }
      if !type.isInteger { report("\(expression) that is an integer, not a \(type).") }
    case .sum(let key, let path):
      guard let relationship = toMany(key, of: entity, expression),
        let source = source(path, of: relationship.destinationEntity, expression)
      else { return }
      if !source.isNumber { report("\(expression) \(path) is a \(source), of which there is no sum.") }
      let isSafe =
        type == source || type == .decimal || source.isInteger && type == .integer64 || type == .double
      if !type.isNumber || !isSafe { report("\(expression) a sum of \(source) values is no \(type).") }
    case .copy(let path, let form):
      guard let source = copied(path, of: entity, expression) else { return }
      if form != nil, source != .string { report("\(expression) that needs a string, not a \(source).") }
      if source != type { report("\(expression) that is a \(source), not a \(type).") }
    }
  }

  /// The type of the attribute at the end of a path; nil, with a sentence, when there is none.
  private mutating func copied(
    _ path: [String], of entity: EntityDescription, _ expression: String
  ) -> AttributeType? {
    guard let relationship = entity.relationshipsByName[path[0]] else {
      return source(path.joined(separator: "."), of: entity, expression)
    }
    if relationship.isToMany || relationship.isTransient || path.count == 1 {
      report(
        "\(expression) \(path[0]) is not an attribute, nor a stored to-one relationship that leads to one.")
      return nil
    }
    return source(path.dropFirst().joined(separator: "."), of: relationship.destinationEntity, expression)
  }

  private mutating func toMany(
    _ key: String, of entity: EntityDescription, _ expression: String
  ) -> RelationshipDescription? {
    guard let relationship = entity.relationshipsByName[key], relationship.isToMany, !relationship.isTransient
    else {
      report("\(expression) \(key) is no stored to-many relationship of \(entity.name ?? "").")
      return nil
    }
    return relationship
  }

  private mutating func source(
    _ path: String, of entity: EntityDescription?, _ expression: String
  ) -> AttributeType? {
    let slot = entity?.slotDescriptions.first { $0.name == path }
    guard let slot, let attribute = slot.property as? AttributeDescription else {
      report("\(expression) \(entity?.name ?? "the destination") has no attribute \(path).")
      return nil
    }
    if slot.isTransient || attribute is DerivedAttributeDescription
      || [.transformable, .composite].contains(attribute.attributeType)
    {
      report("\(expression) \(path) is derived, transient, transformable or composite.")
      return nil
    }
    return attribute.attributeType
  }
}
