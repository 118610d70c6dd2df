extension EntitySchema {
  /// A composite attribute, or an element of one, that must have a value and has none: of a composite that has any value, the
  /// required elements must have one. Nil when all is well.
  func missingCompositeValue(isNil: (_ slot: Int) -> Bool) -> AttributeSchema? {
    func isEmpty(_ attribute: AttributeSchema) -> Bool {
      attribute.type == .composite
        ? attribute.elements.allSatisfy { isEmpty(attributes[$0]) } : isNil(attribute.slot)
    }
    func missing(_ attribute: AttributeSchema) -> AttributeSchema? {
      if isEmpty(attribute) { return attribute.isOptional ? nil : attribute }
      for slot in attribute.elements {
        if let missing = missing(attributes[slot]) { return missing }
      }
      return nil
    }
    for attribute in attributes where attribute.type == .composite && attribute.composite == nil {
      if let missing = missing(attribute) { return missing }
    }
    return nil
  }
}
