import Foundation

extension EntitySchema {
  /// What rows hold in `slot` for a value that key-value coding would give: data for that of a transformable attribute.
  ///
  /// - Throws: `CoreDataError` 1550 for a value that the attribute does not take; what a transformer throws.
  package func storedValue(_ value: Any?, slot: Int) throws -> AttributeValue {
    let attribute = attributes[slot]
    guard let value, !isNilValue(value) else { return .null }
    if attribute.type == .transformable {
      let description = entityDescription.slotDescriptions[slot].property as? AttributeDescription
      guard let transformer = description?.transformer ?? AttributeTransformers.transformer(forName: nil)
      else { throw refusal(attribute, value, "its transformer is not registered") }
      return .data(try transformer.transform(value))
    }
    guard let stored = AttributeValue(value, type: attribute.type) else {
      throw refusal(attribute, value, "the attribute is of type \(attribute.type)")
    }
    return stored
  }

  private func refusal(_ attribute: AttributeSchema, _ value: Any, _ reason: String) -> CoreDataError {
    CoreDataError(
      .managedObjectValidation,
      "The store has \(Swift.type(of: value)) \(value) for \(name).\(attribute.name), which cannot be: \(reason).",
      userInfo: [CoreDataError.Key.validationKey: attribute.name])
  }
}
