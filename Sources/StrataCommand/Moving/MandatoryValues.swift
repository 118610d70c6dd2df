import StrataCore

/// What an object of an entity must have a value for. What a file says nothing of, or nil, gets its default value; without one it is refused.
///
/// An element of a composite attribute must have a value only where the composite has any, or may not be nil itself.
struct MandatoryValues {
  private struct Value {
    let slot: Int
    let name: String
    let defaultValue: AttributeValue
  }

  private struct Composite {
    let name: String
    /// Whether the model takes the whole as nil when no element has a value.
    let isOptional: Bool
    /// Whether there may be no value at all; elsewhere its mandatory elements must have one.
    let mayBeNil: Bool
    /// The slots with the values of all its elements, within others too.
    let leaves: [Int]
    let values: [Value]
    let parts: [Composite]
  }

  private let entityName: String
  private let values: [Value]
  private let composites: [Composite]

  init(_ shape: EntityShape) {
    let entity = shape.entity
    entityName = entity.name
    let stored = Set(shape.attributes.map(\.slot))
    func value(_ attribute: AttributeSchema) -> Value? {
      // What is derived is computed when it is loaded.
      if attribute.isOptional || !stored.contains(attribute.slot)
        || entity.derivedSlots.contains(attribute.slot)
      {
        return nil
      }
      return Value(
        slot: attribute.slot, name: attribute.name, defaultValue: entity.defaults[attribute.slot])
    }
    func composite(_ attribute: AttributeSchema, _ property: AttributeDescription?) -> Composite? {
      let description = property as? CompositeAttributeDescription
      let elements = attribute.elements.map { entity.attributes[$0] }
      let parts = elements.filter { $0.type == .composite }.compactMap { element in
        composite(element, description?.elements.first { element.name == "\(attribute.name).\($0.name)" })
      }
      let leaves = elements.map(\.slot).filter { stored.contains($0) } + parts.flatMap(\.leaves)
      if leaves.isEmpty { return nil }
      return Composite(
        name: attribute.name, isOptional: attribute.isOptional,
        mayBeNil: description?.isNullable ?? attribute.isOptional, leaves: leaves,
        values: elements.compactMap(value), parts: parts)
    }
    values = shape.attributes.filter { entity.attributes[$0.slot].composite == nil }
      .compactMap { value(entity.attributes[$0.slot]) }
    composites = entity.attributes.filter { $0.type == .composite && $0.composite == nil }
      .compactMap { composite($0, entity.entityDescription.attributesByName[$0.name]) }
  }

  /// Gives what has no value its default value.
  /// - Parameter kept: In a dump, what it says something of: nil there is what the store had. Nil for a file of somebody's own.
  /// - Throws: `LineFault` for what must have a value and has none.
  func complete(_ values: inout [AttributeValue], keeping kept: GivenNames?) throws {
    for value in self.values { try complete(value, &values, kept) }
    for composite in composites { try complete(composite, &values, kept) }
  }

  private func complete(_ value: Value, _ values: inout [AttributeValue], _ kept: GivenNames?) throws {
    guard values[value.slot].isNull, kept?.contains(value.slot) != true else { return }
    if value.defaultValue.isNull { throw refusal(value.name) }
    values[value.slot] = value.defaultValue
  }

  private func complete(_ composite: Composite, _ values: inout [AttributeValue], _ kept: GivenNames?) throws
  {
    if composite.mayBeNil && isNil(composite, values) { return }
    for value in composite.values { try complete(value, &values, kept) }
    for part in composite.parts { try complete(part, &values, kept) }
    if kept == nil && !composite.isOptional && isNil(composite, values) { throw refusal(composite.name) }
  }

  private func isNil(_ composite: Composite, _ values: [AttributeValue]) -> Bool {
    composite.leaves.allSatisfy { values[$0].isNull }
  }

  private func refusal(_ name: String) -> LineFault { LineFault("\(entityName) needs a value for “\(name)”") }

  /// What every object must have a value for and none has in a table with these columns.
  func missingColumn(_ names: Set<String>) -> String? {
    func isMissing(_ value: Value) -> Bool { value.defaultValue.isNull && !names.contains(value.name) }
    func missing(_ composite: Composite) -> String? {
      if composite.mayBeNil { return nil }
      return composite.values.first(where: isMissing)?.name
        ?? composite.parts.lazy.compactMap(missing).first
    }
    return values.first(where: isMissing)?.name ?? composites.lazy.compactMap(missing).first
  }
}
