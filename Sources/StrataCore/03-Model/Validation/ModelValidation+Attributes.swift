extension ModelValidation {
  /// What transformable and composite attributes rely on.
  mutating func checkForm(of attribute: AttributeDescription, _ place: String) {
    switch attribute.attributeType {
    case .transformable: checkTransformable(attribute, place)
    case .composite: checkComposite(attribute, place, within: [])
    default: break
    }
    if attribute is CompositeAttributeDescription, attribute.attributeType != .composite {
      report("Attribute \(place) has elements and is of type \(attribute.attributeType).")
    }
    if attribute.attributeType != .transformable, attribute.valueTransformerName != nil {
      report("Attribute \(place) names a transformer and is of type \(attribute.attributeType).")
    }
  }

  private mutating func checkTransformable(_ attribute: AttributeDescription, _ place: String) {
    if let name = attribute.valueTransformerName, AttributeTransformers.insecureNames.contains(name) {
      report(
        """
        Attribute \(place) names the transformer \(name), which makes objects of whatever class the stored bytes ask for; \
        name none, or one of your own.
        """)
    }
  }

  private mutating func checkComposite(
    _ attribute: AttributeDescription, _ place: String, within owners: [CompositeAttributeDescription]
  ) {
    guard let composite = attribute as? CompositeAttributeDescription else {
      report(
        "Attribute \(place) is of type composite and has no elements; use CompositeAttributeDescription.")
      return
    }
    if owners.contains(where: { $0 === composite }) {
      report("Attribute \(place) is an element of itself.")
      return
    }
    if owners.count == Self.mostLevels {
      report("Attribute \(place) is part of more than \(Self.mostLevels) composite attributes.")
    }
    if composite.elements.isEmpty { report("Attribute \(place) has no elements.") }
    if composite.name.contains(".") {
      report(
        "Attribute \(place) is composite and has a dot in its name, which would make key paths ambiguous.")
    }
    if composite.defaultValue != nil {
      report("Attribute \(place) is composite and cannot have a default value; its elements can.")
    }
    for element in composite.elements {
      let elementPlace = "\(place).\(element.name)"
      if element.name.isEmpty { report("An element of \(place) has no name.") }
      checkName(element.name, of: "Element \(elementPlace)")
      if element.name.contains(".") {
        report("Element \(elementPlace) has a dot in its name, which would make key paths ambiguous.")
      }
      if element.isTransient {
        report("Element \(elementPlace) is transient; only the whole composite attribute can be.")
      }
      if let identifier = element.explicitRenamingIdentifier {
        checkName(identifier, of: "The renaming identifier of \(elementPlace)")
      }
      checkUserInfo(element.userInfo, of: "Element \(elementPlace)")
      checkRules(of: element, elementPlace)
      if element is DerivedAttributeDescription {
        report("Element \(elementPlace) is derived; derive an attribute of the entity from it instead.")
      }
      if element.attributeType == .composite {
        checkComposite(element, elementPlace, within: owners + [composite])
      } else {
        checkAttribute(element, elementPlace)
      }
    }
  }

  /// The most composite attributes inside each other.
  private static let mostLevels = 16
}

extension AttributeDescription {
  /// Why the attribute cannot be part of an index or a uniqueness constraint; nil when it can.
  var reasonAgainstKeys: String? {
    switch attributeType {
    case .transformable: "which is transformable: its bytes have no order"
    case .composite: "which is composite: name its elements"
    default: nil
    }
  }
}
