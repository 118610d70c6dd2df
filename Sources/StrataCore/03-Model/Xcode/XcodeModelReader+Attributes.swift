// Attributes: plain, derived and composite ones, with defaults and rules.
extension XcodeModelReader {
  /// The most composite types inside each other.
  private static let mostComposites = 16

  /// - Parameter owners: the composite types the attribute is an element of, outermost first.
  mutating func readAttribute(
    _ element: XcodeElement, of owner: String, within owners: [String]
  ) -> AttributeDescription? {
    guard let name = name(of: element, "An attribute of \(owner)") else { return nil }
    guard attributesLeft > 0 else {
      if isSound { report(element, "There are more than \(Self.mostAttributes) attributes.") }
      isSound = false
      return nil
    }
    attributesLeft -= 1
    let place = "Attribute \(owner).\(name)"
    guard let type = readType(of: element, place) else { return nil }
    let attribute: AttributeDescription
    if type == .composite {
      guard let elements = readElements(of: element, named: name, "\(owner).\(name)", within: owners) else {
        return nil
      }
      attribute = CompositeAttributeDescription(name, elements: elements)
    } else if let expression = readDerivation(of: element, place) {
      attribute = DerivedAttributeDescription(name, type, derivationExpression: expression)
    } else {
      attribute = AttributeDescription(name, type)
    }
    readProperty(attribute, from: element, place)
    attribute.allowsExternalBinaryDataStorage =
      flag("allowsExternalBinaryDataStorage", of: element, place) ?? false
    attribute.preservesValueInHistoryOnDeletion =
      flag("preserveAfterDeletion", "preservesValueInHistoryOnDeletion", of: element, place) ?? false
    attribute.attributeValueClassName = text("customClassName", of: element)
    if type == .transformable { attribute.valueTransformerName = text("valueTransformerName", of: element) }
    attribute.defaultValue = readDefault(of: element, type, place)?.anyValue
    attribute.validationRules = readRules(of: element, type, place)
    return attribute
  }

  private mutating func readType(of element: XcodeElement, _ place: String) -> AttributeType? {
    guard let words = text("attributeType", of: element) else {
      report(element, "\(place) has no attributeType.")
      return nil
    }
    guard let type = AttributeType(xcodeName: words) else {
      report(element, "\(place) has attributeType=\(quoted(words)), which is not known.")
      return nil
    }
    return type
  }

  private mutating func readDerivation(of element: XcodeElement, _ place: String) -> String? {
    guard flag("derived", of: element, place) ?? false else { return nil }
    guard let expression = text("derivationExpression", of: element) else {
      report(element, "\(place) is derived and has no derivationExpression.")
      return nil
    }
    return expression
  }

  // MARK: Composite attributes

  /// The elements of a composite attribute: attributes inside it, or those of a composite type of the model. The type is named by
  /// an XML attribute whose name begins with `composite`; without one it is the type that is called like the attribute.
  private mutating func readElements(
    of element: XcodeElement, named name: String, _ path: String, within owners: [String]
  ) -> [AttributeDescription]? {
    var source = element
    var typeName = "\(path) itself"
    if element.children(named: "attribute").isEmpty {
      let keys = element.attributes.keys.filter { $0.lowercased().hasPrefix("composite") }.sorted()
      let wanted = keys.compactMap { text($0, of: element) }.first
      let found =
        wanted
        ?? (composites[name] != nil
          ? name : composites.keys.sorted().first { $0.lowercased() == name.lowercased() })
      guard let found, let type = composites[found] else {
        report(
          element,
          "Attribute \(path) is of the composite type \((wanted ?? name).prefix(300)), which is not in the model."
        )
        return nil
      }
      source = type
      typeName = found
    }
    if owners.contains(typeName) || owners.count == Self.mostComposites {
      report(
        element,
        "Attribute \(path) is part of itself, or of more than \(Self.mostComposites) composite attributes.")
      isSound = false
      return nil
    }
    var elements: [AttributeDescription] = []
    for child in source.children(named: "attribute") where isSound {
      if let attribute = readAttribute(child, of: path, within: owners + [typeName]) {
        elements.append(attribute)
      }
    }
    return elements
  }

  // MARK: Defaults and rules

  private mutating func readDefault(
    of element: XcodeElement, _ type: AttributeType, _ place: String
  ) -> AttributeValue? {
    let words = "defaultValueString"
    let key = type == .date ? "defaultDateTimeInterval" : words
    let hasKey = element.attributes[key] != nil
    if let text = self.text(words, of: element), isIgnored(text, type, hasKey: hasKey) {
      let reason = type == .date ? "without \(key)" : "which is no \(type)"
      Diagnostics.write(
        "\(file), line \(element.line): \(place) has \(words)=\(quoted(text)), \(reason): it has no default value.",
        .warning)
      return nil
    }
    return readValue(key, besides: words, of: element, type, place)
  }

  /// Whether a default value is one that Xcode takes and builds no default from: words for a UUID that are none, and those for a date
  /// without its seconds.
  private func isIgnored(_ text: String, _ type: AttributeType, hasKey: Bool) -> Bool {
    switch type {
    case .uuid: AttributeValue(xcodeText: text, type: type) == nil
    case .date: !hasKey
    default: false
    }
  }

  private mutating func readRules(
    of element: XcodeElement, _ type: AttributeType, _ place: String
  ) -> [ValidationRule] {
    var rules: [ValidationRule] = []
    switch type {
    case .string:
      if let length = count("minValueString", of: element, place) { rules.append(.minimumLength(length)) }
      if let length = count("maxValueString", of: element, place) { rules.append(.maximumLength(length)) }
    case .date, .integer16, .integer32, .integer64, .decimal, .double, .float:
      let isDate = type == .date
      if let bound = readValue(
        isDate ? "minDateTimeInterval" : "minValueString", besides: "minValueString", of: element, type, place
      ) {
        rules.append(.minimum(bound))
      }
      if let bound = readValue(
        isDate ? "maxDateTimeInterval" : "maxValueString", besides: "maxValueString", of: element, type, place
      ) {
        rules.append(.maximum(bound))
      }
    default:
      for key in ["minValueString", "maxValueString"] where element.attributes[key] != nil {
        report(element, "\(place) has \(key), and values of type \(type) have no bounds.")
      }
    }
    if let pattern = text("regularExpressionString", of: element) {
      if type == .string {
        rules.append(.pattern(pattern))
      } else {
        report(element, "\(place) has regularExpressionString, and is of type \(type).")
      }
    }
    return rules
  }

  /// A value of the attribute's type. Xcode writes dates twice, as seconds and as words for people: the words alone are no date.
  private mutating func readValue(
    _ key: String, besides words: String, of element: XcodeElement, _ type: AttributeType, _ place: String
  ) -> AttributeValue? {
    guard let text = element.attributes[key] else {
      if key != words, let text = self.text(words, of: element) {
        report(element, "\(place) has \(words)=\(quoted(text)) without \(key).")
      }
      return nil
    }
    // An empty text is a string; of other types it is none given.
    if text.isEmpty, type != .string { return nil }
    guard let value = AttributeValue(xcodeText: text, type: type) else {
      report(element, "\(place) has \(key)=\(quoted(text)), which is no \(type).")
      return nil
    }
    return value
  }
}
