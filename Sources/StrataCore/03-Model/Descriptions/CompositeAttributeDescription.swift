/// An attribute made of elements, which are attributes, composite ones among them. Core Data's
/// `NSCompositeAttributeDescription` (rule 341).
///
/// In memory the value is a `[String: Any]` of those elements that have a value, nil when none has. Each element is
/// a stored attribute of its own, called by its key path: `address.city` in `value(forKey:)`, predicates, sort
/// descriptors, indexes and uniqueness constraints, with a slot of its own behind that of the composite. A required
/// composite must have some element with a value; a required element must have one where the composite has any.
///
/// Mutable until the model is taken into use (rule 298).
public final class CompositeAttributeDescription: AttributeDescription, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// What the value is made of, in the order of their slots.
  public var elements: [AttributeDescription] = [] { willSet { requireMutable("elements") } }

  /// A composite attribute without a name yet.
  public override init() {
    super.init()
    attributeType = .composite
  }

  /// A composite attribute, in one line.
  public init(
    _ name: String, elements: [AttributeDescription], isOptional: Bool = true, isTransient: Bool = false
  ) {
    super.init(name, .composite, isOptional: isOptional, isTransient: isTransient)
    setElements(elements)
  }

  // Property observers do not run for assignments in an initialiser's own body.
  private func setElements(_ elements: [AttributeDescription]) { self.elements = elements }

  override func freeze() {
    super.freeze()
    for element in elements { element.freeze() }
  }
}

extension CompositeAttributeDescription {
  private static let nullableKey = "Strata.isNullable"

  /// Whether the value may be nil, for a front whose classes know it and which leaves every composite attribute optional, as SwiftData does. Nil where nobody has said so.
  ///
  /// In the user info: it is no part of the version, and a store's copy of the model keeps it. As a text, which Xcode's files of models can hold.
  package var isNullable: Bool? {
    get {
      switch userInfo?[Self.nullableKey] as? String {
      case "YES": true
      case "NO": false
      default: nil
      }
    }
    set {
      var notes = userInfo ?? [:]
      notes.removeValue(forKey: Self.nullableKey)
      if let newValue { notes[Self.nullableKey] = newValue ? "YES" : "NO" }
      userInfo = notes
    }
  }

  /// Whether the value may be nil, by whoever has said so.
  var mayBeNil: Bool { isNullable ?? isOptional }

  /// Whether there is no value without some element: one that must have a value, also within an element that may not be nil.
  var hasMandatoryElement: Bool { hasMandatoryElement(within: []) }

  private func hasMandatoryElement(within owners: [CompositeAttributeDescription]) -> Bool {
    // Validation refuses those that contain themselves.
    if owners.contains(where: { $0 === self }) { return false }
    return elements.contains { element in
      guard let composite = element as? CompositeAttributeDescription else { return !element.isOptional }
      return !composite.mayBeNil && composite.hasMandatoryElement(within: owners + [self])
    }
  }

  /// Whether a new object begins with a value.
  var hasDefaultValue: Bool {
    SlotDescription.slots(of: self).dropFirst().contains {
      ($0.property as? AttributeDescription)?.defaultValue != nil
    }
  }
}

/// A slot as the model describes it: a property, or an element of a composite attribute under its key path.
struct SlotDescription {
  /// The property's name, or the element's key path.
  let name: String
  /// The name to look for in rows of older layouts.
  let canonicalName: String
  let property: PropertyDescription
  /// Whether the property, or the composite attribute it is part of, is transient.
  let isTransient: Bool
  /// How many composite attributes it is part of.
  let depth: Int

  /// The slots of a property, in order: its own, and those of a composite attribute's elements behind it. A computed one has none.
  static func slots(of property: PropertyDescription) -> [SlotDescription] {
    if property.isComputed { return [] }
    var slots: [SlotDescription] = []
    append(property, to: &slots, within: nil, [])
    return slots
  }

  private static func append(
    _ property: PropertyDescription, to slots: inout [SlotDescription], within owner: SlotDescription?,
    _ owners: [CompositeAttributeDescription]
  ) {
    let canonicalName = property.explicitRenamingIdentifier ?? property.name
    let slot = SlotDescription(
      name: owner.map { "\($0.name).\(property.name)" } ?? property.name,
      canonicalName: owner.map { "\($0.canonicalName).\(canonicalName)" } ?? canonicalName,
      property: property, isTransient: property.isTransient || owner?.isTransient ?? false,
      depth: owner.map { $0.depth + 1 } ?? 0)
    slots.append(slot)
    // Validation refuses those that contain themselves.
    guard let composite = property as? CompositeAttributeDescription,
      !owners.contains(where: { $0 === composite })
    else { return }
    for element in composite.elements { append(element, to: &slots, within: slot, owners + [composite]) }
  }
}

extension EntityDescription {
  /// All slots: inherited ones first; of each entity attributes, then relationships, a composite attribute followed by its
  /// elements.
  var slotDescriptions: [SlotDescription] { propertiesBySlot.flatMap { SlotDescription.slots(of: $0) } }
  /// The slots of the properties that the entity declares itself.
  var ownSlotDescriptions: [SlotDescription] { ownProperties.flatMap { SlotDescription.slots(of: $0) } }
}
